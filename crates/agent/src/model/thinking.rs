//! Tells reasoning from text where a service leaves both in one, as `<think>…</think>`.
//!
//! Works on pieces: what may be the beginning of a tag is held back until it is known.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A stretch of what was fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text for the person.
    Text(String),
    /// What the model thought.
    Reasoning(String),
    /// A `</think>` that nothing had opened: all text before it was reasoning.
    ///
    /// Some templates put the `<think>` into the prompt, so that a reply has only the end of it.
    TextWasReasoning,
}

/// Where a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// No tag was seen yet.
    #[default]
    Beginning,
    /// Between the tags.
    Inside,
    /// Behind a `</think>`.
    Behind,
}

/// Takes content piece by piece.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    place: Place,
    /// What may turn out to be a tag.
    held: String,
    /// White space before anything else, which is of no account in front of a tag.
    blank: String,
    /// Whether anything but white space was seen at this place.
    has_begun: bool,
}

impl Splitter {
    /// Takes a piece and returns what is certain by now.
    pub(super) fn feed(&mut self, piece: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let text = std::mem::take(&mut self.held) + piece;
        let mut rest = text.as_str();
        while let Some((at, tag)) = self.next_tag(rest) {
            self.emit(&rest[..at], &mut parts);
            if self.place == Place::Beginning && tag == CLOSE {
                parts.push(Part::TextWasReasoning);
            }
            self.place = if tag == OPEN { Place::Inside } else { Place::Behind };
            self.blank.clear();
            self.has_begun = false;
            rest = &rest[at + tag.len()..];
        }
        let (certain, held) = rest.split_at(rest.len() - self.uncertain(rest));
        self.emit(certain, &mut parts);
        held.clone_into(&mut self.held);
        parts
    }

    /// Returns what was held back, now that nothing follows.
    pub(super) fn finish(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        let rest = std::mem::take(&mut self.held);
        self.emit(&rest, &mut parts);
        parts
    }

    /// Returns the tags that mean something here.
    fn tags(&self) -> &'static [&'static str] {
        match self.place {
            Place::Beginning => &[OPEN, CLOSE],
            Place::Inside => &[CLOSE],
            // A model that writes about tags may write a `</think>` in its answer.
            Place::Behind => &[OPEN],
        }
    }

    fn next_tag(&self, text: &str) -> Option<(usize, &'static str)> {
        let found = self.tags().iter().filter_map(|tag| Some((text.find(tag)?, *tag)));
        found.min_by_key(|(at, _)| *at)
    }

    /// Returns how many bytes at the end may be the beginning of a tag.
    fn uncertain(&self, text: &str) -> usize {
        let longest = |tag: &&str| (1..tag.len()).rev().find(|end| text.ends_with(&tag[..*end]));
        self.tags().iter().filter_map(longest).max().unwrap_or(0)
    }

    /// Adds text to the parts, without white space next to tags.
    fn emit(&mut self, text: &str, parts: &mut Vec<Part>) {
        let mut text = text;
        if !self.has_begun {
            let body = text.trim_start();
            if self.place == Place::Beginning {
                self.blank.push_str(&text[..text.len() - body.len()]);
            }
            self.has_begun = !body.is_empty();
            text = body;
        }
        if text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.blank) + text;
        parts.push(match self.place {
            Place::Beginning | Place::Behind => Part::Text(text),
            Place::Inside => Part::Reasoning(text),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds pieces and writes down what comes of them.
    fn split(pieces: &[&str]) -> String {
        let mut splitter = Splitter::default();
        let mut parts: Vec<Part> = pieces.iter().flat_map(|piece| splitter.feed(piece)).collect();
        parts.extend(splitter.finish());
        let shown = parts.into_iter().map(|part| match part {
            Part::Text(text) => format!("text {text:?}"),
            Part::Reasoning(text) => format!("reasoning {text:?}"),
            Part::TextWasReasoning => "turned".to_owned(),
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    /// Returns all text and all reasoning that pieces hold.
    fn sums(pieces: impl IntoIterator<Item = String>) -> (String, String) {
        let mut splitter = Splitter::default();
        let (mut text, mut reasoning) = (String::new(), String::new());
        let mut parts: Vec<Part> = pieces.into_iter().flat_map(|piece| splitter.feed(&piece)).collect();
        parts.extend(splitter.finish());
        for part in parts {
            match part {
                Part::Text(it) => text.push_str(&it),
                Part::Reasoning(it) => reasoning.push_str(&it),
                Part::TextWasReasoning => reasoning.push_str(&std::mem::take(&mut text)),
            }
        }
        (text, reasoning)
    }

    #[test]
    fn text_without_tags_passes_as_it_comes() {
        insta::assert_snapshot!(split(&[" a", " < b", "", " & <c>"]), @r#"
        text " a"
        text " < b"
        text " & <c>"
        "#);
    }

    #[test]
    fn what_stands_between_the_tags_is_reasoning() {
        insta::assert_snapshot!(split(&["\n<think>\nWhy? ", "Because.</think>\n\nYes", "."]), @r#"
        reasoning "Why? "
        reasoning "Because."
        text "Yes"
        text "."
        "#);
    }

    #[test]
    fn tags_may_be_cut_anywhere() {
        let whole = "Hm. <think>a <b> → c</think> Yes, 1 < 2. <think>again</think>é</think>";
        let expected = sums([whole.to_owned()]);
        assert_eq!(expected, ("Hm. Yes, 1 < 2. é</think>".to_owned(), "a <b> → cagain".to_owned()));
        for cut in (1..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
            let (before, after) = whole.split_at(cut);
            assert_eq!(sums([before.to_owned(), after.to_owned()]), expected, "cut at {cut}");
        }
        assert_eq!(sums(whole.chars().map(String::from)), expected);
    }

    #[test]
    fn what_only_looks_like_a_tag_is_held_back_and_then_said() {
        insta::assert_snapshot!(split(&["a <th", "ree</thin"]), @r#"
        text "a "
        text "<three"
        text "</thin"
        "#);
    }

    #[test]
    fn an_end_without_a_beginning_makes_the_text_before_it_reasoning() {
        insta::assert_snapshot!(split(&["Let me see.", "</th", "ink>\n\nYes. </think>"]), @r#"
        text "Let me see."
        turned
        text "Yes. </think>"
        "#);
    }

    #[test]
    fn empty_reasoning_leaves_no_trace() {
        insta::assert_snapshot!(split(&["<think>\n\n</think>\n\n", "  Yes"]), @r#"text "Yes""#);
    }

    #[test]
    fn reasoning_that_is_never_closed_is_reasoning() {
        insta::assert_snapshot!(split(&["<think>Well", " </think"]), @r#"
        reasoning "Well"
        reasoning " "
        reasoning "</think"
        "#);
    }
}
