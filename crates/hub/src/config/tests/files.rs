//! Files on disk, and the schema that is shipped.

use std::path::Path;

use super::{env, folders};
use crate::config::{find, load, schema};

#[test]
fn the_file_is_looked_for_where_it_was_asked_for_then_here_then_at_home() {
    let folder = tempfile::tempdir().unwrap();
    let (here, home) = (folder.path().join("here"), folder.path().join("home"));
    for folder in [&here, &home] {
        std::fs::create_dir(folder).unwrap();
    }
    assert_eq!(find(None, &here, &home), None);
    std::fs::write(home.join("toolyard.json"), "{}").unwrap();
    assert_eq!(find(None, &here, &home), Some(home.join("toolyard.json")));
    std::fs::write(here.join("toolyard.json"), "{}").unwrap();
    assert_eq!(find(None, &here, &home), Some(here.join("toolyard.json")));
    assert_eq!(find(Some(Path::new("x.json")), &here, &home), Some("x.json".into()));
}

#[test]
fn a_file_that_cannot_be_read_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toolyard.json");
    let message = |path: &Path| load(path, &env, &folders()).unwrap_err()[0].message.clone();
    assert!(message(&path).starts_with("cannot be read"));
    std::fs::write(&path, b"{\n\xff}").unwrap();
    assert_eq!(message(&path), "is not UTF-8 text (line 2)");
    std::fs::write(&path, vec![b' '; 5 * 1024 * 1024]).unwrap();
    assert_eq!(message(&path), "cannot be read: it has more than 4194304 bytes");
    std::fs::write(&path, "\u{feff}{}").unwrap();
    assert!(load(&path, &env, &folders()).is_ok());
}

#[test]
fn the_shipped_schema_is_the_one_that_is_used() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/toolyard.schema.json");
    let fresh = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let shipped = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shipped, fresh, "run this test with UPDATE_SCHEMA=1 to write the schema");
}

#[test]
fn every_key_of_the_schema_is_explained() {
    fn unexplained(value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
        let Some(object) = value.as_object() else { return };
        for (key, property) in object.get("properties").and_then(|it| it.as_object()).into_iter().flatten() {
            if property.get("description").is_none() {
                found.push(format!("{path}/{key}"));
            }
        }
        for (key, inner) in object {
            unexplained(inner, &format!("{path}/{key}"), found);
        }
    }
    let mut found = Vec::new();
    unexplained(schema(), "", &mut found);
    assert_eq!(found, Vec::<String>::new());
}
