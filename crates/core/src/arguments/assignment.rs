//! Which values the fields of a form get: the likeliest set of candidates in which no words are used twice.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use super::argument::{Evidence, Source};
use super::candidate::{Candidate, Origin, candidates};
use super::evidence::evidence;
use super::features::Extractor;
use super::reading::proposals;
use super::request::ParsedRequest;
use super::score::Scores;
use super::sources::Sources;
use super::token::overlap;
use super::weights::FeatureWeights;
use crate::form::{Field, Form, Kind};
use crate::thresholds::thresholds;

/// The value that a field got.
#[derive(Clone, Debug)]
pub(super) struct Assigned {
    pub(super) value: Value,
    pub(super) source: Source,
    pub(super) confidence: f64,
    pub(super) evidence: Evidence,
    /// The bytes of the request that say it; none where no words do.
    pub(super) bytes: Range<usize>,
}

impl Assigned {
    /// A value that no words of the request say.
    pub(super) fn unsaid(value: Value, source: Source, confidence: f64, evidence: Evidence) -> Self {
        Self { value, source, confidence, evidence, bytes: 0..0 }
    }
}

/// A form on the way to its values.
pub(super) struct Assignment<'a> {
    pub(super) form: &'a Form,
    pub(super) sources: &'a Sources<'a>,
    pub(super) request: ParsedRequest<'a>,
    /// For each field the values that it could have.
    pub(super) candidates: Vec<Vec<Candidate>>,
    /// For each field the value that it got.
    pub(super) values: Vec<Option<Assigned>>,
    /// For parameters that are lists of objects the whole of them.
    pub(super) tables: BTreeMap<String, Assigned>,
}

/// Whether a request says a word of a field's name, in its own language or in English.
fn is_named(request: &ParsedRequest<'_>, field: &Field) -> bool {
    field.name_terms.iter().any(|term| request.has_term(term))
}

/// Values for some of the fields, in the order of the fields.
#[derive(Clone, Default)]
struct Hypothesis {
    score: f64,
    chosen: Vec<Option<usize>>,
    claimed: Vec<Range<usize>>,
}

/// Hypotheses that are kept at the same time.
const WIDTH: usize = 16;

impl<'a> Assignment<'a> {
    /// Finds the candidates of every field that is not given.
    pub(super) fn new(form: &'a Form, sources: &'a Sources<'a>) -> Self {
        let request = ParsedRequest::parse(sources.task, sources.now);
        let of_field = |(at, field): (usize, &Field)| {
            let is_unsaid = || field.is_guarded() && !is_named(&request, field);
            if sources.given.contains_key(field.parameter()) || is_unsaid() {
                return Vec::new();
            }
            let mut found = candidates(form, field, &request);
            if let Some(reading) = sources.reading_of_words(at, field) {
                found.extend(proposals(form, field, (&request, reading), &found));
            }
            found
        };
        let candidates = form.fields().iter().enumerate().map(of_field).collect();
        Self {
            form,
            sources,
            request,
            candidates,
            values: vec![None; form.fields().len()],
            tables: BTreeMap::new(),
        }
    }

    /// Whether a field has no value and the caller gave none.
    pub(super) fn is_open(&self, at: usize) -> bool {
        let parameter = self.form.fields()[at].parameter();
        self.values[at].is_none() && !self.is_given(at) && !self.tables.contains_key(parameter)
    }

    pub(super) fn is_given(&self, at: usize) -> bool {
        self.sources.given.contains_key(self.form.fields()[at].parameter())
    }

    /// Gives every open field the value that a rule finds for it.
    pub(super) fn fill_open(&mut self, rule: impl Fn(&Self, usize) -> Option<Assigned>) {
        for at in 0..self.values.len() {
            if self.is_open(at) {
                self.values[at] = rule(self, at);
            }
        }
    }

