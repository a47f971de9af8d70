//! The dashboard over real HTTP, in front of a hub with built-in servers.

mod decisions; // what requests become, and what people say about it
mod live; //      the stream of events
mod protection; // what is let in, and what browsers are told
mod workflows; // workflows and their runs
mod world; //     overview, tools, servers, settings
mod yard; //      a hub with a dashboard
