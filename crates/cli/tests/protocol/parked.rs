//! Calls of modern clients that wait for an answer, and the state that travels meanwhile.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::wait_until;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use toolyard_hub::config::{self, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::serve::{Reception, stdio};

use crate::eras::{only_question, retry};
use crate::raw;
use crate::scripted::{GREETING, program};
use crate::yard::{SOON, Yard, good, refusal, text};

const SERVERS: [&[&str]; 2] = [&[], &["--modern"]];

#[tokio::test]
async fn state_that_was_changed_or_made_up_is_refused() {
    for args in SERVERS {
        let yard = Yard::of(json!({"good": good(args)})).learnt().await;
        let client = yard.modern(json!({"elicitation": {}}));
        let asked = client.call("good__ask", json!({})).await.unwrap();
        let state = asked["requestState"].as_str().unwrap();
        let mut changed = state.to_owned().into_bytes();
        changed[30] = if changed[30] == b'A' { b'B' } else { b'A' };
        let cut = &state[..state.len() - 4];
        for forged in ["", "made up", cut, std::str::from_utf8(&changed).unwrap()] {
            let forged = json!({"requestState": forged});
            let (code, message, _) = refusal(retry(&client, "good__ask", &forged, answer(&asked)).await);
            assert_eq!(code, -32602, "{message}");
            assert!(message.contains("requestState"), "{message}");
        }
        let done = retry(&client, "good__ask", &asked, answer(&asked)).await.unwrap();
        assert_eq!(done["resultType"], "complete", "a refused forgery spoils nothing: {done}");
    }
}

#[tokio::test]
async fn state_of_another_request_is_refused() {
    for args in SERVERS {
        let yard = Yard::of(json!({"good": good(args), "twin": good(args)})).learnt().await;
        let client = yard.modern(json!({"elicitation": {}, "sampling": {}}));
        let asked = client.call("good__ask", json!({})).await.unwrap();
        for other in ["good__sample", "twin__ask"] {
            let (code, message, _) = refusal(retry(&client, other, &asked, answer(&asked)).await);
            assert_eq!(
                (code, message.as_str()),
                (-32602, "`requestState` belongs to another request"),
                "{other}"
            );
        }
        let mut params = json!({"name": "good__ask", "arguments": {"other": 1}});
        params["requestState"] = asked["requestState"].clone();
        assert_eq!(refusal(client.request("tools/call", params).await).0, -32602);
        let call = |name: &str| json!({"name": "call_tool", "arguments": {"name": name}, "requestState": asked["requestState"]});
        assert_eq!(refusal(client.request("tools/call", call("good__ask")).await).0, -32602);
    }
}

#[tokio::test]
async fn state_of_one_tool_does_not_serve_for_another_behind_call_tool() {
    for args in SERVERS {
        let yard = Yard::of(json!({"good": good(args)})).learnt().await;
        let client = yard.stdio(&["--surface", "search"]);
        client.modern(json!({"elicitation": {}, "sampling": {}}));
        let asked = client.call("call_tool", json!({"name": "good__ask"})).await.unwrap();
        let params = json!({
            "name": "call_tool", "arguments": {"name": "good__sample"},
            "requestState": asked["requestState"], "inputResponses": answer(&asked)
        });
        let result = client.request("tools/call", params).await.unwrap();
        assert_eq!(text(&result), "`requestState` belongs to another request");
    }
}

#[tokio::test]
async fn state_of_another_client_is_refused() {
    for args in SERVERS {
        let yard = Yard::of(json!({"good": good(args)})).learnt().await;
        let served = yard.http(&["--surface", "all"]);
        let client = |token: &str| {
            let client = Client::http(&served.url, &[("authorization", token)]);
            client.modern(json!({"elicitation": {}}));
            client
        };
        let (ada, eve) = (client("Bearer ada"), client("Bearer eve"));
        let asked = ada.call("good__ask", json!({})).await.unwrap();
        assert_eq!(refusal(retry(&eve, "good__ask", &asked, answer(&asked)).await).0, -32602);
        let done = retry(&ada, "good__ask", &asked, answer(&asked)).await.unwrap();
        assert_eq!(done["resultType"], "complete");
    }
}

#[tokio::test]
async fn an_answer_to_a_parked_call_counts_once() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let client = yard.modern(json!({"elicitation": {}}));
    let asked = client.call("good__ask", json!({})).await.unwrap();
    retry(&client, "good__ask", &asked, answer(&asked)).await.unwrap();
    let (code, message, _) = refusal(retry(&client, "good__ask", &asked, answer(&asked)).await);
    assert_eq!(code, -32602);
    assert!(message.contains("send the request without it"), "{message}");
}

#[tokio::test]
async fn state_from_before_a_restart_answers_no_later_question() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let first = yard.modern(json!({"elicitation": {}}));
    let before = first.call("good__ask", json!({})).await.unwrap();
    first.close().await;
    let second = yard.modern(json!({"elicitation": {}}));
    let after = second.call("good__ask", json!({})).await.unwrap();
    assert_eq!(refusal(retry(&second, "good__ask", &before, answer(&before)).await).0, -32602);
    let done = retry(&second, "good__ask", &after, answer(&after)).await.unwrap();
    assert_eq!(done["resultType"], "complete");
}

