//! Skills that a person wrote down: instructions with the tools they need, loaded on demand.
//!
//! A file is Markdown with front matter: `skills/NAME.md`, or `skills/NAME/SKILL.md` as other programs have it. A
//! skill with a mistake is not used, and every mistake is reported at once with its line.

mod matter; //  what stands before the text of a file
mod published; // skills as other programs read them
mod shipped; // what built-in servers bring

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolyard_core::catalog::Catalog;
use toolyard_core::text::terms;
use toolyard_core::tool::{BadToolId, ToolId};

use crate::config::{Config, Mistake, Place, Skill, nearest};
use matter::{Line, Matter};
pub(crate) use published::{Content, PublishedFile, encoded, published};

/// The file of a skill that has a folder of its own.
const OF_FOLDER: &str = "SKILL.md";
/// The keys that are read. Other programs have more, which are left to them.
const KEYS: [&str; 5] = ["name", "when", "description", "tools", "allowed-tools"];
/// How other programs write a tool of an MCP server.
const FOREIGN: &str = "mcp__";
/// Words of a message, or of what a skill is for, that are compared.
const MOST_TERMS: usize = 100;
/// So many words must be shared before a skill is activated without being asked for.
const SHARED: usize = 2;

/// Skills by name.
pub type Skills = BTreeMap<String, Skill>;

/// Reads the skills of a configuration: its own, those of files and folders, and those of built-in servers.
pub fn read(config: &Config) -> (Skills, Vec<Mistake>) {
    let (mut skills, mut mistakes) = (config.skills.clone(), Vec::new());
    let found: Vec<PathBuf> = config.skill_files.iter().flat_map(|path| files(path, &mut mistakes)).collect();
    for file in found {
        match load(&file) {
            Ok((name, _)) if skills.contains_key(&name) => {
                let what = format!("there is another skill `{name}` already");
                mistakes.push(Mistake::whole_file(&file, what, None));
            }
            Ok((name, skill)) => drop(skills.insert(name, skill)),
            Err(wrong) => mistakes.extend(wrong),
        }
    }
    shipped::add(config, &mut skills);
    (skills, mistakes)
}

/// Reads the skill of a file.
pub fn load(file: &Path) -> Result<(String, Skill), Vec<Mistake>> {
    let unreadable = |why: String| vec![Mistake::whole_file(file, why, None)];
    let bytes =
        crate::config::read_bytes(file).map_err(|err| unreadable(format!("cannot be read: {err}")))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("is not UTF-8 text".to_owned()))?;
    parse(&text, file)
}

/// Leaves out the skills that name tools which do not exist, and says what is wrong with them. A server that
/// was never reached may have any tool.
pub fn check(skills: Skills, catalog: &Catalog, config: &Config) -> (Skills, Vec<Mistake>) {
    let (mut sound, mut mistakes) = (Skills::new(), Vec::new());
    for (name, mut skill) in skills {
        if skill.is_shipped {
            // Some tools are there only where a model for them is configured.
            let is_text = skill.tools.is_empty();
            skill.tools.retain(|tool| unknown(tool, catalog, config).is_none());
            if is_text || !skill.tools.is_empty() {
                sound.insert(name, skill);
            }
            continue;
        }
        let wrong: Vec<Mistake> = (0..skill.tools.len())
            .filter_map(|at| {
                let what = unknown(&skill.tools[at], catalog, config)?;
                let place = skill.place.as_ref();
                let path = place.map_or(Path::new("toolyard.json"), |place| &place.path);
                let line = place.and_then(|place| place.lines.get(at)).copied().unwrap_or_default();
                let (message, hint) = what;
                let message = format!("the skill `{name}` names {message}");
                Some(Mistake { path: path.to_owned(), line, column: usize::from(line > 0), message, hint })
            })
            .collect();
        if wrong.is_empty() {
            sound.insert(name, skill);
        }
        mistakes.extend(wrong);
    }
    (sound, mistakes)
}

