//! The life of servers behind a running `toolyard serve`, over real pipes and sockets.
//!
//! Deadlines here only turn a hang into a failure; how fast something is, no test asserts.

#![allow(clippy::unwrap_used, reason = "a test stops where something is wrong")]

mod yard; //      a home folder, servers in it, and the hub on them
mod faults; //    one bad server beside many good ones
mod processes; // nothing is left of a hub, however it ends
mod upstreams; // a server that falls, hangs, comes late
mod calls; //     what a call may cost, and which names reach a tool
mod lazy; //      started when needed, stopped when idle
mod reload; //    a settings file that changes under a running hub
mod limits; //    answers and listings that are too much
mod logs; //      what servers say on stderr, what they see of our environment
mod store; //     what was learnt survives; a broken store stops nothing
mod sessions; //  clients that must not see each other
mod pressed; //   one client that takes all it can get
mod soak; //      many clients for a long time
mod workflows; // runs that are killed, resumed, stopped and reported
