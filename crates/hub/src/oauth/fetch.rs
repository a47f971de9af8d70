//! The few kinds of HTTP request that OAuth needs, each with a time and a size limit.
//!
//! Addresses come from strangers' documents, so every one is checked before it is used: `https` only, or
//! loopback when the MCP server itself is on loopback. A remote server can thus not make us knock at the
//! ports of this machine. A redirect is followed for documents only, and only within one origin.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;
use url::{Host, Url};

use super::Error;

const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(20);
const MOST_BYTES: usize = 256 * 1024;
const MOST_REDIRECTS: usize = 3;

/// Sends requests on behalf of one MCP server.
#[derive(Debug)]
pub(super) struct Fetch {
    loopback: bool,
    client: OnceLock<reqwest::Client>,
}

/// A reply that was read whole.
pub(super) struct Reply {
    pub status: StatusCode,
    /// `None` when the body was not JSON.
    pub body: Option<Value>,
}

impl Fetch {
    pub(super) fn on_behalf_of(server: &Url) -> Self {
        Self { loopback: is_loopback(server), client: OnceLock::new() }
    }

    /// Refuses an address that may not be asked, or shown to a browser.
    pub(super) fn check(&self, url: &Url) -> Result<(), Error> {
        let why = match (url.scheme(), is_loopback(url)) {
            _ if !url.username().is_empty() || url.password().is_some() => "it carries a password",
            ("https" | "http", true) if !self.loopback => {
                "a remote server may not name an address of this machine"
            }
            ("https", _) | ("http", true) => return Ok(()),
            _ => "it is not https",
        };
        Err(Error::Unsafe { url: shown(url), why })
    }

    pub(super) fn parse(&self, text: &str) -> Result<Url, Error> {
        let url = Url::parse(text).map_err(|_| Error::BadUrl { url: printable(text) })?;
        self.check(&url)?;
        Ok(url)
    }

    /// Gets a document; `None` when there is none at that address.
    pub(super) async fn document(&self, url: &Url) -> Result<Option<Value>, Error> {
        let mut url = url.clone();
        for _ in 0..=MOST_REDIRECTS {
            self.check(&url)?;
            let request = self.client()?.get(url.clone()).header(ACCEPT, "application/json");
            let response = send(request, &url).await?;
            let status = response.status();
            if status.is_redirection() {
                let next = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
                let next = next.and_then(|to| url.join(to).ok());
                match next {
                    Some(next) if next.origin() == url.origin() => url = next,
                    _ => {
                        return Err(Error::Unsafe {
                            url: shown(&url),
                            why: "it redirects to another origin",
                        });
                    }
                }
            } else if status.is_success() {
                return Ok(read(response, &url).await?.body);
            } else if status.is_client_error() {
                return Ok(None);
            } else {
                return Err(Error::Unreachable { url: shown(&url), reason: format!("status {status}") });
            }
        }
        Err(Error::Unsafe { url: shown(&url), why: "it redirects too often" })
    }

    /// Posts a form, with the `Authorization` header of a client that has one.
    pub(super) async fn form(&self, url: &Url, form: &Form<'_>) -> Result<Reply, Error> {
        self.check(url)?;
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&form.fields).finish();
        let mut request = self
            .client()?
            .post(url.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(body);
        if let Some(credentials) = &form.authorization {
            let mut credentials = HeaderValue::from_str(credentials).expect("base64 fits a header");
            credentials.set_sensitive(true);
            request = request.header(AUTHORIZATION, credentials);
        }
        read(send(request, url).await?, url).await
    }

    /// Posts JSON.
    pub(super) async fn json(&self, url: &Url, body: &Value) -> Result<Reply, Error> {
        self.check(url)?;
        let request = self
            .client()?
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body.to_string());
        read(send(request, url).await?, url).await
    }

    /// Asks the MCP server without a token, to hear its challenge.
    pub(super) async fn challenge(&self, server: &Url) -> Result<Option<String>, Error> {
        let request = self
            .client()?
            .post(server.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let response = send(request, server).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        let headers =
            response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        Ok(Some(headers.collect::<Vec<_>>().join(", ")))
    }

    fn client(&self) -> Result<&reqwest::Client, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // An error says that the process has a provider already, which is as good.
        _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .timeout(WHOLE)
            .user_agent(concat!("toolyard/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|err| Error::Tls { reason: reason(&err) })?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// The body of a token request. It holds secrets, so it has no `Debug`.
pub(super) struct Form<'a> {
    pub fields: Vec<(&'a str, &'a str)>,
    pub authorization: Option<String>,
}

/// An address as it may stand in a message: a query can hold a secret.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Fails only for addresses that cannot have a user, which is what is wanted.
    _ = url.set_username("");
    _ = url.set_password(None);
    printable(url.as_str())
}

/// A stranger's text as it may stand in a message.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, ' '..='~')).take(200).collect()
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()),
        None => false,
    }
}

