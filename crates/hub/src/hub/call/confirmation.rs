//! The argument by which a call is confirmed whose tool was called by its name.

use serde_json::Value;
use toolyard_core::tool::Tool;

use crate::jsonrpc::Fields;

/// Its name.
pub(super) const CONFIRM: &str = "confirm";
/// Its schema.
pub(crate) const CONFIRMATION: &str =
    r#"{"type":"boolean","description":"Must be true: this removes something or cannot be undone"}"#;
/// Its name for a tool that has a parameter of that name itself.
pub(super) const CONFIRM_OTHERWISE: &str = "toolyard_confirm";
/// All of its names.
pub(crate) const CONFIRMATIONS: [&str; 2] = [CONFIRM, CONFIRM_OTHERWISE];

/// Whether a tool has a parameter of that name.
pub(super) fn has_confirm(tool: &Tool) -> bool {
    tool.parameters.iter().any(|parameter| parameter.name == CONFIRM)
}

/// Whether that parameter is what a hub adds to a tool that destroys.
pub(super) fn is_of_hub(tool: &Tool) -> bool {
    let definition = Fields::parse(Some(&tool.definition)).unwrap_or_default();
    let said: Option<Value> = definition.object("inputSchema").object("properties").read(CONFIRM);
    said.is_some_and(|said| serde_json::from_str::<Value>(CONFIRMATION).is_ok_and(|ours| said == ours))
}
