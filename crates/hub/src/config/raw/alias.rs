//! Old names of tools, as they are written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What an old name stands for: a tool as `server__tool`, or a tool with what changed.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Alias")]
pub(in crate::config) enum RawAlias {
    Tool(#[schemars(length(min = 1))] String),
    Call(RawReplacement),
}

/// A tool that is called instead of an old one.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Replacement")]
pub(in crate::config) struct RawReplacement {
    /// The tool that is called instead, as `server__tool`.
    #[schemars(length(min = 1))]
    pub(in crate::config) to: String,
    /// Arguments that it is always given; a call cannot change them.
    #[serde(default)]
    pub(in crate::config) arguments: Map<String, Value>,
    /// New names of arguments, by their old names.
    #[serde(default)]
    pub(in crate::config) rename: BTreeMap<String, String>,
    /// How the tool is called instead, in one line; made from the rest by default.
    #[schemars(length(min = 1))]
    pub(in crate::config) usage: Option<String>,
    /// Whether calls still work; as `aliasPhase` says by default.
    pub(in crate::config) phase: Option<RawPhase>,
}

/// `warn`: calls of the old name work, with a warning; `gone`: they are answered with how to call the tool instead.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Phase")]
pub(in crate::config) enum RawPhase {
    Warn,
    Gone,
}
