//! Extensions of the protocol: their names, and what the hub declares of them to clients and to servers.

use serde_json::{Value, json};

/// Pages that show what tools answered (MCP Apps).
pub(crate) const APPS: &str = "io.modelcontextprotocol/ui";
/// The kind of document that such a page is.
pub(crate) const PAGE: &str = "text/html;profile=mcp-app";
/// Calls that go on after they were answered.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";
/// Instructions with tools, as resources.
pub(crate) const SKILLS: &str = "io.modelcontextprotocol/skills";

/// What the hub offers to clients of either era.
pub(crate) fn of_server() -> Value {
    json!({ APPS: { "mimeTypes": [PAGE] }, SKILLS: { "directoryRead": true } })
}

/// What the hub takes from servers, whoever its clients are.
pub(crate) fn of_client() -> Value {
    json!({ APPS: { "mimeTypes": [PAGE] } })
}
