//! Everything of Toolyard that touches processes, network, disk and time.

#![forbid(unsafe_code)]

pub mod jsonrpc; //  messages, payloads kept raw
pub mod frame; //    lines from a stream that is not to be trusted
pub mod private; //  files that only their owner may use
mod secrets; //      texts that must not be shown
pub mod config; //   what the settings file means
pub mod aliases; //  old names of tools
pub mod clients; //  other programs' settings: import and connect
pub mod clock; //    what time it is here
mod fair; //         turns that clients take fairly
pub mod process; //  children and all their descendants
pub mod seal; //     state that travels through clients
pub mod vault; //    secrets on disk
pub mod web; //      the HTTP client
pub mod chat; //     a question to a language model
mod services; //     what built-in servers ask of the world outside
pub mod oauth; //    logins at HTTP servers
pub mod access; //   who may do what
mod extensions; //   extensions of the protocol, as they are declared
pub mod caller; //   who asked, and how to reach them
pub mod upstream; // one server: reach, supervise, list
pub mod sidecars; // what a person wrote about tools
pub mod workflows; // templates that a person wrote
pub mod skills; //   instructions with tools that a person wrote
pub mod routing; //  what a decision depends on, and decisions remembered
pub mod store; //    what was learnt, across restarts
pub mod pins; //     definitions that were approved, and those that wait
pub mod journal; //  workflows under way, written before anything happens
pub mod live; //     the catalog as it is now
pub mod meaning; //  what texts mean, as vectors
mod screening; //    which texts look like instructions to a model
mod learnt; //       what people said about earlier decisions
pub mod enrich; //   what a language model writes about tools
pub mod policy; //   what may be called, how often
pub mod audit; //    what was called, and how it ended
pub mod hub; //      all of it behind one name
pub mod serve; //    clients over stdio and HTTP
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing; //  readers that fuzz targets reach
