//! Tools as a model is offered them.

use serde_json::Value;

use crate::form::Form;

/// A tool that a model may call.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The name by which it is called.
    pub name: String,
    /// What the model is shown: name, description and input schema, as MCP has them.
    pub definition: Value,
    /// What a call is checked against; more than the model is shown, where that was shortened.
    pub form: Form,
    /// Whether it changes nothing, so that what it said may become stale.
    pub only_reads: bool,
    /// Whether the model is shown it. One that is not can be called all the same, by a model that read its name.
    pub is_shown: bool,
}

impl Offer {
    /// Makes an offer of a definition, which is also what calls are checked against.
    pub fn new(definition: Value, only_reads: bool) -> Self {
        let text = |key: &str| definition[key].as_str().unwrap_or_default();
        let schema = definition["inputSchema"].clone();
        let form = Form::new((text("name"), text("description")), schema);
        Self { name: text("name").to_owned(), form, only_reads, definition, is_shown: true }
    }
}
