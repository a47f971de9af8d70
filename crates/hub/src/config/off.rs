//! Servers that are off because their settings name environment variables that nobody has set.

use super::mistake::Mistake;

/// Why a server is off. The others are not touched by it: a program that is started from a desktop often has
/// none of the variables that a shell has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Off {
    /// How it would be reached.
    pub transport: &'static str,
    /// The variables that are not set, each once.
    pub variables: Vec<String>,
    /// The places that name them.
    pub mistakes: Vec<Mistake>,
}

impl Off {
    /// Says which variables are missing.
    pub fn reason(&self) -> String {
        let names: Vec<String> = self.variables.iter().map(|name| format!("`{name}`")).collect();
        match names.as_slice() {
            [name] => format!("the environment variable {name} is not set"),
            names => format!("the environment variables {} are not set", names.join(", ")),
        }
    }

    /// Says what to do.
    pub fn fix(&self) -> String {
        let defaults: Vec<String> =
            self.variables.iter().map(|name| format!("`${{{name}:-value}}`")).collect();
        let (them, default) = if defaults.len() == 1 { ("it", "a default") } else { ("them", "defaults") };
        format!("set {them} where Toolyard is started, or give {default}: {}", defaults.join(", "))
    }

    /// Says everything in a sentence, to whoever wants to use the server.
    pub fn sentence(&self, server: &str) -> String {
        format!("server `{server}` is off: {}; {}", self.reason(), self.fix())
    }
}
