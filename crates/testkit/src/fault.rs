//! An MCP server over stdio that can be told to be good or broken in one way.
//!
//! It writes raw JSON-RPC lines, so that it can send what no library would. In
//! its good mode it is a plain server with a tool for each thing that a test
//! wants to see happen; with a [`Fault`] it does one thing wrong.

pub mod definition; // what it offers: tools, resources, prompts
mod kind; //           the faults by name
mod listing; //        `tools/list`, true or twisted
mod options; //        the command line
mod server; //         requests in, replies out
mod tool; //           what each tool does
mod wire; //           lines on stdout, whole or mangled

pub use kind::{Fault, UnknownFault};
pub use options::{Era, Error, Options, Wish};
pub use server::serve;

/// The newest version of the protocol that has `initialize`.
pub const LEGACY_VERSION: &str = "2025-11-25";
/// The first version of the protocol without sessions.
pub const MODERN_VERSION: &str = "2026-07-28";
