//! How good rankings and decisions are, as numbers.

use crate::bench::{OFFERED, Seen, Step};
use crate::sets::{Case, Collection, Sort};

/// How good a ranking is, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// The first tool is right.
    pub top1: f64,
    /// The share of the needed steps that have a right tool among the first five.
    pub recall5: f64,
    /// How early the right tools of all steps come, among the first ten.
    pub ndcg10: f64,
}

impl Quality {
    /// Scores one ranking; a request without a right tool has nothing to find.
    pub(crate) fn of(groups: &[Vec<usize>], ranked: &[usize]) -> Self {
        Self {
            top1: f64::from(is_right(groups, ranked)),
            recall5: recall(groups, ranked),
            ndcg10: ndcg(groups, ranked),
        }
    }

    /// Returns the mean of many.
    pub fn mean(rankings: impl IntoIterator<Item = Self>) -> Self {
        let (mut sum, mut count) = (Self::default(), 0.0);
        for Self { top1, recall5, ndcg10 } in rankings {
            sum = Self { top1: sum.top1 + top1, recall5: sum.recall5 + recall5, ndcg10: sum.ndcg10 + ndcg10 };
            count += 1.0;
        }
        let count = f64::max(count, 1.0);
        Self { top1: sum.top1 / count, recall5: sum.recall5 / count, ndcg10: sum.ndcg10 / count }
    }
}

fn is_right(groups: &[Vec<usize>], ranked: &[usize]) -> bool {
    ranked.first().is_some_and(|first| groups.iter().any(|group| group.contains(first)))
}

fn recall(groups: &[Vec<usize>], ranked: &[usize]) -> f64 {
    found(groups, &ranked[..ranked.len().min(5)])
}

/// Returns the share of the needed steps that have a right tool among some.
fn found(groups: &[Vec<usize>], tools: &[usize]) -> f64 {
    let hit = groups.iter().filter(|group| tools.iter().any(|place| group.contains(place))).count();
    hit as f64 / groups.len().max(1) as f64
}

/// A second tool for a step that has one already adds nothing.
fn ndcg(groups: &[Vec<usize>], ranked: &[usize]) -> f64 {
    let gain = |at: usize| 1.0 / (at as f64 + 2.0).log2();
    let mut open: Vec<&Vec<usize>> = groups.iter().collect();
    let mut sum = 0.0;
    for (at, place) in ranked.iter().take(10).enumerate() {
        if let Some(hit) = open.iter().position(|group| group.contains(place)) {
            open.remove(hit);
            sum += gain(at);
        }
    }
    let best: f64 = (0..groups.len().min(10)).map(gain).sum();
    if best > 0.0 { sum / best } else { 0.0 }
}

/// A share of some requests; `share` is nothing when there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// How many there are.
    pub n: usize,
    /// The share of them for which it holds.
    pub share: Option<f64>,
}

impl Share {
    fn of<T>(items: impl IntoIterator<Item = T>, is_so: impl Fn(&T) -> bool) -> Self {
        let (mut n, mut so) = (0, 0);
        for item in items {
            n += 1;
            so += usize::from(is_so(&item));
        }
        Self { n, share: (n > 0).then(|| so as f64 / n as f64) }
    }
}

/// A request and what became of it.
#[derive(Clone, Copy)]
struct Outcome<'a> {
    case: &'a Case,
    seen: &'a Seen,
}

impl Outcome<'_> {
    fn is_right(&self) -> bool {
        is_right(&self.case.groups, &self.seen.ranked)
    }

    fn has_right_among_offered(&self) -> bool {
        let offered = &self.seen.ranked[..self.seen.ranked.len().min(OFFERED)];
        offered.iter().any(|place| self.case.groups.iter().any(|group| group.contains(place)))
    }

    fn ranking(&self) -> Quality {
        Quality::of(&self.case.groups, &self.seen.ranked)
    }

    fn is(&self, kinds: &[Sort]) -> bool {
        kinds.contains(&self.case.kind)
    }

    /// Runs that a person confirms first are not acting.
    fn acts_at(&self, threshold: f64) -> bool {
        self.seen.may_act && !self.seen.is_destructive && self.seen.confidence >= threshold
    }
}

