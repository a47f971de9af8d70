//! How much of the text a value takes, and whether it begins and ends where things begin and end.

use super::super::candidate::{Candidate, Origin};
use super::super::request::Role;
use super::names::{few, length, share};
use super::{Extractor, Features};

impl Extractor<'_> {
    pub(super) fn extent(&self, candidate: &Candidate, features: &mut Features<'_>) {
        let size = length(candidate.tokens.len());
        features.add(&["length", size, self.kind]);
        for name in &self.field.name_terms {
            features.add(&["length", size, "n", name]);
        }
        if candidate.origin == Origin::List {
            let count = candidate.value.as_array().map_or(0, Vec::len);
            features.add(&["items", few(count)]);
            features.add(&["item-length", few(candidate.tokens.len() / count.max(1))]);
        }
        if candidate.origin == Origin::Words {
            self.edges(candidate, features);
            self.inner_words(candidate, features);
        }
    }

    /// Where a run of words begins and ends.
    fn edges(&self, candidate: &Candidate, features: &mut Features<'_>) {
        let (request, tokens) = (self.request, &candidate.tokens);
        let is_mark = |at: usize| request.roles[at] == Role::Mark;
        let sentence = request.sentence(tokens.start);
        let is_last = (tokens.end..sentence.end).all(is_mark);
        let ends = if is_last {
            "sentence"
        } else if is_mark(tokens.end) {
            "mark"
        } else {
            "open"
        };
        features.add(&["ends", ends, length(tokens.len())]);
        let begins = if tokens.start == sentence.start {
            "sentence"
        } else if is_mark(tokens.start - 1) {
            "mark"
        } else {
            "open"
        };
        features.add(&["begins", begins, self.kind]);
        features.add(&["whole", begins, if is_last { "sentence" } else { "open" }, "n", self.field.head()]);
        if request.is_crossed(tokens) {
            features.add(&["crossed", self.kind]);
            features.add(&["crossed", "n", self.field.head()]);
        }
    }

    /// What the words of a run are.
    fn inner_words(&self, candidate: &Candidate, features: &mut Features<'_>) {
        let (request, tokens) = (self.request, &candidate.tokens);
        let (inside, size) = (&request.roles[tokens.clone()], length(tokens.len()));
        let count = |role: Role| few(inside.iter().filter(|it| **it == role).count());
        features.add(&["marks", count(Role::Mark), size]);
        features.add(&["small", count(Role::Small), size]);
        if inside.contains(&Role::Verb) {
            features.add(&["verb", if inside[0] == Role::Verb { "first" } else { "inside" }, size]);
        }
        // A name goes on as long as its words have capitals.
        let is_capital = |at: usize| request.tokens.get(at).is_some_and(|it| it.is_capital && !it.is_start);
        let is_joint = |at: usize| request.tokens.get(at).is_some_and(|it| it.lower == "&");
        let own = request.tokens[tokens.clone()].iter().filter(|it| it.is_capital).count();
        if own > 0 {
            let (start, end) = (tokens.start, tokens.end);
            let is_cut = start > 0 && is_capital(start - 1)
                || start > 1 && is_joint(start - 1) && is_capital(start - 2)
                || is_capital(end)
                || is_joint(end) && is_capital(end + 1);
            let extent = if is_cut { "cut" } else { "whole" };
            features.add(&["capitals", extent, share(own, tokens.len()), self.kind]);
        }
        if tokens.len() > 1 && request.quantities.iter().any(|(at, _)| tokens.contains(at)) {
            features.add(&["counts", self.kind]);
        }
    }
}
