//! Task files, Stop, and many programs at once.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::studio::{Shop, answered, open};

fn job(shop: &Shop) {
    shop.ok(
        "create_task_file",
        json!({ "name": "Launch campaign", "tasks": ["Take photos", "Write\nheadline"] }),
    );
}

#[test]
fn c9_a_task_file_is_markdown_that_a_person_can_read() {
    let shop = Shop::new();
    let made = shop.ok(
        "create_task_file",
        json!({ "name": "Launch campaign", "tasks": ["Take photos", "Write\nheadline"], "description": "For May" }),
    );
    assert_eq!((&made["slug"], &made["remaining"]), (&json!("launch-campaign"), &json!(2)));
    shop.ok(
        "update_task",
        json!({ "slug": "launch-campaign", "task": 1, "status": "done", "output": "uploads/a.png" }),
    );
    shop.ok(
        "update_task",
        json!({ "slug": "launch-campaign", "task": 2, "status": "failed", "note": "no idea" }),
    );
    insta::assert_snapshot!(fs::read_to_string(shop.folder().join("tasks/launch-campaign.md")).unwrap(), @"
    # Launch campaign

    For May

    Created: 2026-03-01T11:00:00Z

    - [x] Take photos
      - output: uploads/a.png
    - [!] Write headline
      - note: no idea
    ");
}

#[test]
fn c9_what_remains_is_shown_until_the_file_is_completed() {
    let shop = Shop::new();
    job(&shop);
    shop.ok("create_task_file", json!({ "name": "Launch campaign", "tasks": ["Other"] }));
    let all = shop.ok("get_remaining_tasks", json!({}));
    assert_eq!((&all["total_count"], &all["remaining_count"]), (&json!(2), &json!(3)));
    assert_eq!(all["files"][0]["slug"], "launch-campaign-2");
    shop.ok("update_task", json!({ "slug": "launch-campaign", "task": 1, "status": "done" }));
    let one = shop.ok("get_remaining_tasks", json!({ "slug": "launch-campaign" }));
    assert_eq!(one["files"][0]["tasks"][0]["text"], "Write headline");
    let text = shop.refused("complete_task_file", json!({ "slug": "launch-campaign" }));
    assert!(text.contains("1 remain, first 2 (Write headline)"), "{text}");
    let done = shop.ok("complete_task_file", json!({ "slug": "launch-campaign", "skip_remaining": true }));
    assert_eq!((&done["complete"], &done["tasks"][1]["status"]), (&json!(true), &json!("skipped")));
    let all = shop.ok("get_remaining_tasks", json!({}));
    assert_eq!((&all["total_count"], &all["remaining_count"]), (&json!(1), &json!(1)));
    let again = shop.ok("complete_task_file", json!({ "slug": "launch-campaign" }));
    assert_eq!(again, done);
    let page = shop.ok("get_remaining_tasks", json!({ "offset": 1, "limit": 1 }));
    assert_eq!((&page["files"], &page["has_more"]), (&json!([]), &json!(false)));
}

#[test]
fn c9_what_a_person_wrote_into_a_task_file_stays() {
    let shop = Shop::new();
    let text =
        "# Mine\r\n\nMy own words.\n\n- [X] One\n  more about one\n* [ ] Two\n- not a task\n- [?] odd\n";
    shop.put("tasks/mine.md", text.as_bytes());
    let seen = shop.ok("get_remaining_tasks", json!({ "slug": "mine" }));
    assert_eq!(
        (&seen["files"][0]["task_count"], &seen["files"][0]["tasks"][0]["text"]),
        (&json!(2), &json!("Two"))
    );
    shop.ok("update_task", json!({ "slug": "mine", "task": 1, "output": "x.png" }));
    shop.ok("update_task", json!({ "slug": "mine", "task": 2, "status": "in_progress" }));
    insta::assert_snapshot!(fs::read_to_string(shop.folder().join("tasks/mine.md")).unwrap(), @"
    # Mine

    My own words.

    - [X] One
      more about one
      - output: x.png
    * [~] Two
    - not a task
    - [?] odd
    ");
}

#[test]
fn c9_mistakes_with_tasks_are_told() {
    let shop = Shop::new();
    job(&shop);
    shop.put("tasks/broken.md", b"\xff\xfe");
    let before = shop.snapshot();
    for (tool, arguments, reason) in [
        ("create_task_file", json!({ "name": "x", "tasks": [] }), "`tasks` is empty"),
        ("create_task_file", json!({ "name": "x" }), "`tasks` is missing"),
        (
            "update_task",
            json!({ "slug": "launch-campaign", "task": 3, "status": "done" }),
            "tasks 1 to 2, and no 3",
        ),
        ("update_task", json!({ "slug": "launch-campaign", "task": 1 }), "nothing to change"),
        ("update_task", json!({ "slug": "launch-campaign", "task": 1, "status": "finished" }), "no choice"),
        (
            "update_task",
            json!({ "slug": "nothing", "task": 1, "status": "done" }),
            "there is no task file `nothing`",
        ),
        ("update_task", json!({ "slug": "../x", "task": 1, "status": "done" }), "no slug"),
        ("update_task", json!({ "slug": "..", "task": 1, "status": "done" }), "hidden"),
        ("complete_task_file", json!({ "slug": "../../etc/passwd" }), "no slug"),
        ("get_remaining_tasks", json!({ "slug": "broken" }), "not UTF-8"),
        ("write_file", json!({ "path": "tasks/launch-campaign.md", "content": "x" }), "update_task"),
    ] {
        let text = shop.refused(tool, arguments);
        assert!(text.contains(reason), "{text}");
    }
    assert_eq!(shop.snapshot(), before);
    let all = shop.ok("get_remaining_tasks", json!({}));
    assert_eq!(all["unreadable"].as_array().unwrap().len(), 1);
}

#[test]
fn c9_stop_is_noticed_and_ends_long_jobs_with_what_was_done() {
    let shop = Shop::new();
    for name in ["One", "Two"] {
        shop.ok("manage_product", json!({ "action": "create", "name": name }));
    }
    assert_eq!(shop.ok("check_interrupt", json!({}))["interrupted"], false);
    shop.put("STOP", b"lunch\n");
    let asked = shop.ok("check_interrupt", json!({}));
    assert_eq!((&asked["interrupted"], &asked["reason"]), (&json!(true), &json!("lunch")));

    let batch =
        json!({ "action": "create_batch", "image_paths": ["uploads/snow.webp", "uploads/bottle.png"] });
    let report = shop.ok("manage_style_reference", batch.clone());
    assert_eq!((&report["success_count"], &report["total"]), (&json!(0), &json!(2)));
    assert!(report["failed"][1]["error"].as_str().unwrap().contains("Stop was asked for"), "{report}");
    let all = shop.ok("analyze_packaging", json!({ "mode": "all" }));
    assert_eq!(
        (&all["stopped"], &all["next_offset"], &all["has_more"]),
        (&json!(true), &json!(0), &json!(true))
    );

    for (tool, arguments) in [
        ("write_file", json!({ "path": "STOP", "content": "", "mode": "replace", "confirm": true })),
        ("write_file", json!({ "path": "stop", "content": "" })),
    ] {
        shop.refused(tool, arguments);
    }
    fs::remove_file(shop.folder().join("STOP")).unwrap();
    assert_eq!(shop.ok("manage_style_reference", batch)["success_count"], 2);
    assert_eq!(shop.ok("analyze_packaging", json!({ "mode": "all" }))["stopped"], false);
}

#[test]
fn c9_stop_in_the_middle_of_a_batch_keeps_what_was_made() {
    use std::sync::Arc;

    use toolyard_packs::{Abilities, Outside, ReferenceImage, SearchHit, Services};

    /// Presses Stop when the model is asked for the second time.
    struct Presses(std::path::PathBuf, std::sync::Mutex<u32>);

    impl Services for Presses {
        fn abilities(&self) -> Abilities {
            Abilities { answers: true, ..Abilities::default() }
        }

        fn picture(&self, _: &str, _: &[ReferenceImage]) -> Result<Vec<u8>, String> {
            Err("no pictures".to_owned())
        }

        fn search(&self, _: &str) -> Result<Vec<SearchHit>, String> {
            Err("no search".to_owned())
        }

        fn answer(&self, _: &str, _: &[ReferenceImage]) -> Result<String, String> {
            let mut count = self.1.lock().unwrap();
            *count += 1;
            if *count == 2 {
                fs::write(&self.0, "").unwrap();
            }
            Ok("nice".to_owned())
        }
    }

    let shop = Shop::new();
    let presses = Presses(shop.folder().join("STOP"), std::sync::Mutex::new(0));
    let pack = open(&shop.folder(), Some(Outside::new(Arc::new(presses))));
    let batch = json!({ "action": "create_batch", "image_paths": vec!["uploads/snow.webp"; 4] });
    let report =
        answered(&pack, "manage_style_reference", batch.as_object().unwrap())["structuredContent"].clone();
    assert_eq!((&report["success_count"], &report["total"]), (&json!(2), &json!(4)));
    assert_eq!(shop.ok("get_style_reference", json!({}))["total_count"], 2);
}

#[test]
fn c9_everything_is_there_after_opening_again() {
    let shop = Shop::new();
    shop.ok("manage_product", json!({ "action": "create", "name": "Soda", "attributes": { "size": 1 } }));
    shop.ok(
        "manage_product",
        json!({ "action": "add_image", "slug": "soda", "image_path": "uploads/bottle.png" }),
    );
    job(&shop);
    let seen = |pack: &toolyard_packs::Pack| {
        let product = json!({ "entity_type": "product", "slug": "soda" });
        let product = answered(pack, "get_context", product.as_object().unwrap());
        (product, answered(pack, "get_remaining_tasks", json!({}).as_object().unwrap()))
    };
    assert_eq!(seen(&open(&shop.folder(), None)), seen(&shop.pack));
}

#[test]
fn c9_several_programs_can_work_at_once_and_lose_nothing() {
    let shop = Shop::new();
    shop.ok("manage_product", json!({ "action": "create", "name": "Shared" }));
    shop.ok("create_task_file", json!({ "name": "Shared", "tasks": vec!["x"; 40] }));
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let folder = shop.folder();
            scope.spawn(move || {
                let pack = open(&folder, None);
                for number in 0..10 {
                    let call = |tool: &str, arguments: Value| {
                        let result = answered(&pack, tool, arguments.as_object().unwrap());
                        assert_eq!(result["isError"], false, "{result}");
                    };
                    call("manage_product", json!({ "action": "create", "name": format!("P {worker} {number}") }));
                    let attributes = json!({ (format!("a{worker}-{number}")): number });
                    call("manage_product", json!({ "action": "update", "slug": "shared", "attributes": attributes }));
                    call("update_task", json!({ "slug": "shared", "task": worker * 10 + number + 1, "status": "done" }));
                    let seen = answered(&pack, "get_remaining_tasks", json!({ "slug": "shared" }).as_object().unwrap());
                    // Whoever reads while others write sees a whole file.
                    assert_eq!(seen["structuredContent"]["files"][0]["task_count"], 40);
                    let line = json!({ "path": "log.txt", "content": format!("{worker} {number}\n"), "mode": "append" });
                    call("write_file", line);
                }
            });
        }
    });
    assert_eq!(shop.ok("list_products", json!({}))["total_count"], 41);
    let shared = shop.ok("get_context", json!({ "entity_type": "product", "slug": "shared" }));
    assert_eq!(shared["product"]["attributes"].as_object().unwrap().len(), 40);
    assert_eq!(shop.ok("get_remaining_tasks", json!({ "slug": "shared" }))["files"][0]["remaining"], 0);
    assert_eq!(shop.ok("read_file", json!({ "path": "log.txt" }))["total_lines"], 40);
    let left: Vec<_> =
        shop.snapshot().into_keys().filter(|it| it.to_string_lossy().contains(".toolyard-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn c9_a_kill_at_any_moment_loses_nothing_that_was_answered() {
    const NAME: &str = "studio_tasks::c9_a_kill_at_any_moment_loses_nothing_that_was_answered";
    // The test runs itself as the program that is killed.
    if let Some(folder) = std::env::var_os("STUDIO_TO_KILL") {
        work_for_ever(&open(folder.as_ref(), None));
    }
    for answers in [1, 4, 9] {
        let shop = Shop::new();
        shop.ok("create_task_file", json!({ "name": "Job", "tasks": ["One"] }));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env("STUDIO_TO_KILL", shop.folder())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let seen = lines.filter(|line| line.contains("answered")).take(answers).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, answers);

        let after = Shop { pack: open(&shop.folder(), None), home: shop.home };
        let products = after.ok("list_products", json!({}))["total_count"].as_u64().unwrap();
        let job = after.ok("get_remaining_tasks", json!({ "slug": "job" }))["files"][0].clone();
        let outputs = job["tasks"][0]["outputs"].as_array().unwrap().len();
        assert!(answers as u64 <= products && answers <= outputs, "{products} products, {outputs} outputs");
        after.ok("update_task", json!({ "slug": "job", "task": 1, "status": "done" }));
    }
}