async fn send(request: RequestBuilder, url: &Url) -> Result<Response, Error> {
    request.send().await.map_err(|err| Error::Unreachable { url: shown(url), reason: reason(&err) })
}

async fn read(mut response: Response, url: &Url) -> Result<Reply, Error> {
    let status = response.status();
    let mut body = Vec::new();
    loop {
        let chunk = response.chunk().await;
        match chunk.map_err(|err| Error::Unreachable { url: shown(url), reason: reason(&err) })? {
            Some(chunk) if body.len() + chunk.len() > MOST_BYTES => {
                return Err(Error::Unreachable {
                    url: shown(url),
                    reason: format!("the reply is larger than {MOST_BYTES} bytes"),
                });
            }
            Some(chunk) => body.extend_from_slice(&chunk),
            None => return Ok(Reply { status, body: serde_json::from_slice(&body).ok() }),
        }
    }
}

/// The innermost cause, which is the part that a person can act on. It names no address.
fn reason(err: &reqwest::Error) -> String {
    if err.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = err;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if std::ptr::addr_eq(cause, err) {
        "the request failed".to_owned()
    } else {
        printable(&cause.to_string())
    }
}

/// The error code of a reply and its words for a person.
pub(super) fn refusal(reply: &Reply) -> Option<(String, String)> {
    let body = reply.body.as_ref()?;
    let code = printable(body.get("error")?.as_str()?);
    let text = match body.get("error_description").and_then(Value::as_str) {
        Some(more) => format!("{code}: {}", printable(more)),
        None => code.clone(),
    };
    Some((code, text))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{Fetch, shown};

    #[test]
    fn only_https_or_loopback_from_loopback_is_asked() {
        let rows = [
            "https://auth.example/x",
            "http://auth.example/x",
            "http://127.0.0.1:80/x",
            "https://localhost/x",
            "http://[::1]/x",
            "http://[::ffff:127.0.0.1]/x",
            "https://user:word@auth.example/x",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "not an address",
        ]
        .map(|text| {
            let verdict = |server: &str| {
                let fetch = Fetch::on_behalf_of(&Url::parse(server).unwrap());
                fetch.parse(text).map_or_else(|err| err.to_string(), |_| "yes".to_owned())
            };
            format!(
                "{text}\n  remote: {}\n  local: {}",
                verdict("https://mcp.example"),
                verdict("http://127.0.0.1:1")
            )
        });
        insta::assert_snapshot!(rows.join("\n"), @"
        https://auth.example/x
          remote: yes
          local: yes
        http://auth.example/x
          remote: `http://auth.example/x` is refused: it is not https
          local: `http://auth.example/x` is refused: it is not https
        http://127.0.0.1:80/x
          remote: `http://127.0.0.1/x` is refused: a remote server may not name an address of this machine
          local: yes
        https://localhost/x
          remote: `https://localhost/x` is refused: a remote server may not name an address of this machine
          local: yes
        http://[::1]/x
          remote: `http://[::1]/x` is refused: a remote server may not name an address of this machine
          local: yes
        http://[::ffff:127.0.0.1]/x
          remote: `http://[::ffff:7f00:1]/x` is refused: a remote server may not name an address of this machine
          local: yes
        https://user:word@auth.example/x
          remote: `https://auth.example/x` is refused: it carries a password
          local: `https://auth.example/x` is refused: it carries a password
        file:///etc/passwd
          remote: `file:///etc/passwd` is refused: it is not https
          local: `file:///etc/passwd` is refused: it is not https
        javascript:alert(1)
          remote: `javascript:alert(1)` is refused: it is not https
          local: `javascript:alert(1)` is refused: it is not https
        not an address
          remote: `not an address` is not an address
          local: `not an address` is not an address
        ");
    }

    #[test]
    fn a_message_shows_no_query_and_no_password() {
        assert_eq!(
            shown(&Url::parse("https://me:word@a.example/p?key=word#word").unwrap()),
            "https://a.example/p"
        );
    }
}
