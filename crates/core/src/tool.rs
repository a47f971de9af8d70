//! One tool, and the name it goes by.
//!
//! Everything here was written by strangers. What is kept as text was cleaned first; what is passed on
//! unread stays exactly as it came.

mod app;
mod clean;
mod effect;
mod hidden;
mod id;
pub(crate) mod json;
mod listed;
mod parameter;
pub(crate) mod purpose;
pub(crate) mod vocabulary;
pub(crate) mod words;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;

pub use app::{AppLink, is_reserved_page};
pub use clean::clean;
pub(crate) use effect::names_destruction;
pub use effect::{Effect, Hints};
pub use hidden::{Unveiled, Veiled, may_hide, unveiled};
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
    /// What it says of the app that shows its results.
    pub app: Option<Box<AppLink>>,
    /// The definition exactly as the server sent it, but without hidden characters.
    pub definition: Box<RawValue>,
    /// The definition with its hidden characters, where it has any. It is for the server and for screening, never shown.
    pub own: Option<Box<RawValue>>,
}

impl Tool {
    /// Returns arguments as the server names them: under its own names, and with its own spelling of the values that
    /// it lists. They are the same unless its schema has hidden characters.
    pub fn own_arguments<'a>(&self, arguments: &'a RawValue) -> Result<Cow<'a, RawValue>, Veiled> {
        let own = self.own.as_deref().and_then(json::Members::of);
        match own.and_then(|definition| definition.get("inputSchema")) {
            Some(schema) => hidden::own_arguments(schema, arguments).map(Cow::Owned),
            None => Ok(Cow::Borrowed(arguments)),
        }
    }

    /// Returns arguments without hidden characters, where the tool has names or values that hide some: who knows the
    /// server's own spelling says the same as who knows the one that is shown. `None` where there is nothing to compare.
    pub fn plain_arguments(&self, arguments: &RawValue) -> Option<Result<Box<RawValue>, Veiled>> {
        let is_needed = self.own.is_some() && may_hide(arguments.get());
        is_needed.then(|| hidden::plainly(arguments))
    }
}
