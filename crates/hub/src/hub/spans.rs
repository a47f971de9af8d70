//! What an OpenTelemetry collector is told: a span for each request in words and for each call of a tool.
//!
//! The trace of a client goes on through the hub to the server, in `_meta`. Without a collector nothing is made.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use serde_json::{Map, Value};
use toolyard_telemetry::otlp::{Exporter, Pace, Post};
use toolyard_telemetry::trace::Context;
use toolyard_telemetry::{Gauges, Metrics, Span, SpanKind, SpanStatus};

use super::Hub;
use crate::config::Collector;
use crate::jsonrpc::{Fields, raw};

/// How long the rest may take to be sent when the hub ends.
const LAST: Duration = Duration::from_secs(2);

/// Tells a collector what happens, where there is one.
#[derive(Debug, Default)]
pub(super) struct Tracer(OnceLock<Exporter>);

impl Tracer {
    /// Begins to tell a collector.
    pub(super) fn start(&self, hub: &Arc<Hub>, collector: &Collector, http: &reqwest::Client) {
        let weak = Arc::downgrade(hub);
        let gauges = Arc::new(move || Weak::upgrade(&weak).map_or_else(Gauges::default, |hub| hub.gauges()));
        let metrics: Metrics = hub.metrics.clone();
        let exporter =
            Exporter::start(metrics, gauges, post(collector.clone(), http.clone()), Pace::default());
        let _ = self.0.set(exporter);
    }

    /// Sends the rest.
    pub(super) async fn close(&self) {
        if let Some(exporter) = self.0.get() {
            exporter.close(LAST).await;
        }
    }
}

fn post(collector: Collector, http: reqwest::Client) -> Post {
    Arc::new(move |path: String, body: String| {
        let mut request = http
            .post(format!("{}{path}", collector.endpoint))
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(body);
        for (name, value) in &collector.headers {
            request = request.header(name, value);
        }
        async move {
            let answer = request.send().await.map_err(|err| err.to_string())?;
            answer.error_for_status().map(|_| ()).map_err(|err| err.to_string())
        }
        .boxed()
    })
}

impl Hub {
    /// Begins a span within the trace of a request, and makes it the parent of what the request causes.
    pub(crate) fn begin_span(&self, name: &str, kind: SpanKind, params: &mut Fields) -> Option<Span> {
        self.tracer.0.get()?;
        let mut meta: Map<String, Value> = params.read("_meta").unwrap_or_default();
        let parent = Context::from_meta(&Value::Object(meta.clone()));
        let span = Span::begin(name, kind, parent.as_ref(), SystemTime::now());
        span.context.write_meta(&mut meta);
        params.set("_meta", raw(&meta));
        Some(span)
    }

    /// Ends a span and tells the collector of it.
    pub(crate) fn end_span(&self, span: Option<Span>, failed: Option<String>) {
        if let (Some(span), Some(exporter)) = (span, self.tracer.0.get()) {
            exporter.span(span.finish(SystemTime::now(), failed.map_or(SpanStatus::Ok, SpanStatus::Error)));
        }
    }
}