fn work_for_ever(pack: &toolyard_packs::Pack) -> ! {
    for number in 0.. {
        let product = json!({ "action": "create", "name": format!("P{number}") });
        let output = json!({ "slug": "job", "task": 1, "output": format!("{number}.png") });
        for (tool, arguments) in [("manage_product", product), ("update_task", output)] {
            assert_eq!(answered(pack, tool, arguments.as_object().unwrap())["isError"], false);
        }
        writeln!(std::io::stdout().lock(), "answered {number}").unwrap();
    }
    unreachable!("the numbers do not end")
}

#[test]
fn c9_the_database_belongs_to_its_owner_and_a_newer_one_is_left_alone() {
    let shop = Shop::new();
    shop.ok("manage_product", json!({ "action": "create", "name": "Soda" }));
    for file in ["studio.db", "studio.db-wal", "studio.db-shm"] {
        let mode = fs::metadata(shop.folder().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let database = rusqlite::Connection::open(shop.folder().join("studio.db")).unwrap();
    let mode: String = database.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    database.pragma_update(None, "user_version", 99).unwrap();
    let kind = toolyard_packs::Kind::Studio { folder: shop.folder(), outside: None };
    let error = toolyard_packs::Pack::open(&kind).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("newer version"), "{source}");
}

#[test]
fn c9_a_folder_that_cannot_be_made_is_an_error_that_names_it() {
    let shop = Shop::new();
    let kind = toolyard_packs::Kind::Studio { folder: shop.home.path().join("canary.txt/x"), outside: None };
    fs::write(shop.home.path().join("canary.txt"), "a file").unwrap();
    let error = toolyard_packs::Pack::open(&kind).unwrap_err();
    assert!(error.to_string().contains("as the workspace of a studio"), "{error}");
}
