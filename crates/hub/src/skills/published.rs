//! Skills as other programs read them: folders with a `SKILL.md` whose front matter has a name and a description.
//!
//! The main file is written anew, because a person may have written the skill in settings, or in words that only this
//! program knows. What lies beside it is handed out as it is.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{OF_FOLDER, Skills};
use crate::config::{Skill, read_bytes_within};
use crate::jsonrpc::raw;
use crate::upstream::skill::{MOST_BYTES, MOST_FILES, digest, is_name};

/// Folders within one another that are looked into.
const DEPTH: usize = 8;
const NAME_CHARS: usize = 64;
/// Where its tools stand in the front matter of a skill.
const TOOLS: &str = "toolyard-tools";

/// A skill with everything that others need to use it.
#[derive(Debug)]
pub(crate) struct PublishedSkill {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) frontmatter: Box<RawValue>,
    /// The main file first.
    pub(crate) files: Vec<PublishedFile>,
}

/// One of its files.
#[derive(Debug)]
pub(crate) struct PublishedFile {
    /// Where it lies in the folder, as a part of an address.
    pub(crate) path: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    pub(crate) content: Content,
}

/// What is in a file.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(String),
    OnDisk(PathBuf),
}

/// Writes skills for others. Reads the files that lie beside them.
pub(crate) fn published(skills: &Skills) -> Vec<PublishedSkill> {
    let mut published: Vec<PublishedSkill> = Vec::with_capacity(skills.len());
    for (own_name, skill) in skills {
        let name = free_name(own_name, |name| published.iter().any(|other| other.name == name));
        match publish(name, skill) {
            Ok(skill) => published.push(skill),
            Err(why) => tracing::warn!("the skill `{own_name}` is not offered over MCP: {why}"),
        }
    }
    published
}

fn publish(name: String, skill: &Skill) -> Result<PublishedSkill, String> {
    let description = skill.when.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut frontmatter = json!({ "name": name, "description": description });
    // Every text of JSON is one of YAML.
    let mut text =
        format!("---\nname: {}\ndescription: {}\n", Value::from(&*name), Value::from(&*description));
    if !skill.tools.is_empty() {
        let tools = skill.tools.join(" ");
        let _ = write!(text, "metadata:\n  {TOOLS}: {}\n", Value::from(&*tools));
        frontmatter["metadata"] = json!({ TOOLS: tools });
    }
    let _ = writeln!(text, "---\n\n{}", skill.instructions);
    let (digest, size) = (digest(text.as_bytes()), text.len() as u64);
    let main = PublishedFile { path: OF_FOLDER.to_owned(), digest, size, content: Content::Text(text) };
    let mut files = vec![main];
    let folder =
        skill.place.as_ref().filter(|place| place.path.file_name().is_some_and(|it| it == OF_FOLDER));
    if let Some(folder) = folder.and_then(|place| place.path.parent()) {
        gather(folder, "", 0, &mut files)?;
    }
    if files.iter().map(|file| file.size).sum::<u64>() > MOST_BYTES {
        return Err(format!("its files have more than {} MiB", MOST_BYTES / 1024 / 1024));
    }
    Ok(PublishedSkill { name, description, frontmatter: raw(&frontmatter), files })
}

/// Adds the files of a folder and those within. Hidden ones are nobody's business, and a link may lead anywhere.
fn gather(folder: &Path, path: &str, depth: usize, files: &mut Vec<PublishedFile>) -> Result<(), String> {
    let unreadable = |path: &Path, err: std::io::Error| format!("`{}` cannot be read: {err}", path.display());
    let entries = std::fs::read_dir(folder).map_err(|err| unreadable(folder, err))?;
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (name, at) = (entry.file_name(), entry.path());
        let kind = entry.file_type().map_err(|err| unreadable(&at, err))?;
        let name = name.to_string_lossy();
        let inner = format!("{path}{}", encoded(&name));
        if name.starts_with('.') || inner == OF_FOLDER {
            continue;
        }
        if kind.is_dir() && depth < DEPTH {
            gather(&at, &format!("{inner}/"), depth + 1, files)?;
        } else if kind.is_file() {
            if files.len() >= MOST_FILES {
                return Err(format!("it has more than {MOST_FILES} files"));
            }
            let most = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
            let bytes = read_bytes_within(&at, most).map_err(|err| unreadable(&at, err))?;
            let (digest, size) = (digest(&bytes), bytes.len() as u64);
            files.push(PublishedFile { path: inner, digest, size, content: Content::OnDisk(at) });
        }
    }
    Ok(())
}

/// Returns a name that others allow and no other skill has.
fn free_name(own: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let parts = own.to_lowercase();
    let parts: Vec<&str> =
        parts.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let name: String = parts.join("-").chars().take(NAME_CHARS - 4).collect();
    let name = name.trim_end_matches('-').to_owned();
    let name = if is_name(&name) { name } else { "skill".to_owned() };
    let more = (2_usize..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.clone()).chain(more).find(|name| !is_taken(name)).unwrap_or(name)
}

/// Writes a name as a part of an address.
pub(crate) fn encoded(name: &str) -> String {
    name.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte))
            }
            _ => drop(write!(text, "%{byte:02X}")),
        }
        text
    })
}
