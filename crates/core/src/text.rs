//! Text as it is compared: folded, parted into words, cut to terms.

mod sentence;
mod stem;
mod terms;

pub(crate) use sentence::sentences;
pub use terms::terms;
pub(crate) use terms::{each_term, fold, is_unparted};
