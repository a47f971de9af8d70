//! What built-in servers there are, for somebody who looks for one.

/// A built-in server in a line.
#[derive(Clone, Copy, Debug)]
pub struct Overview {
    /// The word by which settings ask for it.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How many tools it has with no set-up; `None` where that depends on its settings or on the computer.
    pub tools: Option<usize>,
}

/// Every built-in server.
pub const PACKS: [Overview; 6] = [
    Overview { name: "time", about: "clock and calendar in any time zone", tools: Some(5) },
    Overview { name: "notes", about: "a folder of Markdown notes", tools: Some(6) },
    Overview { name: "desk", about: "tasks, goals, reminders, reading and ideas", tools: Some(20) },
    Overview {
        name: "studio",
        about: "brands, products, style references, packaging texts, task files",
        tools: Some(23),
    },
    Overview { name: "home", about: "devices of a house, simulated or over Z-Wave", tools: None },
    Overview { name: "entities", about: "tools for entities that you declare", tools: None },
];
