//! A plan: which tools are called, with what, and in which order.
//!
//! A [`Plan`] is checked when it is made, also when it is read back from disk: its steps stand in an
//! order in which each comes after those it needs. Nothing that uses it asks again.

mod check;
mod choose;
mod draw;
mod given;
mod input;
mod path;
mod render;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::tool::{Effect, ToolId};

pub use crate::arguments::Which;
pub use check::Flaw;
pub use choose::{Choice, Splitting, choose, settle, spoken};
pub use draw::{ChosenStep, Gap, draw, inverse, read, repetition};
pub use input::{Condition, Input, Sought, Test};
pub use path::{BadPath, Path, Segment};

/// A checked graph of steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Draft")]
pub struct Plan {
    name: String,
    steps: Vec<Step>,
}

/// One tool that is called, once or for each element of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What the step is called, and its result.
    pub name: String,
    /// The tool.
    pub tool: ToolId,
    /// What a call does to the world.
    pub effect: Effect,
    /// Whether a second call with the same arguments changes nothing more.
    pub repeatable: bool,
    /// Where the value of each parameter comes from.
    pub arguments: BTreeMap<String, Input>,
    /// Steps that must be over before, besides those whose results are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The list for whose elements the step runs, one call each; its result is then a list as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Input>,
    /// What must hold; asked for every element where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// How often a call that failed is tried again, where that is safe.
    #[serde(default)]
    pub retries: u32,
    /// How it is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
    /// How long one call takes, as far as is known.
    #[serde(default)]
    pub estimate_ms: u64,
    /// What of a request it does, in the words of the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// Whether its arguments may not be what was asked: each of its calls is agreed to before it is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unsure: bool,
}

/// The call that takes a step back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Undo {
    /// The tool.
    pub tool: ToolId,
    /// Its arguments; they may use the step's own result and element.
    pub arguments: BTreeMap<String, Input>,
    /// Whether a second call with the same arguments changes nothing more.
    pub repeatable: bool,
    /// Who says that this takes the step back.
    pub origin: Origin,
}

/// Who says that a call takes a step back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// A person, in a template or in metadata.
    Written,
    /// The names of tools; a person is asked before it is done.
    Inferred,
}

/// What a plan is made from, not checked yet.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// Everything that is wrong with a plan that was read.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub(crate) struct Wrong(Vec<Flaw>);

impl TryFrom<Draft> for Plan {
    type Error = Wrong;

    fn try_from(Draft { name, steps }: Draft) -> Result<Self, Wrong> {
        Self::new(name, steps).map_err(Wrong)
    }
}

impl Plan {
    /// Whether another plan does the same, however long it may take.
    pub fn does_the_same_as(&self, other: &Self) -> bool {
        let bare = |plan: &Self| -> Vec<Step> {
            plan.steps.iter().map(|step| Step { estimate_ms: 0, ..step.clone() }).collect()
        };
        self.name == other.name && bare(self) == bare(other)
    }

    /// Most steps of one plan.
    pub const MAX_STEPS: usize = 64;

    /// Checks the steps and puts them in an order in which each comes after those it needs, or returns
    /// everything that is wrong with them.
    pub fn new(name: impl Into<String>, steps: Vec<Step>) -> Result<Self, Vec<Flaw>> {
        let name = name.into();
        let flaws = check::check(&name, &steps, &[]);
        if flaws.is_empty() { Ok(Self { name, steps: check::ordered(steps) }) } else { Err(flaws) }
    }

    /// Returns everything that is wrong with the steps of a template that has these parameters.
    pub fn flaws(name: &str, steps: &[Step], parameters: &[&str]) -> Vec<Flaw> {
        check::check(name, steps, parameters)
    }

