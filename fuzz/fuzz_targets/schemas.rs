//! Schemas of tools, and arguments that are compared with them or made for them.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Form, Source, equivalent, fill};
use toolyard_core::catalog::consolidate::sample;
use toolyard_core::catalog::{Advertised, Catalog};
use toolyard_fuzz::{LISTING, halves, words};

fuzz_target!(|data: &[u8]| {
    let Some((schema, said)) = halves(data) else { return };
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    let definition = json!({"name": "make_thing", "description": "Makes a thing.", "inputSchema": schema});
    let definition = RawValue::from_string(definition.to_string()).expect("it is JSON");
    let listed = Advertised { server: "desk".into(), tools: vec![definition] };
    let (catalog, _) = Catalog::gather([(listed, LISTING)]);
    let Some(tool) = catalog.tools().first() else { return };
    let form = Form::of(tool);
    if let Ok(Value::Object(arguments)) = serde_json::from_str(said) {
        let fits = form.admits(&arguments);
        let sent: Map<String, Value> =
            serde_json::from_str(&Value::Object(arguments.clone()).to_string()).expect("it is JSON");
        assert_eq!(form.admits(&sent), fits, "sent");
        assert!(equivalent(&Value::Object(sent), &Value::Object(arguments.clone())));
        let _ = (form.admits_part(&arguments), form.is_judged(), form.lacks(&[], &arguments));
    }
    let _ = (form.signature(&[]), form.required().count(), sample(tool, 7));
    let given = Map::new();
    let filling = fill(&form, &words(said, &given));
    let mut seen = HashSet::new();
    for argument in &filling.arguments {
        assert!(seen.insert(&argument.name), "`{}` is filled in twice", argument.name);
        assert!((0.0..=1.0).contains(&argument.confidence), "{argument:?}");
        let alone = Map::from_iter([(argument.name.clone(), argument.value.clone())]);
        assert!(
            argument.source == Source::Given || form.admits_part(&alone),
            "it does not fit: {argument:?}"
        );
    }
});
