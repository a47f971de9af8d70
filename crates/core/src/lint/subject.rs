//! One tool as it is judged: its definition, read once.

use std::collections::{HashMap, HashSet};

use crate::catalog::Catalog;
use crate::form::Form;
use crate::lexicon::{Language, Reading};
use crate::tool::json::Members;
use crate::tool::words::words;
use crate::tool::{Hints, Tool};

use super::prose::Prose;
use super::rule::RuleId;
use super::{Diagnostic, Suggestion};

/// One tool as it is judged.
pub(super) struct Subject<'a> {
    pub(super) tool: &'a Tool,
    pub(super) form: &'a Form,
    pub(super) prose: Prose,
    /// Whether the markers of the form, which are English, can be expected.
    pub(super) is_english: bool,
    pub(super) hints: Hints,
    pub(super) has_output_schema: bool,
    /// Whether parameters may stand elsewhere than in `properties`.
    pub(super) is_composed: bool,
    /// Other tools of the server that the description names.
    pub(super) named: HashSet<&'a str>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// The start of a description tells its language.
const LANGUAGE_CHARS: usize = 400;

impl<'a> Subject<'a> {
    /// Reads the tool at a position.
    pub(super) fn of(catalog: &'a Catalog, position: usize, names: &HashMap<&'a str, &'a str>) -> Self {
        let tool = &catalog.tools()[position];
        let members = Members::of(&tool.definition);
        let member = |key: &str| members.as_ref().and_then(|it| it.get(key));
        let schema = member("inputSchema").and_then(Members::of);
        let start: String = tool.description.chars().take(LANGUAGE_CHARS).collect();
        Self {
            form: catalog.form(position),
            prose: Prose::of(&tool.description),
            is_english: Reading::of(&start).language == Language::En,
            hints: member("annotations")
                .and_then(|it| serde_json::from_str(it.get()).ok())
                .unwrap_or_default(),
            has_output_schema: member("outputSchema").is_some(),
            is_composed: schema.is_some_and(|it| {
                ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|key| it.get(key).is_some())
            }),
            named: mentions(&tool.description, names).filter(|name| *name != tool.name).collect(),
            diagnostics: Vec::new(),
            tool,
        }
    }

    /// Reports something about a place in the definition.
    pub(super) fn report(&mut self, rule: RuleId, place: impl Into<String>, message: impl Into<String>) {
        let (place, message) = (place.into(), message.into());
        self.diagnostics.push(Diagnostic { rule, level: rule.level(), place, message, suggestion: None });
    }

    /// Reports something with what could be written instead.
    pub(super) fn suggest(&mut self, rule: RuleId, message: impl Into<String>, suggestion: Suggestion) {
        self.report(rule, "/description", message);
        if let Some(last) = self.diagnostics.last_mut() {
            last.suggestion = Some(suggestion);
        }
    }
}

/// Returns the place of a parameter as a JSON pointer.
pub(super) fn property(name: &str) -> String {
    format!("/inputSchema/properties/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns what the tools of a server are called in text: their names, also without the product in front.
pub(super) fn callings(tools: &[Tool]) -> HashMap<&str, &str> {
    let short = tools.iter().filter_map(|tool| {
        let (_, rest) = tool.name.split_once(['_', '-'])?;
        (words(rest).count() > 1).then_some((rest, tool.name.as_str()))
    });
    // A tool's own name wins over the end of a longer one.
    short.chain(tools.iter().map(|tool| (tool.name.as_str(), tool.name.as_str()))).collect()
}

/// Finds the tools that a text names. A name that is a plain word counts only in quotation marks.
fn mentions<'a>(text: &str, names: &HashMap<&'a str, &'a str>) -> impl Iterator<Item = &'a str> {
    let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '.' | '/');
    let mut found = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let begin = text[start..].find(is_part).map_or(text.len(), |at| start + at);
        let end = text[begin..].find(|it| !is_part(it)).map_or(text.len(), |at| begin + at);
        let word = text[begin..end].trim_end_matches(['.', '-', '/']);
        let is_quoted = text[..begin].ends_with(['`', '\'', '"', '“', '「', '„']);
        if let Some(name) = names.get(word)
            && (is_quoted || words(word).count() > 1)
        {
            found.push(*name);
        }
        start = end.max(begin + 1);
    }
    found.into_iter()
}
