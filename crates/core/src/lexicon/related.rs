//! Which words of tools go with which words of requests: learnt from requests that were written for tools.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::OnceLock;

/// Which words of tools go with which words of requests, as terms, with how often.
///
/// It is looked up in its text, which is a part of the program: as a table it would take ten times the memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Related {
    text: Cow<'static, str>,
    /// Where lines begin, in the order of their words.
    lines: Vec<u32>,
}

impl Related {
    /// Returns the words that come with the product, read on first use.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Related> = OnceLock::new();
        BUILTIN.get_or_init(|| Self::parse(include_str!("../../data/related.tsv")))
    }

    /// Reads lines of a word, a tab, and words with per cent, parted by spaces. What makes no sense is left out.
    pub fn parse(text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        let begins = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let mut lines: Vec<u32> = begins.filter_map(|at| u32::try_from(at).ok()).collect();
        lines.retain(|at| line(&text, *at).is_some());
        lines.sort_by_key(|at| line(&text, *at));
        Self { text, lines }
    }

    /// Makes a table of words; shares are kept as per cent.
    pub fn new(words: impl IntoIterator<Item = (String, Vec<(String, f32)>)>) -> Self {
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_by(|a, b| a.0.cmp(&b.0));
        let mut text = String::new();
        for (term, others) in words {
            let _ = write!(text, "{term}\t");
            for (at, (other, share)) in others.iter().enumerate() {
                let space = if at == 0 { "" } else { " " };
                let _ = write!(text, "{space}{other} {:.0}", share * 100.0);
            }
            text.push('\n');
        }
        Self::parse(text)
    }

    /// Returns the words of tools that go with a word of a request, each with its share.
    pub fn of(&self, term: &str) -> impl Iterator<Item = (&str, f32)> {
        let known = |at: &u32| line(&self.text, *at);
        let place = self.lines.binary_search_by(|at| known(at).map(|(own, _)| own).cmp(&Some(term)));
        let others = place.ok().and_then(|place| known(&self.lines[place])).map_or("", |(_, others)| others);
        let mut parts = others.split(' ');
        std::iter::from_fn(move || parts.next().zip(parts.next()))
            .filter_map(|(other, share)| Some((other, share.parse::<f32>().ok()? / 100.0)))
    }

    /// Returns the form that [`Related::parse`] reads.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The word of a line and those that go with it.
fn line(text: &str, begin: u32) -> Option<(&str, &str)> {
    text[begin as usize..].lines().next()?.split_once('\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(related: &Related, term: &str) -> Vec<(String, f32)> {
        related.of(term).map(|(other, share)| (other.to_owned(), share)).collect()
    }

    #[test]
    fn r19_words_that_go_with_others_are_found_whatever_the_order_of_lines() {
        let related = Related::parse("weather\tforecast 40 temperature 25\nno tab\nbill\tinvoice 60\n");
        let forecast = [("forecast".to_owned(), 0.4), ("temperature".to_owned(), 0.25)];
        assert_eq!(words(&related, "weather"), forecast);
        assert_eq!(words(&related, "bill"), [("invoice".to_owned(), 0.6)]);
        for unknown in ["", "no tab", "bil", "bills", "zebra"] {
            assert_eq!(words(&related, unknown), [], "{unknown}");
        }
    }

    #[test]
    fn r19_a_table_is_what_its_text_says() {
        let pairs = |of: &str| vec![(format!("{of}1"), 0.5), (format!("{of}2"), 0.124)];
        let related = Related::new([("b".to_owned(), pairs("b")), ("a".to_owned(), pairs("a"))]);
        assert_eq!(related.text(), "a\ta1 50 a2 12\nb\tb1 50 b2 12\n");
        assert_eq!(related, Related::parse(related.text().to_owned()));
        assert_eq!(words(&related, "b"), [("b1".to_owned(), 0.5), ("b2".to_owned(), 0.12)]);
    }

    #[test]
    fn r19_the_words_that_come_with_the_product_all_make_sense() {
        let text = include_str!("../../data/related.tsv");
        let related = Related::builtin();
        for line in text.lines() {
            let (term, others) = line.split_once('\t').unwrap();
            assert_eq!(related.of(term).count(), others.split(' ').count() / 2, "{line}");
        }
    }
}
