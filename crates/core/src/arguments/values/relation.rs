//! How the name of a value and the name of a field relate.

use super::entry::Entry;
use crate::form::{Field, Form};
use crate::text::terms;

/// How much two names have in common, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Relation {
    None,
    /// The name of the value says only what the tool is about.
    Topic,
    /// Some words are shared.
    Part,
    /// The name of the field has all words of the value's.
    Inside,
    /// The name of the value has all words of the field's.
    Around,
    /// They are the same but for words that say what the tool is about.
    AlmostSame,
    Same,
}

const MAX_TERMS: usize = 12;

impl Relation {
    /// Compares the names of a value and of a field.
    pub(super) fn of(form: &Form, field: &Field, entry: &Entry<'_>) -> Self {
        let own = Self::between(&entry.terms, &field.name_terms);
        let with_parents = |parents: &[String], names: &[String]| [parents, names].concat();
        let whole = Self::between(
            &with_parents(&entry.parent_terms, &entry.terms),
            &with_parents(&field.parent_terms, &field.name_terms),
        );
        let bare = |names: &[String]| -> Vec<String> {
            names.iter().filter(|it| !form.tool_name_terms.contains(it)).cloned().collect()
        };
        let (entry_bare, field_bare) = (bare(&entry.terms), bare(&field.name_terms));
        let bared = match (entry_bare.is_empty(), field_bare.is_empty()) {
            (false, false) if Self::between(&entry_bare, &field_bare) == Self::Same => Self::AlmostSame,
            (true, _) if !entry.terms.is_empty() => Self::Topic,
            _ => Self::None,
        };
        own.max(whole).max(bared)
    }

    /// Compares the name of a value with that of a parameter.
    pub(super) fn of_names(parameter: &str, entry: &Entry<'_>) -> Self {
        Self::between(&entry.terms, &terms(parameter, MAX_TERMS))
    }

    fn between(a: &[String], b: &[String]) -> Self {
        let shared = a.iter().filter(|it| b.contains(it)).count();
        match shared {
            0 => Self::None,
            _ if shared == a.len() && shared == b.len() => Self::Same,
            _ if shared == a.len() => Self::Inside,
            _ if shared == b.len() => Self::Around,
            _ => Self::Part,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Topic => "topic",
            Self::Part => "part",
            Self::Inside => "inside",
            Self::Around => "around",
            Self::AlmostSame => "almost",
            Self::Same => "same",
        }
    }
}

/// Cosines are told apart by tenths.
const TENTHS: f32 = 10.0;

/// Returns a cosine as features name it.
pub(super) fn bucket(cosine: f32) -> &'static str {
    const STEPS: [&str; 9] = ["0", "1", "2", "3", "4", "5", "6", "7", "8"];
    if cosine.is_nan() {
        return "unknown";
    }
    let step = (cosine.max(0.0) * TENTHS) as usize;
    STEPS.get(step).copied().unwrap_or("9")
}
