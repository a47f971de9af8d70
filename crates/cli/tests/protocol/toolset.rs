//! The few tools that a conversation needs: skills, domains and what one request binds, in both eras.

use std::path::Path;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::{Oracle, Saying, processes, wait_until};

use crate::fleet::{START, are_there, real};
use crate::raw;
use crate::shelf::{server, tool};
use crate::yard::{SESSION, SOON, Yard, named, text};

const SKILLS: [&str; 4] = ["paint", "build", "sell", "ship"];
const OWN: [&str; 4] = ["smart_route", "activate_skill", "find_tools", "call_tool"];

/// A workshop with a skill for each of its tools, and profiles for small models.
pub(crate) async fn workshop() -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let tools =
        SKILLS.map(|name| tool(&format!("{name}_it"), &format!("Does the {name}ing of a chair"), &[]));
    let mut all = tools.to_vec();
    all.push(tool(
        "list_chairs",
        "Lists every chair of the workshop. It says more than anybody reads.",
        &["room"],
    ));
    all.push(tool("check_stop", "Says whether the work is to stop", &[]));
    let yard = Yard::new(json!({
        "mcpServers": {"shop": server(folder.path(), "shop", &all)},
        "toolset": {"core": ["shop__check_stop"]},
        "tiers": {"shop__list_chairs": 0},
        "serve": {"profiles": {
            "set": {"surface": "toolset"},
            "small": {"surface": "toolset", "toolset": {"core": [], "budget": {"tokens": 900}, "parameters": "required"}},
            "tiny": {"surface": "toolset", "toolset": {"budget": {"tools": 5}}},
        }},
    }));
    write_skills(yard.path());
    yard.keep(folder).learnt().await
}

fn write_skills(folder: &Path) {
    for name in SKILLS {
        let file = match name {
            "paint" => folder.join("skills/paint/SKILL.md"),
            _ => folder.join(format!("skills/{name}.md")),
        };
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = format!(
            "---\nname: {name}\ndescription: {name}ing chairs\ntools: [shop__{name}_it]\n---\nFirst {name}, then rest.\n"
        );
        std::fs::write(file, text).unwrap();
    }
}

pub(crate) async fn session(client: &Client, name: &str) -> Value {
    let info = json!({"name": name, "version": "1"});
    let params = json!({"protocolVersion": SESSION, "capabilities": {}, "clientInfo": info});
    let hello = client.request("initialize", params).await.unwrap();
    client.notify("notifications/initialized", json!({})).await.unwrap();
    hello
}

pub(crate) async fn listed(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().iter().map(|tool| named(tool).to_owned()).collect()
}

fn changes(client: &Client) -> usize {
    let is_change = |it: &&Value| it["method"] == "notifications/tools/list_changed";
    client.notifications().iter().filter(is_change).count()
}

/// A client that lists again when it is told to.
async fn heedful(client: &Client) {
    let hello = session(client, "Visual Studio Code").await;
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(instructions.contains("| painting chairs | `activate_skill(\"paint\")` |"), "{instructions}");
    let first = listed(client).await;
    assert_eq!(first, [&OWN[..], &["shop__check_stop", "shop__list_chairs"]].concat());
    let unlisted = client.call("shop__paint_it", json!({})).await.unwrap();
    assert_eq!(unlisted["isError"], true, "{unlisted}");
    for (at, skill) in SKILLS.iter().enumerate() {
        let before = changes(client);
        let answer = client.call("activate_skill", json!({"name": skill})).await.unwrap();
        assert!(
            text(&answer).starts_with(&format!("## {skill} - Full Instructions\n\nFirst {skill}")),
            "{answer}"
        );
        assert!(text(&answer).contains("They are listed now"), "{answer}");
        wait_until(SOON, || changes(client) == before + 1).await;
        let now = listed(client).await;
        assert!(now.contains(&format!("shop__{skill}_it")), "{now:?}");
        assert_eq!(now.len(), first.len() + (at + 1).min(3));
        assert_eq!(client.text(&format!("shop__{skill}_it"), json!({})).await, "from shop");
    }
    assert!(!listed(client).await.contains(&"shop__paint_it".to_owned()));
    evicted(&client.call("shop__paint_it", json!({})).await.unwrap());
    // Activating an active one changes nothing.
    let before = changes(client);
    let again = client.call("activate_skill", json!({"name": "ship"})).await.unwrap();
    assert_eq!(again["structuredContent"]["active"], json!(["build", "sell", "ship"]));
    assert_eq!(client.text("shop__build_it", json!({})).await, "from shop");
    assert_eq!(changes(client), before);
}

