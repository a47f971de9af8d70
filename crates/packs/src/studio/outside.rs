//! What the studio asks of the world outside: pictures, a search, a model.
//!
//! A tool that needs one of these exists only where it is offered, so no tool has to apologise.

use std::{fmt, sync::Arc};

/// What can be asked of the world outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// [`Services::picture`] makes pictures.
    pub pictures: bool,
    /// [`Services::search`] searches the web.
    pub search: bool,
    /// [`Services::answer`] asks a language model.
    pub answers: bool,
    /// The language model looks at the images it is given.
    pub vision: bool,
}

/// An image that is handed to a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceImage {
    /// What it is for, such as "product: Summer Soda".
    pub label: String,
    /// Its media type, such as `image/png`.
    pub media_type: &'static str,
    /// The file as it is.
    pub bytes: Vec<u8>,
}

/// One result of a web search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// The title of the page.
    pub title: String,
    /// Its address.
    pub url: String,
    /// The part of it that fits.
    pub snippet: String,
}

/// Services outside the studio. Every call may take a while; an error is a sentence that a person can act on.
pub trait Services: Send + Sync {
    /// Says which of the calls work.
    fn abilities(&self) -> Abilities;

    /// Tells these services from others.
    fn identity(&self) -> String {
        format!("{:p}", std::ptr::from_ref(self).cast::<()>())
    }

    /// Makes a picture (png, jpg or webp).
    fn picture(&self, prompt: &str, references: &[ReferenceImage]) -> Result<Vec<u8>, String>;

    /// Searches the web.
    fn search(&self, query: &str) -> Result<Vec<SearchHit>, String>;

    /// Asks a language model.
    fn answer(&self, prompt: &str, images: &[ReferenceImage]) -> Result<String, String>;
}

/// Services that are only declared: a configuration says what there will be before anything is reached.
impl Services for Abilities {
    fn abilities(&self) -> Abilities {
        *self
    }

    fn identity(&self) -> String {
        format!("{self:?}")
    }

    fn picture(&self, _: &str, _: &[ReferenceImage]) -> Result<Vec<u8>, String> {
        Err(NOT_REACHED.to_owned())
    }

    fn search(&self, _: &str) -> Result<Vec<SearchHit>, String> {
        Err(NOT_REACHED.to_owned())
    }

    fn answer(&self, _: &str, _: &[ReferenceImage]) -> Result<String, String> {
        Err(NOT_REACHED.to_owned())
    }
}

const NOT_REACHED: &str = "the service is declared and was never reached";

/// A handle to services outside; two are equal when they are the same services.
#[derive(Clone)]
pub struct Outside(Arc<dyn Services>);

impl Outside {
    /// Wraps services.
    pub fn new(services: Arc<dyn Services>) -> Self {
        Self(services)
    }

    /// Says which of the calls work.
    pub fn abilities(&self) -> Abilities {
        self.0.abilities()
    }

    pub(crate) fn services(&self) -> &dyn Services {
        &*self.0
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outside").field(&self.abilities()).finish()
    }
}

impl PartialEq for Outside {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity() == other.0.identity()
    }
}

impl Eq for Outside {}
