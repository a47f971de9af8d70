//! Files, memory and proposals.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::studio::Shop;

#[test]
fn c9_files_are_written_read_and_listed() {
    let shop = Shop::new();
    let made = shop.ok("write_file", json!({ "path": "notes/brief.md", "content": "one\ntwo\n" }));
    assert_eq!(
        (&made["mode"], &made["bytes"], &made["replaced"]),
        (&json!("create"), &json!(8), &json!(false))
    );
    shop.ok("write_file", json!({ "path": "notes/brief.md", "content": "three", "mode": "append" }));
    let read = shop.ok("read_file", json!({ "path": "notes/brief.md", "start_line": 2, "max_lines": 1 }));
    assert_eq!(
        (&read["content"], &read["total_lines"], &read["has_more"]),
        (&json!("two\n"), &json!(3), &json!(true))
    );
    let listed = shop.ok("list_files", json!({ "path": "notes" }));
    assert_eq!(listed["files"], json!([{ "path": "notes/brief.md", "kind": "file", "bytes": 13 }]));
    let listed = shop.ok("list_files", json!({}));
    let names: Vec<_> =
        listed["files"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["generated", "notes", "tasks", "uploads"]);
    let page = shop.ok("list_files", json!({ "recursive": true, "offset": 1, "limit": 2 }));
    assert_eq!((&page["total_count"], &page["has_more"]), (&json!(8), &json!(true)));
    let text = shop.refused("read_file", json!({ "path": "notes/brief.md", "start_line": 4 }));
    assert!(text.contains("has 3 lines"), "{text}");
    assert!(shop.refused("read_file", json!({ "path": "uploads/bottle.png" })).contains("not UTF-8"));
    assert!(shop.refused("read_file", json!({ "path": "none.md" })).contains("there is no file `none.md`"));
}

#[test]
fn c3_a_file_is_replaced_only_with_mode_and_confirm() {
    let shop = Shop::new();
    shop.ok("write_file", json!({ "path": "a.md", "content": "old" }));
    for (given, reason) in [
        (json!({ "path": "a.md", "content": "new" }), "there is a file `a.md` already"),
        (json!({ "path": "a.md", "content": "new", "mode": "replace" }), "confirm"),
        (json!({ "path": "a.md", "content": "new", "confirm": true }), "does not take `confirm`"),
    ] {
        let text = shop.refused("write_file", given);
        assert!(text.contains(reason), "{text}");
    }
    assert_eq!(fs::read_to_string(shop.folder().join("a.md")).unwrap(), "old");
    let done = shop
        .ok("write_file", json!({ "path": "a.md", "content": "new", "mode": "replace", "confirm": true }));
    assert_eq!(done["replaced"], true);
    assert_eq!(fs::read_to_string(shop.folder().join("a.md")).unwrap(), "new");
}

#[test]
fn c5_permissions_are_kept_and_read_only_files_stay() {
    let shop = Shop::new();
    let place = shop.folder().join("a.md");
    let replace = || json!({ "path": "a.md", "content": "new", "mode": "replace", "confirm": true });
    shop.put("a.md", b"old");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o640)).unwrap();
    shop.ok("write_file", replace());
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o640);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o440)).unwrap();
    assert!(shop.refused("write_file", replace()).contains("read-only"));
}

#[test]
fn c9_memory_is_kept_only_after_it_was_confirmed() {
    let shop = Shop::new();
    let propose = |text: &str, topic: &str| {
        let made = shop.ok("update_memory", json!({ "action": "propose", "text": text, "topic": topic }));
        made["memory"]["id"].as_i64().unwrap()
    };
    let (red, slow) =
        (propose("The client dislikes red", "colours"), propose("Answers on Fridays", "contact"));
    assert_eq!(shop.ok("recall_memory", json!({}))["total_count"], 0);
    assert_eq!(shop.ok("recall_memory", json!({ "status": "pending" }))["total_count"], 2);
    shop.ok("update_memory", json!({ "action": "confirm", "id": red }));
    shop.ok("update_memory", json!({ "action": "discard", "id": slow }));
    let found = shop.ok("recall_memory", json!({ "query": "COLOUR" }));
    assert_eq!(found["memories"][0]["text"], "The client dislikes red");
    assert_eq!(shop.ok("recall_memory", json!({ "query": "friday" }))["total_count"], 0);
    assert_eq!(shop.ok("recall_memory", json!({ "status": "pending" }))["total_count"], 0);
    assert_eq!(shop.ok("load_brand", json!({}))["memories"], json!(["colours: The client dislikes red"]));
    let text = shop.refused("update_memory", json!({ "action": "discard", "id": red }));
    assert!(text.contains("action=\"forget\""), "{text}");
    shop.ok("update_memory", json!({ "action": "forget", "id": red, "confirm": true }));
    assert!(
        shop.refused("update_memory", json!({ "action": "confirm", "id": red }))
            .contains("there is no memory")
    );
}

#[test]
fn c9_choices_are_numbered_and_two_to_ten() {
    let shop = Shop::new();
    let asked = shop.ok("propose_choices", json!({ "question": "Tone?", "choices": ["Playful", "Serious"] }));
    assert_eq!(asked["options"][1], json!({ "number": 2, "text": "Serious" }));
    assert_eq!(asked["allow_custom"], true);
    for choices in [json!(["one"]), json!([]), json!(["a", "a"]), json!(["a", " a"]), json!(vec!["x"; 11])] {
        shop.refused("propose_choices", json!({ "question": "Tone?", "choices": choices }));
    }
}

#[test]
fn c9_images_and_prompts_can_be_chosen_among() {
    let shop = Shop::new();
    let asked = shop.ok(
        "propose_images",
        json!({ "image_paths": ["uploads/snow.webp"], "prompts": ["Bottle on a beach"], "question": "Which?" }),
    );
    let first = &asked["options"][0];
    assert_eq!(
        (&first["kind"], &first["width"], &first["format"]),
        (&json!("image"), &json!(40), &json!("webp"))
    );
    assert_eq!(asked["options"][1], json!({ "number": 2, "kind": "prompt", "text": "Bottle on a beach" }));
    assert!(
        shop.refused("propose_images", json!({ "image_paths": ["uploads/snow.webp"] })).contains("2 to 10")
    );
    let missing = json!({ "image_paths": ["uploads/snow.webp", "uploads/none.png"] });
    assert!(shop.refused("propose_images", missing).contains("there is no file"));
}
