//! Text as it is compared: folded, parted into words, cut to terms.

mod path;
mod sentence;
mod stem;
mod terms;

pub(crate) use path::{SOME_FOLDER, paths, without_folders};
pub(crate) use sentence::sentences;
pub use terms::terms;
pub(crate) use terms::{each_term, fold, is_unparted};
