//! One login: what is asked of the authorization server, and what its answer must be.

use std::time::SystemTime;

use url::Url;

use super::callback::Answer;
use super::challenge::Challenge;
use super::client::Client;
use super::discovery::{Found, Issuer, canonical};
use super::fetch::{Fetch, printable};
use super::pkce::Attempt;
use super::token::{Desk, Grant, Refused, storable};
use super::{Error, Settings};

const OFFLINE: &str = "offline_access";

/// Everything that was fixed before the browser opened. The answer is checked against this alone.
pub(super) struct Login {
    pub attempt: Attempt,
    pub redirect: String,
    pub client: Client,
    pub scopes: Vec<String>,
    pub found: Found,
}

/// Chooses what to ask for: what the configuration says, else what the challenge wants, else what the
/// resource documents. Scopes of an earlier login are asked for again, so that a wider login loses nothing.
pub(super) fn scopes(
    settings: &Settings,
    challenge: &Challenge,
    found: &Found,
    before: Option<&Grant>,
    extra: &[String],
) -> Vec<String> {
    let configured = !settings.scopes.is_empty();
    let base = match challenge.scopes.is_empty() {
        _ if configured => &settings.scopes,
        false => &challenge.scopes,
        true => &found.scopes,
    };
    let before =
        before.filter(|it| !configured && it.issuer == found.issuer.id && it.resource == found.resource);
    let earlier = before.map(|it| it.requested.as_slice()).unwrap_or_default();
    let mut wanted: Vec<String> = Vec::new();
    for scope in base.iter().chain(earlier).chain(extra) {
        if !wanted.contains(scope) {
            wanted.push(scope.clone());
        }
    }
    // Alone it would stand in the place of the scopes that the server gives by default.
    let offline = OFFLINE.to_owned();
    if found.issuer.gives_refresh_on_request && !wanted.is_empty() && !wanted.contains(&offline) {
        wanted.push(offline);
    }
    wanted
}

impl Login {
    /// The address for the browser.
    pub(super) fn address(&self) -> Url {
        let mut url = self.found.issuer.authorization_endpoint.clone();
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client.id)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("code_challenge", &self.attempt.challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", self.attempt.state.expose())
            .append_pair("resource", &self.found.resource);
        if !self.scopes.is_empty() {
            query.append_pair("scope", &self.scopes.join(" "));
        }
        if self.scopes.iter().any(|scope| scope == OFFLINE) {
            // OpenID providers leave the refresh token out unless the person is asked.
            query.append_pair("prompt", "consent");
        }
        drop(query);
        url
    }

    /// Trades the answer for tokens.
    pub(super) async fn redeem(&self, fetch: &Fetch, server: &Url, answer: &Answer) -> Result<Grant, Error> {
        let issuer = &self.found.issuer;
        check_sender(issuer, answer.field("iss"))?;
        let denied = |reason: String| Error::Denied { issuer: printable(&issuer.id), reason };
        let code = match (answer.field("code"), answer.field("error")) {
            (Some(code), None) => code,
            (_, Some(error)) => {
                let more =
                    answer.field("error_description").map(|text| format!(": {text}")).unwrap_or_default();
                return Err(denied(printable(&format!("{error}{more}"))));
            }
            (None, None) => return Err(denied("it sent no code".to_owned())),
        };
        let obtained = storable(SystemTime::now());
        let endpoint = &issuer.token_endpoint;
        let desk = Desk { fetch, endpoint, client: &self.client, resource: &self.found.resource };
        let given = desk.exchange(code, self.attempt.verifier.expose(), &self.redirect).await;
        let given = given.map_err(|refused| match refused {
            Refused::For(reason) => denied(reason),
            Refused::UnknownClient => Error::UnknownClient { issuer: printable(&issuer.id) },
            Refused::NotNow(err) => err,
        })?;
        Ok(Grant {
            server: canonical(server),
            issuer: issuer.id.clone(),
            token_endpoint: endpoint.to_string(),
            resource: self.found.resource.clone(),
            client: self.client.clone(),
            access: given.access,
            refresh: given.refresh,
            scopes: given.scopes.unwrap_or_else(|| self.scopes.clone()),
            requested: self.scopes.clone(),
            obtained,
            lifetime: given.lifetime,
            renewed: false,
        })
    }
}

