//! How steps are bound to one another.

use serde_json::{Map, Value, json};

use super::super::{Input, Which};
use super::*;
use crate::arguments::{Now, Sources, fill};
use crate::catalog::{Advertised, Bounds, Catalog};
use crate::metadata::Knowledge;
use crate::task::{Each, clauses};

const NOW: Now = Now { at: jiff::civil::date(2026, 11, 17).at(9, 0, 0, 0), offset: 0 };

fn desk() -> Catalog {
    let text = json!({"type": "string"});
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let definition = json!({"name": name, "description": description, "inputSchema": schema});
        serde_json::value::to_raw_value(&definition).unwrap()
    };
    let vault = vec![
        tool("search_notes", "Search notes", json!({"query": text}), &["query"]),
        tool("read_note", "Read a note", json!({"path": text}), &["path"]),
        tool("delete_note", "Delete a note", json!({"path": text}), &["path"]),
        tool("create_note", "Create a note", json!({"path": text, "content": text}), &["path", "content"]),
        tool(
            "add_tags",
            "Add tags to a note",
            json!({"path": text, "tags": {"type": "array", "items": text}}),
            &["path", "tags"],
        ),
    ];
    let list = json!({"type": "array", "items": text});
    let cells = json!({"path": text, "sheet": text, "rows": list});
    let said = |description: &str| json!({"type": "string", "description": description});
    let format = json!({"type": "string", "enum": ["html", "docx"]});
    let contents = json!({
        "contents": said("What to convert (required if input_file not provided)"), "input_file": text,
        "output_format": format, "output_file": said("Where to save it (required for docx)"),
    });
    let office = vec![
        tool("create_book", "Create a book", json!({"path": text, "sheets": list}), &["path"]),
        tool("write_cells", "Write cells", cells, &["path", "sheet", "rows"]),
        tool("search_files", "Search files", json!({"pattern": text}), &["pattern"]),
        tool("convert", "Convert contents", contents, &[]),
        tool("purge", "Purge a file", json!({"path": text, "confirmPath": text}), &["path", "confirmPath"]),
    ];
    let clock = vec![tool("get_time", "Get the time in a city", json!({"city": text}), &["city"])];
    let bounds = Bounds { tools: 99, name_chars: 99, description_chars: 999, nesting: 20 };
    let servers = [("vault", vault), ("clock", clock), ("office", office)];
    Catalog::gather(servers.map(|(server, tools)| (Advertised { server: server.into(), tools }, bounds))).0
}

/// Draws a task whose requests mean these tools, with these values known to the caller.
fn drawn(task: &str, tools: &[&str], given: &Value) -> Result<Plan, Gap> {
    let catalog = desk();
    let knowledge = Knowledge::gather(&catalog, None, &[], |_| None);
    let cut = clauses(task);
    assert_eq!(cut.len(), tools.len(), "{cut:?}");
    let form = |position: usize| (&catalog.tools()[position], Form::of(&catalog.tools()[position]));
    let positions: Vec<usize> = tools.iter().map(|tool| catalog.position(tool).unwrap()).collect();
    let forms: Vec<(&Tool, Form)> = positions.iter().map(|it| form(*it)).collect();
    let inverses: Vec<Option<(&Tool, Form)>> =
        positions.iter().map(|it| inverse(&catalog, &knowledge, *it).map(form)).collect();
    let none = Map::new();
    let chosen_steps: Vec<ChosenStep<'_>> = (0..cut.len())
        .map(|at| {
            let known = given.get(at).and_then(Value::as_object).unwrap_or(&none);
            // What words say is the matter of `fill`; here the caller says it.
            let sources =
                Sources { task: "", given: known, named: None, reading: None, earlier: &[], now: NOW };
            let seen = knowledge.of(positions[at]);
            ChosenStep {
                clause: &cut[at],
                tool: forms[at].0,
                form: &forms[at].1,
                action: seen.action,
                effect: seen.effect,
                filling: fill(&forms[at].1, &sources),
                estimate_ms: 100,
                inverse: inverses[at].as_ref().map(|(tool, form)| (*tool, form)),
                is_unsure: false,
            }
        })
        .collect();
    draw(task, &chosen_steps)
}

