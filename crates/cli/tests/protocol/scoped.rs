//! What clients with names of their own may do, however they try it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::client::{Client, Error};
use testkit::{wait_for, wait_until};
use toolyard_hub::journal::Journal;

use crate::raw::{self, Line, ask, initialize, post};
use crate::shelf::{calls, route, server, tool};
use crate::yard::{SESSION, SOON, Served, Yard, good, named, refusal, text};

/// Registers a client and gives its token.
pub(crate) fn register(yard: &Yard, name: &str, scope: &[&str]) -> String {
    let output = yard.command(&[&["client", "add", name, "--json"], scope].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    said["token"].as_str().unwrap().to_owned()
}

/// Runs `toolyard client` with these words.
fn manage(yard: &Yard, words: &[&str]) -> std::process::Output {
    yard.command(&[&["client"], words].concat()).output().unwrap()
}

/// Opens a session with a token.
pub(crate) async fn session(served: &Served, profile: &str, token: &str) -> Client {
    let client = Client::http(&served.at(profile), &[("authorization", &format!("Bearer {token}"))]);
    client.initialize(SESSION, json!({})).await.unwrap();
    client
}

/// Speaks without a session, with a token.
pub(crate) fn modern(served: &Served, profile: &str, token: &str, capabilities: Value) -> Client {
    let client = Client::http(&served.at(profile), &[("authorization", &format!("Bearer {token}"))]);
    client.modern(capabilities);
    client
}

/// Two servers with tools that read, write and destroy, in every profile that there is, with another name for one tool
/// and a workflow over both.
async fn office() -> (Yard, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let desk = [
        tool("read_note", "Reads a note", &["path"]),
        tool("write_note", "Writes a note", &["path"]),
        tool("delete_note", "Deletes a note for good", &["path"]),
    ];
    let wiki = [tool("read_page", "Reads a page of the wiki", &["path"])];
    let servers = json!({"desk": server(&path, "desk", &desk), "wiki": server(&path, "wiki", &wiki)});
    let yard = Yard::of(servers.clone()).keep(folder).learnt().await;
    std::fs::create_dir_all(yard.path().join("workflows")).unwrap();
    let flow = json!({
        "name": "both", "description": "Reads a note and a page",
        "steps": [
            {"name": "note", "tool": "desk__read_note", "arguments": {"path": "a"}},
            {"name": "page", "tool": "wiki__read_page", "arguments": {"path": "b"}},
        ],
    });
    std::fs::write(yard.path().join("workflows/both.json"), flow.to_string()).unwrap();
    let surface = |name: &str| json!({"surface": name});
    yard.change(json!({
        "mcpServers": servers,
        "aliases": {"old_write": {"to": "desk__write_note"}},
        "serve": {"surface": "all", "profiles": {
            "search": surface("search"), "route": surface("route"), "toolset": surface("toolset"),
            "as-it-is": {"transparent": "desk"}, "wiki-only": {"surface": "all", "servers": ["wiki"]},
        }},
    }));
    (yard, path)
}

fn names(tools: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = tools.iter().map(|tool| named(tool).to_owned()).collect();
    names.sort();
    names
}

/// Gives everything that an answer says, be it a result or an error.
fn said(answer: Result<Value, Error>) -> String {
    match answer {
        Ok(result) => result.to_string(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn t27_a_scope_applies_to_every_way_to_list_and_to_call() {
    let (yard, folder) = office().await;
    let token = register(&yard, "ana", &["--server", "desk", "--effect", "read"]);
    let served = yard.http(&[]);
    for era in ["session", "modern"] {
        let open = async |profile: &str| match era {
            "session" => session(&served, profile, &token).await,
            _ => modern(&served, profile, &token, json!({})),
        };
        let all = open("").await;
        assert_eq!(names(&all.tools().await.unwrap()), ["desk__read_note"], "{era}");
        assert_eq!(names(&open("as-it-is").await.tools().await.unwrap()), ["read_note"], "{era}");
        let beyond = "this call of `desk__write_note` would write, and the scope of client `ana` permits to read at most";
        let write = json!({"path": "a"});
        let through = json!({"name": "desk__write_note", "arguments": write});
        for (profile, name, arguments) in [
            ("", "desk__write_note", write.clone()),
            ("", "old_write", write.clone()),
            ("search", "desk__write_note", write.clone()),
            ("search", "call_tool", through.clone()),
            ("route", "desk__write_note", write.clone()),
            ("as-it-is", "write_note", write.clone()),
        ] {
            let told = said(open(profile).await.call(name, arguments).await);
            assert!(told.contains(beyond), "{era} {profile} {name}: {told}");
        }
        for (profile, name, arguments) in [
            ("toolset", "call_tool", through.clone()),
            ("", "desk__delete_note", json!({"path": "a", "confirm": true})),
            ("as-it-is", "delete_note", json!({"path": "a"})),
            ("", "wiki__read_page", json!({"path": "a"})),
            ("search", "call_tool", json!({"name": "wiki__read_page", "arguments": {"path": "a"}})),
            ("", "workflows__both", json!({})),
        ] {
            let told = said(open(profile).await.call(name, arguments).await);
            assert!(!told.contains("from "), "{era} {profile} {name}: {told}");
        }
        let asked = route(&open("route").await, json!({"task": "read the page of the wiki at a"})).await;
        assert!(!asked.to_string().contains("wiki__"), "{asked}");
        let found = open("search")
            .await
            .call("find_tools", json!({"query": "write a page or a note"}))
            .await
            .unwrap();
        assert!(!text(&found).contains("wiki") && !text(&found).contains("write_note"), "{found}");
        let write = json!({"task": "desk__write_note", "context": {"arguments": {"path": "a"}}});
        route(&open("route").await, write).await;
        let called = std::fs::read_to_string(folder.join("desk/calls")).unwrap_or_default();
        assert!(!called.contains("write_note") && !called.contains("delete_note"), "{called}");
        assert_eq!(calls(&folder, "wiki"), 0);
        assert_eq!(text(&all.call("desk__read_note", json!({"path": "a"})).await.unwrap()), "from desk");
        let refused = Client::http(&served.at("wiki-only"), &[("authorization", &format!("Bearer {token}"))]);
        assert!(said(refused.initialize(SESSION, json!({})).await).contains("no such profile"));
    }
}

#[tokio::test]
async fn t27_the_steps_of_a_workflow_are_in_the_scope_of_who_runs_it() {
    let (yard, folder) = office().await;
    let whole = register(&yard, "all", &[]);
    let some = register(&yard, "some", &["--server", "desk", "--server", "workflows"]);
    let served = yard.http(&[]);
    let run = async |token: &str| {
        let client = session(&served, "", token).await;
        client.call("workflows__both", json!({})).await.unwrap()
    };
    let refused = run(&some).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let scope = "`wiki__read_page` is not in the scope of client `some`, which may use `desk`, `workflows`";
    assert!(refused.to_string().contains(scope), "{refused}");
    assert_eq!(calls(&folder, "wiki"), 0);
    let done = run(&whole).await;
    assert_eq!((&done["isError"], calls(&folder, "wiki")), (&json!(false), 1), "{done}");
}

#[tokio::test]
async fn t27_what_a_killed_hub_left_of_a_run_is_done_with_the_rights_of_who_began_it() {
    let (yard, folder) = office().await;
    let go = folder.join("go");
    // A first server that answers once somebody lets it.
    let script = std::fs::read_to_string(folder.join("desk/server.sh")).unwrap();
    let held = script.replace("*''*) say", &format!("*''*) [ -e '{}' ] && say", go.display()));
    assert_ne!(script, held);
    std::fs::write(folder.join("desk/server.sh"), held).unwrap();
    let flow = json!({
        "name": "both", "description": "Reads a note and then a page",
        "steps": [
            {"name": "note", "tool": "desk__read_note", "arguments": {"path": "a"}},
            {"name": "page", "tool": "wiki__read_page", "arguments": {"path": "b"}, "after": ["note"]},
        ],
    });
    std::fs::write(yard.path().join("workflows/both.json"), flow.to_string()).unwrap();
    let some = register(&yard, "some", &["--server", "desk", "--server", "workflows"]);
    let served = yard.http(&[]);
    let client = session(&served, "", &some).await;
    // Over HTTP nothing comes back before the answer, and this one never comes.
    let call = tokio::spawn(async move { client.call("workflows__both", json!({})).await });
    wait_until(SOON, || calls(&folder, "desk") == 1).await;
    drop(served);
    assert!(call.await.unwrap().is_err(), "the hub is gone");
    std::fs::write(go, "").unwrap();
    let again = yard.http(&[]);
    let journal = Journal::new(&yard.path().join("store"));
    wait_until(SOON, || journal.unfinished().is_ok_and(|left| left.is_empty())).await;
    let report = journal.list().unwrap()[0].run.report().words();
    assert_eq!((calls(&folder, "desk"), calls(&folder, "wiki")), (2, 0), "{report}\n{}", again.stderr());
    assert!(report.contains("is not in the scope of client `some`"), "{report}");
}

#[tokio::test]
async fn t27_resources_and_prompts_are_those_of_the_servers_in_scope() {
    let yard = Yard::of(json!({"good": good(&[]), "twin": good(&[])})).learnt().await;
    let (one, none) =
        (register(&yard, "one", &["--server", "good"]), register(&yard, "none", &["--server", "workflows"]));
    let served = yard.http(&[]);
    let count = async |token: &str, method: &str, key: &str| {
        let client = session(&served, "", token).await;
        client.request(method, json!({})).await.unwrap()[key].as_array().unwrap().len()
    };
    for (method, key) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert!(count(&one, method, key).await > 0, "{method}");
        assert_eq!(count(&none, method, key).await, 0, "{method}");
    }
    let (one, none) = (session(&served, "", &one).await, session(&served, "", &none).await);
    let resources = one.request("resources/list", json!({})).await.unwrap();
    let uri = json!({"uri": resources["resources"][0]["uri"]});
    assert!(one.request("resources/read", uri.clone()).await.is_ok());
    for method in ["resources/read", "resources/subscribe"] {
        assert!(none.request(method, uri.clone()).await.is_err(), "{method}");
    }
    let prompts = one.request("prompts/list", json!({})).await.unwrap();
    let name = prompts["prompts"][0]["name"].as_str().unwrap().to_owned();
    assert!(none.request("prompts/get", json!({"name": name})).await.is_err());
    let other = name.replace("good__", "twin__");
    assert!(one.request("prompts/get", json!({"name": other})).await.is_err(), "the twin is not in scope");
    let reference =
        json!({"ref": {"type": "ref/prompt", "name": other}, "argument": {"name": "a", "value": ""}});
    assert!(one.request("completion/complete", reference).await.is_err());
}

#[tokio::test]
async fn t27_only_named_profiles_open_where_a_client_has_some() {
    let (yard, _) = office().await;
    let token = register(&yard, "guest", &["--profile", "search"]);
    let served = yard.http(&[]);
    let status = async |profile: &str| {
        let bearer = format!("Bearer {token}");
        post(&served.at(profile), &[("authorization", &bearer)], &initialize(json!({}))).await.status
    };
    assert_eq!(status("search").await, 200);
    for profile in ["", "route", "as-it-is", "missing"] {
        assert_eq!(status(profile).await, 404, "{profile}");
    }
}

#[tokio::test]
async fn t27_calls_are_counted_for_each_client_alone() {
    let (yard, folder) = office().await;
    let (ana, ben) = (register(&yard, "ana", &["--rate", "2"]), register(&yard, "ben", &["--rate", "2"]));
    let served = yard.http(&[]);
    let read = async |token: &str, profile: &str, name: &str| {
        said(session(&served, profile, token).await.call(name, json!({"path": "a"})).await)
    };
    assert!(read(&ana, "", "desk__read_note").await.contains("from desk"));
    assert!(read(&ana, "as-it-is", "read_note").await.contains("from desk"));
    for (profile, name) in [("", "desk__read_note"), ("", "wiki__read_page"), ("as-it-is", "read_note")] {
        let told = read(&ana, profile, name).await;
        assert!(
            told.contains("client `ana` made 2 calls within a minute, which is its limit"),
            "{name}: {told}"
        );
    }
    assert!(read(&ben, "", "desk__read_note").await.contains("from desk"));
    assert_eq!(calls(&folder, "desk"), 3);
}

#[tokio::test]
async fn t27_a_client_beyond_its_own_rate_uses_up_nothing_of_what_all_share() {
    let folder = tempfile::tempdir().unwrap();
    let desk = [tool("read_note", "Reads a note", &["path"])];
    let yard = Yard::new(json!({
        "mcpServers": {"desk": server(folder.path(), "desk", &desk)},
        "policy": {"rateLimits": {"desk__read_note": 4}},
        "serve": {"surface": "all", "profiles": {"as-it-is": {"transparent": "desk"}}},
    }));
    let yard = yard.keep(folder).learnt().await;
    let (ana, ben) = (register(&yard, "ana", &["--rate", "1"]), register(&yard, "ben", &[]));
    let served = yard.http(&[]);
    let read = async |token: &str, profile: &str, name: &str| {
        said(session(&served, profile, token).await.call(name, json!({"path": "a"})).await)
    };
    assert!(read(&ana, "", "desk__read_note").await.contains("from desk"));
    for _ in 0..3 {
        for (profile, name) in [("", "desk__read_note"), ("as-it-is", "read_note")] {
            assert!(read(&ana, profile, name).await.contains("client `ana` made 1 calls"));
        }
    }
    for (profile, name) in [("", "desk__read_note"), ("as-it-is", "read_note")] {
        assert!(read(&ben, profile, name).await.contains("from desk"));
    }
}

#[tokio::test]
async fn t27_everything_of_a_revoked_client_ends_while_the_hub_runs() {
    let (yard, _) = office().await;
    let (ana, ben) = (register(&yard, "ana", &[]), register(&yard, "ben", &[]));
    let served = yard.http(&[]);
    let headers = |token: &str, id: &str| {
        [("authorization", format!("Bearer {token}")), ("mcp-session-id", id.to_owned())]
    };
    let open = async |token: &str| {
        let bearer = format!("Bearer {token}");
        let id = raw::open_session(&served.url, &[("authorization", &bearer)], json!({})).await;
        let given = headers(token, &id);
        let given: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let line =
            Line::open(&served.url, "GET", &[&given[..], &[("accept", "text/event-stream")]].concat(), "")
                .await;
        assert_eq!(line.head.status, 200);
        (id, line)
    };
    let ((ana_id, mut ana_stream), (ben_id, _ben_stream)) = (open(&ana).await, open(&ben).await);
    let listening = modern(&served, "", &ana, json!({}));
    let subscription = listening
        .start("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
        .await
        .unwrap();
    listening.notified("notifications/subscriptions/acknowledged").await;
    assert!(manage(&yard, &["revoke", "ana"]).status.success());
    assert_eq!(ana_stream.event().await, None, "the stream of its session ends");
    assert!(subscription.result().await.is_err(), "its subscription ends");
    let ping = async |token: &str, id: &str| {
        let given = headers(token, id);
        let given: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
        post(&served.url, &given, &ask("ping", json!({}))).await.status
    };
    assert_eq!(ping(&ana, &ana_id).await, 401);
    assert_eq!(ping(&ben, &ben_id).await, 200, "nobody else notices");
    assert_eq!(ping(&ben, &ana_id).await, 404, "and nobody takes its session over");
    let again = register(&yard, "ana", &[]);
    wait_for(SOON, || async { (ping(&again, &ana_id).await == 404).then_some(()) }).await;
}

#[tokio::test]
async fn t27_a_client_that_is_added_comes_in_and_closes_the_door_to_everybody_else() {
    let (yard, _) = office().await;
    let served = yard.http(&[]);
    let status = async |token: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let header: Vec<(&str, &str)> = bearer.iter().map(|it| ("authorization", it.as_str())).collect();
        post(&served.url, &header, &initialize(json!({}))).await.status
    };
    assert_eq!(status(None).await, 200, "on this machine no token is needed before one is made");
    let token = register(&yard, "ana", &[]);
    wait_for(SOON, || async { (status(None).await == 401).then_some(()) }).await;
    assert_eq!(status(Some(&token)).await, 200);
    let file = yard.path().join("store/clients.json");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    wait_for(SOON, || async { (status(Some(&token)).await == 503).then_some(()) }).await;
    assert_eq!(status(None).await, 401, "a damaged file lets nobody in");
    wait_until(SOON, || served.stderr().contains("is damaged")).await;
    let listed = manage(&yard, &["list"]);
    assert_eq!(listed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&listed.stderr).contains("is damaged"), "{listed:?}");
    std::fs::write(&file, whole).unwrap();
    wait_for(SOON, || async { (status(Some(&token)).await == 200).then_some(()) }).await;
}

#[tokio::test]
async fn t27_the_dashboard_and_the_metrics_are_for_who_administers_the_hub() {
    let (yard, _) = office().await;
    let (plain, admin) = (register(&yard, "plain", &[]), register(&yard, "root", &["--admin"]));
    let served = yard.http(&[]);
    let base = served.url.trim_end_matches("/mcp").to_owned();
    let status = async |path: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("x-toolyard", "1")];
        raw::send(&format!("{base}{path}"), "GET", &headers, "").await.status
    };
    for path in ["/metrics", "/dashboard/api/overview", "/dashboard/api/routes", "/dashboard/api/settings"] {
        assert_eq!(status(path, &plain).await, 403, "{path}");
        assert_eq!(status(path, &admin).await, 200, "{path}");
        assert_eq!(status(path, "wrong").await, 401, "{path}");
    }
    assert_eq!(status("/health", &plain).await, 200);
}

