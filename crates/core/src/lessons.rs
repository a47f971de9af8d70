//! What people said about earlier requests, and what that means for one that is like them.
//!
//! A lesson lifts the tool that was meant and lowers the one that was not, for requests near its own words and
//! for no others. What one person says counts in full for that person alone; what others say, and what a client
//! says by itself, is bounded, so that neither a stranger nor a text that a model read can take a ranking over.

use std::collections::HashMap;
use std::sync::Arc;

use toolyard_encoder::{Embedding, Packed, Vectors};

use crate::text::terms;
use crate::thresholds::{LessonLimits, thresholds};

/// Terms of a request or a lesson that are compared where there are no vectors.
const MAX_TERMS: usize = 64;
/// Lessons that are named as the reason for one tool.
const MOST_REASONS: usize = 3;

/// Something that was said about a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Precedent {
    /// Names it.
    pub id: Arc<str>,
    /// The words of the request.
    pub words: String,
    /// The tool that was meant.
    pub right: Option<Arc<str>>,
    /// The tool that was not meant.
    pub wrong: Option<Arc<str>>,
    /// How much it counts, from 0 to 1.
    pub weight: f32,
    /// Who said it.
    pub who: Arc<str>,
    /// Whether a person said it, or a client on its own account.
    pub is_spoken: bool,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

/// Everything that was said, ready to be compared.
#[derive(Debug, Default)]
pub struct Lessons {
    all: Vec<Precedent>,
    /// The terms of each, for requests without vectors.
    terms: Vec<Vec<String>>,
    vectors: Option<Vectors>,
    /// The lesson of each vector.
    owners: Vec<usize>,
}

/// A request that lessons are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Similar<'a> {
    /// Its words.
    pub words: &'a str,
    /// What they mean, where an encoder said so.
    pub meaning: Option<&'a Embedding>,
    /// Who asks.
    pub who: &'a str,
    /// When, in milliseconds since 1970.
    pub now: i64,
}

/// What lessons say of one tool, for one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Liking {
    /// The tool.
    pub tool: Arc<str>,
    /// From -1, surely not meant, to 1, surely meant.
    pub value: f32,
    /// The lessons that say so, strongest first, with how much each adds.
    pub because: Vec<(Arc<str>, f32)>,
}

impl Lessons {
    /// Takes lessons with the vectors of those whose words have one. Vectors of another size are left out.
    pub fn new(lessons: Vec<(Precedent, Option<Packed>)>) -> Self {
        let mut own = Self::default();
        for (lesson, vector) in lessons {
            if let Some(vector) = vector {
                let vectors = own.vectors.get_or_insert_with(|| Vectors::new(vector.dims()));
                if vectors.push(&vector).is_ok() {
                    own.owners.push(own.all.len());
                }
            }
            own.terms.push(terms(&lesson.words, MAX_TERMS));
            own.all.push(lesson);
        }
        own
    }

    /// Returns whether nothing was ever said.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns every lesson, in the order that they were given in.
    pub fn all(&self) -> &[Precedent] {
        &self.all
    }

    /// Returns how near each lesson is to a request, from 0 to 1; 1 is the same words.
    pub fn nearness(&self, request: &Similar<'_>) -> Vec<f32> {
        self.nearness_within(request, &thresholds().lessons)
    }

    fn nearness_within(&self, request: &Similar<'_>, limits: &LessonLimits) -> Vec<f32> {
        let mut near = vec![0.0; self.all.len()];
        let mut cosines = Vec::new();
        let is_scored = request
            .meaning
            .zip(self.vectors.as_ref())
            .is_some_and(|(meaning, vectors)| vectors.score(meaning, &mut cosines).is_ok());
        let own = terms(request.words, MAX_TERMS);
        for (at, near) in near.iter_mut().enumerate() {
            if self.all[at].words.to_lowercase() == request.words.to_lowercase() {
                *near = 1.0;
            } else if !is_scored {
                *near = sharpened(overlap(&own, &self.terms[at]), limits);
            }
        }
        for (owner, cosine) in self.owners.iter().zip(cosines) {
            near[*owner] = sharpened(cosine, limits).max(near[*owner]);
        }
        near
    }

    /// Returns what lessons say about tools for a request; nothing for most requests.
    pub fn likings(&self, request: &Similar<'_>) -> Vec<Liking> {
        self.likings_within(request, &thresholds().lessons)
    }

    /// Does the same with other limits than those that come with the product.
    pub fn likings_within(&self, request: &Similar<'_>, limits: &LessonLimits) -> Vec<Liking> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let mut ballots: HashMap<&Arc<str>, Ballot<'_>> = HashMap::new();
        for (lesson, near) in self.all.iter().zip(self.nearness_within(request, limits)) {
            let counts = near * lesson.weight * freshness(request.now - lesson.at, limits);
            if counts <= 0.0 {
                continue;
            }
            for (tool, sign) in [(&lesson.right, 1.0), (&lesson.wrong, -limits.wrong as f32)] {
                if let Some(tool) = tool {
                    ballots.entry(tool).or_default().add(lesson, sign * counts, request.who);
                }
            }
        }
        let mut likings: Vec<Liking> =
            ballots.into_iter().map(|(tool, ballot)| ballot.count(tool, limits)).collect();
        likings.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.tool.cmp(&b.tool)));
        likings
    }
}