#[test]
fn r9_a_found_note_is_given_to_the_next_step() {
    let plan = drawn(
        "Find note about AI and add tag #important",
        &["vault__search_notes", "vault__add_tags"],
        &json!([{"query": "AI"}, {"tags": ["important"]}]),
    );
    insta::assert_snapshot!(plan.unwrap().render(), @r#"
    Find note about AI and add tag #important: 2 steps, about 200 ms
     1 ─ note: vault__search_notes (reads)
           query = "AI"
           tried again up to 2 times
     2 ─ tag: vault__add_tags (changes), after note
           path = first path in note
           tags = ["important"]
    "#);
}

#[test]
fn r9_a_step_has_a_name_whatever_its_tool_is_called() {
    for (tool, name) in [("get_3d", "get"), ("3d", "result"), ("größe_上", "result"), ("read_note", "note")]
    {
        let catalog = desk();
        let tool = Tool { name: tool.to_owned(), ..catalog.tools()[0].clone() };
        let clause = &clauses("read it")[0];
        let form = Form::of(&tool);
        let chosen = ChosenStep {
            clause,
            tool: &tool,
            form: &form,
            action: Action::Read,
            effect: Effect::Read,
            filling: Filling::default(),
            estimate_ms: 1,
            inverse: None,
            is_unsure: false,
        };
        assert_eq!(name::name(&chosen, &[]), name);
    }
}

#[test]
fn r9_each_of_what_was_found_is_gone_through() {
    let plan = drawn(
        "Find notes about AI and then read each of them",
        &["vault__search_notes", "vault__read_note"],
        &json!([{"query": "AI"}]),
    );
    let plan = plan.unwrap();
    let step = &plan.steps()[1];
    assert_eq!(step.arguments["path"], Input::Item(Default::default()));
    assert!(
        matches!(&step.each, Some(Input::Found { step, which: Which::All, .. }) if step == "notes"),
        "{step:?}"
    );
}

#[test]
fn r9_listed_things_are_gone_through_one_by_one() {
    let plan = drawn("For each of Paris, Rome and Oslo, get the time", &["clock__get_time"], &json!([]));
    let plan = plan.unwrap();
    assert_eq!(plan.steps()[0].each, Some(Input::Literal(json!(["Paris", "Rome", "Oslo"]))));
    assert_eq!(plan.steps()[0].arguments["city"], Input::Item(Default::default()));
}

/// Returns what a request for a tool is repeated for.
fn repeated(task: &str, tool: &str) -> Option<Value> {
    let catalog = desk();
    let position = catalog.position(tool).unwrap();
    let form = Form::of(&catalog.tools()[position]);
    let effect = Knowledge::gather(&catalog, None, &[], |_| None).of(position).effect;
    let given = Map::new();
    let sources = Sources { task, given: &given, named: None, reading: None, earlier: &[], now: NOW };
    match repetition(&form, effect, &sources, &fill(&form, &sources))? {
        Each::Values { values, .. } => Some(Value::Array(values)),
        Each::Found | Each::Listed(_) => panic!("a parameter is known"),
    }
}

#[test]
fn r9_a_request_that_lists_values_is_repeated_for_them() {
    assert_eq!(repeated("Get the time in Paris and Rome", "clock__get_time"), Some(json!(["Paris", "Rome"])));
    assert_eq!(
        repeated("delete the notes old/a.md and old/b.md", "vault__delete_note"),
        Some(json!(["old/a.md", "old/b.md"]))
    );
    assert_eq!(
        repeated("purge the files old/a.md and old/b.md", "office__purge"),
        Some(json!(["old/a.md", "old/b.md"]))
    );
    // What is looked for may have an `and`, and so may what is written.
    assert_eq!(repeated("Search notes for Romeo and Juliet", "vault__search_notes"), None);
    assert_eq!(repeated("Get the time in Paris", "clock__get_time"), None);
}

#[test]
fn r9_what_is_named_twice_is_the_same_thing_in_every_call() {
    let task = "For each of old/a.md and old/b.md, purge the file";
    let plan = drawn(task, &["office__purge"], &json!([])).unwrap();
    for parameter in ["path", "confirmPath"] {
        assert_eq!(plan.steps()[0].arguments[parameter], Input::Item(Default::default()), "{parameter}");
    }
}

#[test]
fn r9_results_for_listed_values_are_named_after_them() {
    let step = |each: Option<Input>| Step {
        each,
        ..Step::new("time", desk().tools()[0].id.clone(), Effect::Read, Default::default())
    };
    let of_cities = step(Some(Input::Literal(json!(["Paris", 7]))));
    let named = of_cities.labelled(&json!(["noon", "one"])).map(Value::Object);
    assert_eq!(named, Some(json!({"Paris": "noon", "7": "one"})));
    assert_eq!(of_cities.labelled(&json!(["noon"])), None);
    assert_eq!(step(None).labelled(&json!(["noon", "one"])), None);
    assert_eq!(step(Some(Input::Literal(json!([{"a": 1}])))).labelled(&json!(["noon"])), None);
}

#[test]
fn r9_a_value_that_nobody_has_is_asked_for_before_anything_runs() {
    let gap = drawn(
        "Find notes about AI and get the time",
        &["vault__search_notes", "clock__get_time"],
        &json!([{"query": "AI"}]),
    );
    let gap = gap.unwrap_err();
    assert_eq!((gap.at, gap.tool.as_str(), gap.missing[0].name.as_str()), (1, "clock__get_time", "city"));
}

#[test]
fn r9_steps_that_need_nothing_of_each_other_wait_only_where_the_order_was_said() {
    let given = json!([{"query": "AI"}, {"city": "Oslo"}]);
    let tools = ["vault__search_notes", "clock__get_time"];
    let beside = drawn("Find notes about AI and get the time in Oslo", &tools, &given).unwrap();
    assert!(beside.steps().iter().all(|step| step.needs().is_empty()));
    let ordered = drawn("Find notes about AI, then get the time in Oslo", &tools, &given).unwrap();
    assert_eq!(ordered.steps()[1].needs(), ["notes"]);
}

#[test]
fn r10_what_is_created_can_be_deleted_again_where_the_server_has_a_counterpart() {
    let plan = drawn(
        "Create note a.md and read it",
        &["vault__create_note", "vault__read_note"],
        &json!([{"path": "a.md", "content": "x"}]),
    );
    let plan = plan.unwrap();
    let undo = plan.steps()[0].undo.as_ref().unwrap();
    assert_eq!(undo.tool.as_str(), "vault__delete_note");
    assert_eq!(undo.arguments["path"], Input::Literal(json!("a.md")));
    // What was named is named again.
    assert_eq!(plan.steps()[1].arguments["path"], Input::Literal(json!("a.md")));
}

#[test]
fn r9_listed_things_go_where_an_earlier_step_had_them() {
    let plan = drawn(
        "Create the book b.xlsx with the sheets Q1 and Q2, then for each of Q1 and Q2 write the cells",
        &["office__create_book", "office__write_cells"],
        &json!([{"path": "b.xlsx", "sheets": ["Q1", "Q2"]}, {"rows": ["x"]}]),
    );
    let plan = plan.unwrap();
    let step = &plan.steps()[1];
    assert_eq!(step.arguments["sheet"], Input::Item(Default::default()));
    assert_eq!(step.arguments["path"], Input::Literal(json!("b.xlsx")));
}

#[test]
fn r9_what_is_told_comes_from_the_step_that_shows_it() {
    let plan = drawn(
        "Read the note a.md, then create the book b.xlsx and create a note c.md with it",
        &["vault__read_note", "office__create_book", "vault__create_note"],
        &json!([{"path": "a.md"}, {"path": "b.xlsx"}, {"path": "c.md"}]),
    );
    let plan = plan.unwrap();
    let content = &plan.steps()[2].arguments["content"];
    assert!(matches!(content, Input::Found { step, .. } if *step == plan.steps()[0].name), "{content:?}");
}

#[test]
fn r9_a_new_file_lies_beside_the_one_that_it_is_made_from() {
    let tools = ["office__search_files", "office__convert"];
    let given = json!([{"pattern": "*.md"}, {"output_format": "docx"}]);
    let plan = drawn("Search for the files *.md, then convert each file to docx", &tools, &given).unwrap();
    insta::assert_snapshot!(plan.render(), @r#"
    Search for the files *.md, then convert each file to docx: 2 steps, about 200 ms
     1 ─ files: office__search_files (reads)
           pattern = "*.md"
           tried again up to 2 times
     2 ─ convert: office__convert (changes), after files
           for each of all input_file in files
           input_file = item
           output_file = item with the ending .docx
           output_format = "docx"
    "#);
}

#[test]
fn r9_what_only_a_description_asks_for_is_asked_for_before_anything_runs() {
    let tools = ["vault__search_notes", "office__convert"];
    let said = "Find notes about AI and convert the file";
    let gap = |given: Value| {
        drawn(said, &tools, &json!([{"query": "AI"}, given])).unwrap_err().missing[0].name.clone()
    };
    assert_eq!(gap(json!({"output_format": "html"})), "contents");
    assert_eq!(gap(json!({"output_format": "docx", "contents": "x"})), "output_file");
}

#[test]
fn r9_a_plan_of_a_long_task_is_called_by_its_first_words() {
    let tools = ["vault__search_notes", "vault__read_note"];
    let said = "Find notes about everything that we said of the new house, then read the note old.md";
    let plan = drawn(said, &tools, &json!([{"query": "house"}, {"path": "old.md"}])).unwrap();
    assert!(
        plan.render().starts_with("Find notes about everything that we said of the new house,…: 2 steps")
    );
    let unbroken = "x".repeat(NAME_CHARS + 1);
    assert_eq!(in_short(&unbroken), format!("{}…", &unbroken[1..]));
    assert_eq!(in_short(&unbroken[1..]), unbroken[1..]);
}
