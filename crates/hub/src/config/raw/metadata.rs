//! What is written about tools, as the settings name it.

use schemars::JsonSchema;
use serde::Deserialize;

/// Files and folders, or these with who else writes about tools.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Metadata")]
pub(in crate::config) enum RawMetadata {
    Files(Vec<String>),
    Settings(RawMetadataSettings),
}

/// Files about tools, and the language model that writes about those that have none.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "MetadataSettings")]
pub(in crate::config) struct RawMetadataSettings {
    /// Files, or folders of `.json` files, in which you wrote about tools; the folder `metadata` beside this file by
    /// default.
    pub(in crate::config) files: Option<Vec<String>>,
    /// The language model that `toolyard enrich` asks.
    pub(in crate::config) enrich: Option<RawEnrich>,
}

/// A language model that writes what people say when they need a tool that nobody wrote about. It is asked by
/// `toolyard enrich`, and by a serving hub where `background` says so.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Enrich")]
pub(in crate::config) struct RawEnrich {
    /// "ollama:MODEL", "anthropic:MODEL", or the URL of a chat endpoint with "#MODEL" at its end; none by default.
    #[schemars(length(min = 1))]
    pub(in crate::config) model: Option<String>,
    /// Whether a serving hub asks about new tools by itself; what the model writes waits as drafts until `toolyard
    /// enrich` has shown it. False by default.
    pub(in crate::config) background: Option<bool>,
    /// The key that the chat endpoint wants to see.
    #[schemars(length(min = 1))]
    pub(in crate::config) api_key: Option<String>,
    /// Milliseconds that the model may take for a few tools; 120000 by default.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(in crate::config) timeout_ms: Option<u64>,
    /// The languages in which you ask for tools, such as "English" or "German"; English by default.
    pub(in crate::config) languages: Option<Vec<String>>,
}
