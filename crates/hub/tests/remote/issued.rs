//! Tokens of a real authorization server, and forged ones.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Client;
use ring::hmac;
use serde_json::{Value, json};
use testkit::servers;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};

use crate::Yard;

const AUDIENCE: &str = "https://hub.example/mcp";

/// A real authorization server, and a hub that takes its tokens.
struct House {
    issuer: String,
    control: String,
    pem: String,
    modulus: String,
    client: Client,
    folder: tempfile::TempDir,
    _server: Child,
}

/// How the hub took a request.
#[derive(Debug, PartialEq)]
struct Met {
    status: u16,
    challenge: String,
    body: String,
}

impl House {
    /// Starts the authorization server; `None`, with a message, on a machine without the package.
    #[expect(clippy::print_stderr, reason = "a test that is left out must say so")]
    async fn build() -> Option<Self> {
        if !servers::are_installed() {
            eprintln!("left out: oidc-provider is not installed; `scripts/servers` installs it");
            return None;
        }
        _ = rustls::crypto::ring::default_provider().install_default();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/issuer.mjs");
        let mut server = Command::new(servers::node_binary())
            .arg(script)
            .arg(servers::modules())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let said: Value = loop {
            let line = lines.next_line().await.unwrap().expect("the fixture says where it is");
            if let Ok(said) = serde_json::from_str(&line) {
                break said;
            }
        };
        let text = |key: &str| said[key].as_str().unwrap().to_owned();
        Some(Self {
            issuer: text("issuer"),
            control: text("origin"),
            pem: text("pem"),
            modulus: text("modulus"),
            client: Client::builder().no_proxy().build().unwrap(),
            folder: tempfile::tempdir().unwrap(),
            _server: server,
        })
    }

    /// Starts a hub that takes tokens of the server, with further settings about that.
    async fn hub(&self, mut further: Value) -> Yard {
        further["issuer"] = json!(self.issuer);
        further["audience"] = json!(AUDIENCE);
        let profiles = json!({"all": {"surface": "all"}, "other": {"surface": "all"}});
        Yard::start(self.folder.path(), json!({"surface": "all", "oauth": further, "profiles": profiles}))
            .await
    }