fn evicted(answer: &Value) {
    assert_eq!(answer["isError"], true, "{answer}");
    assert!(text(answer).contains("`shop__paint_it` is not active"), "{answer}");
    assert!(text(answer).contains("activate_skill {\"name\": \"paint\"}"), "{answer}");
}

#[tokio::test]
async fn s2_a_session_client_uses_each_skill_and_sees_the_first_evicted() {
    let yard = workshop().await;
    heedful(&yard.stdio(&["--surface", "toolset"])).await;
    let served = yard.http(&[]);
    heedful(&Client::http(&served.at("set"), &[])).await;
}

/// A client that lists once and never again.
async fn heedless(client: &Client, name: &str) {
    session(client, name).await;
    let first = listed(client).await;
    for skill in SKILLS {
        let answer = client.call("activate_skill", json!({"name": skill})).await.unwrap();
        assert!(text(&answer).contains("Call them at once with call_tool"), "{answer}");
        let name = format!("shop__{skill}_it");
        assert!(!first.contains(&name));
        assert_eq!(client.text("call_tool", json!({"name": name, "arguments": {}})).await, "from shop");
    }
    evicted(&client.call("call_tool", json!({"name": "shop__paint_it"})).await.unwrap());
}

#[tokio::test]
async fn s3_a_client_that_ignores_changes_is_told_and_calls_through_the_hub() {
    let yard = workshop().await;
    for name in ["claude-ai", "claude-code", "LM-Studio", "somebody else"] {
        heedless(&yard.stdio(&["--surface", "toolset"]), name).await;
    }
    let served = yard.http(&[]);
    heedless(&Client::http(&served.at("set"), &[]), "claude-ai").await;
}

/// Gives a list exactly as it is sent.
async fn bytes(url: &str) -> String {
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let reply = raw::post(url, &headers, &raw::modern("tools/list", json!({}))).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.body
}

/// A client that carries its session in arguments; its list is compared after every call.
async fn carrying(client: &Client, list: impl AsyncFn() -> String) {
    let first = list().await;
    assert_eq!(listed(client).await, [&OWN[..], &["shop__check_stop", "shop__list_chairs"]].concat());
    let call = async |name: &str, arguments: Value| {
        let answer = client.call(name, arguments).await.unwrap();
        assert_eq!(list().await, first, "after {name}: {answer}");
        answer
    };
    let mut handle = Value::Null;
    for skill in SKILLS {
        let answer = call("activate_skill", json!({"name": skill, "session": handle})).await;
        let said = &answer["structuredContent"]["session"];
        assert!(handle.is_null() || handle == *said, "{answer}");
        handle = said.clone();
        assert!(text(&answer).contains(&format!("\"session\": {handle}")), "{answer}");
        let arguments = json!({"name": format!("shop__{skill}_it"), "arguments": {}, "session": handle});
        assert_eq!(text(&call("call_tool", arguments).await), "from shop");
    }
    evicted(&call("call_tool", json!({"name": "shop__paint_it", "session": handle})).await);
    evicted(&call("shop__paint_it", json!({})).await);
    // Without the handle nothing is active, and one that somebody made up is worth nothing.
    for session in [Value::Null, json!("made-up")] {
        let answer = call("call_tool", json!({"name": "shop__ship_it", "session": session})).await;
        assert!(text(&answer).contains("Its answer has a `session`"), "{answer}");
    }
    // Words and searches change the conversation, and not the list.
    let context = json!({"session": handle});
    call("smart_route", json!({"task": "list every chair", "context": context})).await;
    let found = call("find_tools", json!({"query": "painting of a chair", "session": handle})).await;
    assert!(text(&found).contains("shop__paint_it"), "{found}");
    let painted = call("call_tool", json!({"name": "shop__paint_it", "session": handle})).await;
    assert_eq!(text(&painted), "from shop");
    assert_eq!(text(&call("shop__check_stop", json!({})).await), "from shop");
    assert_eq!(changes(client), 0);
}

