//! How likely a whole call is exact: every argument right, none forgotten, none invented, nothing said left out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::argument::{Argument, Evidence, Filling, Remark, Source};
use super::sources::Sources;
use crate::form::{Field, Form};
use crate::text::terms;

/// How much each trait of a filled form counts: data, fitted on calls that are known to be right or wrong.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Weights {
    /// Where words alone were read.
    words: BTreeMap<String, f64>,
    /// Where the caller named its values.
    named: BTreeMap<String, f64>,
}

static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/exactness.json")).expect("a test reads the weights")
});

/// More of something makes a call no less likely exact.
const MOST: usize = 4;
const MOST_TERMS: usize = 200;
/// A doubt that is smaller is none; a logarithm.
const SURE: f64 = 2e-1;
const HALF: f64 = 5e-1;
/// A confidence nearer to 0 counts as this.
const LEAST: f64 = 1e-3;

impl Filling {
    /// Returns how likely the arguments are exactly what was asked, if the tool is right.
    pub fn exactness(&self, form: &Form, sources: &Sources<'_>) -> f64 {
        let weights = if sources.named.is_some() { &WEIGHTS.named } else { &WEIGHTS.words };
        let traits = self.traits(form, sources);
        let sum: f64 =
            traits.iter().map(|(name, value)| weights.get(*name).map_or(0.0, |it| it * value)).sum();
        1.0 / (1.0 + (-sum).exp())
    }

    /// Returns what speaks for and against the whole call.
    pub fn traits(&self, form: &Form, sources: &Sources<'_>) -> Vec<(&'static str, f64)> {
        let is_found = |it: &&Argument| {
            matches!(it.source, Source::Text | Source::Implied | Source::Named | Source::Model)
        };
        let found: Vec<&Argument> = self.arguments.iter().filter(is_found).collect();
        let few = |count: usize| count.min(MOST) as f64;
        let surprise = |it: &&Argument| -it.confidence.max(LEAST).ln();
        let of = |source: Source| found.iter().filter(move |it| it.source == source).copied();
        let by = |evidence: Evidence| found.iter().filter(move |it| it.evidence == evidence).copied();
        let worst = found.iter().map(surprise).fold(0.0, f64::max);
        let said = terms(sources.task, MOST_TERMS);
        let is_filled = |field: &Field| self.arguments.iter().any(|it| it.name == field.parameter());
        // What the tool does anyway is no reason to speak of a parameter.
        let speaks = |field: &&Field| {
            field.name_terms.iter().any(|it| said.contains(it) && !form.tool_name_terms.contains(it))
        };
        let open: Vec<&Field> =
            form.fields().iter().filter(|it| !is_filled(it) && it.path.len() == 1).collect();
        // A part of an object that is filled may be open as well.
        let is_lost = |field: &&Field| {
            let own = self.arguments.iter().find(|it| it.name == field.parameter());
            own.is_none_or(|it| field.path.len() > 1 && !has_member(&it.value, &field.path[1..]))
        };
        let lost: Vec<&Field> = form.fields().iter().filter(is_lost).collect();
        let says_choice = |field: &&&Field| {
            let named = |it: &Value| it.as_str().map(|it| terms(it, MOST_TERMS)).unwrap_or_default();
            let is_said = |it: &Vec<String>| {
                let is_own = |term: &String| !form.tool_terms.contains(term);
                !it.is_empty() && it.iter().all(|term| said.contains(term)) && it.iter().any(is_own)
            };
            field.choices.iter().map(named).any(|it| is_said(&it))
        };
        let is_choice = |field: &&&Field| !field.choices.is_empty();
        // How likely the reader finds it that each open field is given.
        let read =
            sources.reading.map(|it| it.fields.as_slice()).unwrap_or_default().iter().zip(form.fields());
        let read = read.filter(|(_, field)| is_lost(field));
        let read: Vec<f64> = read.map(|(it, _)| 1.0 - f64::from(it.given[0]).exp()).collect();
        let is = |is_so: bool| f64::from(u8::from(is_so));
        let is_clean = self.leftover.texts.is_empty() && self.unused.is_empty();
        let is_certain = found.iter().all(|it| surprise(it) < SURE);
        let needed = form.fields().iter().filter(|it| it.is_required).count();
        let is_all = found.len() == needed && self.missing.is_empty();
        vec![
            ("base", 1.0),
            ("doubt", found.iter().map(surprise).sum()),
            ("worst", worst),
            ("found", few(found.len())),
            ("none", is(found.is_empty())),
            ("implied", few(of(Source::Implied).count())),
            ("implied doubt", of(Source::Implied).map(|it| surprise(&it)).sum()),
            ("prose", few(by(Evidence::Prose).count())),
            ("prose doubt", by(Evidence::Prose).map(|it| surprise(&it)).sum()),
            ("shape", few(by(Evidence::Shape).count())),
            ("left numbers", few(self.leftover.count(Remark::Number))),
            ("left quotes", few(self.leftover.count(Remark::Quoted))),
            ("left names", few(self.leftover.count(Remark::Name))),
            ("left words", few(self.leftover.count(Remark::Word))),
            ("any left words", is(self.leftover.count(Remark::Word) > 0)),
            ("clean", is(is_clean)),
            ("certain", is(is_certain)),
            ("clean and certain", is(is_clean && is_certain)),
            ("just what is needed", is(is_all)),
            ("clean and just what is needed", is(is_clean && is_all)),
            ("unused", few(self.unused.len())),
            ("open", few(open.len())),
            ("open choices", few(open.iter().filter(is_choice).count())),
            ("spoken of", few(lost.iter().copied().filter(|it| speaks(it)).count())),
            ("choices spoken of", few(lost.iter().filter(says_choice).count())),
            ("read", is(sources.reading.is_some())),
            ("read as open", is(sources.reading.is_some() && read.iter().all(|it| *it < HALF))),
            ("read as given", read.iter().sum::<f64>().min(MOST as f64)),
            ("surest read as given", read.iter().copied().fold(0.0, f64::max)),
            ("length", (1.0 + sources.task.split_whitespace().count() as f64).ln()),
        ]
    }
}

/// Whether a value has a member under a path; of a list, whether each of its items has.
fn has_member(value: &Value, path: &[String]) -> bool {
    match (value, path) {
        (_, []) => true,
        (Value::Array(items), path) => items.iter().all(|item| has_member(item, path)),
        (value, [name, rest @ ..]) => value.get(name).is_some_and(|it| has_member(it, rest)),
    }
}
