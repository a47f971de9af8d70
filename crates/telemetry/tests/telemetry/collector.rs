//! An OTLP collector on loopback, and the small HTTP client that posts to it.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use toolyard_telemetry::otlp::Post;

/// What the collector was sent.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) json: Value,
}

/// A collector that answers with the given statuses, and then always with 200.
pub(crate) struct Collector {
    pub(crate) address: String,
    received: mpsc::UnboundedReceiver<Received>,
}

impl Collector {
    pub(crate) async fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, received) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut statuses = statuses.iter().copied();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let status = statuses.next().unwrap_or(200);
                let received = serve(stream, status).await;
                if status == 200 && sender.send(received).is_err() {
                    break;
                }
            }
        });
        Self { address, received }
    }

    /// Waits for the next request that was answered with 200.
    pub(crate) async fn next(&mut self) -> Received {
        self.received.recv().await.expect("the collector runs")
    }

    /// Waits for the next request to a path.
    pub(crate) async fn next_at(&mut self, path: &str) -> Value {
        loop {
            let received = self.next().await;
            if received.path == path {
                return received.json;
            }
        }
    }
}

/// Posts to an address over TCP, as the hub's HTTP client would.
pub(crate) fn post_to(address: &str) -> Post {
    let address = address.to_owned();
    Arc::new(move |path, json| {
        let address = address.clone();
        async move { post(&address, &path, &json).await }.boxed()
    })
}

async fn post(address: &str, path: &str, json: &str) -> Result<(), String> {
    let mut stream = TcpStream::connect(address).await.map_err(|err| err.to_string())?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        json.len()
    );
    stream.write_all((head + json).as_bytes()).await.map_err(|err| err.to_string())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.map_err(|err| err.to_string())?;
    if answer.starts_with("HTTP/1.1 200 ") {
        Ok(())
    } else {
        Err(answer.lines().next().unwrap_or("").to_owned())
    }
}

async fn serve(mut stream: TcpStream, status: u16) -> Received {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.unwrap();
        assert!(read > 0, "the request ended early");
        bytes.extend_from_slice(&chunk[..read]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if bytes.len() >= end + 4 + length.parse::<usize>().unwrap() {
            break (head, bytes[end + 4..].to_vec());
        }
    };
    let answer = format!("HTTP/1.1 {status} Said\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
    stream.write_all(answer.as_bytes()).await.unwrap();
    assert!(head.contains("content-type: application/json"), "{head}");
    let path = head.split(' ').nth(1).unwrap().to_owned();
    Received { path, json: serde_json::from_slice(&body).unwrap() }
}