#[tokio::test]
async fn s2_a_modern_client_carries_its_session_and_its_list_never_changes() {
    let yard = workshop().await;
    let served = yard.http(&[]);
    let url = served.at("set");
    // Each list comes over a connection of its own.
    carrying(&served.modern("set", json!({})), async || bytes(&url).await).await;
    let piped = yard.stdio(&["--surface", "toolset"]);
    piped.modern(json!({}));
    let list = async || piped.request("tools/list", json!({})).await.unwrap().to_string();
    carrying(&piped, list).await;
}

#[tokio::test]
async fn s5_skills_stay_in_their_session_and_leak_into_no_other() {
    let yard = workshop().await;
    let served = yard.http(&[]);
    let (one, other) = (served.session("set", json!({})).await, served.session("set", json!({})).await);
    one.call("activate_skill", json!({"name": "sell"})).await.unwrap();
    assert!(listed(&one).await.contains(&"shop__sell_it".to_owned()));
    assert!(!listed(&other).await.contains(&"shop__sell_it".to_owned()));
    let refused = other.call("shop__sell_it", json!({})).await.unwrap();
    assert_eq!(refused["isError"], true, "{refused}");
    // It is still there turns later.
    one.call("smart_route", json!({"task": "list every chair"})).await.unwrap();
    assert_eq!(one.text("shop__sell_it", json!({})).await, "from shop");
    let unknown = other.call("activate_skill", json!({"name": "cook"})).await.unwrap();
    assert_eq!(text(&unknown), "there is no skill `cook`; skills: build, paint, sell, ship");
    // Elsewhere every tool stays reachable.
    let all = served.session("", json!({})).await;
    assert_eq!(all.text("shop__ship_it", json!({})).await, "from shop");
}

#[tokio::test]
async fn i7_a_profile_for_small_models_has_a_short_list() {
    let yard = workshop().await;
    let served = yard.http(&[]);
    let small = served.modern("small", json!({})).tools().await.unwrap();
    assert!(json!(small).to_string().len() <= 4 * 900, "{}", json!(small).to_string().len());
    let chairs = small.iter().find(|it| named(it) == "shop__list_chairs").unwrap();
    assert_eq!(chairs["description"], "Lists every chair of the workshop.");
    let tiny = served.modern("tiny", json!({})).tools().await.unwrap();
    assert_eq!(tiny.len(), 5);
}

/// A life of five domains with four tools each.
async fn life() -> Yard {
    living(json!({})).await
}

/// The same with further settings.
async fn living(mut settings: Value) -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let mut tools = Vec::new();
    for (plural, one) in [
        ("tasks", "task"),
        ("goals", "goal"),
        ("reminders", "reminder"),
        ("reading", "reading"),
        ("ideas", "idea"),
    ] {
        for (verb, of, says) in [
            ("query", plural, "Lists and searches"),
            ("get", one, "Shows one of"),
            ("create", plural, "Creates new"),
            ("update", one, "Changes, marks as done or deletes one of"),
        ] {
            let mut tool = tool(&format!("{verb}_{of}"), &format!("{says} the {plural} of a person"), &[]);
            tool["_meta"] = json!({"tags": [format!("domain:{plural}"), verb]});
            tools.push(tool);
        }
    }
    settings["mcpServers"] = json!({"life": server(folder.path(), "life", &tools)});
    Yard::new(settings).keep(folder).learnt().await
}

