//! The real parts that tests need: servers that misbehave, a client, fixtures.
//!
//! Nothing here knows the product. What a test learns from this crate it learnt
//! over a pipe or a socket, as a stranger would.

pub mod client; //    a raw MCP client over stdio and HTTP
pub mod fault; //     a scriptable MCP server, good or broken in one way
pub mod listening; // a program that serves HTTP and says where
pub mod oracle; //    a language model that says what a test wrote down
pub mod processes; // who descends from whom, and who is still alive
pub mod seed; //      a desk of servers with 75 tools, and requests for them
pub mod servers; //   real servers from npm and PyPI, pinned
mod waiting; //       the only place that sleeps

use std::path::PathBuf;

pub use listening::Listening;
pub use oracle::{Oracle, Plea, Saying};
pub use waiting::{wait_for, wait_until};

/// Finds a binary of the workspace beside the running test.
///
/// # Panics
///
/// If it was not built.
pub fn bin(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a path");
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // Tests run in `target/PROFILE/deps`, binaries are one level up.
    let found = test.ancestors().skip(1).take(2).map(|folder| folder.join(&file)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("`{name}` is missing; run `cargo build --workspace` first"))
}
