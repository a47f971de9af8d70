//! The readings of one metric, as every format writes them.

use crate::histogram::Distribution;

/// The labels of one series, in the order in which they are written.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// One metric with all its series.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// The name as Prometheus has it, with its suffix (`_total`, `_seconds`).
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// The unit in UCUM notation, as OpenTelemetry has it.
    pub(crate) unit: &'static str,
    pub(crate) points: Points,
}

/// The series of a metric, by what kind of metric it is.
#[derive(Clone, Debug)]
pub(crate) enum Points {
    /// Only ever rises.
    Counter(Vec<(Labels, u64)>),
    /// Time that only ever adds up.
    Seconds(Vec<(Labels, f64)>),
    /// Rises and falls.
    Gauge(Vec<(Labels, f64)>),
    /// Durations in buckets.
    Histogram(Vec<(Labels, Distribution)>),
}

impl Points {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Counter(series) => series.is_empty(),
            Self::Seconds(series) | Self::Gauge(series) => series.is_empty(),
            Self::Histogram(series) => series.is_empty(),
        }
    }
}
