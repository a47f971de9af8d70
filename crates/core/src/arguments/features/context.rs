//! The words around a value, and whether they name the field or another one.

use super::super::candidate::{Candidate, Origin};
use super::super::request::ParsedRequest;
use super::super::token::Token;
use super::names::{distance, length, role, share, stance};
use super::{Extractor, Features};
use crate::form::Field;
use crate::thresholds::thresholds;

/// A word as features name it: an address or a path is one of many, so which one it is teaches nothing.
fn spoken(word: &str) -> &str {
    if word.contains(['/', '\\', '@']) { "…" } else { word }
}

/// Tokens on each side of a value that are looked at.
const NEAR: usize = 4;

/// Which tokens end the name of a field, such as `id` in `the chain ID` for `chainid`.
pub(super) fn spelt(field: &Field, request: &ParsedRequest<'_>) -> Vec<bool> {
    let letters = |text: &str| -> String {
        text.chars().filter(|it| it.is_alphanumeric()).collect::<String>().to_lowercase()
    };
    let name = letters(field.name());
    let ends = |end: usize| {
        let mut rest = name.as_str();
        for token in request.tokens[..=end].iter().rev().take(MAX_NAME) {
            let Some(shorter) = rest.strip_suffix(token.lower.as_str()) else { return false };
            if shorter.is_empty() {
                return true;
            }
            rest = shorter;
        }
        false
    };
    (0..request.tokens.len()).map(|end| !request.tokens[end].is_mark && ends(end)).collect()
}

/// Which tokens begin like a word of a field's name and go on otherwise: `Modell`, `temperatura`.
pub(super) fn kin(field: &Field, request: &ParsedRequest<'_>) -> Vec<bool> {
    let is_kin = |token: &Token, name: &String| {
        let shared = token.lower.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
        let longer = token.lower.chars().count().max(name.chars().count());
        token.term != *name && shared >= KIN && 5 * shared >= 3 * longer
    };
    request.tokens.iter().map(|token| field.name_terms.iter().any(|name| is_kin(token, name))).collect()
}

/// Words that a name can be written in.
const MAX_NAME: usize = 4;
/// Letters that kin words begin with.
const KIN: usize = 4;

