//! What a decision depends on besides the catalog: what is wanted, what a conversation used lately, and what
//! was decided before.
//!
//! A decision is remembered under everything that it was made from, so it is used again only where making it
//! again would give the same.

mod cache;
mod measured;
mod provisional;
mod recent;
mod spent;

pub use cache::Tally;
pub(crate) use cache::{Cache, Key, World};
pub use measured::Measured;
pub(crate) use measured::{Measures, Outcome};
pub use provisional::Provisional;
pub(crate) use recent::{Recent, freshness};
pub(crate) use spent::Spent;

/// Characters of a request that are looked at; what follows is content, not a wish.
const MAX_TASK_CHARS: usize = 10_000;

/// A wish in plain words, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What is wanted.
    pub task: &'a str,
    /// The server that the caller would rather use.
    pub preferred_server: Option<&'a str>,
    /// Only these servers; all when empty.
    pub servers: &'a [String],
    /// The conversation it belongs to, as [`crate::hub::Hub::note_use`] was told it.
    pub conversation: Option<&'a str>,
    /// Candidates returned at most; what the configuration says when `None`.
    pub candidates: Option<usize>,
    /// Is told when something is decided that may be decided otherwise soon.
    pub provisional: Option<&'a Provisional>,
}

impl<'a> Wanted<'a> {
    /// A wish of nobody in particular, over all servers.
    pub fn plain(task: &'a str) -> Self {
        Self {
            task,
            preferred_server: None,
            servers: &[],
            conversation: None,
            candidates: None,
            provisional: None,
        }
    }
}

/// What the hub remembers about choosing tools.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) cache: Cache,
    pub(crate) recent: Recent,
    pub(crate) measures: Measures,
    pub(crate) spent: Spent,
}

/// Returns a request as it is compared: without what cannot be seen, with single spaces, and not too long.
pub(crate) fn normalised(task: &str) -> String {
    let end = task.char_indices().nth(MAX_TASK_CHARS).map_or(task.len(), |(at, _)| at);
    let clean = toolyard_core::tool::clean(&task[..end]);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_a_request_is_bounded_and_shows_what_it_holds() {
        assert_eq!(normalised("  find\u{0}\tmy \u{200b}notes\r\n"), "find my notes");
        assert_eq!(normalised(&"é".repeat(100_000)).chars().count(), MAX_TASK_CHARS);
        assert_eq!(normalised(" \n\t "), "");
    }
}
