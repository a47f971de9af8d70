//! The readings as plain numbers, for a dashboard.
//!
//! A rate or a duration that nothing was measured for is `None`, never zero.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::calls::{ServerReading, ToolReading};
use crate::histogram::Distribution;

/// Tools that are listed.
const TOP_TOOLS: usize = 20;

/// What a hub did since it started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Numbers {
    /// Routes within the last 60 seconds.
    pub requests_last_minute: u64,
    /// All routes.
    pub routes: u64,
    /// Routes by decision; every known decision is there.
    pub decisions: BTreeMap<String, u64>,
    /// The share of routes that were answered with a question.
    pub clarification_rate: Option<f64>,
    /// Routes that the cache answered.
    pub cache_hits: u64,
    /// Routes that it did not.
    pub cache_misses: u64,
    /// The share of routes that the cache answered.
    pub cache_hit_rate: Option<f64>,
    /// How long routing took.
    pub routing: LatencyNumbers,
    /// All calls.
    pub calls: u64,
    /// Calls that the tool failed, the server refused, or did not answer.
    pub errors: u64,
    /// Calls per server, the most called first.
    pub servers: Vec<ServerNumbers>,
    /// Calls per tool for the 20 that are called most.
    pub tools: Vec<ToolNumbers>,
    /// Confirmations that were asked for, given and refused.
    pub confirmations: BTreeMap<String, u64>,
    /// What people and clients said about routes.
    pub feedback: FeedbackNumbers,
    /// The share of feedback that says the route was right.
    pub accuracy: Option<f64>,
}

/// How long something took, estimated from a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LatencyNumbers {
    /// The mean, in milliseconds.
    pub mean_ms: Option<f64>,
    /// Half took at most this long, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 95% took at most this long, in milliseconds.
    pub p95_ms: Option<f64>,
}

/// The calls of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerNumbers {
    /// Its name, or `other` for all that have no series of their own.
    pub server: String,
    /// All calls.
    pub calls: u64,
    /// Those that ended in an error.
    pub errors: u64,
    /// How long those took that reached the server.
    #[serde(flatten)]
    pub latency: LatencyNumbers,
}

/// The calls of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolNumbers {
    /// The server it belongs to.
    pub server: String,
    /// Its name, or `other` for all that have no series of their own.
    pub tool: String,
    /// All calls.
    pub calls: u64,
    /// Those that ended in an error.
    pub errors: u64,
    /// How long those took that reached the server.
    #[serde(flatten)]
    pub latency: LatencyNumbers,
}

/// What people and clients said about routes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackNumbers {
    /// Routes that were right.
    pub right: u64,
    /// Routes that were wrong.
    pub wrong: u64,
    /// Both verdicts together, by where they came from; sources that said nothing are left out.
    pub sources: BTreeMap<String, u64>,
}

impl LatencyNumbers {
    pub(crate) fn read(took: &Distribution) -> Self {
        let count = took.count();
        let mean = (count > 0).then(|| took.sum_seconds() / count as f64);
        // An estimate is not better than a microsecond.
        let ms = |seconds: f64| (seconds * 1e6).round() / 1e3;
        Self {
            mean_ms: mean.map(ms),
            p50_ms: took.quantile(0.5).map(ms),
            p95_ms: took.quantile(0.95).map(ms),
        }
    }
}

impl ServerNumbers {
    /// Lists all servers, the most called first.
    pub(crate) fn list(servers: &[ServerReading]) -> Vec<Self> {
        let mut listed: Vec<Self> = servers
            .iter()
            .map(|read| Self {
                server: read.server.clone(),
                calls: read.calls(),
                errors: read.errors(),
                latency: LatencyNumbers::read(&read.took),
            })
            .collect();
        // The sort is stable, so servers with as many calls stay in the order of their names.
        listed.sort_by_key(|server| std::cmp::Reverse(server.calls));
        listed
    }
}

impl ToolNumbers {
    /// Lists the tools that are called most.
    pub(crate) fn top(servers: &[ServerReading]) -> Vec<Self> {
        let mut all: Vec<(&str, &ToolReading)> = servers
            .iter()
            .flat_map(|read| read.tools.iter().map(|tool| (read.server.as_str(), tool)))
            .collect();
        all.sort_by_key(|(_, tool)| std::cmp::Reverse(tool.calls()));
        let top = all.into_iter().take(TOP_TOOLS).map(|(server, tool)| Self {
            server: server.to_owned(),
            tool: tool.tool.clone(),
            calls: tool.calls(),
            errors: tool.errors(),
            latency: LatencyNumbers::read(&tool.took),
        });
        top.collect()
    }
}

/// Returns a part of a whole, where there is a whole.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