/// Leaves out the tools that are not shown, and the skills that would have had only such.
pub(crate) fn shown(skills: Skills, is_shown: impl Fn(&str) -> bool) -> Skills {
    let kept = |(name, mut skill): (String, Skill)| {
        let is_text = skill.tools.is_empty();
        skill.tools.retain(|tool| is_shown(tool));
        (is_text || !skill.tools.is_empty()).then_some((name, skill))
    };
    skills.into_iter().filter_map(kept).collect()
}

/// Says which core tools of the settings do not exist.
pub(crate) fn check_core(core: &[String], catalog: &Catalog, config: &Config) -> Vec<Mistake> {
    let wrong = core.iter().filter_map(|tool| unknown(tool, catalog, config));
    let mistake = |(message, hint): (String, Option<String>)| {
        Mistake::whole_file(Path::new("toolyard.json"), format!("`toolset.core` names {message}"), hint)
    };
    wrong.map(mistake).collect()
}

/// Returns the skill that a message is for, where the words of one clearly say so.
pub fn fitting<'s>(skills: &'s Skills, message: &str) -> Option<&'s str> {
    let said = terms(message, MOST_TERMS);
    let shared = |(name, skill): (&'s String, &'s Skill)| {
        let own = terms(&format!("{name} {}", skill.when), MOST_TERMS);
        (own.iter().filter(|term| said.contains(term)).count(), name.as_str())
    };
    let mut ranked: Vec<(usize, &str)> = skills.iter().map(shared).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    match ranked.as_slice() {
        // Two that fit as well say nothing.
        [(first, _), (second, _), ..] if first == second => None,
        [(first, name), ..] if *first >= SHARED => Some(name),
        _ => None,
    }
}

/// Tells a model when to activate what.
pub fn prompt(skills: &Skills, most: usize) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let cell = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/");
    let row = |(name, skill): (&String, &Skill)| {
        let name = cell(&serde_json::Value::from(name.as_str()).to_string());
        format!("| {} | `activate_skill({name})` |\n", cell(&skill.when))
    };
    let rows: String = skills.iter().map(row).collect();
    format!(
        "## Skill-Based Tools\n\nYou have access to specialized skills. To use domain-specific tools, first activate the \
         skill:\n\n| User Intent | Activate Skill |\n|-------------|----------------|\n{rows}\n**Workflow:**\n\
         1. Identify user intent\n2. Call `activate_skill(skill_name)` to load tools\n3. Use the newly-available tools to \
         complete the task\n\nYou can have up to {most} skills active at once. Skills persist across turns."
    )
}

/// Logs that a skill went to make room for another one.
pub fn log_eviction(evicted: &str, skill: &str) {
    tracing::warn!("[SKILL] Evicted '{evicted}' to make room for '{skill}'");
}

