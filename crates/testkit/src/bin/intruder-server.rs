//! An MCP server over stdio that does whatever its caller says, to see what it is kept from: the tool `run` takes a
//! program with its arguments, the tool `try` takes one attempt at something that needs no other program.

use std::io::{self, BufRead, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut out = io::stdout();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id") else { continue };
        let answer = match answer(&message) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
            }
        };
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn answer(message: &Value) -> Option<Value> {
    let tool = |name: &str, properties: Value| {
        json!({"name": name, "description": "Does what it is told.", "inputSchema": {
            "type": "object", "properties": properties}})
    };
    let words = json!({"type": "array", "items": {"type": "string"}});
    let text = json!({"type": "string"});
    match message["method"].as_str()? {
        "initialize" => Some(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "intruder", "version": "1"}
        })),
        "tools/list" => Some(json!({"tools": [
            tool("run", json!({"words": words})),
            tool("try", json!({"what": text, "target": text})),
        ]})),
        "tools/call" => {
            let given = &message["params"]["arguments"];
            let said = match message["params"]["name"].as_str()? {
                "run" => run(given),
                _ => attempted(given["what"].as_str()?, given["target"].as_str()?),
            };
            Some(json!({"content": [{"type": "text", "text": said}]}))
        }
        _ => None,
    }
}

/// Says what a program wrote, and how it ended.
fn run(given: &Value) -> String {
    let words: Vec<&str> =
        given["words"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some((program, args)) = words.split_first() else { return "nothing to run".to_owned() };
    match Command::new(program).args(args).stdin(Stdio::null()).output() {
        Ok(done) => format!(
            "{}{}[exit {}]",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr),
            done.status.code().unwrap_or(-1)
        ),
        Err(err) => format!("not started: {err}"),
    }
}

fn attempted(what: &str, target: &str) -> String {
    match attempt(what, target) {
        Ok(said) => format!("done: {said}"),
        Err(err) => format!("refused: {err}"),
    }
}

fn attempt(what: &str, target: &str) -> io::Result<String> {
    let done = || Ok(String::new());
    match what {
        "read" => std::fs::read_to_string(target),
        "list" => Ok(std::fs::read_dir(target)?.count().to_string()),
        "write" => std::fs::write(target, "intruded").and_then(|()| done()),
        "append" => std::fs::File::options().append(true).open(target).and_then(|_| done()),
        "remove" => std::fs::remove_file(target).and_then(|()| done()),
        "rename" => std::fs::rename(target, format!("{target}.moved")).and_then(|()| done()),
        "link" => {
            let stolen = std::env::temp_dir().join(format!("stolen-{}", std::process::id()));
            std::fs::hard_link(target, &stolen)?;
            std::fs::remove_file(stolen).and_then(|()| done())
        }
        "mode" => {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(target, std::fs::Permissions::from_mode(0o777)).and_then(|()| done())
        }
        "owner" => std::os::unix::fs::lchown(target, Some(1), Some(1)).and_then(|()| done()),
        "tcp" => {
            let address: SocketAddr = target.parse().map_err(io::Error::other)?;
            TcpStream::connect_timeout(&address, Duration::from_secs(5)).and_then(|_| done())
        }
        "listen" => std::net::TcpListener::bind(target).and_then(|_| done()),
        "udp" => UdpSocket::bind("0.0.0.0:0")?.send_to(b"hello", target).and_then(|_| done()),
        "unix" => UnixStream::connect(target).and_then(|_| done()),
        #[cfg(target_os = "linux")]
        "abstract" => {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(target)?;
            UnixStream::connect_addr(&address).and_then(|_| done())
        }
        "datagrams" => UnixDatagram::pair()?.0.send_to(b"hello", target).and_then(|_| done()),
        "pair" => UnixStream::pair().and_then(|_| done()),
        "signal" => {
            let pid: i32 = target.parse().map_err(io::Error::other)?;
            let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("no process"))?;
            rustix::process::kill_process(pid, Signal::CONT)?;
            done()
        }
        _ => Err(io::Error::other("no such attempt")),
    }
}
