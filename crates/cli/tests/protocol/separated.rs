//! What belongs to one principal, tried by every other: it is refused, or not to be seen.

use serde_json::{Value, json};
use testkit::client::Client;

use crate::eras::{only_question, retry};
use crate::raw::{self, Line, ask, post};
use crate::scoped::{modern, register, session};
use crate::scripted::{GREETING, program};
use crate::shelf::{calls, route, server, tool, whole};
use crate::yard::{SESSION, Served, Yard, good, refusal, text};

/// Somebody who may come in: a name for messages, and a token.
struct Principal {
    name: &'static str,
    token: String,
}

/// Two clients with names and the owner, who may all do everything; and a hub with servers of both eras.
struct House {
    yard: Yard,
    served: Served,
    principals: [Principal; 3],
    folder: std::path::PathBuf,
}

impl House {
    async fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let desk = [
            tool("list_notes", "Lists every note of the vault", &[]),
            tool("delete_note", "Deletes a note for good", &["path"]),
        ];
        let servers =
            json!({"good": good(&[]), "new": good(&["--modern"]), "desk": server(&path, "desk", &desk)});
        let yard = Yard::of(servers.clone()).keep(folder).learnt().await;
        let surface = |name: &str| json!({"surface": name});
        yard.change(json!({
            "mcpServers": servers,
            "skills": {"tidy": {"when": "tidying notes", "tools": ["desk__list_notes"], "instructions": "Tidy."}},
            "serve": {"surface": "all", "token": "owners-own", "resultBytes": 2048, "profiles": {
                "search": surface("search"), "route": surface("route"), "set": surface("toolset"),
                "one": {"surface": "all", "servers": ["good"]},
            }},
        }));
        let principals = [
            Principal { name: "ana", token: register(&yard, "ana", &[]) },
            Principal { name: "ben", token: register(&yard, "ben", &[]) },
            Principal { name: "the owner", token: "owners-own".to_owned() },
        ];
        let served = yard.http(&[]);
        Self { yard, served, principals, folder: path }
    }

    /// Gives everybody with everybody else.
    fn pairs(&self) -> impl Iterator<Item = (&Principal, &Principal)> {
        let all = &self.principals;
        all.iter().flat_map(move |one| {
            all.iter().filter(|other| other.name != one.name).map(move |other| (one, other))
        })
    }

    fn modern(&self, profile: &str, of: &Principal) -> Client {
        modern(&self.served, profile, &of.token, json!({"elicitation": {}}))
    }
}

fn headers<'h>(bearer: &'h str, id: &'h str) -> [(&'h str, &'h str); 2] {
    [("authorization", bearer), ("mcp-session-id", id)]
}

#[tokio::test]
async fn t27_a_session_serves_nobody_but_who_opened_it() {
    let house = House::build().await;
    let url = &house.served.url;
    for (one, other) in house.pairs() {
        let (own, foreign) = (format!("Bearer {}", one.token), format!("Bearer {}", other.token));
        let id = raw::open_session(url, &[("authorization", &own)], json!({})).await;
        let ping = ask("ping", json!({}));
        assert_eq!(post(url, &headers(&own, &id), &ping).await.status, 200);
        let with = headers(&foreign, &id);
        let stream = [&with[..], &[("accept", "text/event-stream")]].concat();
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let statuses = [
            post(url, &with, &ping).await.status,
            post(url, &with, &told).await.status,
            raw::send(url, "GET", &stream, "").await.status,
            raw::send(url, "DELETE", &with, "").await.status,
        ];
        assert_eq!(statuses, [404; 4], "{} with the session of {}", other.name, one.name);
        assert_eq!(post(url, &headers(&own, &id), &ping).await.status, 200, "it is still there");
    }
}

#[tokio::test]
async fn t27_a_broken_stream_is_taken_up_by_nobody_else() {
    let house = House::build().await;
    let url = &house.served.url;
    for (one, other) in house.pairs() {
        let (own, foreign) = (format!("Bearer {}", one.token), format!("Bearer {}", other.token));
        let id = raw::open_session(url, &[("authorization", &own)], json!({})).await;
        let params = json!({"name": "good__progress", "arguments": {"steps": 3, "ms": 1}, "_meta": {"progressToken": 1}});
        let given = [&raw::JSON[..], &headers(&own, &id)].concat();
        let mut line = Line::open(url, "POST", &given, &ask("tools/call", params).to_string()).await;
        let (event, _) = line.event().await.unwrap();
        let event = event.unwrap();
        drop(line);
        let foreign_id = raw::open_session(url, &[("authorization", &foreign)], json!({})).await;
        let resume = async |bearer: &str, id: &str| {
            let further = [("accept", "text/event-stream"), ("last-event-id", event.as_str())];
            let all = [&headers(bearer, id)[..], &further].concat();
            Line::open(url, "GET", &all, "").await.head.status
        };
        assert_eq!(resume(&foreign, &id).await, 404, "{} {}", other.name, one.name);
        assert_eq!(resume(&foreign, &foreign_id).await, 400, "{} {}", other.name, one.name);
        assert_eq!(resume(&own, &id).await, 200);
    }
}

