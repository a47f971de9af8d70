//! What each tool does.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::definition;
use super::kind::Fault;
use super::server::{Pipes, Request, Server, Tie, extra, fork, with};
use super::wire::BAD_BYTES;

/// The state that travels through a client while it gathers input.
const STATE: &str = "fault-server: one question asked";

/// What a call comes to.
enum Outcome {
    /// A result as a value.
    Result(Value),
    /// The text of a result that is too deep for a value.
    Raw(String),
    Error(Value),
    /// No answer, ever.
    Nothing,
}

/// Runs one call to its end, on a thread of its own.
pub(super) fn serve(server: &Server, request: &Request) {
    match server.options.fault {
        Some(Fault::DiesMidCall) => std::process::exit(9),
        Some(Fault::HangsOnCall | Fault::WrongId) => return,
        Some(Fault::Late) => {
            while !server.state().cancelled.contains(&request.id) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        _ => {}
    }
    let arguments = &request.params["arguments"];
    let name = request.params["name"].as_str().unwrap_or_default();
    match call(server, request, name, arguments) {
        Outcome::Result(mut result) => {
            if server.options.fault == Some(Fault::BadUtf8) {
                result["content"] = json!([{"type": "text", "text": BAD_BYTES}]);
            }
            server.wire.reply(&request.id, &with(result, &extra(request)).to_string());
        }
        Outcome::Raw(text) => server.wire.reply(&request.id, &text),
        Outcome::Error(error) => server.wire.reply_error(&request.id, &error),
        Outcome::Nothing => {}
    }
}

fn call(server: &Server, request: &Request, name: &str, arguments: &Value) -> Outcome {
    match name {
        "echo" => match arguments["text"].as_str() {
            Some(text) => said(text),
            None => failed("`text` is missing"),
        },
        "add" => match (arguments["a"].as_f64(), arguments["b"].as_f64()) {
            (Some(a), Some(b)) => said(&(a + b).to_string()),
            _ => failed("`a` and `b` must be numbers"),
        },
        "pid" => said(&std::process::id().to_string()),
        "sleep" => {
            thread::sleep(millis(arguments));
            said("slept")
        }
        "hang" => Outcome::Nothing,
        "fail" => failed("the printer is on fire; use another one"),
        "progress" => progress(server, request, arguments),
        "big" => said(&"x".repeat(size(arguments, "bytes"))),
        "deep" => deep(request, size(arguments, "levels")),
        "structured" => structured(),
        "contents" => contents(),
        "count" => count(server, arguments),
        "count_read" => said(&counted(server).to_string()),
        "log" => log(server, request, arguments),
        "env" => {
            let mut names: Vec<String> =
                std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
            names.sort();
            said(&json!(names).to_string())
        }
        "client" => said(&client(server, request).to_string()),
        "cancelled" => said(&json!(server.state().cancelled).to_string()),
        "ask" | "sample" | "roots" => ask(server, request, name),
        "add_tool" => add_tool(server, arguments),
        "touch_resource" => {
            let uri = arguments["uri"].as_str().unwrap_or(definition::NOTE_URI);
            server.announce("notifications/resources/updated", &json!({"uri": uri}));
            said("touched")
        }
        "fork" => {
            let tie = if arguments["setsid"] == true { Tie::Cut } else { Tie::Loose };
            let pipes = if arguments["inherit"] == true { Pipes::Inherited } else { Pipes::Closed };
            fork(tie, pipes).map_or_else(|| failed("cannot start `sh`"), |pid| said(&pid.to_string()))
        }
        "die" => std::process::exit(9),
        _ if server.state().added.iter().any(|added| added == name) => said(name),
        _ => Outcome::Error(json!({"code": -32602, "message": format!("Unknown tool: {name}")})),
    }
}

fn said(text: &str) -> Outcome {
    Outcome::Result(json!({"content": [{"type": "text", "text": text}]}))
}

fn failed(text: &str) -> Outcome {
    Outcome::Result(json!({"content": [{"type": "text", "text": text}], "isError": true}))
}

fn millis(arguments: &Value) -> Duration {
    Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0))
}

fn size(arguments: &Value, key: &str) -> usize {
    arguments[key].as_u64().and_then(|size| size.try_into().ok()).unwrap_or(0)
}

fn progress(server: &Server, request: &Request, arguments: &Value) -> Outcome {
    let token = &request.params["_meta"]["progressToken"];
    let steps = arguments["steps"].as_u64().unwrap_or(3);
    for step in 1..=steps {
        thread::sleep(millis(arguments));
        if !token.is_null() {
            let message = format!("step {step} of {steps}");
            let params =
                json!({"progressToken": token, "progress": step, "total": steps, "message": message});
            server.wire.notify("notifications/progress", &params);
        }
    }
    said("done")
}

