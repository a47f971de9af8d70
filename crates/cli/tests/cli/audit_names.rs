//! `audit-names`: old names in a tree of texts, and the commands that know them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::place::{Place, names};

const CONFIG: &str = r#"{
  "mcpServers": { "studio": { "command": "FAULT" } },
  "aliases": {
    "create_product": {
      "to": "studio__manage_product", "arguments": { "action": "create" }, "rename": { "product_slug": "slug" },
      "usage": "manage_product(action=\"create\", name=\"...\")"
    },
    "list_styles": "studio__get_style"
  }
}"#;

/// A tree with texts and with much that is none.
fn place() -> Place {
    let place = Place::with(CONFIG);
    place.write(
        "desk/prompts/system.md",
        "Use create_product, not create_products.\r\nThen `list_styles`.\r\n",
    );
    place.write("desk/src/a.py", "x = create_product(name=\"Lamp\", product_slug=s)\n");
    place.write("desk/.claude/skills/make.md", "mcp__studio__create_product and my_create_product\n");
    place.write("desk/ignored/b.md", "create_product\n");
    place.write("desk/also.log", "create_product\n");
    place.write("desk/.gitignore", "ignored/\n");
    place.write("desk/.ignore", "*.log\n");
    place.write("desk/.git/config", "create_product\n");
    place.write("desk/old.md~", "create_product\n");
    fs::write(place.path("desk/picture.bin"), b"create_product\0").unwrap();
    fs::write(place.path("desk/latin.txt"), b"caf\xe9: create_product\n").unwrap();
    let utf16: Vec<u8> = "\u{feff}ä create_product\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(place.path("desk/wide.txt"), utf16).unwrap();
    place
}

fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()
}

