//! How right arguments are, on requests that weights were not fitted on.

use jiff::civil::date;
use serde_json::{Map, Value};
use toolyard_core::fill::{Now, Scales, Wish, alike, fill_with};

use crate::data::Case;

/// The day on which the requests were written.
pub(crate) fn wish<'a>(task: &'a str, given: &'a Map<String, Value>) -> Wish<'a> {
    let now = Now { at: date(2026, 11, 17).at(10, 0, 0, 0), offset: 0 };
    Wish { task, given, earlier: &[], now }
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

pub(crate) fn report(title: &str, cases: &[&Case], scales: &Scales) {
    for source in ["written", "hammerbench", "api_bank_train", "sgd"] {
        let mut tally = Tally::default();
        for case in cases.iter().filter(|case| case.source == source) {
            tally.add(case, scales);
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
    fn add(&mut self, case: &Case, scales: &Scales) {
        let filled = fill_with(&case.form, &wish(&case.text, &Map::new()), scales).object();
        let is_default =
            |name: &str, value: &Value| case.form.default_of(name).is_some_and(|it| alike(it, value));
        let right =
            case.gold.iter().filter(|(name, gold)| filled.get(*name).is_some_and(|it| alike(gold, it)));
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
