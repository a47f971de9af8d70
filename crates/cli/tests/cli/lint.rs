//! How well tools are documented: on a real server, and in stored listings.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::place::Place;

const GOOD: &str = r#"{ "mcpServers": { "time": { "builtin": "time" }, "good": { "command": "FAULT" } } }"#;

/// Two servers: one tool that is documented well, one that is not, and one that both have.
fn listing() -> Value {
    let fetch = json!({ "name": "fetch_page", "description": "Fetches a page of the web. Returns its text.", "inputSchema": {
        "type": "object", "properties": { "url": { "type": "string", "format": "uri", "description": "Where it lies" } }, "required": ["url"] } });
    json!([
        { "server": "web", "tools": [
            fetch,
            {
                "name": "search_pages",
                "description": "Searches the web for pages.\nUse when the user wants to find something online.\nDoes not read a page; use fetch_page instead.\nReturns titles and addresses.",
                "inputSchema": { "type": "object", "properties": {
                    "query": { "type": "string", "description": "What to look for. Example: \"weather in Oslo\"" } }, "required": ["query"] },
            },
        ] },
        { "server": "shop", "tools": [{ "name": "run", "inputSchema": { "type": "object", "properties": { "data": {} } } }, fetch] },
    ])
}

fn stored() -> Place {
    let place = Place::new();
    place.write("desk/tools.json", &format!("{:#}", listing()));
    place
}

