//! What the built-in `studio` asks of the world outside: pictures, answers of a language model, a web search.
//!
//! Each is asked over HTTP where the settings name it. Built-in servers run outside the runtime, so they wait here for
//! an answer; every wait has a limit, and an error is a sentence for whoever called the tool.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use toolyard_packs::{Abilities, Outside, ReferenceImage, SearchHit, Services};

use crate::chat::{self, Turn};
use crate::config::{ImageModel, StudioServices};
use crate::web;

/// How long a picture may take.
const PICTURE: Duration = Duration::from_secs(180);
/// How long a search may take.
const SEARCH: Duration = Duration::from_secs(20);
/// Bytes of an answer that are read.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// Results of a search that are passed on.
const MOST_HITS: usize = 20;
/// What separates the parts of a form; a picture that holds it by chance does not exist.
const BOUNDARY: &str = "toolyard-7f1d0c5be2a94b6d8e3f";

/// Returns the services of the settings, for a built-in server.
pub(crate) fn outside(settings: &StudioServices, client: &Client) -> Outside {
    Outside::new(Arc::new(Reached { settings: settings.clone(), client: client.clone() }))
}

struct Reached {
    settings: StudioServices,
    client: Client,
}

impl Services for Reached {
    fn abilities(&self) -> Abilities {
        self.settings.abilities().unwrap_or_default()
    }

    fn picture(&self, prompt: &str, references: &[ReferenceImage]) -> Result<Vec<u8>, String> {
        let images = self.settings.images.as_ref().ok_or("no model for pictures is configured")?;
        let request = match references {
            [] => {
                let body = json!({ "model": images.name, "prompt": prompt, "n": 1 });
                let request = self.client.post(format!("{}/images/generations", images.base));
                request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.to_string())
            }
            references => {
                let request = self.client.post(format!("{}/images/edits", images.base));
                let kind = format!("multipart/form-data; boundary={BOUNDARY}");
                request.header(reqwest::header::CONTENT_TYPE, kind).body(form(images, prompt, references))
            }
        };
        let request = match &images.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        let named = format!("the image model `{}`", images.name);
        waited(PICTURE, &named, async {
            let answer = read_json(request, &named).await?;
            let first = &answer["data"][0];
            if let Some(encoded) = first["b64_json"].as_str() {
                return STANDARD.decode(encoded).map_err(|_| format!("{named} sent a broken picture"));
            }
            match first["url"].as_str() {
                Some(url) => read(self.client.get(url), &named).await,
                None => Err(format!("{named} sent no picture")),
            }
        })
    }

    fn search(&self, query: &str) -> Result<Vec<SearchHit>, String> {
        let search = self.settings.search.as_ref().ok_or("no search is configured")?;
        let named = "the web search";
        let mut url = url::Url::parse(search).map_err(|err| format!("{named} has a wrong address: {err}"))?;
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        let answer = waited(SEARCH, named, read_json(self.client.get(url), named))?;
        let results =
            answer["results"].as_array().ok_or_else(|| format!("{named} answered without results"))?;
        let text = |hit: &Value, key: &str| hit[key].as_str().unwrap_or_default().to_owned();
        let hit = |hit: &Value| SearchHit {
            title: text(hit, "title"),
            url: text(hit, "url"),
            snippet: text(hit, "content"),
        };
        Ok(results.iter().take(MOST_HITS).map(hit).collect())
    }

    fn answer(&self, prompt: &str, _: &[ReferenceImage]) -> Result<String, String> {
        let model = self.settings.model.as_ref().ok_or("no language model is configured")?;
        let schema = json!({
            "type": "object",
            "properties": { "answer": { "type": "string" } },
            "required": ["answer"],
            "additionalProperties": false,
        });
        let turns = [Turn::Question(prompt.to_owned())];
        let said = waited(model.timeout, &model.name, async {
            let asked = chat::ask(&self.client, model, &turns, (&schema, model.timeout));
            asked.await.map_err(|err| err.to_string())
        })?;
        // A model that does not keep the form says it in plain words.
        let read: Option<Value> = serde_json::from_str(&said).ok();
        Ok(read.and_then(|it| Some(it["answer"].as_str()?.to_owned())).unwrap_or(said))
    }
}

/// Waits for an answer on a thread that may block.
fn waited<T>(
    limit: Duration,
    named: &str,
    asked: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let answer = async { tokio::time::timeout(limit, asked).await };
    match tokio::runtime::Handle::current().block_on(answer) {
        Ok(answer) => answer,
        Err(_) => Err(format!("{named} did not answer within {limit:?}")),
    }
}

async fn read_json(request: RequestBuilder, named: &str) -> Result<Value, String> {
    let bytes = read(request, named).await?;
    serde_json::from_slice(&bytes).map_err(|_| format!("{named} did not answer with JSON"))
}

/// Reads an answer; what a service says about an error is passed on.
async fn read(request: RequestBuilder, named: &str) -> Result<Vec<u8>, String> {
    let failed = |err: reqwest::Error| format!("{named} cannot be reached: {}", web::cause(&err));
    let response = request.send().await.map_err(failed)?;
    let status = response.status();
    let (mut bytes, mut stream) = (Vec::new(), response.bytes_stream());
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk.map_err(failed)?);
        if bytes.len() > MOST_BYTES {
            return Err(format!("{named} answers without end"));
        }
    }
    if status.is_success() {
        return Ok(bytes);
    }
    let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let said = said["error"]["message"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
    Err(format!("{named} answers HTTP {}{said}", status.as_u16()))
}

/// Writes the form of `/images/edits`.
fn form(images: &ImageModel, prompt: &str, references: &[ReferenceImage]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in [("model", images.name.as_str()), ("prompt", prompt), ("n", "1")] {
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value.as_bytes());
        body.extend_from_slice(b"\r\n");
    }
    for (at, reference) in references.iter().enumerate() {
        let kind = reference.media_type;
        let ending = kind.rsplit('/').next().unwrap_or("png");
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"image[]\"; \
             filename=\"reference-{at}.{ending}\"\r\nContent-Type: {kind}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&reference.bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}
