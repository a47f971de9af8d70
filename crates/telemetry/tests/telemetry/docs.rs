//! The dashboard, the alert rules and the list of metrics name only what the hub really serves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::exposition;
use crate::metrics::busy;
use crate::tool::promtool;

fn doc(name: &str) -> String {
    let path = docs_folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

fn docs_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Everything in a text that looks like one of our metrics.
fn named(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    text.split(|letter| !is_part(letter)).filter(|word| word.starts_with("toolyard_")).collect()
}

/// The families that a hub serves, and the names of all their samples.
fn served() -> (BTreeSet<String>, BTreeSet<String>) {
    let (metrics, gauges) = busy();
    let families = exposition::read(&metrics.render(&gauges)).unwrap();
    let samples = families.values().flat_map(|family| &family.samples).map(|sample| sample.name.clone());
    (families.keys().cloned().collect(), samples.collect())
}

#[test]
fn r15_the_dashboard_and_the_alerts_name_only_metrics_that_exist() {
    let (families, samples) = served();
    for name in ["grafana.json", "alerts.yml", "metrics.md"] {
        let text = doc(name);
        let words = named(&text);
        assert!(words.len() > 5, "{name} names {words:?}");
        for word in words {
            let exists = samples.contains(word) || (name == "metrics.md" && families.contains(word));
            assert!(exists, "`{word}` in docs/{name} is not served");
        }
    }
}

#[test]
fn r15_every_metric_is_documented() {
    let text = doc("metrics.md");
    let documented = named(&text);
    for family in served().0 {
        assert!(documented.contains(family.as_str()), "docs/metrics.md does not mention `{family}`");
    }
}

#[test]
fn r15_the_dashboard_is_one_that_grafana_can_import() {
    let dashboard: Value = serde_json::from_str(&doc("grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "every panel has an id of its own");
    for panel in panels {
        let place = &panel["gridPos"];
        assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            assert!(target["expr"].is_string() && target["datasource"]["uid"] == "${datasource}", "{panel}");
        }
    }
}

#[test]
fn r15_promtool_reads_every_query_of_the_dashboard() {
    let dashboard: Value = serde_json::from_str(&doc("grafana.json")).unwrap();
    let targets =
        dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array());
    let mut rules = String::from("groups:\n- name: dashboard\n  rules:\n");
    for (number, target) in targets.flatten().enumerate() {
        let query = target["expr"].as_str().unwrap().replace("$__rate_interval", "5m");
        rules.push_str(&format!("  - record: query:{number}\n    expr: '{}'\n", query.replace('\'', "''")));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("queries.yml"), rules).unwrap();
    let Some(verdict) = promtool(&["check", "rules", "queries.yml"], folder.path(), "") else { return };
    assert!(verdict.is_ok(), "{verdict:?}");
}

#[test]
fn r15_promtool_accepts_the_alert_rules() {
    let Some(verdict) = promtool(&["check", "rules", "alerts.yml"], &docs_folder(), "") else { return };
    assert!(verdict.as_ref().is_ok_and(|said| said.contains("SUCCESS: 7 rules found")), "{verdict:?}");
}

#[test]
fn r15_each_alert_fires_when_it_should_and_stays_silent_otherwise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/telemetry");
    let Some(verdict) = promtool(&["test", "rules", "alerts.yml", "accuracy.yml"], &folder, "") else {
        return;
    };
    assert!(verdict.is_ok(), "{}", verdict.unwrap_err());
}