/// What was said of one tool.
#[derive(Default)]
struct Ballot<'a> {
    /// By the one who asks.
    own: f32,
    /// By the client of the one who asks.
    relayed: f32,
    /// By each of the others.
    others: HashMap<&'a str, f32>,
    because: Vec<(Arc<str>, f32)>,
}

impl<'a> Ballot<'a> {
    fn add(&mut self, lesson: &'a Precedent, counts: f32, who: &str) {
        if *lesson.who != *who {
            *self.others.entry(&lesson.who).or_default() += counts;
        } else if lesson.is_spoken {
            self.own += counts;
        } else {
            self.relayed += counts;
        }
        self.because.push((Arc::clone(&lesson.id), counts));
    }

    fn count(mut self, tool: &Arc<str>, limits: &LessonLimits) -> Liking {
        let bounded = |sum: f32, bound: f64| sum.clamp(-(bound as f32), bound as f32);
        let others: f32 = self.others.values().map(|sum| bounded(*sum, limits.other)).sum();
        let value = bounded(self.own, 1.0) + bounded(self.relayed, limits.relayed) + others;
        self.because.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then_with(|| a.0.cmp(&b.0)));
        self.because.truncate(MOST_REASONS);
        Liking { tool: Arc::clone(tool), value: bounded(value, 1.0), because: self.because }
    }
}

/// Makes of a likeness how far a lesson reaches: nothing below what unrelated requests have in common.
fn sharpened(likeness: f32, limits: &LessonLimits) -> f32 {
    let (floor, power) = (limits.unrelated as f32, limits.sharpness as f32);
    ((likeness - floor) / (1.0 - floor)).clamp(0.0, 1.0).powf(power)
}

/// The share of terms that two requests have in common.
fn overlap(a: &[String], b: &[String]) -> f32 {
    let common = a.iter().filter(|term| b.contains(term)).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 0.0 } else { common as f32 / all as f32 }
}

/// How much of a lesson is left after a time, in milliseconds.
fn freshness(age: i64, limits: &LessonLimits) -> f32 {
    let days = age.max(0) as f64 / 86_400_000.0;
    (0.5_f64).powf(days / limits.half_life_days) as f32
}

/// A decision that a person judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedDecision {
    /// How sure the hub was.
    pub confidence: f64,
    /// Whether the tool was the right one.
    pub is_right: bool,
}

/// A least confidence, and what came of the decisions that had it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// From here on the hub acts.
    pub confidence: f64,
    /// Decisions from there on that were right.
    pub right: usize,
    /// Decisions from there on that were wrong.
    pub wrong: usize,
}

impl Tuning {
    /// Counts what came of the decisions from a confidence on.
    pub fn at(confidence: f64, judged: &[JudgedDecision]) -> Self {
        let sure = || judged.iter().filter(|it| it.confidence >= confidence);
        let right = sure().filter(|it| it.is_right).count();
        Self { confidence, right, wrong: sure().count() - right }
    }

    /// Finds the least confidence from which on at most this share of the decisions is expected to be wrong.
    pub fn find(judged: &[JudgedDecision], error_rate: f64) -> Option<Self> {
        let all = judged.iter().map(|it| Self::at(it.confidence, judged));
        all.filter(|it| it.expected_errors() <= error_rate)
            .min_by(|a, b| a.confidence.total_cmp(&b.confidence))
    }

