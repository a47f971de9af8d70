//! What kinds of values a request holds, and what kinds a tool needs.

use crate::text::{SOME_FOLDER, is_file_ending, paths, without_folders};
use crate::tool::{Parameter, Tool};

/// A kind of value that is recognised by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Url,
    Path,
    Number,
    Email,
    Code,
}

const KINDS: [Kind; 5] = [Kind::Url, Kind::Path, Kind::Number, Kind::Email, Kind::Code];

/// The kinds of values that a request holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    held: [bool; KINDS.len()],
    /// How many numbers it holds.
    numbers: usize,
}

/// How a tool's parameters and a request's values fit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fit {
    /// The share of the held kinds that the tool can take.
    pub(super) taken: f32,
    /// How many required kinds nobody gave.
    pub(super) missing: f32,
    /// How many more numbers the tool requires than the request holds, as a share of four.
    pub(super) numbers: f32,
}

/// Looking further costs time and finds more of the same.
const MAX_CHARS: usize = 4000;
/// A tool that lacks more numbers than this lacks no more.
const MAX_NUMBERS: usize = 4;

impl Evidence {
    pub(super) fn of(task: &str) -> Self {
        let end = task.char_indices().nth(MAX_CHARS).map_or(task.len(), |(at, _)| at);
        let mut evidence = Self::default();
        evidence.held[Kind::Path as usize] = !paths(&task[..end]).is_empty();
        // Numbers and dots in the names of folders are no values.
        let task = without_folders(&task[..end], SOME_FOLDER);
        for word in task.split_whitespace() {
            let word = word.trim_matches(|c: char| {
                matches!(c, '"' | '\'' | ',' | ';' | '(' | ')' | '“' | '”' | '?' | '!')
            });
            let word = word.trim_end_matches('.');
            let mut hold = |kind: Kind| evidence.held[kind as usize] = true;
            if word.starts_with("http://") || word.starts_with("https://") || is_domain(word) {
                hold(Kind::Url);
            } else if word.contains('@') && word.rsplit('@').next().is_some_and(is_domain) {
                hold(Kind::Email);
            } else if is_path(word) {
                hold(Kind::Path);
            } else if word.chars().any(|c| c.is_ascii_digit()) {
                hold(Kind::Number);
            }
        }
        let parts = task.split(|c: char| !c.is_ascii_digit() && c != '.');
        evidence.numbers = parts.filter(|part| part.contains(|c: char| c.is_ascii_digit())).count();
        evidence.held[Kind::Code as usize] =
            task.contains("```") || task.contains("=>") || task.contains("();");
        evidence
    }

    pub(super) fn fit(self, tool: &Tool) -> Fit {
        let (mut takes, mut requires) = ([false; KINDS.len()], [false; KINDS.len()]);
        for parameter in &tool.parameters {
            if let Some(kind) = needs(parameter) {
                takes[kind as usize] = true;
                requires[kind as usize] |= parameter.required;
            }
        }
        let is_number = |it: &&Parameter| it.required && matches!(it.kind.as_str(), "number" | "integer");
        let lacks = tool.parameters.iter().filter(is_number).count().saturating_sub(self.numbers);
        let held = self.held.iter().filter(|held| **held).count().max(1) as f32;
        let numbers = lacks.min(MAX_NUMBERS) as f32 / MAX_NUMBERS as f32;
        let mut fit = Fit { numbers, ..Fit::default() };
        for kind in KINDS {
            let is_held = self.held[kind as usize];
            if is_held && takes[kind as usize] {
                fit.taken += 1.0 / held;
            }
            // Numbers are often meant without being said.
            if !is_held && requires[kind as usize] && kind != Kind::Number {
                fit.missing += 1.0;
            }
        }
        fit
    }
}

fn is_domain(word: &str) -> bool {
    let host = word.split('/').next().unwrap_or_default();
    let Some((name, end)) = host.rsplit_once('.') else { return false };
    let known = [
        "com", "org", "net", "io", "dev", "de", "fr", "es", "it", "uk", "jp", "cn", "edu", "gov", "eu", "ai",
        "app",
    ];
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-._".contains(c)) && known.contains(&end)
}

fn is_path(word: &str) -> bool {
    let has_slash = word.starts_with(['/', '~']) || word.starts_with("./") || word.matches('/').count() > 1;
    let extension = word.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, end)| end);
    has_slash || extension.is_some_and(is_file_ending) || word.contains('\\')
}

fn needs(parameter: &Parameter) -> Option<Kind> {
    let name = parameter.name.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match () {
        () if has(&["url", "uri", "website", "domain"]) => Some(Kind::Url),
        () if has(&["path", "filename", "file_name", "directory", "folder"]) || name == "file" => {
            Some(Kind::Path)
        }
        () if has(&["email"]) => Some(Kind::Email),
        () if has(&["code", "script"]) => Some(Kind::Code),
        () if matches!(parameter.kind.as_str(), "number" | "integer") => Some(Kind::Number),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;

    use super::*;
    use crate::catalog::{Advertised, Bounds, Catalog};

    #[test]
    fn r13_a_tool_may_need_more_numbers_than_were_said() {
        let definition = r#"{"name": "triangle", "inputSchema": {"required": ["a", "b", "c"], "properties":
            {"a": {"type": "number"}, "b": {"type": "integer"}, "c": {"type": "number"}, "d": {"type": "number"}}}}"#;
        let tools = vec![RawValue::from_string(definition.to_owned()).expect("JSON")];
        let bounds = Bounds { tools: 10, name_chars: 100, description_chars: 2000, nesting: 20 };
        let (catalog, _) = Catalog::gather([(Advertised { server: Arc::from("maths"), tools }, bounds)]);
        let lacks = |task: &str| Evidence::of(task).fit(&catalog.tools()[0]).numbers;
        assert_eq!(lacks("the area for sides 3, 4.5 and 5"), 0.0);
        assert_eq!(lacks("the area for sides [3,4]"), 0.25);
        assert_eq!(lacks("the area of a triangle."), 0.75);
    }
}
