//! What clients of other machines need, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Serves HTTPS with a certificate from files, which are read again when they change.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Tls")]
pub(in crate::config) struct RawTls {
    /// The file with the certificate and those that vouch for it, as PEM.
    #[schemars(length(min = 1))]
    pub(in crate::config) cert: String,
    /// The file with its private key, as PEM.
    #[schemars(length(min = 1))]
    pub(in crate::config) key: String,
}

/// Takes tokens of an OAuth authorization server.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "TokenIssuer")]
pub(in crate::config) struct RawTokenIssuer {
    /// The issuer, as its tokens and its metadata name it.
    #[schemars(length(min = 1))]
    pub(in crate::config) issuer: String,
    /// The address of the hub, such as "https://hub.example/mcp"; only tokens that name it are taken.
    #[schemars(length(min = 1))]
    pub(in crate::config) audience: String,
    /// Scopes that every token must have, besides those that say what it permits.
    pub(in crate::config) scopes: Option<Vec<String>>,
    /// Where the keys of the issuer are; found by its metadata by default.
    #[schemars(length(min = 1))]
    pub(in crate::config) jwks: Option<String>,
}
