//! What a server's program may use of this machine, as it is written.

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::Value;

/// What a server's program may use of this machine.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Sandbox")]
pub(in crate::config) struct RawSandbox {
    /// Whether it may reach the network; true by default. The object that VS Code writes is accepted and not used.
    #[serde(default)]
    #[schemars(schema_with = "switch_or_rules")]
    pub(in crate::config) network: Option<Value>,
    /// Files and folders that it may read, besides the system's and its own program.
    pub(in crate::config) read: Option<Vec<String>>,
    /// Files and folders that it may read and change.
    pub(in crate::config) write: Option<Vec<String>>,
    /// VS Code: files that the server may use. Accepted and not used.
    pub(in crate::config) filesystem: Option<Value>,
}

fn switch_or_rules(_: &mut schemars::SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": ["boolean", "object", "null"] })
}
