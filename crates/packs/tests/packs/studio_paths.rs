//! Nothing outside the workspace is read or written, whatever a path says and whatever lies on the way.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::studio::{SECRET, Shop, png};

/// Paths that have to be refused, each with a word of the reason.
const ATTACKS: [(&str, &str); 72] = [
    // Out of the folder.
    ("../canary.png", "leads out"),
    ("../../canary.png", "leads out"),
    ("uploads/../../canary.png", "leads out"),
    ("uploads/../uploads/../../canary.png", "leads out"),
    ("uploads/sub/../../../canary.png", "leads out"),
    ("uploads/..", "leads out"),
    ("..", "leads out"),
    ("uploads/./bottle.png", "leads out"),
    ("./uploads/bottle.png", "leads out"),
    (".", "leads out"),
    ("uploads/.../canary.png", "hidden"),
    ("uploads/.. /canary.png", "space"),
    ("uploads/ ../canary.png", "space"),
    // Absolute.
    ("/etc/passwd", "absolute"),
    ("/uploads/bottle.png", "absolute"),
    ("//etc/passwd", "absolute"),
    ("~/canary.png", "absolute"),
    ("~root/canary.png", "absolute"),
    ("file:///etc/passwd", "colon"),
    ("http://example.org/a.png", "colon"),
    // Windows.
    ("C:\\canary.png", "backslash"),
    ("C:/canary.png", "colon"),
    ("C:canary.png", "colon"),
    ("\\\\?\\C:\\canary.png", "absolute"),
    ("\\\\server\\share\\canary.png", "absolute"),
    ("\\canary.png", "backslash"),
    ("uploads\\..\\..\\canary.png", "backslash"),
    ("uploads\\bottle.png", "backslash"),
    ("uploads/..\\canary.png", "backslash"),
    ("uploads/bottle.png:evil", "colon"),
    ("uploads/bottle.png::$DATA", "colon"),
    ("uploads/con.png", "device"),
    ("uploads/NUL", "device"),
    ("uploads/aux.tar.png", "device"),
    ("uploads/COM1.png", "device"),
    ("uploads/lpt¹.png", "device"),
    ("uploads/CONIN$.png", "device"),
    ("uploads/bottle.png.", "dot or a space"),
    ("uploads/bottle.png ", "space"),
    ("uploads/bottle~1.png", "another name on Windows"),
    ("STUDIO~1.DB", "another name on Windows"),
    ("uploads/a?.png", "leave out"),
    ("uploads/*.png", "leave out"),
    ("uploads/a|b.png", "leave out"),
    // Encoded.
    ("%2e%2e/canary.png", "percent-encoded"),
    ("uploads/%2e%2e%2fcanary.png", "percent-encoded"),
    ("uploads%2Fbottle.png", "percent-encoded"),
    ("uploads/%252e%252e/canary.png", "percent-encoded"),
    ("uploads/%c0%ae%c0%ae/canary.png", "percent-encoded"),
    ("uploads/%u002e%u002e/canary.png", "percent-encoded"),
    ("uploads/bottle.png%00.txt", "percent-encoded"),
    // Look-alikes.
    ("uploads/‥/canary.png", "U+2025"),
    ("uploads/．．/canary.png", "U+FF0E"),
    ("uploads/․․/canary.png", "U+2024"),
    ("uploads／..／canary.png", "U+FF0F"),
    ("uploads∕canary.png", "U+2215"),
    ("uploads⁄canary.png", "U+2044"),
    ("uploads/..＼canary.png", "U+FF3C"),
    ("C：/canary.png", "U+FF1A"),
    ("uploads/bottle\u{202e}gnp.exe", "U+202E"),
    ("uploads/bottle\u{200b}.png", "U+200B"),
    ("uploads/％2e％2e/canary.png", "U+FF05"),
    // Characters and forms that no name has.
    ("uploads/bottle.png\0.txt", "control character"),
    ("uploads/\nbottle.png", "control character"),
    ("uploads//bottle.png", "empty part"),
    (" uploads/bottle.png", "space"),
    (".env", "hidden"),
    ("uploads/.hidden.png", "hidden"),
    (".git/config", "hidden"),
    // The studio's own.
    ("studio.db", "studio itself"),
    ("Studio.DB-wal", "studio itself"),
    ("STOP", "studio itself"),
];

