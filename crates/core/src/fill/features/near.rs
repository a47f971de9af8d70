//! The words around a value, and whether they name the field or another one.

use super::Setting;
use super::words::{at_distance, length, role_name, share, stance};
use crate::fill::candidate::{Candidate, How};
use crate::fill::features::Sink;
use crate::fill::page::Page;
use crate::fill::token::Token;
use crate::form::Field;
use crate::lexicon::Related;

/// A word as features name it: an address or a path is one of many, so which one it is teaches nothing.
fn spoken(word: &str) -> &str {
    if word.contains(['/', '\\', '@']) { "…" } else { word }
}

/// Tokens on each side of a value that are looked at.
const NEAR: usize = 4;

/// Which tokens end the name of a field, such as `id` in `the chain ID` for `chainid`.
pub(super) fn spelt(field: &Field, page: &Page<'_>) -> Vec<bool> {
    let letters = |text: &str| -> String {
        text.chars().filter(|it| it.is_alphanumeric()).collect::<String>().to_lowercase()
    };
    let name = field.path.last().map(|it| letters(it)).unwrap_or_default();
    let ends = |end: usize| {
        let mut rest = name.as_str();
        for token in page.tokens[..=end].iter().rev().take(MAX_NAME) {
            let Some(shorter) = rest.strip_suffix(token.lower.as_str()) else { return false };
            if shorter.is_empty() {
                return true;
            }
            rest = shorter;
        }
        false
    };
    (0..page.tokens.len()).map(|end| !page.tokens[end].is_mark && ends(end)).collect()
}

/// Which tokens begin like a word of a field's name and go on otherwise: `Modell`, `temperatura`.
pub(super) fn kin(field: &Field, page: &Page<'_>) -> Vec<bool> {
    let is_kin = |token: &Token, name: &String| {
        let shared = token.lower.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
        let longer = token.lower.chars().count().max(name.chars().count());
        token.term != *name && shared >= KIN && 5 * shared >= 3 * longer
    };
    page.tokens.iter().map(|token| field.name_terms.iter().any(|name| is_kin(token, name))).collect()
}

/// Words that a name can be written in.
const MAX_NAME: usize = 4;
/// Letters that kin words begin with.
const KIN: usize = 4;

