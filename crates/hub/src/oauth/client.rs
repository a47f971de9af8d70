//! Who we are to an authorization server.
//!
//! In this order: a client that a person registered, the client metadata document that the project
//! publishes, a dynamic registration. What was registered is remembered by issuer and shown to no other.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;
use tracing::debug;
use url::Url;

use super::callback::Callback;
use super::discovery::Issuer;
use super::fetch::{Fetch, Form, printable, refusal};
use super::{Document, Error, Settings, blocking};
use crate::vault::{Secret, Vault};

/// Where the project publishes what it is; the same text is in `oauth/client.json`.
pub const DOCUMENT: &str = "https://toolyard.github.io/toolyard/oauth/client.json";
const DOCUMENT_PATIENCE: Duration = Duration::from_secs(5);

/// A client of one authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    pub id: String,
    pub secret: Option<Secret>,
    pub method: Method,
}

/// How a client proves itself to the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Method {
    None,
    Basic,
    Post,
}

/// Who we are in one login, and the listener whose address that client may name.
#[derive(Debug)]
pub(super) struct Identity {
    pub client: Client,
    pub callback: Callback,
    /// To be stored once the authorization server has shown that it knows the client.
    pub registration: Option<Registration>,
}

/// A dynamic registration, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Registration {
    client: Client,
    /// The port of the registered redirect address. Many servers compare it, so it is used again.
    port: u16,
    secret_ends: Option<SystemTime>,
}

impl Client {
    /// Starts a request to the token endpoint.
    pub(super) fn form(&self) -> Form<'_> {
        let secret = self.secret.as_ref().map(Secret::expose);
        match (self.method, secret) {
            (Method::Basic, Some(secret)) => {
                Form { fields: Vec::new(), authorization: Some(basic(&self.id, secret)) }
            }
            (Method::Post, Some(secret)) => {
                Form { fields: vec![("client_id", &self.id), ("client_secret", secret)], authorization: None }
            }
            _ => Form { fields: vec![("client_id", &self.id)], authorization: None },
        }
    }
}

/// Where the choice of a client is made.
pub(super) struct Desk<'a> {
    pub server: &'a str,
    pub fetch: &'a Fetch,
    pub vault: &'a Vault,
    pub settings: &'a Settings,
}