/// Plays a conversation; gives the domains and the number of tools of each turn.
fn played(yard: &Yard, messages: &[&str]) -> Vec<(String, usize)> {
    let output = yard.command(&[&["toolset", "--json"], messages].concat()).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let turn = |turn: &Value| {
        let domains: Vec<&str> =
            turn["domains"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        (domains.join("+"), turn["tools"].as_array().unwrap().len())
    };
    told["turns"].as_array().unwrap().iter().map(turn).collect()
}

#[tokio::test]
async fn d7_the_scenarios_of_the_seed_hold_with_the_router_choosing() {
    let yard = life().await;
    let is = |messages: &[&str], expected: &[(&str, usize)]| {
        let expected: Vec<(String, usize)> =
            expected.iter().map(|(domains, count)| ((*domains).to_owned(), *count)).collect();
        assert_eq!(played(&yard, messages), expected, "{messages:?}");
    };
    is(&["Create a task called buy groceries", "Mark it as done"], &[("tasks", 4), ("tasks", 4)]);
    is(
        &["Create a task for my fitness goal", "Add a reminder for tomorrow"],
        &[("tasks+goals", 8), ("goals+reminders", 8)],
    );
    is(
        &["What are my reading list items?", "Now show me my tasks", "Create a reminder and add a new idea"],
        &[("reading", 4), ("reading+tasks", 8), ("reminders+ideas", 8)],
    );
    is(
        &["Create a task", "What are my goals and reminders?", "Actually, update that task from earlier"],
        &[("tasks", 4), ("goals+reminders", 8), ("reminders+tasks", 8)],
    );
    is(
        &[
            "Create a task",
            "Add a reminder for tomorrow",
            "What are my goals?",
            "Add an item to my reading list and create an idea",
        ],
        &[("tasks", 4), ("tasks+reminders", 8), ("reminders+goals", 8), ("reading+ideas", 8)],
    );
    // What is created can be deleted: the tool for it is there.
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "cursor").await;
    client.call("find_tools", json!({"query": "Create a task"})).await.unwrap();
    client.notified("notifications/tools/list_changed").await;
    client.call("find_tools", json!({"query": "delete it"})).await.unwrap();
    assert_eq!(client.text("life__update_task", json!({})).await, "from life");
}

#[tokio::test]
async fn t7_a_real_browser_server_is_bound_for_one_query_and_gone_afterwards() {
    if !are_there() {
        return;
    }
    let marker = processes::Marker::new();
    let mut browser = real("playwright", &["--headless", "--isolated"]);
    browser["env"] = json!({(processes::Marker::NAME): marker.value()});
    browser["idleStop"] = json!("3s");
    let yard = Yard::new(json!({
        "mcpServers": {"browser": browser, "time": {"builtin": "time"}},
        "tiers": {"browser": 2},
    }));
    let yard = yard.learnt_within(START).await;
    wait_until(START, || marker.alive().is_empty()).await;
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "cursor").await;
    let is_browser = |name: &String| name.starts_with("browser__");
    let first = listed(&client).await;
    assert!(!first.iter().any(is_browser), "{first:?}");
    client.call("find_tools", json!({"query": "what time is it in Tokyo"})).await.unwrap();
    assert_eq!(marker.alive(), [0; 0], "nothing needed it");
    let refused = client.call("browser__browser_tabs", json!({"action": "list"})).await.unwrap();
    assert!(text(&refused).contains("is not active"), "{refused}");

    let before = changes(&client);
    client
        .call("find_tools", json!({"query": "open a web page in the browser and click a link"}))
        .await
        .unwrap();
    wait_until(SOON, || changes(&client) > before).await;
    let bound = listed(&client).await;
    assert!(bound.iter().any(is_browser), "{bound:?}");
    assert_eq!(marker.alive(), [0; 0], "to be listed it need not run");
    let shown = bound.iter().find(|name| is_browser(name)).unwrap();
    // Without a browser on this machine the call fails; the server answers all the same.
    client.call(shown, json!({})).await.unwrap();
    assert!(!marker.alive().is_empty());

    client.call("find_tools", json!({"query": "what time is it in Tokyo"})).await.unwrap();
    let after = listed(&client).await;
    assert!(!after.iter().any(is_browser), "{after:?}");
    let refused = client.call("call_tool", json!({"name": shown})).await.unwrap();
    assert!(text(&refused).contains("is not active"), "{refused}");
    wait_until(START, || marker.alive().is_empty()).await;

    // By its name the group is there, too.
    client.call("find_tools", json!({"server": "browser"})).await.unwrap();
    assert!(listed(&client).await.iter().any(is_browser));
}

