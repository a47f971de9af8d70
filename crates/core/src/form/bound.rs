//! Which end of a range or of a way a field takes: `min_price`, `end_date`, `destination`.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::{Field, Form};
use crate::text::with_terms;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;

/// One of the two ends of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Where something begins or comes from.
    Lower,
    /// Where something ends or goes to.
    Upper,
}

/// Words in the names of fields that take the lower bound, as terms.
static LOWER: LazyLock<HashSet<String>> = LazyLock::new(|| with_terms(&vocabulary().parameters.low));
/// Words in the names of fields that take the upper bound, as terms.
static UPPER: LazyLock<HashSet<String>> = LazyLock::new(|| with_terms(&vocabulary().parameters.high));

impl Bound {
    /// Returns the bound that a field of this name takes.
    pub(crate) fn of(name: &str, name_terms: &[String]) -> Option<Self> {
        // Terms leave out small words such as `from`, which matter most here.
        let small: Vec<String> = words(name).map(str::to_lowercase).collect();
        let has = |bounds: &HashSet<String>| name_terms.iter().chain(&small).any(|it| bounds.contains(it));
        match (has(&LOWER), has(&UPPER)) {
            (true, false) => Some(Self::Lower),
            (false, true) => Some(Self::Upper),
            (true, true) | (false, false) => None,
        }
    }
}

impl Form {
    /// Returns the bound that a field takes if another field takes the other bound of the same range.
    pub(crate) fn paired_bound(&self, field: &Field) -> Option<Bound> {
        let bound = field.bound?;
        let is_bound = |name: &str| LOWER.contains(name) || UPPER.contains(name);
        let rest = |field: &Field| -> Vec<String> {
            field.name_terms.iter().filter(|name| !is_bound(name)).cloned().collect()
        };
        let is_other = |it: &Field| it.bound.is_some_and(|other| other != bound) && rest(it) == rest(field);
        self.fields().iter().any(is_other).then_some(bound)
    }
}