/// Everything that is measured on one set or fleet.
#[derive(Debug)]
pub struct Scores {
    /// The name of the set.
    pub name: String,
    /// How many tools it has.
    pub tools: usize,
    /// The requests that the ranking is measured on.
    pub queries: usize,
    /// How good the product ranks.
    pub ranking: Quality,
    /// How good BM25 ranks.
    pub bm25: Quality,
    /// How long a ranking takes, in microseconds.
    pub route_us: f64,
    /// Of the requests that it acts on, the share where it is right.
    pub acted: Share,
    /// Of all requests that may be acted on, the share that it acts on.
    pub acted_share: Share,
    /// Of the requests that a tool can serve, the share that it asks about.
    pub asked: Share,
    /// Of the same, the share that it declines.
    pub abstained: Share,
    /// Of the requests that it asks about, the share with a right tool among those offered.
    pub alternatives: Share,
    /// How far confidence and truth are apart.
    pub ece: f64,
    /// The same by confidence.
    pub bins: Vec<Bin>,
    /// What happens at other thresholds.
    pub curve: Vec<Point>,
    /// Of the requests that no tool can serve, the share that it does not act on.
    pub declined: Option<Share>,
    /// What only a fleet tells.
    pub fleet: Option<Fleet>,
    /// Tools that the catalog did not take.
    pub rejected: usize,
    /// Right tools that are not among the tools.
    pub unknown: usize,
    /// Tools that have metadata somebody wrote.
    pub written: usize,
}

/// What only a fleet tells, because it has requests of several kinds.
#[derive(Debug)]
pub struct Fleet {
    /// All requests.
    pub tasks: usize,
    /// Requests for one tool.
    pub single: (usize, Quality),
    /// Requests to destroy something.
    pub destructive: (usize, Quality),
    /// Destructive requests that are asked about or declined before anything runs.
    pub asked_first: Share,
    /// Other requests whose call is to be confirmed all the same.
    pub needlessly: Share,
    /// Requests to destroy something for which a tool would have run unconfirmed.
    pub ran: usize,
    /// Of these, those where the tool was a right one.
    pub destroyed: usize,
    /// Requests for several tools.
    pub multi: (usize, Quality),
    /// Of the steps that requests for several tools need, the share whose right tool is in the plan.
    pub planned: f64,
    /// Of the requests for one tool, the share that is taken apart.
    pub split: Share,
    /// Of the vague requests, the share that it asks about.
    pub vague: Share,
    /// Of the requests that no tool can serve, the share that it does not act on.
    pub unanswerable: Share,
    /// Of the requests for one tool, the share whose toolset has a right one.
    pub given: Share,
    /// The same by its domains alone.
    pub given_by_domains: Share,
    /// The same by the ten likeliest tools.
    pub likeliest: Share,
    /// The tokens of such a list.
    pub given_tokens: f64,
    /// The largest toolset.
    pub given_most: usize,
    /// The tokens of a list of all tools.
    pub all_tokens: usize,
    /// Requests that share no word with their tool.
    pub gap: (usize, Quality),
    /// Requests in English.
    pub english: (usize, Quality),
    /// Requests in other languages.
    pub other: (usize, Quality),
}

/// Requests with about the same confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// How many there are.
    pub n: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// The share of them that is right.
    pub right: f64,
}

/// What happens at a threshold: the share acted on, and the share of these that is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The threshold.
    pub threshold: f64,
    /// The share acted on.
    pub acted: Share,
    /// The share of these that is right.
    pub right: Share,
}

/// What a set was measured with.
pub(crate) struct Measured<'a> {
    pub(crate) collection: &'a Collection,
    pub(crate) seen: &'a [Seen],
    /// What became of the requests that no tool can serve.
    pub(crate) unserved: &'a [Seen],
    pub(crate) route_us: f64,
    pub(crate) threshold: f64,
    /// The tokens of a list of all tools.
    pub(crate) all_tokens: usize,
}

