//! How a language model writes about tools, as the settings say it.

use std::path::PathBuf;
use std::time::Duration;

use super::LanguageModel;

/// How a language model writes about tools that nobody wrote about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrich {
    /// The model; without one, nothing is asked.
    pub model: Option<LanguageModel>,
    /// Whether a serving hub asks it about new tools by itself.
    pub background: bool,
    /// The languages in which people ask for tools.
    pub languages: Vec<String>,
    /// The folder whose files count, where what was written is kept; `None` where the settings name only files.
    pub folder: Option<PathBuf>,
}

impl Enrich {
    /// How long a model may take for a few tools unless the settings say otherwise.
    pub const PATIENCE: Duration = Duration::from_secs(120);

    /// Returns what holds where the settings say nothing.
    pub fn new(folder: PathBuf) -> Self {
        Self { model: None, background: false, languages: vec!["English".to_owned()], folder: Some(folder) }
    }
}
