//! Which arguments each action of a tool needs and takes.
//!
//! The table is enforced here, before anything happens: what is missing, what does not belong, and a destructive
//! action without `confirm: true` are refused with the full usage.

use serde_json::Value;

use crate::{
    arguments::Arguments,
    reply::{Refusal, quoted},
};

/// One action of a tool.
#[derive(Debug)]
pub(super) struct Action {
    pub(super) name: &'static str,
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
    /// Whether it happens only with `confirm: true`.
    pub(super) confirm: bool,
}

/// A tool whose arguments depend on one of them.
#[derive(Debug)]
pub(super) struct Actions {
    pub(super) tool: &'static str,
    /// The argument that chooses the action.
    pub(super) key: &'static str,
    pub(super) all: &'static [Action],
}

impl Actions {
    /// Returns the names of the actions, for a schema.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.all.iter().map(|action| action.name).collect()
    }

    /// Returns the action that was chosen if its arguments fit it; without a choice, the first one.
    pub(super) fn chosen(&self, arguments: &Arguments<'_>) -> Result<&'static Action, Refusal> {
        let name = arguments.text(self.key).unwrap_or(self.all[0].name);
        let action = self.all.iter().find(|it| it.name == name).unwrap_or(&self.all[0]);
        let given = |name: &&&str| arguments.value(name).is_some_and(|value| !is_default(name, value));

        let missing: Vec<&&str> = action.required.iter().filter(|it| !given(it)).collect();
        let takes = |name: &str| {
            let confirms = action.confirm && name == "confirm";
            confirms || action.required.contains(&name) || action.optional.contains(&name)
        };
        let mut known: Vec<&str> =
            self.all.iter().flat_map(|it| it.required.iter().chain(it.optional)).copied().collect();
        known.push("confirm");
        known.sort_unstable();
        known.dedup();
        let foreign: Vec<&&str> = known.iter().filter(|name| !takes(name)).filter(given).collect();

        let mut problems = Vec::new();
        if !missing.is_empty() {
            problems.push(format!("{} `{name}` needs {}", self.key, quoted(missing)));
        }
        if !foreign.is_empty() {
            problems.push(format!("{} `{name}` does not take {}", self.key, quoted(foreign)));
        }
        if problems.is_empty() && action.confirm && arguments.flag("confirm") != Some(true) {
            problems.push(format!("{} `{name}` cannot be undone and needs `confirm` to be true", self.key));
        }
        if problems.is_empty() {
            return Ok(action);
        }
        let usage = self.usage(action);
        Err(Refusal::new(format!("`{}` was not run: {}. Usage: {usage}", self.tool, problems.join("; "))))
    }

    /// Refuses a change that changes nothing: at least one of the optional arguments has to be there.
    pub(super) fn needs_a_change(&self, action: &Action, arguments: &Arguments<'_>) -> Result<(), Refusal> {
        if action.optional.iter().any(|name| arguments.value(name).is_some()) {
            return Ok(());
        }
        let (tool, some, usage) = (self.tool, quoted(action.optional), self.usage(action));
        Err(Refusal::new(format!(
            "`{tool}` was not run: there is nothing to change; send one of {some}. Usage: {usage}"
        )))
    }

    fn usage(&self, action: &Action) -> String {
        let mut parts = vec![format!("{}=\"{}\"", self.key, action.name)];
        parts.extend(action.required.iter().map(|name| format!("{name}={}", placeholder(name))));
        if action.confirm {
            parts.push("confirm=true".to_owned());
        }
        let optional = action.optional.iter().map(|name| format!("[, {name}={}]", placeholder(name)));
        format!("{}({}{})", self.tool, parts.join(", "), optional.collect::<String>())
    }
}

/// Whether a value stands for an argument that was not given, so that sending it changes nothing.
fn is_default(name: &str, value: &Value) -> bool {
    match name {
        "confirm" => value == false,
        "reanalyze" => value == true,
        "offset" => value == 0,
        "limit" => value == 20,
        _ => false,
    }
}

fn placeholder(name: &str) -> &'static str {
    match name {
        "image_paths" => "[...]",
        "attributes" | "sections" => "{...}",
        "default_strict" => "true",
        "reanalyze" => "false",
        "offset" | "id" => "1",
        "limit" => "20",
        _ => "\"...\"",
    }
}
