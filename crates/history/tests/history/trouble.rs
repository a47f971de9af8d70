//! Files and folders that cannot be used.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use toolyard_history::{Error, History, Retention};

use crate::{all, lesson, opened, recorded, route};

#[test]
fn r15_a_file_that_is_no_database_is_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("history.db"), "no database, however long it may be. ".repeat(500))
        .unwrap();
    let history = opened(folder.path());
    recorded(&history, [route(1)]);
    assert_eq!(all(&history), [route(1).id]);
    let aside = damaged(folder.path());
    assert_eq!(aside.len(), 1);
    assert!(std::fs::read_to_string(&aside[0]).unwrap().starts_with("no database"));
}

#[test]
fn r15_a_file_that_proves_damaged_is_replaced_for_everyone_and_lessons_are_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    recorded(&history, (0..500).map(route));
    history.teach(lesson("l1", 1)).unwrap();
    history.teach(lesson("l2", 2)).unwrap();
    history.undo("l2").unwrap();
    let version = history.lessons_version().unwrap();
    drop(history);
    break_table(&folder.path().join("history.db"), "route");
    let (history, other) = (opened(folder.path()), opened(folder.path()));
    assert_eq!(all(&history), Vec::<String>::new());
    recorded(&history, [route(1_000)]);
    recorded(&other, [route(1_001)]);
    assert_eq!(all(&history), [route(1_001).id, route(1_000).id]);
    assert_eq!(all(&other), all(&history));
    assert_eq!(history.lessons().unwrap(), [lesson("l1", 1)]);
    assert_eq!(other.undone().unwrap(), [lesson("l2", 2)]);
    assert_ne!(history.lessons_version().unwrap(), version);
    assert_eq!((history.dropped(), other.dropped()), (0, 0));
    assert_eq!(
        damaged(folder.path()).iter().filter(|path| path.extension().is_some_and(|it| it == "db")).count(),
        1
    );
}

#[test]
fn r15_a_file_that_somebody_removed_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    recorded(&history, [route(1)]);
    for file in ["history.db", "history.db-wal", "history.db-shm"] {
        std::fs::remove_file(folder.path().join(file)).unwrap();
    }
    recorded(&history, [route(2)]);
    assert_eq!(all(&history), [route(2).id]);
}

#[test]
fn r15_a_newer_file_is_left_alone_and_the_error_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    recorded(&opened(folder.path()), [route(1)]);
    let path = folder.path().join("history.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = History::open(folder.path(), Retention::default()).unwrap_err();
    assert!(matches!(error, Error::Newer { version: 99, .. }));
    let text = error.to_string();
    assert!(text.contains("version 99") && text.contains("update Toolyard, or move the file away"), "{text}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(damaged(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn r15_a_database_of_somebody_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (it)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = History::open(folder.path(), Retention::default()).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn r15_a_folder_that_cannot_be_used_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    says_what_to_do(&file.join("below"));
    std::fs::create_dir_all(folder.path().join("taken/history.lock")).unwrap();
    says_what_to_do(&folder.path().join("taken"));
}

/// Not even root can make files there.
#[cfg(target_os = "linux")]
#[test]
fn r15_a_folder_that_is_read_only_is_a_clear_error() {
    says_what_to_do(Path::new("/proc/self/task"));
}

fn says_what_to_do(folder: &Path) {
    let text = History::open(folder, Retention::default()).unwrap_err().to_string();
    let begin = format!("`{}` cannot hold the history: ", folder.display());
    assert!(text.starts_with(&begin) && text.ends_with("or name another one"), "{text}");
}

fn damaged(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.to_string_lossy().contains("damaged")).collect()
}

/// Overwrites the first page of a table.
fn break_table(path: &Path, table: &str) {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    let page: u64 = connection.query_row(sql, [table], |row| row.get::<_, u32>(0)).unwrap().into();
    connection.close().unwrap();
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start((page - 1) * 4096)).unwrap();
    file.write_all(&[0xFF; 4096]).unwrap();
}