/// Things on the disk that lead out or are no files, each with a word of the reason.
const TRAPS: [(&str, &str); 12] = [
    ("uploads/link.png", "is a link"),
    ("uploads/linked-folder/canary.png", "is a link"),
    ("uploads/inner-link.png", "is a link"),
    ("uploads/dangling.png", "is a link"),
    ("uploads/loop.png", "is a link"),
    ("uploads/deep/link/canary.png", "is a link"),
    ("linked-folder/canary.png", "is a link"),
    ("uploads/hard.png", "hard link"),
    ("hard.txt", "hard link"),
    ("uploads/folder.png", "no ordinary file"),
    ("uploads/socket.png", "no ordinary file"),
    ("uploads/bottle.png/canary.png", "not a folder"),
];

/// A workspace that is full of traps, with a canary beside it.
fn trapped() -> Shop {
    let shop = Shop::new();
    let (home, folder) = (shop.home.path().to_owned(), shop.folder());
    let mut canary = png(8, 8, &[[9, 9, 9]]);
    canary.extend_from_slice(SECRET.as_bytes());
    fs::write(home.join("canary.png"), &canary).unwrap();
    fs::write(home.join("canary.txt"), SECRET).unwrap();
    fs::create_dir_all(folder.join("uploads/deep")).unwrap();
    fs::create_dir_all(folder.join("uploads/folder.png")).unwrap();
    for (target, link) in [
        (home.join("canary.png"), "uploads/link.png"),
        (home.clone(), "uploads/linked-folder"),
        (home.clone(), "linked-folder"),
        (home.clone(), "uploads/deep/link"),
        (folder.join("uploads/bottle.png"), "uploads/inner-link.png"),
        (home.join("new.png"), "uploads/dangling.png"),
        (folder.join("uploads/loop.png"), "uploads/loop.png"),
    ] {
        symlink(target, folder.join(link)).unwrap();
    }
    fs::hard_link(home.join("canary.png"), folder.join("uploads/hard.png")).unwrap();
    fs::hard_link(home.join("canary.txt"), folder.join("hard.txt")).unwrap();
    drop(UnixListener::bind(folder.join("uploads/socket.png")).unwrap());
    shop.ok("manage_product", json!({ "action": "create", "name": "Soda" }));
    shop.ok("manage_style_reference", json!({ "action": "create", "name": "Soda" }));
    shop
}

/// Every tool that takes a path, with that path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let write = |mode: &str| json!({ "path": path, "content": "x", "mode": mode });
    vec![
        ("manage_product", json!({ "action": "add_image", "slug": "soda", "image_path": path })),
        ("manage_product", json!({ "action": "set_primary", "slug": "soda", "image_path": path })),
        ("manage_style_reference", json!({ "action": "create", "name": "New", "image_path": path })),
        ("manage_style_reference", json!({ "action": "add_image", "slug": "soda", "image_path": path })),
        ("propose_images", json!({ "image_paths": [path, "uploads/bottle.png"] })),
        ("read_file", json!({ "path": path })),
        ("write_file", write("create")),
        ("write_file", write("append")),
        ("write_file", json!({ "path": path, "content": "x", "mode": "replace", "confirm": true })),
        ("list_files", json!({ "path": path })),
    ]
}

#[test]
fn c5_every_attack_is_refused_by_every_tool_with_a_reason_and_nothing_is_touched() {
    let shop = trapped();
    let before = shop.snapshot();
    for (path, reason) in ATTACKS {
        for (tool, arguments) in calls(path) {
            // The workspace itself may be listed as `.`.
            if (tool, path) == ("list_files", ".") {
                continue;
            }
            let text = shop.refused(tool, arguments);
            assert!(!text.contains(SECRET), "{tool} {path:?} leaked: {text}");
            // Image tools say of a good name that it is not in `uploads/`.
            let own = reason == "studio itself" && !tool.ends_with("_file") && !tool.ends_with("_files");
            assert!(own || text.contains(reason), "{tool} {path:?} should say {reason}: {text}");
        }
        let batch =
            shop.ok("manage_style_reference", json!({ "action": "create_batch", "image_paths": [path] }));
        assert_eq!(
            (&batch["success_count"], batch["failed"].as_array().unwrap().len()),
            (&json!(0), 1),
            "{path:?}"
        );
    }
    assert_eq!(shop.snapshot(), before);
    assert_eq!(shop.ok("get_style_reference", json!({}))["total_count"], 1);
}

