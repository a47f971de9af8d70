//! What a tool does, read from what its server says about it.

use crate::lexicon::{Action, Categories, Lexicon};
use crate::text::sentences;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;
use crate::tool::{Effect, Tool};

/// Enough of a description to tell what a tool is about; later sentences are about its details.
const LEAD_CHARS: usize = 240;
/// Characters of a sentence that says what a tool does.
const GIST_CHARS: usize = 200;

/// Infers what a tool does.
pub(super) fn action(tool: &Tool) -> Action {
    let lexicon = Lexicon::builtin();
    let name: Vec<String> = words(&tool.name).map(str::to_lowercase).collect();
    let described = tool.description.split_whitespace().take(3).map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        // Descriptions say `Creates` where names say `create`.
        word.strip_suffix('s').map(str::to_owned).filter(|stem| stem.len() > 2).unwrap_or(word)
    });
    let verb = name.iter().cloned().chain(described).find_map(|word| lexicon.verb(&word));
    match verb {
        // `get` shows one thing or many: the noun tells which.
        Some(Action::List) if !name.last().is_some_and(|last| is_plural(last)) && name.len() > 1 => {
            if name.iter().any(|word| word == "list") { Action::List } else { Action::Read }
        }
        Some(verb) => verb,
        None => match tool.effect {
            Effect::Read => Action::Read,
            Effect::Destroy => Action::Delete,
            Effect::Write => Action::Unknown,
        },
    }
}

/// Infers what a tool acts on: the nouns of its name.
pub(super) fn targets(tool: &Tool) -> Vec<String> {
    let lexicon = Lexicon::builtin();
    let small = &vocabulary().names.small;
    let nouns = words(&tool.name).map(str::to_lowercase).filter(|word| {
        word.len() > 1 && !small.contains(word) && lexicon.verb(word).is_none() && *word != *tool.server
    });
    nouns.take(3).map(|noun| if is_plural(&noun) { noun } else { plural(&noun) }).collect()
}

/// Infers the field of use of a tool.
pub(super) fn category(tool: &Tool) -> Option<usize> {
    let lead: String = tool.description.chars().take(LEAD_CHARS).collect();
    let title = tool.title.as_deref().unwrap_or_default();
    // The name says most, so it counts twice.
    Categories::builtin().vote(&format!("{} {} {} {title} {lead}", tool.server, tool.name, tool.name))
}

/// Returns the first sentence of a description.
pub(crate) fn first_sentence(description: &str) -> &str {
    let end = description.find(". ").map_or(description.len(), |at| at + 1);
    let line = description.find('\n').unwrap_or(description.len());
    description[..end.min(line)].trim()
}

/// Returns the first sentence of a tool's description that says something, not too long.
pub fn gist(tool: &Tool) -> String {
    let sentence = sentences(&tool.description, 1).first().copied();
    let sentence = sentence.unwrap_or_else(|| first_sentence(&tool.description));
    let sentence = sentence.trim_start_matches(['#', '*', '-', ' ']);
    if sentence.chars().nth(GIST_CHARS).is_none() {
        return sentence.to_owned();
    }
    sentence.chars().take(GIST_CHARS - 1).chain(['…']).collect()
}

fn is_plural(noun: &str) -> bool {
    noun.len() > 2 && noun.ends_with('s') && !["ss", "us", "is"].iter().any(|end| noun.ends_with(end))
}

fn plural(noun: &str) -> String {
    if let Some(stem) = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    format!("{noun}{}", if hisses { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;

    use super::*;
    use crate::catalog::{Advertised, Bounds, Catalog};
    use crate::tool::Parameters;

    #[test]
    fn i7_a_small_model_reads_one_sentence_and_the_parameters_it_needs() {
        let definition = r##"{"name": "t", "title": "T", "description": "# Tasks\nOk. Lists all tasks of a person. And more.",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"]},
            "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}"##;
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 9 };
        let tools = vec![RawValue::from_string(definition.to_owned()).expect("JSON")];
        let (catalog, _) = Catalog::gather([(Advertised { server: Arc::from("s"), tools }, bounds)]);
        let tool = &catalog.tools()[0];
        insta::assert_snapshot!(tool.listed_briefly(&gist(tool), Parameters::Required, None), @r#"{"name":"s__t","description":"Lists all tasks of a person.","inputSchema":{"type":"object","properties":{"a":{"type": "string"}},"required":["a"]},"annotations":{"readOnlyHint": true}}"#);
        let all = tool.listed_briefly(&gist(tool), Parameters::All, None);
        assert!(all.contains(r#""b": {"type": "number"}"#), "{all}");
    }
}
