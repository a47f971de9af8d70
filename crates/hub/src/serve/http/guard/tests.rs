//! Which hosts, origins and tokens are let in.

use super::*;
use crate::access::{ClientRegistry, Permissions, Registration};
use futures_util::FutureExt;

/// A guard at an address, and the store of its clients.
struct Door {
    guard: Guard,
    folder: tempfile::TempDir,
}

fn door(address: &str, token: Option<&str>) -> Door {
    let (folder, address): (_, SocketAddr) = (tempfile::tempdir().unwrap(), address.parse().unwrap());
    let allowed = ["hub.example", "tools.example:8443", "vscode-webview://abc"].map(str::to_owned);
    let guard = Guard {
        token: token.map(str::to_owned),
        access: Arc::new(Access::open(folder.path())),
        issuer: None,
        allowed: allowed.to_vec(),
        is_public: !address.ip().is_loopback(),
    };
    Door { guard, folder }
}

impl Door {
    /// Registers a client, and gives its token.
    fn register(&mut self, client: Registration) -> String {
        let token = ClientRegistry::new(self.folder.path()).add(client).unwrap();
        self.guard.access = Arc::new(Access::open(self.folder.path()));
        token
    }

    /// Says who somebody is who sends these headers, or with which status they are refused.
    fn met(&self, headers: &[(&str, &str)]) -> Result<Option<String>, u16> {
        let mut request = Request::builder().uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let shown = self.guard.examine(&request.body(Body::empty()).unwrap());
        let grant = shown.and_then(|shown| {
            // Without an issuer nobody is waited for.
            self.guard.recognise(shown.as_deref()).now_or_never().unwrap()
        });
        grant.map(|grant| grant.name().map(str::to_owned)).map_err(|refused| refused.status.as_u16())
    }
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let door = door("127.0.0.1:80", None);
    let met = |host: &str, origin: Option<&str>| {
        let origin = origin.map(|origin| ("origin", origin));
        door.met(&[&[("host", host)], origin.as_slice()].concat())
    };
    for (host, origin) in [
        ("localhost:8808", None),
        ("LOCALHOST", None),
        ("127.0.0.1", Some("http://localhost:3000")),
        ("127.0.0.1", Some("https://127.0.0.1")),
        ("[::1]:9", None),
        ("[::1]", Some("http://[::1]:3000")),
        ("hub.example", None),
        ("hub.example:99", Some("https://hub.example")),
        ("tools.example:8443", Some("https://tools.example:8443")),
        ("localhost", Some("vscode-webview://abc")),
    ] {
        assert_eq!(met(host, origin), Ok(None), "{host} {origin:?}");
    }
    for (host, origin) in [
        ("evil.example", None),
        ("localhost.evil.example", None),
        ("127.0.0.1", Some("https://evil.example")),
        ("127.0.0.1", Some("null")),
        ("127.0.0.1", Some("")),
        ("127.0.0.1", Some("http://localhost.evil.example")),
        ("127.0.0.1", Some("http://evil.example:80@localhost")),
        ("192.168.0.1", None),
        ("tools.example", None),
        ("tools.example:1", None),
    ] {
        assert_eq!(met(host, origin), Err(403), "{host} {origin:?}");
    }
}

#[test]
fn t27_a_host_is_a_name_or_an_address_and_nothing_that_looks_like_one() {
    let door = door("127.0.0.1:80", None);
    for host in [
        "[::1].evil.example",
        "[localhost]evil.example",
        "[localhost]",
        "[::1]evil.example",
        "[::1",
        "::1",
        "localhost:80:80",
        "localhost:port",
        "localhost:99999",
        "localhost/",
        "localhost#",
        "localhost?x",
        "localhost\\x",
        "me@localhost",
        "localhost evil.example",
        "local%68ost",
        "localhost,evil.example",
        "[::ffff:127.0.0.1]",
        "",
    ] {
        assert_eq!(door.met(&[("host", host)]), Err(403), "{host}");
    }
    assert_eq!(door.met(&[]), Err(400), "no host");
    for origin in [
        "javascript://localhost",
        "file://localhost",
        "ftp://localhost",
        "data://localhost",
        "chrome-extension://localhost",
        "vscode-webview://abd",
        "vscode-webview://abc/path",
        "http://localhost/",
        "http://localhost/path",
        "http://[::1].evil.example",
        "http://[localhost]evil.example",
        "http://me@localhost",
        "http:localhost",
        "http//localhost",
        "http://localhost http://evil.example",
    ] {
        assert_eq!(door.met(&[("host", "localhost"), ("origin", origin)]), Err(403), "{origin}");
    }
}

