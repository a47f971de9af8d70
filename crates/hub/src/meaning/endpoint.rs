//! A service that computes vectors: Ollama's `/api/embed`, or `/v1/embeddings` as OpenAI has it.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::Client;
use serde::Deserialize;
use serde_json::json;
use toolyard_encoder::Embedding;
use url::Url;

use super::error::Error;
use crate::web;

/// A service that computes vectors.
#[derive(Debug)]
pub struct Endpoint {
    client: Client,
    url: Url,
    secret: Option<String>,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) dims: usize,
}

/// How long a service may take to load its model.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an answer that are read.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Numbers of a vector that are taken.
const MAX_DIMS: usize = 8192;
/// Characters of a refusal that are shown.
const SHOWN: usize = 200;

/// What services answer: Ollama with `embeddings`, others with `data`.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    embeddings: Vec<Vec<f32>>,
    #[serde(default)]
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    embedding: Vec<f32>,
    #[serde(default)]
    index: Option<usize>,
}

impl Endpoint {
    /// Finds out whether a service answers, and how long its vectors are.
    pub(super) async fn reach(
        client: Client,
        url: &str,
        name: &str,
        secret: Option<String>,
    ) -> Result<Self, Error> {
        let parsed = Url::parse(url).map_err(|err| Error::Endpoint {
            host: url.to_owned(),
            what: format!("has no usable address: {err}"),
        })?;
        let (name, key) = (name.to_owned(), format!("{url}#{name}"));
        let mut endpoint = Self { client, url: parsed, secret, name, key, dims: 0 };
        let first = endpoint.ask(&["tools"], PATIENCE).await?;
        endpoint.dims = first[0].values().len();
        Ok(endpoint)
    }

    /// Returns the vector of each text.
    pub(super) async fn vectors(&self, texts: &[&str], limit: Duration) -> Result<Vec<Embedding>, Error> {
        let vectors = self.ask(texts, limit).await?;
        if vectors.iter().any(|vector| vector.values().len() != self.dims) {
            return Err(self.error("answers with vectors of another length than before"));
        }
        Ok(vectors)
    }

    async fn ask(&self, texts: &[&str], limit: Duration) -> Result<Vec<Embedding>, Error> {
        let late = |_| Error::Late { host: self.host(), limit };
        let bytes = tokio::time::timeout(limit, self.send(texts)).await.map_err(late)??;
        let Ok(Answer { mut embeddings, mut data }) = serde_json::from_slice(&bytes) else {
            return Err(self.error("answers with something else than embeddings"));
        };
        if embeddings.is_empty() {
            data.sort_by_key(|item| item.index);
            embeddings = data.into_iter().map(|item| item.embedding).collect();
        }
        let dims = embeddings.first().map_or(0, Vec::len);
        let is_sound = embeddings.len() == texts.len()
            && (1..=MAX_DIMS).contains(&dims)
            && embeddings.iter().all(|vector| vector.len() == dims);
        if !is_sound {
            return Err(self.error("answers with something else than one vector for each text"));
        }
        Ok(embeddings.into_iter().map(Embedding::new).collect())
    }

    async fn send(&self, texts: &[&str]) -> Result<Vec<u8>, Error> {
        let failed = |err: reqwest::Error| self.error(&format!("cannot be reached: {}", web::cause(&err)));
        let body = json!({ "model": self.name, "input": texts }).to_string();
        let request = self.client.post(self.url.clone());
        let mut request = request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body);
        if let Some(secret) = &self.secret {
            request = request.bearer_auth(secret);
        }
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        let mut bytes = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.map_err(failed)?);
            if bytes.len() > MAX_BYTES {
                return Err(self.error("answers without end"));
            }
        }
        if !status.is_success() {
            let said: String = String::from_utf8_lossy(&bytes).chars().take(SHOWN).collect();
            return Err(self.error(&format!("answers HTTP {}: {}", status.as_u16(), said.trim())));
        }
        Ok(bytes)
    }

    fn error(&self, what: &str) -> Error {
        Error::Endpoint { host: self.host(), what: what.to_owned() }
    }

    /// Keys travel in the rest of an address.
    fn host(&self) -> String {
        let port = self.url.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{}{port}", self.url.host_str().unwrap_or_default())
    }
}
