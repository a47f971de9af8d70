//! What is written is there after a restart; what cannot be written is an error.

use serde_json::json;
use toolyard_core::plan::{Input, Plan, Step};
use toolyard_core::run::{Allowance, Next};
use toolyard_core::tool::{Effect, ToolId};

use super::*;

#[test]
fn r10_a_run_is_there_after_a_restart_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = run();
    let id = {
        let journal = Journal::new(folder.path());
        let (id, _lease) = journal.begin(&run, &with("these servers")).unwrap();
        assert!(matches!(run.advance(7), Next::Call(_)));
        journal.write(&id, &run).unwrap();
        id
    };
    let journal = Journal::new(folder.path());
    let record = journal.find(&id[..6]).unwrap().expect("the beginning of a name will do");
    assert_eq!((record.id.as_str(), record.run), (id.as_str(), run));
    assert_eq!(record.servers, "these servers");
    assert_eq!(journal.unfinished().unwrap().len(), 1);
    assert!(journal.find("").unwrap().is_none());
    assert!(journal.find("nothing like it").unwrap().is_none());
}

#[test]
fn r10_one_hub_at_a_time_drives_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (Journal::new(folder.path()), Journal::new(folder.path()));
    let (id, lease) = one.begin(&run(), &with("")).unwrap();
    assert!(other.lease(&id).unwrap().is_none());
    drop(lease);
    assert!(other.lease(&id).unwrap().is_some());
    assert_eq!(std::fs::read_dir(folder.path().join("runs")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn r10_a_journal_that_cannot_be_written_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(Journal::new(&file).begin(&run(), &with("")), Err(Error::File { .. })));

    let journal = Journal::new(folder.path());
    let (id, _lease) = journal.begin(&run(), &with("")).unwrap();
    // A disk that is full looks like this to SQLite.
    journal.with(|connection| connection.execute_batch("PRAGMA max_page_count = 1")).unwrap();
    let mut large = run();
    let Next::Call(calls) = large.advance(0) else { panic!("the step runs") };
    let text = "x".repeat(1 << 20);
    large.record(&calls[0].id, toolyard_core::run::Outcome::Value(json!(text)), 0);
    let failed = journal.write(&id, &large).unwrap_err();
    assert!(failed.to_string().contains("full"), "{failed}");
    assert_eq!(journal.find(&id).unwrap().unwrap().run, run(), "what was written before is still there");
}

#[test]
fn r10_a_wish_to_stop_is_heard_once() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path());
    let (id, _lease) = journal.begin(&run(), &with("")).unwrap();
    assert_eq!(journal.asked_to_stop(&id).unwrap(), None);
    Journal::new(folder.path()).ask_to_stop(&id, Leaving::Nothing).unwrap();
    assert_eq!(journal.asked_to_stop(&id).unwrap(), Some(Leaving::Nothing));
    assert_eq!(journal.asked_to_stop(&id).unwrap(), None);
}

fn with(servers: &str) -> Beginning {
    Beginning { servers: servers.to_owned(), ..Beginning::default() }
}

fn run() -> Run {
    let arguments = [("path".to_owned(), Input::Literal(json!("a.txt")))].into();
    let step = Step::new("write", ToolId::new("files", "write"), Effect::Write, arguments);
    let allowance = Allowance {
        parallel: 1,
        elements: 1,
        budget_ms: 1000,
        first_pause_ms: 1,
        longest_pause_ms: 1,
        result_bytes: 1 << 22,
    };
    Run::new(Plan::new("example", vec![step]).unwrap(), allowance)
}

#[test]
fn t27_values_in_the_journal_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let modes = || {
        let files = std::fs::read_dir(folder.path()).unwrap().flatten();
        files.map(|it| it.metadata().unwrap().permissions().mode() & 0o077).fold(0, |all, mode| all | mode)
    };
    Journal::new(folder.path()).begin(&run(), &with("")).unwrap();
    assert_eq!(modes(), 0);
    let wide = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.path().join("workflows.db"), wide).unwrap();
    let journal = Journal::new(folder.path());
    journal.begin(&run(), &with("")).unwrap();
    assert_eq!(modes(), 0);
}
