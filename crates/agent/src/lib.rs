//! Language models that use the tools of a hub: a few tools at a time, in a loop that is bounded.
//!
//! Data flows down this list. A module uses the modules above it, never below. The loop itself is
//! [`toolyard_core::turn`]; this crate obeys it.

#![forbid(unsafe_code)]

pub mod model; // a language model over HTTP: what it is asked, and what it says piece by piece
pub mod host; //  who follows a conversation, and what they hear
mod result; //    what a tool answered, as a model is told it
pub mod bind; //  which tools a model is offered
mod link; //      the hub's own tools, as clients reach them
pub mod session; // a conversation
pub mod proxy; //  endpoints of OpenAI and Ollama that use the tools
