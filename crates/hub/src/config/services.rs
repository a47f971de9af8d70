//! Services that the built-in `studio` may use, as the settings name them.

use std::fmt;
use std::time::Duration;

use super::language::LanguageModel;

/// How long a picture or an answer may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

/// Where pictures, answers and searches come from; each only if it is written.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StudioServices {
    /// Makes pictures.
    pub images: Option<ImageModel>,
    /// Answers questions.
    pub model: Option<LanguageModel>,
    /// Searches the web: the address of a SearXNG instance.
    pub search: Option<String>,
}

/// A model that makes pictures, as OpenAI's `/v1/images/generations` has it.
#[derive(Clone, PartialEq, Eq)]
pub struct ImageModel {
    /// The address up to `/images`.
    pub base: String,
    /// The model that is asked for.
    pub name: String,
    /// The key that is shown.
    pub key: Option<String>,
}

impl ImageModel {
    /// How a model is written, for somebody who wrote something else.
    pub(super) const HINT: &str = "write the address and the model: https://HOST/v1#MODEL";

    /// Reads how a model is written.
    pub(super) fn parse(written: &str, key: Option<String>) -> Option<Self> {
        let (url, name) = written.split_once('#')?;
        url::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let base = url.trim_end_matches('/').trim_end_matches("/images/generations").to_owned();
        (!name.is_empty()).then(|| Self { base, name: name.to_owned(), key })
    }
}

impl fmt::Debug for ImageModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageModel")
            .field("base", &self.base)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for StudioServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { images, model, search } = self;
        f.debug_struct("StudioServices")
            .field("images", images)
            .field("model", &model.as_ref().map(|model| (&model.url, &model.name)))
            .field("search", search)
            .finish()
    }
}