#[tokio::test]
async fn two_questions_of_one_call_are_asked_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let question = |number: u32| {
        let params =
            json!({"message": format!("{number}?"), "requestedSchema": {"type": "object", "properties": {}}});
        json!({"jsonrpc": "2.0", "id": format!("q-{number}"), "method": "elicitation/create", "params": params})
    };
    // Waits for both answers before it answers itself.
    let script = format!(
        r#"while IFS= read -r line; do
id=${{line#*'"id":'}}; id=${{id%%,*}}
case "$line" in
*'"method":"initialize"'*) printf '{{"jsonrpc":"2.0","id":%s,{GREETING}}}\n' "$id" ;;
*'"method":"tools/list"'*) printf '{{"jsonrpc":"2.0","id":%s,"result":{{"tools":[{{"name":"ask","inputSchema":{{"type":"object"}}}}]}}}}\n' "$id" ;;
*'"method":"tools/call"'*) call=$id; printf '%s\n%s\n' '{one}' '{two}' ;;
*'"id":"q-1"'*|*'"id":"q-2"'*) answers="$answers+"; [ "$answers" = ++ ] && printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[{{"type":"text","text":"both"}}]}}}}\n' "$call" ;;
*'"id":'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id" ;;
esac
done"#,
        one = question(1),
        two = question(2),
    );
    let yard = Yard::of(json!({"scripted": program(folder.path(), &script)})).keep(folder).learnt().await;
    let client = yard.modern(json!({"elicitation": {}}));
    let first = client.call("scripted__ask", json!({})).await.unwrap();
    let second = retry(&client, "scripted__ask", &first, answer(&first)).await.unwrap();
    let messages = [&first, &second].map(|asked| only_question(asked).1["params"]["message"].clone());
    assert_eq!(messages, ["[scripted] 1?", "[scripted] 2?"]);
    let done = retry(&client, "scripted__ask", &second, answer(&second)).await.unwrap();
    assert_eq!(text(&done), "both");
}

#[tokio::test]
async fn a_retry_without_the_answer_is_asked_again() {
    for args in SERVERS {
        let yard = Yard::of(json!({"good": good(args)})).learnt().await;
        let client = yard.modern(json!({"elicitation": {}}));
        let asked = client.call("good__ask", json!({})).await.unwrap();
        let again = retry(&client, "good__ask", &asked, json!({"unknown": {}})).await.unwrap();
        assert_eq!(again["resultType"], "input_required", "{args:?}: {again}");
        let done = retry(&client, "good__ask", &again, answer(&again)).await.unwrap();
        assert_eq!(done["resultType"], "complete", "{args:?}: {done}");
    }
}

/// Only this test needs the clock of the hub, so only here the hub runs inside the test.
#[tokio::test]
async fn a_client_that_never_comes_back_frees_its_call() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let (hub, mut client) = inside(&yard);
    let asked = client.call("good__ask", json!({"elicitation": {}})).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(601)).await;
    tokio::time::resume();
    // Each look is an exchange with the server, so this does not spin.
    let deadline = tokio::time::Instant::now() + SOON;
    while text(&client.call("good__cancelled", json!({})).await) == "[]" {
        assert!(tokio::time::Instant::now() < deadline, "the call was not given up");
    }
    hub.close().await;
}

#[tokio::test]
async fn state_whose_time_is_over_is_refused() {
    let yard = Yard::of(json!({"good": good(&[])})).learnt().await;
    let (hub, mut client) = inside(&yard);
    let travelling = json!({"principal": "stdio", "request": "another", "state": {"Parked": 0}});
    let seal = |lifetime| hub.seal.close("request state", &travelling, Duration::from_secs(lifetime));
    let (alive, over) = (seal(60), seal(0));
    let start = SystemTime::now();
    wait_until(SOON, || start.elapsed().is_ok_and(|passed| passed > Duration::from_secs(2))).await;
    let said = |error: Value| error["message"].as_str().unwrap().to_owned();
    let alive = said(client.retry("good__ask", &alive).await);
    assert_eq!(alive, "`requestState` belongs to another request");
    let over = said(client.retry("good__ask", &over).await);
    assert!(over.contains("its time is over"), "{over}");
    hub.close().await;
}

fn answer(asked: &Value) -> Value {
    let (key, _) = only_question(asked);
    json!({key: {"action": "accept", "content": {"name": "Ada"}}})
}

/// A client at the streams of a hub inside the test.
struct Inside {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

fn inside(yard: &Yard) -> (Arc<Hub>, Inside) {
    let home = yard.path().to_owned();
    let folders = Folders { config: home.clone(), data: home.clone(), home };
    let mut config = config::load(&yard.path().join("toolyard.json"), &|_| None, &folders).unwrap();
    config.serve.surface = config::Surface::All;
    let hub = Hub::start(config, Options { watchdog: None, learning: Learning::OnDemand });
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    tokio::spawn(stdio::serve_streams(Reception::new(Arc::clone(&hub)), read, write));
    let (read, write) = tokio::io::split(ours);
    (hub, Inside { input: write, output: BufReader::new(read).lines() })
}

impl Inside {
    async fn exchange(&mut self, params: Value, capabilities: Value) -> Value {
        let mut message = raw::modern("tools/call", params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        let line = self.output.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn call(&mut self, tool: &str, capabilities: Value) -> Value {
        self.exchange(json!({"name": tool, "arguments": {}}), capabilities).await["result"].clone()
    }

    async fn retry(&mut self, tool: &str, state: &str) -> Value {
        let params = json!({"name": tool, "arguments": {}, "requestState": state, "inputResponses": {}});
        self.exchange(params, json!({"elicitation": {}})).await["error"].clone()
    }
}
