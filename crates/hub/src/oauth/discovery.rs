//! Finds out who gives tokens for an MCP server, and checks that they may be trusted with it.
//!
//! From the challenge or the well-known places to the protected-resource metadata, from there to the
//! metadata of the authorization server. Servers of 2025-03-26 have no resource metadata: there the origin
//! of the MCP server is the issuer. A document is used only when it names itself rightly.

use serde::Deserialize;
use url::Url;

use super::Error;
use super::challenge::{Challenge, scopes};
use super::fetch::{Fetch, printable, shown};

/// A resource with more authorization servers than this is not asked about the rest.
const MOST_ISSUERS: usize = 4;

/// Everything needed to ask for a token.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// What the token is for, sent as `resource`.
    pub resource: String,
    /// Scopes that the resource says it needs; the challenge goes before them.
    pub scopes: Vec<String>,
    pub issuer: Issuer,
}

/// An authorization server whose metadata was checked.
#[derive(Clone, Debug)]
pub(super) struct Issuer {
    /// Its name, byte for byte as it wrote it.
    pub id: String,
    pub authorization_endpoint: Url,
    pub token_endpoint: Url,
    pub registration_endpoint: Option<Url>,
    pub auth_methods: Option<Vec<String>>,
    /// Whether it takes the address of a client metadata document as a client id.
    pub takes_documents: bool,
    /// Whether every answer of it must carry `iss`.
    pub sends_iss: bool,
    /// Whether `offline_access` is a scope of it.
    pub gives_refresh_on_request: bool,
}

#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

#[derive(Deserialize)]
struct ServerMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Finds the authorization server of an MCP server.
pub(super) async fn discover(fetch: &Fetch, server: &Url, challenge: &Challenge) -> Result<Found, Error> {
    let metadata = resource_metadata(fetch, server, challenge).await?;
    let (resource, named, scopes) = match metadata {
        Some(told) => (told.resource, told.authorization_servers, scopes(&told.scopes_supported.join(" "))),
        None => (canonical(server), Vec::new(), Vec::new()),
    };
    let mut first = None;
    let candidates = if named.is_empty() {
        // Nobody has named the issuer, and both spellings lead to the same document.
        let origin = server.origin().ascii_serialization();
        vec![vec![origin.clone(), format!("{origin}/")]]
    } else {
        named.into_iter().take(MOST_ISSUERS).map(|issuer| vec![issuer]).collect()
    };
    for spellings in candidates {
        match issuer(fetch, &spellings).await {
            Ok(issuer) => return Ok(Found { resource, scopes, issuer }),
            Err(err) => first = first.or(Some(err)),
        }
    }
    Err(first.expect("there is at least one candidate"))
}

async fn resource_metadata(
    fetch: &Fetch,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, Error> {
    let places = match &challenge.resource_metadata {
        Some(place) => vec![fetch.parse(place).await?],
        None => resource_places(server),
    };
    for place in &places {
        let body = match fetch.document(place).await {
            Ok(Some(body)) => body,
            Ok(None) => continue,
            // Old servers answer a place they do not know with whatever they like.
            Err(_) if challenge.resource_metadata.is_none() => continue,
            Err(err) => return Err(err),
        };
        let Ok(told) = serde_json::from_value::<ResourceMetadata>(body) else { continue };
        if !covers(&told.resource, server) {
            return Err(Error::WrongResource { server: shown(server), resource: printable(&told.resource) });
        }
        return Ok(Some(told));
    }
    // A server that names a place and has nothing there is broken, not old.
    match &challenge.resource_metadata {
        Some(_) => Err(Error::NoDocument { url: shown(&places[0]) }),
        None => Ok(None),
    }
}

/// Reads the metadata of an authorization server, whose name is one of the spellings.
async fn issuer(fetch: &Fetch, spellings: &[String]) -> Result<Issuer, Error> {
    let url = fetch.parse(&spellings[0]).await?;
    let mut first = None;
    for place in issuer_places(&url) {
        let attempt = match fetch.document(&place).await {
            Ok(Some(body)) => match serde_json::from_value(body) {
                Ok(told) => accept(fetch, told, spellings).await,
                Err(_) => continue,
            },
            Ok(None) => continue,
            Err(err) => Err(err),
        };
        match attempt {
            Ok(issuer) => return Ok(issuer),
            Err(err) => first = first.or(Some(err)),
        }
    }
    Err(first.unwrap_or_else(|| Error::NoIssuer { issuer: shown(&url) }))
}

async fn accept(fetch: &Fetch, told: ServerMetadata, spellings: &[String]) -> Result<Issuer, Error> {
    if !spellings.contains(&told.issuer) {
        return Err(Error::WrongIssuer {
            expected: printable(&spellings[0]),
            found: printable(&told.issuer),
        });
    }
    if !told.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(Error::NoPkce { issuer: printable(&told.issuer) });
    }
    let registration_endpoint = match &told.registration_endpoint {
        Some(url) => Some(fetch.parse(url).await?),
        None => None,
    };
    Ok(Issuer {
        authorization_endpoint: fetch.parse(&told.authorization_endpoint).await?,
        token_endpoint: fetch.parse(&told.token_endpoint).await?,
        registration_endpoint,
        gives_refresh_on_request: scopes(&told.scopes_supported.join(" "))
            .iter()
            .any(|s| s == "offline_access"),
        auth_methods: told.token_endpoint_auth_methods_supported,
        takes_documents: told.client_id_metadata_document_supported,
        sends_iss: told.authorization_response_iss_parameter_supported,
        id: told.issuer,
    })
}

/// The address of an MCP server as a resource: without fragment, and without query, which can hold a secret.
pub(super) fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    url.set_query(None);
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

