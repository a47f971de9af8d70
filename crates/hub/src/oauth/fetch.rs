//! The few kinds of HTTP request that OAuth needs, each with a time and a size limit.
//!
//! Addresses come from strangers' documents, so every one is checked before it is used: `https` only, or plain HTTP
//! on this machine, and never nearer to us than the MCP server itself is ([`Reach`]). A remote server can thus not
//! make us knock at the ports of this machine or its network. Names are judged again where they are dialled. A
//! redirect is followed for documents only, and only within one origin.

use std::sync::OnceLock;
use std::time::Duration;

use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use url::{Host, Url};

use super::Error;
use crate::secrets::Secrets;
use crate::web::reach::{Guard, Reach, is_too_near};

const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(20);
const MOST_BYTES: usize = 256 * 1024;
const MOST_REDIRECTS: usize = 3;
const TOO_NEAR: &str = "a server may not name an address that is nearer to this machine than its own";

/// Sends requests on behalf of one MCP server.
#[derive(Debug)]
pub(super) struct Fetch {
    server: Url,
    guard: Guard,
    /// Which addresses are asked through a proxy, as the environment says.
    proxies: Matcher,
    /// Asks the server itself, and everything through a proxy.
    open: OnceLock<Client>,
    /// Asks what strangers name, without a proxy.
    guarded: OnceLock<Client>,
    /// Whether the server was asked where it is.
    met: tokio::sync::OnceCell<()>,
}

/// A reply that was read whole.
pub(super) struct Reply {
    pub status: StatusCode,
    /// `None` when the body was not JSON.
    pub body: Option<Value>,
    /// What the request held and the reply must not repeat to others.
    pub secrets: Secrets,
}

impl Fetch {
    pub(super) fn on_behalf_of(server: &Url) -> Self {
        Self {
            server: server.clone(),
            // A name says nothing: whoever owns it may let it lead anywhere.
            guard: Guard::new(Reach::of_url(server).unwrap_or(Reach::Internet)),
            proxies: Matcher::from_system(),
            open: OnceLock::new(),
            guarded: OnceLock::new(),
            met: tokio::sync::OnceCell::new(),
        }
    }

