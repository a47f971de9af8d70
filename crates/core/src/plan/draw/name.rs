//! What a step and its result are called: the thing that it is about.

use super::{ChosenStep, Step};
use crate::lexicon::Lexicon;
use crate::text::terms;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;

/// Bytes of a step's name, which leave room for a number behind it.
const MOST_BYTES: usize = 50;

/// Names a step after the last noun of its tool, as the request writes it: one commit is a `commit`.
pub(super) fn name(chosen: &ChosenStep<'_>, steps: &[Step]) -> String {
    let own: Vec<String> = words(&chosen.tool.name).map(str::to_lowercase).filter(|it| is_name(it)).collect();
    let is_verb = |word: &str| Lexicon::builtin().verb(word).is_some();
    let server: Vec<String> = words(&chosen.tool.server).map(str::to_lowercase).collect();
    let is_noun = |word: &&String| {
        !is_verb(word)
            && !vocabulary().names.plain.contains(*word)
            && !server.contains(word)
            && word.len() > 1
    };
    let noun = own.iter().rev().find(is_noun).or_else(|| own.last());
    let noun = noun.map_or("result", String::as_str);
    let said = said(noun, &chosen.clause.words).unwrap_or_else(|| noun.to_owned());
    let is_taken =
        |name: &str| steps.iter().any(|step| step.name == name) || matches!(name, "item" | "parameters");
    if !is_taken(&said) {
        return said;
    }
    (2..).map(|number| format!("{said}{number}")).find(|name| !is_taken(name)).unwrap_or(said)
}

/// Whether a word can be the name of a step: `3d` and `größe` cannot.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && word.len() <= MOST_BYTES
}

/// Finds a word of a request that is a form of a noun.
fn said(noun: &str, request: &str) -> Option<String> {
    let stem = terms(noun, 1);
    let plain = request.split_whitespace().map(|word| word.trim_matches([',', '.', ';', ':', '!', '?']));
    let plain = plain.filter(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic()));
    plain.map(str::to_lowercase).find(|word| !stem.is_empty() && terms(word, 1) == stem)
}
