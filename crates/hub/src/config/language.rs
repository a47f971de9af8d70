//! Language models, as the settings name them.

use std::time::Duration;

use super::mistake::Report;

/// A language model that is asked over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct LanguageModel {
    /// Where messages are sent.
    pub url: String,
    /// The model that is asked for.
    pub name: String,
    /// The key that is shown.
    pub key: Option<String>,
    /// How long a question to it may take, with everything that is asked in return.
    pub timeout: Duration,
}

/// How a service wants to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelApi {
    /// Ollama's own `/api/chat`.
    Ollama,
    /// `/v1/chat/completions`, as OpenAI has it.
    OpenAi,
    /// Anthropic's `/v1/messages`.
    Anthropic,
}

/// The version of Anthropic's API that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Where Ollama listens unless somebody changed it.
const OLLAMA: &str = "http://127.0.0.1:11434/api/chat";
/// Where Anthropic answers.
const ANTHROPIC: &str = "https://api.anthropic.com/v1/messages";

/// Where a model is written: the name of the setting, and its place in the file.
pub(super) type Written<'a> = (&'a str, usize);

impl LanguageModel {
    /// Reads how a model is written, or reports what is wrong with it.
    pub(super) fn read(
        written: &str,
        (key, timeout): (Option<String>, Duration),
        (setting, at): Written<'_>,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let parsed = Self::parse(written, key, timeout);
        if parsed.is_none() {
            let message = format!("`{setting}` does not name a model");
            report.add(at, message, Some(Self::HINT.to_owned()));
        }
        parsed
    }

    /// How a model is written, for somebody who wrote something else.
    pub const HINT: &str = "write \"ollama:MODEL\", \"anthropic:MODEL\", or the model behind the address: \
                            https://HOST/v1/chat/completions#MODEL";

    /// Reads how a model is written. Of an address, the part that every service has in common may be left out.
    pub fn parse(written: &str, key: Option<String>, timeout: Duration) -> Option<Self> {
        let (url, name) = match written.split_once(':') {
            Some(("ollama", name)) => (OLLAMA, name),
            Some(("anthropic", name)) => (ANTHROPIC, name),
            Some(_) | None => written.split_once('#')?,
        };
        let address = url::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let rest = match address.path().trim_end_matches('/') {
            path if path.ends_with("/v1") => "/chat/completions",
            path if path.ends_with("/api") => "/chat",
            _ => "",
        };
        let url = if rest.is_empty() { url.to_owned() } else { url.trim_end_matches('/').to_owned() + rest };
        (!name.is_empty()).then(|| Self { url, name: name.to_owned(), key, timeout })
    }

    /// Returns how its service wants to be asked, which the address tells.
    pub fn api(&self) -> ModelApi {
        let path = url::Url::parse(&self.url).map(|url| url.path().to_owned()).unwrap_or_default();
        match path.trim_end_matches('/') {
            path if path.ends_with("/api/chat") => ModelApi::Ollama,
            path if path.ends_with("/v1/messages") => ModelApi::Anthropic,
            _ => ModelApi::OpenAi,
        }
    }

    /// Returns the headers that show the key, as the service wants it.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let key = self.key.clone();
        match self.api() {
            ModelApi::Ollama | ModelApi::OpenAi => {
                key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
            }
            ModelApi::Anthropic => {
                let version = ("anthropic-version", ANTHROPIC_VERSION.to_owned());
                [version].into_iter().chain(key.map(|key| ("x-api-key", key))).collect()
            }
        }
    }
}
