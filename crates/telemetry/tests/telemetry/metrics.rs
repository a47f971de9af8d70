//! The Prometheus text that a hub serves.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use toolyard_telemetry::{Gauges, Metrics};

use crate::exposition::{self, Sample};
use crate::tool::promtool;

const HOSTILE: [&str; 9] = [
    "",
    "quote\"} toolyard_routes_total{decision=\"act",
    "back\\slash\\",
    "line\nfeed # TYPE x counter\r\n",
    "nul\0bell\u{7}",
    "\u{202e}gnp.exe\u{200b}",
    "日本語の道具",
    "{}=,\u{2028}\u{feff}",
    "{{le=\"+Inf\"}}",
];

/// A hub that did a little of everything.
pub(crate) fn busy() -> (Metrics, Gauges) {
    let metrics = Metrics::new();
    for decision in ["act", "act", "ask", "decline", "plan", "draft", "candidates", "failed"] {
        metrics.route(decision, decision == "plan", Duration::from_millis(3));
    }
    for (tool, outcome, ms) in
        [("create_issue", "answered", 40), ("create_issue", "failed", 80), ("list", "denied", 0)]
    {
        metrics.call("github", tool, outcome, Duration::from_millis(ms));
    }
    metrics.call("files", "read", "unreachable", Duration::from_secs(90));
    metrics.confirmation("asked");
    metrics.confirmation("refused");
    metrics.feedback("right", "cli");
    metrics.feedback("wrong", "picked");
    let gauges = Gauges {
        upstreams: vec![("github".into(), "ready".into()), ("files".into(), "failed".into())],
        tools: 12,
        cache_entries: 3,
        accuracy: Some(0.75),
        dropped_events: 2,
        uptime: Duration::from_millis(1500),
    };
    (metrics, gauges)
}

/// Reads the values of a metric by the values of its labels.
fn values(text: &str, name: &str) -> Vec<(String, f64)> {
    let families = exposition::read(text).unwrap();
    let said = |sample: &Sample| sample.labels.values().cloned().collect::<Vec<_>>().join(" ");
    families[name].samples.iter().map(|sample| (said(sample), sample.value)).collect()
}

fn hostile() -> (Metrics, Gauges) {
    let (metrics, mut gauges) = busy();
    for name in HOSTILE {
        metrics.route(name, false, Duration::MAX);
        metrics.call(name, name, name, Duration::ZERO);
        metrics.confirmation(name);
        metrics.feedback(name, name);
        metrics.feedback("right", name);
        gauges.upstreams.push((name.to_owned(), name.to_owned()));
    }
    let long = "x".repeat(100_000);
    metrics.call(&long, &long, "answered", Duration::ZERO);
    (metrics, gauges)
}

fn crowded() -> (Metrics, Gauges) {
    let metrics = Metrics::new();
    for number in 0..10_000 {
        let server = format!("server-{}", number % 100);
        metrics.call(&server, &format!("tool-{number}"), "answered", Duration::from_millis(5));
    }
    let upstreams = (0..100).map(|number| (format!("server-{number}"), "ready".to_owned())).collect();
    (metrics, Gauges { upstreams, ..Gauges::default() })
}

#[test]
fn r15_every_metric_reads_as_it_was_counted() {
    let (metrics, gauges) = busy();
    let text = metrics.render(&gauges);
    let shown: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains("_bucket") && !line.contains("build_info"))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn r15_a_duration_counts_in_every_bucket_that_it_fits() {
    let metrics = Metrics::new();
    for micros in [100, 101, 1_000_000, 1_000_001] {
        metrics.route("act", false, Duration::from_micros(micros));
    }
    let text = metrics.render(&Gauges::default());
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("toolyard_route_seconds_")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    toolyard_route_seconds_bucket{le="0.0001"} 1
    toolyard_route_seconds_bucket{le="0.00025"} 2
    toolyard_route_seconds_bucket{le="0.0005"} 2
    toolyard_route_seconds_bucket{le="0.001"} 2
    toolyard_route_seconds_bucket{le="0.0025"} 2
    toolyard_route_seconds_bucket{le="0.005"} 2
    toolyard_route_seconds_bucket{le="0.01"} 2
    toolyard_route_seconds_bucket{le="0.025"} 2
    toolyard_route_seconds_bucket{le="0.05"} 2
    toolyard_route_seconds_bucket{le="0.1"} 2
    toolyard_route_seconds_bucket{le="0.25"} 2
    toolyard_route_seconds_bucket{le="0.5"} 2
    toolyard_route_seconds_bucket{le="1"} 3
    toolyard_route_seconds_bucket{le="+Inf"} 4
    toolyard_route_seconds_sum 2.000202
    toolyard_route_seconds_count 4
    "#);
}

#[test]
fn r15_the_text_is_read_by_a_strict_reader() {
    for (metrics, gauges) in [busy(), hostile(), crowded(), (Metrics::new(), Gauges::default())] {
        let text = metrics.render(&gauges);
        exposition::read(&text).unwrap_or_else(|err| panic!("{err}\n{text}"));
    }
}

