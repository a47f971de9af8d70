//! The numbers that a dashboard shows.

use std::time::Duration;

use toolyard_telemetry::{Metrics, Numbers};

use crate::metrics::busy;

#[test]
fn r15_the_numbers_say_what_the_hub_did() {
    let (metrics, _) = busy();
    let numbers = serde_json::to_string_pretty(&metrics.snapshot()).unwrap();
    insta::assert_snapshot!(numbers);
    assert_eq!(serde_json::from_str::<Numbers>(&numbers).unwrap(), metrics.snapshot());
}

#[test]
fn r15_a_hub_that_did_nothing_has_no_rates() {
    let numbers = Metrics::new().snapshot();
    assert_eq!(
        (numbers.clarification_rate, numbers.cache_hit_rate, numbers.accuracy, numbers.routing.p95_ms),
        (None, None, None, None)
    );
    assert_eq!((numbers.requests_last_minute, numbers.routes), (0, 0));
    assert!(numbers.servers.is_empty() && numbers.tools.is_empty());
}

#[test]
fn r15_percentiles_lie_within_the_right_bucket() {
    let metrics = Metrics::new();
    for _ in 0..90 {
        metrics.route("act", false, Duration::from_millis(2));
    }
    for _ in 0..10 {
        metrics.route("act", false, Duration::from_millis(400));
    }
    let routing = metrics.snapshot().routing;
    let (p50, p95) = (routing.p50_ms.unwrap(), routing.p95_ms.unwrap());
    assert!((1.0..=2.5).contains(&p50) && (250.0..=500.0).contains(&p95), "{routing:?}");
    assert!((routing.mean_ms.unwrap() - 41.8).abs() < 1e-6, "{routing:?}");
}

#[test]
fn r15_what_takes_longer_than_all_buckets_counts_as_the_last_bound() {
    let metrics = Metrics::new();
    metrics.call("s", "t", "unreachable", Duration::from_secs(600));
    let numbers = metrics.snapshot();
    assert_eq!(numbers.servers[0].latency.p50_ms, Some(60_000.0));
}

#[test]
fn r15_the_twenty_most_called_tools_are_listed_first_to_last() {
    let metrics = Metrics::new();
    for tool in 0..30 {
        for _ in 0..=tool {
            metrics.call("s", &format!("t{tool}"), "answered", Duration::ZERO);
        }
    }
    let tools = metrics.snapshot().tools;
    let called: Vec<(String, u64)> = tools.into_iter().map(|tool| (tool.tool, tool.calls)).collect();
    let expected: Vec<(String, u64)> = (10..30).rev().map(|tool| (format!("t{tool}"), tool + 1)).collect();
    assert_eq!(called, expected);
}

#[test]
fn r15_only_faults_of_servers_and_tools_count_as_errors() {
    let metrics = Metrics::new();
    let outcomes =
        ["answered", "failed", "refused", "unreachable", "denied", "unconfirmed", "held-back", "abandoned"];
    for outcome in outcomes {
        metrics.call("s", "t", outcome, Duration::ZERO);
    }
    let numbers = metrics.snapshot();
    assert_eq!((numbers.calls, numbers.errors, numbers.servers[0].errors), (8, 3, 3));
}

#[test]
fn r15_a_call_that_never_reached_its_server_is_not_timed() {
    let metrics = Metrics::new();
    metrics.call("s", "t", "denied", Duration::ZERO);
    assert_eq!(metrics.snapshot().tools[0].latency.p50_ms, None);
    metrics.call("s", "t", "answered", Duration::from_millis(80));
    metrics.call("s", "t", "held-back", Duration::ZERO);
    let latency = metrics.snapshot().tools[0].latency;
    assert_eq!((latency.mean_ms, latency.p50_ms), (Some(80.0), Some(75.0)));
}

#[test]
fn r15_accuracy_is_the_share_of_feedback_that_says_right() {
    let metrics = Metrics::new();
    for verdict in ["right", "right", "right", "wrong", "perhaps"] {
        metrics.feedback(verdict, "dashboard");
    }
    let numbers = metrics.snapshot();
    assert_eq!((numbers.accuracy, numbers.feedback.right, numbers.feedback.wrong), (Some(0.75), 3, 1));
}
