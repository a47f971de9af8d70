//! Arguments from words: which part of a request fills which field of a tool's form.
//!
//! A request is parsed; every field gets candidates, candidates get scores, the best set of them is assigned, and
//! what is assigned becomes arguments. What is sent is in the text, given by the caller, part of an earlier result, a
//! default of the schema, or said in other words; nothing is invented. It fits the schema or it is not sent.
//!
//! A module may use the modules above it, never below.

mod sources; //     what a form is filled from
mod argument; //    arguments, and which of them may be sent
mod token; //       the pieces of a text
mod quantity; //    numbers
mod moment; //      dates and times
mod equivalence; // when two values are the same
mod request; //     a request, parsed
mod codes; //       codes and places
mod timestamp; //   dates and times as schemas want them
mod candidate; //   which values a field could have
mod reading; //     what the argument reader sees and says
mod listing; //     values that are listed beside the one that a field got
mod weights; //     how much each feature counts
mod features; //    what speaks for a value
mod score; //       how likely each value is
mod evidence; //    how plainly a request says a value
mod assignment; //  which values the fields get
mod repository; //  owner and name, said in one word
mod values; //      values under names of the caller's own
mod result; //      values of earlier results
mod rules; //       values that need no weights
mod assembly; //    values become arguments
mod leftover; //    what no argument has
mod exactness; //   how likely a whole call is exact
mod grounding; //   whether a request says a value
mod advice; //      what a language model may add

pub use advice::{Advice, Consultation};
pub use argument::{Argument, Evidence, Filling, Leftover, Remark, Settled, Source};
pub use equivalence::equivalent;
pub use grounding::unsaid;
pub use listing::{ListedValues, listed_values, may_list};
pub use reading::{ReadField, read_fields};
pub use result::{FoundValue, Which, each_of_result, from_result};
pub use score::{FieldFeatures, field_features, said_in};
pub use sources::{Named, Nearness, Now, Sources};
pub use values::{PlaceFeatures, ValueFeatures, field_names, spoken, taken, value_features, value_names};
pub use weights::FeatureWeights;

pub use crate::form::{Field, Form, Missing, is_of_type};
use serde_json::Value;

use assignment::Assignment;

/// What a form is filled with: how much each feature counts, of words and of named values.
#[derive(Clone, Copy, Debug)]
pub struct FillWeights<'w> {
    /// For what words say.
    pub words: &'w FeatureWeights,
    /// For what the caller named.
    pub values: &'w FeatureWeights,
}

impl FillWeights<'static> {
    /// Returns the weights that come with the product.
    pub fn builtin() -> Self {
        Self { words: FeatureWeights::of_texts(), values: FeatureWeights::of_values() }
    }
}

/// Fills in a form.
pub fn fill(form: &Form, sources: &Sources<'_>) -> Filling {
    fill_with(form, sources, FillWeights::builtin())
}

/// Fills in a form with other weights than those that come with the product.
pub fn fill_with(form: &Form, sources: &Sources<'_>, weights: FillWeights<'_>) -> Filling {
    let mut assignment = Assignment::new(form, sources);
    let placed = values::place(&mut assignment, weights.values);
    let claimed = [assignment.given_words(), repository::fill(&mut assignment)].concat();
    assignment.choose(weights.words, claimed.clone());
    assembly::release(&mut assignment);
    rules::apply(&mut assignment);
    let leftover = leftover::leftover(&assignment, &claimed);
    let filling = assembly::assemble(&assignment);
    let filling = Filling { unused: placed.unused(&filling.arguments), leftover, ..filling };
    let filling = values::as_they_are(form, sources, filling);
    sources.earlier.iter().rev().filter_map(Value::as_str).fold(filling, |filling, text| {
        if filling.missing.is_empty() { filling } else { with_text(form, (sources, filling), text, weights) }
    })
}

/// Adds what is missing and an earlier result says that is plain text.
fn with_text(
    form: &Form,
    (sources, mut filling): (&Sources<'_>, Filling),
    text: &str,
    weights: FillWeights<'_>,
) -> Filling {
    let sources = Sources { task: text, named: None, reading: None, earlier: &[], ..*sources };
    let is_missing = |it: &Argument| filling.missing.iter().any(|missing| missing.name == it.name);
    let is_said = |it: &Argument| matches!(it.source, Source::Text | Source::Implied) && !it.is_doubtful();
    let said = fill_with(form, &sources, weights).arguments.into_iter();
    let said: Vec<Argument> = said.filter(|it| is_said(it) && is_missing(it)).collect();
    filling.missing.retain(|missing| said.iter().all(|it| it.name != missing.name));
    filling.arguments.extend(said.into_iter().map(|it| Argument { source: Source::Earlier, ..it }));
    filling
}

#[cfg(test)]
mod tests;
