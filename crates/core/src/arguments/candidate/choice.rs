//! Values that the schema or a description names, and the words of a text that mean them.

use std::ops::Range;

use serde_json::Value;

use super::super::token::{Span, Token};
use super::{Collector, Origin, Similarity};
use crate::form::Kind;
use crate::text::{each_term, fold};
use crate::thresholds::thresholds;
use crate::tool::words::words;

/// Letters that two words of one meaning begin with.
const LEAST_COMMON: usize = 5;

impl Collector<'_> {
    pub(super) fn choices(&mut self) {
        let is_flag = |it: &Value| {
            it.as_str().is_some_and(|it| ["true", "false"].contains(&it.to_lowercase().as_str()))
        };
        if self.field.choices.len() == 2 && self.field.choices.iter().all(is_flag) {
            for choice in &self.field.choices {
                self.keep(choice.clone(), Span::default(), Origin::Flag);
            }
            return;
        }
        let mut matched: Vec<(usize, Value)> = Vec::new();
        for choice in &self.field.choices {
            let counted = choice.as_f64().and_then(|it| self.counted(it));
            let spelled = || choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
            let Some((similarity, tokens)) = counted.or_else(|| self.similarity(&spelled())) else {
                continue;
            };
            self.keep_tokens(choice.clone(), tokens.clone(), Origin::Choice(similarity));
            if similarity >= Similarity::Translated {
                matched.push((tokens.start, choice.clone()));
            }
        }
        if self.field.kind == Kind::Flag && self.found.is_empty() {
            self.flags();
        }
        if self.field.is_list && matched.len() > 1 {
            matched.sort_by_key(|(at, _)| *at);
            let values: Vec<Value> = matched.into_iter().map(|(_, value)| value).collect();
            self.keep(values, Span::default(), Origin::List);
        }
    }

    /// Values that the description gives as examples and the text means.
    pub(super) fn examples(&mut self) {
        for example in &self.field.examples {
            if let Some((similarity, tokens)) = self.similarity(example)
                && similarity >= Similarity::Translated
                && !tokens.is_empty()
            {
                self.keep_tokens(example.as_str(), tokens, Origin::Example(similarity));
            }
        }
    }

    /// Finds where a text has a number.
    fn counted(&self, number: f64) -> Option<(Similarity, Range<usize>)> {
        let (at, found) = self.request.quantities.iter().find(|(_, it)| it.value == number)?;
        Some((Similarity::Exact, *at..at + found.tokens))
    }

    /// Finds where a text means a choice, and how similar it is.
    fn similarity(&self, choice: &str) -> Option<(Similarity, Range<usize>)> {
        let tokens = &self.request.tokens;
        let find = |is_it: &dyn Fn(usize) -> bool| (0..tokens.len()).find(|at| is_it(*at));
        let folded: Vec<String> = words(choice).map(|word| fold(word).to_lowercase()).collect();
        let mut wanted: Vec<String> = Vec::new();
        for word in &folded {
            each_term(word, &mut |term| wanted.push(term.to_owned()));
        }
        if folded.is_empty() {
            return None;
        }
        let whole = fold(choice).to_lowercase();
        if let Some(at) =
            find(&|at| tokens[at].lower == whole || begins(&tokens[at..], &folded, |it| &it.lower))
        {
            let taken = if tokens[at].lower == whole { 1 } else { folded.len() };
            return Some((Similarity::Exact, at..at + taken));
        }
        if wanted.is_empty() {
            return None;
        }
        if let Some(at) = find(&|at| begins(&tokens[at..], &wanted, |it| &it.term)) {
            return Some((Similarity::Stem, at..at + wanted.len()));
        }
        if wanted.iter().all(|term| self.request.english.contains(term)) {
            return Some((Similarity::Translated, 0..0));
        }
        let is_like = |term: &str| wanted.iter().any(|it| it == term || common(it, term) >= LEAST_COMMON);
        let is_hit = |at: &usize| !tokens[*at].term.is_empty() && is_like(&tokens[*at].term);
        let hits: Vec<usize> = (0..tokens.len()).filter(is_hit).collect();
        if let [first, .., last] | [first @ last] = hits[..] {
            let is_near = last - first < 2 * wanted.len();
            return Some((Similarity::Partial, first..if is_near { last + 1 } else { first + 1 }));
        }
        let is_wanted = |term: &str| wanted.iter().any(|it| it == term);
        let is_meant = |(term, share): &(&str, f32)| {
            *share >= thresholds().arguments.related_choice as f32 && is_wanted(term)
        };
        let goes_with = |at: usize| self.request.related[at].iter().any(is_meant);
        find(&goes_with).map(|at| (Similarity::Related, at..at + 1))
    }
}

/// Whether tokens begin with some words.
fn begins<'t>(tokens: &'t [Token], wanted: &[String], form: impl Fn(&'t Token) -> &'t String) -> bool {
    tokens.len() >= wanted.len() && tokens.iter().zip(wanted).all(|(token, wanted)| form(token) == wanted)
}

/// The letters with which two words begin.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}
