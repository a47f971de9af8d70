//! Several processes on the same file, sudden ends and full queues.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rusqlite::Connection;
use toolyard_history::{History, RouteSearch};

use crate::{all, lesson, opened, recorded, route};

const FOLDER: &str = "TOOLYARD_TEST_HISTORY";

#[test]
#[ignore = "other tests start it as a process: cargo nextest run -p toolyard-history sharing::"]
fn r15_a_process_writes_until_it_is_ended() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let history = opened(Path::new(&folder));
    for number in 0.. {
        history.teach(lesson(&format!("l{number}"), number)).unwrap();
        recorded(&history, [route(number)]);
    }
}

#[test]
fn r15_a_process_that_is_killed_loses_nothing_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_writing(folder.path());
    let history = opened(folder.path());
    wait_until(|| all(&history).len() >= 50);
    let before = all(&history);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(history);
    let history = opened(folder.path());
    let kept = all(&history);
    assert!(kept.ends_with(&before));
    let expected: Vec<String> =
        (0..i64::try_from(kept.len()).unwrap()).rev().map(|it| route(it).id).collect();
    assert_eq!(kept, expected);
    assert!(history.lessons().unwrap().len() >= kept.len());
    drop(history);
    let file = Connection::open(folder.path().join("history.db")).unwrap();
    let health: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(health, "ok");
}

#[test]
fn r15_two_processes_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_writing(folder.path());
    let history = opened(folder.path());
    for number in 0..100 {
        recorded(&history, [route(1_000_000 + number)]);
        history.teach(lesson(&format!("own{number}"), number)).unwrap();
    }
    wait_until(|| all(&history).len() >= 150);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(history.dropped(), 0);
    let own: Vec<String> = (0..100).rev().map(|number| route(1_000_000 + number).id).collect();
    assert!(all(&history).starts_with(&own));
    let lessons = history.lessons().unwrap();
    assert_eq!(lessons.iter().filter(|it| it.id.starts_with("own")).count(), 100);
}

#[test]
fn r15_many_threads_use_one_history() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let history = history.clone();
            scope.spawn(move || {
                for number in 0..200 {
                    history.record(route(thread * 1_000 + number));
                    if number % 50 == 0 {
                        history.routes(&RouteSearch { limit: 20, ..RouteSearch::default() }).unwrap();
                        history.summary(0, 1_000).unwrap();
                        history.prune().unwrap();
                    }
                }
            });
        }
    });
    history.flush();
    assert_eq!((all(&history).len(), history.dropped()), (800, 0));
}

#[test]
fn r15_what_does_not_fit_into_the_queue_is_dropped_and_counted_and_delays_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    recorded(&history, [route(0)]);
    let other = Connection::open(folder.path().join("history.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The writer waits for the other one, so the queue fills.
    let sent = 6_000;
    (1..=sent).for_each(|number| history.record(route(number)));
    let dropped = history.dropped();
    assert!(dropped > 1_000, "{dropped}");
    other.execute_batch("COMMIT").unwrap();
    history.flush();
    assert_eq!(history.dropped(), dropped);
    assert_eq!(u64::try_from(all(&history).len()).unwrap() + dropped, u64::try_from(sent).unwrap() + 1);
}

#[test]
fn r15_the_last_clone_writes_what_is_queued_before_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let history = opened(folder.path());
    let clone: History = history.clone();
    (0..500).for_each(|number| history.record(route(number)));
    drop(history);
    drop(clone);
    assert_eq!(all(&opened(folder.path())).len(), 500);
}

fn start_writing(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["sharing::r15_a_process_writes_until_it_is_ended", "--exact", "--ignored"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed().as_secs() < 60, "the other process does not write");
        std::thread::yield_now();
    }
}
