//! The configuration of Codex, which is TOML.

use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike};

use super::notation::{references, servers_key};
use super::{Client, Entry};

/// Reads the servers into the form that JSON clients use.
pub(super) fn entries(text: &str) -> Result<Vec<(String, Value)>, String> {
    let document = parse(text)?;
    let Some(servers) = document.get(servers_key(Client::Codex)) else { return Ok(Vec::new()) };
    let servers = servers.as_table_like().ok_or("`mcp_servers` is not a table")?;
    Ok(servers.iter().map(|(name, server)| (name.to_owned(), translated(&json_of(server)))).collect())
}

/// Writes our own entry, or returns the text as it is when it is already there.
pub(super) fn connected(text: &str, name: &str, entry: &Entry) -> Result<String, String> {
    let mut document = parse(text)?;
    let key = servers_key(Client::Codex);
    let servers = document.entry(key).or_insert_with(|| {
        let mut table = toml_edit::Table::new();
        // Only the table of the server itself gets a header.
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers.as_table_like_mut().ok_or("`mcp_servers` is not a table")?;
    let inline = servers_are_inline(servers);
    let server = servers
        .entry(name)
        .or_insert_with(|| if inline { toml_edit::value(InlineTable::new()) } else { toml_edit::table() });
    let server = server.as_table_like_mut().ok_or_else(|| format!("`{key}.{name}` is not a table"))?;
    let wanted = wanted(entry);
    let mut changed = false;
    for stale in ["command", "args", "url", "http_headers", "bearer_token_env_var", "env_http_headers"] {
        if !wanted.iter().any(|(key, _)| *key == stale) {
            changed |= server.remove(stale).is_some();
        }
    }
    for (key, value) in wanted {
        if server.get(key).map(json_of) != Some(json_of(&value)) {
            server.insert(key, value);
            changed = true;
        }
    }
    if server.get("enabled").and_then(Item::as_bool) == Some(false) {
        server.insert("enabled", toml_edit::value(true));
        changed = true;
    }
    Ok(if changed { document.to_string() } else { text.to_owned() })
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        format!("line {line}: {}", error.message().trim())
    })
}

/// A table in braces cannot hold one with a header.
fn servers_are_inline(servers: &dyn TableLike) -> bool {
    servers.iter().next().is_some_and(|(_, server)| server.is_inline_table())
}

fn wanted(entry: &Entry) -> Vec<(&'static str, Item)> {
    match entry {
        Entry::Command { command, args } => vec![
            ("command", toml_edit::value(command)),
            ("args", toml_edit::value(args.iter().map(String::as_str).collect::<Array>())),
        ],
        Entry::Url { url, token } => {
            let mut wanted = vec![("url", toml_edit::value(url))];
            if let Some(token) = token {
                let header = [("Authorization", format!("Bearer {token}"))];
                wanted.push(("http_headers", toml_edit::value(InlineTable::from_iter(header))));
            }
            wanted
        }
    }
}

/// Brings the keys of Codex into those of JSON clients, in our form of references.
fn translated(server: &Value) -> Value {
    let Value::Object(written) = literal(server) else { return server.clone() };
    let mut entry = Map::new();
    let text_in = |value: &Value| value.as_str().map(str::to_owned);
    for key in ["command", "args", "env", "cwd", "url", "enabled"] {
        entry.extend(written.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    entry.extend(written.get("disabled_tools").map(|tools| ("disabledTools".to_owned(), tools.clone())));
    entry.extend(written.get("enabled_tools").map(|tools| ("enabledTools".to_owned(), tools.clone())));
    let named = written.get("env_vars").and_then(Value::as_array).into_iter().flatten();
    for name in named.filter_map(|it| text_in(it).or_else(|| it.get("name").and_then(text_in))) {
        put(&mut entry, "env", &name, format!("${{{name}}}"));
    }
    let members = |key: &str| written.get(key).and_then(Value::as_object).into_iter().flatten();
    for (header, value) in members("http_headers") {
        put(&mut entry, "headers", header, text_in(value).unwrap_or_default());
    }
    for (header, variable) in members("env_http_headers") {
        let variable = text_in(variable).unwrap_or_default();
        put(&mut entry, "headers", header, format!("${{{variable}}}"));
    }
    if let Some(variable) = written.get("bearer_token_env_var").and_then(text_in) {
        put(&mut entry, "headers", "Authorization", format!("Bearer ${{{variable}}}"));
    }
    let mut oauth = Map::new();
    oauth.extend(written.get("scopes").map(|scopes| ("scopes".to_owned(), scopes.clone())));
    let client = written.get("oauth").and_then(|it| it.get("client_id"));
    oauth.extend(client.map(|client| ("clientId".to_owned(), client.clone())));
    if !oauth.is_empty() {
        entry.insert("oauth".to_owned(), Value::Object(oauth));
    }
    let milliseconds = |key: &str| written.get(key).and_then(Value::as_f64).and_then(in_milliseconds);
    let start = milliseconds("startup_timeout_sec").or_else(|| written.get("startup_timeout_ms")?.as_u64());
    entry.extend(start.map(|start| ("startMs".to_owned(), json!(start))));
    entry.extend(milliseconds("tool_timeout_sec").map(|call| ("timeout".to_owned(), json!(call))));
    Value::Object(entry)
}

/// Keeps what is literal to Codex literal to us.
fn literal(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(references(Client::Codex, text)),
        Value::Array(elements) => elements.iter().map(literal).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), literal(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn put(entry: &mut Map<String, Value>, map: &str, key: &str, text: String) {
    let map = entry.entry(map).or_insert_with(|| json!({}));
    if let Some(map) = map.as_object_mut() {
        map.entry(key).or_insert(Value::String(text));
    }
}

fn in_milliseconds(seconds: f64) -> Option<u64> {
    std::time::Duration::try_from_secs_f64(seconds).ok().and_then(|it| it.as_millis().try_into().ok())
}

fn json_of(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_of_value(value),
        Item::Table(table) => {
            Value::Object(table.iter().map(|(key, item)| (key.to_owned(), json_of(item))).collect())
        }
        Item::ArrayOfTables(tables) => {
            tables.iter().map(|table| json_of(&Item::Table(table.clone()))).collect()
        }
    }
}

fn json_of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => json!(text.value()),
        toml_edit::Value::Integer(number) => json!(number.value()),
        toml_edit::Value::Float(number) => json!(number.value()),
        toml_edit::Value::Boolean(flag) => json!(flag.value()),
        toml_edit::Value::Datetime(time) => json!(time.value().to_string()),
        toml_edit::Value::Array(elements) => elements.iter().map(json_of_value).collect(),
        toml_edit::Value::InlineTable(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.to_owned(), json_of_value(value))).collect())
        }
    }
}
