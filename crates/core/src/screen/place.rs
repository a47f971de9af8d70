//! Where a sentence stands, and how it was written there.

use std::fmt;

use crate::tool::clean;

/// Where a sentence stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TextPlace {
    /// In the description or title of a tool.
    Description,
    /// In what is said about a parameter.
    Parameter(String),
    /// In a name, a value that is listed, a default or an example.
    Value,
    /// In what a tool answered.
    Result,
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Description => f.write_str("description"),
            Self::Parameter(name) => write!(f, "parameter `{}`", clean(name)),
            Self::Value => f.write_str("list of names and values"),
            Self::Result => f.write_str("result"),
        }
    }
}

/// How a sentence was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Open,
    Encoded,
    Hidden,
}
