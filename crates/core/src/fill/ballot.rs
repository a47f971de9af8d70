//! Every field with the values that it could have, scored; and the best set of them in which no words are
//! used twice.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use super::candidate::{Candidate, How, candidates};
use super::features::{Setting, Sink};
use super::page::Page;
use super::weights::Scales;
use super::{Evidence, Source, Wish, assembly, owned, sign};
use crate::form::Form;

/// What a field could be, for fitting weights: each value with its features.
#[derive(Clone, Debug)]
pub struct Ballot {
    /// The position of the field in its form.
    pub field: usize,
    /// The features of leaving it out.
    pub absent: Vec<u64>,
    /// The values and their features.
    pub options: Vec<(Value, Vec<u64>)>,
}

/// Lists what every field could be; the names of features are added to `names`.
pub fn ballots(form: &Form, wish: &Wish<'_>, names: &mut HashMap<u64, String>) -> Vec<Ballot> {
    let page = Page::read(wish.task, wish.now);
    let mut all = Vec::new();
    for (at, field) in form.fields().iter().enumerate() {
        let setting = Setting::new(form, field, &page);
        let mut sink = Sink { ids: Vec::new(), names: Some(names) };
        setting.absent(&mut sink);
        let absent = std::mem::take(&mut sink.ids);
        let options = candidates(form, field, &page, wish.now).into_iter().map(|candidate| {
            setting.present(&candidate, &mut sink);
            (candidate.value, std::mem::take(&mut sink.ids))
        });
        all.push(Ballot { field: at, absent, options: options.collect() });
    }
    all
}

/// The value that was chosen for a field.
#[derive(Clone, Debug)]
pub(super) struct Elected {
    pub(super) field: usize,
    pub(super) value: Value,
    pub(super) source: Source,
    pub(super) confidence: f64,
    pub(super) evidence: Evidence,
}

/// One value of one field, with how likely it is.
struct Standing {
    candidate: Candidate,
    likelihood: f64,
    worth: f64,
}

/// Values of one field that are tried together with those of others.
const MOST_TRIED: usize = 10;
/// Keeps logarithms finite.
const LEAST: f64 = 1e-12;
/// How sure the only value of its form is.
const SOLE: f64 = 0.6;
/// Sets of values that are kept at the same time.
const WIDTH: usize = 16;

/// Chooses values for the fields that are not given.
pub(super) fn elect(form: &Form, wish: &Wish<'_>, scales: &Scales) -> Vec<Elected> {
    let page = Page::read(wish.task, wish.now);
    let (owned, claimed): (Vec<Elected>, Vec<Range<usize>>) =
        owned::fill(form, wish, &page).into_iter().unzip();
    let mut fields: Vec<(usize, f64, Vec<Standing>)> = Vec::new();
    for (at, field) in form.fields().iter().enumerate() {
        let is_known = wish.given.contains_key(field.parameter()) || owned.iter().any(|it| it.field == at);
        if is_known || form.repeated_by(field).is_some() {
            continue;
        }
        let (absent, standing) = standing(form, at, &page, (wish, scales));
        if !standing.is_empty() {
            fields.push((at, absent, standing));
        }
    }
    // Who is surest chooses first.
    fields.sort_by(|a, b| b.2[0].worth.total_cmp(&a.2[0].worth).then(a.0.cmp(&b.0)));
    let mut sets = vec![Set { claimed: [told(wish), claimed].concat(), ..Set::default() }];
    for (_, absent, standing) in &fields {
        let mut next: Vec<Set> = Vec::new();
        for set in &sets {
            next.push(set.with(None, *absent));
            for (at, option) in standing.iter().enumerate() {
                if !set.overlaps(&option.candidate.bytes) {
                    next.push(set.with(Some((at, option.candidate.bytes.clone())), option.worth));
                }
            }
        }
        next.sort_by(|a, b| b.worth.total_cmp(&a.worth));
        next.truncate(WIDTH);
        sets = next;
    }
    let best = sets.into_iter().next().unwrap_or_default();
    let chosen = best.chosen.into_iter().zip(fields);
    let elected = chosen.filter_map(|(chosen, (field, _, standing))| {
        let option = standing.into_iter().nth(chosen?)?;
        let source = match option.candidate.manner {
            How::Flag | How::Choice(_) => Source::Implied,
            How::Words
            | How::Quoted
            | How::Part
            | How::Number
            | How::Converted
            | How::Moment
            | How::Example(_)
            | How::Known
            | How::List
            | How::Literal => Source::Text,
        };
        let evidence = sign::evidence(form, &form.fields()[field], &page, &option.candidate);
        let (value, confidence) = (option.candidate.value, option.likelihood);
        Some(Elected { field, value, source, confidence, evidence })
    });
    let mut elected: Vec<Elected> = owned.into_iter().chain(elected).collect();
    assembly::release(form, &mut elected);
    sole(form, wish, &page, &mut elected);
    sign::json(form, wish, &page, &mut elected);
    sign::fill(form, wish, &page, &mut elected);
    elected
}

