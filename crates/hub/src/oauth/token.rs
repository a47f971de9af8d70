//! A grant: the tokens for one server, when to renew them, and how to ask for them.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::Error;
use super::challenge::scopes;
use super::client::Client;
use super::fetch::{Fetch, Reply, refusal};
use crate::vault::Secret;

/// What a login leaves behind, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Grant {
    /// The MCP server that the tokens are for. They are sent to no other address.
    pub server: String,
    pub issuer: String,
    pub token_endpoint: String,
    pub resource: String,
    pub client: Client,
    pub access: Secret,
    pub refresh: Option<Secret>,
    /// Scopes that were asked for, which a later login asks for again.
    pub requested: Vec<String>,
    /// Scopes that were given.
    pub scopes: Vec<String>,
    pub obtained: SystemTime,
    pub lifetime: Option<Duration>,
    /// Whether the access token came from a renewal and not from a login.
    pub renewed: bool,
}

/// What the age of a token asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Use it.
    Fresh,
    /// Renew it; it still works meanwhile.
    Due,
    /// It works no more.
    Expired,
}

/// Tells whether a token needs renewal: from 80% of its lifetime on. A token of unknown lifetime is used
/// until the server refuses it.
fn freshness(obtained: SystemTime, lifetime: Option<Duration>, now: SystemTime) -> Freshness {
    let Some(lifetime) = lifetime else { return Freshness::Fresh };
    match now.duration_since(obtained) {
        Ok(age) if age >= lifetime => Freshness::Expired,
        Ok(age) if age >= lifetime.mul_f64(0.8) => Freshness::Due,
        Ok(_) => Freshness::Fresh,
        // The clock was set back: nobody knows how old the token is, and a renewal settles it.
        Err(_) => Freshness::Due,
    }
}

/// Times before 1970, which a wrong clock shows, cannot be written down.
pub(super) fn storable(time: SystemTime) -> SystemTime {
    time.max(SystemTime::UNIX_EPOCH)
}

impl Grant {
    pub(super) fn freshness(&self, now: SystemTime) -> Freshness {
        freshness(self.obtained, self.lifetime, now)
    }

    /// Takes over what the token endpoint gave. An endpoint that rotates sends a new refresh token, any
    /// other sends none, and the old one stays good.
    pub(super) fn replace(&mut self, given: Given, now: SystemTime) {
        self.access = given.access;
        self.refresh = given.refresh.or_else(|| self.refresh.take());
        self.lifetime = given.lifetime;
        self.scopes = given.scopes.unwrap_or_else(|| std::mem::take(&mut self.scopes));
        self.obtained = storable(now);
        self.renewed = true;
    }
}

/// The reply of a token endpoint, checked.
#[derive(Debug)]
pub(super) struct Given {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub lifetime: Option<Duration>,
    pub scopes: Option<Vec<String>>,
}

/// Why a token endpoint gave nothing.
#[derive(Debug)]
pub(super) enum Refused {
    /// It refused: asking again with the same values is useless.
    For(String),
    /// It does not know the client any more.
    UnknownClient,
    /// It could not be asked, or did not make sense.
    NotNow(Error),
}

/// Where and as whom a token is asked for.
pub(super) struct Desk<'a> {
    pub fetch: &'a Fetch,
    pub endpoint: &'a Url,
    pub client: &'a Client,
    pub resource: &'a str,
}

