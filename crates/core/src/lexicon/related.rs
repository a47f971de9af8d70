//! Which words of tools go with which words of requests: learnt from requests that were written for tools.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::OnceLock;

/// Which words of tools go with which words of requests, as terms, with how often.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Related {
    by_term: HashMap<Box<str>, Vec<(Box<str>, f32)>>,
}

impl Related {
    /// Returns the words that come with the product, read on first use.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Related> = OnceLock::new();
        BUILTIN.get_or_init(|| Self::parse(include_str!("../../data/related.tsv")))
    }

    /// Reads lines of a word, a tab, and words with per cent, parted by spaces. What makes no sense is left out.
    pub fn parse(text: &str) -> Self {
        let mut related = Self::default();
        for line in text.lines() {
            let Some((term, others)) = line.split_once('\t') else { continue };
            let mut parts = others.split(' ');
            let mut list = Vec::new();
            while let (Some(other), Some(share)) = (parts.next(), parts.next()) {
                let Ok(share) = share.parse::<f32>() else { continue };
                list.push((other.into(), share / 100.0));
            }
            related.by_term.insert(term.into(), list);
        }
        related
    }

    /// Makes a table of words.
    pub fn new(words: impl IntoIterator<Item = (String, Vec<(String, f32)>)>) -> Self {
        let boxed =
            |list: Vec<(String, f32)>| list.into_iter().map(|(it, share)| (it.into(), share)).collect();
        Self { by_term: words.into_iter().map(|(term, list)| (term.into(), boxed(list))).collect() }
    }

    /// Returns the words of tools that go with a word of a request.
    pub fn of(&self, term: &str) -> &[(Box<str>, f32)] {
        self.by_term.get(term).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the form that [`Related::parse`] reads.
    pub fn to_text(&self) -> String {
        let mut terms: Vec<_> = self.by_term.iter().collect();
        terms.sort_by(|a, b| a.0.cmp(b.0));
        let mut text = String::new();
        for (term, others) in terms {
            let _ = write!(text, "{term}\t");
            for (at, (other, share)) in others.iter().enumerate() {
                let space = if at == 0 { "" } else { " " };
                let _ = write!(text, "{space}{other} {:.0}", share * 100.0);
            }
            text.push('\n');
        }
        text
    }
}
