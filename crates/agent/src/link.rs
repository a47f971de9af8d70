//! The hub's own tools, reached as any client reaches them: over a stream, in a session of the protocol.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::task::JoinHandle;
use toolyard_hub::jsonrpc::raw;
use toolyard_hub::serve::{Reception, stdio};

use crate::host::{Consent, Elicitation, Host, Nobody, Why};

/// Bytes that may be under way in one direction.
const PIPE: usize = 256 * 1024;
/// What a form asks that wants a confirmation.
const CONFIRM: &str = "confirm";
/// The revision of the protocol that is spoken.
const VERSION: &str = "2025-11-25";

/// One session with the hub.
#[derive(Debug)]
pub(crate) struct Link {
    lines: BufReader<ReadHalf<DuplexStream>>,
    out: WriteHalf<DuplexStream>,
    serving: JoinHandle<std::io::Result<()>>,
    last: u64,
    /// Whether somebody can answer questions.
    is_attended: bool,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Link {
    /// Opens a session. Confirmations are always asked for as forms, which a model never sees; other questions only
    /// where somebody can answer them.
    pub(crate) async fn open(reception: Arc<Reception>, is_attended: bool) -> std::io::Result<Self> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (input, output) = split(theirs);
        let serving = tokio::spawn(async move { stdio::serve_streams(reception, input, output).await });
        let (input, out) = split(ours);
        let mut link = Self { lines: BufReader::new(input), out, serving, last: 0, is_attended };
        let hello = json!({
            "protocolVersion": VERSION,
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "toolyard-agent", "version": env!("CARGO_PKG_VERSION") },
        });
        link.request("initialize", hello, &mut Nobody).await?;
        link.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(link)
    }

    /// Returns the tools that are listed.
    pub(crate) async fn list(&mut self) -> std::io::Result<Vec<Value>> {
        let result = self.request("tools/list", json!({}), &mut Nobody).await?;
        Ok(result["tools"].as_array().cloned().unwrap_or_default())
    }

    /// Calls a tool; `host` answers what is asked meanwhile.
    pub(crate) async fn call(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        host: &mut impl Host,
    ) -> std::io::Result<Box<RawValue>> {
        let params = json!({ "name": name, "arguments": arguments });
        Ok(raw(&self.request("tools/call", params, host).await?))
    }

    async fn request(&mut self, method: &str, params: Value, host: &mut impl Host) -> std::io::Result<Value> {
        self.last += 1;
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": &params })).await?;
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let said: Value = serde_json::from_str(&line)?;
            match (said["method"].as_str(), said.get("id")) {
                (Some("elicitation/create"), Some(theirs))
                    if self.is_attended || confirms(&said["params"]) =>
                {
                    let answer = answered(&said["params"], &params, host).await;
                    self.write(&json!({ "jsonrpc": "2.0", "id": theirs, "result": answer })).await?;
                }
                (Some(_), Some(theirs)) => {
                    let error = json!({ "code": -32601, "message": "not supported" });
                    self.write(&json!({ "jsonrpc": "2.0", "id": theirs, "error": error })).await?;
                }
                (None, Some(theirs)) if *theirs == id => {
                    // What the hub refuses is something for the model to read.
                    return Ok(match said.get("error") {
                        Some(error) => {
                            let text = error["message"].as_str().unwrap_or("it was refused");
                            json!({ "content": [{ "type": "text", "text": text }], "isError": true })
                        }
                        None => said["result"].clone(),
                    });
                }
                (Some(_) | None, _) => {}
            }
        }
    }

    async fn write(&mut self, message: &Value) -> std::io::Result<()> {
        self.out.write_all(format!("{message}\n").as_bytes()).await?;
        self.out.flush().await
    }
}

/// Whether a form asks for a yes and nothing else.
fn confirms(form: &Value) -> bool {
    let properties = form["requestedSchema"]["properties"].as_object();
    properties.is_some_and(|it| it.len() == 1 && it.contains_key(CONFIRM))
}

/// Has the person answer a form during a call.
async fn answered(form: &Value, call: &Value, host: &mut impl Host) -> Value {
    let message = form["message"].as_str().unwrap_or_default().to_owned();
    let content = if confirms(form) {
        let consent = Consent {
            tool: call["name"].as_str().unwrap_or_default().to_owned(),
            arguments: call["arguments"].as_object().cloned().unwrap_or_default(),
            why: Why::Policy(message),
        };
        host.agree(consent).await.then(|| Map::from_iter([(CONFIRM.to_owned(), Value::Bool(true))]))
    } else {
        host.answer(Elicitation { message, schema: form["requestedSchema"].clone() }).await
    };
    match content {
        Some(content) => json!({ "action": "accept", "content": content }),
        None => json!({ "action": "decline" }),
    }
}
