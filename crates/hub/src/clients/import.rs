//! Takes over the servers of other clients into our settings file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Client, Error, Found, Receipt, backup, connect};
use crate::config::{self, Folders, edit};

/// Where a server was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Whose configuration it is in.
    pub client: Client,
    /// The file.
    pub path: PathBuf,
    /// What it is called there.
    pub name: String,
}

/// A server that would be taken over.
#[derive(Clone, PartialEq)]
pub struct Addition {
    /// Where it was found.
    pub source: Mention,
    /// What it would be called; another name than at its source where that one is taken by another server.
    pub name: String,
    /// The entry that would be written.
    pub server: Value,
    /// Why it would be written as disabled, when it cannot be used as it is.
    pub disabled_because: Option<String>,
}

impl Addition {
    /// Returns whether the name at the source belongs to another server here.
    pub fn conflicts(&self) -> bool {
        self.name != self.source.name
    }
}

impl std::fmt::Debug for Addition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The entry may hold keys.
        f.debug_struct("Addition")
            .field("source", &self.source)
            .field("name", &self.name)
            .field("disabled_because", &self.disabled_because)
            .finish_non_exhaustive()
    }
}

/// A server that is here already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Same {
    /// Where it was found.
    pub source: Mention,
    /// What it is called here.
    pub name: String,
}

/// What an import would do.
#[derive(Clone, PartialEq)]
pub struct Takeover {
    /// The servers that would be added.
    pub additions: Vec<Addition>,
    /// The servers that are here already.
    pub same: Vec<Same>,
    /// Entries of Toolyard itself, which are left out.
    pub own: Vec<Mention>,
    /// What cannot be taken over, with the file it is in.
    pub problems: Vec<(PathBuf, String)>,
    before: String,
    after: String,
}

impl Takeover {
    /// Returns the settings file as it would be.
    pub fn text(&self) -> &str {
        &self.after
    }

    /// Makes it the plan of a file that does not exist yet and begins with the text it was planned on.
    pub fn for_new_file(self) -> Self {
        Self { before: String::new(), ..self }
    }
}

impl std::fmt::Debug for Takeover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Takeover")
            .field("additions", &self.additions)
            .field("same", &self.same)
            .field("own", &self.own)
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

