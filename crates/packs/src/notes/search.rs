//! Words found in notes, best first.
//!
//! A word counts more the rarer it is and the more it says about a note: in the title most, then in
//! tags, headings and text. Notes with all the words come before notes with some.

use crate::fold::{fold, words};

/// What to look for.
#[derive(Debug, PartialEq)]
pub(super) struct Query {
    /// Single words, folded.
    words: Vec<String>,
    /// Phrases in quotes, folded; a note must have them all.
    phrases: Vec<String>,
    /// Tags written as `#tag`; a note must have them all.
    pub(super) tags: Vec<String>,
}

/// A note, ready to be searched.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) path: String,
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    pub(super) headings: String,
    pub(super) body: String,
}

/// A note that has something of what was looked for.
#[derive(Debug)]
pub(super) struct Hit {
    /// Its place among the pages that were searched.
    pub(super) page: usize,
    pub(super) score: f64,
}

/// Words that say nothing about what a note is about.
const STOP: [&str; 36] = [
    "a", "about", "all", "an", "and", "any", "are", "at", "by", "can", "find", "for", "from", "have", "i",
    "in", "is", "it", "me", "my", "note", "notes", "of", "on", "or", "please", "search", "show", "that",
    "the", "to", "what", "where", "which", "with", "you",
];

const WIDTH: usize = 160;

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        let folded = fold(text);
        let mut phrases = Vec::new();
        let mut loose = String::new();
        for (at, part) in folded.split('"').enumerate() {
            let inside = words(part).collect::<Vec<_>>().join(" ");
            // An odd number of quotes leaves the last one open: then it is no phrase.
            let closed = at % 2 == 1 && folded.split('"').nth(at + 1).is_some();
            if closed && inside.contains(' ') {
                phrases.push(inside);
            } else {
                loose.push(' ');
                loose.push_str(part);
            }
        }
        let mut tags = Vec::new();
        let mut all: Vec<String> = Vec::new();
        for token in loose.split_whitespace() {
            match token.strip_prefix('#').map(|tag| tag.trim_end_matches(['.', ',', ';', '?', '!'])) {
                Some(tag) if super::markdown::is_tag(tag) => tags.push(tag.to_owned()),
                _ => all.extend(words(token).map(str::to_owned)),
            }
        }
        let telling: Vec<String> = all.iter().filter(|it| !STOP.contains(&it.as_str())).cloned().collect();
        let mut words =
            if telling.is_empty() && tags.is_empty() && phrases.is_empty() { all } else { telling };
        words.sort();
        words.dedup();
        // More words than this add time and no meaning.
        words.truncate(32);
        Self { words, phrases, tags }
    }

    /// Says whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.phrases.is_empty() && self.tags.is_empty()
    }
}

/// Ranks pages, best first; those without any of the words are left out.
pub(super) fn rank(pages: &[Page], query: &Query) -> Vec<Hit> {
    let mut found: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut holders = vec![0_usize; query.words.len()];
    for (page, note) in pages.iter().enumerate() {
        let Some(weights) = weigh(note, query) else { continue };
        for (holder, weight) in holders.iter_mut().zip(&weights) {
            *holder += usize::from(0.0 < *weight);
        }
        found.push((page, weights));
    }
    let mut hits: Vec<Hit> = found
        .into_iter()
        .map(|(page, weights)| {
            let had = weights.iter().filter(|it| 0.0 < **it).count();
            let whole = weights.iter().zip(&holders).map(|(weight, holders)| {
                // The usual measure of rarity, kept above zero for words that every note has.
                let rarity = (1.0 + count(pages.len()) / (1.0 + count(*holders))).ln();
                weight * rarity
            });
            let share = if weights.is_empty() { 1.0 } else { count(had) / count(weights.len()) };
            let phrases = 4.0 * count(query.phrases.len());
            let score = (whole.sum::<f64>() + phrases) * share * share;
            Hit { page, score: (score * 100.0).round() / 100.0 }
        })
        .collect();
    // Ties break on the path, so that the same search always answers in the same order.
    hits.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| pages[a.page].path.cmp(&pages[b.page].path))
    });
    hits
}

