//! Text as it is compared: folded, parted into words, cut to terms.

mod path;
mod quote;
mod sentence;
mod stem;
mod terms;

pub(crate) use crate::language::fold;
pub(crate) use path::{SOME_FOLDER, is_file_ending, paths, without_folders};
pub(crate) use quote::QUOTES;
pub(crate) use sentence::sentences;
pub use terms::terms;
pub(crate) use terms::{each_term, is_unparted, with_terms};
