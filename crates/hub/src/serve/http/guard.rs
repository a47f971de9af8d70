//! Who may come in over HTTP.
//!
//! A page in a browser can reach a server on this machine; the checks of Host and Origin keep it from doing so under a
//! name of its own. Names are read by the same rules as in a browser, and what cannot be read is refused. Everything that
//! is not the endpoint of the protocol belongs to the owner and to clients that may administer the hub.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use url::{Host, Url};

use crate::access::{Access, Grant, Issuer, Rejected, Turned, WELL_KNOWN};
use crate::config::Serve;
use crate::seal::digest;

/// The endpoint of the protocol, and what lies below it.
const ENDPOINT: &str = "/mcp";
/// Says that the hub is there, and nothing else.
const HEALTH: &str = "/health";

/// What a request must show.
#[derive(Debug)]
pub(crate) struct Guard {
    token: Option<String>,
    access: Arc<Access>,
    /// Whose tokens are taken besides.
    issuer: Option<Issuer>,
    allowed: Vec<String>,
    /// Bound to an address of the network, where clients use names that we do not know.
    is_public: bool,
}

/// Why a request is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    status: StatusCode,
    why: String,
    /// What `WWW-Authenticate` says.
    challenge: Option<HeaderValue>,
}

impl Refused {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into(), challenge: None }
    }

    /// Says what a client needs that shows nothing, or something that is not taken.
    fn challenged(self, challenge: &str) -> Self {
        Self { challenge: HeaderValue::from_str(challenge).ok(), ..self }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = (self.status, format!("{}\n", self.why)).into_response();
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, serve: &Serve, access: Arc<Access>) -> Self {
        Self {
            token: serve.token.clone(),
            access,
            issuer: serve.oauth.clone().map(Issuer::new),
            allowed: serve.allowed_hosts.iter().map(|host| host.to_lowercase()).collect(),
            is_public: !address.ip().is_loopback(),
        }
    }

    /// Answers a request of somebody who may come in, for as long as they may; whoever may see something public needs no
    /// token for it.
    pub(crate) async fn let_in(
        self: Arc<Self>,
        mut request: Request,
        next: Next,
        is_public: fn(&str) -> bool,
    ) -> Response {
        let shown = match self.examine(&request) {
            Ok(shown) => shown,
            Err(refused) => return refused.into_response(),
        };
        let path = request.uri().path();
        if let Some(issuer) =
            self.issuer.as_ref().filter(|_| is_metadata(path) && request.method() == Method::GET)
        {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            return (kind, issuer.metadata().to_string()).into_response();
        }
        if is_public(path) {
            return next.run(request).await;
        }
        let grant = match self.recognise(shown.as_deref()).await {
            Ok(grant) => grant,
            Err(refused) => return refused.into_response(),
        };
        if !is_open_to(request.uri().path(), &grant) {
            let client = grant.name().unwrap_or_default();
            let why = format!(
                "client `{client}` may not administer the hub; `toolyard client add --admin` permits it"
            );
            return Refused::new(StatusCode::FORBIDDEN, why).into_response();
        }
        let ended = self.access.ended(&grant);
        request.extensions_mut().insert(grant);
        let mut ended = Box::pin(ended);
        tokio::select! {
            biased;
            response = next.run(request) => until(response, ended),
            () = &mut ended => self.unauthorised("this token was revoked, or has expired").into_response(),
        }
    }

    /// Checks what a request says about where it goes and where it comes from; returns the token that it shows.
    fn examine(&self, request: &Request) -> Result<Option<String>, Refused> {
        let headers = request.headers();
        let host = only(headers, &header::HOST)?;
        // A request may name its host in two places, and each of them counts.
        let hosts = host.into_iter().chain(request.uri().authority().map(|it| it.as_str()));
        let hosts: Vec<&str> = hosts.collect();
        if hosts.is_empty() {
            return Err(Refused::new(StatusCode::BAD_REQUEST, "the Host header is missing"));
        }
        if !hosts.iter().all(|host| self.is_allowed_host(host)) {
            return Err(Refused::new(
                StatusCode::FORBIDDEN,
                "this Host is not served here; `serve.allowedHosts` names others",
            ));
        }
        let is_allowed = |origin: &str| self.is_allowed_origin(origin) || is_own_origin(origin, &hosts);
        if only(headers, &header::ORIGIN)?.is_some_and(|origin| !is_allowed(origin)) {
            return Err(Refused::new(
                StatusCode::FORBIDDEN,
                "this Origin may not call the hub; `serve.allowedHosts` names others",
            ));
        }
        let shown = only(headers, &header::AUTHORIZATION)?.and_then(|value| value.split_once(' '));
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        Ok(shown.map(str::to_owned))
    }

    /// Says who shows a token, and what they may do.
    async fn recognise(&self, shown: Option<&str>) -> Result<Arc<Grant>, Refused> {
        let is_asked =
            self.token.is_some() || self.issuer.is_some() || self.access.is_registering() || self.is_public;
        let Some(shown) = shown.filter(|_| is_asked) else {
            return match is_asked {
                false => Ok(Grant::owner()),
                true => Err(self.missing()),
            };
        };
        // Digests are compared, so the time taken says nothing about the token.
        if self.token.as_ref().is_some_and(|token| digest(&[shown]) == digest(&[token])) {
            return Ok(Grant::owner());
        }
        match (self.access.grant(shown), &self.issuer) {
            (Ok(grant), _) => Ok(grant),
            (Err(Turned::Unknown), Some(issuer)) => match issuer.grant(shown).await {
                Ok(grant) => Ok(Arc::new(grant)),
                Err(rejected) => Err(self.rejected(&rejected)),
            },
            (Err(turned @ (Turned::Unknown | Turned::Expired(_))), _) => {
                Err(self.unauthorised(&turned.to_string()))
            }
            (Err(Turned::Unreadable), _) => {
                Err(Refused::new(StatusCode::SERVICE_UNAVAILABLE, Turned::Unreadable.to_string()))
            }
        }
    }

    /// Asks for a token.
    fn missing(&self) -> Refused {
        let why =
            "a bearer token is needed: one that `toolyard client add` made, or the one in `serve.token`";
        let refused = Refused::new(StatusCode::UNAUTHORIZED, why);
        refused.challenged(&match &self.issuer {
            None => "Bearer".to_owned(),
            Some(issuer) => {
                format!(
                    "Bearer resource_metadata=\"{}\", scope=\"{}\"",
                    issuer.metadata_url(),
                    issuer.needed()
                )
            }
        })
    }

    /// Says that a token is not taken.
    fn unauthorised(&self, why: &str) -> Refused {
        let refused = Refused::new(StatusCode::UNAUTHORIZED, why);
        refused.challenged(&match &self.issuer {
            None => "Bearer".to_owned(),
            Some(issuer) => {
                let metadata = issuer.metadata_url();
                format!("Bearer error=\"invalid_token\", error_description=\"{why}\", resource_metadata=\"{metadata}\"")
            }
        })
    }

    /// Says why a token of an issuer is not taken.
    fn rejected(&self, rejected: &Rejected) -> Refused {
        let why = rejected.to_string();
        match (rejected, &self.issuer) {
            (Rejected::Scope(_), Some(issuer)) => {
                let (metadata, needed) = (issuer.metadata_url(), issuer.needed());
                Refused::new(StatusCode::FORBIDDEN, why).challenged(&format!(
                    "Bearer error=\"insufficient_scope\", scope=\"{needed}\", resource_metadata=\"{metadata}\""
                ))
            }
            (Rejected::Unreachable, _) => Refused::new(StatusCode::SERVICE_UNAVAILABLE, why),
            (Rejected::Invalid(_) | Rejected::Scope(_), _) => self.unauthorised(&why),
        }
    }

    fn is_allowed_host(&self, host: &str) -> bool {
        let Some((name, lower)) = parsed(host) else { return false };
        let text = name.to_string();
        is_loopback(&name)
            || self.allowed.iter().any(|allowed| *allowed == text || *allowed == lower)
            || (self.is_public && matches!(name, Host::Ipv4(_) | Host::Ipv6(_)))
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        let origin = origin.to_lowercase();
        let Some((scheme, host)) = origin.split_once("://") else { return false };
        let Some((name, _)) = parsed(host) else { return false };
        if self.allowed.contains(&origin) {
            return true;
        }
        let text = name.to_string();
        matches!(scheme, "http" | "https")
            && (is_loopback(&name) || self.allowed.iter().any(|allowed| *allowed == text || *allowed == host))
    }
}