impl Desk<'_> {
    /// Chooses the client.
    pub(super) async fn identify(&self, issuer: &Issuer) -> Result<Identity, Error> {
        if let Some(id) = &self.settings.client_id {
            let secret = self.settings.client_secret.clone();
            let method = method(issuer, secret.as_ref(), None);
            let client = Client { id: id.clone(), secret, method };
            return Ok(Identity { client, callback: Callback::bind(0).await?, registration: None });
        }
        if let Some(id) = self.document(issuer).await? {
            let client = Client { id, secret: None, method: Method::None };
            return Ok(Identity { client, callback: Callback::bind(0).await?, registration: None });
        }
        match &issuer.registration_endpoint {
            Some(endpoint) => self.registered(issuer, endpoint).await,
            None => Err(Error::NoClient { server: self.server.to_owned(), issuer: printable(&issuer.id) }),
        }
    }

    async fn document(&self, issuer: &Issuer) -> Result<Option<String>, Error> {
        if !issuer.takes_documents {
            return Ok(None);
        }
        match &self.settings.document {
            Document::At(url) if url.scheme() == "https" && url.path() != "/" => Ok(Some(url.to_string())),
            Document::At(url) => Err(Error::Unsafe {
                url: super::fetch::shown(url),
                why: "a client document needs https and a path",
            }),
            Document::Published => Ok(self.published().await.then(|| DOCUMENT.to_owned())),
            Document::Unused => Ok(None),
        }
    }

    /// An authorization server that cannot read the document would refuse the login, so it is used only
    /// when it can be read from here.
    async fn published(&self) -> bool {
        let Ok(url) = Url::parse(DOCUMENT) else { return false };
        let found = timeout(DOCUMENT_PATIENCE, self.fetch.document(&url)).await;
        let found = matches!(&found, Ok(Ok(Some(body))) if body["client_id"] == DOCUMENT);
        if !found {
            debug!(server = self.server, "client document not reachable; registering instead");
        }
        found
    }

    async fn registered(&self, issuer: &Issuer, endpoint: &Url) -> Result<Identity, Error> {
        let (vault, key) = (self.vault.clone(), registration_key(&issuer.id));
        // A server that has lost a registration tells the browser and not us. So a registration is taken
        // out until a login with it has come back; one that is broken off leaves the next to register anew.
        let known = blocking(move || {
            let known = vault.get::<Registration>(&key)?;
            if known.is_some() {
                vault.remove(&key)?;
            }
            Ok::<_, Error>(known)
        });
        if let Some(known) = known.await?
            && known.secret_ends.is_none_or(|ends| SystemTime::now() < ends)
            && let Ok(callback) = Callback::bind(known.port).await
        {
            return Ok(Identity { client: known.client.clone(), callback, registration: Some(known) });
        }
        let callback = Callback::bind(0).await?;
        let new = self.register(issuer, endpoint, &callback).await?;
        Ok(Identity { client: new.client.clone(), callback, registration: Some(new) })
    }

    async fn register(
        &self,
        issuer: &Issuer,
        endpoint: &Url,
        callback: &Callback,
    ) -> Result<Registration, Error> {
        #[derive(Deserialize)]
        struct Body {
            client_id: String,
            client_secret: Option<Secret>,
            client_secret_expires_at: Option<u64>,
            token_endpoint_auth_method: Option<String>,
        }

        let wish = json!({
            "client_name": "Toolyard",
            "application_type": "native",
            "redirect_uris": [callback.redirect()],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        let reply = self.fetch.json(endpoint, &wish).await?;
        let failed = |reason: String| Error::Registration { issuer: printable(&issuer.id), reason };
        if !reply.status.is_success() {
            let told = refusal(&reply).map(|(_, text)| text);
            return Err(failed(told.unwrap_or_else(|| format!("status {}", reply.status))));
        }
        let body = reply.body.and_then(|body| serde_json::from_value::<Body>(body).ok());
        let body = body.ok_or_else(|| failed("the reply is not a registration".to_owned()))?;
        let method = method(issuer, body.client_secret.as_ref(), body.token_endpoint_auth_method.as_deref());
        Ok(Registration {
            port: callback.port(),
            secret_ends: body
                .client_secret_expires_at
                .filter(|seconds| *seconds > 0)
                .and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))),
            client: Client { id: body.client_id, secret: body.client_secret, method },
        })
    }
}

/// The entry of a registration in the vault.
pub(super) fn registration_key(issuer: &str) -> String {
    format!("registration:{issuer}")
}

fn method(issuer: &Issuer, secret: Option<&Secret>, assigned: Option<&str>) -> Method {
    if secret.is_none() {
        return Method::None;
    }
    let offered = issuer.auth_methods.as_deref();
    match assigned {
        Some("none") => Method::None,
        Some("client_secret_post") => Method::Post,
        Some("client_secret_basic") => Method::Basic,
        // Basic is what every server must take, so it is left only for one that says it does not.
        _ => match offered {
            Some(methods) if !methods.iter().any(|m| m == "client_secret_basic") => Method::Post,
            _ => Method::Basic,
        },
    }
}

/// Both halves are form-encoded first, as OAuth wants and plain HTTP does not.
fn basic(id: &str, secret: &str) -> String {
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(id), encode(secret))))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Client, DOCUMENT, Method, Secret};

    #[test]
    fn the_published_document_names_its_own_address() {
        let document: Value = serde_json::from_str(include_str!("client.json")).unwrap();
        assert_eq!(document["client_id"], DOCUMENT);
        assert_eq!(document["redirect_uris"][0], "http://127.0.0.1/callback");
    }

    #[test]
    fn a_client_proves_itself_as_its_server_wants() {
        let form = |method| {
            let client = Client { id: "a b".to_owned(), secret: Some(Secret::new("s:/".to_owned())), method };
            assert!(!format!("{client:?}").contains("s:/"));
            let form = client.form();
            format!("{:?} {:?}", form.fields, form.authorization)
        };
        insta::assert_snapshot!([Method::None, Method::Basic, Method::Post].map(form).join("\n"), @r#"
        [("client_id", "a b")] None
        [] Some("Basic YStiOnMlM0ElMkY=")
        [("client_id", "a b"), ("client_secret", "s:/")] None
        "#);
    }
}
