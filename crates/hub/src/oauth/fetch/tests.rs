//! Which addresses are asked, and on whose word.

use std::io::ErrorKind;
use std::net::TcpListener;

use url::Url;

use super::{Fetch, Form, shown};

fn fetch(server: &str) -> Fetch {
    Fetch::on_behalf_of(&Url::parse(server).unwrap())
}

/// Says which addresses a server may name.
async fn verdicts(server: &str, named: &[&str]) -> String {
    let fetch = fetch(server);
    let mut rows = Vec::new();
    for text in named {
        let verdict = fetch.parse(text).await.map_or_else(|err| err.to_string(), |_| "yes".to_owned());
        rows.push(format!("{text}\n  {verdict}"));
    }
    rows.join("\n")
}

#[tokio::test]
async fn only_https_is_asked_and_plain_http_on_this_machine() {
    let named = [
        "https://1.1.1.1/x",
        "http://1.1.1.1/x",
        "http://127.0.0.1:80/x",
        "https://user:word@1.1.1.1/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "not an address",
    ];
    insta::assert_snapshot!(verdicts("http://127.0.0.1:1", &named).await, @"
    https://1.1.1.1/x
      yes
    http://1.1.1.1/x
      `http://1.1.1.1/x` is refused: it is not https
    http://127.0.0.1:80/x
      yes
    https://user:word@1.1.1.1/x
      `https://1.1.1.1/x` is refused: it carries a password
    file:///etc/passwd
      `file:///etc/passwd` is refused: it is not https
    javascript:alert(1)
      `javascript:alert(1)` is refused: it is not https
    not an address
      `not an address` is not an address
    ");
}

#[tokio::test]
async fn m3_a_server_names_its_neighbours_and_nobody_nearer() {
    let named =
        ["https://1.1.1.1/", "https://192.168.1.9/", "https://169.254.169.254/", "https://127.0.0.1/"];
    let allowed = async |server: &str| {
        let said = verdicts(server, &named).await;
        said.lines().filter(|line| line.trim() == "yes").count()
    };
    assert_eq!(allowed("https://9.9.9.9/mcp").await, 1);
    assert_eq!(allowed("https://192.168.1.5/mcp").await, 2);
    assert_eq!(allowed("https://169.254.3.4/mcp").await, 3);
    assert_eq!(allowed("http://127.0.0.1:7/mcp").await, 4);
    assert_eq!(allowed("http://localhost:7/mcp").await, 4);
    // What is reserved for examples is nobody's neighbour.
    assert_eq!(allowed("https://203.0.113.5/mcp").await, 1);
}

#[tokio::test]
async fn m3_what_a_remote_server_names_never_knocks_at_a_port_of_this_machine() {
    let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let own_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let hosts = [
        "0.0.0.0",
        "0",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.1",
        "[::]",
        "[::1]",
        "[::ffff:0:0]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "localhost",
        "localhost.",
        "LocalHost",
        "a.localhost",
        "ip6-localhost",
        &own_name,
    ];
    let fetch = fetch("https://1.1.1.1/mcp");
    for host in hosts {
        for scheme in ["http", "https"] {
            let Ok(url) = Url::parse(&format!("{scheme}://{host}:{port}/x")) else { continue };
            assert!(fetch.document(&url).await.is_err(), "{url}");
            assert!(fetch.json(&url, &serde_json::json!({})).await.is_err(), "{url}");
            let form = Form { fields: Vec::new(), authorization: None };
            assert!(fetch.form(&url, &form).await.is_err(), "{url}");
            let knocked = listener.accept().map(drop).map_err(|err| err.kind());
            assert_eq!(knocked, Err(ErrorKind::WouldBlock), "{url} was dialled");
        }
    }
}

#[tokio::test]
async fn m3_a_name_is_judged_again_where_it_is_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let fetch = fetch("https://1.1.1.1/mcp");
    // The client itself refuses, whoever forgot to ask before.
    let url = Url::parse(&format!("http://localhost:{port}/")).unwrap();
    let said = fetch.client(&url).unwrap().get(url).send().await.unwrap_err();
    assert!(format!("{said:?}").contains("TooNear"), "{said:?}");
    assert_eq!(listener.accept().map(drop).map_err(|err| err.kind()), Err(ErrorKind::WouldBlock));
}

#[test]
fn a_message_shows_no_query_and_no_password() {
    assert_eq!(
        shown(&Url::parse("https://me:word@a.example/p?key=word#word").unwrap()),
        "https://a.example/p"
    );
}
