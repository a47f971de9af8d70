//! Workflows that somebody wrote, in JSON and in YAML.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use serde_json::{Map, json};
use toolyard_core::catalog::{Advertised, Catalog};
use toolyard_core::plan::Plan;
use toolyard_fuzz::{LISTING, check_places, text};
use toolyard_hub::fuzzing::page;
use toolyard_hub::workflows::Template;

fuzz_target!(|data: &[u8]| {
    let Some(text) = text(data) else { return };
    let (yaml, json) = (Path::new("a.yaml"), Path::new("a.json"));
    for form in [yaml, json] {
        let template = match Template::parse(text, form) {
            Ok(template) => template,
            Err(mistakes) => {
                check_places(text, &mistakes);
                continue;
            }
        };
        let value = page(text, form).expect("what is a workflow can be read");
        assert_eq!(Template::parse(&value.to_string(), json).as_ref(), Ok(&template), "the same in JSON");
        assert!(template.steps().len() <= Plan::MAX_STEPS);
        assert_eq!(template.definition()["name"], template.name.as_str());
        run(&template);
    }
});

/// Makes a plan of it, on tools that are there because it names them.
fn run(template: &Template) {
    let mut listed: Vec<(Advertised, _)> = Vec::new();
    for tool in template.tools() {
        let Some((server, name)) = tool.as_str().split_once("__") else { continue };
        let definition =
            RawValue::from_string(json!({"name": name, "inputSchema": {"type": "object"}}).to_string());
        let definition = definition.expect("it is JSON");
        match listed.iter_mut().find(|(it, _)| &*it.server == server) {
            Some((it, _)) => it.tools.push(definition),
            None => listed.push((Advertised { server: server.into(), tools: vec![definition] }, LISTING)),
        }
    }
    let (catalog, _) = Catalog::gather(listed);
    let Some(template) = template.on(&catalog) else { return };
    if let Ok(plan) = template.plan(&catalog, &Map::new(), |_| None) {
        assert_eq!(plan.steps().len(), template.steps().len());
        assert_eq!(plan.digest(), plan.clone().digest());
        let _ = (plan.render(), plan.estimate_ms(), plan.effect());
    }
}
