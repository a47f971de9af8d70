//! Spans and metrics at a collector, and what happens without one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;
use toolyard_telemetry::otlp::{Exporter, GaugeReader, Pace, Post};
use toolyard_telemetry::trace::Context;
use toolyard_telemetry::{Gauges, Metrics, Span, SpanKind, SpanStatus};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::collector::{Collector, post_to};
use crate::metrics::busy;

const LIMIT: Duration = Duration::from_secs(20);

fn gauges() -> GaugeReader {
    Arc::new(|| busy().1)
}

fn at(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms)
}

fn span(name: &str) -> Span {
    Span::begin(name, SpanKind::Internal, None, at(1)).finish(at(2), SpanStatus::Ok)
}

/// Checks the attributes of a span, a point or a resource.
fn check_attributes(attributes: &Value) {
    for attribute in attributes.as_array().unwrap() {
        assert!(attribute["key"].is_string(), "{attribute}");
        let value = attribute["value"].as_object().unwrap();
        assert_eq!(value.len(), 1, "{attribute}");
        match value.iter().next().unwrap() {
            (kind, Value::String(number)) if kind == "intValue" => assert!(number.parse::<i64>().is_ok()),
            (kind, Value::String(_)) => assert_eq!(kind, "stringValue"),
            (kind, Value::Bool(_)) => assert_eq!(kind, "boolValue"),
            (kind, value) => assert!(kind == "doubleValue" && value.is_f64(), "{attribute}"),
        }
    }
}

fn check_resource(resource: &Value) {
    check_attributes(&resource["attributes"]);
    let text = |key: &str| {
        let attributes = resource["attributes"].as_array().unwrap();
        attributes.iter().find(|one| one["key"] == key).map(|one| one["value"]["stringValue"].clone())
    };
    assert_eq!(text("service.name"), Some(json!("toolyard")));
    assert_eq!(text("service.version"), Some(json!(env!("CARGO_PKG_VERSION"))));
}

fn nanos(value: &Value) -> u64 {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string")).parse().unwrap()
}

