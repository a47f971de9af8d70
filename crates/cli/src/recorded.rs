//! A recorded server: lists the tools of a catalog, does nothing, and writes down every call.
//!
//! Measurements put it behind the hub in place of a real server. What counts for them is the ledger: the calls that
//! arrived, whatever the hub and its client said about them.

use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_hub::jsonrpc::{ErrorObject, Fields, Message, raw, response_line};

use crate::failure::Failure;
use crate::output;

/// The version of the protocol for clients that name none.
const VERSION: &str = "2025-11-25";

/// Serve a server of a recorded catalog over stdio and write every call into a ledger
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard recorded catalog.json memory ledger.jsonl

The catalog is a list of {\"server\", \"info\", \"tools\"}. Each call becomes a line of the ledger:
{\"at\", \"tool\", \"arguments\", \"missing\"}; several servers may share one ledger.")]
pub(crate) struct Recorded {
    /// The recorded catalog
    catalog: PathBuf,
    /// The server of the catalog to be
    server: String,
    /// The file that calls are appended to
    ledger: PathBuf,
}

pub(crate) fn run(asked: &Recorded) -> Result<(), Failure> {
    let recording = Recording::read(&asked.catalog, &asked.server)?;
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match Message::parse(&line) {
            Ok(Message::Request { id, method, params }) => {
                let outcome = recording.answer(&method, params.as_deref(), &asked.ledger)?;
                response_line(Some(&id), &outcome)
            }
            Ok(Message::Notification { .. } | Message::Response { .. }) => continue,
            Err(malformed) => response_line(None, &Err(malformed.to_error())),
        };
        output::raw_json(&answer)?;
    }
    Ok(())
}

/// One server as the catalog has it.
#[derive(Deserialize)]
struct Recording {
    server: String,
    #[serde(default)]
    info: Option<Box<RawValue>>,
    tools: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    at: f64,
    tool: String,
    arguments: &'a Map<String, Value>,
    missing: &'a [String],
}

type Outcome = Result<Box<RawValue>, ErrorObject>;

impl Recording {
    fn read(catalog: &Path, server: &str) -> Result<Self, Failure> {
        let unreadable = |why: &str| Failure::usage(format!("`{}` cannot be read: {why}", catalog.display()));
        let text = std::fs::read_to_string(catalog).map_err(|err| unreadable(&err.to_string()))?;
        let all: Vec<Self> = serde_json::from_str(&text).map_err(|err| unreadable(&err.to_string()))?;
        let names: Vec<String> = all.iter().map(|it| it.server.clone()).collect();
        all.into_iter().find(|it| it.server == server).ok_or_else(|| {
            Failure::usage(format!("`{}` has no server `{server}`", catalog.display()))
                .hint(format!("it has {}", names.join(", ")))
        })
    }

    /// Answers a request; fails only when the ledger cannot be written.
    fn answer(&self, method: &str, params: Option<&RawValue>, ledger: &Path) -> Result<Outcome, Failure> {
        Ok(match method {
            "initialize" => Ok(self.greeting(params)),
            "ping" => Ok(raw(&json!({}))),
            "tools/list" => {
                let mut list = Fields::default();
                list.set("tools", raw(&self.tools));
                Ok(raw(&list))
            }
            "tools/call" => match params.map(|it| serde_json::from_str::<Call>(it.get())) {
                Some(Ok(call)) => self.call(&call, ledger)?,
                Some(Err(err)) => Err(ErrorObject::invalid_params(err.to_string())),
                None => Err(ErrorObject::invalid_params("`name` is missing")),
            },
            _ => Err(ErrorObject::unknown_method(method)),
        })
    }

    fn greeting(&self, params: Option<&RawValue>) -> Box<RawValue> {
        let asked = Fields::parse(params).unwrap_or_default();
        let version = asked.text("protocolVersion").unwrap_or_else(|| VERSION.to_owned());
        let own_name = || raw(&json!({ "name": self.server, "version": "1" }));
        let mut greeting = Fields::default();
        greeting.set("protocolVersion", raw(&version));
        greeting.set("capabilities", raw(&json!({ "tools": {} })));
        greeting.set("serverInfo", self.info.clone().unwrap_or_else(own_name));
        raw(&greeting)
    }

    /// Writes a call down and acknowledges it, as far as the tool would have run.
    fn call(&self, call: &Call, ledger: &Path) -> Result<Outcome, Failure> {
        let none = Map::new();
        let arguments = call.arguments.as_ref().unwrap_or(&none);
        let required = self.required(&call.name);
        let is_known = required.is_some();
        let mut missing = required.unwrap_or_default();
        missing.retain(|name| !arguments.contains_key(name));
        let tool = format!("{}__{}", self.server, call.name);
        append(ledger, &Entry { at: seconds(), tool, arguments, missing: &missing })?;
        if !is_known {
            return Ok(Err(ErrorObject::invalid_params(format!("there is no tool `{}`", call.name))));
        }
        let text = if missing.is_empty() {
            format!(
                "ok: {} was called with {}. This is a recorded server without data behind it: treat the call as \
                 successful and do not repeat it.",
                call.name,
                Value::Object(arguments.clone())
            )
        } else {
            format!(
                "error: {} was not run; required arguments are missing: {}",
                call.name,
                missing.join(", ")
            )
        };
        let content = [json!({ "type": "text", "text": text })];
        Ok(Ok(raw(&json!({ "content": content, "isError": !missing.is_empty() }))))
    }

    /// Returns the arguments that a tool requires; `None` when there is no such tool.
    fn required(&self, tool: &str) -> Option<Vec<String>> {
        let mut definitions = self.tools.iter().filter_map(|it| serde_json::from_str::<Value>(it.get()).ok());
        let definition = definitions.find(|it| it["name"] == tool)?;
        let names = definition["inputSchema"]["required"].as_array();
        Some(names.into_iter().flatten().filter_map(|it| Some(it.as_str()?.to_owned())).collect())
    }
}

/// Adds a line in one write, so that lines of several servers never mix.
///
/// The file is opened anew each time: whoever measures may take the ledger away between two tasks.
fn append(ledger: &Path, entry: &Entry<'_>) -> Result<(), Failure> {
    let line = format!("{}\n", raw(entry));
    let write = || OpenOptions::new().create(true).append(true).open(ledger)?.write_all(line.as_bytes());
    write().map_err(|err| Failure::new(format!("`{}` cannot be written: {err}", ledger.display())))
}

/// Returns the seconds since 1970.
fn seconds() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