/// Whether an origin is that of the pages that a request goes to, whose host may be any address of this machine.
fn is_own_origin(origin: &str, hosts: &[&str]) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| hosts.iter().all(|host| host.eq_ignore_ascii_case(authority)))
}

/// Whether a path is that of the metadata by which clients find out where tokens come from.
fn is_metadata(path: &str) -> bool {
    path.strip_prefix(WELL_KNOWN).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path may be used with a grant.
fn is_open_to(path: &str, grant: &Grant) -> bool {
    let is_endpoint =
        path.strip_prefix(ENDPOINT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_endpoint || path == HEALTH || grant.permissions.admin
}

/// Lets a stream of events go on until a moment; what is said at once has been said.
fn until(response: Response, ended: impl Future<Output = ()> + Send + 'static) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| !kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)))
}

/// Returns a header that may be there once. Which of two counts is nobody's to guess.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refused> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        return Err(Refused::new(StatusCode::BAD_REQUEST, format!("the header `{name}` is there twice")));
    }
    let text = value.map(HeaderValue::to_str).transpose();
    text.map_err(|_| Refused::new(StatusCode::BAD_REQUEST, format!("the header `{name}` cannot be read")))
}

/// Reads `host` or `host:port`, as browsers do; returns the name, and the whole in small letters. What is not just that
/// has no name.
fn parsed(text: &str) -> Option<(Host<String>, String)> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    if text.is_empty() || !text.bytes().all(is_plain) {
        return None;
    }
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    Some((url.host()?.to_owned(), text.to_lowercase()))
}

fn is_loopback(name: &Host<String>) -> bool {
    match name {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Tells modern clients apart: by their names, or by what they authorise themselves with.
pub(crate) fn principal(headers: &HeaderMap, grant: &Grant) -> String {
    grant.principal().unwrap_or_else(|| {
        let shown = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
        digest(&["http", &String::from_utf8_lossy(shown)])
    })
}

#[cfg(test)]
mod tests;