#[tokio::test]
async fn t7_words_bind_a_fallback_and_answers_to_questions_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let browser = [
        tool("browser_navigate", "Navigates the browser to a web page", &["url"]),
        tool("browser_click", "Clicks on an element of the web page", &["element"]),
        tool("browser_snapshot", "Shows what is on the web page", &[]),
    ];
    let notes = [tool("list_notes", "Lists every note of the vault", &[])];
    let yard = Yard::new(json!({
        "mcpServers": {
            "browser": server(folder.path(), "browser", &browser),
            "notes": server(folder.path(), "notes", &notes),
        },
        "tiers": {"browser": 2},
    }));
    let yard = yard.keep(folder).learnt().await;
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "cursor").await;
    let browsing = async || listed(&client).await.iter().filter(|it| it.starts_with("browser__")).count();
    assert_eq!(browsing().await, 0);
    let task = json!({"task": "search the web for a recipe of rye bread"});
    let asked = client.call("smart_route", task).await.unwrap();
    assert_eq!(browsing().await, 3, "{asked}");
    assert_eq!(client.text("browser__browser_snapshot", json!({})).await, "from browser");
    // An answer is about what was asked.
    if let Some(handle) = asked["structuredContent"]["session"].as_str() {
        let answer = json!({"task": "2", "context": {"session": handle}});
        client.call("smart_route", answer).await.unwrap();
        assert_eq!(browsing().await, 3);
    }
    client.call("smart_route", json!({"task": "list my notes"})).await.unwrap();
    assert_eq!(browsing().await, 0);
    let refused = client.call("browser__browser_snapshot", json!({})).await.unwrap();
    assert_eq!(refused["isError"], true, "{refused}");
}

#[tokio::test]
async fn s7_words_activate_a_skill_where_the_settings_say_so() {
    let yard = living(json!({
        "toolset": {"autoActivate": true},
        "skills": {"weekly-review": {"when": "reviewing the goals of the week", "instructions": "Begin with goals.",
            "tools": ["life__get_goal", "life__query_tasks"]}},
    }))
    .await;
    let client = yard.stdio(&["--surface", "toolset"]);
    session(&client, "cursor").await;
    client.call("find_tools", json!({"query": "show an idea"})).await.unwrap();
    assert!(!listed(&client).await.contains(&"life__query_tasks".to_owned()));
    client.call("find_tools", json!({"query": "do the review of my week"})).await.unwrap();
    assert!(listed(&client).await.contains(&"life__query_tasks".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_small_model_chooses_domains_and_words_do_where_it_fails() {
    let right = Oracle::start([Saying::Json(json!({"domains": ["ideas", "goals"]}))]);
    let lax = Oracle::start([Saying::Text("Sure: [\"ideas\", \"goals\"].".to_owned())]);
    let wrong = Oracle::start([Saying::Text("I think you mean cooking.".to_owned())]);
    let silent = Oracle::start([Saying::Silence]);
    let patient = 30_000;
    for (url, expected, patience) in [
        (right.openai(), "ideas+goals", patient),
        (lax.ollama(), "ideas+goals", patient),
        (wrong.openai(), "reminders", patient),
        (silent.openai(), "reminders", 50),
    ] {
        let yard = living(json!({"toolset": {"model": url, "timeoutMs": patience}})).await;
        let turns = tokio::task::spawn_blocking(move || played(&yard, &["add a reminder for tomorrow"]));
        assert_eq!(turns.await.unwrap()[0].0, expected, "{url}");
    }
    let plea = right.pleas().remove(0);
    let names = &plea.schema()["properties"]["domains"]["items"]["enum"];
    assert!(names.as_array().unwrap().contains(&json!("ideas")), "{names}");
}
