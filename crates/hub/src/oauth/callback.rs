//! The listener that a browser is sent back to at the end of a login.
//!
//! It lives for one answer, on a port of loopback. Whatever does not carry the state of this login
//! (an icon, a second tab, another program's guess) gets an error page, and the wait goes on. The browser's
//! connection is kept until the tokens are there, so that the page tells how it really ended.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Error;
use crate::vault::Secret;

const MOST_BYTES: usize = 16 * 1024;
/// Browsers open connections ahead and send nothing on them.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_OPEN: usize = 32;

/// A listener on a port of loopback.
#[derive(Debug)]
pub(super) struct Callback {
    listener: TcpListener,
    port: u16,
}

/// What the browser brought, and the connection on which it waits.
#[derive(Debug)]
pub(super) struct Answer {
    pub fields: BTreeMap<String, Secret>,
    browser: TcpStream,
}

impl Callback {
    /// Listens on a port, or on any free one for 0.
    pub(super) async fn bind(port: u16) -> Result<Self, Error> {
        let failed = |err: std::io::Error| Error::Listener { reason: err.to_string() };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn redirect(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    /// Waits for the answer that carries the state. Dropping the future closes the port.
    pub(super) async fn wait(self, state: &Secret) -> Result<Answer, Error> {
        let mut visitors = JoinSet::new();
        loop {
            tokio::select! {
                arrived = self.listener.accept(), if visitors.len() < MOST_OPEN => {
                    let (stream, _) = arrived.map_err(|err| Error::Listener { reason: err.to_string() })?;
                    let state = state.clone();
                    visitors.spawn(timeout(PATIENCE, async move { receive(stream, &state).await }));
                }
                Some(visit) = visitors.join_next() => {
                    if let Ok(Ok(Some(answer))) = visit {
                        return Ok(answer);
                    }
                }
            }
        }
    }
}

impl Answer {
    /// The value of a field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(Secret::expose)
    }

    /// Shows the end of the login in the browser.
    pub(super) async fn close(mut self, outcome: Result<&str, &str>) {
        let (title, text) = match outcome {
            Ok(server) => ("Logged in", format!("Toolyard may now use {server}. You can close this page.")),
            Err(reason) => ("Login failed", reason.to_owned()),
        };
        reply(&mut self.browser, "200 OK", &page(title, &text)).await;
    }
}

/// Reads one request; `None` when it was not the answer, which it has then been told.
async fn receive(mut stream: TcpStream, state: &Secret) -> Option<Answer> {
    let head = read_head(&mut stream).await?;
    match answer(&head, state) {
        Ok(fields) => Some(Answer { fields, browser: stream }),
        Err(status) => {
            reply(&mut stream, status, &page("Not here", "This page belongs to no login that is under way."))
                .await;
            None
        }
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 2048];
    while !head.windows(4).any(|part| part == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).await.ok()?;
        if count == 0 || head.len() + count > MOST_BYTES {
            return None;
        }
        head.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(head).ok()
}

/// The fields of the answer, or the status for a request that is none.
fn answer(head: &str, state: &Secret) -> Result<BTreeMap<String, Secret>, &'static str> {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != "GET" {
        return Err("405 Method Not Allowed");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != "/callback" {
        return Err("404 Not Found");
    }
    let mut fields = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        // A field that comes twice leaves open which one was meant.
        if fields.insert(name.into_owned(), Secret::new(value.into_owned())).is_some() {
            return Err("400 Bad Request");
        }
    }
    if fields.get("state") == Some(state) { Ok(fields) } else { Err("400 Bad Request") }
}

async fn reply(stream: &mut TcpStream, status: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n\
         content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The browser may be gone; the login does not depend on its page.
    _ = stream.write_all(head.as_bytes()).await;
    _ = stream.write_all(body.as_bytes()).await;
    _ = stream.shutdown().await;
}