    /// Gets a token as a program does that has credentials.
    async fn token(&self, scope: &str, resource: &str) -> String {
        let form = format!(
            "grant_type=client_credentials&scope={}&resource={}",
            scope.replace(':', "%3A").replace(' ', "+"),
            resource.replace(':', "%3A").replace('/', "%2F")
        );
        let request =
            self.client.post(format!("{}/token", self.issuer)).basic_auth("robot", Some("robot-secret"));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        let said: Value = serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap();
        said["access_token"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// Has a token signed by the issuer's key, or by a foreign one.
    async fn sign(&self, header: Value, claims: Value, by: &str) -> String {
        let body = json!({"header": header, "claims": claims, "by": by}).to_string();
        let answer = self.client.post(format!("{}/sign", self.control)).body(body).send().await.unwrap();
        let said: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        said["token"].as_str().unwrap().to_owned()
    }

    /// What a good token says.
    fn claims(&self) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        json!({
            "iss": self.issuer, "aud": AUDIENCE, "sub": "robot", "exp": now + 100, "iat": now,
            "scope": "toolyard:read",
        })
    }

    async fn send(&self, yard: &Yard, path: &str, token: Option<&str>, message: Value) -> Met {
        let mut request = self.client.post(format!("http://127.0.0.1:{}{path}", yard.port));
        request = request.header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream");
        request = request.header("mcp-protocol-version", "2026-07-28");
        request = request.header("mcp-method", message["method"].as_str().unwrap());
        if let Some(name) = message["params"]["name"].as_str() {
            request = request.header("mcp-name", name);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.body(message.to_string()).send().await.unwrap();
        let challenge = answer.headers().get("www-authenticate").map(|it| it.to_str().unwrap().to_owned());
        let (status, challenge) = (answer.status().as_u16(), challenge.unwrap_or_default());
        Met { status, challenge, body: answer.text().await.unwrap() }
    }

    async fn list(&self, yard: &Yard, token: Option<&str>) -> Met {
        self.send(yard, "/mcp", token, modern("tools/list", json!({}))).await
    }
}

/// Keys that come when the test lets them.
struct SlowKeys {
    url: String,
    /// Whether answers go out.
    open: watch::Sender<bool>,
    /// Hears of every request.
    asked: mpsc::UnboundedReceiver<()>,
}

impl SlowKeys {
    async fn of(house: &House) -> Self {
        let keys = house.client.get(format!("{}/keys", house.control)).send().await.unwrap();
        let keys = keys.text().await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let (open, opened) = watch::channel(false);
        let (asking, asked) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (mut opened, asking, keys) = (opened.clone(), asking.clone(), keys.clone());
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    let _ = stream.read(&mut request).await;
                    let _ = asking.send(());
                    let _ = opened.wait_for(|open| *open).await;
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
                    let answer = format!("{head}content-length: {}\r\n\r\n{keys}", keys.len());
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Self { url, open, asked }
    }
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn header() -> Value {
    json!({"alg": "RS256", "kid": "known", "typ": "at+jwt"})
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn t27_a_client_without_a_token_finds_out_where_it_gets_one() {
    let Some(house) = House::build().await else { return };
    let yard = house.hub(json!({})).await;
    let met = house.list(&yard, None).await;
    assert_eq!(met.status, 401);
    let metadata = "https://hub.example/.well-known/oauth-protected-resource/mcp";
    assert_eq!(met.challenge, format!("Bearer resource_metadata=\"{metadata}\", scope=\"toolyard:read\""));
    for path in ["", "/mcp", "/mcp/all"] {
        let place = format!("http://127.0.0.1:{}/.well-known/oauth-protected-resource{path}", yard.port);
        let answer = house.client.get(place).send().await.unwrap();
        let said: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(
            (&said["resource"], &said["authorization_servers"]),
            (&json!(AUDIENCE), &json!([house.issuer]))
        );
        assert!(said["scopes_supported"].as_array().unwrap().contains(&json!("toolyard:write")), "{said}");
    }
}

#[tokio::test]
async fn t27_the_scopes_of_a_real_token_say_what_its_holder_may_do() {
    let Some(house) = House::build().await else { return };
    let yard = house.hub(json!({})).await;
    let (reads, writes) = (
        house.token("toolyard:read", AUDIENCE).await,
        house.token("toolyard:read toolyard:write", AUDIENCE).await,
    );
    let listed = |met: &Met| -> usize {
        assert_eq!(met.status, 200, "{met:?}");
        let said: Value = serde_json::from_str(&met.body).unwrap();
        said["result"]["tools"].as_array().unwrap().len()
    };
    let (few, more) =
        (listed(&house.list(&yard, Some(&reads)).await), listed(&house.list(&yard, Some(&writes)).await));
    assert!(0 < few && few < more, "{few} {more}");
    let call = modern("tools/call", json!({"name": "notes__create_note", "arguments": {"title": "a"}}));
    let refused = house.send(&yard, "/mcp", Some(&reads), call.clone()).await;
    assert!(refused.body.contains("permits to read at most"), "{refused:?}");
    let done = house.send(&yard, "/mcp", Some(&writes), call).await;
    assert!(!done.body.contains("permits") && done.body.contains("\"result\""), "{done:?}");
    let nothing = house.list(&yard, Some(&house.token("other", AUDIENCE).await)).await;
    assert_eq!(nothing.status, 403, "{nothing:?}");
    assert!(
        nothing.challenge.contains("error=\"insufficient_scope\", scope=\"toolyard:read\""),
        "{nothing:?}"
    );
    let profile = house.token("toolyard:read toolyard:profile:all", AUDIENCE).await;
    let at = async |path: &str| {
        house.send(&yard, path, Some(&profile), modern("tools/list", json!({}))).await.status
    };
    assert_eq!((at("/mcp/all").await, at("/mcp/other").await, at("/mcp").await), (200, 404, 404));
    let metrics = async |token: &str| {
        let request = house.client.get(format!("http://127.0.0.1:{}/metrics", yard.port)).bearer_auth(token);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(metrics(&writes).await, 403);
    assert_eq!(metrics(&house.token("toolyard:admin", AUDIENCE).await).await, 200);
}

#[tokio::test]
async fn t27_a_forged_token_lets_nobody_in() {
    let Some(house) = House::build().await else { return };
    let yard = house.hub(json!({})).await;
    let good = house.sign(header(), house.claims(), "known").await;
    assert_eq!(house.list(&yard, Some(&good)).await.status, 200, "what is forged below is otherwise good");
    let with = |key: &str, value: Value| {
        let mut claims = house.claims();
        claims[key] = value;
        claims
    };
    let headed = |key: &str, value: Value| {
        let mut header = header();
        header[key] = value;
        header
    };
    let now = house.claims()["iat"].as_u64().unwrap();
    let mut forged = vec![
        (
            "another audience",
            house.sign(header(), with("aud", json!("https://other.example")), "known").await,
        ),
        ("no audience", house.sign(header(), with("aud", Value::Null), "known").await),
        ("another issuer", house.sign(header(), with("iss", json!("https://evil.example")), "known").await),
        ("expired", house.sign(header(), with("exp", json!(now - 100)), "known").await),
        ("no end", house.sign(header(), with("exp", Value::Null), "known").await),
        ("an end that is no number", house.sign(header(), with("exp", json!("never")), "known").await),
        ("not yet", house.sign(header(), with("nbf", json!(now + 100)), "known").await),
        ("a beginning that is no number", house.sign(header(), with("nbf", json!("soon")), "known").await),
        ("nobody's", house.sign(header(), with("sub", Value::Null), "known").await),
        ("an unknown key", house.sign(headed("kid", json!("unknown")), house.claims(), "foreign").await),
        ("a foreign key under a known name", house.sign(header(), house.claims(), "foreign").await),
        ("a login", house.sign(headed("typ", json!("id_token")), house.claims(), "known").await),
        ("no type", house.sign(headed("typ", Value::Null), house.claims(), "known").await),
        (
            "a demand that is not known",
            house.sign(headed("crit", json!(["x"])), house.claims(), "known").await,
        ),
        ("another algorithm", house.sign(headed("alg", json!("RS512")), house.claims(), "known").await),
        ("a real token for somebody else", house.token("toolyard:read", "https://other.example/mcp").await),
    ];
    let body = |alg: &str| format!("{}.{}", encoded(&headed("alg", json!(alg))), encoded(&house.claims()));
    for alg in ["none", "None", "NONE", ""] {
        forged.push(("no signature", format!("{}.", body(alg))));
        forged.push((
            "no signature, and one all the same",
            format!("{}.{}", body(alg), good.rsplit('.').next().unwrap()),
        ));
    }
    // Whoever takes the public key for a secret would believe these.
    let modulus = URL_SAFE_NO_PAD.decode(&house.modulus).unwrap();
    for secret in [house.pem.as_bytes(), house.pem.trim().as_bytes(), house.modulus.as_bytes(), &modulus] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let signature = hmac::sign(&key, body("HS256").as_bytes());
        forged.push((
            "signed with the public key",
            format!("{}.{}", body("HS256"), URL_SAFE_NO_PAD.encode(signature)),
        ));
    }
    let (text, signature) = good.rsplit_once('.').unwrap();
    let claims = encoded(&with("scope", json!("toolyard:destroy")));
    forged.push(("other claims", format!("{}.{claims}.{signature}", text.split('.').next().unwrap())));
    forged.push(("cut", good[..good.len() - 8].to_owned()));
    forged.push(("no token at all", "a.b.c".to_owned()));
    for (what, token) in forged {
        let met = house.list(&yard, Some(&token)).await;
        assert_eq!(met.status, 401, "{what}: {met:?}");
        assert!(met.challenge.contains("error=\"invalid_token\""), "{what}: {met:?}");
    }
    assert_eq!(house.list(&yard, Some(&good)).await.status, 200, "and nobody else is kept out by them");
}

#[tokio::test]
async fn t27_made_up_names_of_keys_cost_the_issuer_nothing() {
    let Some(house) = House::build().await else { return };
    let yard = house.hub(json!({"jwks": format!("{}/keys", house.control)})).await;
    let good = house.sign(header(), house.claims(), "known").await;
    for number in 0..20 {
        let mut header = header();
        header["kid"] = json!(format!("made-up-{number}"));
        let token = house.sign(header, house.claims(), "foreign").await;
        assert_eq!(house.list(&yard, Some(&token)).await.status, 401);
        assert_eq!(house.list(&yard, Some(&good)).await.status, 200);
    }
    let said =
        house.client.get(format!("{}/count", house.control)).send().await.unwrap().text().await.unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["asked"], 1, "the keys were fetched once");
}

#[tokio::test]
async fn t27_scopes_that_the_settings_demand_are_demanded() {
    let Some(house) = House::build().await else { return };
    let yard = house.hub(json!({"scopes": ["other"]})).await;
    let status =
        async |scope: &str| house.list(&yard, Some(&house.token(scope, AUDIENCE).await)).await.status;
    assert_eq!((status("toolyard:read").await, status("toolyard:read other").await), (403, 200));
}

#[tokio::test]
async fn t27_an_issuer_that_cannot_be_reached_lets_nobody_in() {
    let Some(house) = House::build().await else { return };
    let yard = house.hub(json!({"jwks": "http://127.0.0.1:9/keys"})).await;
    let good = house.sign(header(), house.claims(), "known").await;
    let met = house.list(&yard, Some(&good)).await;
    assert_eq!(met.status, 503, "{met:?}");
}

#[tokio::test]
async fn t27_whoever_hangs_up_while_keys_are_fetched_keeps_nobody_out() {
    let Some(house) = House::build().await else { return };
    let mut keys = SlowKeys::of(&house).await;
    let yard = house.hub(json!({"jwks": keys.url})).await;
    let good = house.sign(header(), house.claims(), "known").await;
    let mut made_up = header();
    made_up["kid"] = json!("made-up");
    let made_up = house.sign(made_up, house.claims(), "foreign").await;
    tokio::select! {
        met = house.list(&yard, Some(&made_up)) => panic!("answered without keys: {met:?}"),
        asked = keys.asked.recv() => asked.unwrap(),
    }
    keys.open.send_replace(true);
    let met = house.list(&yard, Some(&good)).await;
    assert_eq!(met.status, 200, "{met:?}");
}

#[tokio::test]
async fn t27_a_known_key_waits_for_no_fetch() {
    let Some(house) = House::build().await else { return };
    let mut keys = SlowKeys::of(&house).await;
    let yard = house.hub(json!({"jwks": keys.url})).await;
    let good = house.sign(header(), house.claims(), "known").await;
    let mut made_up = header();
    made_up["kid"] = json!("made-up");
    let made_up = house.sign(made_up, house.claims(), "foreign").await;
    keys.open.send_replace(true);
    assert_eq!(house.list(&yard, Some(&good)).await.status, 200);
    keys.asked.recv().await.unwrap();
    keys.open.send_replace(false);
    // The pause between two fetches goes by.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    let mut waiting = Box::pin(house.list(&yard, Some(&made_up)));
    tokio::select! {
        met = &mut waiting => panic!("answered without keys: {met:?}"),
        asked = keys.asked.recv() => asked.unwrap(),
    }
    tokio::select! {
        biased;
        met = &mut waiting => panic!("the fetch ended first: {met:?}"),
        met = house.list(&yard, Some(&good)) => assert_eq!(met.status, 200, "{met:?}"),
    }
    keys.open.send_replace(true);
    assert_eq!(waiting.await.status, 401);
}

#[tokio::test]
async fn t27_the_end_of_a_token_may_have_a_fraction() {
    let Some(house) = House::build().await else { return };
    let yard = house.hub(json!({})).await;
    let mut claims = house.claims();
    let end = claims["exp"].as_f64().unwrap();
    claims["exp"] = json!(end + 0.5);
    let token = house.sign(header(), claims.clone(), "known").await;
    assert_eq!(house.list(&yard, Some(&token)).await.status, 200);
    claims["exp"] = json!(end - 1000.5);
    let token = house.sign(header(), claims, "known").await;
    assert_eq!(house.list(&yard, Some(&token)).await.status, 401);
}
