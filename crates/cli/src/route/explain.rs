//! Why this tool, and why not the others.

use owo_colors::OwoColorize;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Argument, Source};
use toolyard_core::rank::{self, Candidate, Decision, Signal, Verdict};
use toolyard_core::thresholds::thresholds;
use toolyard_core::tool::clean;

use super::Way;
use crate::output::{self, Attribute, Cell, Layout};
use crate::tools;

/// Characters of a value.
const MOST_CHARS: usize = 80;
/// Signals that are named for one tool.
const MOST: usize = 5;

/// What each signal added to the score of a tool, the strongest first.
type Added = Vec<(Signal, f32)>;

/// Returns a decision as people read it.
pub(super) fn words(way: &Way<'_>) -> String {
    let Way { snapshot, task, decision: Some(decision), .. } = way else {
        return format!("{} is the name of a tool.\n", clean(&way.task));
    };
    let weights = decision.counts;
    let intent = &decision.intent;
    let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
    let about = [
        ("request", clean(task).replace('\n', " ")),
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
    let found = way.sources.iter().map(|it| ("argument", argument(it)));
    let rows = about
        .into_iter()
        .chain(found)
        .map(|(name, said)| vec![Cell::new(name).add_attribute(Attribute::Dim), Cell::new(said)]);
    let mut text = output::grid(Layout::default(), rows.collect()) + "\n";
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
    text += &format!("\n{}\n\n", output::grid(Layout { header, ..Layout::default() }, rows.collect()));
    text
}

/// Returns the candidates as programs read them.
pub(super) fn alternatives(way: &Way<'_>, is_explained: bool) -> Vec<Value> {
    let Way { snapshot, decision: Some(decision), .. } = way else { return Vec::new() };
    let weights = if is_explained { decision.counts } else { [0.0; Signal::ALL.len()] };
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

fn language(intent: &rank::Intent) -> String {
    json!(intent.language).as_str().unwrap_or_default().to_owned()
}

/// Returns values and where they come from, one in a line.
pub(super) fn arguments(found: &[Argument]) -> String {
    found.iter().map(|it| format!("  {}\n", argument(it))).collect()
}

fn argument(it: &Argument) -> String {
    let said = format!("{} = {} ({})", it.name, shown(&it.value), origin(it.source));
    clean(&said).replace('\n', " ")
}

/// Where a value comes from, for people.
fn origin(source: Source) -> &'static str {
    match source {
        Source::Given => "given",
        Source::Named => "given under another name",
        Source::Text => "from the words",
        Source::Implied => "meant by the words",
        Source::Earlier => "from an earlier result",
        Source::Default => "the default",
        Source::Model => "found in the words by the language model",
    }
}

/// A value without what would fill the screen.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(MOST_CHARS).collect();
    if short.len() < text.len() { short + "…" } else { short }
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
    let shares = listed(own.iter().copied());
    if shares.is_empty() { shares } else { format!("adds {shares}") }
}

/// In what a tool falls behind the first.
fn behind(own: &Added, first: &Added) -> String {
    let of = |added: &Added, signal: Signal| {
        added.iter().find(|(known, _)| *known == signal).map_or(0.0, |(_, added)| *added)
    };
    let apart = Signal::ALL
        .into_iter()
        .map(|signal| (signal, of(own, signal) - of(first, signal)))
        .filter(|(_, apart)| *apart < 0.0);
    let apart = listed(apart);
    if apart.is_empty() { apart } else { format!("behind in {apart}") }
}

/// Names the strongest; a signal, its sum and its share of the best are one thing to a person.
fn listed(added: impl Iterator<Item = (Signal, f32)>) -> String {
    let mut sums: Vec<(&str, f32)> = Vec::new();
    for (signal, added) in added {
        let name = signal.name().trim_end_matches("-share").trim_end_matches("-sum");
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += added,
            None => sums.push((name, added)),
        }
    }
    sums.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let worth =
        sums.into_iter().filter(|(_, sum)| f64::from(sum.abs()) >= thresholds().ranking.shown).take(MOST);
    worth.map(|(name, sum)| format!("{name} {sum:+.1}")).collect::<Vec<_>>().join(", ")
}
