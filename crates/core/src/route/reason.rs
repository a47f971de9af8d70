//! Why a tool fits, in words that a person can check.

use super::signals::{Comparison, Signal};
use super::{Candidate, Weights};
use crate::catalog::Catalog;
use crate::index::Index;
use crate::lexicon::Categories;
use crate::text::terms;

/// More reasons than this are noise.
const MAX_REASONS: usize = 4;
/// What adds less than this to a score is no reason.
const WORTH_SAYING: f32 = 0.15;

/// Adds to each candidate why it fits, the strongest reason first.
pub(super) fn explain(
    index: &Index,
    catalog: &Catalog,
    (task, comparison, weights): (&str, &Comparison, &Weights),
    candidates: &mut [Candidate],
) {
    let weights = weights.for_query(&comparison.query);
    for candidate in candidates {
        let mut adds: Vec<(Signal, f32)> = Vec::new();
        for signal in Signal::ALL {
            let added = candidate.signals[signal as usize] * weights[signal as usize];
            // A value and its share of the best are one reason.
            let kept = whole(signal);
            match adds.iter_mut().find(|(known, _)| *known == kept) {
                Some((_, sum)) => *sum += added,
                None => adds.push((kept, added)),
            }
        }
        adds.retain(|(signal, added)| added.abs() > WORTH_SAYING && *signal != Signal::Available);
        adds.sort_by(|a, b| b.1.total_cmp(&a.1));
        let tool = &catalog.tools()[candidate.position];
        let mut reasons: Vec<String> = Vec::new();
        for (signal, added) in adds {
            let value = candidate.signals[signal as usize];
            let reason = match signal {
                Signal::Words | Signal::Gloss | Signal::Name if added > 0.0 => {
                    shared(index, candidate.position, task, tool)
                }
                Signal::Phrase if added > 0.0 => nearest(index, candidate.position, task),
                Signal::Named if value > 0.0 => Some(format!("names {}", tool.server)),
                Signal::Category if value > 0.0 => index
                    .knowledge
                    .of(candidate.position)
                    .category
                    .map(|at| format!("is about {}", Categories::builtin().name(at))),
                Signal::Action if added > 0.0 => {
                    Some(format!("asks to {}", index.knowledge.of(candidate.position).action.as_str()))
                }
                Signal::Action => Some(format!(
                    "but the tool is to {}",
                    index.knowledge.of(candidate.position).action.as_str()
                )),
                Signal::Sense | Signal::PhraseSense => Some(format!("{} ({value:.2})", signal.meaning())),
                _ if added < 0.0 => Some(format!("but {}", signal.meaning())),
                _ => Some(signal.meaning().to_owned()),
            };
            if let Some(reason) = reason.filter(|reason| !reasons.contains(reason)) {
                reasons.push(reason);
            }
        }
        reasons.truncate(MAX_REASONS);
        candidate.reasons = reasons;
    }
}

fn whole(signal: Signal) -> Signal {
    match signal {
        Signal::WordsShare | Signal::WordsSum => Signal::Words,
        Signal::GlossShare => Signal::Gloss,
        Signal::RelatedShare => Signal::Related,
        Signal::PhraseShare => Signal::Phrase,
        Signal::SenseShare => Signal::Sense,
        Signal::PhraseSenseShare => Signal::PhraseSense,
        other => other,
    }
}

/// The words that request and tool share, as the request writes them.
fn shared(index: &Index, position: usize, task: &str, tool: &crate::tool::Tool) -> Option<String> {
    let parameters = tool.parameters.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(" ");
    let note = index.knowledge.of(position).note.as_deref();
    let keywords = note.map(|note| note.keywords.join(" ")).unwrap_or_default();
    let own =
        terms(&format!("{} {} {} {parameters} {keywords}", tool.server, tool.name, tool.description), 400);
    let mut said: Vec<&str> = Vec::new();
    for word in task.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let is_shared = terms(word, 2).iter().any(|term| own.contains(term));
        if is_shared && said.len() < 5 && !said.contains(&word) {
            said.push(word);
        }
    }
    (!said.is_empty()).then(|| format!("shares {}", said.join(", ")))
}

/// The phrasing that is most like the request.
fn nearest(index: &Index, position: usize, task: &str) -> Option<String> {
    let note = index.knowledge.of(position).note.as_deref()?;
    let said = terms(task, 64);
    let likeness = |text: &String| {
        let own = terms(text, 64);
        let shared = own.iter().filter(|term| said.contains(term)).count() as f32;
        shared / (own.len().max(1) as f32).sqrt()
    };
    let texts = note.examples.iter().chain(&note.use_cases);
    let best = texts.map(|text| (text, likeness(text))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let short: String = best.0.chars().take(60).collect();
    (best.1 > 0.0).then(|| format!("is like “{short}”"))
}
