//! Who may come in over HTTP.
//!
//! A page in a browser can reach a server on this machine; the checks of Host and
//! Origin keep it from doing so under a name of its own.

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};

use crate::config::Serve;
use crate::seal::digest;

/// What a request must show.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    token: Option<String>,
    allowed: Vec<String>,
    /// Bound to an address of the network, where clients use names that we do not know.
    is_public: bool,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, serve: &Serve) -> Self {
        Self {
            token: serve.token.clone(),
            allowed: serve.allowed_hosts.iter().map(|host| host.to_lowercase()).collect(),
            is_public: !address.ip().is_loopback(),
        }
    }

    /// Checks a request; one for something public needs no token.
    pub(crate) fn check(&self, request: &Request, is_public: bool) -> Result<(), (StatusCode, &'static str)> {
        let headers = request.headers();
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let host = text(header::HOST).or_else(|| request.uri().authority().map(|it| it.as_str()));
        if host.is_some_and(|host| !self.is_allowed_host(host)) {
            return Err((
                StatusCode::FORBIDDEN,
                "this Host is not served here; `serve.allowedHosts` names others\n",
            ));
        }
        if text(header::ORIGIN).is_some_and(|origin| !self.is_allowed_origin(origin)) {
            return Err((
                StatusCode::FORBIDDEN,
                "this Origin may not call the hub; `serve.allowedHosts` names others\n",
            ));
        }
        let Some(token) = self.token.as_ref().filter(|_| !is_public) else { return Ok(()) };
        let shown = text(header::AUTHORIZATION).and_then(|value| value.split_once(' '));
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        // Digests are compared, so the time taken says nothing about the token.
        if shown.is_some_and(|shown| digest(&[shown]) == digest(&[token])) {
            return Ok(());
        }
        Err((StatusCode::UNAUTHORIZED, "a bearer token is needed: the one in `serve.token`\n"))
    }

    fn is_allowed_host(&self, host: &str) -> bool {
        let name = without_port(host).to_lowercase();
        is_loopback(&name)
            || self.allowed.iter().any(|allowed| *allowed == name || *allowed == host.to_lowercase())
            || (self.is_public && name.parse::<IpAddr>().is_ok())
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        let origin = origin.to_lowercase();
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        let name = without_port(host);
        is_loopback(name)
            || self.allowed.iter().any(|allowed| *allowed == name || *allowed == origin || *allowed == host)
    }
}

fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    host.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(name, _)| name)
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Tells modern clients apart by what they authorise themselves with.
pub(crate) fn principal(headers: &HeaderMap) -> String {
    let shown = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
    digest(&["http", &String::from_utf8_lossy(shown)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        let guard = guard("127.0.0.1:80", None);
        let status = |host: &str, origin: Option<&str>| checked(&guard, host, origin, None);
        for (host, origin) in [
            ("localhost:8808", None),
            ("127.0.0.1", Some("http://localhost:3000")),
            ("[::1]:9", None),
            ("hub.example", None),
        ] {
            assert_eq!(status(host, origin), None, "{host} {origin:?}");
        }
        for (host, origin) in [
            ("evil.example", None),
            ("localhost.evil.example", None),
            ("127.0.0.1", Some("https://evil.example")),
            ("127.0.0.1", Some("null")),
            ("127.0.0.1", Some("http://localhost.evil.example")),
            ("127.0.0.1", Some("http://evil.example:80@localhost")),
            ("192.168.0.1", None),
        ] {
            assert_eq!(status(host, origin), Some(StatusCode::FORBIDDEN), "{host} {origin:?}");
        }
    }

    #[test]
    fn a_token_must_be_shown_where_one_is_set() {
        let guard = guard("0.0.0.0:80", Some("secret"));
        assert_eq!(checked(&guard, "192.168.0.1", None, None), Some(StatusCode::UNAUTHORIZED));
        assert_eq!(
            checked(&guard, "192.168.0.1", None, Some("Bearer wrong")),
            Some(StatusCode::UNAUTHORIZED)
        );
        assert_eq!(checked(&guard, "192.168.0.1", None, Some("Bearer secret")), None);
    }

    fn guard(address: &str, token: Option<&str>) -> Guard {
        let address: SocketAddr = address.parse().unwrap();
        Guard {
            token: token.map(str::to_owned),
            allowed: vec!["hub.example".to_owned()],
            is_public: !address.ip().is_loopback(),
        }
    }

    fn checked(guard: &Guard, host: &str, origin: Option<&str>, token: Option<&str>) -> Option<StatusCode> {
        let mut request = Request::builder().uri("/mcp").header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        guard.check(&request.body(Body::empty()).unwrap(), false).err().map(|(status, _)| status)
    }
}