#[test]
fn c5_links_and_other_traps_on_the_disk_are_refused_by_every_tool() {
    let shop = trapped();
    let before = shop.snapshot();
    for (path, reason) in TRAPS {
        for (tool, arguments) in calls(path) {
            // A folder with the name of an image can be listed.
            if (tool, path) == ("list_files", "uploads/folder.png") {
                continue;
            }
            let text = shop.refused(tool, arguments);
            assert!(!text.contains(SECRET), "{tool} {path:?} leaked: {text}");
            let listing = tool == "list_files" && text.contains("not a folder");
            let elsewhere = !path.starts_with("uploads/") && text.contains("is not in `uploads/`");
            assert!(
                listing || elsewhere || text.contains(reason),
                "{tool} {path:?} should say {reason}: {text}"
            );
        }
        let batch =
            shop.ok("manage_style_reference", json!({ "action": "create_batch", "image_paths": [path] }));
        assert_eq!(batch["success_count"], 0, "{path:?}");
    }
    assert_eq!(shop.snapshot(), before);
}

#[test]
fn c5_listings_leave_links_out_and_count_them() {
    let shop = trapped();
    let listed = shop.ok("list_files", json!({ "path": "uploads", "recursive": true, "limit": 100 }));
    let paths: Vec<&str> =
        listed["files"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(
        paths,
        [
            "uploads/bottle.png",
            "uploads/deep",
            "uploads/folder.png",
            "uploads/hero-banner.jpg",
            "uploads/snow.webp",
        ]
    );
    // Six links of which one is deeper, a hard link and a socket.
    assert_eq!(listed["skipped"], 8);
    let top = shop.ok("list_files", json!({}));
    assert!(!top.to_string().contains("studio.db"), "{top}");
}

#[test]
fn c5_a_link_that_is_swapped_in_is_never_followed() {
    const ROUNDS: usize = 2000;
    let shop = trapped();
    let (folder, home) = (shop.folder(), shop.home.path().to_owned());
    let (swap, trap) = (folder.join("swap"), folder.join("trap"));
    fs::create_dir_all(&swap).unwrap();
    fs::write(swap.join("canary.txt"), "harmless").unwrap();
    symlink(&home, &trap).unwrap();
    let over = AtomicBool::new(false);
    let (mut read, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // The folder and the link change places in one step, so that something is always there.
                renameat_with(CWD, &swap, CWD, &trap, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for round in 0..ROUNDS {
            let result = shop.call("read_file", json!({ "path": "swap/canary.txt" }));
            assert!(!result.to_string().contains(SECRET), "round {round}: {result}");
            if result["isError"] == false {
                read += 1
            } else {
                refused += 1
            };
            if round % 10 == 0 {
                let name = format!("swap/written-{round}.txt");
                shop.call("write_file", json!({ "path": name, "content": "x" }));
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(read + refused, ROUNDS);
    let mut beside: Vec<_> = fs::read_dir(&home).unwrap().map(|it| it.unwrap().file_name()).collect();
    beside.sort();
    assert_eq!(beside, ["canary.png", "canary.txt", "workspace"]);
}

#[test]
fn c5_names_that_only_look_odd_are_accepted() {
    let shop = Shop::new();
    for path in ["notes/100%.md", "Ünï cödé/日本語.txt", "a.b.c", "notes/x~y.md", "conrad.md", "emoji-🍋.md"]
    {
        shop.ok("write_file", json!({ "path": path, "content": path }));
        assert_eq!(shop.ok("read_file", json!({ "path": path }))["content"], path);
    }
}
