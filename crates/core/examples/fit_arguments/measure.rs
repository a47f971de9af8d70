//! How right arguments are, on requests that weights were not fitted on.

use std::collections::BTreeMap;

use jiff::civil::date;
use serde_json::{Map, Value};
use toolyard_core::arguments::{
    Evidence, FeatureWeights, FillWeights, Filling, Now, Source, Sources, equivalent, fill_with,
};
use toolyard_core::tool::{Effect, Hints};

use crate::data::Case;
use crate::exact::Judged;
use crate::read::Opened;

/// The day on which the requests were written.
pub(crate) const NOW: Now = Now { at: date(2026, 11, 17).at(10, 0, 0, 0), offset: 0 };

pub(crate) fn sources<'a>(task: &'a str, given: &'a Map<String, Value>) -> Sources<'a> {
    Sources { task, given, named: None, reading: None, earlier: &[], now: NOW }
}

#[derive(Default)]
struct Tally {
    calls: usize,
    exact: usize,
    sent: usize,
    wanted: usize,
    right: usize,
    invented: usize,
}

/// What fills in forms: weights, and a reader where there is one.
pub(crate) struct Scorer<'a> {
    pub(crate) weights: &'a FeatureWeights,
    pub(crate) reader: Option<&'a Opened>,
}

impl Scorer<'_> {
    fn fill<T>(&self, case: &Case, take: impl FnOnce(&Sources<'_>, Filling) -> T) -> T {
        let reading = self.reader.map(|it| it.read(&case.text, (&case.name, &case.about), &case.form));
        let nothing = Map::new();
        let sources = Sources { reading: reading.as_ref(), ..sources(&case.text, &nothing) };
        let weights = FillWeights { words: self.weights, ..FillWeights::builtin() };
        let filling = fill_with(&case.form, &sources, weights);
        take(&sources, filling)
    }
}

pub(crate) fn report(title: &str, cases: &[&Case], scorer: &Scorer<'_>) {
    for source in ["written", "hammerbench", "api_bank_train", "sgd"] {
        let mut tally = Tally::default();
        for case in cases.iter().filter(|case| case.source == source) {
            tally.add(case, scorer);
        }
        let share = |a: usize, b: usize| a as f64 / b.max(1) as f64;
        println!(
            "{title:12} {source:14} {:5} calls  exact {:.3}  recall {:.3}  precision {:.3}  invented {:.3}",
            tally.calls,
            share(tally.exact, tally.calls),
            share(tally.right, tally.wanted),
            share(tally.right, tally.sent),
            share(tally.invented, tally.sent)
        );
    }
}

impl Tally {
    fn add(&mut self, case: &Case, scorer: &Scorer<'_>) {
        let filled = scorer.fill(case, |_, filling| filling.object());
        let is_default =
            |name: &str, value: &Value| case.form.default_of(name).is_some_and(|it| equivalent(it, value));
        let right =
            case.gold.iter().filter(|(name, gold)| filled.get(*name).is_some_and(|it| equivalent(gold, it)));
        let right = right.count();
        let invented = filled
            .iter()
            .filter(|(name, value)| !case.gold.contains_key(*name) && !is_default(name, value))
            .count();
        self.calls += 1;
        self.exact += usize::from(right == case.gold.len() && invented == 0);
        self.sent += filled.len();
        self.wanted += case.gold.len();
        self.right += right;
        self.invented += invented;
    }
}

/// Judges calls that weights were not fitted on.
pub(crate) fn judge(cases: &[&Case], scorer: &Scorer<'_>) -> Vec<Judged> {
    let judge = |case: &&Case| {
        scorer.fill(case, |sources, filling| Judged::of(&case.form, sources, &filling, &case.gold))
    };
    cases.iter().filter(|case| case.source == "written").filter_map(judge).collect()
}

/// Prints how often values that were found for tools that change something are right, by what says them and by how
/// sure they are. `SURE` in `fill` is chosen by this.
pub(crate) fn sureness(title: &str, cases: &[&Case], scorer: &Scorer<'_>) {
    let mut counts = BTreeMap::<(Evidence, usize), (usize, usize)>::new();
    let changes = |case: &&&Case| Effect::infer(&case.name, Hints::default()) != Effect::Read;
    for case in cases.iter().filter(changes) {
        for found in scorer.fill(case, |_, filling| filling.arguments) {
            if matches!(found.source, Source::Text | Source::Implied) {
                let is_right = case.gold.get(&found.name).is_some_and(|gold| equivalent(gold, &found.value));
                let count = counts.entry((found.evidence, (found.confidence * 20.0) as usize)).or_default();
                *count = (count.0 + usize::from(is_right), count.1 + 1);
            }
        }
    }
    for ((evidence, bin), (right, all)) in counts {
        let (from, share) = (bin as f64 / 20.0, right as f64 / all as f64);
        println!("{title:12} {evidence:?} from {from:.2}: {all:5} values  right {share:.3}");
    }
}
