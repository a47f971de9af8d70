//! Tools, candidates and steps as the page reads them.

use serde_json::{Value, json};
use toolyard_core::arguments::Missing;
use toolyard_core::plan::Step;
use toolyard_core::rank::{Candidate, Decision, Signal};
use toolyard_core::tool::{Effect, Tool};
use toolyard_hub::live::Snapshot;

/// Characters of a summary.
const SUMMARY_CHARS: usize = 160;

/// Returns the first sentence of a tool's description, on one line.
pub(crate) fn summary(tool: &Tool) -> String {
    let line = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.find(". ").map_or(line.as_str(), |end| &line[..=end]);
    match sentence.char_indices().nth(SUMMARY_CHARS) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}

/// Returns what a tool does to the world, as far as is known beyond its listing.
pub(crate) fn effect(snapshot: &Snapshot, tool: &Tool) -> Effect {
    snapshot.facts(tool).map_or(tool.effect, |facts| facts.effect)
}

/// Returns the tools that may be meant, with everything that speaks for them.
pub(crate) fn candidates(snapshot: &Snapshot, decision: &Decision) -> Vec<Value> {
    decision.candidates.iter().map(|candidate| shown_candidate(snapshot, decision, candidate)).collect()
}

/// Returns a tool that was named, as the only candidate.
pub(crate) fn named(snapshot: &Snapshot, tool: &Tool) -> Value {
    json!({
        "tool": tool.id.as_str(),
        "title": tool.title,
        "server": &*tool.server,
        "effect": effect(snapshot, tool),
        "probability": 1.0,
        "summary": summary(tool),
        "reasons": ["its name is what was said"],
        "signals": [],
    })
}

fn shown_candidate(snapshot: &Snapshot, decision: &Decision, candidate: &Candidate) -> Value {
    let tool = &snapshot.catalog.tools()[candidate.position];
    let value_of = |signal: Signal| f64::from(candidate.signals[signal as usize]);
    let added_by = |signal: Signal| value_of(signal) * f64::from(decision.counts[signal as usize]);
    let mut signals: Vec<Signal> = Signal::ALL.into_iter().filter(|it| added_by(*it) != 0.0).collect();
    signals.sort_by(|a, b| added_by(*b).abs().total_cmp(&added_by(*a).abs()));
    let shown_signal = |signal: Signal| {
        json!({
            "name": signal.name(),
            "meaning": signal.meaning(),
            "value": round(value_of(signal)),
            "added": round(added_by(signal)),
        })
    };
    json!({
        "tool": tool.id.as_str(),
        "title": tool.title,
        "server": &*tool.server,
        "effect": effect(snapshot, tool),
        "probability": round(f64::from(candidate.probability)),
        "summary": summary(tool),
        "reasons": candidate.reasons,
        "signals": signals.into_iter().map(shown_signal).collect::<Vec<_>>(),
        "sameAs": candidate.twin_of.map(|twin| snapshot.catalog.tools()[twin].id.as_str()),
    })
}

/// Returns a step of a plan or of a workflow.
pub(crate) fn step(step: &Step) -> Value {
    let arguments = step.arguments.iter().map(|(name, input)| {
        let from = input.literal().is_none().then(|| input.to_string());
        json!({ "name": name, "value": input.literal(), "from": from })
    });
    json!({
        "id": step.name,
        "tool": step.tool.as_str(),
        "effect": step.effect,
        "needs": step.needs(),
        "arguments": arguments.collect::<Vec<_>>(),
        "words": step.words,
        "unsure": step.is_unsure,
        "estimateMs": step.estimate_ms,
    })
}

/// Says what is needed, as a question.
pub(crate) fn question_for(missing: &[Missing]) -> Option<String> {
    let names: Vec<String> = missing.iter().map(|it| format!("`{}`", it.name)).collect();
    (!names.is_empty()).then(|| format!("What is {}?", names.join(", ")))
}

/// More digits than these are noise.
pub(crate) fn round(value: f64) -> Value {
    json!((value * 1000.0).round() / 1000.0)
}
