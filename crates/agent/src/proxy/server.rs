//! Where a model server is, and what it speaks.

use std::time::Duration;

use serde_json::Value;
use url::Url;

use crate::model::{self, Dialect};

/// Where Ollama listens unless somebody changed it.
const OLLAMA_PORT: u16 = 11434;
/// How long a server may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// How addresses end that name an endpoint.
const ENDPOINTS: [(&str, Dialect); 4] = [
    ("/v1/chat/completions", Dialect::OpenAi),
    ("/v1", Dialect::OpenAi),
    ("/api/chat", Dialect::Ollama),
    ("/api", Dialect::Ollama),
];

/// An address that names no model server.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no model server; expected an address such as `http://127.0.0.1:11434` or `https://HOST/v1`"
)]
pub struct BadServer(String);

/// Finds the address of a model server and its dialect. Where the address does not tell, the server is asked.
pub async fn locate(address: &str) -> Result<(Url, Dialect), BadServer> {
    let (base, dialect) = parse(address)?;
    let dialect = match dialect {
        Some(dialect) => dialect,
        None => ask(&base).await,
    };
    Ok((base, dialect))
}

/// Returns a path of a model server.
pub(super) fn under(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}

fn parse(address: &str) -> Result<(Url, Option<Dialect>), BadServer> {
    let bad = || BadServer(address.to_owned());
    let written = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let mut url = Url::parse(&written).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(bad());
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    let found = ENDPOINTS.iter().find_map(|(end, dialect)| Some((path.strip_suffix(end)?, *dialect)));
    match found {
        Some((base, dialect)) => {
            url.set_path(base);
            Ok((url, Some(dialect)))
        }
        None if path.ends_with("/chat/completions") => Err(bad()),
        None => Ok((url, None)),
    }
}

/// Asks a server what only Ollama answers.
async fn ask(base: &Url) -> Dialect {
    let asking = async {
        let response = model::client().get(under(base, "/api/version")).send().await.ok()?;
        let text = if response.status().is_success() { response.text().await.ok()? } else { String::new() };
        Some(serde_json::from_str::<Value>(&text).is_ok_and(|it| it["version"].is_string()))
    };
    let is_ollama = tokio::time::timeout(PATIENCE, asking).await.ok().flatten();
    match is_ollama.unwrap_or(base.port() == Some(OLLAMA_PORT)) {
        true => Dialect::Ollama,
        false => Dialect::OpenAi,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_name_the_server_or_one_of_its_endpoints() {
        let read = |address: &str| parse(address).map(|(url, dialect)| (url.to_string(), dialect)).ok();
        for (address, base, dialect) in [
            ("http://127.0.0.1:11434/api/chat", "http://127.0.0.1:11434/", Some(Dialect::Ollama)),
            ("https://h/openai/v1/", "https://h/openai", Some(Dialect::OpenAi)),
            ("https://h/v1/chat/completions#small", "https://h/", Some(Dialect::OpenAi)),
            ("localhost:8080", "http://localhost:8080/", None),
        ] {
            assert_eq!(read(address), Some((base.to_owned(), dialect)), "{address}");
        }
        for address in ["", "ftp://h", "https://h/other/chat/completions", "http://"] {
            assert_eq!(read(address), None, "{address}");
        }
    }

    #[test]
    fn paths_lie_under_the_address() {
        let (base, _) = parse("https://h/openai/v1?key=1").unwrap();
        assert_eq!(under(&base, "/v1/models").as_str(), "https://h/openai/v1/models?key=1");
    }
}