/// Returns the line with most of what was looked for, cut to a readable length.
pub(super) fn snippet(note: &Page, query: &Query) -> String {
    let fits = |word: &str| query.words.iter().any(|wanted| 0.0 < likeness(word, wanted));
    let mut best: (usize, &str) = (0, "");
    for line in note.body.lines().filter(|line| !line.trim().is_empty()) {
        let folded = fold(line);
        let different =
            query.words.iter().filter(|wanted| words(&folded).any(|it| 0.0 < likeness(it, wanted)));
        let phrases = query.phrases.iter().filter(|phrase| folded.contains(phrase.as_str()));
        let tags = query.tags.iter().filter(|tag| folded.contains(&format!("#{tag}")));
        // A heading says less about where the words stand than a line of text.
        let points = 2 * (different.count() + phrases.count() + tags.count());
        let points = points.saturating_sub(usize::from(line.starts_with('#') && 0 < points));
        let better_start = best.0 == 0 && best.1.starts_with('#') && !line.starts_with('#');
        if best.0 < points || best.1.is_empty() || better_start {
            best = (points, line.trim());
        }
    }
    let line = best.1;
    let at = line.split_whitespace().scan(0, |at, token| {
        let here = *at;
        *at += token.chars().count() + 1;
        Some((here, token))
    });
    let at = at.into_iter().find(|(_, token)| words(&fold(token)).any(fits)).map_or(0, |(at, _)| at);
    let length = line.chars().count();
    if length <= WIDTH {
        return line.to_owned();
    }
    let from = at.saturating_sub(WIDTH / 3).min(length - WIDTH);
    let cut: String = line.chars().skip(from).take(WIDTH).collect();
    let (head, tail) = (if from == 0 { "" } else { "…" }, if from + WIDTH < length { "…" } else { "" });
    format!("{head}{}{tail}", cut.trim())
}

/// Weighs each word in a note; `None` when the note is no answer at all.
fn weigh(note: &Page, query: &Query) -> Option<Vec<f64>> {
    let tagged = |tag: &String| note.tags.iter().any(|own| super::markdown::is_under(own, tag));
    if !query.tags.iter().all(tagged) {
        return None;
    }
    let body = fold(&note.body);
    if !query.phrases.is_empty() {
        let plain = format!(" {} {} ", fold(&note.title), body);
        let plain = format!(" {} ", words(&plain).collect::<Vec<_>>().join(" "));
        if !query.phrases.iter().all(|phrase| plain.contains(&format!(" {phrase} "))) {
            return None;
        }
    }
    let fields = [
        (8.0, fold(&format!("{} {}", note.title, note.path))),
        (5.0, fold(&note.tags.join(" "))),
        (3.0, fold(&note.headings)),
    ];
    let weights: Vec<f64> = query
        .words
        .iter()
        .map(|wanted| {
            let best = |text: &str| words(text).map(|word| likeness(word, wanted)).fold(0.0, f64::max);
            let named: f64 = fields.iter().map(|(weight, text)| weight * best(text)).sum();
            let often: f64 = words(&body).map(|word| likeness(word, wanted)).sum();
            named + 3.0 * often / (often + 1.5)
        })
        .collect();
    let none = !weights.is_empty() && weights.iter().all(|weight| *weight == 0.0);
    (!none).then_some(weights)
}

/// Says how well a word of a note fits the wanted one, from 0 to 1.
fn likeness(word: &str, wanted: &str) -> f64 {
    if word == wanted {
        return 1.0;
    }
    // Scripts without spaces between words: the wanted one may stand anywhere.
    if !wanted.is_ascii() && wanted.chars().all(|letter| '\u{2e80}' <= letter) && word.contains(wanted) {
        return 1.0;
    }
    if stem(word) == stem(wanted) {
        return 0.9;
    }
    // Short beginnings say little: "ai" must not find "air".
    if 4 <= wanted.len() && word.starts_with(wanted) { 0.6 } else { 0.0 }
}

/// Takes the ending of a plural off.
fn stem(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(one) if 3 <= one.len() && !one.ends_with('s') => one.strip_suffix("e").unwrap_or(one),
        _ => {
            if 4 <= word.len() {
                word.strip_suffix('e').unwrap_or(word)
            } else {
                word
            }
        }
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