#[tokio::test]
async fn t27_questions_and_sealed_state_are_answered_by_nobody_else() {
    let house = House::build().await;
    for (one, other) in house.pairs() {
        for tool in ["good__ask", "new__ask"] {
            let (own, foreign) = (house.modern("", one), house.modern("", other));
            let asked = own.call(tool, json!({})).await.unwrap();
            let (key, _) = only_question(&asked);
            let answers = json!({key: {"action": "accept", "content": {"name": "Ada"}}});
            let (code, message, _) = refusal(retry(&foreign, tool, &asked, answers.clone()).await);
            assert_eq!((code, message.as_str()), (-32602, "`requestState` belongs to another request"));
            let done = retry(&own, tool, &asked, answers).await.unwrap();
            assert_eq!(done["resultType"], "complete", "{} {}: {done}", one.name, other.name);
        }
    }
}

#[tokio::test]
async fn t27_a_confirmation_is_given_by_nobody_else() {
    let house = House::build().await;
    for (one, other) in house.pairs() {
        let delete = json!({"task": "desk__delete_note", "context": {"arguments": {"path": "a.md"}}});
        let bare = |of: &Principal| modern(&house.served, "route", &of.token, json!({}));
        let asked = route(&bare(one), delete).await;
        let handle = asked["confirm"].as_str().unwrap_or_else(|| panic!("{asked}"));
        assert_eq!(handle.len(), 12, "a model has to repeat it");
        let before = calls(&house.folder, "desk");
        for context in [
            json!({"confirm": handle}),
            json!({"confirm": handle, "arguments": {"path": "a.md"}}),
            json!({"session": handle}),
        ] {
            route(&bare(other), json!({"task": "yes", "context": context})).await;
        }
        assert_eq!(calls(&house.folder, "desk"), before, "{} for {}", other.name, one.name);
        route(&bare(one), json!({"task": "desk__delete_note", "context": {"confirm": handle}})).await;
        assert_eq!(calls(&house.folder, "desk"), before + 1, "{}", one.name);
    }
}

#[tokio::test]
async fn t27_the_rest_of_a_long_result_is_read_by_nobody_else() {
    let house = House::build().await;
    for (one, other) in house.pairs() {
        let (own, foreign) = (house.modern("search", one), house.modern("search", other));
        let big = json!({"name": "good__big", "arguments": {"bytes": 6000}});
        let cut = own.call("call_tool", big).await.unwrap();
        let said = cut["content"][1]["text"].as_str().unwrap_or_else(|| panic!("{cut}"));
        let handle = said.rsplit('"').nth(1).unwrap();
        let more = json!({"name": "good__big", "more": handle});
        let refused = foreign.call("call_tool", more.clone()).await.unwrap();
        assert_eq!(refused["isError"], true, "{} {}: {refused}", other.name, one.name);
        assert!(text(&own.call("call_tool", more).await.unwrap()).starts_with("xxx"));
    }
}

#[tokio::test]
async fn t27_the_tools_of_a_conversation_are_active_for_nobody_else() {
    let house = House::build().await;
    for (one, other) in house.pairs() {
        let (own, foreign) = (house.modern("set", one), house.modern("set", other));
        let active = own.call("activate_skill", json!({"name": "tidy"})).await.unwrap();
        let handle = active["structuredContent"]["session"].as_str().unwrap_or_else(|| panic!("{active}"));
        let call = json!({"name": "desk__list_notes", "arguments": {}, "session": handle});
        let refused = foreign.call("call_tool", call.clone()).await.unwrap();
        assert_eq!(refused["isError"], true, "{} {}: {refused}", other.name, one.name);
        assert_eq!(text(&own.call("call_tool", call).await.unwrap()), "from desk");
    }
}

#[tokio::test]
async fn t27_what_one_watches_is_told_to_nobody_else() {
    let house = House::build().await;
    for (one, other) in house.pairs() {
        let (own, foreign) = (
            session(&house.served, "one", &one.token).await,
            session(&house.served, "one", &other.token).await,
        );
        for client in [&own, &foreign] {
            client.open_stream().await.unwrap();
        }
        own.request("resources/subscribe", json!({"uri": "fault://note"})).await.unwrap();
        own.call("good__touch_resource", json!({})).await.unwrap();
        own.notified("notifications/resources/updated").await;
        foreign.request("ping", json!({})).await.unwrap();
        let is_update = |it: &Value| it["method"] == "notifications/resources/updated";
        assert!(!foreign.notifications().iter().any(is_update), "{} {}", one.name, other.name);
    }
}

