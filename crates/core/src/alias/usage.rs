//! How a tool is called instead of an old one, in one line.

use serde_json::Value;

use super::Alias;
use crate::tool::{Tool, clean};

/// Required parameters that are shown.
const MOST_SHOWN: usize = 12;
/// Characters of a fixed value that are shown.
const MOST_CHARS: usize = 200;

/// Writes the call of a tool: what is always given, then what it requires, then what has a new name.
pub(super) fn generated(alias: &Alias, tool: Option<&Tool>) -> String {
    let mut parts: Vec<String> =
        alias.fixed.iter().map(|(name, value)| format!("{name}={}", shortened(value))).collect();
    let mut named: Vec<&str> = alias.fixed.keys().map(String::as_str).collect();
    let parameters = tool.map_or(&[][..], |tool| &tool.parameters);
    let required = parameters.iter().filter(|parameter| parameter.required).take(MOST_SHOWN);
    let of_tool = required.map(|parameter| parameter.name.as_str());
    for name in of_tool.chain(alias.renamed.values().map(String::as_str)) {
        if named.contains(&name) {
            continue;
        }
        let kind = parameters.iter().find(|it| it.name == name).map_or("", |it| it.kind.as_str());
        let hole = match kind {
            kind if kind.starts_with("string") => "\"...\"",
            kind if kind.starts_with("array") || kind.ends_with("[]") => "[...]",
            _ => "...",
        };
        parts.push(format!("{name}={hole}"));
        named.push(name);
    }
    let has_more = match tool {
        Some(tool) => tool.parameters.iter().any(|it| !named.contains(&it.name.as_str())),
        // What nobody has listed yet may take anything.
        None => true,
    };
    parts.extend(has_more.then(|| "...".to_owned()));
    clean(&format!("{}({})", alias.to, parts.join(", "))).into_owned()
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
