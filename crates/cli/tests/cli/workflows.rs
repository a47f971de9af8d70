//! `run` and `runs` on the built-in notes.

use serde_json::Value;

use crate::place::Place;

const TAGGING: &str = r#"{
  "name": "tag-found-notes",
  "description": "Searches the notes and adds a tag to every note that was found.",
  "parameters": {
    "properties": { "query": { "type": "string" }, "tag": { "type": "string" }, "limit": { "type": "integer", "default": 20 } },
    "required": ["query", "tag"]
  },
  "steps": [
    { "name": "search", "tool": "notes__search_notes",
      "arguments": { "query": "{{parameters.query}}", "limit": "{{parameters.limit}}" } },
    { "name": "tag", "tool": "notes__tag_note", "each": "{{search.results}}",
      "arguments": { "note": "{{item.path}}", "add": ["{{parameters.tag}}"] } }
  ]
}"#;

/// A home with a workflow beside the configuration, and two notes of which both are about bees.
fn place() -> Place {
    let place = Place::new();
    place.write(
        "config/toolyard/toolyard.json",
        r#"{ "mcpServers": { "notes": { "builtin": "notes", "folder": "~/Notes" } } }"#,
    );
    place.write("config/toolyard/workflows/tagging.json", TAGGING);
    place.write("Notes/Hive.md", "# Hive\n\nBees live here.\n");
    place.write("Notes/Honey.md", "# Honey\n\nBees make it.\n");
    place
}

