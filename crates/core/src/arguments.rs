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
mod listing; //     values that are listed beside the one that a field got
mod features; //    what speaks for a value
mod weights; //     how much each feature counts
mod score; //       how likely each value is
mod evidence; //    how plainly a request says a value
mod assignment; //  which values the fields get
mod repository; //  owner and name, said in one word
mod result; //      values of earlier results
mod rules; //       values that need no weights
mod assembly; //    values become arguments
mod grounding; //   whether a request says a value
mod advice; //      what a language model may add

pub use advice::{Advice, Consultation};
pub use argument::{Argument, Evidence, Filling, Settled, Source};
pub use equivalence::equivalent;
pub use listing::{ListedValues, listed_values, may_list};
pub use result::{FoundValue, Which, each_of_result, from_result};
pub use score::{FieldFeatures, field_features};
pub use sources::{Now, Sources};
pub use weights::FeatureWeights;

pub use crate::form::{Field, Form, Missing, is_of_type};
use assignment::Assignment;

/// Fills in a form.
pub fn fill(form: &Form, sources: &Sources<'_>) -> Filling {
    fill_with(form, sources, FeatureWeights::builtin())
}

/// Fills in a form with other weights than those that come with the product.
pub fn fill_with(form: &Form, sources: &Sources<'_>, weights: &FeatureWeights) -> Filling {
    let mut assignment = Assignment::new(form, sources);
    let claimed = [assignment.given_words(), repository::fill(&mut assignment)].concat();
    assignment.choose(weights, claimed);
    assembly::release(&mut assignment);
    rules::apply(&mut assignment);
    assembly::assemble(&assignment)
}

#[cfg(test)]
mod tests;
