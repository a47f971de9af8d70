//! The packs, through their front door.

#![allow(clippy::unwrap_used, reason = "a test stops where something is wrong")]

mod arbitrary; //   whatever is sent, nothing breaks and nothing leaks
mod confined; //    nothing outside the folder is touched
mod definitions; // what the clients see, and that answers keep to it
mod notes_read;
mod notes_write;
mod time;
mod yard; //        a folder of notes to try things on
