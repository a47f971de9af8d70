//! YAML and JSON with comments, as people write them.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use toolyard_fuzz::{check_places, text};
use toolyard_hub::fuzzing::page;

fuzz_target!(|data: &[u8]| {
    let Some(text) = text(data) else { return };
    let (yaml, json) = (Path::new("a.yaml"), Path::new("a.json"));
    for form in [yaml, json] {
        match page(text, form) {
            Err(mistakes) => check_places(text, &mistakes),
            Ok(value) => {
                let written = value.to_string();
                assert_eq!(page(&written, json).as_ref(), Ok(&value), "JSON says the same in every reader");
                // JSON is YAML, but for a few things that are refused; it never says something else there.
                if let Ok(again) = page(&written, yaml) {
                    assert_eq!(again, value, "{written}");
                }
            }
        }
    }
});