#[test]
fn c8_every_old_name_is_found_with_its_place_and_replacement() {
    let place = place();
    insta::assert_snapshot!(place.run(&["audit-names"]), @r#"
    create_product (4 places): use manage_product(action="create", name="...")
      latin.txt:1:7
      prompts/system.md:1:5
      src/a.py:1:5
      wide.txt:1:3
    list_styles (1 place): use studio__get_style(...)
      prompts/system.md:2:7
    studio__create_product (1 place): use manage_product(action="create", name="...")
      .claude/skills/make.md:1:6
    Old names in 6 places of 5 files; 8 files searched.
    [exit 1]
    "#);
    let (found, exit) = place.json(&["audit-names", "--json", "src"]);
    assert_eq!(exit, 1);
    assert_eq!(found["names"], serde_json::json!({"create_product": 1}));
    let expected = serde_json::json!({
        "file": "src/a.py", "line": 1, "column": 5, "name": "create_product", "new": "manage_product",
        "usage": "manage_product(action=\"create\", name=\"...\")",
    });
    assert_eq!(found["found"], serde_json::json!([expected]));
    assert_eq!(place.run(&["audit-names", "-q"]), "[exit 1]");
    // Whoever names a file means it, whatever is ignored.
    assert!(place.run(&["audit-names", "ignored/b.md"]).contains("ignored/b.md:1:1"));
}

#[test]
fn c8_the_exit_code_tells_ci_what_was_found() {
    let place = Place::with(CONFIG);
    place.write("desk/a.md", "nothing old\n");
    insta::assert_snapshot!(place.run(&["audit-names"]), @"
    No old name in 1 file.
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["audit-names", "nowhere"]), @"
    [stderr]
    error: `nowhere` cannot be searched: No such file or directory (os error 2)
    [exit 2]
    ");
    assert!(place.run(&["audit-names", "--backup", "x"]).ends_with("[exit 2]"));
    insta::assert_snapshot!(Place::new().run(&["audit-names"]), @"
    [stderr]
    error: no old name of a tool is known
      hint: write them under `aliases` in the configuration, or into a file and give it with --names
    [exit 2]
    ");
}

#[test]
fn c8_names_of_a_file_are_looked_for_too() {
    let place = Place::new();
    place.write("desk/a.md", "fetch_context_cached(), then create_todo_list\n");
    place.write(
        "names.txt",
        "# old new usage\nfetch_context_cached fetch_context fetch_context(cached=True)\n",
    );
    insta::assert_snapshot!(place.run(&["audit-names", "--names", "../names.txt"]), @"
    fetch_context_cached (1 place): use fetch_context(cached=True)
      a.md:1:1
    Old names in 1 place of 1 file; 1 file searched.
    [exit 1]
    ");
    place.write(
        "names.json",
        r#"{"create_todo_list": {"to": "tasks__manage", "arguments": {"action": "create"}}}"#,
    );
    let said = place.run(&["audit-names", "--names", "../names.json", "--fix"]);
    assert!(said.contains(r#"create_todo_list is now manage; by hand: give action="create""#), "{said}");
    assert_eq!(place.read("desk/a.md"), "fetch_context_cached(), then manage\n");
    place.write("names.txt", "alone\n");
    let said = place.run(&["audit-names", "--names", "../names.txt"]);
    assert!(said.contains("has no new name on line 1") && said.ends_with("[exit 2]"), "{said}");
}

#[test]
fn c8_fix_rewrites_names_and_sure_arguments_keeps_copies_and_does_nothing_twice() {
    let place = place();
    let system = place.path("desk/prompts/system.md");
    fs::set_permissions(&system, fs::Permissions::from_mode(0o640)).unwrap();
    let (latin, wide) = (bytes(&place.path("desk/latin.txt")), bytes(&place.path("desk/wide.txt")));
    insta::assert_snapshot!(place.run(&["audit-names", "--fix"]), @r#"
    fixed .claude/skills/make.md (as it was: .claude/skills/make.md~)
      1:6  studio__create_product is now studio__manage_product; by hand: give action="create", write slug for product_slug
    fixed latin.txt (as it was: latin.txt~)
      1:7  create_product is now manage_product; by hand: give action="create", write slug for product_slug
    fixed prompts/system.md (as it was: prompts/system.md~)
      1:5  create_product is now manage_product; by hand: give action="create", write slug for product_slug
      2:7  list_styles is now get_style
    fixed src/a.py (as it was: src/a.py~)
      1:5  create_product is now manage_product
    fixed wide.txt (as it was: wide.txt~)
      1:3  create_product is now manage_product; by hand: give action="create", write slug for product_slug
    6 of 6 places fixed, 4 of them to be finished by hand; 8 files searched.
    [exit 1]
    "#);
    assert_eq!(place.read("desk/src/a.py"), "x = manage_product(action=\"create\", name=\"Lamp\", slug=s)\n");
    assert_eq!(
        place.read("desk/prompts/system.md"),
        "Use manage_product, not create_products.\r\nThen `get_style`.\r\n"
    );
    assert_eq!(fs::metadata(&system).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(bytes(&place.path("desk/latin.txt")), b"caf\xe9: manage_product\n");
    let utf16: Vec<u8> = "\u{feff}ä manage_product\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(bytes(&place.path("desk/wide.txt")), utf16);
    assert_eq!((bytes(&place.path("desk/latin.txt~")), bytes(&place.path("desk/wide.txt~"))), (latin, wide));
    assert_eq!(bytes(&place.path("desk/picture.bin")), b"create_product\0");
    let before: Vec<String> = names(&place.path("desk"));
    insta::assert_snapshot!(place.run(&["audit-names", "--fix"]), @"
    No old name in 8 files.
    [exit 0]
    ");
    assert_eq!(names(&place.path("desk")), before);
}

#[test]
fn c8_copies_can_be_kept_in_a_folder_and_without_a_copy_nothing_is_changed() {
    let place = place();
    let said = place.run(&["audit-names", "--fix", "src", "--backup", "kept"]);
    assert!(said.contains("(as it was: kept/src/a.py~)"), "{said}");
    assert!(!place.path("desk/src/a.py~").exists());
    assert_eq!(place.run(&["audit-names", "src"]).lines().next(), Some("No old name in 1 file."));
    assert!(!place.run(&["audit-names"]).contains("kept/"), "copies are not searched");
    place.write("desk/file", "");
    let said = place.run(&["audit-names", "--fix", "--backup", "file/below"]);
    assert!(said.contains("no copies can be kept in `file/below`") && said.ends_with("[exit 1]"), "{said}");
    assert!(place.read("desk/prompts/system.md").starts_with("Use create_product"));
}

#[test]
fn c8_read_only_files_and_links_are_left_alone() {
    let place = Place::with(CONFIG);
    place.write("desk/locked.md", "list_styles\n");
    place.write("outside/far.md", "list_styles\n");
    fs::set_permissions(place.path("desk/locked.md"), fs::Permissions::from_mode(0o444)).unwrap();
    symlink(place.path("outside/far.md"), place.path("desk/link.md")).unwrap();
    symlink(place.path("outside"), place.path("desk/folder")).unwrap();
    symlink("nowhere", place.path("desk/dangling")).unwrap();
    insta::assert_snapshot!(place.run(&["audit-names", "--fix", ".", "link.md"]), @"
    left as it is link.md: it is a link; fix the file that it leads to
    left as it is locked.md: it is read-only
    0 of 2 places fixed, 0 of them to be finished by hand; 2 files searched.
    [exit 1]
    ");
    assert_eq!(place.read("outside/far.md"), "list_styles\n");
    assert_eq!(names(&place.path("desk")), ["dangling", "folder", "link.md", "locked.md"]);
}

#[test]
fn c8_a_large_file_is_read_in_pieces() {
    let place = Place::with(CONFIG);
    let line = "nothing to be seen here, create_products\n";
    let mut text = line.repeat(20 * 1024 * 1024 / line.len());
    let lines = text.lines().count();
    text += "and list_styles";
    place.write("desk/large.txt", &text);
    let said = place.run(&["audit-names"]);
    assert!(said.contains(&format!("  large.txt:{}:5\n", lines + 1)), "{said}");
    assert!(place.run(&["audit-names", "--fix"]).contains("1 of 1 place fixed"));
    assert!(bytes(&place.path("desk/large.txt")).ends_with(b"create_products\nand get_style"));
    assert_eq!(bytes(&place.path("desk/large.txt~")).len(), text.len());
}

#[test]
fn c8_killed_in_the_middle_every_file_is_as_it_was_or_as_it_will_be() {
    let (before, after) = ("list_styles\n".repeat(2000), "get_style\n".repeat(2000));
    for files in [3, 20, 60] {
        let place = Place::with(CONFIG);
        for number in 0..60 {
            place.write(&format!("desk/f{number:02}.md"), &before);
        }
        let mut command = place.command(&["audit-names", "--fix"]);
        let mut running = command.stdout(Stdio::null()).spawn().unwrap();
        let done = || {
            (0..60).filter(|it| bytes(&place.path(&format!("desk/f{it:02}.md"))) != before.as_bytes()).count()
        };
        while done() < files && running.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        let _ = running.kill();
        running.wait().unwrap();
        for number in 0..60 {
            let text = place.read(&format!("desk/f{number:02}.md"));
            assert!(text == before || text == after, "f{number:02}.md is torn");
            if text == after {
                assert_eq!(place.read(&format!("desk/f{number:02}.md~")), before);
            }
        }
        place.run(&["audit-names", "--fix"]);
        assert_eq!(place.run(&["audit-names", "-q"]), "[exit 0]");
    }
}

#[test]
fn c7_call_and_describe_take_an_old_name() {
    let config = r#"{
      "mcpServers": { "it": { "command": "FAULT" } },
      "aliases": {
        "say": { "to": "it__echo", "rename": { "words": "text" } },
        "hello": { "to": "it__echo", "arguments": { "text": "hello" }, "phase": "gone" },
        "lost": "it__nothing"
      }
    }"#;
    let place = Place::with(config);
    insta::assert_snapshot!(place.run(&["call", "say", "words=hi"]), @r#"
    hi
    [stderr]
    note: `say` is an old name; use it__echo(text="...")
    [exit 0]
    "#);
    let (said, exit) = place.json(&["call", "it__say", "--args", r#"{"words": "hi"}"#, "--json"]);
    assert_eq!((exit, &said["content"][0]["text"]), (0, &Value::from("hi")));
    assert_eq!(said["_meta"]["toolyard/deprecated"]["name"], "it__say");
    insta::assert_snapshot!(place.run(&["call", "say", "words=hi", "text=ho"]), @"
    [stderr]
    error: `words` is an old name of `text`; give one of them
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["call", "hello"]), @r#"
    [stderr]
    error: The tool `hello` does not exist any more; nothing was done. Call it__echo(text="hello") instead.
    [exit 2]
    "#);
    assert!(place.run(&["describe", "say"]).starts_with("it__echo"));
    let found = place.run(&["doctor"]);
    assert!(found.contains("bad  `lost` stands for `it__nothing`, which no server has"), "{found}");
    assert!(found.ends_with("[exit 1]"), "{found}");
}
