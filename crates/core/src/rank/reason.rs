//! Why a tool fits, in words that a person can check.

use super::signals::{Signal, Signals};
use super::{Candidate, Scope};
use crate::index::Index;
use crate::lexicon::Categories;
use crate::text::{SOME_FOLDER, terms, without_folders};
use crate::thresholds::thresholds;

/// More reasons than this are noise.
const MAX_REASONS: usize = 4;
/// Words of a request that are looked at for a reason.
const MAX_WORDS: usize = 60;

/// Adds to each candidate why it fits, the strongest reason first.
pub(super) fn explain(scope: Scope, task: &str, counts: &Signals, candidates: &mut [Candidate]) {
    let task = &*without_folders(task, SOME_FOLDER);
    let least = thresholds().ranking.reason as f32;
    for candidate in candidates {
        let mut adds: Vec<(Signal, f32)> = Vec::new();
        for signal in Signal::ALL {
            let added = candidate.signals[signal as usize] * counts[signal as usize];
            let kept = same_text(whole(signal), &candidate.signals);
            match adds.iter_mut().find(|(known, _)| *known == kept) {
                Some((_, sum)) => *sum += added,
                None => adds.push((kept, added)),
            }
        }
        adds.retain(|(signal, added)| added.abs() > least && *signal != Signal::Available);
        adds.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut reasons: Vec<String> = Vec::new();
        for (signal, added) in adds {
            let reason = reason(scope, task, candidate, (signal, added));
            if let Some(reason) = reason.filter(|reason| !reasons.contains(reason)) {
                reasons.push(reason);
            }
        }
        reasons.truncate(MAX_REASONS);
        candidate.reasons = reasons;
    }
}

/// Says what a signal that added so much to a candidate's score saw.
fn reason(scope: Scope, task: &str, candidate: &Candidate, (signal, added): (Signal, f32)) -> Option<String> {
    let Scope { index, catalog, .. } = scope;
    let (position, value) = (candidate.position, candidate.signals[signal as usize]);
    let facts = index.knowledge.of(position);
    if signal == Signal::Action {
        let (verb, sentence) =
            (facts.action.as_str(), if added > 0.0 { "asks to" } else { "but the tool is to" });
        return Some(format!("{sentence} {verb}"));
    }
    if added < 0.0 && signal == Signal::Support {
        return None;
    }
    if added < 0.0 {
        return Some(format!("but {}", signal.meaning()));
    }
    if [Signal::Words, Signal::Gloss, Signal::Name].contains(&signal) {
        return shared(index, position, task);
    }
    if signal == Signal::Phrase {
        return nearest(index, position, task);
    }
    if signal == Signal::Named {
        return Some(format!("names {}", catalog.tools()[position].server));
    }
    if signal == Signal::Category {
        return facts.category.map(|at| format!("is about {}", Categories::builtin().name(at)));
    }
    if [Signal::Sense, Signal::PhraseSense].contains(&signal) {
        return Some(format!("{} ({value:.2})", signal.meaning()));
    }
    Some(signal.meaning().to_owned())
}

/// A value and its share of the best are one reason.
fn whole(signal: Signal) -> Signal {
    let wholes = [
        (Signal::WordsShare, Signal::Words),
        (Signal::WordsSum, Signal::Words),
        (Signal::GlossShare, Signal::Gloss),
        (Signal::RelatedShare, Signal::Related),
        (Signal::PhraseShare, Signal::Phrase),
        (Signal::SenseShare, Signal::Sense),
        (Signal::PhraseSenseShare, Signal::PhraseSense),
        (Signal::SentenceSenseShare, Signal::SentenceSense),
    ];
    wholes.iter().find(|(part, _)| *part == signal).map_or(signal, |(_, whole)| *whole)
}

/// Where nobody wrote phrasings, or the request is one sentence, signals of meaning have compared the same texts.
fn same_text(signal: Signal, signals: &Signals) -> Signal {
    let wider = [
        (Signal::PhraseSense, Signal::Sense),
        (Signal::SentenceSense, Signal::Sense),
        (Signal::SentenceSense, Signal::PhraseSense),
    ];
    let value = |of: Signal| signals[of as usize];
    let is_same =
        |(it, other): &&(Signal, Signal)| *it == signal && value(*other).total_cmp(&value(*it)).is_eq();
    wider.iter().find(is_same).map_or(signal, |(_, other)| *other)
}

/// The words that request and tool share, as the request writes them.
fn shared(index: &Index, position: usize, task: &str) -> Option<String> {
    let mut said: Vec<&str> = Vec::new();
    let words = task.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words.take(MAX_WORDS) {
        let is_shared = index.words.query_terms(word).iter().any(|term| index.words.has(position, *term));
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
