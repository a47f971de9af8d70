//! A request, read: its language and its words with what they mean.

use super::{Action, Language, Lexicon, Meaning, ends, folded};
use crate::text::{SOME_FOLDER, is_unparted, without_folders};
use crate::thresholds::thresholds;

/// A request, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The language it is most likely in.
    pub language: Language,
    /// Its words and known phrases, in order.
    pub words: Vec<Word>,
}

/// A word or phrase of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As written, folded to lower case without accents.
    pub text: String,
    /// The action it asks for.
    pub action: Option<Action>,
    /// What it is called in English, where the lexicon knows.
    pub english: Option<String>,
    /// Whether it is a word without content.
    pub is_stop: bool,
}

/// A request is read this far; what comes later only repeats or quotes.
const MAX_WORDS: usize = 400;
/// Words in the longest phrase of the lexicon.
const MAX_PHRASE: usize = 5;

impl Reading {
    /// Reads a request. What the folders of a path are called is no part of it.
    pub fn of(text: &str) -> Self {
        let lexicon = Lexicon::builtin();
        let folded = folded(&without_folders(text, SOME_FOLDER));
        let runs: Vec<&str> = runs(&folded).take(MAX_WORDS).collect();
        Self::of_runs(&runs, language(lexicon, &folded, &runs))
    }

    /// Reads a part of a request whose language is known.
    pub(crate) fn of_part(text: &str, language: Language) -> Self {
        let folded = folded(&without_folders(text, SOME_FOLDER));
        Self::of_runs(&runs(&folded).take(MAX_WORDS).collect::<Vec<_>>(), language)
    }

    fn of_runs(runs: &[&str], language: Language) -> Self {
        let lexicon = Lexicon::builtin();
        let mut words = Vec::new();
        let mut at = 0;
        while at < runs.len() && words.len() < MAX_WORDS {
            if runs[at].starts_with(is_unparted) {
                unparted(lexicon, runs[at], &mut words);
                at += 1;
            } else {
                at += parted(lexicon, &runs[at..], language, &mut words);
            }
        }
        Self { language, words }
    }

    /// Returns the English for the whole request: what is known is translated, the rest stays.
    pub fn english(&self) -> String {
        let mut english = String::new();
        for word in self.words.iter().filter(|word| !word.is_stop) {
            if !english.is_empty() {
                english.push(' ');
            }
            match (&word.english, word.action) {
                (Some(known), _) => english.push_str(known),
                (None, Some(action)) if self.language != Language::En => english.push_str(action.as_str()),
                (None, _) => english.push_str(&word.text),
            }
        }
        english
    }
}

/// Parts a folded text into words; scripts without spaces stay in one run.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || is_unparted(c) || is_mark(c))).flat_map(|chunk| {
        let mut rest = chunk;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let end = rest.find(|c| is_unparted(c) != is_unparted(first)).unwrap_or(rest.len());
            let (run, tail) = rest.split_at(end);
            rest = tail;
            Some(run)
        })
    })
}

/// Vowel signs of Indic scripts belong to their word.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{97f}')
}

/// The script decides; among languages in Latin letters, the one whose small words occur.
fn language(lexicon: &Lexicon, text: &str, runs: &[&str]) -> Language {
    if let Some(language) = Language::of_script(text) {
        return language;
    }
    let limits = &thresholds().language;
    let mut votes = [0.0_f32; Language::ALL.len()];
    for run in runs {
        let stops = lexicon.stops.get(*run).map(Vec::as_slice).unwrap_or_default();
        let meanings = lexicon.exact.get(*run).map(Vec::as_slice).unwrap_or_default();
        let beginnings = beginnings(lexicon, run);
        // A word that many languages share says little about which one it is.
        let stop_languages = stops.iter().map(|it| (*it, 1.0 / stops.len() as f32));
        let known: Vec<Language> = meanings.iter().chain(beginnings).map(|it| it.language).collect();
        let known_languages = known.iter().map(|it| (*it, limits.known_word as f32 / known.len() as f32));
        for (language, vote) in stop_languages.chain(known_languages) {
            votes[language as usize] += vote;
        }
    }
    let english = votes[Language::En as usize];
    let best = Language::ALL.into_iter().max_by(|a, b| {
        votes[*a as usize].total_cmp(&votes[*b as usize]).then_with(|| (*b as usize).cmp(&(*a as usize)))
    });
    // English names and terms stand in every language, so another one must clearly win; one word that two
    // languages share is not enough.
    let least = if text.is_ascii() { limits.ascii as f32 } else { limits.other as f32 };
    best.filter(|best| {
        votes[*best as usize]
            > (english * limits.english_share as f32 + limits.english_lead as f32).max(least)
    })
    .unwrap_or(Language::En)
}

fn beginnings<'a>(lexicon: &'a Lexicon, run: &str) -> &'a [Meaning] {
    let longest = ends(run).filter_map(|end| lexicon.beginnings.get(&run[..end])).last();
    longest.map(Vec::as_slice).unwrap_or_default()
}

/// Reads the longest known phrase that the runs begin with; returns how many runs it took.
fn parted(lexicon: &Lexicon, runs: &[&str], language: Language, words: &mut Vec<Word>) -> usize {
    let longest = runs.iter().take(MAX_PHRASE).take_while(|run| !run.starts_with(is_unparted)).count();
    for length in (2..=longest).rev() {
        let phrase = runs[..length].join(" ");
        if let Some(meaning) = lexicon.meaning(&phrase, language) {
            words.push(word(phrase, Some(meaning), false));
            return length;
        }
    }
    let is_stop = lexicon.is_stop(runs[0], language);
    words.push(word(runs[0].to_owned(), lexicon.meaning(runs[0], language), is_stop));
    1
}

/// Reads a run without spaces: known phrases where they stand, the rest as it is between them.
fn unparted(lexicon: &Lexicon, run: &str, words: &mut Vec<Word>) {
    let (mut rest, mut unknown) = (run, String::new());
    while let Some(first) = rest.chars().next() {
        let stop = rest.char_indices().skip(1).map(|(at, _)| at).chain([rest.len()]).take(4);
        let stop = stop.filter(|end| lexicon.stops.contains_key(&rest[..*end])).last();
        let known = lexicon.leading(rest);
        let taken = match (known, stop) {
            (Some((phrase, _)), _) => phrase.len(),
            (None, Some(end)) => end,
            (None, None) => 0,
        };
        if taken == 0 {
            unknown.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if !unknown.is_empty() {
            words.push(word(std::mem::take(&mut unknown), None, false));
        }
        words.push(word(rest[..taken].to_owned(), known.map(|(_, it)| it), known.is_none()));
        rest = &rest[taken..];
    }
    if !unknown.is_empty() {
        words.push(word(unknown, None, false));
    }
}

fn word(text: String, meaning: Option<&Meaning>, is_stop: bool) -> Word {
    let action = meaning.and_then(|it| it.action);
    let english = meaning.and_then(|it| it.english.as_deref()).map(str::to_owned);
    Word { is_stop: is_stop && action.is_none() && english.is_none(), text, action, english }
}