impl Scores {
    /// Brings everything that was seen into numbers.
    pub(crate) fn of(measured: &Measured<'_>) -> Self {
        let Measured { collection, seen, unserved, route_us, threshold, all_tokens } = *measured;
        let outcomes: Vec<Outcome<'_>> =
            collection.cases.iter().zip(seen).map(|(case, seen)| Outcome { case, seen }).collect();
        let of_kinds = |kinds: &'static [Sort]| outcomes.iter().copied().filter(move |it| it.is(kinds));
        let one_tool = || of_kinds(&[Sort::Single, Sort::Destructive]);
        let answerable = || of_kinds(&[Sort::Single, Sort::Destructive, Sort::Multi]);
        // Destructive requests are always confirmed, so they say nothing about acting.
        let actable = || of_kinds(&[Sort::Single, Sort::Multi, Sort::Vague, Sort::Unanswerable]);
        let point = |threshold: f64| Point {
            threshold,
            acted: Share::of(actable(), |it| it.acts_at(threshold)),
            right: Share::of(actable().filter(|it| it.acts_at(threshold)), Outcome::is_right),
        };
        let (ece, bins) = calibration(outcomes.iter().map(|it| (it.seen.confidence, it.is_right())));
        let now = point(threshold);
        Self {
            name: collection.name.clone(),
            tools: collection.tools.len(),
            queries: one_tool().count(),
            ranking: Quality::mean(one_tool().map(|it| it.ranking())),
            bm25: Quality::mean(one_tool().map(|it| Quality::of(&it.case.groups, &it.seen.bm25))),
            route_us,
            acted: now.right,
            acted_share: now.acted,
            asked: Share::of(answerable(), |it| it.seen.step == Step::Ask),
            abstained: Share::of(answerable(), |it| it.seen.step == Step::Abstain),
            alternatives: Share::of(
                answerable().filter(|it| it.seen.step == Step::Ask),
                Outcome::has_right_among_offered,
            ),
            ece,
            bins,
            curve: (6..=19).map(|step| point(f64::from(step) / 20.0)).collect(),
            declined: (!unserved.is_empty()).then(|| Share::of(unserved, |seen| declines(seen))),
            fleet: collection.is_fleet.then(|| Fleet::of(&outcomes, all_tokens)),
            rejected: 0,
            unknown: collection.unknown,
            written: 0,
        }
    }
}

impl Fleet {
    fn of(outcomes: &[Outcome<'_>], all_tokens: usize) -> Self {
        let ranking = |is_in: &dyn Fn(&Outcome<'_>) -> bool| {
            let rankings: Vec<Quality> =
                outcomes.iter().filter(|it| is_in(it)).map(Outcome::ranking).collect();
            (rankings.len(), Quality::mean(rankings))
        };
        let of_kind = |kind: Sort| outcomes.iter().filter(move |it| it.case.kind == kind);
        let is_one_tool = |it: &Outcome<'_>| it.is(&[Sort::Single, Sort::Destructive]);
        let has_right = |tools: fn(&Seen) -> &Vec<usize>| {
            Share::of(of_kind(Sort::Single), |it| found(&it.case.groups, tools(it.seen)) > 0.0)
        };
        let ran = || of_kind(Sort::Destructive).filter(|it| it.seen.step == Step::Act);
        Self {
            tasks: outcomes.len(),
            single: ranking(&|it| it.case.kind == Sort::Single),
            destructive: ranking(&|it| it.case.kind == Sort::Destructive),
            asked_first: Share::of(of_kind(Sort::Destructive), |it| it.seen.step != Step::Act),
            needlessly: Share::of(outcomes.iter().filter(|it| it.case.kind != Sort::Destructive), |it| {
                it.seen.step == Step::Confirm
            }),
            ran: ran().count(),
            destroyed: ran().filter(|it| it.is_right()).count(),
            multi: ranking(&|it| it.case.kind == Sort::Multi),
            planned: planned(of_kind(Sort::Multi)),
            split: Share::of(outcomes.iter().filter(|it| is_one_tool(it)), |it| it.seen.is_split),
            vague: Share::of(of_kind(Sort::Vague), |it| it.seen.step == Step::Ask),
            unanswerable: Share::of(of_kind(Sort::Unanswerable), |it| declines(it.seen)),
            given: has_right(|seen| &seen.given.tools),
            given_by_domains: has_right(|seen| &seen.given.of_domains),
            likeliest: has_right(|seen| &seen.ranked),
            given_tokens: outcomes.iter().map(|it| it.seen.given.tokens as f64).sum::<f64>()
                / f64::max(outcomes.len() as f64, 1.0),
            given_most: outcomes.iter().map(|it| it.seen.given.tools.len()).max().unwrap_or_default(),
            all_tokens,
            gap: ranking(&|it| is_one_tool(it) && it.case.is_gap),
            english: ranking(&|it| is_one_tool(it) && it.case.is_english),
            other: ranking(&|it| is_one_tool(it) && !it.case.is_english),
        }
    }
}

/// Needed steps count, not requests: a long task is harder than a short one.
fn planned<'a>(outcomes: impl Iterator<Item = &'a Outcome<'a>>) -> f64 {
    let (mut needed, mut hit) = (0.0, 0.0);
    for Outcome { case, seen } in outcomes {
        let steps = case.groups.len() as f64;
        needed += steps;
        hit += steps * found(&case.groups, &seen.planned);
    }
    hit / f64::max(needed, 1.0)
}

