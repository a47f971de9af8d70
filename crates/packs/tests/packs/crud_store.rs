//! What is on the disk stays there: several writers, killed processes, damaged files.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::json;
use tempfile::TempDir;
use toolyard_packs::{Kind, Pack};

use crate::shelf::{call, clock, desk, slugs};

/// Tells the test that is the other process which folder to write to.
const FOLDER: &str = "TOOLYARD_TEST_DESK";

#[test]
fn d1_a_desk_that_is_opened_again_has_everything() {
    let folder = TempDir::new().unwrap();
    let inside = folder.path().join("deep/inside");
    let first = desk(&inside);
    call(&first, "create_tasks", &json!({ "title": "Paint", "due": "tomorrow" }));
    call(&first, "update_task", &json!({ "slug": "paint", "status": "doing" }));
    let before = call(&first, "get_task", &json!({ "slug": "paint", "history": true }));
    drop(first);
    assert_eq!(call(&desk(&inside), "get_task", &json!({ "slug": "paint", "history": true })), before);
}

#[test]
fn d1_writers_at_once_never_take_the_same_slug() {
    let folder = TempDir::new().unwrap();
    let create = || {
        let pack = desk(folder.path());
        let items = json!({ "title": "Same", "more": [{ "title": "Same" }] });
        let made: Vec<String> = (0..10)
            .flat_map(|_| slugs(&call(&pack, "create_tasks", &items)["structuredContent"]["created"]))
            .collect();
        made
    };
    let made: Vec<String> = thread::scope(|scope| {
        let writers: Vec<_> = (0..6).map(|_| scope.spawn(create)).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let distinct: HashSet<&String> = made.iter().collect();
    assert_eq!((made.len(), distinct.len()), (120, 120));
    assert!(distinct.contains(&"same-120".to_owned()));
    let found = call(&desk(folder.path()), "query_tasks", &json!({}));
    assert_eq!(found["structuredContent"]["total_count"], 120);
}

#[test]
fn d1_writers_of_different_fields_do_not_undo_each_other() {
    let folder = TempDir::new().unwrap();
    let pack = desk(folder.path());
    call(&pack, "create_goals", &json!({ "title": "Run" }));
    let path = folder.path();
    thread::scope(|scope| {
        for field in ["why", "progress"] {
            scope.spawn(move || {
                let pack = desk(path);
                for number in 1..=20 {
                    let value = if field == "why" { json!(number.to_string()) } else { json!(number) };
                    call(&pack, "update_goal", &json!({ "slug": "run", field: value }));
                }
            });
        }
    });
    let data = &call(&pack, "get_goal", &json!({ "slug": "run" }))["structuredContent"];
    assert_eq!((&data["item"]["why"], &data["item"]["progress"]), (&json!("20"), &json!(20)));
    assert_eq!(data["earlier_count"], 40);
}

#[test]
fn d1_what_was_answered_survives_a_killed_process() {
    let folder = TempDir::new().unwrap();
    let mut others: Vec<Child> = (0..2).map(|_| other_process(folder.path())).collect();
    let mut answered = Vec::new();
    for other in &mut others {
        let lines = BufReader::new(other.stdout.take().unwrap()).lines();
        let slugs =
            lines.map(|line| line.unwrap()).filter_map(|line| line.strip_prefix("made ").map(str::to_owned));
        answered.extend(slugs.take(25));
        other.kill().unwrap();
        other.wait().unwrap();
    }
    let distinct: HashSet<&String> = answered.iter().collect();
    assert_eq!((answered.len(), distinct.len()), (50, 50));
    let pack = desk(folder.path());
    for slug in &answered {
        assert_eq!(call(&pack, "get_task", &json!({ "slug": slug }))["isError"], false, "{slug}");
    }
    call(&pack, "update_task", &json!({ "slug": answered[0], "status": "done" }));
}

/// The other process of the test above.
#[test]
#[ignore = "started by another test, and killed by it"]
fn writes_until_it_is_killed() {
    let folder = std::env::var_os(FOLDER).unwrap();
    let pack = desk(Path::new(&folder));
    loop {
        let made = call(&pack, "create_tasks", &json!({ "title": "Same" }));
        let slug = made["structuredContent"]["created"][0]["slug"].as_str().unwrap().to_owned();
        // Whoever reads has gone when this fails.
        if writeln!(std::io::stdout(), "\nmade {slug}").is_err() {
            return;
        }
    }
}

#[test]
fn d1_a_damaged_file_is_an_error_and_is_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("desk.db");
    fs::write(&file, "This is no database, but somebody's notes. ".repeat(100)).unwrap();
    let before = fs::read(&file).unwrap();
    let error = opened(folder.path()).unwrap_err();
    assert!(error.contains("is damaged (file is not a database) and was left as it is"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn d1_a_database_with_a_broken_page_is_an_error_and_is_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("desk.db");
    let pack = desk(folder.path());
    let items = json!({ "title": "Long", "notes": "x".repeat(15_000) });
    for _ in 0..5 {
        call(&pack, "create_tasks", &items);
    }
    drop(pack);
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    for page in [4096, middle] {
        bytes[page..page + 512].fill(0xee);
    }
    fs::write(&file, &bytes).unwrap();
    let error = opened(folder.path()).unwrap_err();
    assert!(error.contains("is damaged"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn d1_a_database_of_another_program_or_of_a_newer_one_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("desk.db");
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE mine (a)").unwrap();
    drop(other);
    let error = opened(folder.path()).unwrap_err();
    assert!(error.contains("is a database of another program"), "{error}");
    fs::remove_file(&file).unwrap();
    drop(desk(folder.path()));
    rusqlite::Connection::open(&file).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
    let error = opened(folder.path()).unwrap_err();
    assert!(error.contains("has version 9, and this program knows versions up to 1"), "{error}");
}

#[test]
fn d1_a_folder_that_cannot_be_made_is_an_error() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = opened(&file).unwrap_err();
    assert!(error.contains("as a folder for the database"), "{error}");
}

#[cfg(unix)]
#[test]
fn d1_nobody_else_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let inside = folder.path().join("desk");
    let pack = desk(&inside);
    call(&pack, "create_tasks", &json!({ "title": "Secret" }));
    assert_eq!(fs::metadata(&inside).unwrap().permissions().mode() & 0o777, 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&inside).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["desk.db", "desk.db-shm", "desk.db-wal", "desk.db.lock"]);
}

/// Opens a desk, or says why not.
fn opened(folder: &Path) -> Result<Pack, String> {
    let kind = Kind::Desk { folder: folder.to_owned() };
    Pack::open_with_clock(&kind, clock()).map_err(|error| error.to_string())
}

/// Starts a process that creates tasks of the same title.
fn other_process(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crud_store::writes_until_it_is_killed", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
