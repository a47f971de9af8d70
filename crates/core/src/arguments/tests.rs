//! Forms filled from words, through the front door.

use jiff::civil::date;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolyard_encoder::{FieldReading, RequestReading};

use super::*;
use crate::lexicon::Action;
use crate::tool::Effect;

#[test]
fn r9_a_query_is_what_is_asked_about() {
    let notes = json!({"query": {"type": "string", "description": "Words to look for"}});
    insta::assert_snapshot!(filled("search_notes Finds notes", &notes, "Search my notes for AI"), @"query = \"AI\"");
    insta::assert_snapshot!(filled("search_notes Finds notes", &notes, "search notes"), @"query is missing");
}

#[test]
fn r9_what_a_description_quotes_may_be_asked_for() {
    let notes = json!({"query": {"type": "string", "description": "Words to find"}});
    let about =
        "search_notes Searches the notes for words. Use for \"search my notes for AI\", \"the garden\".";
    insta::assert_snapshot!(filled(about, &notes, "search my notes for AI"), @r#"query = "AI""#);
    insta::assert_snapshot!(filled(about, &notes, "search my notes for garden"), @r#"query = "garden""#);
}

#[test]
fn r9_what_has_to_be_named_twice_is_said_once() {
    let purge = json!({"path": {"type": "string"}, "confirmPath": {"type": "string"}});
    let about = "delete_note Deletes a note";
    insta::assert_snapshot!(filled(about, &purge, "delete the note old/a.md"), @r#"
    path = "old/a.md"
    confirmPath = "old/a.md"
    "#);
    insta::assert_snapshot!(filled(about, &purge, "delete a note"), @r"
    path is missing
    confirmPath is missing
    ");
}

#[test]
fn r9_a_tool_that_changes_something_is_sent_only_what_is_surely_said() {
    let schema = json!({"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}, "mode": {"enum": ["overwrite", "append"]},
    }});
    let form = Form::new(("write_note", "Writes a note"), schema);
    let settled = |task: &str| {
        let given = Map::new();
        let now = Now { at: date(2026, 11, 17).at(10, 0, 0, 0), offset: 0 };
        let sources = Sources { task, given: &given, named: None, reading: None, earlier: &[], now };
        let settled = fill(&form, &sources).settle(&form, &sources, Effect::Write, Action::Update);
        let names = |all: &[Argument]| all.iter().map(|it| it.name.clone()).collect::<Vec<_>>().join(" ");
        let missing: Vec<&str> = settled.missing.iter().map(|it| it.name.as_str()).collect();
        format!("{} | {}", names(&settled.found), missing.join(" "))
    };
    assert_eq!(settled("append 'one more line' to Trees.md"), "path content mode | ");
    assert_eq!(settled("write to the note Trees.md"), "path | content");
    assert!(settled("write it down somewhere").ends_with("path"));
}

#[test]
fn r9_numbers_go_where_their_names_stand() {
    let triangle = json!({
        "base": {"type": "integer", "description": "The base of the triangle"},
        "height": {"type": "integer", "description": "The height of the triangle"},
    });
    let about = "triangle_area Calculates the area of a triangle";
    insta::assert_snapshot!(filled(about, &triangle, "area of a triangle with base 10 and height 5"), @r"
    base = 10
    height = 5
    ");
    insta::assert_snapshot!(filled(about, &triangle, "triangle area, the height is 12 and the base is forty two"), @r"
    base = 42
    height = 12
    ");
}

#[test]
fn r9_numbers_are_read_as_people_write_them() {
    let wait = json!({"seconds": {"type": "number", "description": "How many seconds to wait"}});
    let waited = |task: &str| filled("wait Waits for some seconds", &wait, task);
    insta::assert_snapshot!(waited("wait two and a half seconds"), @"seconds = 2.5");
    insta::assert_snapshot!(waited("wait 1.5e3 seconds"), @"seconds = 1500");
    let age = json!({"age": {"type": "integer", "description": "Age in years"}});
    insta::assert_snapshot!(filled("risk Tells the risk of a patient", &age, "the risk of a 72-year-old woman"), @"age = 72");
}

#[test]
fn r9_what_belongs_together_is_not_torn() {
    let sql = json!({"sql": {"type": "string", "description": "The SQL statement to run"}});
    insta::assert_snapshot!(filled("run_sql Runs a statement", &sql, "run this: SELECT name FROM people WHERE city = 'Oslo'"), @r#"sql = "SELECT name FROM people WHERE city = 'Oslo'""#);
    let pattern =
        json!({"pattern": {"type": "string", "description": "Pattern of file names, such as *.log"}});
    insta::assert_snapshot!(filled("find_files Finds files", &pattern, "find files with the pattern *.toml"), @r#"pattern = "*.toml""#);
}

#[test]
fn r9_a_file_goes_to_the_field_of_its_format() {
    let paths = json!({"path": {"type": "string"}, "csv_path": {"type": "string"}});
    let imported = |task: &str| filled("import_csv Imports a CSV file into a workbook", &paths, task);
    insta::assert_snapshot!(imported("import /d/sales.csv"), @r#"
    csv_path = "/d/sales.csv"
    path is missing
    "#);
    insta::assert_snapshot!(imported("import /d/sales.csv into /d/book.xlsx"), @r#"
    path = "/d/book.xlsx"
    csv_path = "/d/sales.csv"
    "#);
}

#[test]
fn r9_what_is_told_beside_a_request_is_no_value() {
    let emoji = json!({"category": {"type": "string", "description": "Category of emojis"}});
    let task =
        "I'm designing a stamp game for my two nephews. Could you list all the emojis in the flags category?";
    insta::assert_snapshot!(filled("list_emojis Lists emojis", &emoji, task), @r#"category = "flags""#);
}

#[test]
fn r9_dates_in_words_have_the_form_of_the_schema() {
    let field = |format: Value| json!({"date": format});
    let date = field(json!({"type": "string", "format": "date"}));
    let moment = field(json!({"type": "string", "format": "date-time"}));
    let written = field(json!({"type": "string", "description": "The day, as DD/MM/YYYY"}));
    let unix = field(json!({"type": "integer", "description": "Unix timestamp in seconds"}));
    let on = |fields: &Value, task: &str| filled("book Books a table", fields, task);
    insta::assert_snapshot!(on(&date, "book a table tomorrow"), @r#"date = "2026-11-18""#);
    insta::assert_snapshot!(on(&date, "book a table for next Friday"), @r#"date = "2026-11-27""#);
    insta::assert_snapshot!(on(&date, "book a table on March 3rd"), @r#"date = "2027-03-03""#);
    insta::assert_snapshot!(on(&date, "book a table on 3 de enero de 2027"), @r#"date = "2027-01-03""#);
    insta::assert_snapshot!(on(&date, "订 2026年10月8日 的桌子"), @r#"date = "2026-10-08""#);
    insta::assert_snapshot!(on(&date, "12月24日の席を予約して"), @r#"date = "2026-12-24""#);
    insta::assert_snapshot!(on(&date, "2026년 10월 8일에 자리 예약해 줘"), @r#"date = "2026-10-08""#);
    insta::assert_snapshot!(on(&moment, "book a table tomorrow at 9am"), @r#"date = "2026-11-18T09:00:00+01:00""#);
    insta::assert_snapshot!(on(&written, "book a table on 2026-12-24"), @r#"date = "24/12/2026""#);
    insta::assert_snapshot!(on(&unix, "book a table on 1970-01-02"), @"date = 82800");
}

#[test]
fn r9_choices_are_understood_by_meaning() {
    let fields = json!({"state": {"type": "string", "enum": ["open", "closed", "all"]}});
    let about = "list_issues Lists issues";
    insta::assert_snapshot!(filled(about, &fields, "list closed issues"), @r#"state = "closed""#);
}

#[test]
fn r9_a_path_goes_where_a_path_is_needed() {
    let path = json!({"path": {"type": "string"}});
    let read = |task: &str| filled("read_text_file Reads a file as text", &path, task);
    insta::assert_snapshot!(read("Read the file /data/files/a.txt"), @r#"path = "/data/files/a.txt""#);
    insta::assert_snapshot!(read("what does notes/Bread.md say"), @r#"path = "notes/Bread.md""#);
    insta::assert_snapshot!(read("read the file that Ana sent"), @"path is missing");
    let add = json!({
        "repo_path": {"type": "string"},
        "files": {"type": "array", "items": {"type": "string"}},
    });
    let staged = filled(
        "git_add Adds files to the staging area",
        &add,
        "Stage z.txt in the git repository /data/.x/repo",
    );
    insta::assert_snapshot!(staged, @r#"
    repo_path = "/data/.x/repo"
    files = ["z.txt"]
    "#);
}

#[test]
fn r9_a_time_zone_goes_where_one_is_needed() {
    let zone = json!({"timezone": {"type": "string", "description": "IANA timezone name (e.g., 'America/New_York')"}});
    let time = |task: &str| filled("get_current_time Get current time in a specific timezone", &zone, task);
    insta::assert_snapshot!(time("Get the current time in Asia/Tokyo"), @r#"timezone = "Asia/Tokyo""#);
    insta::assert_snapshot!(time("what time is it in Oslo?"), @r#"timezone = "Europe/Oslo""#);
    insta::assert_snapshot!(time("wie spät ist es in Wien"), @r#"timezone = "Europe/Vienna""#);
    let way = json!({
        "source_timezone": {"type": "string", "description": "Source IANA timezone name (e.g., 'America/New_York', 'Europe/London')."},
        "time": {"type": "string", "description": "Time to convert in 24-hour format (HH:MM)"},
        "target_timezone": {"type": "string", "description": "Target IANA timezone name (e.g., 'Asia/Tokyo', 'America/San_Francisco')."},
    });
    insta::assert_snapshot!(filled("convert_time Convert time between timezones", &way, "Convert 3:30pm New York time to Berlin time"), @r#"
    source_timezone = "America/New_York"
    time = "15:30"
    target_timezone = "Europe/Berlin"
    "#);
    // A clock that could do without one is asked for a place all the same.
    let zone = json!({"type": "object", "properties": {"zone": {"type": "string"}}});
    let clock = Form::new(("current_time", "Tells the current date and time in a time zone."), zone);
    let zone_in = |task: &str| fill(&clock, &sources(task, &Map::new(), &[])).object().get("zone").cloned();
    for place in ["Oslo", "Tokyo", "Lima", "Vienna", "New York"] {
        assert_eq!(zone_in(&format!("What time is it in {place}?")), Some(json!(place)));
    }
    assert_eq!(zone_in("What time is it?"), None);
}

#[test]
fn r9_owner_and_name_are_told_by_one_word() {
    let issues = json!({
        "owner": {"type": "string"},
        "repo": {"type": "string"},
        "state": {"type": "string", "enum": ["open", "closed", "all"]},
    });
    let listed = |task: &str| {
        let all = filled("list_pull_requests List pull requests in a repository", &issues, task);
        all.lines().filter(|line| !line.starts_with("state")).collect::<Vec<_>>().join(", ")
    };
    for task in [
        "list the pull requests in acme/web",
        "show me the open pull requests of acme/web?",
        "open PRs for acme/web",
        "acme/web: which pull requests are open",
        "pull requests of https://github.com/acme/web/pulls that are open",
        "is feature/login merged in acme/web",
    ] {
        assert_eq!(listed(task), r#"owner = "acme", repo = "web""#, "{task}");
    }
    assert_eq!(listed("PRs of vercel/next.js"), r#"owner = "vercel", repo = "next.js""#);
    assert!(!listed("list pull requests with bugs and/or docs").contains("or\""));
}

#[test]
fn r9_what_stands_behind_the_name_of_a_field_is_its_value() {
    let tags = json!({"tags": {"type": "array", "items": {"type": "string"}}});
    let tagged = |task: &str| filled("manage_tags Adds or removes tags of a note", &tags, task);
    insta::assert_snapshot!(tagged("add the tag robots"), @r#"tags = ["robots"]"#);
    let add = json!({"add": {"type": "array", "items": {"type": "string"}, "description": "Tags to add."}});
    let added = |task: &str| filled("tag_note Adds tags to a note or removes them", &add, task);
    insta::assert_snapshot!(added("add the tag robots to it"), @r#"add = ["robots"]"#);
    insta::assert_snapshot!(tagged("add tag #important"), @r#"tags = ["important"]"#);
}

#[test]
fn r9_what_is_given_wins_over_the_words() {
    let schema = schema(&json!({"a": {"type": "integer"}, "b": {"type": "integer"}}));
    let given: Map<String, Value> = json!({"a": 7}).as_object().unwrap().clone();
    let filling = fill(&Form::new(("add", ""), schema), &sources("a is 1, b is 2", &given, &[]));
    let sources: Vec<_> =
        filling.arguments.iter().map(|it| (it.name.as_str(), &it.value, it.source)).collect();
    assert_eq!(sources, [("a", &json!(7), Source::Given), ("b", &json!(2), Source::Text)]);
}

#[test]
fn r9_words_that_are_given_fill_nothing_else() {
    let fields = json!({"query": {"type": "string"}, "prefix": {"type": "string", "description": "Path to search in"}});
    let schema = json!({"type": "object", "properties": fields, "required": ["query"]});
    let given: Map<String, Value> = json!({"query": "AI"}).as_object().unwrap().clone();
    let filling = fill(
        &Form::new(("search_notes", "Finds notes"), schema),
        &sources("Search my notes for AI", &given, &[]),
    );
    assert_eq!(filling.object(), given);
}

#[test]
fn r9_an_earlier_result_in_plain_text_fills_what_was_not_said() {
    let schema = json!({"type": "object", "required": ["owner", "repo", "issue_number"], "properties": {
        "owner": {"type": "string", "description": "Repository owner"},
        "repo": {"type": "string", "description": "Repository name"},
        "issue_number": {"type": "integer", "description": "Issue number"},
    }});
    let form = Form::new(("close_issue", "Close an issue"), schema);
    let earlier = [json!("Issue #42 of me/hub: the app crashes")];
    let filling = fill(&form, &sources("close it", &Map::new(), &earlier));
    assert_eq!(
        Value::Object(filling.object()),
        json!({"owner": "me", "repo": "hub", "issue_number": 42}),
        "{filling:?}"
    );
    assert!(filling.arguments.iter().all(|it| it.source == Source::Earlier));
}

#[test]
fn r9_a_day_stays_a_day_unless_the_schema_shows_a_clock() {
    let day = |description: &str| {
        let when = json!({"start": {"type": "string", "description": description}});
        filled("list_events Lists events", &when, "list events with start 3 March 2027")
    };
    insta::assert_snapshot!(day("Start time (ISO 8601)"), @r#"start = "2027-03-03""#);
    insta::assert_snapshot!(day("Start time (ISO 8601), e.g. 2025-01-31T09:00:00Z"), @r#"start = "2027-03-03T00:00:00+01:00""#);
}

#[test]
fn r9_a_described_object_goes_before_the_text_of_one() {
    let parent = json!({"parent": {"anyOf": [
        {"type": "object", "properties": {"page_id": {"type": "string"}}, "required": ["page_id"]},
        {"type": "string"},
    ]}});
    let about = "move_page Moves a page";
    insta::assert_snapshot!(filled(about, &parent, "page_id: c0ffee00-1234-4567-89ab-0123456789ab"), @r#"parent = {"page_id":"c0ffee00-1234-4567-89ab-0123456789ab"}"#);
}

#[test]
fn r9_earlier_results_fill_what_was_not_said() {
    let schema = schema(&json!({"path": {"type": "string", "description": "Path of the note"}}));
    let form = Form::new(("open_note", "Opens a note"), schema);
    for earlier in [
        json!({"notes": [{"path": "AI/a.md", "score": 1}, {"path": "AI/b.md", "score": 2}]}),
        json!({"content": [{"type": "text", "text": "[{\"path\": \"AI/a.md\"}]"}]}),
        json!("- AI/a.md\n- AI/b.md"),
    ] {
        let filling = fill(&form, &sources("open it", &Map::new(), std::slice::from_ref(&earlier)));
        assert_eq!(filling.object(), *json!({"path": "AI/a.md"}).as_object().unwrap(), "{earlier}");
        assert_eq!(filling.arguments[0].source, Source::Earlier);
    }
}

#[test]
fn r9_a_value_of_a_result_is_found_by_name_kind_and_place() {
    let schema = schema(&json!({
        "issue_number": {"type": "integer"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "body": {"type": "string"},
        "url": {"type": "string", "format": "uri"},
    }));
    let form = Form::new(("", ""), schema);
    let of = |name: &str, result: &Value, which: Which| {
        let field = form.of_parameter(name).next().unwrap();
        from_result(&form, field, result, which).map(|found| found.value)
    };
    let issues = json!({"issues": [{"number": 7, "name": "x"}, {"number": 9, "name": "y"}]});
    assert_eq!(of("issue_number", &issues, Which::First), Some(json!(7)));
    assert_eq!(of("issue_number", &issues, Which::Last), Some(json!(9)));
    assert_eq!(of("issue_number", &issues, Which::Nth(1)), Some(json!(9)));
    assert_eq!(of("labels", &json!("- a\n- b"), Which::All), Some(json!(["a", "b"])));
    assert_eq!(of("url", &json!("made: https://a.b/c."), Which::First), Some(json!("https://a.b/c")));
    assert_eq!(
        of("body", &json!("One line.\nAnd a second one that goes on."), Which::First),
        Some(json!("One line.\nAnd a second one that goes on."))
    );
    assert_eq!(of("issue_number", &json!("nothing"), Which::First), None);
    assert_eq!(each_of_result(&issues).len(), 2);
}

#[test]
fn r9_objects_are_complete_or_not_sent() {
    let fields = json!({"place": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "radius": {"type": "integer"}},
        "required": ["city", "radius"],
    }});
    let about = "find_shops Finds shops";
    insta::assert_snapshot!(filled(about, &fields, "shops in the city Oslo, radius 5"), @r#"place = {"city":"Oslo","radius":5}"#);
    insta::assert_snapshot!(filled(about, &fields, "shops with radius 5"), @"place.city is missing");
}

#[test]
fn r9_the_data_is_readable() {
    assert!(
        include_str!("../../data/arguments.tsv")
            .lines()
            .all(|line| line.split_once('\t').is_some_and(|(_, it)| it.parse::<f32>().is_ok()))
    );
    assert!(quantity::Unit::named("hours").is_some());
    insta::assert_snapshot!(filled("weather", &json!({"language": {"type": "string"}}), "weather in german"), @r#"language = "de""#);
}

#[test]
fn r9_values_are_alike_in_case_space_and_form() {
    let same = |a: Value, b: Value| equivalent(&a, &b);
    assert!(same(json!("New  York"), json!("new york")));
    assert!(same(json!(5), json!("5.0")) && same(json!(["A"]), json!(["a"])));
    assert!(same(json!("2026-03-03"), json!("March 3, 2026")) && same(json!("9:00 am"), json!("09:00")));
    assert!(
        !same(json!("a"), json!(["a"]))
            && !same(json!(1), json!(2))
            && !same(json!("2026-03-03"), json!("2026-03-04"))
    );
}

#[test]
fn r9_a_flag_that_no_word_speaks_of_is_left_alone() {
    let fields = json!({
        "query": {"type": "string"},
        "searchContent": {"type": "boolean", "description": "Search in note content (default: true)", "default": true},
        "caseSensitive": {"type": "boolean", "description": "Case sensitive search", "default": false},
    });
    let schema = json!({"type": "object", "properties": fields, "required": ["query"]});
    let form = Form::new(("search_notes", "Searches the notes"), schema);
    let filling = fill(&form, &sources("Search my notes for AI", &Map::new(), &[]));
    assert_eq!(filling.object(), *json!({"query": "AI"}).as_object().unwrap());
}

/// Fills required fields from a task; one line for each argument.
fn filled(about: &str, fields: &Value, task: &str) -> String {
    let form = Form::new(about.split_once(' ').unwrap_or((about, "")), schema(fields));
    let filling = fill(&form, &sources(task, &Map::new(), &[]));
    assert!(form.admits_part(&filling.object()));
    let arguments = filling.arguments.iter().map(|it| format!("{} = {}", it.name, it.value));
    let missing = filling.missing.iter().map(|it| format!("{} is missing", it.name));
    arguments.chain(missing).collect::<Vec<_>>().join("\n")
}

fn schema(fields: &Value) -> Value {
    let required: Vec<&String> = fields.as_object().unwrap().keys().collect();
    json!({"type": "object", "properties": fields, "required": required})
}

fn sources<'a>(task: &'a str, given: &'a Map<String, Value>, earlier: &'a [Value]) -> Sources<'a> {
    Sources {
        task,
        given,
        named: None,
        reading: None,
        earlier,
        now: Now { at: date(2026, 11, 17).at(10, 0, 0, 0), offset: 3600 },
    }
}

#[test]
fn r9_a_tag_is_no_path() {
    let fields = json!({
        "path": {"type": "string", "description": "Path of the note"},
        "content": {"type": "string", "description": "New content"},
        "addTags": {"type": "array", "items": {"type": "string"}, "description": "Tags to add"},
        "removeTags": {"type": "array", "items": {"type": "string"}, "description": "Tags to remove"},
    });
    let form = Form::new(
        ("update_note", "Update an existing note: replace its content or add and remove tags"),
        json!({"type": "object", "properties": fields, "required": ["path"]}),
    );
    let filling = fill(&form, &sources("add tag #important", &Map::new(), &[]));
    assert_eq!(Value::Object(filling.object()), json!({"addTags": ["important"]}));
}

#[test]
fn r9_words_of_a_person_are_no_statement() {
    let fields = json!({"sql": {"type": "string", "description": "The statement to run"}});
    let about = "run_query Runs SQL against the database";
    insta::assert_snapshot!(filled(about, &fields, "select the ten newest orders from the orders table"), @"sql is missing");
    insta::assert_snapshot!(filled(about, &fields, "run SELECT name FROM users"), @r#"sql = "SELECT name FROM users""#);
}

#[test]
fn r9_an_address_keeps_its_whole_scheme_whatever_a_reader_says() {
    let form =
        Form::new(("connect", "Connects to a database"), schema(&json!({"target": {"type": "string"}})));
    let task = "hook up mongodb+srv://ro:pw@db.example.net please";
    let cut = task.find("srv").unwrap()..task.find(" please").unwrap();
    let field = FieldReading {
        given: [-9.0, -0.01, -9.0],
        spans: vec![(cut, -0.01)],
        items: Vec::new(),
        options: Vec::new(),
    };
    let reading = RequestReading { fits: 4.0, fields: vec![field] };
    let given = Map::new();
    let filling = fill(&form, &Sources { reading: Some(&reading), ..sources(task, &given, &[]) });
    assert_eq!(Value::Object(filling.object()), json!({"target": "mongodb+srv://ro:pw@db.example.net"}));
}

#[test]
fn r9_a_way_goes_from_one_end_to_the_other() {
    let about = "convert_time Carries a time over to another zone";
    let fields = json!({
        "time": {"type": "string", "format": "date-time", "description": "The moment"},
        "from_zone": {"type": "string", "description": "Where the time is meant"},
        "to_zone": {"type": "string", "description": "Where to carry it over to"},
    });
    let zones = |task: &str| {
        let filled = filled(about, &fields, task);
        filled.lines().filter(|line| line.contains("zone")).collect::<Vec<_>>().join("; ")
    };
    insta::assert_snapshot!(zones("convert 15:00 Europe/Berlin to America/New_York"), @r#"from_zone = "Europe/Berlin"; to_zone = "America/New_York""#);
    insta::assert_snapshot!(zones("convert 15:00 from New York to Berlin"), @r#"from_zone = "New York"; to_zone = "Berlin""#);
    insta::assert_snapshot!(zones("convert 3pm New York to Berlin time"), @r#"from_zone = "New York"; to_zone = "Berlin""#);
}

#[test]
fn r9_one_path_for_two_fields_goes_where_its_word_says() {
    let about = "move_note Moves or renames a note";
    let fields = json!({"oldPath": {"type": "string"}, "newPath": {"type": "string"}});
    insta::assert_snapshot!(
        filled(about, &fields, "move the first note to \"Archive/Talks.md\""),
        @r#"
    newPath = "Archive/Talks.md"
    oldPath is missing
    "#
    );
}

#[test]
fn r9_the_name_of_a_file_says_its_format_and_where_it_goes() {
    let text = json!({"type": "string"});
    let format = json!({"type": "string", "enum": ["markdown", "html", "docx"], "default": "markdown"});
    let properties = json!({
        "contents": text, "input_file": text, "input_format": format, "output_format": format, "output_file": text,
    });
    let form =
        Form::new(("convert", "Converts contents"), json!({"type": "object", "properties": properties}));
    let filled = |task: &str| Value::Object(fill(&form, &sources(task, &Map::new(), &[])).object());
    let file = json!({"output_format": "docx", "output_file": "/home/me/report.docx"});
    assert_eq!(filled("turn it into /home/me/report.docx"), file);
    assert_eq!(filled("convert it to /home/me/report.docx"), file);
}

#[test]
fn r9_a_part_of_an_object_that_is_not_whole_takes_nothing_from_others() {
    let text = json!({"type": "string"});
    let link = json!({
        "type": "object", "required": ["cell", "target"],
        "properties": {"cell": {"type": "string", "description": "A cell, e.g. 'B2'."}, "target": text},
    });
    let properties = json!({
        "sheet": text, "at": {"type": "string", "description": "Top-left cell."},
        "links": {"type": "array", "items": link},
    });
    let schema = json!({"type": "object", "properties": properties, "required": ["sheet", "at"]});
    let form = Form::new(("write_range", "Write values into cells"), schema);
    let filling = fill(&form, &sources("write it into the sheet Q1 at B2", &Map::new(), &[]));
    assert_eq!(Value::Object(filling.object()), json!({"sheet": "Q1", "at": "B2"}));
}

#[test]
fn r9_json_in_a_request_is_one_value() {
    let text = json!({"type": "string"});
    let rows = json!({"type": "array", "items": {"type": "array", "items": text}});
    let fields = json!({"sheet": text, "rows": rows});
    let task = "write the rows [[\"Month\", \"Sales\"]] into the sheet Q1";
    insta::assert_snapshot!(filled("write_range Write rows into a sheet", &fields, task), @r#"
    sheet = "Q1"
    rows = [["Month","Sales"]]
    "#);
}

#[test]
fn r9_a_span_of_time_may_be_written_together() {
    let fields = json!({"since": {"type": "string", "format": "date", "description": "The first day"}});
    let filled = |task: &str| filled("list_alerts Lists alerts since a day", &fields, task);
    insta::assert_snapshot!(filled("alerts of the past 7d"), @r#"since = "2026-11-10""#);
    insta::assert_snapshot!(filled("alerts of the past 7 days"), @r#"since = "2026-11-10""#);
}

/// Words that are read for more than themselves.
const TELLING: [&str; 40] = [
    "past",
    "last",
    "next",
    "in",
    "ago",
    "7d",
    "2h",
    "3",
    "weeks",
    "days",
    "friday",
    "march",
    "3rd",
    "2026",
    "2026-11-03",
    "9:30",
    "9am",
    "pm",
    "to",
    "12,",
    "-1",
    "half",
    "an",
    "hour",
    "and",
    "a",
    "two",
    "dozen",
    "5km",
    "1e3",
    "10x12",
    "'q",
    "q'",
    "(",
    ")",
    "[1,",
    "2]",
    "key=value",
    "vor",
    "через",
];

proptest! {
    #[test]
    fn r9_no_order_of_telling_words_panics(words in prop::collection::vec(prop::sample::select(&TELLING[..]), 0..7)) {
        let fields = json!({
            "text": {"type": "string"}, "count": {"type": "integer"}, "share": {"type": "number"},
            "day": {"type": "string", "format": "date"}, "at": {"type": "string", "format": "date-time"},
            "span": {"type": "integer", "description": "Seconds"}, "flag": {"type": "boolean"},
            "items": {"type": "array", "items": {"type": "number"}},
        });
        filled("do Does something", &fields, &words.join(" "));
    }
}
