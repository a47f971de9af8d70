//! What the built-in `studio` may use, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Services of the built-in `studio`; the tools that need one are there only where it is.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Services")]
pub(in crate::config) struct RawServices {
    /// A model that makes pictures: the address and the model, "https://HOST/v1#MODEL".
    #[schemars(length(min = 1))]
    pub(in crate::config) images: Option<String>,
    /// A language model: "ollama:MODEL", "anthropic:MODEL", or the URL of a chat endpoint with "#MODEL" at its end.
    #[schemars(length(min = 1))]
    pub(in crate::config) model: Option<String>,
    /// A web search: the address of a SearXNG instance that answers with JSON, such as "http://HOST/search".
    #[schemars(length(min = 1))]
    pub(in crate::config) search: Option<String>,
    /// The key that models want to see.
    #[schemars(length(min = 1))]
    pub(in crate::config) api_key: Option<String>,
}