fn is_hex(value: &Value, digits: usize) -> bool {
    let text = value.as_str().unwrap_or("");
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks a request to `/v1/traces` and returns its spans.
fn spans(json: &Value) -> Vec<Value> {
    let resource = &json["resourceSpans"][0];
    check_resource(&resource["resource"]);
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    for span in spans {
        assert!(is_hex(&span["traceId"], 32) && is_hex(&span["spanId"], 16), "{span}");
        assert!(span.get("parentSpanId").is_none_or(|parent| is_hex(parent, 16)), "{span}");
        assert!(nanos(&span["startTimeUnixNano"]) <= nanos(&span["endTimeUnixNano"]), "{span}");
        assert!((1..=3).contains(&span["kind"].as_u64().unwrap()), "{span}");
        check_attributes(&span["attributes"]);
    }
    spans.clone()
}

/// Checks a request to `/v1/metrics` and returns its metrics.
fn metrics(json: &Value) -> Vec<Value> {
    let resource = &json["resourceMetrics"][0];
    check_resource(&resource["resource"]);
    let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
    for metric in metrics {
        let kinds = ["sum", "gauge", "histogram"].into_iter().filter(|kind| metric.get(kind).is_some());
        let kinds: Vec<&str> = kinds.collect();
        assert_eq!(kinds.len(), 1, "{metric}");
        let held = &metric[kinds[0]];
        if kinds[0] != "gauge" {
            assert_eq!(held["aggregationTemporality"], 2, "{metric}");
        }
        assert_eq!(held.get("isMonotonic"), (kinds[0] == "sum").then_some(&json!(true)), "{metric}");
        for point in held["dataPoints"].as_array().unwrap() {
            check_point(kinds[0], point);
        }
    }
    metrics.clone()
}

fn check_point(kind: &str, point: &Value) {
    check_attributes(&point["attributes"]);
    assert!(nanos(&point["startTimeUnixNano"]) <= nanos(&point["timeUnixNano"]), "{point}");
    if kind == "histogram" {
        let buckets: Vec<u64> = point["bucketCounts"].as_array().unwrap().iter().map(nanos).collect();
        assert_eq!(buckets.len(), point["explicitBounds"].as_array().unwrap().len() + 1, "{point}");
        assert_eq!(buckets.iter().sum::<u64>(), nanos(&point["count"]), "{point}");
        assert!(point["sum"].is_f64(), "{point}");
    } else {
        let is_whole = point.get("asInt").is_some_and(|count| count.as_str().unwrap().parse::<u64>().is_ok());
        assert!(is_whole != point.get("asDouble").is_some_and(Value::is_f64), "{point}");
    }
}

#[tokio::test]
async fn r15_a_collector_receives_spans_with_their_parents_and_facts() {
    let mut collector = Collector::start(&[]).await;
    let exporter = Exporter::start(Metrics::new(), gauges(), post_to(&collector.address), Pace::default());
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let caller = Context::parse(traceparent, Some("vendor=1")).unwrap();
    let mut route = Span::begin("smart_route", SpanKind::Server, Some(&caller), at(1_700_000_000_000));
    route.set("toolyard.decision", "act".into());
    route.set("toolyard.candidates", 8.into());
    route.set("toolyard.confidence", 0.5.into());
    route.set("toolyard.cached", false.into());
    let call = Span::begin("tools/call", SpanKind::Client, Some(&route.context), at(1_700_000_000_001));
    exporter.span(call.finish(at(1_700_000_000_000), SpanStatus::Error("no answer".to_owned())));
    exporter.span(route.finish(at(1_700_000_000_250), SpanStatus::Ok));
    exporter.close(LIMIT).await;
    let sent = spans(&collector.next_at("/v1/traces").await);
    let [call, mut route] = <[Value; 2]>::try_from(sent).unwrap();
    assert_eq!((&call["parentSpanId"], &call["traceId"]), (&route["spanId"], &route["traceId"]));
    assert_eq!(call["status"], json!({ "code": 2, "message": "no answer" }));
    assert_eq!(call["endTimeUnixNano"], call["startTimeUnixNano"], "a clock that was set back");
    route["spanId"] = json!("random");
    insta::assert_snapshot!(serde_json::to_string_pretty(&route).unwrap());
}

#[tokio::test]
async fn r15_a_collector_receives_metrics_as_cumulative_sums_and_histograms() {
    let mut collector = Collector::start(&[]).await;
    let (counted, read) = busy();
    let exporter = Exporter::start(counted.clone(), gauges(), post_to(&collector.address), Pace::default());
    exporter.close(LIMIT).await;
    let sent = metrics(&collector.next_at("/v1/metrics").await);
    let text = counted.render(&read);
    let names: Vec<&str> = sent.iter().map(|metric| metric["name"].as_str().unwrap()).collect();
    let rendered: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert_eq!(names, rendered, "the collector sees the metrics that Prometheus sees");
    let of = |name: &str| sent.iter().find(|metric| metric["name"] == name).unwrap();
    let asks = of("toolyard_routes_total")["sum"]["dataPoints"].as_array().unwrap();
    let asks = asks.iter().find(|point| point["attributes"][0]["value"]["stringValue"] == "ask").unwrap();
    assert_eq!(asks["asInt"], "1");
    let routing = &of("toolyard_route_seconds")["histogram"]["dataPoints"][0];
    assert_eq!((&routing["count"], &routing["bucketCounts"][5]), (&json!("8"), &json!("8")));
}

#[tokio::test]
async fn r15_a_full_batch_is_sent_before_its_time() {
    let mut collector = Collector::start(&[]).await;
    let pace = Pace { batch: 3, every: LIMIT * 100, metrics_every: LIMIT * 100, ..Pace::default() };
    let exporter = Exporter::start(Metrics::new(), gauges(), post_to(&collector.address), pace);
    for name in ["a", "b", "c", "d"] {
        exporter.span(span(name));
    }
    let sent = spans(&collector.next().await.json);
    assert_eq!(sent.iter().map(|span| span["name"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "b", "c"]);
    exporter.close(LIMIT).await;
    assert_eq!(spans(&collector.next().await.json)[0]["name"], "d");
}

/// When and where something was sent.
type Kept = Arc<Mutex<Vec<(Instant, String)>>>;

/// Takes everything at once and keeps when and where it was sent.
fn keeping() -> (Post, Kept) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeper = kept.clone();
    let post: Post = Arc::new(move |path, _| {
        keeper.lock().push((Instant::now(), path));
        std::future::ready(Ok(())).boxed()
    });
    (post, kept)
}

#[tokio::test(start_paused = true)]
async fn r15_a_batch_that_is_not_full_is_sent_after_five_seconds() {
    let (post, kept) = keeping();
    let began = Instant::now();
    let exporter = Exporter::start(Metrics::new(), gauges(), post, Pace::default());
    exporter.span(span("a"));
    // The sender's clock starts when it first runs.
    tokio::task::yield_now().await;
    tokio::time::advance(Duration::from_millis(4900)).await;
    tokio::task::yield_now().await;
    assert!(kept.lock().is_empty());
    // The clock of the test is paused, so this moves it on and takes no time.
    tokio::time::sleep_until(began + Duration::from_secs(16)).await;
    let sent: Vec<(Duration, String)> =
        kept.lock().iter().map(|(when, path)| (*when - began, path.clone())).collect();
    let expected = [(5, "/v1/traces"), (15, "/v1/metrics")];
    let seconds: Vec<(u64, &str)> = sent.iter().map(|(when, path)| (when.as_secs(), path.as_str())).collect();
    assert_eq!(seconds, expected);
    assert_eq!(exporter.dropped(), 0);
}

#[tokio::test]
async fn r15_a_trace_that_its_caller_does_not_record_is_not_sent() {
    let mut collector = Collector::start(&[]).await;
    let exporter = Exporter::start(Metrics::new(), gauges(), post_to(&collector.address), Pace::default());
    let silent = Context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", None).unwrap();
    exporter.span(Span::begin("silent", SpanKind::Server, Some(&silent), at(1)));
    exporter.span(span("recorded"));
    exporter.close(LIMIT).await;
    let sent = spans(&collector.next().await.json);
    assert_eq!((sent.len(), &sent[0]["name"], exporter.dropped()), (1, &json!("recorded"), 0));
}

#[tokio::test]
async fn r15_a_span_that_is_too_big_is_cut() {
    let mut collector = Collector::start(&[]).await;
    let exporter = Exporter::start(Metrics::new(), gauges(), post_to(&collector.address), Pace::default());
    let mut big = span(&"ü".repeat(5000));
    for _ in 0..100 {
        big.set("text", "x".repeat(5000).into());
    }
    big.status = SpanStatus::Error("y".repeat(5000));
    exporter.span(big);
    exporter.close(LIMIT).await;
    let sent = &spans(&collector.next().await.json)[0];
    let length = |value: &Value| value.as_str().unwrap().chars().count();
    assert_eq!((length(&sent["name"]), length(&sent["status"]["message"])), (1024, 1024));
    assert_eq!(sent["attributes"].as_array().unwrap().len(), 32);
    assert_eq!(length(&sent["attributes"][0]["value"]["stringValue"]), 1024);
}

/// Keeps the warnings that are logged on this thread.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("toolyard")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().push(message.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn r15_without_a_collector_nothing_blocks_and_one_warning_is_logged() {
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    // A port that was free a moment ago: connecting to it is refused at once.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let (counted, _) = busy();
    let pace = Pace { queue: 10, batch: 5, ..Pace::default() };
    let exporter = Exporter::start(counted.clone(), gauges(), post_to(&gone), pace);
    for number in 0..1000 {
        exporter.span(span(&number.to_string()));
    }
    assert_eq!(exporter.dropped(), 990, "the queue holds ten, and nobody waited");
    // The clock of the test is paused, so two minutes take no time.
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(exporter.dropped(), 1000, "batches that were refused three times are given up");
    assert!(counted.render(&Gauges::default()).contains("toolyard_spans_dropped_total 1000\n"));
    exporter.span(span("late"));
    exporter.close(LIMIT).await;
    exporter.span(span("too late"));
    assert_eq!(exporter.dropped(), 1002);
    assert_eq!(*warnings.0.lock(), ["the OTLP collector is away; trying again, keeping 10 spans"]);
}

