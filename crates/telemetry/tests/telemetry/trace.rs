//! W3C trace context in and out of `_meta`.

use serde_json::{Map, Value, json};
use toolyard_telemetry::trace::{Context, Error};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The tracestate that is passed on for one that came in.
fn passed_on(state: &str) -> Option<String> {
    Context::parse(PARENT, Some(state)).unwrap().tracestate().map(str::to_owned)
}

#[test]
fn r15_a_trace_goes_on_from_meta_to_meta() {
    let came = json!({ "traceparent": PARENT, "tracestate": "vendor=1 , t61@sys=x", "progressToken": 7 });
    let context = Context::from_meta(&came).unwrap();
    let child = context.child();
    let mut sent =
        Map::from_iter([("tracestate".to_owned(), Value::from("old=1")), ("kept".to_owned(), 1.into())]);
    child.write_meta(&mut sent);
    let parent = sent["traceparent"].as_str().unwrap();
    assert!(
        parent.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && parent.ends_with("-01"),
        "{parent}"
    );
    assert_ne!(child.span_id(), context.span_id());
    assert_eq!((&sent["tracestate"], &sent["kept"]), (&json!("vendor=1,t61@sys=x"), &json!(1)));
}

#[test]
fn r15_a_context_without_state_removes_the_state_of_another() {
    let mut meta = Map::from_iter([("tracestate".to_owned(), Value::from("old=1"))]);
    Context::parse(PARENT, None).unwrap().write_meta(&mut meta);
    assert_eq!(Value::from(meta), json!({ "traceparent": PARENT }));
}

#[test]
fn r15_a_malformed_traceparent_is_refused() {
    let upper = PARENT.to_uppercase();
    for wrong in [
        "",
        "00",
        &upper,
        &PARENT[..54],
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e47é-00f067aa0ba902b7-01x",
    ] {
        assert!(matches!(Context::parse(wrong, None), Err(Error::Malformed(_))), "{wrong}");
    }
    let version = Context::parse(&PARENT.replacen("00", "ff", 1), None);
    assert!(matches!(version, Err(Error::Version(_))), "{version:?}");
    for zero in [
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    ] {
        assert!(matches!(Context::parse(zero, None), Err(Error::Zero(_))), "{zero}");
    }
    for meta in [json!(null), json!({}), json!({ "traceparent": 5 }), json!({ "traceparent": "nonsense" })] {
        assert_eq!(Context::from_meta(&meta), None);
    }
}

#[test]
fn r15_a_later_version_is_read_as_far_as_it_is_known() {
    let context =
        Context::parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff-what", None).unwrap();
    assert_eq!(context.traceparent(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03");
    assert!(context.is_sampled());
    let silent = Context::parse(&PARENT.replace("-01", "-00"), None).unwrap();
    assert!(!silent.is_sampled() && !silent.child().is_sampled());
}

#[test]
fn r15_a_bad_tracestate_is_dropped_and_the_trace_goes_on() {
    let crowd: Vec<String> = (0..33).map(|number| format!("k{number}=v")).collect();
    for wrong in [
        "novalue",
        "Upper=1",
        "a=1,a=2",
        "a=",
        "1a=x",
        "a=b=c",
        "a=\u{e9}",
        "@x=1",
        "a@1x=1",
        &crowd.join(","),
    ] {
        assert_eq!(passed_on(wrong), None, "{wrong}");
    }
    assert_eq!(passed_on(" , a=1,,b=2 "), Some("a=1,b=2".to_owned()));
}

#[test]
fn r15_a_long_tracestate_loses_whole_entries() {
    let long = format!("big={}", "x".repeat(200));
    let small: Vec<String> = (0..12).map(|number| format!("k{number:02}={}", "y".repeat(30))).collect();
    let passed = passed_on(&format!("{long},{}", small.join(","))).unwrap();
    assert_eq!(passed, small.join(","));
    let many: Vec<String> = (0..30).map(|number| format!("k{number:02}={}", "y".repeat(30))).collect();
    let passed = passed_on(&many.join(",")).unwrap();
    assert!(passed.len() <= 512 && many.join(",").starts_with(&passed) && passed.ends_with(&"y".repeat(30)));
}

#[test]
fn r15_new_traces_have_ids_of_their_own() {
    let (one, other) = (Context::root(), Context::root());
    assert_ne!(one.trace_id(), other.trace_id());
    assert_eq!(Context::parse(&one.traceparent(), None), Ok(one));
}
