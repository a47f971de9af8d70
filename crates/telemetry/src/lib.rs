//! Metrics and traces of a Toolyard hub: Prometheus text and OTLP.
//!
//! Recording never blocks and never fails. Everything a stranger can name (servers, tools) is cleaned and bounded before
//! it becomes a label. A module may use the modules above it, never below.

mod label; //     names of strangers become label values
mod counter; //   counts by a fixed set of names, and a count over the last minute
mod histogram; // durations in buckets
mod calls; //     calls per server and tool, bounded
mod family; //    the readings of one metric, as every format writes them
mod numbers; //   the readings as plain numbers, for a dashboard
mod metrics; //   the front door: record, render, snapshot
mod text; //      Prometheus text 0.0.4
pub mod trace; // W3C trace context
mod span; //      one piece of work in a trace
pub mod otlp; //  spans and metrics to an OpenTelemetry collector

pub use metrics::{Gauges, Metrics};
pub use numbers::{FeedbackNumbers, LatencyNumbers, Numbers, ServerNumbers, ToolNumbers};
pub use span::{AttributeValue, Span, SpanKind, SpanStatus};
