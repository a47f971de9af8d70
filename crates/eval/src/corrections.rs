//! What corrections bring: half of the requests are corrected where they go wrong, and the other half is asked again.
//!
//! Nothing is kept: the lessons live as long as the measurement.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use toolyard_core::decide::normalised;
use toolyard_core::lessons::{Lessons, Liking, Precedent, Similar};
use toolyard_core::thresholds::{LessonLimits, thresholds};
use toolyard_encoder::{Embedding, Packed};

use crate::bench::{Bench, in_parallel};
use crate::sets::{self, Case};
use crate::{Error, Experiment, Progress};

/// What corrections brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Corrected {
    /// The set.
    pub name: String,
    /// How many requests were corrected.
    pub corrections: usize,
    /// The requests that were corrected, asked again.
    pub again: BeforeAfter,
    /// Other requests for the tools that corrections named.
    pub same_tools: BeforeAfter,
    /// Requests of the other half for all other tools.
    pub other_tools: BeforeAfter,
    /// Whether everything is as before once the lessons are taken back.
    pub is_undone: bool,
}

/// The share of requests whose first tool is right, without lessons and with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BeforeAfter {
    /// How many requests there are.
    pub requests: usize,
    /// The share without lessons.
    pub before: f64,
    /// The share with them.
    pub after: f64,
}

/// How far lessons reach, and how much the ranking makes of them.
#[derive(Clone, Copy, Debug)]
pub struct Reach<'a> {
    /// How far lessons reach.
    pub limits: &'a LessonLimits,
    /// How many times as much as usual they count.
    pub strength: f32,
}

/// Measures what at most `most` corrections bring on one set.
pub fn corrected(
    folder: &Path,
    most: Option<usize>,
    settings: &Experiment,
    progress: Progress,
) -> Result<Corrected, Error> {
    let usual = Reach { limits: &thresholds().lessons, strength: 1.0 };
    let mut all = compared(folder, most, settings, (progress, &[usual]))?;
    Ok(all.remove(0))
}

/// Does the same for several reaches of lessons.
pub fn compared(
    folder: &Path,
    most: Option<usize>,
    settings: &Experiment,
    (Progress { begin, advance }, reaches): (Progress, &[Reach<'_>]),
) -> Result<Vec<Corrected>, Error> {
    let collection = sets::read(folder, None)?;
    let vectors = |missing| begin(&format!("{}, vectors of tools", collection.name), missing);
    let bench = Bench::of_set(&collection.tools, settings, vectors, advance);
    let cases: Vec<&Case> = collection.cases.iter().filter(|case| case.groups.len() == 1).collect();
    let (taught, asked) = halves(&cases);
    begin(&collection.name, taught.len() + asked.len() * (2 + reaches.len()));
    let first = |cases: &[&Case], lessons: &Lessons, reach: Reach<'_>| {
        in_parallel(cases, |case: &&Case| {
            let liked = liked(&bench, (lessons, reach), &case.task, settings);
            let found = bench.first(&case.task, &liked, settings);
            advance(1);
            found
        })
    };
    let (none, usual) = (Lessons::default(), Reach { limits: &thresholds().lessons, strength: 1.0 });
    let before_taught = first(&taught, &none, usual);
    let mut lessons = Vec::new();
    let (mut corrected, mut named) = (Vec::new(), Vec::new());
    for (case, found) in taught.iter().zip(&before_taught) {
        if is_right(case, *found) || most.is_some_and(|most| lessons.len() >= most) {
            continue;
        }
        let Some(right) = case.groups[0].iter().find_map(|place| bench.id(*place)) else { continue };
        let wrong = found.and_then(|place| bench.id(place));
        lessons.push((lesson(lessons.len(), case, right, wrong), vector(&case.task, settings)));
        corrected.push(*case);
        named.extend(case.groups[0].iter().copied());
    }
    let corrections = lessons.len();
    let lessons = Lessons::new(lessons);
    let before = first(&asked, &none, usual);
    let is_named = |case: &Case| case.groups[0].iter().any(|place| named.contains(place));
    let one = |reach: &Reach<'_>| {
        let after = first(&asked, &lessons, *reach);
        let again = first(&corrected, &lessons, *reach);
        let count = |wanted: bool| {
            let all =
                asked.iter().zip(before.iter().zip(&after)).filter(|(case, _)| is_named(case) == wanted);
            share(all.map(|(case, (before, after))| (is_right(case, *before), is_right(case, *after))))
        };
        Corrected {
            name: collection.name.clone(),
            corrections,
            again: share(corrected.iter().zip(again).map(|(case, after)| (false, is_right(case, after)))),
            same_tools: count(true),
            other_tools: count(false),
            is_undone: false,
        }
    };
    let mut all: Vec<Corrected> = reaches.iter().map(one).collect();
    let is_undone = first(&asked, &Lessons::default(), usual) == before;
    all.iter_mut().for_each(|it| it.is_undone = is_undone);
    Ok(all)
}

/// Cuts requests in halves so that each tool with several requests has some in both.
fn halves<'c>(cases: &[&'c Case]) -> (Vec<&'c Case>, Vec<&'c Case>) {
    let mut seen: HashMap<usize, usize> = HashMap::new();
    let (mut taught, mut asked) = (Vec::new(), Vec::new());
    for case in cases {
        let Some(tool) = case.groups[0].iter().min() else { continue };
        let nth = seen.entry(*tool).or_default();
        // The halves of all tools together are equal, too.
        let half = if (*nth + tool).is_multiple_of(2) { &mut taught } else { &mut asked };
        half.push(*case);
        *nth += 1;
    }
    (taught, asked)
}

fn is_right(case: &Case, found: Option<usize>) -> bool {
    found.is_some_and(|place| case.groups[0].contains(&place))
}

fn lesson(number: usize, case: &Case, right: Arc<str>, wrong: Option<Arc<str>>) -> Precedent {
    Precedent {
        id: number.to_string().into(),
        words: normalised(&case.task),
        right: Some(right),
        wrong,
        weight: 1.0,
        who: "you".into(),
        is_spoken: true,
        at: 0,
    }
}

fn vector(task: &str, settings: &Experiment) -> Option<Packed> {
    settings.model.request(&normalised(task)).and_then(|all| all.first().map(Embedding::pack))
}

fn liked(
    bench: &Bench,
    (lessons, reach): (&Lessons, Reach<'_>),
    task: &str,
    settings: &Experiment,
) -> Vec<(usize, f32)> {
    if lessons.is_empty() {
        return Vec::new();
    }
    let words = normalised(task);
    let meant = settings.model.request(&words);
    let meaning = meant.as_ref().and_then(|all| all.first());
    let similar = Similar { words: &words, meaning, who: "you", now: 0 };
    let likings = lessons.likings_within(&similar, reach.limits);
    let at = |it: &Liking| Some((bench.position(&it.tool)?, it.value * reach.strength));
    likings.iter().filter_map(at).collect()
}

fn share(all: impl Iterator<Item = (bool, bool)>) -> BeforeAfter {
    let (mut requests, mut before, mut after) = (0_u32, 0_u32, 0_u32);
    for (was, is) in all {
        requests += 1;
        before += u32::from(was);
        after += u32::from(is);
    }
    let of = |right: u32| f64::from(right) / f64::from(requests.max(1));
    BeforeAfter { requests: requests as usize, before: of(before), after: of(after) }
}
