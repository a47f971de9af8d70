//! Named views, as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{RawCallers, RawSurface, RawToolset};

/// A named view: a surface over some servers, or one server passed through unchanged.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Profile")]
pub(in crate::config) struct RawProfile {
    /// Which tools a client sees.
    pub(in crate::config) surface: Option<RawSurface>,
    /// Only these servers; all by default.
    pub(in crate::config) servers: Option<Vec<String>>,
    /// Who calls, where it differs from `callers` in `serve`.
    pub(in crate::config) callers: Option<RawCallers>,
    /// The one server that is passed through unchanged.
    #[schemars(length(min = 1))]
    pub(in crate::config) transparent: Option<String>,
    /// What conversations are given, where it differs from `toolset` at the top level.
    pub(in crate::config) toolset: Option<RawToolset>,
}
