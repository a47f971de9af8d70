//! Settings files: ours, and those of other programs that are imported.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use toolyard_fuzz::{check_places, text};
use toolyard_hub::clients::{self, Client};
use toolyard_hub::config::{self, Config, Folders, Mistake, edit};

fuzz_target!(|data: &[u8]| {
    let Some(text) = text(data) else { return };
    for client in Client::ALL {
        let _ = clients::read(client, text);
    }
    let config = parsed(text);
    if let Err(mistakes) = &config {
        check_places(text, mistakes);
    }
    let added = edit::add_server(text, "fuzz", &json!({"command": "fuzz", "args": ["a \" b", "\u{1f980}"]}));
    let Ok(added) = added else { return };
    let removed = edit::remove_server(&added, "fuzz").expect("what was added can be removed");
    if let Ok(config) = config {
        let with = parsed(&added).expect("a server more does no harm");
        let others = with.servers.iter().filter(|(name, _)| *name != "fuzz");
        assert!(with.servers.contains_key("fuzz"));
        assert!(others.eq(config.servers.iter()), "the other servers stay as they were");
        let mut without = parsed(&removed).expect("nor does one less");
        assert!(without.off.keys().eq(config.off.keys()));
        // What is wrong with a server may stand in another line now.
        without.off.clone_from(&config.off);
        assert_eq!(without, config);
    }
});

fn parsed(text: &str) -> Result<Config, Vec<Mistake>> {
    let folders = Folders {
        home: "/nowhere/home".into(),
        config: "/nowhere/config".into(),
        data: "/nowhere/data".into(),
    };
    let env = |name: &str| (name == "TOKEN").then(|| "secret".to_owned());
    config::parse(text, Path::new("/nowhere/toolyard.json"), &env, &folders)
}