impl Desk<'_> {
    /// Trades the code of a login for tokens.
    pub(super) async fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect: &str,
    ) -> Result<Given, Refused> {
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect),
        ];
        self.ask(&grant).await
    }

    /// Trades a refresh token for new tokens.
    pub(super) async fn refresh(&self, token: &str) -> Result<Given, Refused> {
        self.ask(&[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    async fn ask(&self, grant: &[(&str, &str)]) -> Result<Given, Refused> {
        let mut form = self.client.form();
        form.fields.extend(grant);
        form.fields.push(("resource", self.resource));
        let reply = self.fetch.form(self.endpoint, &form).await.map_err(Refused::NotNow)?;
        given(reply, self.endpoint)
    }
}

fn given(reply: Reply, endpoint: &Url) -> Result<Given, Refused> {
    #[derive(Deserialize)]
    struct Body {
        access_token: Secret,
        token_type: String,
        refresh_token: Option<Secret>,
        #[serde(default)]
        expires_in: Option<Value>,
        scope: Option<String>,
    }

    let odd =
        |reason: String| Refused::NotNow(Error::Unreachable { url: super::fetch::shown(endpoint), reason });
    if reply.status != StatusCode::OK {
        let told = refusal(&reply);
        return Err(match told.as_ref().map(|(code, _)| code.as_str()) {
            Some("invalid_client") => Refused::UnknownClient,
            Some("server_error" | "temporarily_unavailable") | None => {
                odd(format!("status {}", reply.status))
            }
            Some(_) => Refused::For(told.map(|(_, text)| text).unwrap_or_default()),
        });
    }
    // What serde says of a bad body can quote it, and it may hold a token.
    let body = reply.body.and_then(|body| serde_json::from_value::<Body>(body).ok());
    let body = body.ok_or_else(|| odd("the reply is not a token".to_owned()))?;
    let sendable = |secret: &Secret| {
        let text = secret.expose();
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic())
    };
    if !body.token_type.eq_ignore_ascii_case("bearer") || !sendable(&body.access_token) {
        return Err(odd("the reply is not a bearer token".to_owned()));
    }
    // Some servers write the number as text, or 0 for a token without an end.
    let seconds = body.expires_in.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
    let seconds = seconds.filter(|seconds| *seconds > 0);
    Ok(Given {
        access: body.access_token,
        refresh: body.refresh_token.filter(|token| !token.expose().is_empty()),
        lifetime: seconds.map(|seconds| Duration::from_secs(seconds.min(u64::from(u32::MAX)))),
        scopes: body.scope.map(|text| scopes(&text)),
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use reqwest::StatusCode;
    use serde_json::{Value, json};
    use url::Url;

    use super::{Freshness, Reply, freshness, given};
    use crate::secrets::Secrets;

    #[test]
    fn a_token_is_renewed_from_eighty_percent_of_its_life_on() {
        let obtained = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let after = |seconds| {
            freshness(obtained, Some(Duration::from_secs(100)), obtained + Duration::from_secs(seconds))
        };
        assert_eq!([0, 79, 80, 99, 100].map(after), {
            use Freshness::{Due, Expired, Fresh};
            [Fresh, Fresh, Due, Due, Expired]
        });
        assert_eq!(freshness(obtained, None, obtained + Duration::from_secs(1 << 40)), Freshness::Fresh);
        let before = obtained - Duration::from_secs(1);
        assert_eq!(freshness(obtained, Some(Duration::from_secs(100)), before), Freshness::Due);
    }

    #[test]
    fn only_a_usable_bearer_token_is_taken() {
        let bodies = [
            (
                200,
                json!({"access_token": "hunter2", "token_type": "bearer", "expires_in": 60, "scope": "a b"}),
            ),
            (
                200,
                json!({"access_token": "hunter2", "token_type": "Bearer", "expires_in": "60", "refresh_token": ""}),
            ),
            (200, json!({"access_token": "hunter2", "token_type": "DPoP"})),
            (200, json!({"access_token": "hunter2\r\nX: y", "token_type": "Bearer"})),
            (200, json!({"access_token": ["hunter2"], "token_type": "Bearer"})),
            (200, json!("hunter2")),
            (400, json!({"error": "invalid_grant", "error_description": "used \u{1b}[1malready"})),
            (400, json!({"error": "invalid_grant", "error_description": "hunter2 is spent"})),
            (401, json!({"error": "invalid_client"})),
            (500, json!({"message": "hunter2"})),
        ];
        insta::assert_snapshot!(bodies.map(|(status, body)| told(status, body)).join("\n"), @r#"
        Ok(Given { access: Secret, refresh: None, lifetime: Some(60s), scopes: Some(["a", "b"]) })
        Ok(Given { access: Secret, refresh: None, lifetime: Some(60s), scopes: None })
        Err(NotNow(Unreachable { url: "https://a.example/token", reason: "the reply is not a bearer token" }))
        Err(NotNow(Unreachable { url: "https://a.example/token", reason: "the reply is not a bearer token" }))
        Err(NotNow(Unreachable { url: "https://a.example/token", reason: "the reply is not a token" }))
        Err(NotNow(Unreachable { url: "https://a.example/token", reason: "the reply is not a token" }))
        Err(For("invalid_grant: used [1malready"))
        Err(For("invalid_grant: *** is spent"))
        Err(UnknownClient)
        Err(NotNow(Unreachable { url: "https://a.example/token", reason: "status 500 Internal Server Error" }))
        "#);
    }

    fn told(status: u16, body: Value) -> String {
        let secrets = Secrets::of(["hunter2".to_owned()]);
        let reply = Reply { status: StatusCode::from_u16(status).unwrap(), body: Some(body), secrets };
        let said = format!("{:?}", given(reply, &Url::parse("https://a.example/token").unwrap()));
        assert!(!said.contains("hunter2"), "{said}");
        said
    }
}
