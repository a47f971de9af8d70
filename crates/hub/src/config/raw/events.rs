//! How what is kept, learnt and told is written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// What is kept of decisions, for the dashboard, `toolyard replay` and learning.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Events")]
pub(in crate::config) struct RawEvents {
    /// Whether decisions are kept; true by default.
    pub(in crate::config) enabled: Option<bool>,
    /// Whether the words of requests are; true by default.
    pub(in crate::config) words: Option<bool>,
    /// Whether the values of arguments are; false by default.
    pub(in crate::config) values: Option<bool>,
    /// Days after which a decision is forgotten; 30 by default.
    #[schemars(range(min = 1, max = 3650))]
    pub(in crate::config) days: Option<u32>,
    /// Days after which the words of a request are forgotten; 7 by default.
    #[schemars(range(min = 0, max = 3650))]
    pub(in crate::config) words_days: Option<u32>,
    /// Bytes on the disk; the oldest decisions go first; 200000000 by default.
    #[schemars(range(min = 1_048_576_u64, max = 1_099_511_627_776_u64))]
    pub(in crate::config) bytes: Option<u64>,
}

/// What is learnt from corrections.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Learning")]
pub(in crate::config) struct RawLearning {
    /// Whether what was learnt counts; true by default.
    pub(in crate::config) enabled: Option<bool>,
    /// Whether something is learnt from what people do next, too; true by default.
    pub(in crate::config) implicit: Option<bool>,
}

/// Who is told what the hub does.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Telemetry")]
pub(in crate::config) struct RawTelemetry {
    /// An OpenTelemetry collector that takes OTLP over HTTP; none by default.
    pub(in crate::config) otlp: Option<RawCollector>,
}

/// An OpenTelemetry collector.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Collector")]
pub(in crate::config) struct RawCollector {
    /// Its address, such as `http://127.0.0.1:4318`.
    pub(in crate::config) endpoint: String,
    /// Headers that are sent along, such as a key.
    pub(in crate::config) headers: Option<BTreeMap<String, String>>,
}