/// Checks whom an answer is from, byte for byte, before anything in it is used or shown.
fn check_sender(issuer: &Issuer, iss: Option<&str>) -> Result<(), Error> {
    match iss {
        Some(iss) if iss == issuer.id => Ok(()),
        Some(iss) => Err(Error::WrongIssuer { expected: printable(&issuer.id), found: printable(iss) }),
        None if issuer.sends_iss => Err(Error::NoSender { issuer: printable(&issuer.id) }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::Document;
    use super::super::client::Method;
    use super::{Attempt, Challenge, Client, Found, Issuer, Login, Settings, check_sender, scopes};

    #[test]
    fn the_sender_is_compared_as_the_specification_says() {
        let says = |sends_iss, iss| check_sender(&Issuer { sends_iss, ..issuer() }, iss).is_ok();
        let ours = Some("https://a.example");
        assert_eq!([true, false].map(|sends| says(sends, ours)), [true, true]);
        assert_eq!([true, false].map(|sends| says(sends, None)), [false, true]);
        for other in ["https://a.example/", "https://A.example", "https://a.example:443", ""] {
            assert_eq!([true, false].map(|sends| says(sends, Some(other))), [false, false], "{other}");
        }
    }

    #[test]
    fn the_configuration_goes_before_the_challenge_and_that_before_the_metadata() {
        let row = |configured: &str, challenged: &str, documented: &str, extra: &str| {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let settings = Settings { scopes: words(configured), ..settings() };
            let challenge = Challenge { scopes: words(challenged), ..Challenge::default() };
            let found = Found { scopes: words(documented), ..found() };
            scopes(&settings, &challenge, &found, None, &words(extra)).join(" ")
        };
        assert_eq!(row("own", "wanted", "known", ""), "own offline_access");
        assert_eq!(row("", "wanted", "known", "more wanted"), "wanted more offline_access");
        assert_eq!(row("", "", "known", ""), "known offline_access");
        assert_eq!(row("", "", "", ""), "");
    }

    #[test]
    fn the_address_carries_all_that_the_specification_wants() {
        let client = Client { id: "me".to_owned(), secret: None, method: Method::None };
        let redirect = "http://127.0.0.1:7/callback".to_owned();
        let login = Login {
            attempt: Attempt::new().unwrap(),
            redirect,
            client,
            scopes: vec!["a".to_owned(), "offline_access".to_owned()],
            found: found(),
        };
        let url = login.address();
        let random = [login.attempt.challenge.as_str(), login.attempt.state.expose()];
        let pairs = url.query_pairs().map(|(name, value)| {
            format!("{name}={}", if random.contains(&&*value) { "(random)" } else { &value })
        });
        insta::assert_snapshot!(pairs.collect::<Vec<_>>().join("\n"), @"
        tenant=1
        response_type=code
        client_id=me
        redirect_uri=http://127.0.0.1:7/callback
        code_challenge=(random)
        code_challenge_method=S256
        state=(random)
        resource=https://mcp.example/mcp
        scope=a offline_access
        prompt=consent
        ");
        assert!(!url.as_str().contains(login.attempt.verifier.expose()));
    }

    fn settings() -> Settings {
        Settings { client_id: None, client_secret: None, scopes: Vec::new(), document: Document::Unused }
    }

    fn found() -> Found {
        Found { resource: "https://mcp.example/mcp".to_owned(), scopes: Vec::new(), issuer: issuer() }
    }

    fn issuer() -> Issuer {
        let url = |path: &str| Url::parse(&format!("https://a.example/{path}")).unwrap();
        Issuer {
            id: "https://a.example".to_owned(),
            authorization_endpoint: url("authorize?tenant=1"),
            token_endpoint: url("token"),
            registration_endpoint: None,
            auth_methods: None,
            takes_documents: false,
            sends_iss: true,
            gives_refresh_on_request: true,
        }
    }
}
