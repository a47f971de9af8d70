//! Notes that are searched, read and listed.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolyard_packs::{Kind, Pack};

use crate::yard::Yard;

#[test]
fn a_folder_that_does_not_exist_is_made_with_sample_notes() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("data/notes");
    let pack = Pack::open(&Kind::Notes { folder: folder.clone() }).unwrap();
    let found = pack.call("search_notes", json!({ "query": "AI" }).as_object().unwrap()).unwrap();
    let titles: Vec<&Value> =
        found["structuredContent"]["results"].as_array().unwrap().iter().map(|it| &it["title"]).collect();
    assert_eq!(titles, ["AI and local models", "Welcome to Toolyard"]);

    fs::remove_file(folder.join("Home/Garden.md")).unwrap();
    Pack::open(&Kind::Notes { folder: folder.clone() }).unwrap();
    assert!(!folder.join("Home/Garden.md").exists(), "a folder that exists is left as it is");
    assert_eq!(names(&home.path().join("data")), ["notes"], "nothing temporary is left beside it");
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("notes"), "").unwrap();
    let error = Pack::open(&Kind::Notes { folder: home.path().join("notes") }).unwrap_err();
    assert!(error.to_string().starts_with("cannot use `"), "{error}");
}

#[test]
fn search_ranks_titles_over_text_and_shows_where_the_words_stand() {
    insta::assert_snapshot!(Yard::new().whole("search_notes", &json!({ "query": "plan", "limit": 2 })), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "3 notes found for `plan`\n1. The big plan (Work/Plan.md) #work/2026 #todo\n   one #todo\n2. Crème brûlée (Home/sweets.md)\n   No plan needed. 東京で食べた。\n1 more: raise `limit` or add words"
        }
      ],
      "structuredContent": {
        "results": [
          {
            "path": "Work/Plan.md",
            "title": "The big plan",
            "tags": [
              "work/2026",
              "todo"
            ],
            "modified": "2026-02-23T06:13:20Z",
            "score": 5.55,
            "snippet": "one #todo"
          },
          {
            "path": "Home/sweets.md",
            "title": "Crème brûlée",
            "tags": [],
            "modified": "2026-02-24T06:13:20Z",
            "score": 0.83,
            "snippet": "No plan needed. 東京で食べた。"
          }
        ],
        "total_count": 3,
        "has_more": true,
        "skipped": [],
        "incomplete": false
      },
      "isError": false
    }
    "#);
}

#[test]
fn search_understands_phrases_tags_plurals_and_accents() {
    let yard = Yard::new();
    insta::assert_snapshot!(yard.texts("search_notes", &[
        json!({ "query": "search my notes for AI please" }),
        json!({ "query": "\"water the tomatoes\"" }),
        json!({ "query": "\"tomatoes the\"" }),
        json!({ "query": "tomato creme" }),
        json!({ "query": "#todo" }),
        json!({ "query": "call #todo", "folder": "Home" }),
        json!({ "query": "plan", "tag": "work" }),
        json!({ "query": "東京" }),
        json!({ "query": "?!" }),
        json!({ "query": "plan", "folder": "Nowhere" }),
        json!({ "query": "plan", "tag": "two words" }),
    ]), @r##"
    {"query":"search my notes for AI please"}
    -> 1 note found for `search my notes for AI please`
    1. On thinking (Thoughts.md)
       AI is in the air. "Planning" is half of it.

    {"query":"\"water the tomatoes\""}
    -> 1 note found for `"water the tomatoes"`
    1. Garden (Home/garden.md) #home #todo
       - water the tomatoes

    {"query":"\"tomatoes the\""}
    -> 0 notes found for `"tomatoes the"`

    {"query":"tomato creme"}
    -> 2 notes found for `tomato creme`
    1. Crème brûlée (Home/sweets.md)
       # Crème brûlée
    2. Garden (Home/garden.md) #home #todo
       - water the tomatoes

    {"query":"#todo"}
    -> 2 notes found for `#todo`
    1. Garden (Home/garden.md) #home #todo
       - #todo call the plumber
    2. The big plan (Work/Plan.md) #work/2026 #todo
       one #todo

    {"query":"call #todo","folder":"Home"}
    -> 1 note found for `call #todo`
    1. Garden (Home/garden.md) #home #todo
       - #todo call the plumber

    {"query":"plan","tag":"work"}
    -> 1 note found for `plan`
    1. The big plan (Work/Plan.md) #work/2026 #todo
       one #todo

    {"query":"東京"}
    -> 1 note found for `東京`
    1. Crème brûlée (Home/sweets.md)
       No plan needed. 東京で食べた。

    {"query":"?!"}
    -> ERROR there is nothing to look for in `?!`: send words, a "phrase" in quotes or a `#tag`

    {"query":"plan","folder":"Nowhere"}
    -> ERROR there are no notes in a folder `Nowhere`; there are `Home`, `Work`

    {"query":"plan","tag":"two words"}
    -> ERROR `two words` is no tag: a tag has letters, digits, `-`, `_` and `/` and no spaces, for example `reading-list`
    "##);
}

#[test]
fn read_shows_the_whole_note_and_its_revision() {
    let yard = Yard::new();
    insta::assert_snapshot!(yard.whole("read_note", &json!({ "note": "Work/Plan.md" })), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "The big plan (Work/Plan.md, revision 3bb1bfeffbaeb66c) #work/2026 #todo\n\n---\ntitle: The big plan\ntags:\n  - work/2026\n---\n## Step\n\none #todo\n\n## Step\n\ntwo\n"
        }
      ],
      "structuredContent": {
        "path": "Work/Plan.md",
        "title": "The big plan",
        "tags": [
          "work/2026",
          "todo"
        ],
        "modified": "2026-02-23T06:13:20Z",
        "revision": "3bb1bfeffbaeb66c",
        "content": "---\ntitle: The big plan\ntags:\n  - work/2026\n---\n## Step\n\none #todo\n\n## Step\n\ntwo\n",
        "start_line": 1,
        "total_lines": 12,
        "has_more": false,
        "shortened": false
      },
      "isError": false
    }
    "#);
}