fn page(title: &str, text: &str) -> String {
    let (title, text) = (escape(title), escape(text));
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title} · Toolyard</title><style>:root{{color-scheme:light dark}}body{{font:1.1rem/1.6 system-ui,\
         sans-serif;display:grid;place-content:center;min-height:90vh;margin:0 1.5rem;max-width:34rem;\
         margin-inline:auto}}h1{{font-size:1.7rem;margin:0}}p{{margin:.4rem 0;opacity:.8}}</style>\
         <h1>{title}</h1><p>{text}</p></html>"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::{Callback, Secret, answer, page};

    #[tokio::test]
    async fn stray_visitors_are_sent_away_and_the_right_one_is_served() {
        let callback = Callback::bind(0).await.unwrap();
        let port = callback.port();
        let state = Secret::new("right".to_owned());
        // A connection that never speaks must not hold up the others.
        let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let visits = async {
            let mut seen = Vec::new();
            for target in [
                "/favicon.ico",
                "/callback?state=wrong&code=x",
                "/callback",
                "/callback?state=right&state=right",
            ] {
                seen.push(visit(port, "GET", target).await);
            }
            seen.push(visit(port, "POST", "/callback?state=right&code=x").await);
            seen.push(visit(port, "GET", "/callback?state=right&code=a%2Bb").await);
            seen
        };
        let login = async {
            let answer = callback.wait(&state).await.unwrap();
            let code = answer.field("code").map(str::to_owned);
            answer.close(Ok("<b>")).await;
            code
        };
        let (seen, code) = tokio::join!(visits, login);
        assert_eq!(code.as_deref(), Some("a+b"));
        insta::assert_snapshot!(seen.join("\n"), @"
        GET /favicon.ico
          HTTP/1.1 404 Not Found
          Not here: This page belongs to no login that is under way.
        GET /callback?state=wrong&code=x
          HTTP/1.1 400 Bad Request
          Not here: This page belongs to no login that is under way.
        GET /callback
          HTTP/1.1 400 Bad Request
          Not here: This page belongs to no login that is under way.
        GET /callback?state=right&state=right
          HTTP/1.1 400 Bad Request
          Not here: This page belongs to no login that is under way.
        POST /callback?state=right&code=x
          HTTP/1.1 405 Method Not Allowed
          Not here: This page belongs to no login that is under way.
        GET /callback?state=right&code=a%2Bb
          HTTP/1.1 200 OK
          Logged in: Toolyard may now use &lt;b&gt;. You can close this page.
        ");
    }

    #[tokio::test]
    async fn dropping_the_wait_closes_the_port() {
        let callback = Callback::bind(0).await.unwrap();
        let port = callback.port();
        let state = Secret::new("right".to_owned());
        let mut wait = Box::pin(callback.wait(&state));
        assert!(futures_util::poll!(wait.as_mut()).is_pending());
        drop(wait);
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    }

    #[test]
    fn a_page_shows_a_strangers_words_as_words() {
        assert!(page("Login failed", "<script>\"&").contains("&lt;script&gt;&quot;&amp;"));
    }

    proptest! {
        #[test]
        fn no_request_is_a_panic_and_none_guesses_the_state(head in any::<String>(), query in "[a-z=&%+0-9]{0,30}") {
            let state = Secret::new("b4dSt4te-that-is-long".to_owned());
            prop_assert!(answer(&head, &state).is_err());
            let asked = format!("GET /callback?{query} HTTP/1.1\r\n\r\n");
            prop_assert!(answer(&asked, &state).is_err());
        }
    }

    async fn visit(port: u16, method: &str, target: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let request = format!("{method} {target} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        let status = said.lines().next().unwrap_or_default().to_owned();
        let text =
            said.rsplit_once("<h1>").map(|(_, rest)| rest.replace("</h1><p>", ": ")).unwrap_or_default();
        format!("{method} {target}\n  {status}\n  {}", text.trim_end_matches("</p></html>"))
    }
}
