//! Listings of every kind, gathered.

use proptest::prelude::*;

use super::*;

const BOUNDS: Bounds = Bounds { tools: 100, name_chars: 40, description_chars: 60, nesting: 16 };

#[test]
fn r18_two_servers_with_the_same_tool_are_told_apart() {
    let (catalog, problems) = gather([("b", vec![read()]), ("a", vec![read()])]);
    assert_eq!(problems, []);
    assert_eq!(ids(&catalog), "a__read\nb__read");
    assert_eq!(&*catalog.get("b__read").unwrap().server, "b");
    assert_eq!(catalog.position("b__read"), Some(1));
    assert_eq!(catalog.find("a", "read").unwrap().id.as_str(), "a__read");
    assert!(catalog.find("a", "write").is_none());
    assert!(catalog.get("c__read").is_none());
}

#[test]
fn r18_order_and_names_do_not_depend_on_who_connected_first() {
    let one = ("a", vec![tool("z"), tool("y")]);
    let two = ("b", vec![tool("x")]);
    let three = ("c", vec![]);
    let (first, _) = gather([one.clone(), two.clone(), three.clone()]);
    let (second, _) = gather([three, two, one]);
    assert_eq!(ids(&first), "a__z\na__y\nb__x");
    assert_eq!(ids(&first), ids(&second));
    let servers: Vec<(String, usize)> =
        second.servers().map(|(name, count)| (name.to_string(), count)).collect();
    assert_eq!(servers, [("a".to_owned(), 2), ("b".to_owned(), 1), ("c".to_owned(), 0)]);
    assert_eq!(second.of_server("a").len(), 2);
    assert_eq!(second.of_server("nobody").len(), 0);
}

#[test]
fn r9_the_form_of_a_tool_is_read_once() {
    let (catalog, _) = gather([("a", vec![read()])]);
    assert!(std::ptr::eq(catalog.form(0), catalog.form(0)));
    assert_eq!(catalog.form(0).fields().len(), Form::of(&catalog.tools()[0]).fields().len());
}

#[test]
fn r6_tools_of_one_name_are_preferred_as_their_servers_were_given() {
    let (catalog, _) = gather([("b", vec![tool("y"), read()]), ("c", vec![tool("x")]), ("a", vec![read()])]);
    let preferred = catalog.preferred().into_iter().map(|at| catalog.tools()[at].id.as_str());
    assert_eq!(preferred.collect::<Vec<_>>(), ["b__read", "a__read", "c__x", "b__y"]);
}

#[test]
fn c3_a_server_that_warns_of_everything_warns_of_nothing() {
    let warned = |name: &str| {
        format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{"destructiveHint":true}}}}"#
        )
    };
    let effects = |names: &[&str], more: Vec<String>| {
        let tools = names.iter().map(|name| warned(name)).chain(more).collect();
        let (catalog, _) = gather([("s", tools)]);
        catalog.tools().iter().map(|tool| tool.effect).collect::<Vec<_>>()
    };
    let all = ["click", "press", "scroll", "hover", "delete_tab"];
    let mut expected = vec![Effect::Write; 4];
    expected.push(Effect::Destroy);
    assert_eq!(effects(&all, vec![]), expected);
    assert_eq!(effects(&["click"], vec![]), [Effect::Destroy], "one warning may be meant");
    let mut expected = vec![Effect::Destroy; 5];
    expected.push(Effect::Write);
    assert_eq!(effects(&all, vec![tool("open_tab")]), expected, "it tells tools apart");
}

