//! Families of tools that are presented as one tool each, as people write them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// Whether families of tools are presented as one each, or which.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Consolidate")]
pub(in crate::config) enum RawConsolidate {
    Switch(bool),
    Families(Vec<RawFamily>),
}

/// Tools that are presented as one.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Family")]
pub(in crate::config) struct RawFamily {
    /// What the tools act on: "product" gives `manage_product`.
    #[schemars(length(min = 1))]
    pub(in crate::config) entity: String,
    /// The tools, by the server's own names.
    pub(in crate::config) tools: Vec<String>,
    /// What tools are called as actions, where that is not to follow from their names.
    #[serde(default)]
    pub(in crate::config) actions: BTreeMap<String, String>,
    /// Whether the action that creates something takes a list of up to ten; false by default.
    #[serde(default)]
    pub(in crate::config) batch: bool,
}
