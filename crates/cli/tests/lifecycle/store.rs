//! What was learnt survives, and a broken store stops nothing.

use std::fs;
use std::process::Command;

use serde_json::json;
use testkit::client::Client;
use testkit::wait_until;

use crate::yard::{SOON, Yard, appears, lines_with, names};

/// A yard with three servers that count their starts.
fn counting() -> Yard {
    let mut yard = Yard::new();
    for at in 0..3 {
        let script = format!("echo start >> starts{at}; exec \"$server\"");
        yard.script(&format!("s{at}"), &script, &json!({}));
    }
    yard
}

fn starts(yard: &Yard) -> [usize; 3] {
    [0, 1, 2].map(|at| lines_with(&yard.path(&format!("starts{at}")), "start"))
}

async fn all_appear(client: &Client) {
    for at in 0..3 {
        appears(client, &format!("s{at}__echo")).await;
    }
}

#[tokio::test]
async fn what_a_client_was_shown_survives_a_killed_hub() {
    let yard = counting();
    // Killed as soon as each tool is shown, in turn.
    for at in 0..3 {
        let client = yard.open().await;
        appears(&client, &format!("s{at}__echo")).await;
        let shown = names(&client).await;
        client.kill9().await;
        let client = yard.open().await;
        let known = names(&client).await;
        assert!(shown.iter().all(|name| known.contains(name)), "{} of {} tools", known.len(), shown.len());
        client.kill9().await;
        yard.deserted().await;
    }
}

#[tokio::test]
async fn a_damaged_store_is_put_aside_and_learnt_anew() {
    for damage in ["header", "middle", "short", "empty"] {
        for end in [End::Orderly, End::Killed] {
            damage_and_use(damage, end).await;
        }
    }
}

/// How the hub ended before its store was damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Orderly,
    /// The last changes are in files beside the database.
    Killed,
}

async fn damage_and_use(damage: &str, end: End) {
    let yard = counting();
    let client = yard.open().await;
    all_appear(&client).await;
    match end {
        End::Orderly => assert!(client.close().await.unwrap().success()),
        End::Killed => client.kill9().await,
    }
    yard.deserted().await;
    let path = yard.data().join("toolyard.db");
    let mut bytes = fs::read(&path).unwrap();
    match damage {
        "header" => bytes[..100].fill(b'?'),
        "middle" => {
            let half = bytes.len() / 2;
            bytes[half..].fill(0xff);
        }
        "short" => bytes.truncate(bytes.len() / 2 + 7),
        _ => bytes.clear(),
    }
    fs::write(&path, bytes).unwrap();
    let client = yard.open().await;
    // What was approved may be lost with it.
    let mut approve = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    approve.args(["approve", "--all", "--yes", "--config"]).arg(yard.config());
    yard.settle(&mut approve);
    let approved = approve.output().unwrap();
    assert!(approved.status.success(), "{damage}, {end:?}: {approved:?}");
    all_appear(&client).await;
    assert_eq!(client.text("s1__echo", json!({ "text": damage })).await, damage);
    assert!(client.close().await.unwrap().success());
    let before = starts(&yard);
    let client = yard.open().await;
    all_appear(&client).await;
    assert_eq!(
        starts(&yard),
        before,
        "{damage}, {end:?}: what was learnt anew is remembered; {}",
        client.stderr()
    );
    assert!(client.close().await.unwrap().success());
}

#[tokio::test]
async fn a_store_that_cannot_be_written_stops_nothing() {
    let mut yard = counting();
    // Nobody can make a folder there, whoever runs the tests.
    yard.set("store", json!({ "folder": "/proc/toolyard" }));
    let client = yard.open().await;
    all_appear(&client).await;
    assert_eq!(client.text("s1__echo", json!({ "text": "hi" })).await, "hi");
    assert!(client.stderr().contains("nothing will be remembered"), "{}", client.stderr());
    assert!(client.close().await.unwrap().success());
    yard.deserted().await;
}

#[tokio::test]
async fn a_store_that_became_read_only_still_knows() {
    let mut yard = counting();
    let client = yard.open().await;
    all_appear(&client).await;
    assert!(client.close().await.unwrap().success());
    let Some(_mount) = Mount::over(&yard, "ro") else { return };
    yard.server("late", &[], &json!({}));
    let before = starts(&yard);
    let client = yard.open().await;
    let known = names(&client).await;
    assert!((0..3).all(|at| known.contains(&format!("s{at}__echo"))), "{}", client.stderr());
    appears(&client, "late__echo").await;
    assert_eq!(starts(&yard), before);
    assert_eq!(client.text("late__echo", json!({ "text": "hi" })).await, "hi");
    assert!(client.close().await.unwrap().success());
    yard.deserted().await;
}

