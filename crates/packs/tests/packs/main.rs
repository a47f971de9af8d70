//! The packs, through their front door.

#![allow(clippy::unwrap_used, reason = "a test stops where something is wrong")]

mod arbitrary; //   whatever is sent, nothing breaks and nothing leaks
mod broker; //      an MQTT broker on loopback
mod confined; //    nothing outside the folder is touched
mod crud; //        collections declared as data
mod crud_store; //  what is on the disk stays there
mod definitions; // what the clients see, and that answers keep to it
mod desk; //        tasks, goals, reminders, reading, ideas
mod desk_query;
mod notes_read;
mod notes_write;
mod studio; //      a workspace to try things on
mod studio_actions;
mod studio_aliases;
mod studio_definitions;
mod studio_files;
mod studio_images;
mod studio_outside;
mod studio_paths;
mod studio_tasks;
mod home; //        a simulated house
mod home_definitions;
mod home_kept; //   what a simulated house keeps
mod home_network; // the protocols of real networks
mod home_scene; //  consent, and several changes at once
mod home_volume;
mod house; //       a home pack to try things on
mod replay; //      a Z-Wave JS server on loopback
mod time;
mod shelf; //       a pack over a database to try things on
mod yard; //        a folder of notes to try things on
