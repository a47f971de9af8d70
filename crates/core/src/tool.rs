//! One tool, and the name it goes by.

use std::sync::Arc;

use serde_json::value::RawValue;

/// Names a tool across all servers, written `server__tool`, at most [`ToolId::MAX_CHARS`] characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId(Arc<str>);

impl ToolId {
    /// Clients reject longer names; some of them count their own prefix on top.
    pub const MAX_CHARS: usize = 60;

    /// Returns the name as clients see it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a call to a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Changes nothing, so it is safe to repeat.
    Read,
    /// Adds or changes something.
    Write,
    /// Removes something, or cannot be undone.
    Destroy,
}

/// One parameter of a tool's input schema, as far as a one-line summary needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The property's name in the schema.
    pub name: String,
    /// Whether the schema requires it.
    pub required: bool,
    /// A short type such as `string`, `integer` or `a|b|c` for an enumeration.
    pub kind: String,
}

/// One tool of one server.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name that clients of the hub use.
    pub id: ToolId,
    /// The server as the configuration names it.
    pub server: Arc<str>,
    /// The name that the server itself uses.
    pub name: String,
    /// The display title, cleaned of control and invisible characters.
    pub title: Option<String>,
    /// The description, cleaned of control and invisible characters.
    pub description: String,
    /// What a call does to the world.
    pub effect: Effect,
    /// The parameters in the order of the schema, required ones first.
    pub parameters: Vec<Parameter>,
    /// The definition exactly as the server sent it.
    pub definition: Box<RawValue>,
}
