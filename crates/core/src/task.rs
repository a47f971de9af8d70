//! A task in plain words, taken apart: the requests it is made of, and what their words stand for.

mod answer;
mod clause;
mod joint;
mod piece;
mod reference;

pub use answer::{Pick, agrees, pick};
pub use clause::{Clause, Each, Shape, clauses};
pub use joint::StandIn;
pub use reference::{is_stand_in, names_one, refers_back, stand_ins};