impl Extractor<'_> {
    /// The words before and behind, for themselves and with what the field is.
    pub(super) fn surroundings(&self, candidate: &Candidate, shape: &str, features: &mut Features<'_>) {
        let (request, field, tokens) = (self.request, self.field, &candidate.tokens);
        let at = [tokens.start.checked_sub(1), Some(tokens.start), Some(tokens.end - 1), Some(tokens.end)];
        let word =
            |at: Option<usize>| at.and_then(|at| request.tokens.get(at)).map_or("^", |it| spoken(&it.lower));
        let [before, first, last, behind] = at.map(word);
        let [before_role, first_role, last_role, behind_role] = at.map(|at| role(request, at));
        features.add(&["b1", before, self.kind]);
        features.add(&["b2", word(tokens.start.checked_sub(2)), before, self.kind]);
        features.add(&["a1", behind, self.kind]);
        features.add(&["b1a1", before_role, behind_role, self.kind]);
        if candidate.origin == Origin::Words {
            features.add(&["f1", first]);
            features.add(&["l1", last]);
            features.add(&["edges", first_role, last_role, self.kind]);
        }
        let size = length(tokens.len());
        features.add(&["around", before_role, first_role, last_role, behind_role, self.kind]);
        features.add(&["around", before_role, first_role, last_role, behind_role, size]);
        features.add(&["b1s", before, shape]);
        features.add(&["a1s", behind, shape]);
        features.add(&["b1e", before, last_role, behind_role]);
        for name in &field.name_terms {
            features.add(&["b1n", before, name]);
            features.add(&["a1n", behind, name]);
        }
        for described in field.description_terms.iter().take(4) {
            features.add(&["b1d", before, described]);
        }
        for parent in &field.parent_terms {
            features.add(&["b1u", before, parent]);
        }
    }

    /// Whether words of the field's name and description stand near, and whether those of others do.
    pub(super) fn cues(&self, candidate: &Candidate, shape: &str, features: &mut Features<'_>) {
        let (request, field, tokens) = (self.request, self.field, &candidate.tokens);
        let before = |back: usize| tokens.start.checked_sub(back).map(|at| &request.tokens[at]);
        let behind = |on: usize| request.tokens.get(tokens.end + on - 1);
        let is_in = |terms: &[String], it: Option<&Token>| {
            it.is_some_and(|it| !it.term.is_empty() && terms.contains(&it.term))
        };
        let back_to = |terms: &[String]| (1..=NEAR).find(|back| is_in(terms, before(*back)));
        let on_to = |terms: &[String]| (1..=2).find(|on| is_in(terms, behind(*on)));
        let name = back_to(&field.name_terms);
        let nearest = name.map_or("none", distance);
        features.add(&["cue", nearest, self.kind]);
        if name.and_then(before).is_some_and(|it| it.term == field.head()) {
            features.add(&["cue-head", nearest]);
        }
        features.add(&["cue-by", nearest, before(1).map_or("^", |it| spoken(&it.lower))]);
        features.add(&["cue-like", nearest, shape, role(request, Some(tokens.end))]);
        let described = back_to(&field.description_terms);
        features.add(&["told", described.map_or("none", distance), self.kind]);
        features.add(&["after", on_to(&field.name_terms).map_or("none", distance), self.kind]);
        let described_after = on_to(&field.description_terms);
        features.add(&["after-told", described_after.map_or("none", distance), self.kind]);
        if let Some(parent) = back_to(&field.parent_terms) {
            features.add(&["above", distance(parent)]);
        }
        let is_other = |it: Option<&Token>| it.is_some_and(|it| self.is_other(&it.term));
        let other = (1..=NEAR).find(|back| is_other(before(*back)));
        features.add(&["other", other.map_or("none", distance), nearest]);
        if is_other(behind(1)) {
            features.add(&["other-after", self.kind]);
        }
        let back_in =
            |marked: &[bool]| (1..=2).find(|back| tokens.start >= *back && marked[tokens.start - back]);
        if let Some(back) = back_in(&self.spelt) {
            features.add(&["spelt", distance(back), self.kind]);
        }
        if let Some(back) = back_in(&self.kin) {
            features.add(&["kin", distance(back), nearest, self.kind]);
        }
        let is_name = |term: &str| field.name_terms.iter().any(|name| name == term);
        let near = tokens.start.saturating_sub(2)..tokens.start;
        if request.related[near]
            .iter()
            .flatten()
            .any(|(term, share)| *share > thresholds().arguments.related_name as f32 && is_name(term))
        {
            features.add(&["cue-related", self.kind]);
        }
        let stance = stance(request.stances[tokens.start]);
        features.add(&["stance", stance, self.kind]);
        features.add(&["stance", stance, shape]);
        features.add(&["stance", stance, nearest]);
        for name in &field.name_terms {
            features.add(&["stance", stance, "n", name]);
        }
        self.inside(candidate, features);
    }

    /// Whether a word belongs to the name of another field and not to this one's.
    fn is_other(&self, term: &str) -> bool {
        let has = |field: &Field| field.name_terms.iter().any(|name| name == term);
        !term.is_empty() && !has(self.field) && self.form.fields().iter().any(has)
    }

    /// Whether words of this field, of others or of the tool stand in the sentence and in the value itself.
    fn inside(&self, candidate: &Candidate, features: &mut Features<'_>) {
        let (request, tokens) = (self.request, &candidate.tokens);
        let is_name = |it: &Token| !it.term.is_empty() && self.field.name_terms.contains(&it.term);
        let is_named = request.tokens[request.sentence(tokens.start)].iter().any(is_name);
        features.add(&["sentence", if is_named { "named" } else { "not" }, self.kind]);
        let inside = &request.tokens[tokens.clone()];
        let named: Vec<usize> = (0..inside.len()).filter(|at| is_name(&inside[*at])).collect();
        let place = match named[..] {
            [] => None,
            _ if named.len() == inside.len() => Some("all"),
            [.., last] if last + 1 == inside.len() => Some("last"),
            [0, ..] => Some("first"),
            _ => Some("middle"),
        };
        if let Some(place) = place {
            features.add(&["inside", place, self.kind]);
        }
        if inside.iter().any(|it| self.is_other(&it.term)) {
            features.add(&["inside-other", self.kind]);
        }
        let is_known = |it: &&Token| !it.term.is_empty() && self.form.tool_terms.contains(&it.term);
        features.add(&["about", share(inside.iter().filter(is_known).count(), inside.len()), self.kind]);
    }
}
