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

/// Where Ollama listens unless somebody changed it.
const OLLAMA: &str = "http://127.0.0.1:11434/api/chat";

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
    pub const HINT: &str =
        "write \"ollama:MODEL\", or the model behind the address: https://HOST/v1/chat/completions#MODEL";

    /// Reads how a model is written. Of an address, the part that every service has in common may be left out.
    pub fn parse(written: &str, key: Option<String>, timeout: Duration) -> Option<Self> {
        let (url, name) = match written.strip_prefix("ollama:") {
            Some(name) => (OLLAMA, name),
            None => written.split_once('#')?,
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
}