#[test]
fn t27_a_header_that_decides_is_there_once() {
    let door = door("127.0.0.1:80", Some("secret"));
    let (host, token) = (("host", "localhost"), ("authorization", "Bearer secret"));
    assert_eq!(door.met(&[host, token]), Ok(None));
    for twice in [("host", "localhost"), ("host", "evil.example")] {
        assert_eq!(door.met(&[host, twice, token]), Err(400), "{twice:?}");
    }
    let origin = ("origin", "http://localhost");
    assert_eq!(door.met(&[host, origin, origin, token]), Err(400));
    for other in ["Bearer secret", "Bearer wrong", ""] {
        assert_eq!(door.met(&[host, token, ("authorization", other)]), Err(400), "{other}");
    }
}

#[test]
fn t27_a_host_in_the_address_of_a_request_counts_as_well() {
    let door = door("127.0.0.1:80", None);
    let met = |uri: &str| {
        let request = Request::builder().uri(uri).header("host", "localhost").body(Body::empty()).unwrap();
        door.guard.examine(&request).map_err(|refused| refused.status.as_u16())
    };
    assert_eq!(met("http://localhost/mcp"), Ok(None));
    assert_eq!(met("http://evil.example/mcp"), Err(403));
}

#[test]
fn a_token_must_be_shown_where_one_is_set() {
    let door = door("0.0.0.0:80", Some("secret"));
    let met = |token: &str| door.met(&[("host", "192.168.0.1"), ("authorization", token)]);
    assert_eq!(door.met(&[("host", "192.168.0.1")]), Err(401));
    assert_eq!(met("Bearer wrong"), Err(401));
    assert_eq!(met("Basic secret"), Err(401));
    assert_eq!(met("Bearer secret"), Ok(None));
}

#[test]
fn t27_a_registered_client_is_known_by_its_token_and_nobody_comes_without() {
    let mut door = door("127.0.0.1:80", None);
    let host = ("host", "localhost");
    assert_eq!(door.met(&[host]), Ok(None), "on this machine nobody needs a token before one is made");
    let token = format!("Bearer {}", door.register(Registration::new("ana")));
    assert_eq!(door.met(&[host, ("authorization", &token)]), Ok(Some("ana".to_owned())));
    assert_eq!(door.met(&[host]), Err(401));
    assert_eq!(door.met(&[host, ("authorization", "Bearer toolyard_x")]), Err(401));
    std::fs::write(door.folder.path().join("clients.json"), "{").unwrap();
    door.guard.access = Arc::new(Access::open(door.folder.path()));
    assert_eq!(door.met(&[host]), Err(401), "a damaged file opens nothing");
    assert_eq!(door.met(&[host, ("authorization", &token)]), Err(503));
}

#[test]
fn t27_an_address_of_the_network_is_never_open_to_everybody() {
    let door = door("0.0.0.0:80", None);
    assert_eq!(door.met(&[("host", "192.168.0.1")]), Err(401));
    assert_eq!(door.met(&[("host", "192.168.0.1"), ("authorization", "Bearer x")]), Err(401));
}

#[test]
fn t27_only_who_may_administer_the_hub_sees_more_than_the_endpoint() {
    let mut door = door("127.0.0.1:80", None);
    let plain = door.register(Registration::new("ana"));
    let admin = Registration { permissions: Permissions::EVERYTHING, ..Registration::new("root") };
    let admin = door.register(admin);
    let sees = |token: &str| {
        let grant = door.guard.access.grant(token).unwrap();
        ["/mcp", "/mcp/p", "/health", "/mcpx", "/metrics", "/dashboard/api/routes", "/"]
            .map(|path| is_open_to(path, &grant))
    };
    assert_eq!(sees(&plain), [true, true, true, false, false, false, false]);
    assert_eq!(sees(&admin), [true; 7]);
    assert!(is_open_to("/metrics", &Grant::owner()));
}

#[test]
fn t27_the_page_of_a_hub_at_a_network_address_may_call_it_and_no_other_page() {
    let door = door("0.0.0.0:8808", Some("secret"));
    let met = |origin: &str| {
        door.met(&[("host", "192.0.2.7:8808"), ("origin", origin), ("authorization", "Bearer secret")])
    };
    assert_eq!(met("http://192.0.2.7:8808"), Ok(None));
    for foreign in ["http://192.0.2.7:9999", "http://192.0.2.8:8808", "ftp://192.0.2.7:8808", "null"] {
        assert_eq!(met(foreign), Err(403), "{foreign}");
    }
    let named =
        [("host", "evil.example"), ("origin", "http://evil.example"), ("authorization", "Bearer secret")];
    assert_eq!(door.met(&named), Err(403), "a name that is not served here");
}