/// Plans the import of everything that was found into the settings file with this text.
///
/// `env` says which environment variables are set: a server that needs another one is added as disabled,
/// because one unusable server would make the whole file unusable.
pub fn plan(
    found: &[Found],
    current: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Takeover, edit::Error> {
    let mut known = known_servers(current)?;
    let mut plan = Takeover {
        additions: Vec::new(),
        same: Vec::new(),
        own: Vec::new(),
        problems: Vec::new(),
        before: current.to_owned(),
        after: current.to_owned(),
    };
    for found in found {
        plan.problems.extend(found.problems.iter().map(|problem| (found.path.clone(), problem.clone())));
        for (name, server) in &found.servers {
            let source = Mention { client: found.client, path: found.path.clone(), name: name.clone() };
            if is_toolyard(name, server) {
                plan.own.push(source);
                continue;
            }
            let identity = identity(server);
            let same = known.iter().filter(|(_, known)| **known == identity);
            // The same name says more clearly that it is the same server.
            let same = same.max_by_key(|(known, _)| *known == name).map(|(known, _)| known.clone());
            if let Some(here) = same {
                plan.same.push(Same { source, name: here });
                continue;
            }
            match usable(server, env) {
                Err(problem) => plan.problems.push((found.path.clone(), format!("`{name}`: {problem}"))),
                Ok((server, disabled_because)) => {
                    let name = free_name(name, found.client, &known);
                    plan.after = edit::add_server(&plan.after, &name, &server)?;
                    known.insert(name.clone(), identity);
                    plan.additions.push(Addition { source, name, server, disabled_because });
                }
            }
        }
    }
    Ok(plan)
}

/// Carries a plan out; `None` when there is nothing to add.
pub fn apply(plan: &Takeover, target: &Path, backups: &Path) -> Result<Option<Receipt>, Error> {
    let now = match fs::read(target) {
        Ok(now) => now,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(Error::Io { path: target.to_owned(), source }),
    };
    if now != plan.before.as_bytes() {
        let advice = "import again".to_owned();
        return Err(Error::Changed { path: target.to_owned(), advice });
    }
    if plan.additions.is_empty() {
        return Ok(None);
    }
    backup::replace(target, plan.after.as_bytes(), backups).map(Some)
}

fn known_servers(current: &str) -> Result<BTreeMap<String, Value>, edit::Error> {
    let root = edit::value_of(current)?.unwrap_or_else(|| json!({}));
    let maps = ["mcpServers", "servers"].into_iter().filter_map(|key| root.get(key)?.as_object());
    Ok(maps.flatten().map(|(name, server)| (name.clone(), identity(server))).collect())
}

/// Returns the part of a server that makes it this one and no other.
fn identity(server: &Value) -> Value {
    let mut identity = Map::new();
    for key in ["command", "args", "env", "cwd", "headers"] {
        let value = server.get(key).filter(|value| **value != json!({}) && **value != json!([]));
        identity.extend(value.map(|value| (key.to_owned(), value.clone())));
    }
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find_map(|key| server.get(key));
    identity.extend(url.map(|url| ("url".to_owned(), url.clone())));
    Value::Object(identity)
}

/// Returns the entry as it can be written: as it is, or disabled with the reason.
fn usable(server: &Value, env: &dyn Fn(&str) -> Option<String>) -> Result<(Value, Option<String>), String> {
    let first_mistake = |server: &Value| {
        let text = json!({ "mcpServers": { "it": server } }).to_string();
        let folders = Folders { home: "/".into(), config: "/".into(), data: "/".into() };
        // What is relative counts as missing, because nobody knows yet where the file will be.
        let parsed = config::parse(&text, Path::new("/nowhere/toolyard.json"), env, &folders);
        let mistakes = parsed.map_or_else(
            |mistakes| mistakes,
            |config| config.off.into_values().flat_map(|off| off.mistakes).collect(),
        );
        mistakes.into_iter().next()
    };
    let Some(mistake) = first_mistake(server) else { return Ok((server.clone(), None)) };
    let mut disabled = server.clone();
    if let Some(members) = disabled.as_object_mut() {
        members.insert("disabled".to_owned(), Value::Bool(true));
    }
    match first_mistake(&disabled) {
        None => Ok((disabled, Some(mistake.message))),
        Some(mistake) => Err(mistake.message),
    }
}

fn free_name(name: &str, client: Client, known: &BTreeMap<String, Value>) -> String {
    if !known.contains_key(name) {
        return name.to_owned();
    }
    let with_client = format!("{name}-{}", client.name());
    let numbered = (2_usize..).map(|number| format!("{with_client}-{number}"));
    std::iter::once(with_client.clone())
        .chain(numbered)
        .find(|name| !known.contains_key(name))
        .expect("there are more numbers than servers")
}

/// Recognises our own entry, however the client starts it.
fn is_toolyard(name: &str, server: &Value) -> bool {
    let text = |key: &str| server.get(key).and_then(Value::as_str);
    if let Some(command) = text("command") {
        let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
        let words: Vec<&str> = std::iter::once(command).chain(args.filter_map(Value::as_str)).collect();
        return words.iter().any(|word| program(word) == connect::NAME) && words.contains(&"serve");
    }
    let url = text("url").and_then(|url| url::Url::parse(url).ok());
    url.is_some_and(|url| {
        let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        here && (name == connect::NAME || url.port() == Some(8808))
    })
}

/// Returns the name of a program without its folder, on whatever system it was written.
fn program(word: &str) -> &str {
    let file = word.rsplit(['/', '\\']).next().unwrap_or(word);
    file.strip_suffix(".exe").unwrap_or(file)
}
