//! Notes that are created, changed and tagged, also by several at once.

use serde_json::json;
use toolyard_packs::{Kind, Pack};

use crate::yard::{GARDEN, Yard};

#[test]
fn create_writes_title_and_tags() {
    let yard = Yard::new();
    insta::assert_snapshot!(
        yard.whole("create_note", &json!({
            "title": "What is AI?", "content": "A *question*.\n", "folder": "Ideas/2026", "tags": ["#ai", "open-end"],
        })), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "Created What is AI? (Ideas/2026/What is AI.md, revision 3319a45bf4068347) #ai #open-end"
        }
      ],
      "structuredContent": {
        "revision": "3319a45bf4068347",
        "path": "Ideas/2026/What is AI.md",
        "title": "What is AI?",
        "tags": [
          "ai",
          "open-end"
        ]
      },
      "isError": false
    }
    "#);
    insta::assert_snapshot!(yard.file("Ideas/2026/What is AI.md"), @"
    ---
    tags: [ai, open-end]
    ---

    # What is AI?

    A *question*.
    ");
}

#[test]
fn create_refuses_taken_and_unsafe_names() {
    let yard = Yard::new();
    insta::assert_snapshot!(yard.texts("create_note", &[
        json!({ "title": "plan", "folder": "Work" }),
        json!({ "title": "Garden", "folder": "Home" }),
        json!({ "title": "a/b" }),
        json!({ "title": "???" }),
        json!({ "title": "con" }),
        json!({ "title": "x", "folder": "a?b" }),
        json!({ "title": ".hidden" }),
        json!({ "title": "é".repeat(140) }),
        json!({ "title": "x", "folder": "../out" }),
        json!({ "title": "x", "folder": "/etc" }),
        json!({ "title": "x", "folder": "Work/Plan.md" }),
        json!({ "title": "x", "tags": ["a b"] }),
        json!({ "title": "Minutes.md" }),
        json!({ "title": "Own head", "content": "---\nmood: calm\n---\n# Mine\n", "tags": ["x"] }),
    ]), @r#"
    {"title":"plan","folder":"Work"}
    -> ERROR there is a note `Work/Plan.md` already, and creating never overwrites: change it with update_note or choose another title

    {"title":"Garden","folder":"Home"}
    -> ERROR there is a note `Home/garden.md` already, and creating never overwrites: change it with update_note or choose another title

    {"title":"a/b"}
    -> ERROR the title `a/b` has a slash: send the folder as `folder` and the title without it

    {"title":"???"}
    -> ERROR `???` cannot be the name of a note on every computer: it has no letters or digits

    {"title":"con"}
    -> ERROR `con.md` cannot be the name of a note on every computer: Windows keeps this name for a device

    {"title":"x","folder":"a?b"}
    -> ERROR `a?b` cannot be the name of a note on every computer: leave out `?`

    {"title":".hidden"}
    -> Created .hidden (hidden.md, revision 43974a281edd4342)

    {"title":"éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé
    -> ERROR `éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…` is too long: a name may have 200 bytes, a path 1000 and 16 parts

    {"title":"x","folder":"../out"}
    -> ERROR `../out` leads out of the folder of notes, or might: send a path without `..`, such as `Projects/Plan.md`

    {"title":"x","folder":"/etc"}
    -> ERROR `/etc` is an absolute path: send one inside the folder of notes, for example `Projects/Plan.md`

    {"title":"x","folder":"Work/Plan.md"}
    -> ERROR `Plan.md` is a file and not a folder

    {"title":"x","tags":["a b"]}
    -> ERROR `a b` is no tag: a tag has letters, digits, `-`, `_` and `/` and no spaces, for example `reading-list`

    {"title":"Minutes.md"}
    -> Created Minutes (Minutes.md, revision 446a5fd1b008592b)

    {"title":"Own head","content":"---\nmood: calm\n---\n# Mine\n","tags":["x"]}
    -> Created Mine (Own head.md, revision c9be9794c929ca92) #x
    "#);
    insta::assert_snapshot!(yard.file("Own head.md"), @"
    ---
    tags: [x]
    mood: calm
    ---
    # Mine
    ");
    assert_eq!(yard.file("Home/garden.md"), GARDEN, "the note in other capitals is untouched");
}

#[test]
fn update_appends_prepends_and_replaces_a_section() {
    let yard = Yard::new();
    let steps = [
        json!({ "note": "garden", "content": "- buy twine" }),
        json!({ "note": "garden", "content": "A new paragraph.", "mode": "append" }),
        json!({ "note": "garden", "content": "First of all.", "mode": "prepend" }),
        json!({ "note": "garden", "content": "- rest", "mode": "replace_section", "heading": "This week" }),
    ];
    let mut states = Vec::new();
    for step in steps {
        yard.call("update_note", &step);
        states.push(yard.file("Home/garden.md"));
    }
    insta::assert_snapshot!(states.join("\n=====\n"), @"
    ---
    tags: [home]
    ---
    # Garden

    ## This week

    - #todo call the plumber
    - water the tomatoes
    - buy twine

    =====
    ---
    tags: [home]
    ---
    # Garden

    ## This week

    - #todo call the plumber
    - water the tomatoes
    - buy twine

    A new paragraph.

    =====
    ---
    tags: [home]
    ---
    # Garden

    First of all.

    ## This week

    - #todo call the plumber
    - water the tomatoes
    - buy twine

    A new paragraph.

    =====
    ---
    tags: [home]
    ---
    # Garden

    First of all.

    ## This week

    - rest
    ");
}

#[test]
fn update_replaces_everything_below_the_front_matter() {
    let yard = Yard::new();
    insta::assert_snapshot!(
        yard.whole("update_note", &json!({ "note": "garden", "content": "Only this.", "mode": "replace" })), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "Changed garden (Home/garden.md, revision 68f1cfe2465e16b1) #home"
        }
      ],
      "structuredContent": {
        "revision": "68f1cfe2465e16b1",
        "previous_revision": "3813873a2544ba8a",
        "changed": true,
        "path": "Home/garden.md",
        "title": "garden",
        "tags": [
          "home"
        ]
      },
      "isError": false
    }
    "#);
    assert_eq!(yard.file("Home/garden.md"), "---\ntags: [home]\n---\nOnly this.\n");
}

#[test]
fn update_says_what_is_missing_or_does_not_fit() {
    let yard = Yard::new();
    yard.write("Home/garden.md", "Only this.\n");
    insta::assert_snapshot!(yard.texts("update_note", &[
        json!({ "note": "garden", "content": "Only this.", "mode": "replace" }),
        json!({ "note": "garden", "content": " \n" }),
        json!({ "note": "garden", "content": "x", "mode": "replace_section" }),
        json!({ "note": "garden", "content": "x", "heading": "This week" }),
        json!({ "note": "Plan", "content": "x", "mode": "replace_section", "heading": "Step" }),
        json!({ "note": "garden", "content": "x", "mode": "delete" }),
        json!({ "note": "garden", "contents": "x" }),
        json!({ "note": "missing", "content": "x" }),
    ]), @r#"
    {"note":"garden","content":"Only this.","mode":"replace"}
    -> Nothing to change in garden (Home/garden.md, revision 5fac75084487ae65)

    {"note":"garden","content":" \n"}
    -> ERROR `content` is blank: send the text to write

    {"note":"garden","content":"x","mode":"replace_section"}
    -> ERROR mode `replace_section` needs `heading`, the heading whose section is replaced

    {"note":"garden","content":"x","heading":"This week"}
    -> ERROR `heading` is used only with mode `replace_section`: leave it out or change the mode

    {"note":"Plan","content":"x","mode":"replace_section","heading":"Step"}
    -> ERROR 2 headings of this note are called `Step`: rename one, or replace the whole text

    {"note":"garden","content":"x","mode":"delete"}
    -> ERROR `update_note` was not run. `mode` is `delete`, which is no choice: send one of `append`, `prepend`, `replace`, `replace_section`. It takes `note`, `content`, `mode`, `heading`, `expected`

    {"note":"garden","contents":"x"}
    -> ERROR `update_note` was not run. `content` is missing: send a string, for example "- call Ana\n- order seeds". There is no argument `contents`: did you mean `content`. It takes `note`, `content`, `mode`, `heading`, `expected`

    {"note":"missing","content":"x"}
    -> ERROR there is no note `missing`; list_notes and search_notes find what there is
    "#);
}

#[test]
fn windows_line_ends_stay_windows_line_ends() {
    let yard = Yard::new();
    yard.write("crlf.md", "# A\r\n\r\none\r\n");
    yard.call("update_note", &json!({ "note": "crlf", "content": "two\nthree" }));
    yard.call("tag_note", &json!({ "note": "crlf", "add": ["x"] }));
    assert_eq!(yard.file("crlf.md"), "---\r\ntags: [x]\r\n---\r\n\r\n# A\r\n\r\none\r\n\r\ntwo\r\nthree\r\n");
}

#[test]
fn tags_are_added_to_the_front_matter_and_removed_from_everywhere() {
    let yard = Yard::new();
    insta::assert_snapshot!(
        yard.whole("tag_note", &json!({ "note": "garden", "add": ["#Urgent", "home"], "remove": ["todo"] })), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "Changed Garden (Home/garden.md, revision 81c94cc125e6bab8) #home #Urgent"
        }
      ],
      "structuredContent": {
        "added": [
          "Urgent"
        ],
        "removed": [
          "todo"
        ],
        "removed_from_text": 1,
        "revision": "81c94cc125e6bab8",
        "previous_revision": "3813873a2544ba8a",
        "changed": true,
        "path": "Home/garden.md",
        "title": "Garden",
        "tags": [
          "home",
          "Urgent"
        ]
      },
      "isError": false
    }
    "#);
    insta::assert_snapshot!(yard.file("Home/garden.md"), @"
    ---
    tags: [home, Urgent]
    ---
    # Garden

    ## This week

    - call the plumber
    - water the tomatoes
    ");
    yard.call("tag_note", &json!({ "note": "garden", "remove": ["URGENT", "home"] }));
    assert!(yard.file("Home/garden.md").starts_with("# Garden\n"), "an empty front matter goes");
    yard.write("odd.md", "---\ntags: &all [a]\n---\n");
    insta::assert_snapshot!(yard.texts("tag_note", &[
        json!({ "note": "garden" }),
        json!({ "note": "garden", "add": ["42"] }),
        json!({ "note": "garden", "add": "urgent" }),
        json!({ "note": "odd", "add": ["b"] }),
        json!({ "note": "garden", "remove": ["never-there"] }),
    ]), @r#"
    {"note":"garden"}
    -> ERROR there is nothing to change: send tags to `add`, to `remove` or both

    {"note":"garden","add":["42"]}
    -> ERROR `42` is no tag: a tag has letters, digits, `-`, `_` and `/` and no spaces, for example `reading-list`

    {"note":"garden","add":"urgent"}
    -> ERROR `tag_note` was not run. `add` is a string and not a list: send a list of strings, for example ["todo","reading-list"]. It takes `note`, `add`, `remove`, `expected`

    {"note":"odd","add":["b"]}
    -> ERROR the front matter writes its tags in a form that cannot be edited safely: write them as `tags: [a, b]`

    {"note":"garden","remove":["never-there"]}
    -> Nothing to change in Garden (Home/garden.md, revision f06fada6953f3621)
    "#);
}

#[test]
fn a_stale_revision_is_refused_and_a_fresh_one_is_not() {
    let yard = Yard::new();
    let read = yard.call("read_note", &json!({ "note": "garden" }));
    let revision = read["structuredContent"]["revision"].as_str().unwrap();
    let mine = json!({ "note": "garden", "content": "mine", "expected": revision });
    assert_eq!(yard.call("update_note", &mine)["isError"], false);
    let after = yard.file("Home/garden.md");
    insta::assert_snapshot!(yard.texts("update_note", &[mine]), @r#"
    {"note":"garden","content":"mine","expected":"3813873a2544ba8a"}
    -> ERROR `Home/garden.md` has changed since it was read: its revision is c7b4287e83f014c3 and not 3813873a2544ba8a. Nothing was written; read it with read_note and send the change again
    "#);
    assert_eq!(yard.file("Home/garden.md"), after);
}

#[test]
fn two_threads_that_append_lose_nothing() {
    let yard = Yard::new();
    let other = Pack::open(&Kind::Notes { folder: yard.folder.path().to_owned() }).unwrap();
    let append = |pack: &Pack, who: &str| {
        for at in 0..25 {
            let arguments = json!({ "note": "Home/garden.md", "content": format!("- {who} {at}") });
            let done = pack.call("update_note", arguments.as_object().unwrap()).unwrap();
            assert_eq!(done["isError"], false, "{done}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| append(&yard.pack, "a"));
        scope.spawn(|| append(&yard.pack, "b"));
        // A pack of its own shares no lock in memory, as another program would not.
        scope.spawn(|| append(&other, "c"));
    });
    let text = yard.file("Home/garden.md");
    for who in ["a", "b", "c"] {
        for at in 0..25 {
            assert_eq!(text.lines().filter(|line| *line == format!("- {who} {at}")).count(), 1);
        }
    }
}

#[test]
fn of_two_threads_with_the_same_revision_one_is_told() {
    let yard = Yard::new();
    let read = yard.call("read_note", &json!({ "note": "garden" }));
    let revision = read["structuredContent"]["revision"].as_str().unwrap();
    let write = |who: &str| {
        let content = json!({ "note": "garden", "content": who, "mode": "replace", "expected": revision });
        yard.call("update_note", &content)["isError"] == false
    };
    let (a, b) = std::thread::scope(|scope| {
        let a = scope.spawn(|| write("a"));
        let b = scope.spawn(|| write("b"));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert!(a ^ b, "exactly one of the two was written");
    let winner = if a { "a\n" } else { "b\n" };
    assert!(yard.file("Home/garden.md").ends_with(winner));
}

#[test]
fn of_many_threads_that_create_the_same_note_one_succeeds() {
    let yard = Yard::new();
    let create = |who: usize| {
        let arguments = json!({ "title": "Same", "content": format!("by {who}") });
        yard.call("create_note", &arguments)["isError"] == false
    };
    let made: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|who| scope.spawn(move || create(who))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|it| **it).count(), 1);
    let who = made.iter().position(|it| *it).unwrap();
    assert_eq!(yard.file("Same.md"), format!("# Same\n\nby {who}\n"));
}
