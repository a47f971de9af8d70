//! How likely a whole call is exact: every argument right, none forgotten, none invented, nothing said left out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

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
        let is_choice = |field: &&&Field| !field.choices.is_empty();
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
            ("spoken of", few(open.iter().copied().filter(|it| speaks(it)).count())),
            ("length", (1.0 + sources.task.split_whitespace().count() as f64).ln()),
        ]
    }
}