    /// Gives open fields the likeliest values; words that are claimed are used already.
    pub(super) fn choose(&mut self, weights: &FeatureWeights, claimed: Vec<Range<usize>>) {
        let form = self.form;
        // Who names values says them all, but for a choice that the action itself is.
        let is_read = |field: &Field| self.sources.named.is_none() || !field.choices.is_empty();
        let is_asked = |at: &usize| {
            let field = &form.fields()[*at];
            self.is_open(*at) && is_read(field) && form.repeated_by(field).is_none()
        };
        let scores = |at: usize| {
            let extractor = Extractor::new(form, &form.fields()[at], &self.request);
            (
                at,
                Scores::new(
                    &extractor,
                    &self.candidates[at],
                    weights,
                    self.sources.reading_of_words(at, &form.fields()[at]),
                ),
            )
        };
        let mut fields: Vec<(usize, Scores<'_>)> = (0..self.values.len())
            .filter(|at| is_asked(at) && !self.candidates[*at].is_empty())
            .map(scores)
            .collect();
        // Who is surest chooses first.
        let surest = |scores: &Scores<'_>| scores.best[0].likelihood.ln();
        fields.sort_by(|(a, a_scores), (b, b_scores)| {
            surest(b_scores).total_cmp(&surest(a_scores)).then(a.cmp(b))
        });
        let mut beam = vec![Hypothesis { claimed, ..Hypothesis::default() }];
        for (_, scores) in &fields {
            let mut next: Vec<Hypothesis> = Vec::new();
            for hypothesis in &beam {
                next.push(hypothesis.without(scores.absent));
                for (at, option) in scores.best.iter().enumerate() {
                    next.extend(hypothesis.with(at, option.candidate, option.likelihood));
                }
            }
            next.sort_by(|a, b| b.score.total_cmp(&a.score));
            next.truncate(WIDTH);
            beam = next;
        }
        let chosen = beam.swap_remove(0).chosen.into_iter().zip(&fields);
        let chosen: Vec<(usize, Assigned)> = chosen
            .filter_map(|(chosen, (at, scores))| {
                let option = &scores.best[chosen?];
                let is_sure = option.likelihood >= thresholds().arguments.action_choice;
                (self.sources.named.is_none() || is_sure).then_some(())?;
                Some((*at, self.assigned(*at, option.candidate, option.likelihood)))
            })
            .collect();
        for (at, assigned) in chosen {
            self.values[at] = Some(assigned);
        }
    }

    /// Returns a candidate as the value of its field.
    pub(super) fn assigned(&self, at: usize, candidate: &Candidate, confidence: f64) -> Assigned {
        let is_implied = matches!(candidate.origin, Origin::Flag | Origin::Choice(_));
        let doubt = thresholds().arguments.only_of_format;
        let (confidence, evidence) = match self.is_open_ended(at, candidate) {
            true => (confidence.min(doubt), Evidence::Prose),
            false => (confidence, evidence(self.form, &self.form.fields()[at], &self.request, candidate)),
        };
        Assigned {
            value: candidate.value.clone(),
            source: if is_implied { Source::Implied } else { Source::Text },
            confidence,
            evidence,
            bytes: candidate.bytes.clone(),
        }
    }

    /// Whether a mark behind a secret may be part of it, as in `the password is hunter2!`.
    fn is_open_ended(&self, at: usize, candidate: &Candidate) -> bool {
        let field = &self.form.fields()[at];
        let is_secret = field.is_guarded() && field.kind == Kind::Text && candidate.origin != Origin::Quoted;
        let behind = self.request.text[candidate.bytes.end..].chars().next();
        is_secret && behind.is_some_and(|it| !it.is_whitespace() && !it.is_alphanumeric())
    }

    /// Returns where the text says what the caller gave: these words are used already.
    pub(super) fn given_words(&self) -> Vec<Range<usize>> {
        let task = self.sources.task;
        let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let named = self.sources.named.into_iter().flat_map(|it| it.values.values());
        let values = self.sources.given.values().chain(named).map(written);
        let values = values.filter(|value| !value.trim().is_empty());
        let places = |value: String| -> Vec<Range<usize>> {
            task.match_indices(value.as_str()).map(|(at, it)| at..at + it.len()).collect()
        };
        values.flat_map(places).collect()
    }
}

impl Hypothesis {
    /// Leaves the next field out.
    fn without(&self, likelihood: f64) -> Self {
        let mut next = self.clone();
        next.score += likelihood.ln();
        next.chosen.push(None);
        next
    }

    /// Gives the next field a candidate, unless its words are used already.
    fn with(&self, at: usize, candidate: &Candidate, likelihood: f64) -> Option<Self> {
        if self.claimed.iter().any(|it| overlap(it, &candidate.bytes)) {
            return None;
        }
        let mut next = self.clone();
        next.score += likelihood.ln();
        next.chosen.push(Some(at));
        next.claimed.push(candidate.bytes.clone());
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use serde_json::{Map, json};

    use super::super::*;
    use crate::form::Form;

    #[test]
    fn r9_a_secret_before_a_mark_is_not_sent_without_a_question() {
        let schema = json!({"type": "object", "required": ["filename", "password"], "properties": {
            "filename": {"type": "string"}, "password": {"type": "string", "description": "Password to set"},
        }});
        let form = Form::new(("protect_document", "Protects a document with a password"), schema);
        let is_certain = |task: &str| {
            let given = Map::new();
            let now = Now { at: date(2026, 11, 17).at(10, 0, 0, 0), offset: 0 };
            let sources = Sources { task, given: &given, named: None, reading: None, earlier: &[], now };
            let filling = fill(&form, &sources);
            let found = filling.arguments.iter().find(|it| it.name == "password");
            (found.map(|it| it.value.clone()), found.is_some_and(Argument::is_certain))
        };
        let said = |text: &str| Some(json!(text));
        assert_eq!(is_certain("protect a.docx with the password t0pSecret"), (said("t0pSecret"), true));
        assert_eq!(is_certain("protect a.docx with the password \"t0pSecret!\""), (said("t0pSecret!"), true));
        // The mark may end the sentence, or the password.
        assert!(!is_certain("protect a.docx with the password t0pSecret!").1);
        assert!(!is_certain("set the password t0pSecret. on a.docx").1);
    }
}
