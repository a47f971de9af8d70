//! HTTP by hand: any bytes out, everything that comes back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::yard::{SESSION, SOON};

/// One answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Gives the body as JSON, or the last event's data.
    pub(crate) fn json(&self) -> Value {
        let data =
            self.body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| !data.is_empty());
        let text = data.unwrap_or(&self.body);
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Gives the status and the code of the JSON-RPC error, or zero.
    pub(crate) fn verdict(&self) -> (u16, i64) {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        (self.status, body["error"]["code"].as_i64().unwrap_or(0))
    }
}

/// A connection whose answer comes bit by bit.
pub(crate) struct Line {
    stream: TcpStream,
    unread: Vec<u8>,
    is_chunked: bool,
    pub(crate) head: Reply,
}

impl Line {
    /// Sends a request and reads the head of its answer.
    pub(crate) async fn open(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut stream = connect(url).await;
        stream.write_all(&request(url, method, headers, body.as_bytes())).await.unwrap();
        let mut line = Self { stream, unread: Vec::new(), is_chunked: false, head: Reply::nothing() };
        let end = loop {
            if let Some(end) = find(&line.unread, b"\r\n\r\n") {
                break end;
            }
            assert!(line.fill().await, "the connection ended before the head of an answer");
        };
        let head: Vec<u8> = line.unread.drain(..end + 4).collect();
        line.head = Reply::parse(&String::from_utf8_lossy(&head));
        line.is_chunked = line.head.header("transfer-encoding") == Some("chunked");
        line
    }

    /// Gives the next event as (id, data); `None` when the stream has ended.
    pub(crate) async fn event(&mut self) -> Option<(Option<String>, String)> {
        loop {
            let text = String::from_utf8_lossy(&self.decoded()).into_owned();
            if let Some((event, _)) = text.split_once("\n\n") {
                self.consume(event.len() + 2);
                let field =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                match field("data:") {
                    Some(data) => return Some((field("id:").map(str::to_owned), data.to_owned())),
                    None => continue,
                }
            }
            // A chunk of nothing ends the answer, and the connection goes on.
            if self.unread.starts_with(b"0\r\n\r\n") || !self.fill().await {
                return None;
            }
        }
    }

    /// Gives the next event that has data, as JSON.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        loop {
            let (_, data) = self.event().await?;
            if !data.is_empty() {
                return Some(serde_json::from_str(&data).unwrap());
            }
        }
    }

    /// Reads to the end.
    pub(crate) async fn reply(mut self) -> Reply {
        let length = self.head.header("content-length").and_then(|it| it.parse::<usize>().ok());
        while length.is_none_or(|length| self.unread.len() < length) && self.fill().await {}
        let body = String::from_utf8_lossy(&self.decoded()).into_owned();
        Reply { body, ..self.head }
    }

    async fn fill(&mut self) -> bool {
        let mut chunk = vec![0; 1 << 16];
        let read = timeout(SOON, self.stream.read(&mut chunk)).await.expect("the hub answers");
        let count = read.unwrap_or(0);
        self.unread.extend_from_slice(&chunk[..count]);
        count > 0
    }

    fn decoded(&self) -> Vec<u8> {
        if self.is_chunked { unchunked(&self.unread) } else { self.unread.clone() }
    }

    /// Forgets decoded bytes; what is left is kept as if it had come unchunked.
    fn consume(&mut self, count: usize) {
        let mut rest = &self.unread[..];
        let mut left = count;
        // Events of the hub never share a chunk with a part of another, so whole chunks go.
        while self.is_chunked && left > 0 {
            let end = find(rest, b"\r\n").unwrap();
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
            assert!(size <= left, "an event ends where its chunk does");
            left -= size;
            rest = &rest[end + 2 + size + 2..];
        }
        let rest = if self.is_chunked { rest } else { &rest[count..] };
        self.unread = rest.to_vec();
    }
}

impl Reply {
    fn nothing() -> Self {
        Self { status: 0, headers: Vec::new(), body: String::new() }
    }

    fn parse(head: &str) -> Self {
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Self { status: status.unwrap_or_else(|| panic!("no status in {head}")), headers, body: String::new() }
    }
}

/// Sends a request and reads the whole answer.
pub(crate) async fn send(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut all = vec![("connection", "close")];
    all.extend_from_slice(headers);
    Line::open(url, method, &all, body).await.reply().await
}

/// Sends a message as a client does, with further headers.
pub(crate) async fn post(url: &str, headers: &[(&str, &str)], message: &Value) -> Reply {
    send(url, "POST", &[&JSON, headers].concat(), &message.to_string()).await
}

/// What every message is sent with.
pub(crate) const JSON: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

/// Opens a session and gives its id.
pub(crate) async fn open_session(url: &str, headers: &[(&str, &str)], capabilities: Value) -> String {
    let reply = post(url, headers, &initialize(capabilities)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.header("mcp-session-id").unwrap().to_owned()
}

/// The message that opens a session.
pub(crate) fn initialize(capabilities: Value) -> Value {
    let info = json!({"name": "by hand", "version": "1"});
    ask("initialize", json!({"protocolVersion": SESSION, "capabilities": capabilities, "clientInfo": info}))
}

/// A request with the id 1.
pub(crate) fn ask(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A request with the id 1 that needs no session.
pub(crate) fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    ask(method, params)
}

/// Opens a connection.
pub(crate) async fn connect(url: &str) -> TcpStream {
    timeout(Duration::from_secs(10), TcpStream::connect(authority(url))).await.unwrap().unwrap()
}

/// Writes a request down; `host` and `content-length` are added unless given.
pub(crate) fn request(url: &str, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let path = &url[url.find(authority(url)).unwrap() + authority(url).len()..];
    let mut head = format!("{method} {} HTTP/1.1\r\n", if path.is_empty() { "/" } else { path });
    let has = |name: &str| headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
    if !has("host") {
        head.push_str(&format!("host: {}\r\n", authority(url)));
    }
    if !has("content-length") && !has("transfer-encoding") {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

fn authority(url: &str) -> &str {
    url.strip_prefix("http://").unwrap().split('/').next().unwrap()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = find(bytes, b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let Some(chunk) = bytes.get(end + 2..end + 2 + size).filter(|_| size > 0) else { break };
        body.extend_from_slice(chunk);
        bytes = bytes.get(end + 2 + size + 2..).unwrap_or_default();
    }
    body
}
