//! The forms in which clients write their servers, read into ours.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::notation::{references, servers_key};
use super::{Client, codex};
use crate::config::edit;

/// Reads the text of a client's configuration: the servers in our form, and what could not be taken over.
pub fn read(client: Client, text: &str) -> (Vec<(String, Value)>, Vec<String>) {
    let mut problems = Vec::new();
    let entries = match written_entries(client, text) {
        Ok(entries) => entries,
        Err(problem) => return (Vec::new(), vec![problem]),
    };
    let servers = entries
        .into_iter()
        .filter_map(|(name, entry)| {
            let mut translation = Translation { client, name: &name, problems: &mut problems };
            let server = translation.server(&entry)?;
            Some((name, server))
        })
        .collect();
    (servers, problems)
}

/// Makes what is relative to a project absolute, so that it means the same in another file.
pub(super) fn settle(server: &mut Value, project: &Path) {
    let folder = project.to_string_lossy();
    each_text(server, &mut |text| {
        if text.contains("${workspaceFolder}") {
            *text = text.replace("${workspaceFolder}", &folder.replace('$', "$$"));
        }
    });
    for key in ["command", "cwd", "envFile"] {
        let Some(Value::String(path)) = server.get_mut(key) else { continue };
        let has_folder = path.contains('/') || path.contains('\\');
        let relative = !Path::new(path).is_absolute() && !path.starts_with(['~', '$']);
        if relative && (has_folder || key != "command") {
            *path = project
                .join(&*path)
                .components()
                .collect::<std::path::PathBuf>()
                .to_string_lossy()
                .into_owned();
        }
    }
}

