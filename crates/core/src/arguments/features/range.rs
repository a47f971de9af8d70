//! Whether a value is an end of a range, and whether its field takes one.

use super::super::candidate::Candidate;
use super::super::token::Token;
use super::{Extractor, Features};
use crate::form::Bound;

impl Extractor<'_> {
    /// Whether a value is the first or the second of two that a word joins, or where something comes from or goes
    /// to, with which end the field takes by its name.
    pub(super) fn bounds(&self, candidate: &Candidate, features: &mut Features<'_>) {
        let end = match self.field.bound {
            Some(Bound::Lower) => "low",
            Some(Bound::Upper) => "high",
            None => "none",
        };
        let before = candidate.tokens.start.checked_sub(1);
        let place = if self.joins(candidate.tokens.end) {
            "first"
        } else if before.is_some_and(|at| self.joins(at)) {
            "second"
        } else {
            "alone"
        };
        if place != "alone" {
            features.add(&["range", place, end, self.kind]);
            features.add(&["range", place, "n", self.field.head()]);
        }
        let way = match self.request.bound_before(candidate.tokens.start) {
            Some(Bound::Lower) => "from",
            Some(Bound::Upper) => "to",
            None => return,
        };
        if end != "none" {
            features.add(&["way", way, end]);
            features.add(&["way", way, end, self.kind]);
        }
    }

    /// Whether the token joins two numbers or two moments.
    fn joins(&self, at: usize) -> bool {
        let request = self.request;
        let is_joint = request.tokens.get(at).is_some_and(Token::is_between);
        if !is_joint {
            return false;
        }
        let counts = |at: usize| request.quantities.iter().any(|(it, _)| *it == at);
        let begins = |at: usize| request.moments.iter().any(|it| it.tokens.start == at);
        let ends = |end: usize| request.moments.iter().any(|it| it.tokens.end == end);
        let is_after = counts(at + 1) || begins(at + 1);
        is_after && (at.checked_sub(1).is_some_and(counts) || ends(at))
    }
}
