//! A request, parsed for filling in: its tokens, and everything in them that can be a value.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::LazyLock;

use serde_json::Value;

use super::moment::{Moment, moments};
use super::quantity::{Quantity, quantity};
use super::sources::Now;
use super::token::{Span, Token, overlap, tokens};
use crate::form::Bound;
use crate::language::WordSet;
use crate::lexicon::{Action, Language, Lexicon, Reading, Related};
use crate::text::{QUOTES, terms};

/// A request, parsed for filling in.
pub(super) struct ParsedRequest<'a> {
    pub(super) text: &'a str,
    pub(super) now: Now,
    pub(super) tokens: Vec<Token>,
    pub(super) roles: Vec<Role>,
    /// Runs of words, as tokens.
    pub(super) runs: Vec<Range<usize>>,
    /// What stands between quotation marks.
    pub(super) quoted: Vec<Span>,
    /// Numbers, and the token that each begins with.
    pub(super) quantities: Vec<(usize, Quantity)>,
    pub(super) moments: Vec<Moment>,
    /// Lists, each as the tokens of its items, found on first use.
    lists: OnceCell<Vec<Vec<Range<usize>>>>,
    /// Runs that keep the marks at their end, and what stands between brackets.
    pub(super) closed: Vec<Span>,
    /// JSON that stands in the text.
    pub(super) literals: Vec<(Span, Value)>,
    /// Parts of tokens: `owner/repo`, `key=value`, `#tag`.
    pub(super) parts: Vec<Span>,
    /// The English words of a request in another language, as terms.
    pub(super) english: Vec<String>,
    /// For each token, the words that go with it and how often they do.
    pub(super) related: Vec<Vec<(&'static str, f32)>>,
    /// For each token, where its sentence stands to those that ask for something.
    pub(super) stances: Vec<Stance>,
}

/// Where a sentence stands to those that ask for something: people tell about themselves before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stance {
    /// There is but one sentence.
    Only,
    Asks,
    Before,
    After,
    /// No sentence asks.
    Unclear,
}

/// Words that ask for something where a sentence begins with them or has them.
static ASKING: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.requests));
/// Words that a question begins with.
static QUESTIONS: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.questions));
/// Words that part the items of lists.
pub(super) static AND: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.lists.and));
static OR: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.lists.or));

/// Words before where something goes, and before where it comes from.
static TO: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.prepositions.to));
static FROM: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.prepositions.from));

/// What a token does in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Mark,
    Small,
    Verb,
    Digits,
    Word,
}

/// Tokens in a run of words that ends anywhere.
const MAX_RUN: usize = 7;
/// A text with more tokens has runs only at its marks.
const MAX_DENSE: usize = 160;
const MAX_CLOSED: usize = 120;
const MAX_LISTS: usize = 2400;
/// Tokens of an item in a list.
const MAX_ITEM: usize = 5;

impl<'a> ParsedRequest<'a> {
    pub(super) fn parse(text: &'a str, now: Now) -> Self {
        let tokens = tokens(text);
        let reading = Reading::of(text);
        let is_foreign = reading.language != Language::En;
        let english = if is_foreign { terms(&reading.english(), 200) } else { Vec::new() };
        let roles: Vec<Role> = tokens.iter().map(|token| role(token, reading.language)).collect();
        let mut request = Self {
            text,
            now,
            moments: moments(&tokens, now),
            quoted: quoted(text, &tokens),
            literals: literals(text, &tokens),
            parts: parts(text, &tokens),
            english,
            related: tokens.iter().map(|token| Related::builtin().of(&token.term).collect()).collect(),
            stances: stances(&tokens, &roles),
            quantities: quantities(&tokens),
            runs: Vec::new(),
            lists: OnceCell::new(),
            closed: Vec::new(),
            roles,
            tokens,
        };
        request.runs = request.runs();
        request.closed = request.closed();
        request
    }

    /// Whether it asks something rather than for something. `Could you …?` asks for it.
    pub(super) fn is_question(&self) -> bool {
        let mut words = self.tokens.iter().zip(&self.roles).filter(|(token, _)| !token.is_mark);
        let begins = words.clone().next();
        let begins = begins.is_some_and(|(token, role)| QUESTIONS.has(&token.lower) && *role != Role::Verb);
        let is_marked = self.text.trim_end().ends_with(['?', '？']);
        begins || is_marked && !words.any(|(token, _)| ASKING.has(&token.lower))
    }

    /// Returns a run of tokens with the bytes it takes up.
    pub(super) fn span(&self, tokens: Range<usize>) -> Span {
        let bytes = match &self.tokens[tokens.clone()] {
            [] => 0..0,
            [only] => only.at.clone(),
            [first, .., last] => first.at.start..last.at.end,
        };
        Span { tokens, bytes }
    }