#[test]
fn r15_promtool_finds_nothing_to_complain_about() {
    for (metrics, gauges) in [busy(), hostile(), crowded(), (Metrics::new(), Gauges::default())] {
        let text = metrics.render(&gauges);
        let Some(verdict) = promtool(&["check", "metrics"], Path::new("."), &text) else { return };
        assert_eq!(verdict, Ok(String::new()), "{text}");
    }
}

#[test]
fn r15_ten_thousand_tools_stay_within_the_bounds() {
    let (metrics, gauges) = crowded();
    let text = metrics.render(&gauges);
    let families = exposition::read(&text).unwrap();
    let calls = &families["toolyard_calls_total"].samples;
    let named = |key: &str| -> BTreeSet<&str> {
        calls.iter().map(|sample| sample.labels[key].as_str()).filter(|name| *name != "other").collect()
    };
    assert_eq!((named("server").len(), named("tool").len()), (64, 200));
    assert!(calls.len() <= 200 + 65, "{} series", calls.len());
    assert_eq!(calls.iter().map(|sample| sample.value).sum::<f64>(), 10_000.0);
    let upstreams = &families["toolyard_upstream_state"].samples;
    let other = upstreams.iter().find(|sample| sample.labels["server"] == "other").unwrap();
    assert_eq!((upstreams.len(), other.value), (65, 36.0));
    assert!(text.len() < 200_000, "{} bytes", text.len());
}

#[test]
fn r15_a_tool_that_has_a_series_keeps_it_in_a_crowd() {
    let (metrics, gauges) = crowded();
    metrics.call("server-0", "tool-0", "answered", Duration::ZERO);
    metrics.call("server-0", "tool-0", "answered", Duration::ZERO);
    let calls = values(&metrics.render(&gauges), "toolyard_calls_total");
    assert!(calls.contains(&("answered server-0 tool-0".to_owned(), 3.0)), "{calls:?}");
}

#[test]
fn r15_hostile_names_become_harmless_labels() {
    let (metrics, gauges) = hostile();
    let text = metrics.render(&gauges);
    let families = exposition::read(&text).unwrap();
    let servers: Vec<&str> = families["toolyard_upstream_state"]
        .samples
        .iter()
        .map(|sample| sample.labels["server"].as_str())
        .collect();
    assert_eq!(
        servers,
        [
            "_gnp.exe_",
            "back\\slash\\",
            "files",
            "github",
            "line_feed # TYPE x counter__",
            "nul_bell_",
            "quote\"} toolyard_routes_total{decision=\"act",
            "unknown",
            "{{le=\"+Inf\"}}",
            "{}=,__",
            "日本語の道具",
        ]
    );
    assert!(families.values().flat_map(|family| &family.samples).all(|sample| {
        sample.labels.values().all(|value| value.chars().count() <= 100 && !value.contains(char::is_control))
    }));
    // Values that the hub itself chooses from a fixed set never carry a stranger's text.
    let decisions = values(&text, "toolyard_routes_total");
    assert!(decisions.contains(&("other".to_owned(), 9.0)) && decisions.len() == 8, "{decisions:?}");
}

#[test]
fn r15_names_that_clean_to_the_same_share_a_series() {
    let metrics = Metrics::new();
    for tool in ["a\u{0}", "a\u{1}", "a_"] {
        metrics.call("s", tool, "answered", Duration::ZERO);
    }
    let text = metrics.render(&Gauges::default());
    assert_eq!(values(&text, "toolyard_calls_total"), [("answered s a_".to_owned(), 3.0)]);
}

#[test]
fn r15_clones_on_many_threads_lose_no_count() {
    let metrics = Metrics::new();
    std::thread::scope(|threads| {
        for number in 0..4 {
            let metrics = metrics.clone();
            threads.spawn(move || {
                for turn in 0..1000 {
                    metrics.route("act", turn % 2 == 0, Duration::from_micros(300));
                    metrics.call(
                        &format!("s{number}"),
                        &format!("t{}", turn % 10),
                        "answered",
                        Duration::ZERO,
                    );
                }
            });
        }
    });
    let numbers = metrics.snapshot();
    assert_eq!((numbers.routes, numbers.cache_hits, numbers.calls), (4000, 2000, 4000));
}

#[test]
#[ignore = "measures; run it alone and with --release for a number that means something"]
fn r15_measure_what_recording_costs() {
    const TURNS: u32 = 1_000_000;
    let metrics = Metrics::new();
    let began = Instant::now();
    for turn in 0..TURNS {
        metrics.route("act", turn % 3 == 0, Duration::from_micros(u64::from(turn % 2000)));
    }
    let route = began.elapsed() / TURNS;
    let began = Instant::now();
    for turn in 0..TURNS {
        metrics.call("github", "create_issue", "answered", Duration::from_micros(u64::from(turn % 2000)));
    }
    let call = began.elapsed() / TURNS;
    assert_eq!(metrics.snapshot().routes, u64::from(TURNS));
    let said = format!("route(): {} ns, call(): {} ns\n", route.as_nanos(), call.as_nanos());
    std::io::stderr().write_all(said.as_bytes()).unwrap();
}
