//! When workflows run by themselves, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::RawSpan;

/// A workflow that a serving hub runs by itself: at a time of the day, or again and again.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Schedule")]
pub(in crate::config) struct RawSchedule {
    /// The workflow, by its name.
    #[schemars(length(min = 1))]
    pub(in crate::config) workflow: String,
    /// What the workflow takes.
    #[serde(default)]
    pub(in crate::config) values: Map<String, Value>,
    /// The time of the day at which it runs, such as "08:00".
    pub(in crate::config) at: Option<String>,
    /// The days of the week on which it runs; every day by default.
    pub(in crate::config) on: Option<Vec<RawDay>>,
    /// Where the day has that time, such as "Europe/Vienna"; the time zone of this machine by default.
    pub(in crate::config) time_zone: Option<String>,
    /// How long after one run the next begins, in place of `at`: seconds, or text such as "15m", "6h".
    pub(in crate::config) every: Option<RawSpan>,
}

/// A day of the week.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Day")]
pub(in crate::config) enum RawDay {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}
