//! Everything of Toolyard that touches processes, network, disk and time.

pub mod config;
pub mod clients;
