//! Confirmations of calls that destroy: for one tool as it is, one set of arguments, one person, once, and not for long.
//!
//! The handle is enough: the arguments it was made for are kept, in the store too, for other hubs and after a restart. Who
//! gives arguments as well must give the same.

use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::task::agrees;
use toolyard_core::tool::Tool;

use super::RouteCall;
use super::draft::GO;
use super::input::or_empty;
use super::pending::{Question, fresh_handle};
use super::reply::shortened;
use crate::hub::Hub;
use crate::jsonrpc::{Fields, canonical};
use crate::pins::Pin;
use crate::seal::digest;
use crate::store::Handled;

const PURPOSE: &str = "confirmation";
const ARGUMENTS: &str = "arguments of a confirmation";
/// Time for a person to make up their mind.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// Bytes of a task that are repeated; the handle says the rest.
const MOST_REPEATED: usize = 100;

/// Bytes of arguments that are kept in the store; longer ones last as long as this hub.
const MOST_KEPT: usize = 64 * 1024;

/// What a confirmation holds: its number, the tool, a digest of everything it is bound to, and the tool's definition.
type Bound = (u64, String, String, Pin);

/// Why a confirmation does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Void {
    /// It was not made here, or its time is over.
    Unknown,
    /// It is for other arguments, or for somebody else.
    Other,
    /// The tool is not what it was when it was asked about.
    Changed,
    /// It was used.
    Spent,
}

/// Says how something is confirmed, as a call that is whole as it stands.
pub(super) fn how(task: &str, handle: &str) -> String {
    // Of a draft that was finished no words are left.
    let task = if task.trim().is_empty() { GO } else { task };
    let call = json!({ "task": shortened(task, MOST_REPEATED), "context": { "confirm": handle } });
    format!("Ask the user. If they agree: smart_route {call}")
}

impl Void {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Unknown => "The confirmation is not known here, or its time is over.",
            Self::Other => "The confirmation is for other arguments.",
            Self::Changed => "The definition of the tool changed since it was asked about; it was not run.",
            Self::Spent => "The confirmation was used already; it counts once.",
        }
    }
}

impl RouteCall {
    /// Makes the handle with which a call can be confirmed, and keeps what it is for.
    pub(super) fn offer(&self, tool: &Tool, arguments: &RawValue, task: &str) -> String {
        let principal = &self.caller.principal;
        let handle = self.handle_of(offer(&self.reception.hub, principal, tool, arguments));
        self.keep_arguments(&handle, arguments);
        let question = Question {
            principal: principal.to_string(),
            owner: self.caller.owner(),
            task: task.to_owned(),
            offered: Vec::new(),
            chosen: Some(tool.id.as_str().to_owned()),
            arguments: Some(arguments.to_owned()),
            values: None,
            missing: Vec::new(),
            pins: Vec::new(),
        };
        self.reception.pending.put(Some(&handle), question, |_| true)
    }

    fn keep_arguments(&self, handle: &str, arguments: &RawValue) {
        if arguments.get().len() > MOST_KEPT {
            return;
        }
        let hub = &self.reception.hub;
        let text = hub.seal.close(ARGUMENTS, &(&*self.caller.principal, arguments), PATIENCE);
        let kept = Handled { handle: &of_arguments(handle), text: &text, owner: &self.caller.owner() };
        if let Err(err) = hub.store.keep_text(kept, PATIENCE) {
            tracing::debug!("{err}; the arguments of a confirmation last as long as this hub");
        }
    }

    /// Returns a short handle for a sealed text, because a model has to repeat it. Where nothing can be kept, the text is
    /// its own handle.
    pub(super) fn handle_of(&self, sealed: String) -> String {
        let (handle, owner) = (fresh_handle(), self.caller.owner());
        let kept = Handled { handle: &handle, text: &sealed, owner: &owner };
        match self.reception.hub.store.keep_text(kept, PATIENCE) {
            Ok(()) => handle,
            Err(err) => {
                tracing::debug!("{err}; a confirmation has a long handle");
                sealed
            }
        }
    }

    /// Returns the handle by which this call confirms another: it is named as one, or it is answered with a yes.
    pub(super) fn confirming(&self) -> Option<String> {
        let is_confirmation = |handle: &&str| tool(&self.reception.hub, handle).is_some();
        let agreed = self.input.session.as_deref().filter(|_| agrees(&self.input.task));
        self.input.confirm.as_deref().or_else(|| agreed.filter(is_confirmation)).map(str::to_owned)
    }

    /// Returns the arguments of a call that is confirmed: those that are given, or those that the handle is for.
    pub(super) fn confirmed_arguments(&self, handle: &str) -> Box<RawValue> {
        let given = self.input.arguments.clone();
        let given = given.filter(|given| !Fields::parse(Some(given)).is_ok_and(|given| given.is_empty()));
        let kept = || self.reception.pending.get(handle, &self.caller.principal)?.arguments;
        let hub = &self.reception.hub;
        let stored = || {
            let text = hub.store.text_of(&of_arguments(handle))?;
            let (principal, arguments): (String, Box<RawValue>) = hub.seal.reopen(ARGUMENTS, &text)?;
            (principal == *self.caller.principal).then_some(arguments)
        };
        or_empty(given.or_else(kept).or_else(stored))
    }
}

/// Makes the handle with which a call can be confirmed.
fn offer(hub: &Hub, principal: &str, tool: &Tool, arguments: &RawValue) -> String {
    let id = tool.id.as_str();
    let number = getrandom::u64().expect("the system has randomness");
    let pin = Pin::of(&tool.definition);
    let bound: Bound = (number, id.to_owned(), binding(principal, id, arguments), pin);
    hub.seal.close(PURPOSE, &bound, PATIENCE)
}

/// Returns the tool that a handle was made for, whether or not it still counts.
pub(super) fn tool(hub: &Hub, handle: &str) -> Option<String> {
    hub.seal.reopen::<Bound>(PURPOSE, &sealed(hub, handle)).map(|(_, tool, _, _)| tool)
}

/// Spends a confirmation of exactly this call.
pub(super) fn spend(
    hub: &Hub,
    handle: &str,
    principal: &str,
    (tool, arguments): (&Tool, &RawValue),
) -> Result<(), Void> {
    let opened = hub.seal.reopen(PURPOSE, &sealed(hub, handle));
    let (number, id, bound, pin): Bound = opened.ok_or(Void::Unknown)?;
    if id != tool.id.as_str() || bound != binding(principal, &id, arguments) {
        return Err(Void::Other);
    }
    if pin != Pin::of(&tool.definition) {
        return Err(Void::Changed);
    }
    if hub.spend(number, PATIENCE) { Ok(()) } else { Err(Void::Spent) }
}

/// Returns the sealed text that a handle stands for.
pub(super) fn sealed(hub: &Hub, handle: &str) -> String {
    hub.store.text_of(handle).unwrap_or_else(|| handle.to_owned())
}

/// Returns the name under which the store keeps what is confirmed with a handle.
fn of_arguments(handle: &str) -> String {
    format!("{handle} arguments")
}

fn binding(principal: &str, tool: &str, arguments: &RawValue) -> String {
    digest(&[principal, tool, &canonical(arguments)])
}