/// Where the text says what the caller gave: these words are used already.
fn told(wish: &Wish<'_>) -> Vec<Range<usize>> {
    let written =
        wish.given.values().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let mut claimed = Vec::new();
    for value in written.filter(|value| !value.trim().is_empty()) {
        claimed.extend(wish.task.match_indices(value.as_str()).map(|(at, it)| at..at + it.len()));
    }
    claimed
}

/// Gives a field that is needed the one value of its form in the text, whatever the words around it.
fn sole(form: &Form, wish: &Wish<'_>, page: &Page<'_>, elected: &mut Vec<Elected>) {
    for (field, it) in form.fields().iter().enumerate() {
        let is_open = it.is_required
            && it.format.is_some()
            && !wish.given.contains_key(it.parameter())
            && !elected.iter().any(|it| it.field == field);
        if !is_open {
            continue;
        }
        let mut moments = candidates(form, it, page, wish.now);
        moments.retain(|it| it.manner == How::Moment);
        let Some(longest) = moments.iter().max_by_key(|it| it.tokens.len()).cloned() else { continue };
        let is_inside =
            |it: &Candidate| longest.bytes.start <= it.bytes.start && it.bytes.end <= longest.bytes.end;
        if moments.iter().all(is_inside) {
            elected.push(Elected {
                field,
                value: longest.value,
                source: Source::Text,
                confidence: SOLE,
                evidence: Evidence::Shape,
            });
        }
    }
}

/// Scores the values of one field; returns the worth of leaving it out and the best values.
fn standing(
    form: &Form,
    at: usize,
    page: &Page<'_>,
    (wish, scales): (&Wish<'_>, &Scales),
) -> (f64, Vec<Standing>) {
    let field = &form.fields()[at];
    let setting = Setting::new(form, field, page);
    let mut sink = Sink { ids: Vec::new(), names: None };
    setting.absent(&mut sink);
    let absent = f64::from(scales.sum(&sink.ids));
    let scored = candidates(form, field, page, wish.now).into_iter().map(|candidate| {
        sink.ids.clear();
        setting.present(&candidate, &mut sink);
        (f64::from(scales.sum(&sink.ids)), candidate)
    });
    let mut scored: Vec<(f64, Candidate)> = scored.collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let most = scored.first().map_or(absent, |it| it.0.max(absent));
    let total: f64 =
        scored.iter().map(|(score, _)| (score - most).exp()).sum::<f64>() + (absent - most).exp();
    let likelihood = |score: f64| ((score - most).exp() / total).max(LEAST);
    let best = scored.into_iter().take(MOST_TRIED).map(|(score, candidate)| Standing {
        candidate,
        likelihood: likelihood(score),
        worth: likelihood(score).ln(),
    });
    let best = best.collect();
    (likelihood(absent).ln(), best)
}

/// Values for some of the fields, in the order of the fields.
#[derive(Clone, Default)]
struct Set {
    worth: f64,
    chosen: Vec<Option<usize>>,
    claimed: Vec<Range<usize>>,
}

impl Set {
    fn overlaps(&self, bytes: &Range<usize>) -> bool {
        !bytes.is_empty() && self.claimed.iter().any(|it| it.start < bytes.end && bytes.start < it.end)
    }

    fn with(&self, option: Option<(usize, Range<usize>)>, worth: f64) -> Self {
        let mut next = self.clone();
        next.worth += worth;
        next.chosen.push(option.as_ref().map(|it| it.0));
        next.claimed.extend(option.map(|it| it.1).filter(|it| !it.is_empty()));
        next
    }
}
