//! One tool, and the name it goes by.
//!
//! Everything here was written by strangers. What is kept as text was cleaned first; what is passed on
//! unread stays exactly as it came.

mod clean;
mod effect;
mod id;
pub(crate) mod json;
mod listed;
mod parameter;
pub(crate) mod purpose;
pub(crate) mod vocabulary;
pub(crate) mod words;

use std::sync::Arc;

use serde_json::value::RawValue;

pub use clean::clean;
pub(crate) use effect::names_destruction;
pub use effect::{Effect, Hints};
pub use id::{BadToolId, ToolId};
pub use listed::Parameters;
pub use parameter::Parameter;
pub(crate) use parameter::{choices, remarks};

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
