//! The listener that a browser is sent back to at the end of a login.
//!
//! It lives for one answer, on a port of loopback. Whatever does not carry the state of this login
//! (an icon, a second tab, another program's guess) gets an error page, and the wait goes on. The browser's
//! connection is kept until the tokens are there, so that the page tells how it really ended.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::time::Duration;

use axum::http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, JoinSet};
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
    arrival: Arrival,
    /// Whoever else has a connection open is let go with the answer.
    visitors: JoinSet<()>,
}

/// The request that carries the state, as its connection hands it over.
#[derive(Debug)]
struct Arrival {
    fields: BTreeMap<String, Secret>,
    page: oneshot::Sender<String>,
    /// The task of the connection.
    task: task::Id,
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
        let (arrived, mut arrivals) = mpsc::channel(1);
        loop {
            tokio::select! {
                Some(arrival) = arrivals.recv() => return Ok(Answer { arrival, visitors }),
                accepted = self.listener.accept(), if visitors.len() < MOST_OPEN => {
                    let (stream, _) = accepted.map_err(|err| Error::Listener { reason: err.to_string() })?;
                    visitors.spawn(receive(stream, state.clone(), arrived.clone()));
                }
                Some(_) = visitors.join_next() => {}
            }
        }
    }
}

impl Answer {
    /// The value of a field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.arrival.fields.get(name).map(Secret::expose)
    }

    /// Shows the end of the login in the browser.
    pub(super) async fn close(mut self, outcome: Result<&str, &str>) {
        let (title, text) = match outcome {
            Ok(server) => ("Logged in", format!("Toolyard may now use {server}. You can close this page.")),
            Err(reason) => ("Login failed", reason.to_owned()),
        };
        // The browser may be gone; the login does not depend on its page.
        if self.arrival.page.send(page(title, &text)).is_err() {
            return;
        }
        let shown = async {
            while let Some(ended) = self.visitors.join_next_with_id().await {
                if ended.map_or_else(|err| err.id(), |(id, ())| id) == self.arrival.task {
                    return;
                }
            }
        };
        _ = timeout(PATIENCE, shown).await;
    }
}

/// Serves one request of one connection; the one that is the answer is handed over and waits for its page.
async fn receive(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    state: Secret,
    arrived: mpsc::Sender<Arrival>,
) {
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        let answer = answer(request.method(), request.uri(), &state);
        let arrived = arrived.clone();
        async move { Ok::<_, Infallible>(visit(answer, &arrived).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MOST_BYTES)
        .half_close(true)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // Whoever speaks no HTTP or leaves early is no concern of the login.
    _ = connection.await;
}

async fn visit(
    answer: Result<BTreeMap<String, Secret>, StatusCode>,
    arrived: &mpsc::Sender<Arrival>,
) -> Response {
    let status = match answer {
        Ok(fields) => {
            let (page, shown) = oneshot::channel();
            // A second answer has nobody to take it, and its page never comes.
            drop(arrived.try_send(Arrival { fields, page, task: task::id() }));
            match shown.await {
                Ok(page) => return reply(StatusCode::OK, page),
                Err(_) => StatusCode::BAD_REQUEST,
            }
        }
        Err(status) => status,
    };
    reply(status, page("Not here", "This page belongs to no login that is under way."))
}

/// The fields of the answer, or the status for a request that is none.
fn answer(method: &Method, target: &Uri, state: &Secret) -> Result<BTreeMap<String, Secret>, StatusCode> {
    if method != Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    if target.path() != "/callback" {
        return Err(StatusCode::NOT_FOUND);
    }
    let mut fields = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(target.query().unwrap_or_default().as_bytes()) {
        // A field that comes twice leaves open which one was meant.
        if fields.insert(name.into_owned(), Secret::new(value.into_owned())).is_some() {
            return Err(StatusCode::BAD_REQUEST);
        }
    }
    if fields.get("state") == Some(state) { Ok(fields) } else { Err(StatusCode::BAD_REQUEST) }
}

fn reply(status: StatusCode, page: String) -> Response {
    let mut response = (status, Html(page)).into_response();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
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
    use std::collections::BTreeMap;

    use axum::http::StatusCode;
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::mpsc;

    use super::{Callback, MOST_BYTES, Secret, page, receive};

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

    #[tokio::test]
    async fn what_is_too_long_or_no_http_is_sent_away() {
        for request in [
            format!("GET /callback?state=right&more={} HTTP/1.1\r\n\r\n", "x".repeat(2 * MOST_BYTES)),
            "GET /callback?state=right\r\n\r\n".to_owned(),
            "state=right\r\n\r\n".to_owned(),
        ] {
            assert!(!is_answer(request.as_bytes(), "right").await, "{request:.40}");
        }
        assert!(is_answer(b"GET /callback?state=right HTTP/1.1\r\n\r\n", "right").await);
    }

    #[tokio::test]
    async fn the_second_answer_is_none() {
        let (arrived, mut arrivals) = mpsc::channel(1);
        let visit = || {
            let (fields, arrived) = (BTreeMap::new(), arrived.clone());
            tokio::spawn(async move { super::visit(Ok(fields), &arrived).await.status() })
        };
        let first = visit();
        let arrival = arrivals.recv().await.unwrap();
        drop(arrivals);
        assert_eq!(visit().await.unwrap(), StatusCode::BAD_REQUEST);
        arrival.page.send("done".to_owned()).unwrap();
        assert_eq!(first.await.unwrap(), StatusCode::OK);
    }

    proptest! {
        #[test]
        fn no_request_is_a_panic_and_none_guesses_the_state(head in any::<String>(), query in "[a-z=&%+0-9]{0,30}") {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            for request in [
                format!("{head}\r\n\r\n"),
                format!("GET /callback?{query} HTTP/1.1\r\n{head}\r\n\r\n"),
                format!("GET /callback?{query} HTTP/1.1\r\n\r\n"),
            ] {
                prop_assert!(!runtime.block_on(is_answer(request.as_bytes(), "b4dSt4te-that-is-long")));
            }
        }
    }

    /// Sends a request and hangs up.
    async fn is_answer(request: &[u8], state: &str) -> bool {
        let (arrived, mut arrivals) = mpsc::channel(1);
        let (mut browser, stream) = tokio::io::duplex(4 * MOST_BYTES);
        browser.write_all(request).await.unwrap();
        browser.shutdown().await.unwrap();
        let serving = tokio::spawn(receive(stream, Secret::new(state.to_owned()), arrived));
        let arrival = arrivals.recv().await;
        let is_answer = arrival.is_some();
        drop(arrival);
        serving.await.unwrap();
        is_answer
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
