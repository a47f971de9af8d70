//! Starts the fixture, plays the browser, and asks the protected resource.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};
use serde_json::{Value, json};
use testkit::servers;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use toolyard_hub::caller::Caller;
use toolyard_hub::config::{self, Folders};
use toolyard_hub::hub::{Hub, Learning, Options};
use toolyard_hub::jsonrpc::Fields;
use toolyard_hub::oauth::{Authority, Document, Error, Settings};
use toolyard_hub::vault::Vault;
use url::Url;

/// An authorization server, a protected resource and a store folder, all gone at the end of the test.
pub(crate) struct Yard {
    pub(crate) issuer: String,
    pub(crate) endpoint: String,
    pub(crate) document: Url,
    origin: String,
    pub(crate) folder: tempfile::TempDir,
    client: reqwest::Client,
    _server: Child,
}

/// How the protected resource took a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) challenge: Option<String>,
}

impl Yard {
    /// Starts the fixture; `None`, with a message, on a machine without the package.
    #[expect(clippy::print_stderr, reason = "a test that is left out must say so")]
    pub(crate) async fn start() -> Option<Self> {
        if !servers::are_installed() {
            eprintln!("left out: oidc-provider is not installed; `scripts/servers` installs it");
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/authorization-server.mjs");
        let mut server = Command::new(servers::node_binary())
            .arg(script)
            .arg(servers::modules())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("node starts");
        let mut lines = BufReader::new(server.stdout.take().expect("stdout is piped")).lines();
        let line = lines.next_line().await.expect("stdout is text").expect("the fixture says where it is");
        let said: Value = serde_json::from_str(&line).expect("the first line is JSON");
        let text = |key: &str| said[key].as_str().expect("every address is text").to_owned();
        _ = rustls::crypto::ring::default_provider().install_default();
        Some(Self {
            issuer: text("issuer"),
            endpoint: text("endpoint"),
            origin: text("origin"),
            document: Url::parse(&text("document")).expect("the document has an address"),
            folder: tempfile::tempdir().expect("a folder can be made"),
            client: reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .expect("a client can be built"),
            _server: server,
        })
    }

    /// An authority as a hub has it after a start: all it knows is on disk.
    pub(crate) fn authority(&self, settings: Settings) -> Authority {
        let vault = Vault::open(self.folder.path(), None);
        Authority::new("yard", &self.endpoint, settings, vault).expect("the address is good")
    }

    /// A hub whose only server is the protected resource; it shares the store folder with the logins.
    pub(crate) fn hub(&self) -> Arc<Hub> {
        let folder = self.folder.path().to_owned();
        let folders = Folders { home: folder.clone(), config: folder.clone(), data: folder };
        let text = json!({ "mcpServers": { "yard": { "url": self.endpoint } } }).to_string();
        let config =
            config::parse(&text, Path::new("toolyard.json"), &|_| None, &folders).expect("it has no mistake");
        Hub::start(config, Options { watchdog: None, learning: Learning::OnDemand })
    }

    /// Calls the one tool behind the login through a hub.
    pub(crate) async fn greet(&self, hub: &Hub) -> String {
        let caller = Arc::new(Caller::nobody());
        let result = hub.call(&hub.snapshot(), "yard__greet", Fields::default(), &caller).await;
        let result: Value =
            serde_json::from_str(result.expect("the tool is known").get()).expect("results are JSON");
        result["content"][0]["text"].as_str().expect("the answer is text").to_owned()
    }

    /// Changes how the fixture behaves, and tells what it has counted.
    pub(crate) async fn control(&self, change: Value) -> Value {
        let reply =
            self.client.post(format!("{}/control", self.origin)).body(change.to_string()).send().await;
        let text = reply.expect("the fixture answers").text().await.expect("its answer is text");
        serde_json::from_str(&text).expect("its answer is JSON")
    }

    pub(crate) async fn counts(&self) -> Value {
        self.control(json!({})).await
    }

    /// Calls the protected resource.
    pub(crate) async fn call(&self, token: Option<&str>, text: &str) -> Said {
        let mut request = self.client.post(&self.endpoint).body(text.to_owned());
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let reply = request.send().await.expect("the resource answers");
        let challenge =
            reply.headers().get(WWW_AUTHENTICATE).map(|value| value.to_str().expect("ASCII").to_owned());
        let status = reply.status().as_u16();
        let body = reply.text().await.expect("its answer is text");
        Said { status, body: serde_json::from_str(&body).expect("its answer is JSON"), challenge }
    }

    /// Logs in with a person who agrees to everything; gives the last page that the person saw.
    pub(crate) async fn login(&self, authority: &Authority, scopes: &[&str]) -> (Result<(), Error>, String) {
        let scopes: Vec<String> = scopes.iter().map(|&scope| scope.to_owned()).collect();
        let (tell, told) = oneshot::channel();
        let login = authority.login(None, &scopes, |url| _ = tell.send(url.clone()));
        let person = async {
            match told.await {
                Ok(url) => self.browse(url).await,
                Err(_) => "the browser was not opened".to_owned(),
            }
        };
        tokio::join!(login, person)
    }

    /// Follows redirects and fills in forms until a page has no form.
    async fn browse(&self, mut url: Url) -> String {
        let mut cookies = BTreeMap::new();
        let mut form = None;
        for _ in 0..20 {
            let request = match form.take() {
                Some(body) => self
                    .client
                    .post(url.clone())
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body::<String>(body),
                None => self.client.get(url.clone()),
            };
            let jar =
                cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
            let reply = request.header(COOKIE, jar).send().await.expect("the page answers");
            for cookie in reply.headers().get_all(SET_COOKIE) {
                let pair = cookie.to_str().expect("ASCII").split(';').next().unwrap_or_default();
                let (name, value) = pair.split_once('=').expect("a cookie has a name");
                cookies.insert(name.to_owned(), value.to_owned());
            }
            if let Some(next) = reply.headers().get(LOCATION) {
                url = url.join(next.to_str().expect("ASCII")).expect("a redirect is an address");
                continue;
            }
            let page = reply.text().await.expect("a page is text");
            let Some((_, rest)) = page.split_once("name=\"prompt\" value=\"") else { return page };
            let prompt = rest.split('"').next().unwrap_or_default();
            form = Some(format!("prompt={prompt}&login=ada&password=ada"));
        }
        panic!("the login goes in circles at {url}");
    }
}

/// Settings of a server about which nothing is configured.
pub(crate) fn plain() -> Settings {
    Settings { client_id: None, client_secret: None, scopes: Vec::new(), document: Document::Unused }
}
