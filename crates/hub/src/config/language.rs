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
        let (url, name) = match written.strip_prefix("ollama:") {
            Some(name) => (OLLAMA, name),
            None => written.split_once('#').unwrap_or((written, "")),
        };
        let is_address = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if name.is_empty() || !is_address {
            let message = format!("`{setting}` does not name a model");
            let hint = "write \"ollama:MODEL\", or the model behind the address: https://HOST/v1/chat/completions#MODEL";
            report.add(at, message, Some(hint.to_owned()));
            return None;
        }
        Some(Self { url: url.to_owned(), name: name.to_owned(), key, timeout })
    }
}
