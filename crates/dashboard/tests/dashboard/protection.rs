//! What is let in, and what browsers are told.

use serde_json::json;
use toolyard_dashboard::is_public;

use crate::yard::{Yard, send};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[tokio::test]
async fn r15_the_page_is_served_with_its_types_and_only_when_it_changed() {
    let yard = Yard::new().await;
    for (path, kind) in [
        ("/dashboard", "text/html; charset=utf-8"),
        ("/dashboard/", "text/html; charset=utf-8"),
        ("/dashboard/app.js", "text/javascript; charset=utf-8"),
        ("/dashboard/style.css", "text/css; charset=utf-8"),
    ] {
        assert!(is_public(path));
        let file = send(yard.request("GET", path)).await;
        assert_eq!((file.status, file.header("content-type")), (200, kind), "{path}");
        assert_eq!(file.header("cache-control"), "no-cache");
        let again = send(yard.request("GET", path).header("if-none-match", file.header("etag"))).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
        let changed = send(yard.request("GET", path).header("if-none-match", "\"other\"")).await;
        assert_eq!((changed.status, changed.text), (200, file.text), "{path}");
        assert_eq!(send(yard.request("POST", path)).await.status, 405, "{path}");
    }
    for path in
        ["/dashboard/../mcp", "/dashboard/%2e%2e/secret", "/dashboard/Cargo.toml", "/dashboard/index.html"]
    {
        assert!(!is_public(path));
        assert_eq!(send(yard.request("GET", path)).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn r15_every_response_says_what_browsers_may_do_with_it() {
    let yard = Yard::new().await;
    for request in [
        yard.request("GET", "/dashboard"),
        yard.request("GET", "/dashboard/nothing"),
        yard.request("GET", "/dashboard/api/tools"),
        yard.ours("GET", "/tools"),
        yard.ours("GET", "/nothing"),
        yard.ours("DELETE", "/tools"),
        yard.ours("POST", "/try").body("x"),
    ] {
        let answer = send(request).await;
        assert_eq!(answer.header("content-security-policy"), POLICY);
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
    assert_eq!(send(yard.ours("GET", "/tools")).await.header("cache-control"), "no-store");
}

#[tokio::test]
async fn r15_nothing_is_answered_that_does_not_come_from_the_page() {
    let yard = Yard::new().await;
    for (method, path) in [
        ("GET", "/overview"),
        ("GET", "/live"),
        ("GET", "/settings"),
        ("POST", "/run"),
        ("POST", "/try"),
        ("POST", "/servers/notes/restart"),
        ("OPTIONS", "/run"),
        ("GET", "/"),
        ("GET", "/nothing"),
        ("GET", ""),
    ] {
        for shown in [None, Some("0"), Some("1, 1"), Some("")] {
            let mut request = yard.request(method, &format!("/dashboard/api{path}"));
            if let Some(shown) = shown {
                request = request.header("x-toolyard", shown);
            }
            let answer = send(request).await;
            assert_eq!(answer.status, 403, "{method} {path} {shown:?}");
            assert!(answer.error().1.contains("x-toolyard"), "{}", answer.text);
        }
        assert!(!is_public(&format!("/dashboard/api{path}")));
    }
}

#[tokio::test]
async fn r15_bodies_are_json_of_a_bounded_size() {
    let yard = Yard::new().await;
    let json = |body: String| yard.ours("POST", "/try").header("content-type", "application/json").body(body);
    let long = json!({ "task": "x".repeat(2 * 1024 * 1024) }).to_string();
    let deep = format!("{{\"task\": \"a\", \"values\": {}1{}}}", "[".repeat(5000), "]".repeat(5000));
    for (request, status) in [
        (yard.ours("POST", "/try").body(r#"{"task": "hello"}"#), 415),
        (yard.ours("POST", "/try").header("content-type", "text/plain").body(r#"{"task": "hello"}"#), 415),
        (json("{".to_owned()), 400),
        (json("[]".to_owned()), 400),
        (json(r#"{"task": 1}"#.to_owned()), 400),
        (json(r#"{"task": ""}"#.to_owned()), 400),
        (json(r#"{"task": "a", "more": 1}"#.to_owned()), 400),
        (json(r#"{"task": "a", "server": "nobody"}"#.to_owned()), 400),
        (json("\u{0}\u{ffff}".to_owned()), 400),
        (json(deep), 400),
        (json(long), 413),
        (yard.ours("GET", "/routes?limit=many"), 400),
        (yard.ours("GET", "/routes?decision=perhaps"), 400),
        (yard.ours("GET", "/routes?marked=%ff"), 400),
        (yard.ours("GET", "/tools/%ff"), 400),
        (yard.ours("GET", "/tools/nothing"), 404),
        (yard.ours("GET", "/routes/nothing"), 404),
        (yard.ours("GET", "/servers/..%2f..%2fetc/log"), 404),
        (yard.ours("PUT", "/try"), 405),
        (yard.ours("GET", "/try"), 405),
    ] {
        let answer = send(request).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        assert!(!answer.error().0.is_empty());
    }
}