#[tokio::test]
async fn a_full_disk_stops_nothing() {
    let yard = counting();
    let Some(_mount) = Mount::over(&yard, "size=96k") else { return };
    fs::write(yard.data().join("ballast"), vec![0; 40 * 1024]).unwrap();
    let client = yard.open().await;
    all_appear(&client).await;
    for at in 0..3 {
        assert_eq!(client.text(&format!("s{at}__echo"), json!({ "text": "hi" })).await, "hi");
    }
    wait_until(SOON, || client.stderr().contains("learnt again") || client.stderr().contains("remembered"))
        .await;
    assert!(client.close().await.unwrap().success());
    yard.deserted().await;
    // With room again, the next hub remembers.
    fs::remove_file(yard.data().join("ballast")).unwrap();
    let client = yard.open().await;
    all_appear(&client).await;
    assert!(client.close().await.unwrap().success());
}

#[tokio::test]
async fn files_that_may_not_grow_stop_nothing() {
    let yard = counting();
    let hub = yard.serve(&["--surface", "all"]);
    let mut command = Command::new("sh");
    // A file system that is full looks much the same to a program.
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$@\"", "sh"])
        .arg(hub.get_program())
        .args(hub.get_args());
    yard.settle(&mut command);
    let client = Client::spawn(command);
    client.initialize("2025-11-25", json!({})).await.unwrap();
    all_appear(&client).await;
    for at in 0..3 {
        assert_eq!(client.text(&format!("s{at}__echo"), json!({ "text": "hi" })).await, "hi");
    }
    assert!(client.close().await.unwrap().success());
    yard.deserted().await;
}

#[tokio::test]
async fn two_hubs_share_a_store() {
    let yard = counting();
    let first = yard.open().await;
    all_appear(&first).await;
    let before = starts(&yard);
    let second = yard.open().await;
    let known = names(&second).await;
    assert!((0..3).all(|at| known.contains(&format!("s{at}__echo"))));
    assert_eq!(starts(&yard), before);
    assert_eq!(second.text("s0__echo", json!({ "text": "second" })).await, "second");
    assert_eq!(first.text("s0__echo", json!({ "text": "first" })).await, "first");
    assert!(second.close().await.unwrap().success());
    assert_eq!(first.text("s0__echo", json!({ "text": "first" })).await, "first");
}

/// A file system over the folder of the store, until dropped.
struct Mount(std::path::PathBuf);

impl Mount {
    /// Mounts; `None`, with a message, where that is not allowed.
    #[expect(clippy::print_stderr, reason = "a test that is left out must say so")]
    fn over(yard: &Yard, options: &str) -> Option<Self> {
        let folder = yard.data();
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("mount");
        if options == "ro" {
            command.args(["--bind", "-o", "ro"]).arg(&folder).arg(&folder);
        } else {
            command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&folder);
        }
        if command.output().is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        eprintln!("left out: nothing can be mounted here");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily, because a hub that failed may still have files open.
        drop(Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

#[tokio::test]
async fn t27_what_a_hub_keeps_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let yard = counting();
    let wide = |path: &std::path::Path| {
        let mut wide = Vec::new();
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode();
            for path in fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).chain([folder.clone()]) {
                if mode(&path) & 0o077 != 0 {
                    wide.push(format!("{:o} {}", mode(&path), path.display()));
                }
                if path.is_dir() && path != folder {
                    folders.push(path);
                }
            }
        }
        wide
    };
    for round in 0..2 {
        let client = yard.open().await;
        all_appear(&client).await;
        client.text("s0__echo", json!({ "text": "hi" })).await;
        // Calls are written down behind the caller's back.
        let audit = yard.data().join("audit/audit.jsonl");
        wait_until(SOON, || lines_with(&audit, "s0__echo") > round).await;
        assert_eq!(wide(&yard.data()), [""; 0]);
        assert!(client.close().await.unwrap().success());
        // As an older hub, or a careless copy, would have left them.
        for name in ["toolyard.db", "history.db", "audit/audit.jsonl", "logs", "audit", ""] {
            let path = yard.data().join(name);
            if path.exists() {
                let mode = if path.is_dir() { 0o755 } else { 0o644 };
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}