    /// Refuses an address for what can be seen of it before names are resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), Error> {
        let why = match (url.scheme(), Reach::of_url(url)) {
            _ if !url.username().is_empty() || url.password().is_some() => "it carries a password",
            (_, Some(reach)) if !self.guard.allows(reach) => TOO_NEAR,
            ("https", _) | ("http", Some(Reach::Machine)) => return Ok(()),
            _ => "it is not https",
        };
        Err(Error::Unsafe { url: shown(url), why })
    }

    /// Refuses an address that may not be asked, or shown to a browser.
    pub(super) async fn admit(&self, url: &Url) -> Result<(), Error> {
        let is_near = Reach::of_url(url).is_some_and(|reach| !self.guard.allows(reach));
        if is_near {
            self.meet().await;
        }
        self.check(url)?;
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        if Reach::of_url(url).is_some() || self.is_proxied(url) {
            return Ok(());
        }
        let port = url.port_or_known_default().unwrap_or_default();
        match self.guard.addresses(name, port).await {
            Err(err) if is_too_near(&err) => {
                self.meet().await;
                match self.guard.addresses(name, port).await {
                    Err(err) if is_too_near(&err) => Err(Error::Unsafe { url: shown(url), why: TOO_NEAR }),
                    Ok(_) | Err(_) => Ok(()),
                }
            }
            // A name that is not found now is looked for again when it is dialled.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    pub(super) async fn parse(&self, text: &str) -> Result<Url, Error> {
        let url = Url::parse(text).map_err(|_| Error::BadUrl { url: printable(text) })?;
        self.admit(&url).await?;
        Ok(url)
    }

    /// Gets a document; `None` when there is none at that address.
    pub(super) async fn document(&self, url: &Url) -> Result<Option<Value>, Error> {
        let mut url = url.clone();
        for _ in 0..=MOST_REDIRECTS {
            self.admit(&url).await?;
            let request = self.client(&url)?.get(url.clone()).header(ACCEPT, "application/json");
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
        self.admit(url).await?;
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&form.fields).finish();
        let mut request = self
            .client(url)?
            .post(url.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(body);
        if let Some(credentials) = &form.authorization {
            let mut credentials = HeaderValue::from_str(credentials).expect("base64 fits a header");
            credentials.set_sensitive(true);
            request = request.header(AUTHORIZATION, credentials);
        }
        let secrets = form.secrets();
        Ok(Reply { secrets, ..read(send(request, url).await?, url).await? })
    }

    /// Posts JSON.
    pub(super) async fn json(&self, url: &Url, body: &Value) -> Result<Reply, Error> {
        self.admit(url).await?;
        let request = self
            .client(url)?
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body.to_string());
        read(send(request, url).await?, url).await
    }

    /// Asks the MCP server without a token, to hear its challenge.
    pub(super) async fn challenge(&self) -> Result<Option<String>, Error> {
        let response = self.ask_server().await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        let headers =
            response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        Ok(Some(headers.collect::<Vec<_>>().join(", ")))
    }

    async fn ask_server(&self) -> Result<Response, Error> {
        let request = self
            .open_client()?
            .post(self.server.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        send(request, &self.server).await
    }

    /// Learns where a server with a name is. It answers for the address by its certificate: a name that leads to
    /// somebody else's address for a while proves nothing. What a proxy finds for us is on the internet.
    async fn meet(&self) {
        let is_named = Reach::of_url(&self.server).is_none();
        if !is_named || self.server.scheme() != "https" || self.is_proxied(&self.server) {
            return;
        }
        let met = self.met.get_or_try_init(|| async {
            let response = self.ask_server().await?;
            if let Some(address) = response.remote_addr() {
                self.guard.met(Reach::of(address.ip()));
            }
            Ok::<_, Error>(())
        });
        if let Err(err) = met.await {
            tracing::debug!(%err, "the server does not say where it is");
        }
    }

    fn is_proxied(&self, url: &Url) -> bool {
        url.as_str().parse::<Uri>().is_ok_and(|uri| self.proxies.intercept(&uri).is_some())
    }

    /// The client for an address that a stranger named.
    fn client(&self, url: &Url) -> Result<&Client, Error> {
        if self.is_proxied(url) {
            return self.open_client();
        }
        made(&self.guarded, |builder| builder.no_proxy().dns_resolver(self.guard.clone()))
    }

    fn open_client(&self) -> Result<&Client, Error> {
        made(&self.open, |builder| builder)
    }
}

fn made(
    client: &OnceLock<Client>,
    with: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> Result<&Client, Error> {
    if let Some(client) = client.get() {
        return Ok(client);
    }
    // An error says that the process has a provider already, which is as good.
    _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .timeout(WHOLE)
        .user_agent(concat!("toolyard/", env!("CARGO_PKG_VERSION")));
    let made = with(builder).build().map_err(|err| Error::Tls { reason: reason(&err) })?;
    Ok(client.get_or_init(|| made))
}

/// The body of a token request. It holds secrets, so it has no `Debug`.
pub(super) struct Form<'a> {
    pub fields: Vec<(&'a str, &'a str)>,
    pub authorization: Option<String>,
}

impl Form<'_> {
    /// Everything that a stranger should not repeat: codes, tokens, what proves the client.
    fn secrets(&self) -> Secrets {
        const OPEN: [&str; 4] = ["client_id", "grant_type", "redirect_uri", "resource"];
        let fields = self.fields.iter().filter(|(name, _)| !OPEN.contains(name));
        let secrets = Secrets::of(fields.map(|(_, value)| (*value).to_owned()));
        secrets.add_header(self.authorization.as_deref().unwrap_or_default());
        secrets
    }
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
            None => {
                let body = serde_json::from_slice(&body).ok();
                return Ok(Reply { status, body, secrets: Secrets::default() });
            }
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
    let shown = |text: &str| printable(&reply.secrets.hide(text));
    let code = shown(body.get("error")?.as_str()?);
    let text = match body.get("error_description").and_then(Value::as_str) {
        Some(more) => format!("{code}: {}", shown(more)),
        None => code.clone(),
    };
    Some((code, text))
}

#[cfg(test)]
mod tests;
