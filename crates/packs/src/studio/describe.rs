//! Tool descriptions in one form: purpose, prerequisite, when to use it, what it does not do, arguments, result, examples.

use std::fmt::Write;

/// The parts of a tool's description.
pub(super) struct Doc {
    /// One sentence that ends with a period.
    pub(super) purpose: &'static str,
    /// What has to be there before, or "none".
    pub(super) prerequisite: &'static str,
    /// What a user wants.
    pub(super) use_when: &'static [&'static str],
    /// What it cannot do, with the tool that can.
    pub(super) not: &'static [&'static str],
    /// One line for each argument, with an example.
    pub(super) args: &'static [&'static str],
    pub(super) returns: &'static str,
    /// Calls as a model would write them.
    pub(super) examples: &'static [&'static str],
}

impl Doc {
    /// Writes the description out.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n\nPREREQUISITE: {}", self.purpose, self.prerequisite);
        list(&mut text, "Use when user wants to:", self.use_when);
        list(&mut text, "Does NOT:", self.not);
        let args: &[&str] = if self.args.is_empty() { &["none"] } else { self.args };
        list(&mut text, "Args:", args);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n\nReturns: {}", self.returns);
        list(&mut text, "Examples:", self.examples);
        text
    }
}

fn list(text: &mut String, title: &str, lines: &[&str]) {
    let _ = write!(text, "\n\n{title}");
    for line in lines {
        let _ = write!(text, "\n- {line}");
    }
}
