//! What a form is filled from.

use jiff::civil::DateTime;
use serde_json::{Map, Value};

/// What a form is filled from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// What the person said.
    pub task: &'a str,
    /// Arguments that the caller knows; they always win.
    pub given: &'a Map<String, Value>,
    /// Results of earlier steps, the latest last.
    pub earlier: &'a [Value],
    /// The time where the person is.
    pub now: Now,
}

/// A moment where a person is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Date and time on the wall.
    pub at: DateTime,
    /// Seconds that the wall is ahead of UTC.
    pub offset: i32,
}
