//! Spans and metrics as OTLP writes them in JSON.
//!
//! Ids are lower-case hex, 64-bit numbers are strings, enums are numbers: the rules of OTLP, which differ from those of
//! protobuf's own JSON in the ids.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::family::{Family, Labels, Points};
use crate::histogram::Distribution;
use crate::span::{AttributeValue, Span, SpanKind, SpanStatus};
use crate::trace::random;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u32 = 2;

/// When a reading began to count, and when it was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    pub(super) start: SystemTime,
    pub(super) end: SystemTime,
}

/// Describes this hub. The instance keeps the counts of two hubs apart at the collector.
pub(super) fn resource() -> Value {
    let instance = random::<16>().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    json!({ "attributes": [
        attribute("service.name", &"toolyard".into()),
        attribute("service.version", &env!("CARGO_PKG_VERSION").into()),
        attribute("service.instance.id", &instance.into()),
    ]})
}

/// Writes a request to `/v1/traces`.
pub(super) fn traces(resource: &Value, spans: &[Span]) -> String {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": resource,
        "scopeSpans": [{ "scope": scope(), "spans": spans }],
    }]})
    .to_string()
}

/// Writes a request to `/v1/metrics`.
pub(super) fn metrics(resource: &Value, families: &[Family], period: Period) -> String {
    let metrics: Vec<Value> = families.iter().map(|family| metric(family, period)).collect();
    json!({ "resourceMetrics": [{
        "resource": resource,
        "scopeMetrics": [{ "scope": scope(), "metrics": metrics }],
    }]})
    .to_string()
}

fn scope() -> Value {
    json!({ "name": "toolyard", "version": env!("CARGO_PKG_VERSION") })
}

fn span(span: &Span) -> Value {
    let kind = match span.kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
    };
    let mut written = json!({
        "traceId": span.context.trace_id().to_string(),
        "spanId": span.context.span_id().to_string(),
        "flags": span.context.flags(),
        "name": span.name,
        "kind": kind,
        "startTimeUnixNano": nanos(span.start),
        // The clock of a machine can be set back during the work; a span never ends before it began.
        "endTimeUnixNano": nanos(span.end.max(span.start)),
        "attributes": span.attributes.iter().map(|(key, value)| attribute(key, value)).collect::<Vec<_>>(),
        "status": status(&span.status),
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = parent.to_string().into();
    }
    if let Some(state) = span.context.tracestate() {
        written["traceState"] = state.into();
    }
    written
}

fn status(status: &SpanStatus) -> Value {
    match status {
        SpanStatus::Unset => json!({}),
        SpanStatus::Ok => json!({ "code": 1 }),
        SpanStatus::Error(message) => json!({ "code": 2, "message": message }),
    }
}

fn attribute(key: &str, value: &AttributeValue) -> Value {
    let value = match value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Int(number) => json!({ "intValue": number.to_string() }),
        AttributeValue::Float(number) if number.is_finite() => json!({ "doubleValue": number }),
        // JSON has no number for it; the mapping of protobuf writes its name.
        AttributeValue::Float(number) if number.is_nan() => json!({ "doubleValue": "NaN" }),
        AttributeValue::Float(number) => {
            json!({ "doubleValue": if *number > 0.0 { "Infinity" } else { "-Infinity" } })
        }
        AttributeValue::Flag(flag) => json!({ "boolValue": flag }),
    };
    json!({ "key": key, "value": value })
}

fn metric(family: &Family, period: Period) -> Value {
    let mut written = json!({ "name": family.name, "description": family.help, "unit": family.unit });
    let (kind, points) = match &family.points {
        Points::Counter(series) => {
            let points = series
                .iter()
                .map(|(labels, count)| point(labels, period, json!({ "asInt": count.to_string() })));
            ("sum", sum(&points.collect::<Vec<_>>()))
        }
        Points::Seconds(series) => {
            let points =
                series.iter().map(|(labels, time)| point(labels, period, json!({ "asDouble": time })));
            ("sum", sum(&points.collect::<Vec<_>>()))
        }
        Points::Gauge(series) => {
            let points = series.iter().filter(|(_, level)| level.is_finite());
            let points = points.map(|(labels, level)| point(labels, period, json!({ "asDouble": level })));
            ("gauge", json!({ "dataPoints": points.collect::<Vec<_>>() }))
        }
        Points::Histogram(series) => {
            let points = series.iter().map(|(labels, held)| point(labels, period, distribution(held)));
            let points: Vec<Value> = points.collect();
            ("histogram", json!({ "aggregationTemporality": CUMULATIVE, "dataPoints": points }))
        }
    };
    written[kind] = points;
    written
}

fn sum(points: &[Value]) -> Value {
    json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points })
}

fn distribution(held: &Distribution) -> Value {
    json!({
        "count": held.count().to_string(),
        "sum": held.sum_seconds(),
        "bucketCounts": held.buckets.iter().map(u64::to_string).collect::<Vec<_>>(),
        "explicitBounds": held.bounds_seconds().collect::<Vec<_>>(),
    })
}

fn point(labels: &Labels, period: Period, mut value: Value) -> Value {
    value["attributes"] = labels
        .iter()
        .map(|(key, text)| json!({ "key": key, "value": { "stringValue": text } }))
        .collect::<Vec<_>>()
        .into();
    value["startTimeUnixNano"] = nanos(period.start).into();
    value["timeUnixNano"] = nanos(period.end).into();
    value
}

fn nanos(time: SystemTime) -> String {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos().to_string()
}