fn deep(request: &Request, levels: usize) -> Outcome {
    let nested = format!("{}0{}", r#"{"in":"#.repeat(levels), "}".repeat(levels));
    let kind = if request.modern { r#","resultType":"complete""# } else { "" };
    let content = r#"[{"type":"text","text":"deep"}]"#;
    Outcome::Raw(format!(r#"{{"content":{content},"structuredContent":{{"nest":{nested}}}{kind}}}"#))
}

fn structured() -> Outcome {
    Outcome::Result(json!({
        "content": [{"type": "text", "text": "{\"answer\":42,\"words\":[\"a\",\"b\"]}"}],
        "structuredContent": {"answer": 42, "words": ["a", "b"]},
        "_meta": {"example.com/kept": [1, {"two": 2}]},
        "x-vendor": "result"
    }))
}

fn contents() -> Outcome {
    let resource = json!({"uri": definition::NOTE_URI, "mimeType": "text/plain", "text": "hello there"});
    Outcome::Result(json!({"content": [
        {"type": "text", "text": "plain", "annotations": {"audience": ["user"], "priority": 1.0}, "x-vendor": 1},
        {"type": "image", "data": definition::PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": resource, "_meta": {"example.com/kept": 1}},
        {"type": "resource_link", "uri": definition::NOTE_URI, "name": "note"},
        {"type": "hologram", "data": "of a kind that nobody knows"}
    ]}))
}

/// Leaves a trace that a repeated call would leave twice.
fn count(server: &Server, arguments: &Value) -> Outcome {
    thread::sleep(millis(arguments));
    server.state().count += 1;
    if let Some(path) = &server.options.state {
        let line = match arguments["label"].as_str() {
            Some(label) => format!("count {label}\n"),
            None => "count\n".to_owned(),
        };
        let written = OpenOptions::new().create(true).append(true).open(path);
        if let Err(error) = written.and_then(|mut file| file.write_all(line.as_bytes())) {
            return failed(&error.to_string());
        }
    }
    thread::sleep(millis(arguments));
    said(&counted(server).to_string())
}

fn counted(server: &Server) -> usize {
    match &server.options.state {
        Some(path) => fs::read_to_string(path).map_or(0, |text| text.lines().count()),
        None => server.state().count,
    }
}

fn log(server: &Server, request: &Request, arguments: &Value) -> Outcome {
    let wanted = &request.params["_meta"]["io.modelcontextprotocol/logLevel"];
    if !request.modern || wanted.is_string() {
        let level = arguments["level"].as_str().unwrap_or("info");
        let text = arguments["text"].as_str().unwrap_or("a log message");
        let params = json!({"level": level, "logger": "fault-server", "data": text});
        server.wire.notify("notifications/message", &params);
    }
    said("logged")
}

fn client(server: &Server, request: &Request) -> Value {
    if !request.modern {
        return server.state().client.clone().unwrap_or(Value::Null);
    }
    let meta = &request.params["_meta"];
    json!({
        "protocolVersion": meta["io.modelcontextprotocol/protocolVersion"],
        "clientInfo": meta["io.modelcontextprotocol/clientInfo"],
        "capabilities": meta["io.modelcontextprotocol/clientCapabilities"]
    })
}

/// Asks the client in the way of the request's era.
fn ask(server: &Server, request: &Request, name: &str) -> Outcome {
    let (method, capability, params) = question(name);
    if client(server, request)["capabilities"].get(capability).is_none() {
        return failed(&format!("the client did not declare `{capability}`"));
    }
    if !request.modern {
        let answer = server.ask(method, &params);
        return said(&answer.get("result").or(answer.get("error")).unwrap_or(&answer).to_string());
    }
    let Some(answer) = request.params["inputResponses"].get("answer") else {
        return Outcome::Result(json!({
            "resultType": "input_required",
            "inputRequests": {"answer": {"method": method, "params": params}},
            "requestState": STATE
        }));
    };
    if request.params["requestState"] != STATE {
        return Outcome::Error(json!({"code": -32602, "message": "requestState is not what was sent"}));
    }
    said(&answer.to_string())
}

fn question(name: &str) -> (&'static str, &'static str, Value) {
    let message = json!({"role": "user", "content": {"type": "text", "text": "Say hello."}});
    match name {
        "ask" => {
            let schema = json!({
                "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]
            });
            let params = json!({"mode": "form", "message": "What is your name?", "requestedSchema": schema});
            ("elicitation/create", "elicitation", params)
        }
        "sample" => ("sampling/createMessage", "sampling", json!({"messages": [message], "maxTokens": 20})),
        _ => ("roots/list", "roots", json!({})),
    }
}

fn add_tool(server: &Server, arguments: &Value) -> Outcome {
    let name = arguments["name"].as_str().unwrap_or("added").to_owned();
    server.state().added.push(name.clone());
    server.announce("notifications/tools/list_changed", &json!({}));
    said(&name)
}
