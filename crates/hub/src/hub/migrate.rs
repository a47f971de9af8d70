//! Calls of old names: what each stands for, and what is said about that.
//!
//! A call is turned before anybody judges it, so an old name permits nothing that the new call does not.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::alias::{Alias, Phase};
use toolyard_core::run::Call;
use toolyard_core::tool::{BadToolId, ToolId, clean};

use super::call::CONFIRMATIONS;
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;

/// Where a result says that it was asked for by an old name.
const KEY: &str = "toolyard/deprecated";

/// A call of an old name, as it is made.
#[derive(Clone, Debug)]
pub struct Migrated {
    /// The tool that is called.
    pub tool: String,
    /// Its arguments.
    pub arguments: Box<RawValue>,
    /// What is said about it.
    pub deprecated: Deprecated,
}

/// An old name that was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deprecated {
    /// The name.
    pub name: String,
    /// How the tool is called instead.
    pub usage: String,
}

impl Deprecated {
    /// Notes an old name, and warns of it once.
    pub fn note(name: &str, alias: &Alias, snapshot: &Snapshot) -> Self {
        static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let usage = alias.usage(snapshot.catalog.get(&alias.to));
        if WARNED.lock().insert(name.to_owned()) {
            tracing::warn!("the tool name `{name}` is deprecated: call {} instead", clean(&usage));
        }
        Self { name: name.to_owned(), usage }
    }

    /// Says so beside the content of a result, which stays as it is.
    pub fn noted(&self, result: Box<RawValue>) -> Box<RawValue> {
        let Ok(mut fields) = Fields::parse(Some(&result)) else { return result };
        let mut meta = fields.object("_meta");
        meta.set(KEY, raw(&json!({ "name": self.name, "usage": self.usage })));
        fields.set("_meta", raw(&meta));
        raw(&fields)
    }
}

/// Returns what an old name stands for, or why that is not clear; `None` where it is no old name.
///
/// `sees` says whether the caller may know of a tool.
pub fn renamed(
    snapshot: &Snapshot,
    name: &str,
    sees: impl Fn(&str) -> bool,
) -> Option<Result<Alias, String>> {
    let mut alias = match snapshot.aliases.resolve(name, &snapshot.catalog, sees) {
        Ok(alias) => alias?,
        Err(error) => return Some(Err(error.to_string())),
    };
    // Nobody has confirmed a call because the settings say so for all calls.
    if let Some(tool) = snapshot.catalog.get(&alias.to) {
        let is_own = |name: &str| tool.parameters.iter().any(|parameter| parameter.name == name);
        alias.fixed.retain(|name, _| !CONFIRMATIONS.contains(&name.as_str()) || is_own(name));
    }
    Some(Ok(alias))
}

/// Turns a call of an old name into the one that it stands for, or says why it cannot be made.
pub fn migrate(
    snapshot: &Snapshot,
    name: &str,
    alias: &Alias,
    arguments: Option<&RawValue>,
) -> Result<Migrated, String> {
    let tool = snapshot.catalog.get(&alias.to);
    if alias.phase == Phase::Gone {
        return Err(alias.farewell(name, tool));
    }
    let given = Fields::parse(arguments).map_err(|_| {
        format!("`{name}` needs `arguments` as an object. Call {} instead.", alias.usage(tool))
    })?;
    if let Some(ambiguity) = given.ambiguity() {
        return Err(ambiguity.to_string());
    }
    let given = given.iter().map(|(name, value)| (name.to_owned(), Given(value.to_owned())));
    let mapped = alias
        .apply(given, |fixed| Given(raw(fixed)))
        .map_err(|error| format!("{error}. Nothing was done. Call {} instead.", alias.usage(tool)))?;
    let mut arguments = Fields::default();
    for (name, Given(value)) in mapped {
        arguments.set(&name, value);
    }
    let deprecated = Deprecated::note(name, alias, snapshot);
    Ok(Migrated { tool: alias.to.clone(), arguments: raw(&arguments), deprecated })
}

/// Turns a call of a run whose plan has an old name, with the names of its arguments that nobody has checked yet.
pub(super) fn migrated_call(
    snapshot: &Snapshot,
    call: &Call,
    late: &[String],
) -> Option<Result<(Call, Vec<String>), String>> {
    let name = call.tool.as_str();
    let turned = |alias: &Alias| -> Result<(Call, Vec<String>), String> {
        let migrated = migrate(snapshot, name, alias, Some(&raw(&call.arguments)))?;
        let tool: ToolId = migrated.tool.parse().map_err(|error: BadToolId| error.to_string())?;
        let arguments = serde_json::from_str(migrated.arguments.get()).map_err(|error| error.to_string())?;
        let late = late.iter().map(|name| alias.argument(name).to_owned()).collect();
        Ok((Call { tool, arguments, ..call.clone() }, late))
    };
    Some(renamed(snapshot, name, |_| true)?.and_then(|alias| turned(&alias)))
}

/// A value as it was written; two are the same when they mean the same.
struct Given(Box<RawValue>);

impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        let read = |text: &RawValue| serde_json::from_str::<serde_json::Value>(text.get()).ok();
        self.0.get() == other.0.get() || read(&self.0).is_some_and(|value| read(&other.0) == Some(value))
    }
}