/// A question is a way to decline; to have the wrong tool confirmed is not.
fn declines(seen: &Seen) -> bool {
    matches!(seen.step, Step::Ask | Step::Abstain)
}

/// How far confidence and truth are apart: the expected calibration error over ten equal bins, and these.
fn calibration(judged: impl Iterator<Item = (f64, bool)>) -> (f64, Vec<Bin>) {
    let mut sums = [(0_usize, 0.0, 0.0); 10];
    for (confidence, is_right) in judged {
        let (n, sum, right) = &mut sums[((confidence * 10.0) as usize).min(9)];
        *n += 1;
        *sum += confidence;
        *right += f64::from(is_right);
    }
    let all: usize = sums.iter().map(|(n, ..)| n).sum();
    let bins: Vec<Bin> = sums
        .iter()
        .map(|(n, sum, right)| {
            let count = (*n).max(1) as f64;
            Bin { n: *n, confidence: sum / count, right: right / count }
        })
        .collect();
    let apart = |bin: &Bin| bin.n as f64 / all.max(1) as f64 * (bin.confidence - bin.right).abs();
    (bins.iter().map(apart).sum(), bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r6_one_hit_for_each_step_is_enough() {
        let groups = [vec![1, 2], vec![3]];
        let first = Quality::of(&groups, &[2, 1, 9]);
        assert_eq!((first.top1, first.recall5), (1.0, 0.5));
        // The second tool of the first step adds nothing.
        let best = 1.0 + 1.0 / 3_f64.log2();
        assert!((first.ndcg10 - 1.0 / best).abs() < 1e-9);
        let whole = Quality::of(&groups, &[3, 1]);
        assert_eq!(whole, Quality { top1: 1.0, recall5: 1.0, ndcg10: 1.0 });
        let late = Quality::of(&groups, &[9, 8, 7, 6, 5, 3]);
        assert_eq!((late.top1, late.recall5), (0.0, 0.0));
        assert!((late.ndcg10 - 1.0 / 7_f64.log2() / best).abs() < 1e-9);
        assert_eq!(Quality::of(&groups, &[]), Quality::default());
        assert_eq!(Quality::of(&[], &[1]), Quality::default());
    }

    #[test]
    fn r6_calibration_is_the_distance_of_confidence_and_truth() {
        let (perfect, _) = calibration([(1.0, true), (0.0, false)].into_iter());
        assert!(perfect.abs() < 1e-9);
        let (error, bins) = calibration([(0.9, true), (0.9, false), (0.25, false), (0.21, true)].into_iter());
        assert!((error - (0.5 * 0.4 + 0.5 * 0.27)).abs() < 1e-9, "{error}");
        assert_eq!((bins.len(), bins[9].n, bins[2].n), (10, 2, 2));
    }
}
