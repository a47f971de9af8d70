//! What a tool says of itself, shortened for a tool that stands for several.
//!
//! Nothing is cut that stands nowhere else: what a description says of parameters moves to those without a
//! description, and where one of them still has none the whole description stays.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shape::{Openness, Shape};
use crate::tool::vocabulary::vocabulary;

/// Characters of what a tool says of itself.
const GIST_CHARS: usize = 400;
/// Words of a line that is a heading.
const MOST_HEADING: usize = 3;

/// Gives parameters without a description what the tool's own description says of them.
pub(super) fn complete(shape: &mut Shape, description: &str) {
    let names: Vec<&str> = shape.parameters.iter().map(|(name, _)| name.as_str()).collect();
    let told = parameter_lines(description, &names);
    for (name, schema) in &mut shape.parameters {
        let Some(members) = schema.as_object_mut() else { continue };
        if let Some(text) = told.get(name).filter(|_| !has_description(members.get("description"))) {
            members.insert("description".to_owned(), Value::String(text.clone()));
        }
    }
}

/// Shortens what a tool says of itself to whole sentences, without the list of its parameters and without examples,
/// which show calls of the original tool.
pub(super) fn gist(description: &str, shape: &Shape) -> String {
    let is_told = |(_, schema): &(String, Value)| has_description(schema.get("description"));
    let is_safe = match shape.parameters.is_empty() {
        // Parameters that only the description knows.
        true => shape.openness == Openness::Closed,
        false => shape.parameters.iter().all(is_told),
    };
    let is_end = |line: &&str| is_safe && (is_heading(line) || line.trim_start().starts_with("```"));
    let told: Vec<&str> = description.lines().take_while(|line| !is_end(line)).collect();
    let told = told.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ");
    let Some((end, _)) = told.char_indices().nth(GIST_CHARS).filter(|_| is_safe) else { return told };
    let room = &told[..end];
    let sentence = [". ", "! ", "? "].iter().filter_map(|mark| room.rfind(mark)).max();
    match sentence {
        Some(at) => room[..=at].to_owned(),
        None => format!("{}\u{2026}", room.rsplit_once(' ').map_or(room, |(whole, _)| whole)),
    }
}

fn has_description(description: Option<&Value>) -> bool {
    description.and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
}

/// Reads lines such as `name (string): what it is`, and those that go on below them.
fn parameter_lines(description: &str, names: &[&str]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut open: Option<(&str, usize)> = None;
    for line in description.lines() {
        let indent = line.len() - line.trim_start().len();
        if let Some((name, text)) = parameter_line(line, names) {
            found.insert(name.to_owned(), text.to_owned());
            open = Some((name, indent));
            continue;
        }
        open = open.filter(|(_, above)| indent > *above && !line.trim().is_empty() && !is_heading(&line));
        if let Some(text) = open.and_then(|(name, _)| found.get_mut(name)) {
            *text += &format!(" {}", line.trim());
        }
    }
    found.retain(|_, text| !text.trim().is_empty());
    found
}

fn parameter_line<'a, 'b>(line: &'b str, names: &[&'a str]) -> Option<(&'a str, &'b str)> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-*\u{2022}`".contains(c));
    let end = line.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(line.len());
    let name = names.iter().find(|name| **name == line[..end].trim_end_matches('-'))?;
    let rest = line[end..].trim_start_matches(['`', '*', ' ']);
    let rest = match rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
        Some((_, behind)) => behind.trim_start_matches(['`', '*', ' ']),
        None => rest,
    };
    let text = rest.strip_prefix(':').or_else(|| rest.strip_prefix("- "))?;
    Some((name, text.trim_start_matches(['*', ' ']).trim_end()))
}

/// Whether a line leads to parameters, results or examples: `Args:`, `**Usage Example:**`.
fn is_heading(line: &&str) -> bool {
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let words = line.split_once(':').map_or(&*line, |(words, _)| words);
    let mut words = words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let headings = &vocabulary().descriptions.headings;
    let is_known = words.next().is_some_and(|first| headings.iter().any(|it| it.to_lowercase() == first));
    is_known && words.count() < MOST_HEADING
}
