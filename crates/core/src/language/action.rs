//! What verbs ask for.

use serde::{Deserialize, Serialize};

/// What a request asks to be done, or what a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Finds things by what they contain.
    Search,
    /// Shows many things.
    List,
    /// Shows one known thing.
    Read,
    /// Makes something new.
    Create,
    /// Changes something.
    Update,
    /// Removes something.
    Delete,
    /// Runs something.
    Execute,
    /// Sends something to somebody.
    Send,
    /// Puts something elsewhere.
    Move,
    /// Makes a second one.
    Copy,
    /// Turns something into another form.
    Convert,
    /// Works something out.
    Compute,
    /// Shows how things differ.
    Compare,
    /// Watches how something is doing.
    Monitor,
    /// No known verb.
    Unknown,
}

impl Action {
    /// Whether it leaves something behind that is not as it was.
    pub(crate) fn changes(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Delete | Self::Send | Self::Move)
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::List => "list",
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Execute => "execute",
            Self::Send => "send",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Convert => "convert",
            Self::Compute => "compute",
            Self::Compare => "compare",
            Self::Monitor => "monitor",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it leaves the world as it was.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::Search | Self::List | Self::Read | Self::Compute | Self::Compare | Self::Monitor)
    }
}
