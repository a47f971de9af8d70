//! Text that can be shown while a reply still arrives: not what may turn out to be a call.

/// What a call may begin with, inside a reply.
const OPENINGS: [&str; 4] = ["```", "<tool_call", "<function_call", "{"];

/// Holds back what may be a call.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    whole: String,
    /// Bytes of the whole that were let through.
    passed: usize,
}

impl Shown {
    /// Takes a piece of a reply; returns what can be shown now.
    pub fn add(&mut self, piece: &str) -> String {
        self.whole += piece;
        let held = &self.whole[self.passed..];
        let opening = OPENINGS.iter().filter_map(|opening| held.find(opening)).min();
        // The beginning of an opening may stand at the end.
        let may_open = |at: &usize| OPENINGS.iter().any(|opening| opening.starts_with(&held[*at..]));
        let tail = held.char_indices().map(|(at, _)| at).find(may_open);
        let end = opening.or(tail).unwrap_or(held.len());
        let shown = held[..end].to_owned();
        self.passed += end;
        shown
    }

    /// Returns what was held back and is part of the answer after all.
    pub fn rest(&self, answer: &str) -> String {
        let shown = self.whole[..self.passed].trim_start();
        answer
            .strip_prefix(shown)
            .or_else(|| answer.strip_prefix(shown.trim_end()))
            .unwrap_or_default()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_shown_at_once_and_calls_are_held_back() {
        let mut shown = Shown::default();
        assert_eq!(shown.add("Let me "), "Let me ");
        assert_eq!(shown.add("look.`"), "look.");
        assert_eq!(shown.add("``json\n{\"name\""), "");
        assert_eq!(shown.add(": 1}\n```"), "");
    }

    #[test]
    fn what_was_no_call_is_shown_in_the_end() {
        let mut shown = Shown::default();
        assert_eq!(shown.add(" Like this: {a}. "), "Like this: ".to_owned().replace("Like", " Like"));
        assert_eq!(shown.add("Done."), "");
        assert_eq!(shown.rest("Like this: {a}. Done."), "{a}. Done.");
    }
}