#[test]
fn c10_a_stored_listing_is_scored_worst_first_with_advice_and_a_summary() {
    let place = stored();
    insta::assert_snapshot!(place.run(&["lint", "--catalog", "tools.json"]), @r#"
    score  tool               tokens  findings
        0  shop__run              33  no-description, parameter-untyped, unclear-parameter-name, vague-name
       67  shop__fetch_page       92  no-use-cases, no-boundaries, no-examples, twin
       67  web__fetch_page        92  no-use-cases, no-boundaries, no-examples, twin
      100  web__search_pages     122

    shop__run  0 of 100
      error no-description: there is no description; say in one sentence what the tool does
      warning parameter-untyped: `data` has no type; give it one
      warning unclear-parameter-name: `data` says nothing and has no description; rename it or describe it
      warning vague-name: `run` does not say what is done to what; name both

    shop__fetch_page  67 of 100
      warning no-use-cases: it is not said when to use the tool; add `Use when …`
        try: Use when the user wants to: Fetches a page of the web.
      note no-boundaries: it is not said what the tool does not do; add `Does not …; use X instead`
      note no-examples: there is no example of a call or of a value
        try: Example: fetch_page {"url":"https://example.com"}
      note twin: `web` lists the same tool, word for word

    web__fetch_page  67 of 100
      warning no-use-cases: it is not said when to use the tool; add `Use when …`
        try: Use when the user wants to: Fetches a page of the web.
      note no-boundaries: it is not said what the tool does not do; add `Does not …; use X instead`
      note no-examples: there is no example of a call or of a value
        try: Example: fetch_page {"url":"https://example.com"}
      note twin: `shop` lists the same tool, word for word

    Hard to tell apart
      twin  shop__fetch_page  web__fetch_page

    Findings
        2  warning  no-use-cases
        2  note     no-boundaries
        2  note     no-examples
        2  note     twin
        1  error    no-description
        1  warning  parameter-untyped
        1  warning  unclear-parameter-name
        1  warning  vague-name

    4 tools of 2 servers, mean score 59, 1 pair hard to tell apart. `toolyard lint --rules` explains the findings.
    [exit 0]
    "#);
    insta::assert_snapshot!(place.run(&["lint", "--catalog", "tools.json", "web", "--worst", "1"]), @r#"
    score  tool             tokens  findings
       67  web__fetch_page      92  no-use-cases, no-boundaries, no-examples, twin

    web__fetch_page  67 of 100
      warning no-use-cases: it is not said when to use the tool; add `Use when …`
        try: Use when the user wants to: Fetches a page of the web.
      note no-boundaries: it is not said what the tool does not do; add `Does not …; use X instead`
      note no-examples: there is no example of a call or of a value
        try: Example: fetch_page {"url":"https://example.com"}
      note twin: `shop` lists the same tool, word for word

    Hard to tell apart
      twin  shop__fetch_page  web__fetch_page

    Findings
        1  warning  no-use-cases
        1  note     no-boundaries
        1  note     no-examples
        1  note     twin

    2 tools of 1 server, mean score 84, 1 pair hard to tell apart. `toolyard lint --rules` explains the findings.
    [exit 0]
    "#);
    // Nothing of a terminal is in a pipe.
    let output = place.output(&["lint", "--catalog", "tools.json"]);
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn c10_a_tool_below_the_wanted_score_fails() {
    let place = stored();
    let run = |least: &str, form: &[&str]| {
        let words: Vec<&str> =
            ["lint", "--catalog", "tools.json", "--min-score", least].iter().chain(form).copied().collect();
        let output = place.output(&words);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run("0", &[]), (0, String::new()));
    assert_eq!(run("90", &[]), (1, "error: 3 tools below 90 points\n".to_owned()));
    assert_eq!(run("90", &["--json"]), (1, String::new()));
    assert_eq!(run("90", &["--sarif"]), (1, String::new()));
    assert_eq!(run("101", &[]).0, 2);
}

#[test]
fn c10_the_tools_of_a_running_server_are_linted_and_suggestions_are_metadata() {
    let place = Place::with(GOOD);
    let (report, exit) = place.json(&["lint", "good", "--json"]);
    assert_eq!(exit, 0);
    let tools = report["tools"].as_array().unwrap();
    assert!(tools.len() > 20 && tools.iter().all(|tool| tool["server"] == "good"));
    let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
    insta::assert_snapshot!(format!("{echo:#}"), @r#"
    {
      "id": "good__echo",
      "server": "good",
      "name": "echo",
      "score": 51,
      "tokens": 152,
      "parts": {
        "purpose": 100,
        "prerequisite": null,
        "uses": 0,
        "boundaries": 0,
        "args": 80,
        "returns": 0,
        "examples": 0
      },
      "diagnostics": [
        {
          "rule": "no-use-cases",
          "level": "warning",
          "place": "/description",
          "message": "it is not said when to use the tool; add `Use when …`",
          "suggestion": {
            "text": "Use when the user wants to: Repeats a text.",
            "note": {
              "useCases": [
                "read echos",
                "Repeats a text"
              ]
            }
          }
        },
        {
          "rule": "no-boundaries",
          "level": "note",
          "place": "/description",
          "message": "it is not said what the tool does not do; add `Does not …; use X instead`"
        },
        {
          "rule": "no-returns",
          "level": "note",
          "place": "/description",
          "message": "nothing says what a call returns; add `Returns …` or an `outputSchema`"
        },
        {
          "rule": "no-examples",
          "level": "note",
          "place": "/description",
          "message": "there is no example of a call or of a value",
          "suggestion": {
            "text": "Example: echo {\"text\":\"<text>\"}"
          }
        },
        {
          "rule": "parameter-without-example",
          "level": "note",
          "place": "/inputSchema/properties/text",
          "message": "`text` takes any text and no example shows one; add `Example: …`"
        }
      ]
    }
    "#);

    // What is suggested can be taken over as it is.
    place.write("config/toolyard/metadata/good.json", &report["sidecars"][0].to_string());
    let checked = place.run(&["metadata", "check"]);
    assert!(checked.ends_with("1 of 1 file in order\n[exit 0]"), "{checked}");
    let (known, _) = place.json(&["metadata", "export", "good", "--json"]);
    let use_cases = |tools: &Value| tools["echo"]["useCases"].clone();
    assert_eq!(use_cases(&known["sidecars"][0]["tools"]), use_cases(&report["sidecars"][0]["tools"]));
}

#[test]
fn c10_sarif_has_what_code_scanning_needs() {
    let place = stored();
    let (sarif, exit) = place.json(&["lint", "--catalog", "tools.json", "--sarif"]);
    assert_eq!((exit, &sarif["version"]), (0, &json!("2.1.0")));
    let run = &sarif["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "toolyard");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for rule in rules {
        let texts = ["/shortDescription/text", "/fullDescription/text", "/help/text", "/help/markdown"];
        assert!(
            texts.iter().all(|it| rule.pointer(it).is_some_and(|it| !it.as_str().unwrap().is_empty())),
            "{rule}"
        );
        assert!(["error", "warning", "note"].iter().any(|it| rule["defaultConfiguration"]["level"] == *it));
    }
    let text = place.read("desk/tools.json");
    let lines: Vec<&str> = text.lines().collect();
    let mut fingerprints = std::collections::BTreeSet::new();
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let location = &result["locations"][0];
        assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "tools.json");
        // The place is where the tool begins in the file.
        let line =
            usize::try_from(location["physicalLocation"]["region"]["startLine"].as_u64().unwrap()).unwrap();
        let name = location["logicalLocations"][0]["name"].as_str().unwrap();
        let tool = lines[line - 1..].iter().find(|line| line.contains("\"name\"")).unwrap();
        assert!(tool.contains(&format!("\"{name}\"")), "{name}: {tool}");
        assert!(
            fingerprints.insert(result["partialFingerprints"]["toolyardLint/v1"].to_string()),
            "{result}"
        );
    }
    assert!(fingerprints.len() > 8);

    // Servers that were asked have no file.
    let (sarif, _) = Place::with(GOOD).json(&["lint", "good", "--sarif"]);
    let uri = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert!(uri.as_str().unwrap().starts_with("toolyard://good/"), "{uri}");
}

#[test]
fn c10_listings_of_every_shape_are_read() {
    let place = Place::new();
    let tool =
        |name: &str| json!({ "name": name, "description": "Does it.", "inputSchema": { "type": "object" } });
    let shapes = [
        (
            "list",
            json!([{ "server": "a", "tools": [tool("x")] }, { "server": "b", "tools": [tool("y")] }])
                .to_string(),
        ),
        ("map", json!({ "a": [tool("x")], "b": { "tools": [tool("y")] } }).to_string()),
        ("result", json!({ "tools": [tool("x"), tool("y")], "nextCursor": null }).to_string()),
        (
            "answer",
            json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [tool("x"), tool("y")] } }).to_string(),
        ),
        ("bare", json!([tool("x"), tool("y")]).to_string()),
        (
            "rows",
            format!(
                "{}\n{}\n",
                json!({ "server": "a", "name": "x", "description": "Does it.", "input_schema": { "type": "object" } }),
                json!({ "server": "b", "name": "y", "description": "Does it.", "input_schema": { "type": "object" } }),
            ),
        ),
    ];
    let ids = |report: &Value| -> String {
        let tools = report["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["id"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    let mut seen = Vec::new();
    for (name, text) in &shapes {
        let file = format!("{name}.json");
        place.write(&format!("desk/{file}"), text);
        let (report, exit) = place.json(&["lint", "--catalog", &file, "--json"]);
        assert_eq!((exit, report["problems"].as_array().map(Vec::len)), (0, Some(0)), "{name}");
        seen.push(format!("{name}: {}", ids(&report)));
    }
    insta::assert_snapshot!(seen.join("\n"), @"
    list: a__x b__y
    map: a__x b__y
    result: result__x result__y
    answer: answer__x answer__y
    bare: bare__x bare__y
    rows: a__x b__y
    ");
    let mut piped = place.command(&["lint", "--catalog", "-", "--json"]);
    let mut piped = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    piped.stdin.take().unwrap().write_all(shapes[2].1.as_bytes()).unwrap();
    let report: Value = serde_json::from_slice(&piped.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(ids(&report), "stdin__x stdin__y");
}

#[test]
fn c10_what_cannot_be_linted_is_said_with_what_was_expected() {
    let place = stored();
    place.write("desk/broken.json", "[{\"server\": \"a\", ");
    place.write("desk/other.json", "{\"servers\": 3}");
    place.write("desk/empty.json", "[]");
    insta::assert_snapshot!(place.run(&["lint", "--catalog", "broken.json"]), @r#"
    [stderr]
    error: `broken.json` cannot be read: EOF while parsing an object at line 1 column 17
      hint: it is a list of {"server", "tools"}, an object of servers with their tools, an answer to `tools/list`, or a line of JSON for each tool with its "server"
    [exit 2]
    "#);
    insta::assert_snapshot!(place.run(&["lint", "--catalog", "other.json"]), @r#"
    [stderr]
    error: `other.json` cannot be read: `servers` has no list of tools
      hint: it is a list of {"server", "tools"}, an object of servers with their tools, an answer to `tools/list`, or a line of JSON for each tool with its "server"
    [exit 2]
    "#);
    insta::assert_snapshot!(place.run(&["lint", "--catalog", "empty.json"]), @r#"
    [stderr]
    error: `empty.json` cannot be read: it holds no tool
      hint: it is a list of {"server", "tools"}, an object of servers with their tools, an answer to `tools/list`, or a line of JSON for each tool with its "server"
    [exit 2]
    "#);
    insta::assert_snapshot!(place.run(&["lint", "--catalog", "gone.json"]), @r#"
    [stderr]
    error: `gone.json` cannot be read: No such file or directory (os error 2)
    [exit 2]
    "#);
    insta::assert_snapshot!(place.run(&["lint", "--catalog", "tools.json", "nobody"]), @"
    [stderr]
    error: there is no server `nobody` in the listing
      hint: it has shop, web
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["lint", "nobody"]), @"
    [stderr]
    error: there is no server `nobody`
      hint: configured servers: notes, time
    [exit 2]
    ");
}

#[test]
fn c10_every_rule_is_explained() {
    let place = Place::new();
    let explained = place.run(&["lint", "--rules"]);
    assert!(
        explained.contains("no-use-cases") && explained.contains("Use when the user wants to"),
        "{explained}"
    );
    let (rules, _) = place.json(&["lint", "--rules", "--json"]);
    assert_eq!(rules["rules"].as_array().unwrap().len(), explained.lines().count() - 1);
}
