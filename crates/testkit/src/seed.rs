//! An MCP server over stdio with the tools of one part of a made-up desk.
//!
//! The desk is the one that a person with many servers has: notes, repositories, scenes, files, mail and more.
//! Its tools, their answers and requests for them are data in `crates/testkit/seed`.

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Map, Value, json};

const CATALOG: &str = include_str!("../seed/catalog.json");
const TASKS: &str = include_str!("../seed/tasks.jsonl");
const DAY: &str = include_str!("../seed/day.jsonl");
/// What it exits with when it is told to break.
const BROKEN: u8 = 7;

/// One server of the desk.
#[derive(Clone, Debug, Deserialize)]
pub struct Part {
    /// Its name.
    pub server: String,
    /// The definitions of its tools.
    pub tools: Vec<Value>,
    /// What each tool answers; `"$name"` stands for the argument `name`.
    pub results: Map<String, Value>,
}

/// A request of a person and what is right for it.
#[derive(Clone, Debug, Deserialize)]
pub struct Task {
    /// The words.
    pub task: String,
    /// `single`, `destructive`, `vague` or `unanswerable`.
    pub kind: String,
    /// For each step the tools that are equally right.
    pub gold: Vec<Vec<String>>,
    /// What the tool of each step is to be given.
    #[serde(default)]
    pub arguments: Vec<Map<String, Value>>,
}

impl Task {
    /// Returns what the tool of the first step is to be given.
    pub fn first_arguments(&self) -> Map<String, Value> {
        self.arguments.first().cloned().unwrap_or_default()
    }
}

/// One request of a day on which much is asked again.
#[derive(Clone, Debug, Deserialize)]
pub struct Moment {
    /// Minutes since the morning.
    pub minute: u64,
    /// The conversation: a watcher that looks every ten minutes, or a person.
    pub who: String,
    /// The words.
    pub task: String,
}

/// How the server is to behave.
#[derive(Debug)]
pub struct Options {
    /// The part of the desk whose tools it has.
    pub part: Part,
    /// `--calls FILE`: where each call leaves a line.
    pub calls: Option<PathBuf>,
    /// `--broken FILE`: it breaks on the first request while this file is there.
    pub broken: Option<PathBuf>,
}

/// Says what is wrong with the command line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No part of the desk has this name.
    #[error("there is no server `{0}`")]
    NoServer(String),
    /// The flag does not exist.
    #[error("unknown argument `{0}`")]
    Unknown(String),
    /// The flag stands last and needs a value.
    #[error("`{0}` needs a value")]
    NoValue(String),
}

/// Returns the servers of the desk.
///
/// # Panics
///
/// If the data is not what it should be.
pub fn desk() -> Vec<Part> {
    serde_json::from_str(CATALOG).expect("seed/catalog.json holds servers")
}

/// Returns the requests for the tools of the desk.
///
/// # Panics
///
/// If the data is not what it should be.
pub fn tasks() -> Vec<Task> {
    TASKS.lines().map(|line| serde_json::from_str(line).expect("seed/tasks.jsonl holds requests")).collect()
}

/// Returns what is asked on one day, in order.
///
/// # Panics
///
/// If the data is not what it should be.
pub fn day() -> Vec<Moment> {
    DAY.lines().map(|line| serde_json::from_str(line).expect("seed/day.jsonl holds moments")).collect()
}

impl Options {
    /// Reads the arguments that follow the program's name: the name of a server, and flags.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut arguments = arguments;
        let name = arguments.next().unwrap_or_default();
        let part = desk().into_iter().find(|part| part.server == name).ok_or(Error::NoServer(name))?;
        let mut options = Self { part, calls: None, broken: None };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().map(PathBuf::from).ok_or_else(|| Error::NoValue(flag.clone()));
            match flag.as_str() {
                "--calls" => options.calls = Some(value?),
                "--broken" => options.broken = Some(value?),
                _ => return Err(Error::Unknown(flag)),
            }
        }
        Ok(options)
    }
}

/// Answers requests until stdin ends.
pub fn serve(options: &Options) -> ExitCode {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if options.broken.as_deref().is_some_and(Path::exists) {
            return ExitCode::from(BROKEN);
        }
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { continue };
        let mut reply = json!({"jsonrpc": "2.0", "id": id});
        match answer(options, method, &message["params"]) {
            Ok(result) => reply["result"] = result,
            Err(error) => reply["error"] = error,
        }
        if writeln!(io::stdout().lock(), "{reply}").is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn answer(options: &Options, method: &str, params: &Value) -> Result<Value, Value> {
    let part = &options.part;
    match method {
        "initialize" => Ok(json!({
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": part.server, "version": "1.0.0"}
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": part.tools})),
        "tools/call" => call(options, params),
        _ => Err(json!({"code": -32601, "message": format!("Method not found: {method}")})),
    }
}

fn call(options: &Options, params: &Value) -> Result<Value, Value> {
    let name = params["name"].as_str().unwrap_or_default();
    let tool = options.part.tools.iter().find(|tool| tool["name"] == name);
    let tool = tool.ok_or_else(|| json!({"code": -32602, "message": format!("Unknown tool: {name}")}))?;
    if let Some(calls) = &options.calls {
        note(calls, &json!({"name": name, "arguments": params["arguments"]}));
    }
    let required = tool["inputSchema"]["required"].as_array().into_iter().flatten();
    let missing = required.filter_map(Value::as_str).find(|key| params["arguments"].get(key).is_none());
    if let Some(key) = missing {
        let text = format!("Missing required argument: {key}");
        return Ok(json!({"content": [{"type": "text", "text": text}], "isError": true}));
    }
    let result = filled(options.part.results[name].clone(), &params["arguments"]);
    Ok(json!({"content": [{"type": "text", "text": result.to_string()}]}))
}

/// Puts arguments where an answer has their names.
fn filled(answer: Value, arguments: &Value) -> Value {
    match answer {
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, filled(value, arguments))).collect()
        }
        Value::String(text) => match text.strip_prefix('$') {
            Some(name) => arguments.get(name).cloned().unwrap_or_default(),
            None => Value::String(text),
        },
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => other,
    }
}

fn note(calls: &Path, call: &Value) {
    let file = OpenOptions::new().create(true).append(true).open(calls);
    let written = file.and_then(|mut file| writeln!(file, "{call}"));
    written.unwrap_or_else(|error| panic!("{}: {error}", calls.display()));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn r19_the_desk_has_75_tools_with_answers_and_every_request_fits_them() {
        let desk = desk();
        let mut names = BTreeSet::new();
        for part in &desk {
            for tool in &part.tools {
                let name = tool["name"].as_str().unwrap();
                assert!(part.results.contains_key(name), "{name} has no answer");
                assert!(names.insert(format!("{}__{name}", part.server)), "{name} is there twice");
            }
        }
        assert_eq!(names.len(), 75);
        for task in tasks() {
            assert_eq!(task.gold.is_empty(), matches!(&*task.kind, "vague" | "unanswerable"), "{task:?}");
            for id in task.gold.iter().flatten() {
                assert!(names.contains(id), "{id} is not on the desk");
            }
        }
    }

    #[test]
    fn an_answer_repeats_arguments() {
        let answer = json!({"a": "$path", "b": {"c": "plain"}, "d": "$lost", "e": [1]});
        let expected = json!({"a": "x.md", "b": {"c": "plain"}, "d": null, "e": [1]});
        assert_eq!(filled(answer, &json!({"path": "x.md"})), expected);
    }
}
