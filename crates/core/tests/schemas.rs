//! Forms of real tools: whatever is said, what is sent fits, and nothing panics.

#![expect(clippy::disallowed_methods, reason = "the tools lie beside the tests")]

use jiff::civil::date;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Field, Filling, Form, Now, Sources, fill};

#[test]
fn r9_real_schemas_take_what_they_are_sent() {
    let tools = tools();
    assert_eq!(tools.len(), 300);
    let mut sent = 0;
    for (at, tool) in tools.iter().enumerate() {
        let form = form(tool);
        for task in tasks(&form, at) {
            let filling = filled(&form, &task, &Map::new(), &[]);
            assert_fits(&form, &filling, &task);
            sent += filling.arguments.len();
        }
    }
    assert!(sent > 1000, "{sent} arguments are too few to tell anything");
}

#[test]
fn r9_nothing_is_taken_that_another_validator_refuses() {
    let tools: Vec<Form> = tools().iter().map(form).collect();
    let (mut taken, mut right) = (0, 0);
    for line in lines("verdicts.jsonl") {
        let (at, value, is_valid): (usize, Map<String, Value>, bool) = serde_json::from_value(line).unwrap();
        let is_taken = tools[at].admits(&value);
        assert!(is_valid || !is_taken, "{at}: {}", Value::Object(value));
        taken += usize::from(is_valid);
        right += usize::from(is_taken);
    }
    assert!(20 * right > 19 * taken, "of {taken} that are valid only {right} are taken");
}

#[test]
fn r3_every_real_tool_gets_an_example_call_that_fits_its_schema() {
    let (fleet, registries) = (lines("fleet.jsonl"), tools());
    assert_eq!((fleet.len(), registries.len()), (643, 300));
    let mut arguments = 0;
    for tool in fleet.iter().chain(&registries) {
        let form = form(tool);
        let sample = form.sample().unwrap_or_else(|| panic!("no example for {tool}"));
        assert!(form.admits(&sample), "{}: {}", tool["name"], Value::Object(sample));
        assert!(form.required().all(|name| sample.contains_key(name)), "{}", tool["name"]);
        arguments += sample.len();
    }
    assert!(arguments > 1000, "{arguments} arguments are too few to tell anything");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn r17_no_words_panic_and_none_are_sent_that_do_not_fit(
        at in 0_usize..300,
        words in proptest::collection::vec(prop::sample::select(WORDS.to_vec()), 0..30),
        any in any::<String>(),
    ) {
        let form = form(&tools()[at]);
        let task = format!("{} {any}", words.join(" "));
        let filling = filled(&form, &task, &Map::new(), &[]);
        assert_fits(&form, &filling, &task);
    }

    #[test]
    fn r17_no_earlier_result_panics(at in 0_usize..300, words in proptest::collection::vec(prop::sample::select(WORDS.to_vec()), 0..20)) {
        let tools = tools();
        let form = form(&tools[at]);
        let earlier = [json!(words.join("\n")), json!({"content": [{"type": "text", "text": words.join(" ")}]}), tools[at].clone()];
        let filling = filled(&form, "do it with that", &Map::new(), &earlier);
        assert_fits(&form, &filling, "");
    }
}

const WORDS: [&str; 40] = [
    "from",
    "to",
    "called",
    "\"",
    "'",
    "(",
    "[1, 2]",
    "{\"a\": 1}",
    "tomorrow",
    "9am",
    "last",
    "next",
    "week",
    "12",
    "-3",
    "2.5k",
    "50%",
    "minus",
    "forty",
    "two",
    "and",
    ",",
    ".",
    "a@b.co",
    "https://a.b/c",
    "/tmp/x.txt",
    "#12",
    "@x",
    "key=value",
    "owner/repo",
    "March",
    "3rd",
    "2026-02-30",
    "without",
    "don't",
    "é",
    "検索",
    "🎉",
    "\n",
    "null",
];

/// Requests that name the fields of a form and give them values of all kinds.
fn tasks(form: &Form, seed: usize) -> Vec<String> {
    let values = [
        "12",
        "Ada Lovelace",
        "'red, green'",
        "tomorrow at 9am",
        "a@b.co",
        "https://a.b/c",
        "-3.5",
        "[1, 2]",
        "no",
        "x",
    ];
    let said = |field: &Field, at: usize| {
        let choice =
            field.choices.first().map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned));
        let value = choice.unwrap_or_else(|| values[(seed + at) % values.len()].to_owned());
        format!("{} {value}", field.path.join(" "))
    };
    let each = |joint: &str, turn: usize| {
        let said: Vec<String> =
            form.fields().iter().take(8).enumerate().map(|(at, field)| said(field, at + turn)).collect();
        said.join(joint)
    };
    vec![each(", ", 0), each(" and ", 3), each(". ", 7), String::new()]
}

#[track_caller]
fn assert_fits(form: &Form, filling: &Filling, task: &str) {
    let sent = filling.object();
    assert!(form.admits_part(&sent), "{task:?}: {}", Value::Object(sent));
    let is_empty_form = form.fields().is_empty();
    if filling.missing.is_empty() && !is_empty_form {
        assert!(form.admits(&sent), "{task:?}: {}", Value::Object(sent));
    }
}

fn filled(form: &Form, task: &str, given: &Map<String, Value>, earlier: &[Value]) -> Filling {
    let now = Now { at: date(2026, 11, 17).at(10, 0, 0, 0), offset: 3600 };
    fill(form, &Sources { task, given, named: None, reading: None, earlier, now })
}

fn form(tool: &Value) -> Form {
    let text = |key: &str| tool[key].as_str().unwrap_or_default();
    Form::new((text("name"), text("description")), tool["inputSchema"].clone())
}

fn tools() -> Vec<Value> {
    lines("tools.jsonl")
}

fn lines(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/data/schemas/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the data lies beside the tests");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON on each line")).collect()
}
