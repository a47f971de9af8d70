//! Who may come in.
//!
//! A page in a browser can reach a server on this machine; the checks of Host and Origin keep it from doing so under
//! a name of its own.

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use toolyard_hub::seal::digest;
use url::{Host, Url};

use super::refusal::Refusal;

/// What a request must show.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    token: Option<String>,
}

impl Guard {
    pub(super) fn new(token: Option<String>) -> Self {
        Self { token }
    }

    pub(super) fn check(&self, request: &Request) -> Result<(), Refusal> {
        let text = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
        if text(header::ORIGIN).is_some_and(|origin| !is_loopback(origin)) {
            return Err(Refusal::forbidden("pages of this Origin may not use the proxy"));
        }
        let Some(token) = &self.token else {
            let host = text(header::HOST).or_else(|| request.uri().authority().map(|it| it.as_str()));
            return match host.is_none_or(|host| is_loopback(&format!("http://{host}"))) {
                true => Ok(()),
                false => Err(Refusal::forbidden("without a token the proxy is reached as localhost only")),
            };
        };
        let shown = text(header::AUTHORIZATION).and_then(|value| value.split_once(' '));
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        // Digests are compared, so the time taken says nothing about the token.
        match shown.is_some_and(|shown| digest(&[shown.trim()]) == digest(&[token])) {
            true => Ok(()),
            false => Err(Refusal::unauthorized()),
        }
    }
}

/// Tells clients apart by what they authorise themselves with.
pub(super) fn principal(headers: &HeaderMap) -> String {
    let shown = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
    digest(&["proxy", &String::from_utf8_lossy(shown)])
}

/// Whether an origin is on this machine.
fn is_loopback(origin: &str) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    let is_plain = url.username().is_empty() && url.password().is_none() && url.path().len() <= 1;
    is_plain
        && match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::StatusCode;

    use super::*;

    fn checked(token: Option<&str>, headers: &[(&str, &str)]) -> Option<StatusCode> {
        let mut request = Request::builder().uri("/v1/models");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let guard = Guard::new(token.map(str::to_owned));
        guard.check(&request.body(Body::empty()).unwrap()).err().map(|refusal| refusal.status)
    }

    #[test]
    fn without_a_token_only_this_machine_comes_in() {
        for host in ["localhost:11435", "127.0.0.1", "[::1]:9"] {
            assert_eq!(checked(None, &[("host", host)]), None, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "192.168.0.1", "a@localhost", ""] {
            assert_eq!(checked(None, &[("host", host)]), Some(StatusCode::FORBIDDEN), "{host}");
        }
    }

    #[test]
    fn pages_come_in_from_this_machine_only() {
        let with = |origin| checked(Some("t"), &[("origin", origin), ("authorization", "Bearer t")]);
        assert_eq!(with("http://localhost:3000"), None);
        for origin in
            ["https://evil.example", "null", "http://localhost.evil.example", "http://e:80@localhost"]
        {
            assert_eq!(with(origin), Some(StatusCode::FORBIDDEN), "{origin}");
        }
    }

    #[test]
    fn a_token_must_be_shown_where_one_is_set() {
        assert_eq!(checked(Some("t"), &[("host", "box.lan")]), Some(StatusCode::UNAUTHORIZED));
        for (shown, expected) in [
            ("Bearer t", None),
            ("bearer t", None),
            ("Bearer u", Some(StatusCode::UNAUTHORIZED)),
            ("t", Some(StatusCode::UNAUTHORIZED)),
            ("Bearer ", Some(StatusCode::UNAUTHORIZED)),
        ] {
            let headers = [("host", "box.lan"), ("authorization", shown)];
            assert_eq!(checked(Some("t"), &headers), expected, "{shown}");
        }
    }
}