impl Setting<'_> {
    /// The words before and behind, for themselves and with what the field is.
    pub(super) fn surroundings(&self, candidate: &Candidate, shape: &str, sink: &mut Sink<'_>) {
        let (page, tokens) = (self.page, &candidate.tokens);
        let word =
            |at: Option<usize>| at.and_then(|at| page.tokens.get(at)).map_or("^", |it| spoken(&it.lower));
        let b1 = word(tokens.start.checked_sub(1));
        let b2 = word(tokens.start.checked_sub(2));
        let a1 = word(Some(tokens.end));
        let (first, last) = (word(Some(tokens.start)), word(Some(tokens.end - 1)));
        sink.add(&["b1", b1, self.kind]);
        sink.add(&["b2", b2, b1, self.kind]);
        sink.add(&["a1", a1, self.kind]);
        sink.add(&[
            "b1a1",
            role_name(page, tokens.start.checked_sub(1)),
            role_name(page, Some(tokens.end)),
            self.kind,
        ]);
        if candidate.manner == How::Words {
            sink.add(&["f1", first]);
            sink.add(&["l1", last]);
            sink.add(&[
                "edges",
                role_name(page, Some(tokens.start)),
                role_name(page, Some(tokens.end - 1)),
                self.kind,
            ]);
        }
        let before = role_name(page, tokens.start.checked_sub(1));
        let behind = role_name(page, Some(tokens.end));
        let (start, end) = (role_name(page, Some(tokens.start)), role_name(page, Some(tokens.end - 1)));
        sink.add(&["around", before, start, end, behind, self.kind]);
        sink.add(&["around", before, start, end, behind, length(tokens.len())]);
        sink.add(&["b1s", b1, shape]);
        sink.add(&["a1s", a1, shape]);
        sink.add(&["b1e", b1, end, behind]);
        for name in &self.field.name_terms {
            sink.add(&["b1n", b1, name]);
            sink.add(&["a1n", a1, name]);
        }
        for told in self.field.description_terms.iter().take(4) {
            sink.add(&["b1d", b1, told]);
        }
        for above in &self.field.parent_terms {
            sink.add(&["b1u", b1, above]);
        }
    }

    /// Whether words of the field's name and description stand near, and whether those of others do.
    pub(super) fn cues(&self, candidate: &Candidate, shape: &str, sink: &mut Sink<'_>) {
        let (page, field, tokens) = (self.page, self.field, &candidate.tokens);
        let before = |back: usize| tokens.start.checked_sub(back).map(|at| &page.tokens[at]);
        let behind = |on: usize| page.tokens.get(tokens.end + on - 1);
        let mut nearest = "none";
        for back in 1..=NEAR {
            let Some(token) = before(back).filter(|it| !it.term.is_empty()) else { continue };
            if field.name_terms.contains(&token.term) {
                nearest = at_distance(back);
                sink.add(&["cue", nearest, self.kind]);
                if token.term == field.head() {
                    sink.add(&["cue-head", nearest]);
                }
                break;
            }
        }
        if nearest == "none" {
            sink.add(&["cue", "none", self.kind]);
        }
        let ahead = before(1).map_or("^", |it| spoken(&it.lower));
        sink.add(&["cue-by", nearest, ahead]);
        let behind_role = role_name(page, Some(tokens.end));
        sink.add(&["cue-like", nearest, shape, behind_role]);
        let is_in = |words: &[String], it: Option<&Token>| {
            it.is_some_and(|it| !it.term.is_empty() && words.contains(&it.term))
        };
        let told = (1..=NEAR).find(|back| is_in(&field.description_terms, before(*back)));
        sink.add(&["told", told.map_or("none", at_distance), self.kind]);
        let after = (1..=2).find(|on| is_in(&field.name_terms, behind(*on)));
        sink.add(&["after", after.map_or("none", at_distance), self.kind]);
        let after_told = (1..=2).find(|on| is_in(&field.description_terms, behind(*on)));
        sink.add(&["after-told", after_told.map_or("none", at_distance), self.kind]);
        let above =
            (1..=NEAR).find(|back| before(*back).is_some_and(|it| field.parent_terms.contains(&it.term)));
        if let Some(above) = above {
            sink.add(&["above", at_distance(above)]);
        }
        let other = (1..=NEAR).find(|back| before(*back).is_some_and(|it| self.is_other(&it.term)));
        sink.add(&["other", other.map_or("none", at_distance), nearest]);
        if behind(1).is_some_and(|it| self.is_other(&it.term)) {
            sink.add(&["other-after", self.kind]);
        }
        if let Some(back) = (1..=2).find(|back| tokens.start >= *back && self.spelt[tokens.start - back]) {
            sink.add(&["spelt", at_distance(back), self.kind]);
        }
        if let Some(back) = (1..=2).find(|back| tokens.start >= *back && self.kin[tokens.start - back]) {
            sink.add(&["kin", at_distance(back), nearest, self.kind]);
        }
        let related = Related::builtin();
        let goes_with = (1..=2).any(|back| {
            before(back).is_some_and(|it| {
                related
                    .of(&it.term)
                    .any(|(term, share)| share > 0.05 && field.name_terms.iter().any(|name| **name == *term))
            })
        });
        if goes_with {
            sink.add(&["cue-related", self.kind]);
        }
        let stance = stance(page.stances[tokens.start]);
        sink.add(&["stance", stance, self.kind]);
        sink.add(&["stance", stance, shape]);
        sink.add(&["stance", stance, nearest]);
        for name in &field.name_terms {
            sink.add(&["stance", stance, "n", name]);
        }
        self.inside(candidate, sink);
    }

    /// Whether a word belongs to the name of another field and not to this one's.
    fn is_other(&self, term: &str) -> bool {
        let has = |field: &Field| field.name_terms.iter().any(|name| name == term);
        !term.is_empty() && !has(self.field) && self.form.fields().iter().any(has)
    }

    /// Whether words of this field, of others or of the tool stand in the sentence and in the value itself.
    fn inside(&self, candidate: &Candidate, sink: &mut Sink<'_>) {
        let (page, field, tokens) = (self.page, self.field, &candidate.tokens);
        let sentence = self.sentence(tokens.start);
        let has_name = page.tokens[sentence.clone()]
            .iter()
            .any(|it| !it.term.is_empty() && field.name_terms.contains(&it.term));
        sink.add(&["sentence", if has_name { "named" } else { "not" }, self.kind]);
        let inside = &page.tokens[tokens.clone()];
        let named =
            inside.iter().filter(|it| !it.term.is_empty() && field.name_terms.contains(&it.term)).count();
        if named > 0 {
            let place = if named == inside.len() {
                "all"
            } else if field.name_terms.contains(&inside[inside.len() - 1].term) {
                "last"
            } else if field.name_terms.contains(&inside[0].term) {
                "first"
            } else {
                "middle"
            };
            sink.add(&["inside", place, self.kind]);
        }
        if inside.iter().any(|it| self.is_other(&it.term)) {
            sink.add(&["inside-other", self.kind]);
        }
        let known =
            inside.iter().filter(|it| !it.term.is_empty() && self.form.tool_terms.contains(&it.term)).count();
        sink.add(&["about", share(known, inside.len()), self.kind]);
    }
}
