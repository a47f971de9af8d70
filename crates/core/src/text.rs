//! Text as it is compared: folded, parted into words, cut to terms.

mod stem;
mod terms;

pub use terms::terms;
pub(crate) use terms::{each_term, fold, is_unparted};
