//! The front door: record what the hub does, and read it in every form.
//!
//! Recording is a few atomic operations; a call takes one shared lock besides. All formats are written from the same
//! list of families, so a metric has one name, one help text and one unit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::calls::{CallCounts, ServerReading};
use crate::counter::{Counts, LastMinute};
use crate::family::{Family, Labels, Points};
use crate::histogram::{Distribution, Histogram, ROUTING};
use crate::label::{OTHER, clean};
use crate::numbers::{FeedbackNumbers, LatencyNumbers, Numbers, ServerNumbers, ToolNumbers, share};
use crate::text;

/// The decision that asks back; its share of all routes is the clarification rate.
const ASK: &str = "ask";
const DECISIONS: &[&str] = &["act", "draft", ASK, "decline", "plan", "candidates", "failed"];
const HIT: &str = "hit";
const MISS: &str = "miss";
const CACHE_RESULTS: &[&str] = &[HIT, MISS];
const CONFIRMATIONS: &[&str] = &["asked", "confirmed", "refused"];
const RIGHT: &str = "right";
const WRONG: &str = "wrong";
const SOURCES: &[&str] =
    &["dashboard", "cli", "client", "picked", "followed", "repeated", "confirmed", "refused"];
/// States of upstream servers that are told apart.
const STATES: usize = 16;

/// Counts what a hub does. Clones count into the same numbers.
#[derive(Clone, Debug)]
pub struct Metrics {
    counted: Arc<Counted>,
}

/// What only the hub knows at the moment of reading.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// Each upstream server with its state, such as `ready` or `failed`.
    pub upstreams: Vec<(String, String)>,
    /// Tools in the catalog.
    pub tools: u64,
    /// Entries in the route cache.
    pub cache_entries: u64,
    /// The share of stored feedback that says the route was right. `None` takes the feedback since the start instead.
    pub accuracy: Option<f64>,
    /// Events that did not fit into the queue of the history.
    pub dropped_events: u64,
    /// How long the hub has been running.
    pub uptime: Duration,
}

#[derive(Debug)]
struct Counted {
    /// When counting began, on the clock that never goes back.
    start: Instant,
    /// The same by the calendar, for collectors.
    started: SystemTime,
    decisions: Counts,
    cache: Counts,
    routing: Histogram,
    last_minute: LastMinute,
    calls: CallCounts,
    confirmations: Counts,
    right: Counts,
    wrong: Counts,
    dropped_spans: AtomicU64,
    is_on: AtomicBool,
}

impl Metrics {
    /// Starts counting at zero.
    pub fn new() -> Self {
        let counted = Counted {
            start: Instant::now(),
            started: SystemTime::now(),
            decisions: Counts::new(DECISIONS),
            cache: Counts::new(CACHE_RESULTS),
            routing: Histogram::new(ROUTING),
            last_minute: LastMinute::new(),
            calls: CallCounts::new(),
            confirmations: Counts::new(CONFIRMATIONS),
            right: Counts::new(SOURCES),
            wrong: Counts::new(SOURCES),
            dropped_spans: AtomicU64::new(0),
            is_on: AtomicBool::new(true),
        };
        Self { counted: Arc::new(counted) }
    }