#[tokio::test]
async fn t27_an_address_that_others_can_reach_may_be_protected_by_clients_alone() {
    let (yard, _) = office().await;
    let refused = yard.command(&["serve", "--http", "0.0.0.0:0"]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("toolyard client add"), "{refused:?}");
    let token = register(&yard, "ana", &[]);
    let served = yard.http_at("0.0.0.0:0");
    let url = served.url.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(post(&url, &[], &initialize(json!({}))).await.status, 401);
    let bearer = format!("Bearer {token}");
    assert_eq!(post(&url, &[("authorization", &bearer)], &initialize(json!({}))).await.status, 200);
}

#[tokio::test]
async fn t27_the_audit_log_names_the_client() {
    let (yard, _) = office().await;
    let token = register(&yard, "ana", &["--effect", "read"]);
    let served = yard.http(&[]);
    let client = session(&served, "", &token).await;
    client.call("desk__read_note", json!({"path": "a"})).await.unwrap();
    refusal(client.call("desk__write_note", json!({"path": "a"})).await);
    let noted = || {
        let output = yard.command(&["audit", "--json"]).output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let calls = said["calls"].as_array().unwrap().clone();
        calls
            .iter()
            .map(|it| format!("{} {} {}", it["client"], it["tool"], it["outcome"]))
            .collect::<Vec<_>>()
    };
    wait_until(SOON, || noted().len() == 2).await;
    assert_eq!(noted(), [r#""ana" "desk__read_note" "answered""#, r#""ana" "desk__write_note" "denied""#,]);
}

#[tokio::test]
async fn t27_calls_from_the_dashboard_are_those_of_the_client_that_was_let_in() {
    let (yard, folder) = office().await;
    let admin = register(&yard, "root", &["--admin", "--rate", "2"]);
    let served = yard.http(&[]);
    let base = served.url.trim_end_matches("/mcp").to_owned();
    let bearer = format!("Bearer {admin}");
    let headers =
        [("authorization", bearer.as_str()), ("x-toolyard", "1"), ("content-type", "application/json")];
    let run = async || {
        let asked = json!({"tool": "desk__read_note", "arguments": {"path": "a"}}).to_string();
        raw::send(&format!("{base}/dashboard/api/run"), "POST", &headers, &asked).await.body
    };
    for _ in 0..2 {
        assert!(run().await.contains(r#""outcome":"answered""#));
    }
    let held = run().await;
    assert!(!held.contains(r#""outcome":"answered""#), "its rate counts here, too: {held}");
    assert_eq!(calls(&folder, "desk"), 2);
    wait_until(SOON, || {
        let output = yard.command(&["audit", "--json"]).output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let calls = said["calls"].as_array().unwrap();
        calls.len() >= 2 && calls.iter().all(|it| it["client"] == "root")
    })
    .await;
}

#[tokio::test]
async fn t27_a_client_is_registered_with_what_there_is() {
    let (yard, _) = office().await;
    let wrong = |words: &[&str]| {
        let output = manage(&yard, &[&["add"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(wrong(&["ana", "--server", "dsk"]).contains("there is no server `dsk`"));
    assert!(wrong(&["ana", "--profile", "x"]).contains("there is no profile `x`"));
    assert!(wrong(&["a b"]).contains("cannot be the name of a client"));
    assert!(wrong(&["ana", "--admin", "--effect", "read"]).contains("cannot be used with"));
    assert!(!Path::new(&yard.path().join("store/clients.json")).exists(), "a mistake registers nobody");
    register(&yard, "ana", &["--server", "desk", "--rate", "5", "--expires", "1d"]);
    assert!(wrong(&["ana"]).contains("revoke it first"));
    let listed: Value = serde_json::from_slice(&manage(&yard, &["list", "--json"]).stdout).unwrap();
    let ana = &listed["clients"][0];
    assert_eq!((&ana["name"], &ana["rate"]), (&json!("ana"), &json!(5)));
    assert_eq!(ana["scope"], json!({"servers": ["desk"], "effect": "destroy", "admin": false}));
    assert!(ana["expires"].is_string() && !listed.to_string().contains("sha256"), "{listed}");
    let gone = manage(&yard, &["revoke", "ana"]);
    assert!(String::from_utf8_lossy(&gone.stderr).contains("A token is still needed"), "{gone:?}");
    assert_eq!(manage(&yard, &["revoke", "ana"]).status.code(), Some(2));
}
