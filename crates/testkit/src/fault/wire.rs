//! Lines on stdout, whole or mangled.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::kind::Fault;

/// What precedes every message of the `garbage` fault: a log line, a JSON text
/// cut short, JSON that is no JSON-RPC, and blank lines.
const GARBAGE: &str =
    "Listening on stdio, have fun!\n{\"jsonrpc\":\"2.0\",\"id\":\n42\n[]\n\n   \n{\"hello\":1}\n";

/// Stands in a message where the `bad-utf8` fault writes bytes that are no UTF-8.
pub(super) const BAD_BYTES: &str = "<bad bytes>";

/// The only writer of stdout; one message at a time.
#[derive(Debug)]
pub(super) struct Wire {
    fault: Option<Fault>,
    stdout: Mutex<io::Stdout>,
}

impl Wire {
    pub(super) fn new(fault: Option<Fault>) -> Self {
        Self { fault, stdout: Mutex::new(io::stdout()) }
    }

    /// Sends the result of a request; `result` is JSON text, however deep or long.
    pub(super) fn reply(&self, id: &Value, result: &str) {
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).as_bytes());
    }

    pub(super) fn reply_error(&self, id: &Value, error: &Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().as_bytes());
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string().as_bytes());
    }

    pub(super) fn ask(&self, id: &str, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(request.to_string().as_bytes());
    }

    /// Writes one message as the fault has it. A reader that went away ends the
    /// process: there is nobody left to serve.
    pub(super) fn send(&self, message: &[u8]) {
        let stdout = self.stdout.lock();
        if self.write(&stdout, message).is_err() {
            std::process::exit(0);
        }
    }

    fn write(&self, mut stdout: &io::Stdout, message: &[u8]) -> io::Result<()> {
        if self.fault == Some(Fault::Garbage) {
            stdout.write_all(GARBAGE.as_bytes())?;
        }
        if self.fault == Some(Fault::BadUtf8) {
            stdout.write_all(&with_bad_bytes(message))?;
        } else if self.fault == Some(Fault::HalfLine) {
            let (first, second) = message.split_at(message.len() / 2);
            stdout.write_all(first)?;
            stdout.flush()?;
            thread::sleep(Duration::from_millis(30));
            stdout.write_all(second)?;
        } else {
            stdout.write_all(message)?;
        }
        if self.fault != Some(Fault::NoNewline) {
            stdout.write_all(b"\n")?;
        }
        stdout.flush()
    }
}

fn with_bad_bytes(message: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(message);
    let parts: Vec<&[u8]> = text.split(BAD_BYTES).map(str::as_bytes).collect();
    parts.join(b"\xff\xfe\xc3\x28".as_slice())
}