/// Tells whether a resource is the server or contains it. Many servers name their origin or a parent path
/// where the standard wants the endpoint; a token for that is still a token for this server.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.origin() != server.origin() || resource.fragment().is_some() {
        return false;
    }
    let parent = resource.path().trim_end_matches('/');
    let path = server.path().trim_end_matches('/');
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn resource_places(server: &Url) -> Vec<Url> {
    let at_path = well_known(server, "oauth-protected-resource");
    let at_root = well_known(&root(server), "oauth-protected-resource");
    if at_path == at_root { vec![at_root] } else { vec![at_path, at_root] }
}

fn issuer_places(issuer: &Url) -> Vec<Url> {
    let mut places =
        vec![well_known(issuer, "oauth-authorization-server"), well_known(issuer, "openid-configuration")];
    let path = issuer.path().trim_end_matches('/').to_owned();
    if !path.is_empty() {
        let mut appended = root(issuer);
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        places.push(appended);
    }
    places
}

/// The well-known place of a document, with the path of the address behind it.
fn well_known(url: &Url, name: &str) -> Url {
    let mut place = root(url);
    place.set_path(&format!("/.well-known/{name}{}", url.path().trim_end_matches('/')));
    place
}

fn root(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url.set_query(None);
    url.set_path("/");
    url
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use url::Url;

    use super::{Fetch, accept, canonical, covers, issuer_places, resource_places};

    #[test]
    fn looks_at_the_path_first_and_then_at_the_root() {
        insta::assert_snapshot!(places(resource_places, "https://a.example/public/mcp?x=1#y"), @"
        https://a.example/.well-known/oauth-protected-resource/public/mcp
        https://a.example/.well-known/oauth-protected-resource
        ");
        insta::assert_snapshot!(places(resource_places, "https://a.example:8443"), @"https://a.example:8443/.well-known/oauth-protected-resource");
    }

    #[test]
    fn tries_the_metadata_of_an_issuer_in_the_order_of_the_specification() {
        insta::assert_snapshot!(places(issuer_places, "https://a.example/tenant1"), @"
        https://a.example/.well-known/oauth-authorization-server/tenant1
        https://a.example/.well-known/openid-configuration/tenant1
        https://a.example/tenant1/.well-known/openid-configuration
        ");
        insta::assert_snapshot!(places(issuer_places, "https://a.example"), @"
        https://a.example/.well-known/oauth-authorization-server
        https://a.example/.well-known/openid-configuration
        ");
    }

    #[test]
    fn a_resource_must_be_the_server_or_above_it() {
        let server = Url::parse("https://A.example/team/mcp").unwrap();
        assert_eq!(canonical(&server), "https://a.example/team/mcp");
        assert_eq!(canonical(&Url::parse("https://a.example/?k=v").unwrap()), "https://a.example");
        for resource in [
            "https://a.example/team/mcp",
            "https://a.example/team/",
            "https://a.example",
            "https://a.example/",
        ] {
            assert!(covers(resource, &server), "{resource}");
        }
        for resource in [
            "https://b.example/team/mcp",
            "http://a.example/team/mcp",
            "https://a.example/team/mc",
            "https://a.example/team/mcp/more",
            "https://a.example:444/team/mcp",
            "a.example",
        ] {
            assert!(!covers(resource, &server), "{resource}");
        }
    }

    #[tokio::test]
    async fn metadata_that_lies_or_lacks_pkce_is_refused() {
        let good = json!({
            "issuer": "https://a.example", "authorization_endpoint": "https://a.example/authorize",
            "token_endpoint": "https://a.example/token", "code_challenge_methods_supported": ["S256"],
        });
        let fetch = Fetch::on_behalf_of(&Url::parse("https://mcp.example").unwrap());
        let mut said = Vec::new();
        for (key, value) in [
            ("unknown", json!(1)),
            ("issuer", json!("https://a.example/")),
            ("issuer", json!("https://honest.example")),
            ("code_challenge_methods_supported", json!(["plain"])),
            ("code_challenge_methods_supported", json!([])),
            ("authorization_endpoint", json!("javascript:alert(1)")),
            ("token_endpoint", json!("http://a.example/token")),
            ("registration_endpoint", json!("http://127.0.0.1/register")),
            ("token_endpoint", json!("https://192.168.1.1/token")),
            ("authorization_endpoint", json!("https://[::ffff:0:0]/authorize")),
        ] {
            let mut told = good.clone();
            told[key] = value;
            let told = serde_json::from_value(told).unwrap();
            said.push(match accept(&fetch, told, &["https://a.example".to_owned()]).await {
                Ok(issuer) => format!("ok {}", issuer.id),
                Err(err) => err.to_string(),
            });
        }
        insta::assert_snapshot!(
            said.join("\n"),
            @"
            ok https://a.example
            the authorization server calls itself `https://a.example/` where `https://a.example` is expected
            the authorization server calls itself `https://honest.example` where `https://a.example` is expected
            `https://a.example` does not support PKCE with S256, so a login there would not be safe
            `https://a.example` does not support PKCE with S256, so a login there would not be safe
            `javascript:alert(1)` is refused: it is not https
            `http://a.example/token` is refused: it is not https
            `http://127.0.0.1/register` is refused: a server may not name an address that is nearer to this machine than its own
            `https://192.168.1.1/token` is refused: a server may not name an address that is nearer to this machine than its own
            `https://[::ffff:0:0]/authorize` is refused: a server may not name an address that is nearer to this machine than its own
            "
        );
    }

    fn places(of: fn(&Url) -> Vec<Url>, url: &str) -> String {
        of(&Url::parse(url).unwrap()).iter().map(Url::as_str).collect::<Vec<_>>().join("\n")
    }
}