    /// Switches counting on or off. What was counted stays.
    pub fn switch(&self, is_on: bool) {
        self.counted.is_on.store(is_on, Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        self.counted.is_on.load(Ordering::Relaxed)
    }

    /// Counts a route: `act`, `draft`, `ask`, `decline`, `plan`, `candidates` or `failed`.
    pub fn route(&self, decision: &str, cached: bool, took: Duration) {
        if !self.is_on() {
            return;
        }
        let counted = &*self.counted;
        counted.decisions.add(decision);
        counted.cache.add(if cached { HIT } else { MISS });
        counted.routing.observe(took);
        counted.last_minute.add(counted.start.elapsed().as_secs());
    }

    /// Counts a call of a tool, by the tool's name at its server and by how the call ended. The time counts only if the
    /// server saw the call to its end.
    pub fn call(&self, server: &str, tool: &str, outcome: &str, took: Duration) {
        if self.is_on() {
            self.counted.calls.record(server, tool, outcome, took);
        }
    }

    /// Counts a step of a confirmation: `asked`, `confirmed` or `refused`.
    pub fn confirmation(&self, outcome: &str) {
        if self.is_on() {
            self.counted.confirmations.add(outcome);
        }
    }

    /// Counts feedback, by verdict (`right` or `wrong`) and by where it came from. Another verdict is ignored, since it
    /// says nothing about accuracy.
    pub fn feedback(&self, verdict: &str, source: &str) {
        match verdict {
            RIGHT | WRONG if !self.is_on() => {}
            RIGHT => self.counted.right.add(source),
            WRONG => self.counted.wrong.add(source),
            unknown => tracing::debug!(verdict = %clean(unknown), "unknown verdict not counted"),
        }
    }

    /// Writes everything as Prometheus text 0.0.4.
    pub fn render(&self, gauges: &Gauges) -> String {
        text::write(&self.families(gauges))
    }

    /// Returns everything as plain numbers.
    pub fn snapshot(&self) -> Numbers {
        let counted = &*self.counted;
        let decisions = counted.decisions.read();
        let routes = decisions.iter().map(|(_, count)| count).sum();
        let cache = counted.cache.read();
        let (hits, misses) = (count_of(&cache, HIT), count_of(&cache, MISS));
        let servers = counted.calls.read();
        Numbers {
            requests_last_minute: counted.requests_last_minute(),
            routes,
            clarification_rate: share(count_of(&decisions, ASK), routes),
            decisions: owned(&decisions),
            cache_hits: hits,
            cache_misses: misses,
            cache_hit_rate: share(hits, hits + misses),
            routing: LatencyNumbers::read(&counted.routing.read()),
            calls: servers.iter().map(ServerReading::calls).sum(),
            errors: servers.iter().map(ServerReading::errors).sum(),
            tools: ToolNumbers::top(&servers),
            servers: ServerNumbers::list(&servers),
            confirmations: owned(&counted.confirmations.read()),
            feedback: counted.feedback(),
            accuracy: counted.accuracy(),
        }
    }

    /// Returns every metric that has a reading.
    pub(crate) fn families(&self, gauges: &Gauges) -> Vec<Family> {
        let mut families = self.counted.families();
        families.extend(self.gauge_families(gauges));
        families.retain(|family| !family.points.is_empty());
        families
    }

    /// Returns when counting began.
    pub(crate) fn started(&self) -> SystemTime {
        self.counted.started
    }

    /// Counts spans that did not fit into the queue or that no collector took.
    pub(crate) fn drop_spans(&self, count: usize) {
        self.counted.dropped_spans.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn dropped_spans(&self) -> u64 {
        self.counted.dropped_spans.load(Ordering::Relaxed)
    }

    fn gauge_families(&self, gauges: &Gauges) -> [Family; 9] {
        let accuracy = gauges.accuracy.or_else(|| self.counted.accuracy());
        let requests = self.counted.requests_last_minute();
        let version = labels(&[("version", env!("CARGO_PKG_VERSION"))]);
        [
            Family {
                name: "toolyard_events_dropped_total",
                help: "Events that did not fit into the queue of the history.",
                unit: "{event}",
                points: Points::Counter(vec![(Labels::new(), gauges.dropped_events)]),
            },
            Family {
                name: "toolyard_spans_dropped_total",
                help: "Spans that were not delivered to the OTLP collector.",
                unit: "{span}",
                points: Points::Counter(vec![(Labels::new(), self.dropped_spans())]),
            },
            Family {
                name: "toolyard_requests_per_minute",
                help: "Routes within the last 60 seconds.",
                unit: "{request}",
                points: level(requests as f64),
            },
            Family {
                name: "toolyard_upstream_state",
                help: "Upstream servers by name, 1 for the state that each is in.",
                unit: "{server}",
                points: Points::Gauge(self.upstream_states(&gauges.upstreams)),
            },
            Family {
                name: "toolyard_tools",
                help: "Tools in the catalog.",
                unit: "{tool}",
                points: level(gauges.tools as f64),
            },
            Family {
                name: "toolyard_route_cache_entries",
                help: "Entries in the route cache.",
                unit: "{entry}",
                points: level(gauges.cache_entries as f64),
            },
            Family {
                name: "toolyard_accuracy_ratio",
                help: "Share of feedback that says the route was right.",
                unit: "1",
                points: Points::Gauge(accuracy.map(|value| (Labels::new(), value)).into_iter().collect()),
            },
            Family {
                name: "toolyard_uptime_seconds",
                help: "Time since the hub started.",
                unit: "s",
                points: level(gauges.uptime.as_secs_f64()),
            },
            Family {
                name: "toolyard_build_info",
                help: "Always 1, with the version of the hub as a label.",
                unit: "1",
                points: Points::Gauge(vec![(version, 1.0)]),
            },
        ]
    }

    /// Counts upstream servers by label and state. Servers that share the label `other` add up.
    fn upstream_states(&self, upstreams: &[(String, String)]) -> Vec<(Labels, f64)> {
        let servers = self.counted.calls.server_labels(upstreams.iter().map(|(server, _)| server.as_str()));
        let mut seen = BTreeSet::new();
        let mut states: BTreeMap<(String, String), f64> = BTreeMap::new();
        for (server, (_, state)) in servers.into_iter().zip(upstreams) {
            let state = clean(state);
            let has_room = seen.len() < STATES || seen.contains(&*state);
            let state = if has_room { state.into_owned() } else { OTHER.to_owned() };
            seen.insert(state.clone());
            *states.entry((server, state)).or_default() += 1.0;
        }
        let labelled = states
            .into_iter()
            .map(|((server, state), count)| (vec![("server", server), ("state", state)], count));
        labelled.collect()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Counted {
    fn families(&self) -> Vec<Family> {
        let servers = self.calls.read();
        vec![
            Family {
                name: "toolyard_routes_total",
                help: "Routes by decision.",
                unit: "{route}",
                points: by_name("decision", &self.decisions),
            },
            Family {
                name: "toolyard_route_cache_total",
                help: "Routes by whether the cache answered them.",
                unit: "{route}",
                points: by_name("result", &self.cache),
            },
            Family {
                name: "toolyard_route_seconds",
                help: "How long routing took, without the call.",
                unit: "s",
                points: Points::Histogram(vec![(Labels::new(), self.routing.read())]),
            },
            Family {
                name: "toolyard_calls_total",
                help: "Calls by server, tool and outcome.",
                unit: "{call}",
                points: Points::Counter(call_counts(&servers)),
            },
            Family {
                name: "toolyard_call_seconds",
                help: "How long calls took that reached the server.",
                unit: "s",
                points: Points::Histogram(call_durations(&servers)),
            },
            Family {
                name: "toolyard_tool_seconds_total",
                help: "Time spent in calls that reached the server.",
                unit: "s",
                points: Points::Seconds(tool_seconds(&servers)),
            },
            Family {
                name: "toolyard_confirmations_total",
                help: "Confirmations by whether they were asked for, given or refused.",
                unit: "{confirmation}",
                points: by_name("outcome", &self.confirmations),
            },
            Family {
                name: "toolyard_feedback_total",
                help: "Feedback on routes by verdict and source.",
                unit: "{verdict}",
                points: Points::Counter(self.feedback_counts()),
            },
        ]
    }

    fn feedback_counts(&self) -> Vec<(Labels, u64)> {
        let verdicts = [(RIGHT, &self.right), (WRONG, &self.wrong)].into_iter();
        let counts = verdicts.flat_map(|(verdict, counts)| {
            let read = counts.read().into_iter();
            read.map(move |(source, count)| (labels(&[("verdict", verdict), ("source", source)]), count))
        });
        counts.collect()
    }

    fn feedback(&self) -> FeedbackNumbers {
        let mut sources = BTreeMap::new();
        for (source, count) in self.right.read().into_iter().chain(self.wrong.read()) {
            if count > 0 {
                *sources.entry(source.to_owned()).or_default() += count;
            }
        }
        FeedbackNumbers { right: self.right.total(), wrong: self.wrong.total(), sources }
    }

    fn accuracy(&self) -> Option<f64> {
        let (right, wrong) = (self.right.total(), self.wrong.total());
        share(right, right + wrong)
    }

    fn requests_last_minute(&self) -> u64 {
        self.last_minute.total(self.start.elapsed().as_secs())
    }
}

fn labels(pairs: &[(&'static str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
}

/// One series without labels.
fn level(value: f64) -> Points {
    Points::Gauge(vec![(Labels::new(), value)])
}

/// One series for each name of a fixed set.
fn by_name(key: &'static str, counts: &Counts) -> Points {
    Points::Counter(counts.read().into_iter().map(|(name, count)| (labels(&[(key, name)]), count)).collect())
}

fn call_counts(servers: &[ServerReading]) -> Vec<(Labels, u64)> {
    let mut series = Vec::new();
    for read in servers {
        for tool in &read.tools {
            for (outcome, count) in &tool.outcomes {
                let named = [("server", read.server.as_str()), ("tool", &tool.tool), ("outcome", outcome)];
                series.push((labels(&named), *count));
            }
        }
    }
    series
}

fn call_durations(servers: &[ServerReading]) -> Vec<(Labels, Distribution)> {
    servers.iter().map(|read| (labels(&[("server", &read.server)]), read.took.clone())).collect()
}

fn tool_seconds(servers: &[ServerReading]) -> Vec<(Labels, f64)> {
    let per_tool = servers.iter().flat_map(|read| {
        let named = |tool: &str| labels(&[("server", read.server.as_str()), ("tool", tool)]);
        read.tools.iter().map(move |tool| (named(&tool.tool), tool.took.sum_seconds()))
    });
    per_tool.collect()
}

fn count_of(counts: &[(&str, u64)], name: &str) -> u64 {
    counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
}

fn owned(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}