    /// Returns what stands in a run of tokens.
    pub(super) fn written(&self, tokens: &Range<usize>) -> &'a str {
        &self.text[self.span(tokens.clone()).bytes]
    }

    /// Returns the tokens that some bytes touch.
    pub(super) fn tokens_in(&self, bytes: &Range<usize>) -> Range<usize> {
        let touches = |token: &Token| overlap(&token.at, bytes);
        let start = self.tokens.iter().position(touches).unwrap_or(0);
        start..start + self.tokens[start..].iter().take_while(|token| touches(token)).count()
    }

    /// Returns the tokens of the sentence around a token.
    pub(super) fn sentence(&self, at: usize) -> Range<usize> {
        let start = (0..=at).rev().find(|it| self.tokens[*it].is_start).unwrap_or(0);
        let end = (at + 1..self.tokens.len()).find(|it| self.tokens[*it].is_start);
        start..end.unwrap_or(self.tokens.len())
    }

    /// Returns the positions of the numbers that are no part of a date or a time.
    pub(super) fn bare_quantities(&self) -> impl Iterator<Item = usize> {
        let is_dated = |at: &usize| self.moments.iter().any(|it| it.tokens.contains(at));
        self.quantities.iter().map(|(at, _)| *at).filter(move |at| !is_dated(at))
    }

    /// Whether a sentence or line ends inside a run.
    pub(super) fn is_crossed(&self, tokens: &Range<usize>) -> bool {
        self.tokens[tokens.clone()].iter().skip(1).any(|token| token.is_start)
    }

    /// Whether it has a term, in its own words or in English.
    pub(super) fn has_term(&self, term: &String) -> bool {
        self.tokens.iter().any(|it| it.term == *term) || self.english.contains(term)
    }

    /// Returns the bound that the word before a token speaks of.
    pub(super) fn bound_before(&self, at: usize) -> Option<Bound> {
        // A quotation mark may stand between.
        let word = self.tokens[..at].iter().rev().find(|token| !token.is_mark)?;
        match word.lower.as_str() {
            word if TO.has(word) => Some(Bound::Upper),
            word if FROM.has(word) => Some(Bound::Lower),
            _ => None,
        }
    }

    /// Whether the words around a value say that it is the other bound.
    pub(super) fn denies(&self, bound: Bound, tokens: &Range<usize>) -> bool {
        let before = self.bound_before(tokens.start);
        let behind = self.tokens[tokens.end..].iter().find(|token| !token.is_mark);
        let goes_on = behind.is_some_and(|token| TO.has(&token.lower));
        match bound {
            Bound::Lower => before == Some(Bound::Upper),
            Bound::Upper => before == Some(Bound::Lower) || before.is_none() && goes_on,
        }
    }

    fn is_word(&self, at: usize) -> bool {
        self.roles[at] != Role::Mark
    }

    /// Runs of words: short ones that end anywhere, and those that go on to a mark, a sentence or the end.
    fn runs(&self) -> Vec<Range<usize>> {
        let count = self.tokens.len();
        let is_dense = count <= MAX_DENSE;
        let mut runs = Vec::new();
        for start in 0..count {
            if !self.is_word(start) {
                continue;
            }
            let is_begun = start == 0 || !self.is_word(start - 1) || self.tokens[start].is_start;
            let mut pauses = 0;
            for end in start + 1..=count {
                let last = end - 1;
                if end > start + 1 && self.tokens[last].is_start && end - start > MAX_RUN && pauses > 3 {
                    break;
                }
                if !self.is_word(last) {
                    continue;
                }
                let is_pause = end == count || !self.is_word(end) || self.tokens[end].is_start;
                let is_short = end - start <= MAX_RUN;
                if is_short && !self.is_crossed(&(start..end)) && (is_dense || is_begun || is_pause)
                    || is_pause
                {
                    runs.push(start..end);
                }
                pauses += usize::from(is_pause && !is_short);
            }
        }
        runs
    }

    /// Sentences with their last mark, and brackets with what is inside: code and questions are kept whole.
    fn closed(&self) -> Vec<Span> {
        let count = self.tokens.len();
        let mut closed = Vec::new();
        for start in 0..count {
            let is_open = self.text[self.tokens[start].at.clone()].starts_with(['[', '{', '(', '<']);
            let is_begun = start == 0
                || self.tokens[start].is_start
                || !self.is_word(start - 1)
                || self.roles[start - 1] == Role::Verb;
            if !(is_open || is_begun && self.is_word(start)) {
                continue;
            }
            for end in start + 2..=(start + MAX_DENSE).min(count) {
                let last = &self.text[self.tokens[end - 1].at.clone()];
                let is_end = end == count || self.tokens[end].is_start || self.is_word(end);
                let is_closed = if is_open {
                    last.ends_with([']', '}', ')', '>'])
                } else {
                    !self.is_word(end - 1) && last != ","
                };
                if is_closed && is_end && closed.len() < MAX_CLOSED {
                    closed.push(self.span(start..end));
                }
            }
        }
        closed
    }

    /// Returns lists such as `a, b and c`, with every likely beginning and end, each as the tokens of its items.
    pub(super) fn lists(&self) -> &[Vec<Range<usize>>] {
        self.lists.get_or_init(|| self.find_lists())
    }

    fn find_lists(&self) -> Vec<Vec<Range<usize>>> {
        let parting = partings(&self.tokens);
        let mut lists = Vec::new();
        for first in 0..parting.len() {
            let mut items: Vec<Range<usize>> = Vec::new();
            for last in first..parting.len() {
                if last > first {
                    let item = parting[last - 1].end..parting[last].start;
                    if item.is_empty() || item.len() > MAX_ITEM || self.is_crossed(&item) {
                        break;
                    }
                    items.push(item);
                }
                for start in (parting[first].start.saturating_sub(MAX_ITEM)..parting[first].start).rev() {
                    let head = start..parting[first].start;
                    if self.is_crossed(&head) || !self.is_word(start) && head.len() == 1 {
                        break;
                    }
                    for end in parting[last].end + 1..=(parting[last].end + MAX_ITEM).min(self.tokens.len()) {
                        let tail = parting[last].end..end;
                        if self.is_crossed(&(start..end)) || lists.len() >= MAX_LISTS {
                            break;
                        }
                        let whole = [head.clone()].into_iter().chain(items.clone()).chain([tail]);
                        let whole: Vec<Range<usize>> = whole.map(|item| self.trimmed(item)).collect();
                        if whole.iter().all(|item| !item.is_empty()) {
                            lists.push(whole);
                        }
                    }
                }
            }
        }
        lists.dedup();
        lists
    }

    fn trimmed(&self, mut item: Range<usize>) -> Range<usize> {
        while !item.is_empty() && !self.is_word(item.start) {
            item.start += 1;
        }
        while !item.is_empty() && !self.is_word(item.end - 1) {
            item.end -= 1;
        }
        item
    }
}

