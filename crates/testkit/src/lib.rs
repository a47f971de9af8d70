//! The real parts that tests need: servers that misbehave, a client, fixtures.
//!
//! Nothing here knows the product. What a test learns from this crate it learnt
//! over a pipe or a socket, as a stranger would.

pub mod fault; //     a scriptable MCP server, good or broken in one way
