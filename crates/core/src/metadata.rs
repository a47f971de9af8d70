//! What is known of a tool beyond what its server says: what people call it, when they need it.
//!
//! Everything is inferred where nobody wrote it down; the library that comes with the product and a
//! person's own files say it better and win, field by field. What a language model wrote comes after both.

mod chain;
mod export;
mod infer;
mod knowledge;
mod library;
mod limit;
mod sidecar;

pub use chain::giver;
pub use export::Metadata;
pub(crate) use infer::first_sentence;
pub use infer::gist;
pub(crate) use knowledge::targets;
pub use knowledge::{Facts, Knowledge};
pub use library::Library;
pub use limit::{MINUTE, RateLimit};
pub use sidecar::{Error, Note, Provenance, Sidecar};
