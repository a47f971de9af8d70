//! What a decision depends on besides the catalog: what is wanted, what a conversation used lately, and what
//! was decided before.
//!
//! A decision is remembered under everything that it was made from, so it is used again only where making it
//! again would give the same.

mod cache;
mod last;
mod measured;
mod provisional;
mod recent;
mod spent;

use std::time::Instant;

use parking_lot::Mutex;
use toolyard_core::tool::Effect;

pub use cache::Tally;
pub(crate) use cache::{Cache, Key, World};
pub(crate) use last::{LastRoute, LastRoutes};
pub use measured::Measured;
pub(crate) use measured::{Measures, Outcome};
pub use provisional::Provisional;
pub(crate) use recent::{Recent, freshness};
pub(crate) use spent::Spent;

/// The person at this machine, who shows no token.
pub const LOCAL: &str = "local";

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The tools by their positions, the best first, with scores that compare only with one another.
    pub tools: Vec<(usize, f32)>,
    /// Whether something among them may be what is wanted.
    pub is_close: bool,
}

/// A request in plain words, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What is wanted.
    pub task: &'a str,
    /// The server that the caller would rather use.
    pub preferred_server: Option<&'a str>,
    /// Only these servers; all when empty.
    pub servers: &'a [String],
    /// The most that a tool may do.
    pub effect: Effect,
    /// The conversation it belongs to, as [`crate::hub::Hub::note_use`] was told it.
    pub conversation: Option<&'a str>,
    /// The person who asks, whose lessons count in full.
    pub person: &'a str,
    /// Candidates returned at most; what the configuration says when `None`.
    pub candidates: Option<usize>,
    /// Is told when something is decided that may be decided otherwise soon, or was decided before.
    pub provisional: Option<&'a Provisional>,
}

impl<'a> Wanted<'a> {
    /// A request of nobody in particular, over all servers.
    pub fn plain(task: &'a str) -> Self {
        Self {
            task,
            preferred_server: None,
            servers: &[],
            effect: Effect::Destroy,
            conversation: None,
            person: LOCAL,
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
    pub(crate) last: LastRoutes,
    /// When the person's own ranker last did not answer.
    pub(crate) ranker_failed: Mutex<Option<Instant>>,
}
