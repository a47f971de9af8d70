//! What is kept of decisions, what is learnt from what people say about them, and who is told of both.

use std::collections::BTreeMap;
use std::fmt;

use toolyard_history::Retention;

use super::raw::{RawEvents, RawLearning, RawTelemetry};

/// What is kept of decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// Whether anything is.
    pub enabled: bool,
    /// Whether the words of requests are.
    pub words: bool,
    /// Whether the values of arguments are.
    pub values: bool,
    /// How long and how much.
    pub retention: Retention,
}

/// What is learnt from what people say about decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearningRules {
    /// Whether lessons count.
    pub enabled: bool,
    /// Whether something is learnt from what people do next, too.
    pub implicit: bool,
}

/// Who is told what the hub does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// An OpenTelemetry collector.
    pub otlp: Option<Collector>,
}

/// An OpenTelemetry collector that takes OTLP over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct Collector {
    /// Its address, up to `/v1`.
    pub endpoint: String,
    /// What is sent along, such as a key.
    pub headers: BTreeMap<String, String>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("Collector").field("endpoint", &self.endpoint).field("headers", &names).finish()
    }
}

impl Default for Events {
    fn default() -> Self {
        Self { enabled: true, words: true, values: false, retention: Retention::default() }
    }
}

impl Default for LearningRules {
    fn default() -> Self {
        Self { enabled: true, implicit: true }
    }
}

pub(super) fn events(raw: &RawEvents) -> Events {
    let standard = Events::default();
    let Retention { days, words_days, bytes } = standard.retention;
    Events {
        enabled: raw.enabled.unwrap_or(standard.enabled),
        words: raw.words.unwrap_or(standard.words),
        values: raw.values.unwrap_or(standard.values),
        retention: Retention {
            days: raw.days.unwrap_or(days),
            words_days: raw.words_days.unwrap_or(words_days),
            bytes: raw.bytes.unwrap_or(bytes),
        },
    }
}

pub(super) fn learning(raw: &RawLearning) -> LearningRules {
    let standard = LearningRules::default();
    LearningRules {
        enabled: raw.enabled.unwrap_or(standard.enabled),
        implicit: raw.implicit.unwrap_or(standard.implicit),
    }
}

pub(super) fn telemetry(raw: RawTelemetry) -> Telemetry {
    let collector = |raw: super::raw::RawCollector| Collector {
        endpoint: raw.endpoint.trim_end_matches('/').to_owned(),
        headers: raw.headers.unwrap_or_default(),
    };
    Telemetry { otlp: raw.otlp.map(collector) }
}
