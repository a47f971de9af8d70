//! The hub as clients and servers meet it: the real binary, in both eras of the protocol.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails, in what it shares with others too")]
#![expect(clippy::needless_pass_by_value, reason = "tests write JSON where they pass it")]

mod yard; //        a hub in a folder of its own
mod raw; //         HTTP by hand
mod scripted; //    servers that say exactly what a test writes down

mod carried; //     what passes through unchanged
mod messages; //    what travels beside answers: progress, logs, changes
mod eras; //        questions between clients and servers of either era
mod packs; //       the built-in workspaces
mod consolidated; // real tools through those that stand for several
mod parked; //      calls that wait for a client to come back
mod door; //        who and what is let in over HTTP
mod streams; //     streams, sessions and the end of a hub over HTTP
mod upstreams; //   servers behind HTTP, of every age
#[cfg(target_os = "linux")]
mod confined; //    servers that may use little of the machine
mod surfaces; //    what is listed to whom
mod toolset; //     the few tools that a conversation needs
mod withheld; //    what that surface withholds
mod shelf; //       servers with the tools that a test lists
mod desk; //        the 75 tools of the seed
mod routed; //      from plain words to a call
mod asked; //       questions of the hub itself
mod certain; //     what words surely say
mod advised; //     arguments that a language model finds
mod apps; //        pages that show what tools answered
mod guarded; //     what happens before and after a call
mod verbatim; //    what is judged is what is sent
mod pinned; //      definitions that change
mod scoped; //      what clients with names of their own may do
mod separated; //   what one principal has, tried by every other
mod tasks; //       calls that answer with a task
mod skilled; //     skills as files
mod unseen; //      characters that nobody sees
mod screened; //    texts that look like instructions to a model
mod renamed; //     calls of old names
mod repeated; //    calls that are made twice under one key
mod decided; //     what decisions depend on
mod tuned; //       what the keys of the routing block change
mod together; //    steps at the same time, and steps that are taken back
mod typed; //       the type of everything that is answered
mod learning; //    what is kept of decisions, and learnt from what people say
mod browser; //     the dashboard in a real browser
mod fresh; //       requests that come before tools are understood
mod ranker; //      a ranker of the person's own
mod played; //      the examples and plans of the seed
mod judged; //      everyday requests, counted
mod vault; //       a real vault of notes
mod fleet; //       conversations with real servers
mod chained; //     several steps on real servers
mod copied; //      copies, appends and rewrites on real servers
mod office; //      workbooks, documents and conversions
mod nested; //      hubs behind hubs
mod shipped; //     the workflows that come with the program
mod arbitrary; //   bytes that no client would send
mod conformance; // the official suite and the inspector
