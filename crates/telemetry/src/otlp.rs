//! Spans and metrics to an OpenTelemetry collector, by OTLP/HTTP with JSON.
//!
//! Nobody waits for the collector. Spans go into a bounded queue; what does not fit is dropped and counted. One task
//! sends them in batches, and says once that the collector is away and once that it is back.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use crate::metrics::{Gauges, Metrics};
use crate::span::Span;

mod encode;

/// How often a batch is offered before it is dropped. A collector that refuses a batch must not hold up all later ones.
const TRIES: u32 = 3;
/// Characters of an error that are logged.
const ERROR_LENGTH: usize = 300;

/// Posts JSON to a path below the endpoint, `/v1/traces` or `/v1/metrics`, and says why it failed.
pub type Post = Arc<dyn Fn(String, String) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Reads the gauges at the moment of sending.
pub type GaugeReader = Arc<dyn Fn() -> Gauges + Send + Sync>;

/// How much is kept, and how often it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Spans that wait; more are dropped.
    pub queue: usize,
    /// Spans that are sent at once.
    pub batch: usize,
    /// How often a batch is sent that is not full.
    pub every: Duration,
    /// How often metrics are sent.
    pub metrics_every: Duration,
    /// How long the collector may take to answer.
    pub patience: Duration,
}

/// Sends spans and metrics to a collector until it is closed. Dropping it stops it at once, without sending the rest.
#[derive(Debug)]
pub struct Exporter {
    metrics: Metrics,
    queue: mpsc::Sender<Span>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// The task that sends.
struct Sender {
    metrics: Metrics,
    gauges: GaugeReader,
    post: Post,
    pace: Pace,
    resource: Value,
    queue: mpsc::Receiver<Span>,
    /// The batch to send next.
    batch: Vec<Span>,
    /// How often it was offered in vain.
    tries: u32,
    /// The signals that the collector did not take the last time.
    refused: Vec<Signal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Traces,
    Metrics,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            queue: 2048,
            batch: 512,
            every: Duration::from_secs(5),
            metrics_every: Duration::from_secs(15),
            patience: Duration::from_secs(10),
        }
    }
}

impl Exporter {
    /// Starts to send, on the tokio runtime that it is called on.
    pub fn start(metrics: Metrics, gauges: GaugeReader, post: Post, pace: Pace) -> Self {
        let pace = Pace { queue: pace.queue.max(1), batch: pace.batch.max(1), ..pace };
        let (queue, waiting) = mpsc::channel(pace.queue);
        let (stop, stopped) = oneshot::channel();
        let sender = Sender {
            metrics: metrics.clone(),
            gauges,
            post,
            pace,
            resource: encode::resource(),
            queue: waiting,
            batch: Vec::new(),
            tries: 0,
            refused: Vec::new(),
        };
        let task = tokio::spawn(sender.run(stopped));
        Self { metrics, queue, running: Mutex::new(Some(Running { stop, task })) }
    }

    /// Queues a finished span. A span of a trace that its caller does not record is not sent.
    pub fn span(&self, mut span: Span) {
        if !span.context.is_sampled() {
            return;
        }
        span.clip();
        if self.queue.try_send(span).is_err() {
            self.metrics.drop_spans(1);
        }
    }

    /// Returns how many spans were dropped.
    pub fn dropped(&self) -> u64 {
        self.metrics.dropped_spans()
    }

    /// Sends what is queued and the metrics once more, but gives up after a while. Spans that come later are dropped.
    pub async fn close(&self, limit: Duration) {
        let Some(Running { stop, mut task }) = self.running.lock().take() else { return };
        // A task that ended already has nothing to send.
        let _ = stop.send(());
        if timeout(limit, &mut task).await.is_err() {
            task.abort();
            tracing::warn!("the OTLP collector did not take the last spans and metrics within {limit:?}");
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut().take() {
            running.task.abort();
        }
    }
}

impl Sender {
    async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        let mut spans_due = ticks(self.pace.every);
        let mut metrics_due = ticks(self.pace.metrics_every);
        loop {
            let room = self.pace.batch - self.batch.len();
            tokio::select! {
                biased;
                _ = &mut stop => break,
                _ = spans_due.tick() => self.send_spans().await,
                _ = metrics_due.tick() => self.send_metrics().await,
                _ = self.queue.recv_many(&mut self.batch, room), if room > 0 => {
                    // A batch that was refused waits for its time, full or not.
                    if self.batch.len() >= self.pace.batch && self.tries == 0 {
                        self.send_spans().await;
                        spans_due.reset();
                    }
                }
            }
        }
        self.finish().await;
    }

    /// Offers everything that waits once, and stops at the first batch that is not taken.
    async fn finish(&mut self) {
        self.queue.close();
        loop {
            while self.batch.len() < self.pace.batch
                && let Ok(span) = self.queue.try_recv()
            {
                self.batch.push(span);
            }
            if self.batch.is_empty() {
                break;
            }
            self.send_spans().await;
            if !self.batch.is_empty() || self.refused.contains(&Signal::Traces) {
                self.metrics.drop_spans(self.batch.len() + self.queue.len());
                break;
            }
        }
        self.send_metrics().await;
    }

    async fn send_spans(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let json = encode::traces(&self.resource, &self.batch);
        if self.deliver(Signal::Traces, json).await {
            self.batch.clear();
            self.tries = 0;
            return;
        }
        self.tries += 1;
        if self.tries >= TRIES {
            self.metrics.drop_spans(self.batch.len());
            self.batch.clear();
            self.tries = 0;
        }
    }

    async fn send_metrics(&mut self) {
        let families = self.metrics.families(&(self.gauges)());
        let period = encode::Period { start: self.metrics.started(), end: SystemTime::now() };
        let json = encode::metrics(&self.resource, &families, period);
        self.deliver(Signal::Metrics, json).await;
    }

    /// Posts to the collector, and tells whether it took it.
    async fn deliver(&mut self, signal: Signal, json: String) -> bool {
        let patience = self.pace.patience;
        let answer = timeout(patience, (self.post)(signal.path().to_owned(), json)).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {patience:?}")));
        self.note(signal, answer.as_ref().err().map(String::as_str));
        answer.is_ok()
    }

    /// Says once that the collector is away, and once that it takes everything again. A collector that takes only one
    /// signal is reported once, too.
    fn note(&mut self, signal: Signal, error: Option<&str>) {
        let was_away = !self.refused.is_empty();
        self.refused.retain(|refused| *refused != signal);
        if let Some(error) = error {
            self.refused.push(signal);
            let error: String = error.chars().take(ERROR_LENGTH).collect();
            if was_away {
                tracing::debug!(?signal, %error, "the OTLP collector is still away");
            } else {
                tracing::warn!(?signal, %error, "the OTLP collector is away; trying again, keeping {} spans",
                    self.pace.queue);
            }
        } else if was_away && self.refused.is_empty() {
            tracing::warn!("the OTLP collector is back; {} spans were dropped", self.metrics.dropped_spans());
        }
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl Signal {
    fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
        }
    }
}

fn ticks(every: Duration) -> Interval {
    // An interval of zero would panic.
    let every = every.max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
