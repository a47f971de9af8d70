//! The dashboard and the hub's own page in a real browser, as a person uses them.
//!
//! What is clicked and expected is in `tests/browser/drive.mjs` and `tests/browser/app.mjs`, which can be run by hand.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testkit::{processes, servers, wait_until};

use crate::fleet::{START, are_there, real};
use crate::yard::{SOON, Yard};

/// A workflow that only reads, so that it asks nothing.
const LOOK_AROUND: &str = r#"{
    "name": "look-around",
    "description": "Searches the notes and lists the tasks.",
    "parameters": { "properties": { "words": { "type": "string" } }, "required": ["words"] },
    "steps": [
        { "name": "notes", "tool": "notes__search_notes", "arguments": { "query": "{{parameters.words}}" } },
        { "name": "tasks", "tool": "desk__query_tasks", "after": ["notes"], "arguments": {} }
    ]
}"#;

#[tokio::test]
#[expect(clippy::print_stderr, reason = "who runs the tests reads what was left out")]
async fn r15_r16_a_person_routes_corrects_and_undoes_in_a_real_browser() {
    let Some(chromium) = chromium() else {
        eprintln!("left out: there is no Chromium; install it or name it in `TOOLYARD_CHROMIUM`");
        return;
    };
    let yard = Yard::of(json!({
        "notes": {"builtin": "notes", "folder": "notes"},
        "desk": {"builtin": "desk", "folder": "desk"},
        "time": {"builtin": "time"}
    }));
    std::fs::create_dir(yard.path().join("workflows")).unwrap();
    std::fs::write(yard.path().join("workflows/look-around.json"), LOOK_AROUND).unwrap();
    let yard = yard.learnt().await;
    let dashboard = Dashboard::start(yard.command(&["dashboard", "--no-open"]));
    drive(&yard, &chromium, ("drive.mjs", &dashboard.address));
    dashboard.terminate().await;
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "who runs the tests reads what was left out")]
async fn e2_the_hubs_own_page_works_in_a_real_host_and_shows_the_pages_of_servers() {
    let Some(chromium) = chromium().filter(|_| are_there()) else {
        eprintln!("left out: there is no Chromium; install it or name it in `TOOLYARD_CHROMIUM`");
        return;
    };
    let kept = tempfile::tempdir().unwrap();
    let mut memory = real("memory", &[]);
    memory["env"] = json!({"MEMORY_FILE_PATH": kept.path().join("memory.jsonl")});
    let yard = Yard::of(json!({
        "notes": {"builtin": "notes", "folder": "notes"},
        "desk": {"builtin": "desk", "folder": "desk"},
        "time": {"builtin": "time"},
        "memory": memory,
        "sys": real("system-monitor", &["--stdio"]),
        "clock": real("get-time", &["--stdio"]),
    }));
    let yard = yard.keep(kept).learnt_within(START).await;
    let served = yard.http(&[]);
    drive(&yard, &chromium, ("app.mjs", &served.url));
}

/// Runs a script that drives a browser against an address.
fn drive(yard: &Yard, chromium: &Path, (script, address): (&str, &str)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser").join(script);
    let mut drive = Command::new(servers::node_binary());
    drive.arg(path).arg(address).env("TOOLYARD_CHROMIUM", chromium).env("HOME", yard.path());
    let driven = drive.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&driven.stderr);
    assert!(driven.status.success(), "`{script}` fails in a browser:\n{said}");
}

fn chromium() -> Option<PathBuf> {
    match std::env::var_os("TOOLYARD_CHROMIUM") {
        Some(named) => Some(named.into()),
        None => Some(PathBuf::from("/usr/bin/chromium")).filter(|it| it.is_file()),
    }
}

/// `toolyard dashboard` under way; dropping it kills it.
struct Dashboard {
    child: Child,
    address: String,
}

impl Dashboard {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.contains("/dashboard#token="), "no address was printed: `{address}`");
        Self { child, address: address.trim().to_owned() }
    }

    /// Asks it to end and waits until it has.
    async fn terminate(mut self) {
        processes::terminate(self.child.id());
        wait_until(SOON, || self.child.try_wait().unwrap().is_some()).await;
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        // It may have ended on its own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
