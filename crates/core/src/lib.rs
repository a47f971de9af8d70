//! The decisions of Toolyard. Pure and synchronous: no tokio, no I/O, no clock.
//!
//! Data flows down this list. A module may use the modules above it, never below.

#![forbid(unsafe_code)]

pub mod thresholds; // every number that decides
pub mod language; // the words of human languages, one file each
pub mod tool; //     one tool, and the name it goes by
pub mod text; //     words and terms, as they are compared
pub mod form; //     a tool's input schema, as fields to fill in
pub mod catalog; //  every tool we know, as one immutable value
pub mod alias; //    old names of tools, and what a call of one becomes
pub mod hazard; //   what one call would do to the world
pub mod lexicon; //  what words mean in many languages
pub mod task; //     the requests that a task is made of
pub mod metadata; // what is known of a tool beyond its listing
pub mod domain; //   which tools belong together
pub mod session; //  what one conversation has active
pub mod index; //    words, phrasings and names over the catalog
pub mod lint; //     how well tools are documented
pub mod screen; //   texts that look like instructions to a model
pub mod lessons; //  what people said about earlier requests
pub mod enrich; //   what a model may write about tools that nobody wrote about
pub mod rank; //     a request becomes a decision, with reasons
pub mod arguments; // the words of a request become the arguments of a tool
pub mod plan; //     a checked graph of tool calls
pub mod decide; //   the one flow from words to a call
pub mod run; //      a plan in motion: what to call next
pub mod turn; //     a conversation with a model that calls tools