    /// The share of further decisions that is expected to be wrong, by Laplace's rule of succession: a few decisions
    /// that happened to be right prove little.
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 decisions are judged")]
    pub fn expected_errors(&self) -> f64 {
        (self.wrong + 1) as f64 / (self.right + self.wrong + 2) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    fn lesson(words: &str, right: &str, wrong: &str) -> Precedent {
        let tool = |name: &str| Some(name).filter(|it| !it.is_empty()).map(Arc::from);
        Precedent {
            id: words.into(),
            words: words.to_owned(),
            right: tool(right),
            wrong: tool(wrong),
            weight: 1.0,
            who: "ana".into(),
            is_spoken: true,
            at: 0,
        }
    }

    fn likings(lessons: Vec<Precedent>, words: &str, who: &str, now: i64) -> Vec<(String, f32)> {
        let lessons = Lessons::new(lessons.into_iter().map(|it| (it, None)).collect());
        let found = lessons.likings(&Similar { words, meaning: None, who, now });
        found.into_iter().map(|it| (it.tool.to_string(), it.value)).collect()
    }

    fn value(found: &[(String, f32)], tool: &str) -> f32 {
        found.iter().find(|(own, _)| own == tool).map_or(0.0, |(_, value)| *value)
    }

    #[test]
    fn r16_the_same_words_lift_what_was_meant_and_lower_what_was_not() {
        let lessons = vec![lesson("show the tides", "sea__tides", "moon__phase")];
        let found = likings(lessons, "Show the Tides", "ana", 0);
        let lowered = -thresholds().lessons.wrong as f32;
        assert_eq!(found, [("sea__tides".to_owned(), 1.0), ("moon__phase".to_owned(), lowered)]);
    }

    #[test]
    fn r16_other_requests_are_left_alone() {
        let lessons = vec![lesson("show the tides at Brest", "sea__tides", "moon__phase")];
        assert!(likings(lessons.clone(), "send a mail to the accountant", "ana", 0).is_empty());
        let near = likings(lessons, "show the tides at Brest today", "ana", 0);
        let near = value(&near, "sea__tides");
        assert!(0.0 < near && near < 1.0, "{near}");
    }

    #[test]
    fn r16_vectors_find_what_words_do_not() {
        let vector = |values: [f32; 2]| Embedding::new(values.to_vec());
        let all = vec![(lesson("show the tides", "sea__tides", ""), Some(vector([1.0, 0.1]).pack()))];
        let lessons = Lessons::new(all);
        let ask = |meaning: &Embedding| {
            let words = "when is high water";
            lessons.likings(&Similar { words, meaning: Some(meaning), who: "ana", now: 0 })
        };
        assert!(ask(&vector([1.0, 0.2]))[0].value > 0.5);
        assert_eq!(ask(&vector([0.0, 1.0])), []);
    }

    #[test]
    fn r16_the_last_word_of_a_person_counts() {
        let mut first = lesson("play something", "radio__play", "music__play");
        first.id = "first".into();
        let second =
            Precedent { id: "second".into(), at: DAY, ..lesson("play something", "tv__play", "radio__play") };
        let found = likings(vec![first, second], "play something", "ana", DAY);
        assert!(value(&found, "tv__play") > value(&found, "radio__play"));
    }

    #[test]
    fn r16_what_was_said_long_ago_counts_less() {
        let all = vec![lesson("show the tides", "sea__tides", "")];
        let after =
            |days: i64| value(&likings(all.clone(), "show the tides", "ana", days * DAY), "sea__tides");
        assert!(after(0) > after(60) && after(60) > after(600) && after(600) > 0.0);
    }

    #[test]
    fn r16_one_person_moves_others_only_within_a_bound() {
        let many: Vec<Precedent> = (0..50)
            .map(|at| Precedent {
                id: format!("{at}").into(),
                ..lesson("show the tides", "evil__tides", "sea__tides")
            })
            .collect();
        let bound = thresholds().lessons.other as f32;
        let found = likings(many.clone(), "show the tides", "ben", 0);
        assert_eq!((value(&found, "evil__tides"), value(&found, "sea__tides")), (bound, -bound));
        // What ben says himself outweighs it.
        let own = Precedent { who: "ben".into(), ..lesson("show the tides", "sea__tides", "evil__tides") };
        let found = likings(many.into_iter().chain([own]).collect(), "show the tides", "ben", 0);
        assert!(value(&found, "sea__tides") > value(&found, "evil__tides"));
    }

    #[test]
    fn r16_a_client_on_its_own_moves_a_ranking_only_within_a_bound() {
        let relayed = |at: usize| {
            let id = format!("{at}").into();
            Precedent { id, is_spoken: false, ..lesson("show the tides", "evil__tides", "") }
        };
        let found = likings((0..50).map(relayed).collect(), "show the tides", "ana", 0);
        assert_eq!(value(&found, "evil__tides"), thresholds().lessons.relayed as f32);
    }

    fn judged(right: &[f64], wrong: &[f64]) -> Vec<JudgedDecision> {
        let all = |of: &[f64], is_right| -> Vec<JudgedDecision> {
            of.iter().map(|confidence| JudgedDecision { confidence: *confidence, is_right }).collect()
        };
        [all(right, true), all(wrong, false)].concat()
    }

    #[test]
    fn r21_the_least_confidence_with_few_errors_is_found() {
        let judged = judged(&[[0.9; 20], [0.8; 20]].concat(), &[0.75; 10]);
        let found = Tuning::find(&judged, 0.05).unwrap();
        assert_eq!(found, Tuning { confidence: 0.8, right: 40, wrong: 0 });
        let found = Tuning::find(&judged, 0.25).unwrap();
        assert_eq!(found, Tuning { confidence: 0.75, right: 40, wrong: 10 });
    }

    #[test]
    fn r21_a_few_decisions_that_happened_to_be_right_prove_nothing() {
        assert_eq!(Tuning::find(&judged(&[0.9; 17], &[]), 0.05), None);
        assert!(Tuning::find(&judged(&[0.9; 18], &[]), 0.05).is_some());
        assert_eq!(Tuning::find(&judged(&[0.9; 18], &[0.95]), 0.05), None, "the surest was wrong");
    }

    #[test]
    fn r16_every_liking_names_the_lessons_behind_it() {
        let lessons =
            vec![lesson("show the tides", "sea__tides", ""), lesson("tides, please", "sea__tides", "")];
        let lessons = Lessons::new(lessons.into_iter().map(|it| (it, None)).collect());
        let found = lessons.likings(&Similar { words: "show the tides", meaning: None, who: "ana", now: 0 });
        assert_eq!(*found[0].because[0].0, *"show the tides");
    }
}
