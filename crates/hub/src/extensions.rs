//! Extensions of the protocol, as the hub declares them to clients and to servers.

use serde_json::{Value, json};

/// Pages that show what tools answered (MCP Apps).
pub(crate) const APPS: &str = "io.modelcontextprotocol/ui";
/// The kind of document that such a page is.
pub(crate) const PAGE: &str = "text/html;profile=mcp-app";

/// Returns the extensions by their names, with their settings.
pub(crate) fn declared() -> Value {
    json!({ APPS: { "mimeTypes": [PAGE] } })
}
