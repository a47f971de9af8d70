//! What a step needs although its tool's schema lets it be left out: found where the request determines it, asked for
//! otherwise.

use serde_json::{Map, Value};

use super::super::Input;
use super::{Bound, ChosenStep};
use crate::arguments::Field;
use crate::lexicon::file_format;
use crate::tool::Effect;

/// Gives a step what it needs beside what is required, or notes that it is missing.
pub(super) fn need(chosen: &ChosenStep<'_>, bound: &mut Bound) {
    let literal = |(name, input): (&String, &Input)| Some((name.clone(), input.literal()?.clone()));
    let known: Map<String, Value> = bound.arguments.iter().filter_map(literal).collect();
    let names: Vec<&str> = bound.arguments.keys().map(String::as_str).collect();
    for field in chosen.form.lacks(&names, &known) {
        if bound.missing.iter().any(|it| it.name == field.place()) {
            continue;
        }
        match beside(chosen, field, &known, bound) {
            Some(input) => drop(bound.arguments.insert(field.parameter().to_owned(), input)),
            None => bound.missing.push(field.missing()),
        }
    }
    let names: Vec<&str> = bound.arguments.keys().map(String::as_str).collect();
    if chosen.effect != Effect::Read && bound.missing.is_empty() {
        bound.missing.extend(chosen.form.unsaid(chosen.action, &names));
    }
}

/// Returns where a new file goes when only its format was said: beside the file that it is made from.
fn beside(
    chosen: &ChosenStep<'_>,
    field: &Field,
    known: &Map<String, Value>,
    bound: &Bound,
) -> Option<Input> {
    if !field.is_for_paths() || !field.is_for_results() {
        return None;
    }
    let is_chosen = |name: &&String| {
        chosen.form.of_parameter(name).any(|it| it.is_for_results() && !it.choices.is_empty())
    };
    let format = known.keys().find(is_chosen).and_then(|name| known[name].as_str())?;
    let is_source = |it: &&Field| it.path.len() == 1 && it.is_for_paths() && !it.is_for_results();
    let sources = chosen.form.fields().iter().filter(is_source);
    let of = sources.filter_map(|it| bound.arguments.get(it.parameter())).next()?;
    Some(Input::Renamed { of: Box::new(of.clone()), ending: file_format(format)?.to_owned() })
}
