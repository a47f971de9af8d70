//! One request that is several calls: it lists values, and its tool takes one at a time.

use crate::arguments::{Filling, Form, Sources, listed_values};
use crate::task::Each;
use crate::tool::Effect;
use crate::tool::purpose::{is_content, is_identity};

/// Says what a request is repeated for where it lists values for a parameter that takes one.
///
/// What changes things is repeated only for things that are named one by one: a letter by two people is one letter.
pub fn repetition(form: &Form, effect: Effect, sources: &Sources<'_>, filling: &Filling) -> Option<Each> {
    let listed_values = listed_values(form, sources, filling)?;
    let is_number = listed_values.values.iter().all(|value| value.is_number());
    let must_name = is_number || effect != Effect::Read;
    let is_meant =
        !is_content(&listed_values.parameter) && (!must_name || is_identity(&listed_values.parameter));
    is_meant.then_some(Each::Values { parameter: listed_values.parameter, values: listed_values.values })
}