#[test]
fn one_bad_tool_does_not_hide_the_others() {
    let schema = r#""inputSchema":{"type":"object"}"#;
    let deep = format!("{}{}", "[".repeat(20), "]".repeat(20));
    let (catalog, problems) = gather([(
        "s",
        vec![
            "7".to_owned(),
            "{}".to_owned(),
            r#"{"name":7}"#.to_owned(),
            r#"{"name":" "}"#.to_owned(),
            tool("good"),
            tool("good"),
            tool(&"long".repeat(20)),
            tool(r"de\u200blete"),
            tool(r"two\nlines\u001b[31m"),
            format!(r#"{{"name":"twice","title":"a","title":"b",{schema}}}"#),
            r#"{"name":"list_schema","inputSchema":[]}"#.to_owned(),
            r#"{"name":"string_schema","inputSchema":{"type":"string"}}"#.to_owned(),
            format!(r#"{{"name":"deep","x":{deep},{schema}}}"#),
            format!(r#"{{"name":"hint","annotations":{{"readOnlyHint":"yes"}},{schema}}}"#),
            format!(r#"{{"name":"icons","icons":{{}},{schema}}}"#),
            format!(r#"{{"name":"meta","_meta":"x",{schema}}}"#),
            format!(r#"{{"name":"half","x":["\ud800"],{schema}}}"#),
            tool("last"),
        ],
    )]);
    assert_eq!(ids(&catalog), "s__good\ns__last");
    insta::assert_snapshot!(told(&problems), @r#"
    `s`: left out: the definition is not an object
    `s`: left out: a tool has no name
    `s`: left out: a tool's name is not a string
    `s`: left out: a tool's name is empty
    `s`: tool `good` left out: the name is listed twice; the first one counts
    `s`: tool `longlonglonglonglonglonglonglonglonglonglonglonglonglonglong…` left out: the name is longer than 40 characters
    `s`: tool `delete` left out: the name has control or invisible characters
    `s`: tool `two lines` left out: the name has control or invisible characters
    `s`: tool `twice` left out: the definition has `title` twice
    `s`: tool `list_schema` left out: its `inputSchema` is not an object
    `s`: tool `string_schema` left out: its `inputSchema` is not of type `object`
    `s`: tool `deep` left out: the definition is nested 21 levels deep; 16 are allowed
    `s`: tool `hint` left out: its `annotations` cannot be read: invalid type: string "yes", expected a boolean
    `s`: tool `icons` left out: its `icons` is not an array
    `s`: tool `meta` left out: its `_meta` is not an object
    `s`: tool `half` left out: the definition cannot be read: unexpected end of hex escape
    "#);
}

#[test]
fn what_can_be_mended_is_kept_and_reported() {
    let (catalog, problems) = gather([(
        "s",
        vec![
            r#"{"name":"bare"}"#.to_owned(),
            r#"{"name":"null","description":null,"title":null,"annotations":null,"inputSchema":null}"#
                .to_owned(),
            r#"{"name":"untyped","inputSchema":{"properties":{"a":{}}}}"#.to_owned(),
            r#"{"name":"odd","description":5,"inputSchema":{"type":"object"}}"#.to_owned(),
            r#"{"name":"hidden","description":"a\u200bb\r\nc\u001b[0m","inputSchema":{"type":"object"}}"#
                .to_owned(),
            format!(
                r#"{{"name":"long","description":"{}","inputSchema":{{"type":"object"}}}}"#,
                "ä".repeat(61)
            ),
        ],
    )]);
    insta::assert_snapshot!(told(&problems), @r"
    `s`: tool `bare` changed: it has no `inputSchema`; taken as a tool without parameters
    `s`: tool `null` changed: it has no `inputSchema`; taken as a tool without parameters
    `s`: tool `untyped` changed: its `inputSchema` has no type; taken as `object`
    `s`: tool `odd` changed: its description is not a string and is left out
    `s`: tool `hidden` changed: its description had 5 control or invisible characters, now removed
    `s`: tool `long` changed: its description is longer than 60 characters and was cut
    ");
    insta::assert_snapshot!(listed(&catalog), @r#"
    {"name":"s__bare","inputSchema":{"type":"object"}}
    {"name":"s__null","inputSchema":{"type":"object"}}
    {"name":"s__untyped","inputSchema":{"type":"object","properties":{"a":{}}}}
    {"name":"s__odd","description":"","inputSchema":{"type":"object"}}
    {"name":"s__hidden","description":"ab\r\nc","inputSchema":{"type":"object"}}
    {"name":"s__long","description":"äääääääääääääääääääääääääääääääääääääääääääääääääääääääääää…","inputSchema":{"type":"object"}}
    "#);
}

#[test]
fn a_listing_longer_than_allowed_is_cut_with_one_report() {
    let tools = (0..500).map(|at| tool(&format!("t{at}"))).collect();
    let (catalog, problems) = gather([("s", tools)]);
    assert_eq!(catalog.len(), 100);
    insta::assert_snapshot!(told(&problems), @"`s`: left out: it lists more than 100 tools; the last 400 are cut");
}

#[test]
fn the_listing_carries_everything_else_as_the_server_wrote_it() {
    let definition = r#"{ "_meta":{"n":1.0e+2,"big":123456789012345678901234567890},
        "description":"caf\u00e9 \/ Windows\r\nlines","zzz":[ 1,  2],"name":"read","icons":[{"src":"x"}],
        "annotations":{"title":"Read","readOnlyHint":true,"x":1.10},
        "inputSchema":{"type":"object","properties":{"b":{"minimum":-0.0},"a":{}}}}"#;
    let (catalog, problems) = gather([("s", vec![definition.to_owned()])]);
    assert_eq!(problems, []);
    insta::assert_snapshot!(listed(&catalog), @r#"{"_meta":{"n":1.0e+2,"big":123456789012345678901234567890},"description":"caf\u00e9 \/ Windows\r\nlines","zzz":[ 1,  2],"name":"s__read","icons":[{"src":"x"}],"annotations":{"title":"Read","readOnlyHint":true,"x":1.10},"inputSchema":{"type":"object","properties":{"b":{"minimum":-0.0},"a":{}}}}"#);
    let tool = &catalog.tools()[0];
    assert_eq!(tool.description, "café / Windows\nlines");
    assert_eq!(tool.title.as_deref(), Some("Read"));
    assert_eq!(tool.definition.get(), definition);
}

#[test]
fn hidden_text_in_titles_does_not_reach_the_listing() {
    let definition = r#"{"name":"a","title":"T\u202e","annotations":{"x":1,"title":"\u001b[1mA"},"inputSchema":{"type":"object"}}"#;
    let annotated = r#"{"name":"b","annotations":{"title":"\u200bB"},"inputSchema":{"type":"object"}}"#;
    let (catalog, problems) = gather([("s", vec![definition.to_owned(), annotated.to_owned()])]);
    insta::assert_snapshot!(told(&problems), @r"
    `s`: tool `a` changed: its title had 1 control or invisible characters, now removed
    `s`: tool `b` changed: its title had 1 control or invisible characters, now removed
    ");
    insta::assert_snapshot!(listed(&catalog), @r#"
    {"name":"s__a","title":"T","annotations":{"x":1,"title":"A"},"inputSchema":{"type":"object"}}
    {"name":"s__b","annotations":{"title":"B"},"inputSchema":{"type":"object"}}
    "#);
}

#[test]
fn a_server_gathered_twice_is_one_server() {
    let (catalog, problems) = gather([("s", vec![tool("a"), tool("b")]), ("s", vec![tool("b"), tool("c")])]);
    assert_eq!(ids(&catalog), "s__a\ns__b\ns__c");
    insta::assert_snapshot!(told(&problems), @"`s`: tool `b` left out: the name is listed twice; the first one counts");
    assert_eq!(catalog.servers().count(), 1);
}

#[test]
fn r18_an_id_that_another_tool_holds_is_not_given_twice() {
    // Found by trying: two names whose readable parts and digests are the same.
    let (one, other) = ("x!#)..", "x!(<.:");
    let (catalog, problems) = gather([("s", vec![tool(one), tool(other)])]);
    assert_eq!(ids(&catalog), "s__x_80121910");
    insta::assert_snapshot!(told(&problems), @"`s`: tool `x!(<.:` left out: its id `s__x_80121910` belongs to `x!#)..` of `s`");
    assert_eq!(catalog.find("s", one).unwrap().name, one);
    assert!(catalog.find("s", other).is_none());
}

proptest! {
    #[test]
    fn no_definition_panics_and_every_listing_is_json(definition in definition()) {
        let Ok(raw) = RawValue::from_string(definition) else { return Ok(()) };
        let advertised = Advertised { server: "s".into(), tools: vec![raw] };
        let (catalog, problems) = Catalog::gather([(advertised, BOUNDS)]);
        prop_assert!(catalog.len() == 1 || problems.len() == 1);
        for tool in catalog.tools() {
            let listed = tool.listed();
            let value: serde_json::Value = serde_json::from_str(&listed).unwrap();
            prop_assert_eq!(&value["name"], tool.id.as_str());
            prop_assert_eq!(&value["inputSchema"]["type"], "object");
            prop_assert!(!listed.contains(['\n', '\r']));
        }
        for problem in problems {
            prop_assert!(!problem.to_string().contains(char::is_control), "{problem}");
        }
    }
}

/// Text that is often nearly a definition: members with fitting and unfitting values of each kind.
fn definition() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "description",
        "title",
        "annotations",
        "inputSchema",
        "icons",
        "_meta",
        "x",
    ]);
    let string = any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap());
    let value = prop_oneof![
        string.clone(),
        prop::sample::select(vec![
            "null",
            "1",
            "[]",
            "{}",
            "{\n}",
            r#"{"type":"object"}"#,
            r#"{"type":null,"properties":{"a":{"enum":[1]}}}"#,
            r#"{"title":"\u200b","readOnlyHint":true}"#,
            r#""\ud800""#,
            r#""a\u001b]0;x""#,
        ])
        .prop_map(str::to_owned),
    ];
    let members = proptest::collection::vec((key, value), 0..5);
    let whole = (prop_oneof![Just("\"read\"".to_owned()), string], members).prop_map(|(name, members)| {
        let members: String = members.iter().map(|(key, value)| format!(",\n\"{key}\": {value}")).collect();
        format!("{{\"name\": {name}{members}}}")
    });
    prop_oneof![3 => whole, 1 => any::<String>()]
}

fn read() -> String {
    tool("read")
}

fn tool(name: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#)
}

/// The only place in this file that knows how to gather.
fn gather<const N: usize>(servers: [(&str, Vec<String>); N]) -> (Catalog, Vec<Problem>) {
    Catalog::gather(servers.map(|(server, tools)| {
        let tools = tools.into_iter().map(|tool| RawValue::from_string(tool).unwrap()).collect();
        (Advertised { server: server.into(), tools }, BOUNDS)
    }))
}

fn ids(catalog: &Catalog) -> String {
    catalog.tools().iter().map(|tool| tool.id.as_str()).collect::<Vec<_>>().join("\n")
}

fn told(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn listed(catalog: &Catalog) -> String {
    catalog.tools().iter().map(Tool::listed).collect::<Vec<_>>().join("\n")
}