/// Calls a function on every string in a value, except keys.
fn each_text(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(elements) => elements.iter_mut().for_each(|it| each_text(it, change)),
        Value::Object(members) => members.values_mut().for_each(|it| each_text(it, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn written_entries(client: Client, text: &str) -> Result<Vec<(String, Value)>, String> {
    if client == Client::Codex {
        return codex::entries(text);
    }
    let root = edit::value_of(text).map_err(|error| error.to_string())?;
    let Some(root) = root else { return Ok(Vec::new()) };
    if !root.is_object() {
        return Err("the file is not an object".to_owned());
    }
    let mut places = vec![root.get(servers_key(client))];
    match client {
        // The portable form, and the one inside `settings.json`.
        Client::VsCode => places.extend([root.get("mcpServers"), root.pointer("/mcp/servers")]),
        Client::ClaudeCode => {
            let projects = root.get("projects").and_then(Value::as_object);
            places.extend(projects.into_iter().flat_map(Map::values).map(|it| it.get("mcpServers")));
        }
        Client::ClaudeDesktop
        | Client::Cursor
        | Client::Windsurf
        | Client::LmStudio
        | Client::Codex
        | Client::Zed
        | Client::GeminiCli => {}
    }
    let members = places.into_iter().flatten().filter_map(Value::as_object).flatten();
    Ok(members.map(|(name, entry)| (name.clone(), entry.clone())).collect())
}

struct Translation<'a> {
    client: Client,
    name: &'a str,
    problems: &'a mut Vec<String>,
}

impl Translation<'_> {
    fn server(&mut self, entry: &Value) -> Option<Value> {
        let Some(entry) = entry.as_object() else {
            self.problem("is not an object");
            return None;
        };
        if self.name.trim().is_empty() {
            self.problem("has no name");
            return None;
        }
        let mut server = Map::new();
        if !self.command(entry, &mut server) && !self.url(entry, &mut server) {
            let problem = match entry.get("source").and_then(Value::as_str) {
                Some("extension") => "comes from an extension, which only its editor can start",
                _ if entry.contains_key("settings") => {
                    "comes from an extension, which only its editor can start"
                }
                _ => "has neither a command nor a URL",
            };
            self.problem(problem);
            return None;
        }
        self.options(entry, &mut server);
        let mut server = Value::Object(server);
        if self.client != Client::Codex {
            // The reader of Codex has done this: there, only some of the strings are references.
            each_text(&mut server, &mut |text| *text = references(self.client, text));
        }
        Some(server)
    }

    fn command(&mut self, entry: &Map<String, Value>, server: &mut Map<String, Value>) -> bool {
        let (command, beside) = match entry.get("command") {
            Some(Value::String(command)) if !command.trim().is_empty() => (command.clone(), entry),
            // Zed used to write the command as an object of its own.
            Some(Value::Object(inner)) => match inner.get("path").and_then(Value::as_str) {
                Some(path) => (path.to_owned(), inner),
                None => return false,
            },
            _ => return false,
        };
        server.insert("command".to_owned(), Value::String(command));
        if let Some(args) = beside.get("args").and_then(Value::as_array) {
            let texts: Vec<Value> = args.iter().filter_map(as_text).map(Value::String).collect();
            if texts.len() < args.len() {
                self.problem("has arguments that are not text; they were left out");
            }
            if !texts.is_empty() {
                server.insert("args".to_owned(), Value::Array(texts));
            }
        }
        if let Some(env) = texts(beside.get("env")) {
            server.insert("env".to_owned(), env);
        }
        for key in ["cwd", "envFile"] {
            if let Some(path) = entry.get(key).and_then(Value::as_str).filter(|it| !it.is_empty()) {
                server.insert(key.to_owned(), json!(path));
            }
        }
        true
    }

    fn url(&mut self, entry: &Map<String, Value>, server: &mut Map<String, Value>) -> bool {
        let written = ["url", "serverUrl", "httpUrl"].into_iter().filter_map(|key| entry.get(key));
        let Some(url) = written.filter_map(Value::as_str).find(|url| !url.trim().is_empty()) else {
            return false;
        };
        let kind = entry.get("type").or_else(|| entry.get("transport")).and_then(Value::as_str);
        if kind == Some("sse") {
            server.insert("type".to_owned(), json!("sse"));
        }
        server.insert("url".to_owned(), json!(url));
        if let Some(headers) = texts(entry.get("headers")) {
            server.insert("headers".to_owned(), headers);
        }
        if entry.contains_key("headersHelper") {
            self.problem("gets headers from a script, which a hub does not run; write them in `headers`");
        }
        self.oauth(entry, server);
        true
    }

    fn oauth(&mut self, entry: &Map<String, Value>, server: &mut Map<String, Value>) {
        let Some(written) = entry.get("oauth").or_else(|| entry.get("auth")).and_then(Value::as_object)
        else {
            return;
        };
        let mut auth = Map::new();
        for (key, other) in [("clientId", "CLIENT_ID"), ("clientSecret", "CLIENT_SECRET")] {
            if let Some(text) = written.get(key).or_else(|| written.get(other)).and_then(Value::as_str) {
                auth.insert(key.to_owned(), json!(text));
            }
        }
        let scopes = match written.get("scopes") {
            Some(Value::String(scopes)) => scopes.split_whitespace().map(|it| json!(it)).collect(),
            Some(Value::Array(scopes)) => scopes.iter().filter(|it| it.is_string()).cloned().collect(),
            _ => Vec::new(),
        };
        if !scopes.is_empty() {
            auth.insert("scopes".to_owned(), Value::Array(scopes));
        }
        if !auth.is_empty() {
            server.insert("auth".to_owned(), Value::Object(auth));
        }
    }

    fn options(&mut self, entry: &Map<String, Value>, server: &mut Map<String, Value>) {
        let flag = |key: &str| entry.get(key).and_then(Value::as_bool);
        if flag("disabled") == Some(true) || flag("enabled") == Some(false) {
            server.insert("disabled".to_owned(), Value::Bool(true));
        }
        let limits = [("callMs", entry.get("timeout")), ("startMs", entry.get("startMs"))];
        let limits: Map<String, Value> = limits
            .into_iter()
            .filter_map(|(key, value)| value.and_then(Value::as_u64).map(|ms| (key, ms)))
            .filter(|(_, milliseconds)| (1..=3_600_000).contains(milliseconds))
            .map(|(key, milliseconds)| (key.to_owned(), json!(milliseconds)))
            .collect();
        if !limits.is_empty() {
            server.insert("limits".to_owned(), Value::Object(limits));
        }
        let off = ["disabledTools", "excludeTools"].into_iter().filter_map(|key| entry.get(key)?.as_array());
        let off: Vec<Value> = off.flatten().filter(|it| it.is_string()).cloned().collect();
        if !off.is_empty() {
            server.insert("disabledTools".to_owned(), Value::Array(off));
        }
        let only = ["includeTools", "enabledTools"]
            .into_iter()
            .find(|key| entry.get(*key).is_some_and(Value::is_array));
        if let Some(key) = only {
            self.problem(&format!("shows only some tools (`{key}`); say so in `policy.allow`"));
        }
    }

    fn problem(&mut self, problem: &str) {
        self.problems.push(format!("`{}` {problem}", self.name));
    }
}

/// Clients accept numbers and switches where text is meant.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn texts(map: Option<&Value>) -> Option<Value> {
    let texts: Map<String, Value> = map?
        .as_object()?
        .iter()
        .filter_map(|(name, value)| as_text(value).map(|text| (name.clone(), Value::String(text))))
        .collect();
    (!texts.is_empty()).then_some(Value::Object(texts))
}