#[tokio::test]
async fn t27_nobody_speaks_about_what_another_asked_and_lessons_have_names() {
    let house = House::build().await;
    let open = async |of: &Principal| {
        let bearer = format!("Bearer {}", of.token);
        let client = Client::http(&house.served.at("route"), &[("authorization", &bearer)]);
        client.initialize(SESSION, json!({})).await.unwrap();
        client
    };
    let told = async |client: &Client, route: &str| {
        let said = json!({"feedback": {"route": route, "verdict": "wrong"}});
        client.call("smart_route", json!({"task": "", "context": said})).await.unwrap().to_string()
    };
    for (one, other) in house.pairs() {
        let own = open(one).await;
        let asked = whole(&own, json!({"task": "list every note of the vault"})).await;
        let id = asked["_meta"]["toolyard/route"].as_str().unwrap_or_else(|| panic!("{asked}"));
        let answer = told(&open(other).await, id).await;
        // The person whose hub it is may correct whatever was decided there.
        let is_owner = other.name == "the owner";
        assert_eq!(
            answer.contains("there is no decision"),
            !is_owner,
            "{} {}: {answer}",
            other.name,
            one.name
        );
        assert!(told(&own, id).await.contains("taken down"), "{}", one.name);
    }
    let output = house.yard.command(&["learnt", "--json"]).output().unwrap();
    let learnt: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut who: Vec<&str> =
        learnt["lessons"].as_array().unwrap().iter().filter_map(|it| it["who"].as_str()).collect();
    who.sort_unstable();
    who.dedup();
    assert_eq!(who, ["ana", "ben", "local"]);
}

#[tokio::test]
async fn t27_what_was_decided_called_and_run_is_shown_to_the_owner_alone() {
    let house = House::build().await;
    let base = house.served.url.trim_end_matches("/mcp").to_owned();
    for principal in &house.principals {
        session(&house.served, "", &principal.token).await.call("desk__list_notes", json!({})).await.unwrap();
    }
    for principal in &house.principals {
        let bearer = format!("Bearer {}", principal.token);
        let is_owner = principal.name == "the owner";
        for path in
            ["overview", "routes", "live", "lessons", "sessions", "workflows", "settings", "servers", "tools"]
        {
            let address = format!("{base}/dashboard/api/{path}");
            let given = [("authorization", bearer.as_str()), ("x-toolyard", "1")];
            let status = Line::open(&address, "GET", &given, "").await.head.status;
            assert_eq!(status == 403, !is_owner, "{} {path}: {status}", principal.name);
        }
    }
}

/// Gives a server whose calls begin tasks, which it lists to everybody.
fn tasked(folder: &std::path::Path) -> Value {
    let script = format!(
        r#"number=0; all=
while IFS= read -r line; do
id=${{line#*'"id":'}}
id=${{id%%,*}}
say() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" "$1"; }}
case "$line" in
*'"method":"initialize"'*) say '{GREETING}' ;;
*'"method":"tools/list"'*) say '"result":{{"tools":[{{"name":"dig","description":"Digs","inputSchema":{{"type":"object"}}}}]}}' ;;
*'"method":"tools/call"'*) number=$((number + 1)); task="{{\"taskId\":\"task-$number\",\"status\":\"working\"}}"
all="$all${{all:+,}}$task"; say "\"result\":{{\"task\":$task}}" ;;
*'"method":"tasks/list"'*) say "\"result\":{{\"tasks\":[$all]}}" ;;
*'"method":"tasks/'*) say '"result":{{"content":[{{"type":"text","text":"gold"}}]}}' ;;
*'"id":'*) say '"error":{{"code":-32601,"message":"no"}}' ;;
esac
done"#
    );
    program(folder, &script)
}

#[tokio::test]
async fn t27_tasks_of_a_server_that_is_passed_through_belong_to_who_began_them() {
    let folder = tempfile::tempdir().unwrap();
    let yard = Yard::new(json!({
        "mcpServers": {"mine": tasked(folder.path())},
        "serve": {"profiles": {"through": {"transparent": "mine"}}},
    }));
    let yard = yard.keep(folder).learnt().await;
    let (ana, ben) = (register(&yard, "ana", &[]), register(&yard, "ben", &[]));
    let served = yard.http(&[]);
    let (hers, his) = (session(&served, "through", &ana).await, session(&served, "through", &ben).await);
    let begin = async |client: &Client| {
        let params = json!({"name": "dig", "arguments": {}, "task": {"ttl": 60_000}});
        let begun = client.request("tools/call", params).await.unwrap();
        begun["task"]["taskId"].as_str().unwrap().to_owned()
    };
    let (one, other) = (begin(&hers).await, begin(&his).await);
    assert_ne!(one, other);
    for (client, own, foreign) in [(&hers, &one, &other), (&his, &other, &one)] {
        let listed = client.request("tasks/list", json!({})).await.unwrap();
        let ids: Vec<&str> =
            listed["tasks"].as_array().unwrap().iter().map(|it| it["taskId"].as_str().unwrap()).collect();
        assert_eq!(ids, [own]);
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"] {
            let (_, message, _) = refusal(client.request(method, json!({"taskId": foreign})).await);
            assert_eq!(message, format!("this client has no task `{foreign}`"), "{method}");
        }
        assert!(client.request("tasks/result", json!({"taskId": own})).await.is_ok());
    }
    let again = session(&served, "through", &ana).await;
    assert!(again.request("tasks/get", json!({"taskId": one})).await.is_ok(), "in another session, too");
}