#[test]
fn a_note_is_addressed_by_its_title_or_a_part_of_it() {
    let yard = Yard::new();
    yard.write("Home/garden 2.md", "# Back yard\n");
    insta::assert_snapshot!(yard.texts("read_note", &[
        json!({ "note": "the big plan" }),
        json!({ "note": "[[garden]]", "heading": "## this WEEK" }),
        json!({ "note": "gard" }),
        json!({ "note": "plan" }),
        json!({ "note": "Paln" }),
        json!({ "note": "home" }),
        json!({ "note": "[[ ]]" }),
        json!({ "note": "garden", "heading": "Nope" }),
        json!({ "note": "garden", "start_line": 3, "max_lines": 2 }),
        json!({ "note": "garden", "start_line": 99 }),
    ]), @r###"
    {"note":"the big plan"}
    -> The big plan (Work/Plan.md, revision 3bb1bfeffbaeb66c) #work/2026 #todo

    ---
    title: The big plan
    tags:
      - work/2026
    ---
    ## Step

    one #todo

    ## Step

    two


    {"note":"[[garden]]","heading":"## this WEEK"}
    -> Garden (Home/garden.md, revision 3813873a2544ba8a) #home #todo

    ## This week

    - #todo call the plumber
    - water the tomatoes


    {"note":"gard"}
    -> ERROR `gard` can be any of 2 notes: send the path of one, such as `Home/garden 2.md`, `Home/garden.md`

    {"note":"plan"}
    -> The big plan (Work/Plan.md, revision 3bb1bfeffbaeb66c) #work/2026 #todo

    ---
    title: The big plan
    tags:
      - work/2026
    ---
    ## Step

    one #todo

    ## Step

    two


    {"note":"Paln"}
    -> ERROR there is no note `Paln`, but `Work/Plan.md`; list_notes and search_notes find what there is

    {"note":"home"}
    -> ERROR `home` can be any of 3 notes: send the path of one, such as `Home/garden 2.md`, `Home/garden.md`, `Home/sweets.md`

    {"note":"[[ ]]"}
    -> ERROR there is no note ``; list_notes and search_notes find what there is

    {"note":"garden","heading":"Nope"}
    -> ERROR there is no heading `Nope` in this note; it has `Garden`, `This week`

    {"note":"garden","start_line":3,"max_lines":2}
    -> Garden (Home/garden.md, revision 3813873a2544ba8a) #home #todo

    ---
    # Garden

    [lines 3 to 4 of 9: go on with start_line 5]

    {"note":"garden","start_line":99}
    -> ERROR `start_line` is 99, and there are 9 lines
    "###);
}

#[test]
fn lists_pages_of_notes_by_time_and_by_name() {
    let yard = Yard::new();
    insta::assert_snapshot!(yard.whole("list_notes", &json!({ "limit": 2, "offset": 1 })), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "4 notes, from number 2 on\n- Crème brûlée (Home/sweets.md), 2026-02-24T06:13:20Z\n- The big plan (Work/Plan.md) #work/2026 #todo, 2026-02-23T06:13:20Z\nMore: go on with offset 3"
        }
      ],
      "structuredContent": {
        "notes": [
          {
            "path": "Home/sweets.md",
            "title": "Crème brûlée",
            "tags": [],
            "modified": "2026-02-24T06:13:20Z"
          },
          {
            "path": "Work/Plan.md",
            "title": "The big plan",
            "tags": [
              "work/2026",
              "todo"
            ],
            "modified": "2026-02-23T06:13:20Z"
          }
        ],
        "total_count": 4,
        "offset": 1,
        "has_more": true,
        "skipped": [],
        "incomplete": false
      },
      "isError": false
    }
    "#);
    insta::assert_snapshot!(yard.texts("list_notes", &[
        json!({ "sort": "name" }),
        json!({ "tag": "work" }),
        json!({ "tag": "work", "offset": 1, "limit": 1 }),
        json!({ "folder": "Home/" }),
        json!({ "offset": 100 }),
        json!({ "limit": 0 }),
        json!({ "folder": "../.." }),
    ]), @r#"
    {"sort":"name"}
    -> 4 notes
    - Garden (Home/garden.md) #home #todo, 2026-02-25T06:13:20Z
    - Crème brûlée (Home/sweets.md), 2026-02-24T06:13:20Z
    - On thinking (Thoughts.md), 2026-02-22T06:13:20Z
    - The big plan (Work/Plan.md) #work/2026 #todo, 2026-02-23T06:13:20Z

    {"tag":"work"}
    -> 1 note
    - The big plan (Work/Plan.md) #work/2026 #todo, 2026-02-23T06:13:20Z

    {"tag":"work","offset":1,"limit":1}
    -> 1 note, none from number 2 on

    {"folder":"Home/"}
    -> 2 notes
    - Garden (Home/garden.md) #home #todo, 2026-02-25T06:13:20Z
    - Crème brûlée (Home/sweets.md), 2026-02-24T06:13:20Z

    {"offset":100}
    -> 4 notes, none from number 101 on

    {"limit":0}
    -> ERROR `list_notes` was not run. `limit` is 0, under 1: send a whole number from 1 to 200, for example 50. It takes `folder`, `tag`, `sort`, `limit`, `offset`

    {"folder":"../.."}
    -> ERROR `../..` leads out of the folder of notes, or might: send a path without `..`, such as `Projects/Plan.md`
    "#);
}

