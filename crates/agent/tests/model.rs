//! A language model over HTTP, against a service that says what is written down here.

use std::time::Duration;

use serde_json::{Map, Value, json};
use testkit::oracle::Said;
use testkit::{Oracle, Saying, wait_until};
use tokio::sync::Notify;
use toolyard_agent::model::{self, Answered, Error, ModelRequest, Piece, Usage};
use toolyard_core::turn::{ChatMessage, RawCall, ToolCall};
use toolyard_hub::config::{LanguageModel, ModelApi};

/// Longer than any answer takes.
const PATIENT: Duration = Duration::from_secs(60);
/// Shorter than silence lasts.
const IMPATIENT: Duration = Duration::from_secs(1);

/// What became of a question.
struct Outcome {
    answered: Result<Answered, Error>,
    heard: Vec<Piece>,
}

impl Outcome {
    /// Writes down all of it.
    fn shown(&self) -> String {
        let heard = self.heard.iter().map(|piece| match piece {
            Piece::Text(text) => format!("heard {text:?}"),
            Piece::Reasoning(text) => format!("heard thinking {text:?}"),
        });
        let mut lines: Vec<String> = heard.collect();
        match &self.answered {
            Ok(answered) => {
                let Usage { prompt_tokens, answer_tokens } = answered.usage;
                lines.push(format!("{} {prompt_tokens}+{answer_tokens}", reply(&answered.reply)));
            }
            Err(error) => {
                lines.push(format!("error: {error}"));
                lines.extend(error.said().map(|said| format!("said: {}", reply(said))));
            }
        }
        lines.join("\n")
    }
}

fn reply(reply: &toolyard_core::turn::Reply) -> String {
    let call = |call: &RawCall| {
        format!("{}:{}({})", call.id.as_deref().unwrap_or_default(), call.name, call.arguments)
    };
    let calls: Vec<String> = reply.calls.iter().map(call).collect();
    let cut = if reply.is_cut { " cut" } else { "" };
    format!("{:?} {:?} [{}]{cut}", reply.text, reply.reasoning, calls.join(", "))
}

/// Returns the model that an oracle names.
fn named(place: &str, timeout: Duration) -> LanguageModel {
    let (url, name) = place.split_once('#').expect("an oracle names its model");
    LanguageModel { url: url.to_owned(), name: name.to_owned(), key: None, timeout }
}

/// Asks a model one thing.
async fn ask(model: &LanguageModel) -> Outcome {
    let (messages, options) = ([ChatMessage::user("Hello?")], Map::new());
    let question = ModelRequest { messages: &messages, tools: &[], options: &options };
    let mut heard = Vec::new();
    let answered = model::ask(&model::client(), model, &question, &mut |piece| heard.push(piece)).await;
    Outcome { answered, heard }
}

/// Has the same said in both dialects, and returns what became of it.
async fn both(saying: Saying, timeout: Duration) -> String {
    let oracle = Oracle::start([saying]);
    let openai = ask(&named(&oracle.openai(), timeout)).await.shown();
    let ollama = ask(&named(&oracle.ollama(), timeout)).await.shown();
    format!("OpenAI\n{openai}\nOllama\n{ollama}")
}

fn text(text: &str) -> Said {
    Said::text(text)
}

#[test]
fn the_address_tells_the_dialect() {
    let api = |url: &str| named(&format!("{url}#m"), PATIENT).api();
    for url in ["http://h:11434/api/chat", "https://h/ollama/api/chat/?key=1"] {
        assert_eq!(api(url), ModelApi::Ollama, "{url}");
    }
    for url in ["http://h/v1/chat/completions", "http://h/v1?to=/api/chat", "no address"] {
        assert_eq!(api(url), ModelApi::OpenAi, "{url}");
    }
    for url in ["https://api.anthropic.com/v1/messages", "http://h/anthropic/v1/messages/"] {
        assert_eq!(api(url), ModelApi::Anthropic, "{url}");
    }
}