/// Whether a text may list several things.
pub(super) fn may_list(text: &str) -> bool {
    !partings(&tokens(text)).is_empty()
}

/// What parts the items of lists: commas, `and`, or both.
fn partings(tokens: &[Token]) -> Vec<Range<usize>> {
    let is_one = |at: &usize| {
        let word = tokens[*at].lower.as_str();
        matches!(word, "," | ";" | "&" | "+" | "、" | "，") || AND.has(word) || OR.has(word)
    };
    let mut partings: Vec<Range<usize>> = Vec::new();
    for at in (0..tokens.len()).filter(is_one) {
        match partings.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => partings.push(at..at + 1),
        }
    }
    partings
}

fn role(token: &Token, language: Language) -> Role {
    let lexicon = Lexicon::builtin();
    if token.is_mark {
        Role::Mark
    } else if token.lower.starts_with(|c: char| c.is_ascii_digit()) {
        Role::Digits
    } else if lexicon.is_stop(&token.lower, language)
        || lexicon.is_stop(&token.lower, Language::En)
        || token.lower == "'s"
    {
        Role::Small
    } else if lexicon.verb(&token.lower).is_some_and(|action| action != Action::Unknown) {
        Role::Verb
    } else {
        Role::Word
    }
}

/// Finds the sentences that ask: by a mark, by their first word, or by a word that asks.
fn stances(tokens: &[Token], roles: &[Role]) -> Vec<Stance> {
    let starts: Vec<usize> = (0..tokens.len()).filter(|at| *at == 0 || tokens[*at].is_start).collect();
    let sentence = |at: usize| starts[at]..starts.get(at + 1).copied().unwrap_or(tokens.len());
    let asks: Vec<bool> = (0..starts.len())
        .map(|at| {
            let own = &tokens[sentence(at)];
            let is_question = own.iter().any(|it| it.is_mark && matches!(it.lower.as_str(), "?" | "？"));
            let opens = own.iter().position(|it| !it.is_mark).map(|it| roles[starts[at] + it]);
            is_question || opens == Some(Role::Verb) || own.iter().any(|it| ASKING.has(&it.lower))
        })
        .collect();
    let stance = |at: usize| match (asks.iter().position(|it| *it), asks.iter().rposition(|it| *it)) {
        _ if starts.len() == 1 => Stance::Only,
        (Some(first), Some(last)) => match at {
            _ if asks[at] => Stance::Asks,
            _ if at < first => Stance::Before,
            _ if at > last => Stance::After,
            _ => Stance::Asks,
        },
        _ => Stance::Unclear,
    };
    (0..starts.len()).flat_map(|at| sentence(at).map(move |_| at)).map(stance).collect()
}

