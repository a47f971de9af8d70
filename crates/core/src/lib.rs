//! The decisions of Toolyard. Pure and synchronous: no tokio, no I/O, no clock.
//!
//! Data flows down this list. A module may use the modules above it, never below.

pub mod tool; //    one tool, and the name it goes by
pub mod catalog; // every tool we know, as one immutable value
pub mod index; //   words over the catalog
pub mod embed; //   text to vector, with the encoder inside
