//! The real binary, run as a person or a script runs it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod place; //     a home of its own for each test
mod help; //      the reference of the command line
mod examples; //  what the help and the README show
mod bare; //      with no configuration at all
mod tools; //     list, find, describe, call on a server
mod audit_names; // old names in a tree of texts
mod route; //     a request in plain words
mod eval; //      how well requests find their tools
mod recorded; //  a recorded server behind the hub
mod lint; //      how well tools are documented
mod metadata; //  what is known of tools, as files
mod enrich; //    what a model writes about tools
mod settings; //  add, remove, and files with mistakes
mod clients; //   import and connect
mod health; //    status, doctor, logs, login
mod stream; //    pipes, colours, JSON
mod serving; //   serve, and what it notices
mod workflows; // run and runs
mod scheduled; // workflows that run by themselves
mod chat; //      talking to a language model
mod toolsets; //  what conversations are given
mod consolidate; // families of tools as few