fn parse(text: &str, file: &Path) -> Result<(String, Skill), Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut wrong = |line: usize, message: String, hint: Option<String>| {
        let (path, column) = (file.to_owned(), usize::from(line > 0));
        mistakes.push(Mistake { path, line, column, message, hint });
    };
    let text = text.strip_prefix(crate::config::BYTE_ORDER_MARK).unwrap_or(text);
    let matter = match Matter::parse(text) {
        Ok(matter) => matter,
        Err((line, message)) => {
            wrong(line, message, Some("begin with ---, name: NAME, description: …, ---".to_owned()));
            return Err(mistakes);
        }
    };
    for Line { key, line, .. } in &matter.lines {
        if !KEYS.contains(&key.as_str())
            && let Some(near) = nearest(key, KEYS)
        {
            wrong(*line, format!("unknown key `{key}`"), Some(format!("did you mean `{near}`?")));
        }
    }
    let name = matter.text("name").or_else(|| own_name(file)).unwrap_or_default();
    if !Skill::is_name(&name) {
        let line = matter.line("name");
        wrong(line, format!("the name `{name}` of a skill has letters, digits, `-` and `_`"), None);
    }
    let when = matter.text("when").or_else(|| matter.text("description")).unwrap_or_default();
    if when.is_empty() {
        let hint = "say in a sentence when the skill is needed".to_owned();
        wrong(1, "neither `when` nor `description` says what the skill is for".to_owned(), Some(hint));
    }
    let (mut tools, mut lines) = (Vec::new(), Vec::new());
    for (tool, line) in matter.items("tools") {
        if let Err(error) = tool.parse::<ToolId>() {
            let error: BadToolId = error;
            wrong(line, error.to_string(), None);
        }
        if !tools.contains(&tool) {
            tools.push(tool);
            lines.push(line);
        }
    }
    // What another program may use there is its own business, except for tools of MCP servers.
    for (tool, line) in matter.items("allowed-tools") {
        let tool = tool.strip_prefix(FOREIGN).filter(|tool| tool.parse::<ToolId>().is_ok());
        if let Some(tool) = tool.filter(|tool| !tools.iter().any(|other| other == tool)) {
            tools.push(tool.to_owned());
            lines.push(line);
        }
    }
    let place = Some(Place { path: file.to_owned(), lines });
    let mut skill = Skill { when, instructions: matter.rest.to_owned(), tools, place, is_shipped: false };
    skill.settle().into_iter().for_each(|(_, message)| wrong(0, message, None));
    mistakes.sort_by_key(|mistake| mistake.line);
    if mistakes.is_empty() { Ok((name, skill)) } else { Err(mistakes) }
}

/// Says what is wrong with the name of a tool, and what may be meant.
fn unknown(tool: &str, catalog: &Catalog, config: &Config) -> Option<(String, Option<String>)> {
    if catalog.get(tool).is_some() {
        return None;
    }
    let near = nearest(tool, catalog.tools().iter().map(|it| it.id.as_str()));
    let near = near.map(|near| format!("did you mean `{near}`?"));
    match owner(tool, config) {
        Some(server) if catalog.of_server(server).is_empty() => None,
        Some(server) => Some((format!("the tool `{tool}`, which server `{server}` does not have"), near)),
        None if tool.starts_with(&format!("{}__", crate::workflows::SERVER)) => None,
        None => {
            let names = config.servers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let hint = near.unwrap_or_else(|| format!("servers: {names}"));
            Some((format!("the tool `{tool}`, and no server is called so"), Some(hint)))
        }
    }
}

/// Returns the server that a tool belongs to by its name.
pub(crate) fn owner<'c>(tool: &str, config: &'c Config) -> Option<&'c String> {
    let is_owner = |name: &&String| {
        let rest = tool.strip_prefix(&*ToolId::server_prefix(name));
        rest.is_some_and(|rest| rest.starts_with("__"))
    };
    config.servers.keys().chain(config.off.keys()).find(is_owner)
}

/// A file is called like its skill, or lies in a folder that is.
fn own_name(file: &Path) -> Option<String> {
    let named = if file.file_name().is_some_and(|name| name == OF_FOLDER) { file.parent()? } else { file };
    Some(named.file_stem()?.to_string_lossy().into_owned())
}

fn files(path: &Path, mistakes: &mut Vec<Mistake>) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    if path.join(OF_FOLDER).is_file() {
        return vec![path.join(OF_FOLDER)];
    }
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(err) => {
            mistakes.push(Mistake::whole_file(path, format!("the folder cannot be read: {err}"), None));
            return Vec::new();
        }
    };
    let skill = |entry: PathBuf| {
        let in_folder = entry.join(OF_FOLDER);
        let is_markdown = entry.extension().is_some_and(|it| it == "md") && entry.is_file();
        if in_folder.is_file() { Some(in_folder) } else { Some(entry).filter(|_| is_markdown) }
    };
    let mut files: Vec<PathBuf> = entries.flatten().filter_map(|entry| skill(entry.path())).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests;