    /// Returns what the plan is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the steps; each comes after those it needs.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the step of that name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// Returns how long the plan takes, as far as is known: the longest chain of steps that wait for one
    /// another. A list whose length is not known counts as one element.
    pub fn estimate_ms(&self) -> u64 {
        let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
        for step in &self.steps {
            let start = step.needs().iter().filter_map(|name| ends.get(name)).max().copied().unwrap_or(0);
            // Elements of a step with an effect run one after the other.
            let count = match &step.each {
                Some(Input::List(items)) if step.effect != Effect::Read => items.len(),
                Some(Input::Literal(Value::Array(items))) if step.effect != Effect::Read => items.len(),
                Some(_) | None => 1,
            };
            let takes = step.estimate_ms.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX));
            ends.insert(&step.name, start.saturating_add(takes));
        }
        ends.into_values().max().unwrap_or(0)
    }

    /// Returns the gravest effect of any step.
    pub fn effect(&self) -> Effect {
        let has = |effect| self.steps.iter().any(|step| step.effect == effect);
        [Effect::Destroy, Effect::Write].into_iter().find(|effect| has(*effect)).unwrap_or(Effect::Read)
    }

    /// Returns a digest of everything that the plan says; a confirmation is bound to it.
    pub fn digest(&self) -> String {
        let text = serde_json::to_vec(self).expect("own types serialise");
        Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Draws the plan for a person: what runs, with what, and what waits for what.
    pub fn render(&self) -> String {
        render::render(self)
    }
}

impl Step {
    /// One call that always runs, is tried once, and is not taken back; it may be sent twice if it only reads.
    pub fn new(
        name: impl Into<String>,
        tool: ToolId,
        effect: Effect,
        arguments: BTreeMap<String, Input>,
    ) -> Self {
        Self {
            name: name.into(),
            tool,
            effect,
            repeatable: effect == Effect::Read,
            arguments,
            after: Vec::new(),
            each: None,
            when: None,
            retries: 0,
            undo: None,
            estimate_ms: 0,
            words: String::new(),
            is_unsure: false,
        }
    }

    /// Names the results of a step that ran for each of several known things after those.
    pub fn labelled(&self, results: &Value) -> Option<Map<String, Value>> {
        let Some(Input::Literal(Value::Array(things))) = &self.each else { return None };
        let results = results.as_array().filter(|results| results.len() == things.len())?;
        let name = |thing: &Value| match thing {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        things.iter().zip(results).map(|(thing, result)| Some((name(thing)?, result.clone()))).collect()
    }

    /// Returns the names of the steps that must be over before this one, each once, in order of mention.
    pub fn needs(&self) -> Vec<&str> {
        let mut needs = self.uses();
        for name in self.after.iter().map(String::as_str) {
            if !needs.contains(&name) {
                needs.push(name);
            }
        }
        needs
    }

    /// Returns the names of the steps whose results the calls of this one are made from. What only its
    /// condition or its undoing looks at is not among them, but must be over as well.
    pub fn takes(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut note = |input| note_step(&mut names, input);
        self.arguments.values().chain(&self.each).for_each(|input| input.visit(&mut note));
        names
    }

    /// Returns the names of all steps whose results this one looks at.
    fn uses(&self) -> Vec<&str> {
        let mut names = self.takes();
        let mut note = |input| note_step(&mut names, input);
        if let Some(when) = &self.when {
            when.visit(&mut note);
        }
        let undo = self.undo.iter().flat_map(|undo| undo.arguments.values());
        undo.for_each(|input| input.visit(&mut note));
        // How a step is undone may depend on its own result.
        names.retain(|name| *name != self.name);
        names
    }

    /// Whether all arguments of all calls are known before anything ran.
    pub fn is_known(&self) -> bool {
        let mut inputs = self.arguments.values().chain(&self.each);
        let items_known = self.each.as_ref().is_none_or(Input::is_known);
        items_known && inputs.all(known_given_items)
    }
}

/// Whether a value is known once the elements of the list are.
fn known_given_items(input: &Input) -> bool {
    let mut is_known = true;
    input.visit(&mut |input| is_known &= !matches!(input, Input::Output { .. } | Input::Found { .. }));
    is_known
}

fn note_step<'a>(names: &mut Vec<&'a str>, input: &'a Input) {
    if let Input::Output { step, .. } | Input::Found { step, .. } = input
        && !names.contains(&step.as_str())
    {
        names.push(step);
    }
}

#[cfg(test)]
mod tests;