#[tokio::test]
async fn each_service_is_asked_in_its_dialect() {
    let oracle = Oracle::start([Saying::text("Yes.")]);
    let arguments = Map::from_iter([("path".to_owned(), json!("a.txt"))]);
    let call = ToolCall { id: "c1".to_owned(), name: "files__read".to_owned(), arguments };
    let messages = [
        ChatMessage::System { text: "Be brief.".to_owned() },
        ChatMessage::user("Read a.txt."),
        ChatMessage::Assistant { text: String::new(), reasoning: "A file.".to_owned(), calls: vec![call] },
        ChatMessage::Tool { id: "c1".to_owned(), name: "files__read".to_owned(), text: "hello".to_owned() },
        ChatMessage::assistant("It says hello."),
    ];
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tools = [
        json!({ "name": "files__read", "description": "Reads", "inputSchema": schema }),
        json!({ "name": "clock__now" }),
    ];
    let options = json!({ "temperature": 0, "keep_alive": "5m", "think": false, "stream": false });
    let options = options.as_object().unwrap();
    let question = ModelRequest { messages: &messages, tools: &tools, options };
    for place in [oracle.openai(), oracle.ollama()] {
        let model = LanguageModel { key: Some("secret".to_owned()), ..named(&place, PATIENT) };
        model::ask(&model::client(), &model, &question, &mut drop).await.unwrap();
    }
    let pleas = oracle.pleas();
    assert!(pleas.iter().all(|it| it.authorization == "Bearer secret"));
    insta::assert_snapshot!(pleas[0].body, @r#"{"model":"small","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Read a.txt."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"files__read","arguments":"{\"path\":\"a.txt\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"hello"},{"role":"assistant","content":"It says hello."}],"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"files__read","description":"Reads","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},{"type":"function","function":{"name":"clock__now","parameters":{"type":"object","properties":{}}}}],"temperature":0,"keep_alive":"5m","think":false}"#);
    insta::assert_snapshot!(pleas[1].body, @r#"{"model":"small","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Read a.txt."},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"files__read","arguments":{"path":"a.txt"}}}]},{"role":"tool","tool_name":"files__read","content":"hello"},{"role":"assistant","content":"It says hello."}],"stream":true,"tools":[{"type":"function","function":{"name":"files__read","description":"Reads","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},{"type":"function","function":{"name":"clock__now","parameters":{"type":"object","properties":{}}}}],"keep_alive":"5m","think":false,"options":{"temperature":0,"stream":false}}"#);
}

#[tokio::test]
async fn d7_anthropic_is_asked_in_its_own_dialect() {
    let oracle = Oracle::start([Saying::text("Yes.")]);
    let call = |id: &str, path: &str| {
        let arguments = Map::from_iter([("path".to_owned(), json!(path))]);
        ToolCall { id: id.to_owned(), name: "files__read".to_owned(), arguments }
    };
    let result = |id: &str| {
        let name = "files__read".to_owned();
        ChatMessage::Tool { id: id.to_owned(), name, text: "hello".to_owned() }
    };
    let calls = vec![call("c1", "a.txt"), call("c2", "b.txt")];
    let messages = [
        ChatMessage::System { text: "Be brief.".to_owned() },
        ChatMessage::user("Read a.txt and b.txt."),
        ChatMessage::Assistant { text: String::new(), reasoning: "Two files.".to_owned(), calls },
        result("c1"),
        result("c2"),
        ChatMessage::user("Are they equal?"),
    ];
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tools = [
        json!({ "name": "files__read", "description": "Reads", "inputSchema": schema }),
        json!({ "name": "clock__now" }),
    ];
    let options = json!({ "temperature": 0, "max_tokens": 99, "stream": false });
    let question = ModelRequest { messages: &messages, tools: &tools, options: options.as_object().unwrap() };
    let model = LanguageModel { key: Some("secret".to_owned()), ..named(&oracle.anthropic(), PATIENT) };
    model::ask(&model::client(), &model, &question, &mut drop).await.unwrap();
    let plea = &oracle.pleas()[0];
    assert_eq!((plea.authorization.as_str(), plea.version.as_str()), ("secret", "2023-06-01"));
    insta::assert_snapshot!(plea.body, @r#"{"model":"small","max_tokens":99,"messages":[{"role":"user","content":[{"type":"text","text":"Read a.txt and b.txt."}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"files__read","input":{"path":"a.txt"}},{"type":"tool_use","id":"c2","name":"files__read","input":{"path":"b.txt"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"hello"},{"type":"tool_result","tool_use_id":"c2","content":"hello"},{"type":"text","text":"Are they equal?"}]}],"stream":true,"system":"Be brief.","tools":[{"name":"files__read","description":"Reads","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},{"name":"clock__now","input_schema":{"type":"object","properties":{}}}],"temperature":0}"#);
}

#[tokio::test]
async fn d7_anthropics_replies_calls_and_errors_are_understood() {
    let said = async |saying: Saying| {
        let oracle = Oracle::start([saying]);
        ask(&named(&oracle.anthropic(), PATIENT)).await.shown()
    };
    let cut = ["{\"to\":", " \"Ana\"", "}"].map(str::to_owned).to_vec();
    let pieces = vec![
        Said::reasoning("Hm."),
        text("One "),
        text("moment."),
        Said::CallInPieces { name: "mail__send".to_owned(), arguments: cut },
        Said::call("clock__now", json!({})),
    ];
    insta::assert_snapshot!(said(Saying::Pieces(pieces.clone())).await, @r#"
    heard thinking "Hm."
    heard "One "
    heard "moment."
    "One moment." "Hm." [call_1:mail__send({"to": "Ana"}), call_2:clock__now({})] 10+5
    "#);
    insta::assert_snapshot!(said(Saying::WholeDespiteStream(pieces)).await, @r#"
    heard thinking "Hm."
    heard "One "
    heard "moment."
    "One moment." "Hm." [call_1:mail__send({"to":"Ana"}), call_2:clock__now({})] 10+5
    "#);
    insta::assert_snapshot!(said(Saying::CutAfter(vec![text("Well, ")])).await, @r#"
    heard "Well, "
    "Well, " "" [] cut 10+5
    "#);
    insta::assert_snapshot!(said(Saying::BreaksAfter(vec![text("Well, ")])).await, @r#"
    heard "Well, "
    error: the reply of `small` broke off: unexpected EOF during chunk size line
    said: "Well, " "" [] cut
    "#);
    insta::assert_snapshot!(said(Saying::StreamError("overloaded".to_owned())).await, @r#"
    error: `small` gave up: overloaded
    said: "" "" [] cut
    "#);
    insta::assert_snapshot!(said(Saying::refuses(404, "model: small")).await, @"error: `small` refuses with HTTP 404: model: small; is the address right, and the name of the model?");
    insta::assert_snapshot!(said(Saying::Senseless).await, @"error: `small` answers with something that is no reply; does its address end with `/v1/messages`?");
}

#[tokio::test]
async fn a_reply_is_heard_piece_by_piece() {
    let pieces = vec![Said::reasoning("Hm, "), Said::reasoning("well."), text("Ye"), text("s.")];
    insta::assert_snapshot!(both(Saying::Pieces(pieces), PATIENT).await, @r#"
    OpenAI
    heard thinking "Hm, "
    heard thinking "well."
    heard "Ye"
    heard "s."
    "Yes." "Hm, well." [] 10+5
    Ollama
    heard thinking "Hm, "
    heard thinking "well."
    heard "Ye"
    heard "s."
    "Yes." "Hm, well." [] 10+5
    "#);
}

#[tokio::test]
async fn calls_arrive_whole_and_in_pieces() {
    let cut = ["{\"to\":", " \"Ana\"", "}"].map(str::to_owned).to_vec();
    let pieces = vec![
        text("One moment."),
        Said::CallInPieces { name: "mail__send".to_owned(), arguments: cut },
        Said::call("clock__now", json!({})),
        Said::CallInPieces { name: "clock__zone".to_owned(), arguments: vec![] },
    ];
    insta::assert_snapshot!(both(Saying::Pieces(pieces), PATIENT).await, @r#"
    OpenAI
    heard "One moment."
    "One moment." "" [call_1:mail__send({"to": "Ana"}), call_2:clock__now({}), call_3:clock__zone({})] 10+5
    Ollama
    heard "One moment."
    "One moment." "" [:mail__send({"to":"Ana"}), :clock__now({}), :clock__zone({})] 10+5
    "#);
}

#[tokio::test]
async fn reasoning_between_tags_is_told_from_text() {
    let pieces = vec![text("<thi"), text("nk>\nHm.\n</think"), text(">\n\nYes")];
    insta::assert_snapshot!(both(Saying::Pieces(pieces), PATIENT).await, @r#"
    OpenAI
    heard thinking "Hm.\n"
    heard "Yes"
    "Yes" "Hm." [] 10+5
    Ollama
    heard thinking "Hm.\n"
    heard "Yes"
    "Yes" "Hm." [] 10+5
    "#);
    let pieces = vec![text("Hm.\n</th"), text("ink>\n\nYes")];
    insta::assert_snapshot!(both(Saying::Pieces(pieces), PATIENT).await, @r#"
    OpenAI
    heard "Hm.\n"
    heard "Yes"
    "Yes" "Hm." [] 10+5
    Ollama
    heard "Hm.\n"
    heard "Yes"
    "Yes" "Hm." [] 10+5
    "#);
}

#[tokio::test]
async fn a_service_may_answer_with_one_object_although_it_was_asked_to_stream() {
    let pieces =
        vec![Said::reasoning("Hm."), text("Yes."), Said::call("clock__now", json!({ "zone": "UTC" }))];
    insta::assert_snapshot!(both(Saying::WholeDespiteStream(pieces), PATIENT).await, @r#"
    OpenAI
    heard thinking "Hm."
    heard "Yes."
    "Yes." "Hm." [call_1:clock__now({"zone":"UTC"})] 10+5
    Ollama
    heard thinking "Hm."
    heard "Yes."
    "Yes." "Hm." [:clock__now({"zone":"UTC"})] 10+5
    "#);
}

#[tokio::test]
async fn one_object_may_go_over_several_lines() {
    let openai = json!({ "choices": [{ "message": { "content": [{ "type": "text", "text": "Yes." }] } }] });
    let ollama = json!({ "message": { "content": "Yes." }, "done": true });
    let pretty = |value: &Value| Saying::Chunks(vec![serde_json::to_vec_pretty(value).unwrap()]);
    let oracle = Oracle::start([pretty(&openai), pretty(&ollama)]);
    insta::assert_snapshot!(ask(&named(&oracle.openai(), PATIENT)).await.shown(), @r#"
    heard "Yes."
    "Yes." "" [] 0+0
    "#);
    insta::assert_snapshot!(ask(&named(&oracle.ollama(), PATIENT)).await.shown(), @r#"
    heard "Yes."
    "Yes." "" [] 0+0
    "#);
}

#[tokio::test]
async fn characters_survive_when_chunks_split_them() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"é→😀\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let oracle = Oracle::start([Saying::Chunks(stream.bytes().map(|byte| vec![byte]).collect())]);
    insta::assert_snapshot!(ask(&named(&oracle.openai(), PATIENT)).await.shown(), @r#"
    heard "é→😀"
    "é→😀" "" [] 0+0
    "#);
}

#[tokio::test]
async fn a_reply_that_the_service_stopped_is_cut() {
    insta::assert_snapshot!(both(Saying::CutAfter(vec![text("Once upon a")]), PATIENT).await, @r#"
    OpenAI
    heard "Once upon a"
    "Once upon a" "" [] cut 10+5
    Ollama
    heard "Once upon a"
    "Once upon a" "" [] cut 10+5
    "#);
}

#[tokio::test]
async fn what_had_arrived_when_a_stream_breaks_is_kept() {
    let cut = Said::CallInPieces { name: "mail__send".to_owned(), arguments: vec!["{\"to\":".to_owned()] };
    let pieces = vec![Said::reasoning("Hm."), text("One <th"), cut];
    let oracle = Oracle::start([Saying::BreaksAfter(pieces)]);
    let mut kept = Vec::new();
    for (place, asked) in [(oracle.openai(), 1), (oracle.ollama(), 2)] {
        let outcome = ask(&named(&place, PATIENT)).await;
        assert!(matches!(outcome.answered, Err(Error::Broken { .. })), "{}", outcome.shown());
        kept.extend(outcome.answered.unwrap_err().said().map(reply));
        assert_eq!(oracle.pleas().len(), asked, "nothing is asked again once something was heard");
    }
    insta::assert_snapshot!(kept.join("\n"), @r#"
    "One <th" "Hm." [call_1:mail__send({"to":)] cut
    "One <th" "Hm." [:mail__send({"to":)] cut
    "#);
}

#[tokio::test]
async fn a_stream_must_say_that_the_reply_is_complete() {
    let chunk = |finish: Value| {
        let choice = json!({ "index": 0, "delta": { "content": "Yes." }, "finish_reason": finish });
        Saying::Chunks(vec![format!("data: {}\n\n", json!({ "choices": [choice] })).into_bytes()])
    };
    let oracle = Oracle::start([chunk(json!("stop")), chunk(Value::Null)]);
    insta::assert_snapshot!(ask(&named(&oracle.openai(), PATIENT)).await.shown(), @r#"
    heard "Yes."
    "Yes." "" [] 0+0
    "#);
    insta::assert_snapshot!(ask(&named(&oracle.openai(), PATIENT)).await.shown(), @r#"
    heard "Yes."
    error: the reply of `small` broke off: the service ended it without saying that it is complete
    said: "Yes." "" [] cut
    "#);
}

#[tokio::test]
async fn silence_ends_a_reply_and_hangs_up() {
    insta::assert_snapshot!(both(Saying::Silence, IMPATIENT).await, @r#"
    OpenAI
    error: `small` was silent for 1s; a large model may need more time, above all for its first reply
    said: "" "" [] cut
    Ollama
    error: `small` was silent for 1s; a large model may need more time, above all for its first reply
    said: "" "" [] cut
    "#);
    let oracle = Oracle::start([Saying::StallsAfter(vec![text("One")])]);
    let outcome = ask(&named(&oracle.ollama(), IMPATIENT)).await;
    insta::assert_snapshot!(outcome.shown(), @r#"
    heard "One"
    error: `small` was silent for 1s; a large model may need more time, above all for its first reply
    said: "One" "" [] cut
    "#);
    wait_until(PATIENT, || oracle.hung_up() == 1).await;
}

#[tokio::test]
async fn dropping_a_question_hangs_up() {
    let oracle = Oracle::start([Saying::StallsAfter(vec![text("One")])]);
    let (model, client, begun) = (named(&oracle.openai(), PATIENT), model::client(), Notify::new());
    let (messages, options) = ([ChatMessage::user("Hello?")], Map::new());
    let question = ModelRequest { messages: &messages, tools: &[], options: &options };
    let mut heard = |_| begun.notify_one();
    tokio::select! {
        answered = model::ask(&client, &model, &question, &mut heard) => panic!("{answered:?}"),
        () = begun.notified() => {}
    }
    wait_until(PATIENT, || oracle.hung_up() == 1).await;
}

#[tokio::test]
async fn a_question_can_be_asked_by_a_task() {
    let oracle = Oracle::start([Saying::text("Yes.")]);
    let model = named(&oracle.openai(), PATIENT);
    let outcome = tokio::spawn(async move { ask(&model).await }).await.unwrap();
    insta::assert_snapshot!(outcome.shown(), @r#"
    heard "Yes."
    "Yes." "" [] 10+5
    "#);
}

#[tokio::test]
async fn an_error_inside_the_stream_is_an_error() {
    insta::assert_snapshot!(both(Saying::StreamError("out of\n memory".to_owned()), PATIENT).await, @r#"
    OpenAI
    error: `small` gave up: out of memory
    said: "" "" [] cut
    Ollama
    error: `small` gave up: out of memory
    said: "" "" [] cut
    "#);
    let chunks = ["{\"message\":{\"content\":\"One\"},\"done\":false}\n", "{\"error\":\"out of memory\"}\n"];
    let oracle = Oracle::start([Saying::Chunks(chunks.map(|it| it.as_bytes().to_vec()).to_vec())]);
    insta::assert_snapshot!(ask(&named(&oracle.ollama(), PATIENT)).await.shown(), @r#"
    heard "One"
    error: `small` gave up: out of memory
    said: "One" "" [] cut
    "#);
}

#[tokio::test]
async fn something_else_than_a_reply_is_senseless() {
    insta::assert_snapshot!(both(Saying::Senseless, PATIENT).await, @r#"
    OpenAI
    error: `small` answers with something that is no reply; does its address end with `/chat/completions`?
    Ollama
    error: `small` answers with something that is no reply; does its address end with `/api/chat`?
    "#);
}

#[tokio::test]
async fn a_reply_has_bounds() {
    let oracle = Oracle::start([Saying::Long(5 * 1024 * 1024)]);
    for place in [oracle.openai(), oracle.ollama()] {
        let error = ask(&named(&place, PATIENT)).await.answered.unwrap_err();
        assert_eq!(error.to_string(), "`small` replies without end: more than 4 MiB");
    }
}

#[tokio::test]
async fn a_service_that_is_busy_is_asked_again() {
    let busy = |retry_after| Saying::Refuses { status: 429, message: "slow down".to_owned(), retry_after };
    let cases = [
        (vec![Saying::Status(503), Saying::Status(504), Saying::text("Yes.")], 3, "\"Yes.\" \"\" [] 10+5"),
        (vec![busy(Some(0)), Saying::text("Yes.")], 2, "\"Yes.\" \"\" [] 10+5"),
        (vec![busy(None)], 3, "error: `small` refuses with HTTP 429: slow down; try again later"),
        (vec![busy(Some(3600))], 1, "error: `small` refuses with HTTP 429: slow down; try again later"),
        (vec![Saying::Status(502)], 3, "error: `small` refuses with HTTP 502: it does not say why"),
        (vec![Saying::Status(500)], 1, "error: `small` refuses with HTTP 500: it does not say why"),
        // Nothing of this answer arrives, not even its head.
        (vec![Saying::BreaksAfter(vec![]), Saying::text("Yes.")], 2, "\"Yes.\" \"\" [] 10+5"),
    ];
    for (sayings, asked, expected) in cases {
        let oracle = Oracle::start(sayings.clone());
        let shown = ask(&named(&oracle.ollama(), PATIENT)).await.shown();
        assert_eq!(shown.lines().last().unwrap(), expected, "{sayings:?}");
        assert_eq!(oracle.pleas().len(), asked, "{sayings:?}");
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do_and_hides_secrets() {
    let key = "sk-very-secret";
    let long = format!("\u{1b}[31m{}", "why ".repeat(200));
    let cases = [
        (Saying::refuses(401, format!("bad key {key}")), Some(key)),
        (Saying::Status(401), None),
        (Saying::refuses(403, format!("not for {key} or hunter22")), Some(key)),
        (Saying::refuses(404, "model 'small' not found"), None),
        (Saying::refuses(400, "small does not support tools"), None),
        (Saying::refuses(400, long), None),
        (Saying::Status(307), None),
    ];
    let mut shown = Vec::new();
    for (saying, key) in cases {
        let oracle = Oracle::start([saying]);
        for place in [oracle.openai(), oracle.ollama()] {
            let mut model = LanguageModel { key: key.map(str::to_owned), ..named(&place, PATIENT) };
            model.url.push_str("?token=hunter22");
            shown.push(ask(&model).await.answered.unwrap_err().to_string());
        }
    }
    insta::assert_snapshot!(shown.join("\n"), @r#"
    `small` refuses with HTTP 401: the key is wrong; correct the key of the model
    `small` refuses with HTTP 401: the key is wrong; correct the key of the model
    `small` refuses with HTTP 401: it wants a key; add the key of the model
    `small` refuses with HTTP 401: it wants a key; add the key of the model
    `small` refuses with HTTP 403: not for … or …; may the key use this model?
    `small` refuses with HTTP 403: not for … or …; may the key use this model?
    `small` refuses with HTTP 404: model 'small' not found; is the address right, and the name of the model?
    `small` refuses with HTTP 404: model 'small' not found; run `ollama pull small`
    `small` refuses with HTTP 400: small does not support tools
    `small` refuses with HTTP 400: small does not support tools
    `small` refuses with HTTP 400: why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why …
    `small` refuses with HTTP 400: why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why why …
    `small` refuses with HTTP 307: it redirects to another address; correct the address of the model
    `small` refuses with HTTP 307: it redirects to another address; correct the address of the model
    "#);
}

#[tokio::test]
async fn a_service_that_is_not_there_is_unreachable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://ana:hunter22@{free}/api/chat?key=hunter23");
    let key = Some("hunter24".to_owned());
    let model = LanguageModel { url, name: "small".to_owned(), key, timeout: PATIENT };
    let error = ask(&model).await.answered.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains(&format!("at http://{free}")) && shown.contains("is the server running?"),
        "{shown}"
    );
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn usage_adds_up() {
    let mut usage = Usage { prompt_tokens: 1, answer_tokens: 2 };
    usage += Usage { prompt_tokens: 10, answer_tokens: 20 };
    assert_eq!(usage, Usage { prompt_tokens: 11, answer_tokens: 22 });
}