fn quantities(tokens: &[Token]) -> Vec<(usize, Quantity)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_negative = matches!(tokens[at].lower.as_str(), "minus" | "negative");
        let negative = || {
            let found = tokens.get(at + 1..).filter(|_| is_negative).and_then(quantity)?;
            Some(Quantity { value: -found.value, tokens: found.tokens + 1, ..found })
        };
        match quantity(&tokens[at..]).or_else(negative) {
            Some(quantity) => {
                let taken = quantity.tokens.max(1);
                found.push((at, quantity));
                at += taken;
            }
            None => at += 1,
        }
    }
    found
}

/// Finds what stands between quotation marks.
fn quoted(text: &str, tokens: &[Token]) -> Vec<Span> {
    const SINGLE: [(&str, &str); 3] = [("'", "'"), ("‘", "’"), ("”", "”")];
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let closing = QUOTES
            .iter()
            .chain(&SINGLE)
            .find(|(open, _)| tokens[at].is_mark && tokens[at].lower == *open)
            .map(|it| it.1);
        let end = closing.and_then(|close| {
            (at + 1..tokens.len()).find(|it| tokens[*it].is_mark && text[tokens[*it].at.clone()] == *close)
        });
        match end {
            Some(end) if end > at + 1 => {
                let bytes = tokens[at].at.end..tokens[end].at.start;
                if !text[bytes.clone()].trim().is_empty() {
                    found.push(Span { tokens: at + 1..end, bytes });
                }
                at = end + 1;
            }
            _ => at += 1,
        }
    }
    found
}

/// Finds JSON objects and lists that stand in a text.
fn literals(text: &str, tokens: &[Token]) -> Vec<(Span, Value)> {
    let mut found: Vec<(Span, Value)> = Vec::new();
    for (at, open) in text.match_indices(['{', '[']).take(20) {
        if found.last().is_some_and(|(span, _)| span.bytes.contains(&at)) {
            continue;
        }
        let close = if open == "{" { '}' } else { ']' };
        let ends = text[at..].match_indices(close).map(|(end, _)| at + end + 1).take(40);
        let parsed =
            ends.filter_map(|end| Some((at..end, serde_json::from_str(&text[at..end]).ok()?))).last();
        found.extend(parsed.map(|(bytes, value)| (Span { tokens: begun_in(tokens, &bytes), bytes }, value)));
    }
    found
}

/// Returns the run of tokens that begin inside some bytes.
fn begun_in(tokens: &[Token], bytes: &Range<usize>) -> Range<usize> {
    let is_inside = |token: &Token| bytes.contains(&token.at.start);
    let start = tokens.iter().position(is_inside).unwrap_or(0);
    start..start + tokens[start..].iter().take_while(|token| is_inside(token)).count()
}

/// Finds the parts of tokens that have several.
fn parts(text: &str, tokens: &[Token]) -> Vec<Span> {
    let mut parts = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| !token.is_mark) {
        let (start, written) = (token.at.start, &text[token.at.clone()]);
        let is_address = written.contains("://");
        if let Some(rest) = written.strip_prefix(['#', '@', '$', '~']).filter(|rest| !rest.is_empty()) {
            parts.push((at, token.at.end - rest.len()..token.at.end));
        }
        if let Some(name) = written.strip_suffix("()").filter(|name| !name.is_empty()) {
            parts.push((at, start..start + name.len()));
        }
        // The identifiers inside an address.
        if written.matches('/').count() >= 2 {
            let mut place = start;
            for segment in written.split('/').take(12) {
                if segment.contains(|c: char| c.is_ascii_digit())
                    || is_address && !segment.contains(['.', ':'])
                {
                    parts.push((at, place..place + segment.len()));
                }
                place += segment.len() + 1;
            }
        }
        for mark in ['=', ':', '/', '@', '-', '.', 'x'] {
            let is_pair = mark != 'x' || written.chars().all(|c| c.is_ascii_digit() || c == 'x');
            if let Some((first, second)) = written.split_once(mark).filter(|_| is_pair && !is_address)
                && !(first.is_empty() || second.is_empty() || second.contains(mark))
            {
                parts.push((at, start..start + first.len()));
                parts.push((at, token.at.end - second.len()..token.at.end));
            }
        }
    }
    let parts = parts.into_iter().filter(|(_, bytes): &(usize, Range<usize>)| !bytes.is_empty());
    parts.map(|(at, bytes)| Span { tokens: at..at + 1, bytes }).collect()
}