#[test]
fn what_cannot_be_read_is_reported_and_spoils_nothing() {
    let yard = Yard::new();
    fs::write(yard.path("latin1.md"), b"caf\xe9").unwrap();
    fs::File::create(yard.path("huge.md")).unwrap().set_len(5 * 1024 * 1024).unwrap();
    fs::create_dir_all(yard.path(".obsidian")).unwrap();
    yard.write(".obsidian/plan.md", "# Plan of the editor");
    yard.write("plan.txt", "plan");
    let found = yard.call("search_notes", &json!({ "query": "plan" }));
    insta::assert_snapshot!(serde_json::to_string_pretty(&found["structuredContent"]["skipped"]).unwrap(), @r#"
    [
      {
        "path": "huge.md",
        "reason": "`huge.md` is larger than 4 MiB, or would become so"
      },
      {
        "path": "latin1.md",
        "reason": "`latin1.md` is not UTF-8 text"
      }
    ]
    "#);
    assert_eq!(found["structuredContent"]["total_count"], 3);
    insta::assert_snapshot!(yard.texts("read_note", &[
        json!({ "note": "latin1" }),
        json!({ "note": "huge" }),
        json!({ "note": ".obsidian/plan.md" }),
        json!({ "note": "plan.txt" }),
    ]), @r#"
    {"note":"latin1"}
    -> ERROR `latin1.md` is not UTF-8 text

    {"note":"huge"}
    -> ERROR `huge.md` is larger than 4 MiB, or would become so

    {"note":".obsidian/plan.md"}
    -> ERROR `.obsidian/plan.md` is hidden (a part of it begins with a dot): hidden files and folders are not notes

    {"note":"plan.txt"}
    -> ERROR there is no note `plan.txt`, but `Work/Plan.md`; list_notes and search_notes find what there is
    "#);
}

#[test]
fn a_long_note_is_read_in_pieces() {
    let yard = Yard::new();
    let long: String = (1..=1000).map(|line| format!("line {line}\n")).collect();
    yard.write("long.md", &long);
    yard.write("wide.md", &"é".repeat(200_000));
    let mut read = String::new();
    let mut next = 1;
    loop {
        let piece = yard.call("read_note", &json!({ "note": "long.md", "start_line": next }));
        let data = &piece["structuredContent"];
        let content = data["content"].as_str().unwrap();
        read.push_str(content);
        next += content.lines().count();
        if data["has_more"] == false {
            break;
        }
    }
    assert_eq!(read, long);
    let wide = yard.call("read_note", &json!({ "note": "wide.md" }));
    assert_eq!(wide["structuredContent"]["content"].as_str().unwrap().len(), 100_000);
    assert_eq!(wide["structuredContent"]["shortened"], true);
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
}
