//! Why this tool, and why not the others.

use owo_colors::OwoColorize;
use serde_json::{Map, Value, json};
use toolyard_core::route::{
    self, Candidate, Decision, Request, Signal, Situation, Standing, Verdict, Weights,
};
use toolyard_core::tool::clean;
use toolyard_hub::config::Ranking;

use super::Way;
use crate::output::{self, Attribute, Cell, Layout};
use crate::tools;

/// What adds less than this to a score is no reason.
const WORTH_SAYING: f32 = 0.1;
/// Signals that are named for one tool.
const MOST: usize = 5;

/// What each signal added to the score of a tool, the strongest first.
type Added = Vec<(Signal, f32)>;

/// Returns a decision as people read it.
pub(super) fn words(way: &Way<'_>) -> String {
    let Way { snapshot, task, decision, .. } = way;
    let weights = weights_for(way);
    let intent = &decision.intent;
    let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
    let about = [
        ("wish", clean(task).replace('\n', " ")),
        (
            "reads as",
            format!(
                "{}, about {}, in {}",
                intent.use_case,
                or(&intent.category, "anything"),
                language(intent)
            ),
        ),
        ("decision", verdict(decision, way.config.routing.confidence_threshold)),
    ];
    let rows = about.map(|(name, said)| vec![Cell::new(name).add_attribute(Attribute::Dim), Cell::new(said)]);
    let mut text = output::grid(Layout::default(), rows.into()) + "\n";
    if decision.candidates.is_empty() {
        return text + "\nNo tool shares anything with it.\n";
    }
    let first = added(&decision.candidates[0], &weights);
    let rows = decision.candidates.iter().enumerate().map(|(at, candidate)| {
        let tool = &snapshot.catalog.tools()[candidate.position];
        let mut why = candidate.reasons.join("; ");
        let own = added(candidate, &weights);
        let line = if at == 0 { shares(&own) } else { behind(&own, &first) };
        if !line.is_empty() {
            why += &format!("{}{line}", if why.is_empty() { "" } else { "\n" });
        }
        if let Some(twin) = candidate.twin_of {
            why += &format!("\ndoes the same as {}", snapshot.catalog.tools()[twin].id);
        }
        vec![
            Cell::new(tool.id.as_str()).add_attribute(Attribute::Bold),
            Cell::new(format!("{:.0}%", candidate.probability * 100.0)),
            Cell::new(clean(&why)),
        ]
    });
    let header = &["tool", "belief", "why"];
    text += &format!("\n{}\n", output::grid(Layout { header, ..Layout::default() }, rows.collect()));
    text
}

/// Returns the candidates as programs read them.
pub(super) fn alternatives(way: &Way<'_>, is_explained: bool) -> Vec<Value> {
    let Way { snapshot, decision, .. } = way;
    let weights = if is_explained { weights_for(way) } else { [0.0; Signal::ALL.len()] };
    let one = |candidate: &Candidate| {
        let tool = &snapshot.catalog.tools()[candidate.position];
        let mut shown = json!({
            "tool": tool.id.as_str(),
            "summary": tools::summary(tool),
            "probability": round(f64::from(candidate.probability)),
            "reasons": candidate.reasons,
        });
        if let Some(twin) = candidate.twin_of {
            shown["sameAs"] = json!(snapshot.catalog.tools()[twin].id.as_str());
        }
        if is_explained {
            let signal = |(signal, added): (Signal, f32)| {
                let value = candidate.signals[signal as usize];
                let parts = json!({ "value": round(f64::from(value)), "added": round(f64::from(added)) });
                (signal.name().to_owned(), parts)
            };
            shown["score"] = round(f64::from(candidate.score));
            shown["signals"] =
                Value::Object(added(candidate, &weights).into_iter().map(signal).collect::<Map<_, _>>());
        }
        shown
    };
    decision.candidates.iter().map(one).collect()
}

/// More digits than these are noise.
pub(super) fn round(value: f64) -> Value {
    json!((value * 1000.0).round() / 1000.0)
}

fn language(intent: &route::Intent) -> String {
    json!(intent.language).as_str().unwrap_or_default().to_owned()
}

fn verdict(decision: &Decision, threshold: f64) -> String {
    let judged = decision.judgement;
    let sure = format!("right with {:.0}%, {:.0}% are needed", judged.right * 100.0, threshold * 100.0);
    let besides = format!("too vague {:.0}%, no tool fits {:.0}%", judged.vague * 100.0, judged.none * 100.0);
    match &decision.verdict {
        Verdict::Act => format!("{} ({sure}; {besides})", "act".green()),
        Verdict::Ask(question) => format!("{}: {} ({sure}; {besides})", "ask".yellow(), question.text),
        Verdict::Abstain => format!("{} ({sure}; {besides})", "decline".red()),
    }
}

/// How much each signal counts for a request: the request as a whole opens gates that change it.
fn weights_for(way: &Way<'_>) -> [f32; Signal::ALL.len()] {
    match way.config.routing.profile {
        Ranking::Fitted => {}
        // It does not weigh signals; the reasons of each tool say it all.
        Ranking::Seed => return [0.0; Signal::ALL.len()],
    }
    let situation = Situation { preferred_server: None, standing: &|_| Standing::PLAIN };
    let request = Request { task: &way.task, sense: None };
    let (_, gates) = route::compare(way.snapshot.index(), &way.snapshot.catalog, request, &situation);
    let weights = Weights::builtin();
    Signal::ALL.map(|signal| {
        let [own, more @ ..] = weights.of(signal);
        own + more.iter().zip(gates).map(|(weight, gate)| weight * gate).sum::<f32>()
    })
}

fn added(candidate: &Candidate, weights: &[f32; Signal::ALL.len()]) -> Added {
    let mut added: Added = Signal::ALL
        .into_iter()
        .map(|signal| (signal, candidate.signals[signal as usize] * weights[signal as usize]))
        .filter(|(_, added)| *added != 0.0)
        .collect();
    added.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    added
}

fn shares(own: &Added) -> String {
    listed(own.iter().copied())
}

/// In what a tool falls behind the first.
fn behind(own: &Added, first: &Added) -> String {
    let of = |added: &Added, signal: Signal| {
        added.iter().find(|(known, _)| *known == signal).map_or(0.0, |(_, added)| *added)
    };
    let mut apart: Added = Signal::ALL
        .into_iter()
        .map(|signal| (signal, of(own, signal) - of(first, signal)))
        .filter(|(_, apart)| *apart < 0.0)
        .collect();
    apart.sort_by(|a, b| a.1.total_cmp(&b.1));
    let apart = listed(apart.into_iter());
    if apart.is_empty() { apart } else { format!("behind in {apart}") }
}

fn listed(added: impl Iterator<Item = (Signal, f32)>) -> String {
    let worth = added.filter(|(_, added)| added.abs() >= WORTH_SAYING).take(MOST);
    let shown: Vec<String> = worth.map(|(signal, added)| format!("{} {added:+.1}", signal.name())).collect();
    shown.join(", ")
}