#[tokio::test]
async fn r15_a_collector_that_comes_back_is_announced_once_and_gets_the_batch() {
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    let mut collector = Collector::start(&[503, 503]).await;
    let pace = Pace { every: Duration::from_millis(20), metrics_every: LIMIT * 100, ..Pace::default() };
    let exporter = Exporter::start(Metrics::new(), gauges(), post_to(&collector.address), pace);
    exporter.span(span("kept"));
    let sent = spans(&collector.next().await.json);
    assert_eq!(sent[0]["name"], "kept");
    exporter.close(LIMIT).await;
    assert_eq!(exporter.dropped(), 0);
    assert_eq!(
        *warnings.0.lock(),
        [
            "the OTLP collector is away; trying again, keeping 2048 spans",
            "the OTLP collector is back; 0 spans were dropped"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn r15_a_collector_that_takes_only_traces_is_reported_once() {
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    let taken = Arc::new(AtomicUsize::new(0));
    let counting = taken.clone();
    let post: Post = Arc::new(move |path, _| {
        let takes = path == "/v1/traces";
        counting.fetch_add(usize::from(takes), Ordering::Relaxed);
        std::future::ready(if takes { Ok(()) } else { Err("404 Not Found".to_owned()) }).boxed()
    });
    let exporter = Exporter::start(Metrics::new(), gauges(), post, Pace::default());
    for _ in 0..10 {
        exporter.span(span("a"));
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    assert_eq!((taken.load(Ordering::Relaxed), exporter.dropped()), (10, 0));
    assert_eq!(warnings.0.lock().len(), 1, "{:?}", warnings.0.lock());
}

#[tokio::test(start_paused = true)]
async fn r15_closing_gives_up_on_a_collector_that_never_answers() {
    let post: Post = Arc::new(|_, _| std::future::pending().boxed());
    let exporter = Exporter::start(Metrics::new(), gauges(), post, Pace::default());
    exporter.span(span("a"));
    let began = Instant::now();
    exporter.close(Duration::from_secs(2)).await;
    assert_eq!(began.elapsed().as_secs(), 2);
    exporter.close(Duration::from_secs(2)).await;
    assert_eq!(began.elapsed().as_secs(), 2, "closing again has nothing to do");
}
