//! Which tool is meant, where more than words says it: named values, given arguments, a reading, what a call would take.

use std::sync::Arc;

use super::{Conclusion, Decide, Next};
use crate::arguments::{Named, Source, Sources, fill};
use crate::plan::Choice;
use crate::rank::{Candidate, Decision, Signal, Verdict};
use crate::thresholds::thresholds;
use crate::tool::Effect;

/// Candidates whose forms are tried with the values of a caller.
const MOST_TRIED: usize = 8;
/// Candidates that the argument reader reads the request beside.
const MOST_READ: usize = 3;

impl Decide<'_> {
    /// Ranks candidates anew by how well they take the values that the caller named.
    pub(super) fn told_by_values(&self, decision: Arc<Decision>) -> Arc<Decision> {
        let is_open = decision.verdict != Verdict::Abstain && !decision.candidates.is_empty();
        let Some(values) = self.goal.values.filter(|it| !it.is_empty() && is_open) else { return decision };
        let limits = &thresholds().values;
        // What the names mean is compared once the tool is chosen.
        let named = Some(Named { values, nearness: None });
        let sources = Sources {
            task: "",
            given: self.goal.given,
            named,
            reading: None,
            earlier: &[],
            now: self.world.now,
        };
        let fit = |candidate: &Candidate| {
            let filling = fill(self.world.catalog.form(candidate.position), &sources);
            let placed = filling.arguments.iter().filter(|it| it.source == Source::Named);
            let doubt: f64 = placed.map(|it| it.confidence.ln()).sum();
            limits.doubt * doubt - limits.unused * filling.unused.len() as f64
        };
        let tried = || decision.candidates.iter().take(MOST_TRIED);
        let mut fits: Vec<f64> = tried().map(fit).collect();
        // Whoever names a server does not mean a tool of another one that has more places for the values.
        let is = |it: &Candidate, signal: Signal| it.signals[signal as usize] > 0.0;
        let named = tried().zip(&fits).filter(|(it, _)| is(it, Signal::Named));
        if let Some(named) = named.map(|(_, fit)| *fit).max_by(f64::total_cmp) {
            for (candidate, fit) in tried().zip(&mut fits) {
                *fit = if is(candidate, Signal::OtherNamed) { fit.min(named) } else { *fit };
            }
        }
        let scope = (self.world.catalog, self.world.index);
        Arc::new(decision.told_apart(scope, &fits, (self.world.confidence, limits.no_tool)))
    }

    /// Reads the request beside the likeliest tools, and judges anew whether one of them can serve it.
    pub(super) fn told_by_reading(&self, decision: Arc<Decision>) -> Result<Arc<Decision>, Next> {
        // It sees the texts of tools and not what people say when they mean them, so it overrules nothing that is clear,
        // nothing that somebody corrected, and no arguments that the caller knows.
        let is_open = matches!(decision.verdict, Verdict::Ask(_))
            && decision.judgement.vague < thresholds().decision.maybe_vague;
        let is_corrected = |it: &Candidate| it.signals[Signal::Liked as usize] != 0.0;
        let is_settled = decision.candidates.iter().any(is_corrected) || !self.goal.given.is_empty();
        if !is_open || is_settled || decision.candidates.is_empty() {
            return Ok(decision);
        }
        let limits = &thresholds().reading;
        let (mut fits, text) = (Vec::new(), self.read_text(self.said()));
        for candidate in decision.candidates.iter().take(MOST_READ) {
            let is_read = fits.is_empty() || candidate.probability >= limits.likely as f32;
            let reading = if is_read { self.reading(candidate.position, &text)? } else { None };
            if reading.is_none() && fits.is_empty() {
                return Ok(decision);
            }
            fits.push(reading.map(|it| f64::from(it.fits)));
        }
        // A request is declined only where the reader itself finds every tool unfit.
        let is_fit = fits.iter().flatten().any(|it| 1.0 / (1.0 + (-it).exp()) >= limits.unfit);
        let no_tool = if is_fit { f64::INFINITY } else { thresholds().decision.no_tool };
        let fits: Vec<f64> = fits.into_iter().map(|it| it.map_or(0.0, |it| limits.fits * it)).collect();
        let scope = (self.world.catalog, self.world.index);
        Ok(Arc::new(decision.read_beside(scope, &fits, (self.world.confidence, no_tool))))
    }

    /// Makes a call of a request that seems vague by its words alone, where one tool that only reads takes all it says.
    pub(super) fn told_by_details(&self, decision: &Arc<Decision>) -> Result<Option<Conclusion>, Next> {
        let (limits, judgement) = (&thresholds().decision, decision.judgement);
        let Some(first) = decision.candidates.first() else { return Ok(None) };
        let confidence = f64::from(first.probability) * (1.0 - judgement.none);
        let is_read = self.world.index.knowledge.of(first.position).effect == Effect::Read;
        let least = limits.told_right.max(self.world.confidence);
        if confidence < least || judgement.vague >= limits.told_vague || !is_read {
            return Ok(None);
        }
        let choice = Choice { position: first.position, confidence };
        let conclusion = self.draft(choice, Some(decision))?;
        let is_told = matches!(&conclusion, Conclusion::Call(draft) if !draft.settled.found.is_empty());
        Ok(is_told.then_some(conclusion))
    }

    /// Whether the given values belong to the likeliest tool, and to no other that may be meant.
    pub(super) fn is_told_by_arguments(&self, decision: &Decision) -> bool {
        let limits = &thresholds().decision;
        let takes = |candidate: &Candidate| {
            let tool = &self.world.catalog.tools()[candidate.position];
            self.goal.given.keys().all(|name| tool.parameters.iter().any(|it| it.name == *name))
        };
        let mut likely = decision.candidates.iter().filter(|it| it.probability >= limits.given_likely as f32);
        let is_clear =
            decision.confidence >= limits.given_confidence && decision.judgement.vague < limits.given_vague;
        !self.goal.given.is_empty() && is_clear && likely.next().is_some_and(takes) && !likely.any(takes)
    }
}