#[test]
fn r11_a_workflow_runs_by_its_name_and_data_flows_between_its_steps() {
    let place = place();
    insta::assert_snapshot!(place.run(&["run", "tag-found-notes", "--dry-run", "--set", "query=bees", "--set", "tag=sweet"]), @r#"
    tag-found-notes: 2 steps
     1 ─ search: notes__search_notes (reads)
           limit = 20
           query = "bees"
     2 ─ tag: notes__tag_note (changes), after search
           for each of search.results
           add = ["sweet"]
           note = item.path
    [exit 0]
    "#);
    let (said, exit) =
        place.json(&["run", "tag-found-notes", "--set", "query=bees", "--set", "tag=sweet", "--json"]);
    assert_eq!((exit, said["report"]["ending"].as_str()), (0, Some("completed")), "{said:#}");
    for note in ["Notes/Hive.md", "Notes/Honey.md"] {
        assert!(place.read(note).contains("sweet"), "{}", place.read(note));
    }
    let id = said["run"].as_str().unwrap().to_owned();
    let hidden = |text: String| text.replace(&id, "[RUN]");
    let listed = place.run(&["runs"]);
    let (header, row) = listed.split_once('\n').unwrap();
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells(header), ["run", "begun", "state", "workflow"], "{listed}");
    let [run, day, time, state, workflow, ..] = &cells(row)[..] else { panic!("{listed}") };
    assert_eq!((run, &**state, &**workflow), (&id, "completed", "tag-found-notes"));
    assert!(format!("{day}T{time}").parse::<jiff::civil::DateTime>().is_ok(), "{listed}");
    insta::assert_snapshot!(hidden(place.run(&["runs", "show", &id[..6]])), @r#"
    tag-found-notes: completed
      done                 search (notes__search_notes)
                             limit = 20
                             query = "bees"
      done                 tag[0] (notes__tag_note)
                             add = ["sweet"]
                             note = "Hive.md"
      done                 tag[1] (notes__tag_note)
                             add = ["sweet"]
                             note = "Honey.md"
    [exit 0]
    "#);
    insta::assert_snapshot!(hidden(place.run(&["runs", "resume", &id])), @"
    tag-found-notes: completed
      done                 search (notes__search_notes)
      done                 tag[0] (notes__tag_note)
      done                 tag[1] (notes__tag_note)
      run: [RUN]
    [exit 0]
    ");
}

#[test]
fn r11_a_workflow_is_found_and_called_like_a_tool() {
    let place = place();
    place.output(&["list"]);
    let found = place.run(&["find", "-n", "1", "tag every note that a search finds"]);
    assert!(found.starts_with("workflows__tag-found-notes  write"), "{found}");
    let (said, exit) =
        place.json(&["call", "workflows__tag-found-notes", "query=bees", "tag=wild", "--json"]);
    assert_eq!(
        (exit, &said["structuredContent"]["report"]["ending"]),
        (0, &Value::from("completed")),
        "{said:#}"
    );
    assert!(place.read("Notes/Hive.md").contains("wild"));
}

#[test]
fn r11_workflows_lie_in_either_of_two_folders_and_the_first_one_wins() {
    let place = place();
    let other = |name: &str, description: &str| {
        let own = TAGGING.replace("tag-found-notes", name);
        own.replace("Searches the notes and adds a tag to every note that was found.", description)
    };
    place.write("config/toolyard/config/workflows/label.json", &other("label-notes", "Labels notes."));
    insta::assert_snapshot!(place.run(&["run"]), @r"
    label-notes      Labels notes.
    tag-found-notes  Searches the notes and adds a tag to every note that was found.
    [exit 0]
    ");
    let (said, exit) =
        place.json(&["run", "label-notes", "--set", "query=bees", "--set", "tag=sweet", "--json"]);
    assert_eq!((exit, said["report"]["ending"].as_str()), (0, Some("completed")), "{said:#}");
    assert!(place.read("Notes/Hive.md").contains("sweet"));
    // Of one name, the one beside the settings is used, and a warning says so.
    place.write("config/toolyard/config/workflows/again.json", &other("tag-found-notes", "Is not used."));
    let listed = place.run(&["run"]);
    assert!(
        listed.contains("tag-found-notes  Searches the notes") && !listed.contains("Is not used."),
        "{listed}"
    );
    let warning = "[HOME]/config/toolyard/config/workflows/again.json: its workflow `tag-found-notes` is not used: \
                   [HOME]/config/toolyard/workflows/tagging.json has one of that name, which comes first";
    assert!(listed.contains(warning), "{listed}");
    // What the settings name is all there is.
    place.write(
        "config/toolyard/toolyard.json",
        r#"{ "mcpServers": { "notes": { "builtin": "notes", "folder": "~/Notes" } }, "workflows": ["config/workflows/label.json"] }"#,
    );
    let named = place.run(&["run"]);
    assert!(named.contains("label-notes") && !named.contains("tag-found-notes"), "{named}");
}

#[test]
fn r11_what_is_wrong_is_said_with_what_to_do() {
    let place = place();
    insta::assert_snapshot!(place.run(&["run", "tag-found-notes", "--set", "query=bees", "--set", "limit=2"]), @r"
    [stderr]
    error: `tag-found-notes` cannot run: the parameter `tag` is missing
      hint: it takes [--set limit=…] --set query=… --set tag=…
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["run", "tag-found-notes", "--set", "quary=bees"]), @r"
    [stderr]
    error: there is no parameter `quary`
      hint: it takes [--set limit=…] --set query=… --set tag=…
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["run", "nothing"]), @r"
    [stderr]
    error: there is no workflow `nothing` for the configured servers
      hint: there are tag-found-notes; or give a file that ends in .json, .yaml or .yml
    [exit 2]
    ");
    place.write("desk/wrong.json", "{\n  \"name\": \"w\", \"description\": \"\",\n  \"steps\": [{ \"name\": \"a\", \"tool\": \"b\" }]\n}");
    insta::assert_snapshot!(place.run(&["run", "wrong.json"]), @r"
    [stderr]
    error: wrong.json:3:28: `b` is not the name of a tool; expected `server__tool`
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["runs", "show", "nothing"]), @r"
    [stderr]
    error: there is no run `nothing`
      hint: `toolyard runs` lists them
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["run"]), @r"
    tag-found-notes  Searches the notes and adds a tag to every note that was found.
    [exit 0]
    ");
}

#[test]
fn c3_what_destroys_is_asked_about_and_runs_with_yes() {
    let place = place();
    let workflow =
        TAGGING.replace("notes__tag_note", "notes__update_note").replace("tag-found-notes", "rewrite");
    let workflow = workflow
        .replace(r#""add": ["{{parameters.tag}}"]"#, r#""content": "{{parameters.tag}}", "mode": "replace""#);
    place.write("desk/rewrite.json", &workflow);
    let args = ["run", "rewrite.json", "--set", "query=bees", "--set", "tag=Gone.", "--json"];
    let (asked, exit) = place.json(&args);
    assert_eq!(exit, 3, "{asked:#}");
    assert_eq!(place.read("Notes/Hive.md"), "# Hive\n\nBees live here.\n");
    let id = asked["run"].as_str().unwrap();
    assert!(place.run(&["runs"]).contains("waits for you"));
    let (done, exit) = place.json(&["runs", "resume", id, "--yes", "--json"]);
    assert_eq!((exit, done["report"]["ending"].as_str()), (0, Some("completed")), "{done:#}");
    assert!(place.read("Notes/Hive.md").contains("Gone."));
}

#[test]
fn r10_a_journal_that_cannot_be_written_stops_everything_before_it_begins() {
    let place = place();
    place.write("data/toolyard/workflows.db/in-the-way", "");
    let said = place.run(&["run", "tag-found-notes", "--set", "query=bees", "--set", "tag=sweet"]);
    assert!(said.contains("nothing was done") && said.ends_with("[exit 1]"), "{said}");
    assert!(!place.read("Notes/Hive.md").contains("sweet"));
}

#[test]
fn r11_a_value_that_was_found_on_the_way_and_does_not_fit_is_not_sent() {
    let place = place();
    let late = "name: late\ndescription: Takes a title for a number.\nsteps:\n  \
                - { name: search, tool: notes__search_notes, arguments: { query: bees } }\n  \
                - { name: list, tool: notes__list_notes, arguments: { limit: '{{search.results[0].title}}' } }\n";
    place.write("desk/late.yaml", late);
    let (said, exit) = place.json(&["run", "late.yaml", "--json"]);
    let report = &said["report"];
    assert_eq!((exit, report["ending"].as_str()), (1, Some("failed")), "{said:#}");
    let why = report["why"].as_str().unwrap();
    assert!(
        why.contains("`limit` was found to be") && why.contains("`notes__list_notes` does not take"),
        "{why}"
    );
}

#[test]
fn r9_what_the_words_of_a_schema_ask_for_is_asked_for_first() {
    let place = place();
    let (said, exit) = place.json(&["route", "tag the note Hive", "--json"]);
    assert_eq!((exit, &said["tool"]), (3, &serde_json::json!("notes__tag_note")), "{said:#}");
    assert_eq!((&said["ran"], &said["missing"]), (&false.into(), &serde_json::json!(["add"])), "{said:#}");
}

#[test]
fn r11_every_answer_is_shown_except_what_another_step_took() {
    let place = Place::with(
        r#"{ "mcpServers": { "good": { "command": "FAULT" }, "notes": { "builtin": "notes", "folder": "~/Notes" } } }"#,
    );
    place.write("Notes/Hive.md", "# Hive\n\nBees live here.\n");
    let several = "name: several\ndescription: Asks four things.\nsteps:\n  \
                   - { name: sum, tool: good__add, arguments: { a: 3, b: 4 } }\n  \
                   - { name: search, tool: notes__search_notes, arguments: { query: bees } }\n  \
                   - { name: note, tool: notes__read_note, arguments: { note: '{{search.results[0].path}}' } }\n  \
                   - { name: data, tool: good__structured, arguments: {} }\n  \
                   - { name: words, tool: good__echo, each: ['one', 'two three'], arguments: { text: '{{item}}' } }\n";
    place.write("desk/several.yaml", several);
    let output = place.output(&["run", "several.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", place.seen(&output));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @"
    7
    Hive (Hive.md, revision 5ffb76b81da97451)

    # Hive

    Bees live here.
    answer: 42
    words:
      - a
      - b
    one
    two three
    ");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let (told, _) = told.rsplit_once("  run: ").unwrap();
    insta::assert_snapshot!(told, @r#"
    good__add a=3 b=4
    notes__read_note note=Hive.md
    good__structured
    good__echo text=one
    good__echo text="two three"
    several: completed
      done                 sum (good__add)
      done                 search (notes__search_notes)
      done                 note (notes__read_note)
      done                 data (good__structured)
      done                 words[0] (good__echo)
      done                 words[1] (good__echo)
    "#);
    let (said, _) = place.json(&["run", "several.yaml", "--json"]);
    let outputs = said["report"]["outputs"].as_object().unwrap();
    assert_eq!(outputs.keys().collect::<Vec<_>>(), ["data", "note", "search", "sum", "words"]);
}

#[test]
fn r9_each_question_of_a_wish_is_answered_in_words() {
    let place = Place::new();
    let both = "what time is it in Tokyo and which of my notes mention AI?";
    let output = place.output(&["route", both]);
    let (told, noted) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{told}{noted}");
    assert!(told.contains("Tokyo") && told.contains("notes found for `AI`"), "{told}");
    assert!(!told.contains(['{', '"']), "{told}");
    for heading in ["time__current_time zone=Tokyo\n", "notes__search_notes query=AI\n", ": completed\n"] {
        assert!(noted.contains(heading), "{heading} in {noted}");
    }
}

#[test]
fn c3_every_step_is_shown_with_its_arguments_before_and_after() {
    let place = place();
    let workflow =
        TAGGING.replace("notes__tag_note", "notes__update_note").replace("tag-found-notes", "rewrite");
    let workflow = workflow
        .replace(r#""add": ["{{parameters.tag}}"]"#, r#""content": "{{parameters.tag}}", "mode": "replace""#);
    place.write("desk/rewrite.json", &workflow);
    let (asked, _) =
        place.json(&["run", "rewrite.json", "--set", "query=bees", "--set", "tag=Gone.", "--json"]);
    assert_eq!(asked["plan"]["steps"][1]["arguments"]["mode"], serde_json::json!({ "literal": "replace" }));
    let id = asked["run"].as_str().unwrap().to_owned();
    let hidden = |text: String| text.replace(&id, "[RUN]");
    insta::assert_snapshot!(hidden(place.run(&["runs", "show", &id])), @r#"
    rewrite: not over yet
      not started          search (notes__search_notes)
                             limit = 20
                             query = "bees"
      not started          tag (notes__update_note)
                             for each of search.results
                             content = "Gone."
                             mode = "replace"
                             note = item.path
    This workflow does something that cannot be taken back. Run it?
    answer with `toolyard runs resume [RUN]`
    [exit 0]
    "#);
    let waiting = hidden(place.run(&["runs", "resume", &id]));
    insta::assert_snapshot!(waiting, @r#"
    [stderr]
    rewrite: 2 steps
     1 ─ search: notes__search_notes (reads)
           limit = 20
           query = "bees"
     2 ─ tag: notes__update_note (destroys), after search
           for each of search.results
           content = "Gone."
           mode = "replace"
           note = item.path
    This workflow does something that cannot be taken back. Run it?
    answer with `toolyard runs resume [RUN]`, or with `--yes`
    [exit 3]
    "#);
    place.output(&["runs", "resume", &id, "--yes"]);
    insta::assert_snapshot!(hidden(place.run(&["runs", "show", &id])), @r#"
    rewrite: completed
      done                 search (notes__search_notes)
                             limit = 20
                             query = "bees"
      done                 tag[0] (notes__update_note)
                             content = "Gone."
                             mode = "replace"
                             note = "Hive.md"
      done                 tag[1] (notes__update_note)
                             content = "Gone."
                             mode = "replace"
                             note = "Honey.md"
    [exit 0]
    "#);
    let (shown, _) = place.json(&["runs", "show", &id, "--json"]);
    assert_eq!((&shown["question"], &shown["plan"]["name"]), (&Value::Null, &Value::from("rewrite")));
}
