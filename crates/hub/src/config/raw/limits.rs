//! What one server may cost, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// What one server may cost.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Limits")]
pub(in crate::config) struct RawLimits {
    /// Milliseconds until the server has answered the handshake and listed its tools; 30000 by default.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(in crate::config) start_ms: Option<u64>,
    /// Milliseconds per call, begun anew by progress; `routing.performance.timeoutMs` or 60000 by default.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub(in crate::config) call_ms: Option<u64>,
    /// Milliseconds of one call in all, however much progress it reports; 600000 by default.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub(in crate::config) call_total_ms: Option<u64>,
    /// Bytes of one message; 16777216 by default.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub(in crate::config) message_bytes: Option<usize>,
    /// Levels of nesting in one message; 127 by default.
    #[schemars(range(min = 8, max = 127))]
    pub(in crate::config) nesting: Option<usize>,
    /// Tools of the server; 5000 by default.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(in crate::config) tools: Option<usize>,
    /// Pages of one listing; 100 by default.
    #[schemars(range(min = 1, max = 100_000))]
    pub(in crate::config) pages: Option<usize>,
    /// Characters of a tool's name; 128 by default.
    #[schemars(range(min = 1, max = 4096))]
    pub(in crate::config) name_chars: Option<usize>,
    /// Characters of a tool's description; 16384 by default.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(in crate::config) description_chars: Option<usize>,
    /// Calls under way at the same time; 32 by default.
    #[schemars(range(min = 1, max = 10_000))]
    pub(in crate::config) concurrency: Option<usize>,
}
