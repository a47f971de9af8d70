//! What can be wrong with a plan, all of it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Input, Plan, Step};

/// Longest name of a plan or a step.
const NAME_CHARS: usize = 60;
/// Most arguments of one call.
const ARGUMENTS: usize = 64;
/// Deepest nesting of an input.
const NESTING: usize = 32;
/// Most retries of one call.
const RETRIES: u32 = 10;
/// Largest plan, as JSON.
const BYTES: usize = 1 << 20;
/// Names that mean something else where values are named.
const RESERVED: [&str; 2] = ["item", "parameters"];

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The step, by its place in what was given; `None` when it is about the whole plan.
    pub step: Option<usize>,
    /// The part of the step as JSON names it, such as `arguments` or `undo`.
    pub part: &'static str,
    /// What is wrong, in a sentence that names the step.
    pub what: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Returns everything that is wrong with the steps of a plan whose parameters have these names.
pub(crate) fn check(name: &str, steps: &[Step], parameters: &[&str]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let whole = |part, what| Flaw { step: None, part, what };
    if name.is_empty() || name.chars().count() > NAME_CHARS {
        flaws.push(whole("name", format!("a plan has a name of 1 to {NAME_CHARS} characters")));
    }
    if steps.is_empty() || steps.len() > Plan::MAX_STEPS {
        let most = Plan::MAX_STEPS;
        flaws.push(whole("steps", format!("a plan has 1 to {most} steps; this has {}", steps.len())));
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        if names.insert(&step.name, at).is_some() {
            let what = format!("two steps are called `{}`", step.name);
            flaws.push(Flaw { step: Some(at), part: "name", what });
        }
    }
    for (at, step) in steps.iter().enumerate() {
        let mut checked = Checked { at, step, names: &names, parameters, flaws: &mut flaws };
        checked.shape();
        checked.references();
    }
    if flaws.is_empty() {
        flaws.extend(cycle(steps, &names));
    }
    if flaws.is_empty() && serde_json::to_vec(steps).map_or(usize::MAX, |text| text.len()) > BYTES {
        flaws.push(whole("steps", format!("a plan is at most {BYTES} bytes of JSON")));
    }
    flaws
}

/// Puts checked steps in an order in which each comes after those it needs; otherwise as they were.
pub(crate) fn ordered(steps: Vec<Step>) -> Vec<Step> {
    let mut waiting: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let mut over: BTreeSet<String> = BTreeSet::new();
    let mut ordered = Vec::with_capacity(waiting.len());
    while let Some(at) = waiting.iter().position(|step| {
        step.as_ref().is_some_and(|step| step.needs().iter().all(|need| over.contains(*need)))
    }) {
        let Some(step) = waiting[at].take() else { break };
        over.insert(step.name.clone());
        ordered.push(step);
    }
    ordered
}

/// Returns a mistake for steps that wait for one another in a circle.
fn cycle(steps: &[Step], names: &BTreeMap<&str, usize>) -> Option<Flaw> {
    let mut over: BTreeSet<&str> = BTreeSet::new();
    let mut left: Vec<&Step> = steps.iter().collect();
    loop {
        let before = left.len();
        left.retain(|step| {
            let is_free = step.needs().iter().all(|need| over.contains(need));
            if is_free {
                over.insert(&step.name);
            }
            !is_free
        });
        if left.is_empty() {
            return None;
        }
        if left.len() == before {
            break;
        }
    }
    let circle: Vec<String> = left.iter().map(|step| format!("`{}`", step.name)).collect();
    let what = format!("these steps wait for one another: {}", circle.join(", "));
    Some(Flaw { step: left.first().and_then(|step| names.get(&*step.name).copied()), part: "after", what })
}

/// One step while it is checked.
struct Checked<'a> {
    at: usize,
    step: &'a Step,
    names: &'a BTreeMap<&'a str, usize>,
    parameters: &'a [&'a str],
    flaws: &'a mut Vec<Flaw>,
}

impl<'a> Checked<'a> {
    fn wrong(&mut self, part: &'static str, what: &str) {
        let what = format!("step `{}` {what}", self.step.name);
        self.flaws.push(Flaw { step: Some(self.at), part, what });
    }

    fn shape(&mut self) {
        let step = self.step;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let starts_well = step.name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !starts_well || !step.name.chars().all(is_plain) || step.name.len() > NAME_CHARS {
            let rule = "must have a name that begins with a letter and has letters, digits, `_` and `-` only";
            self.wrong("name", rule);
        }
        if RESERVED.contains(&step.name.as_str()) {
            self.wrong("name", "must have another name: `item` and `parameters` stand for values");
        }
        if step.arguments.len() > ARGUMENTS {
            self.wrong("arguments", &format!("has more than {ARGUMENTS} arguments"));
        }
        if step.undo.as_ref().is_some_and(|undo| undo.arguments.len() > ARGUMENTS) {
            self.wrong("undo", &format!("has more than {ARGUMENTS} arguments"));
        }
        if step.retries > RETRIES {
            self.wrong("retries", &format!("is tried again at most {RETRIES} times"));
        }
        let nesting = step.arguments.values().chain(&step.each).map(Input::nesting);
        let nesting = nesting.chain(step.when.iter().map(super::Condition::nesting));
        let undo = step.undo.iter().flat_map(|undo| undo.arguments.values()).map(Input::nesting);
        if nesting.chain(undo).any(|levels| levels > NESTING) {
            self.wrong("arguments", &format!("has inputs nested deeper than {NESTING}"));
        }
    }

    fn references(&mut self) {
        let step = self.step;
        for name in &step.after {
            self.known("after", name);
        }
        for input in step.arguments.values() {
            self.input("arguments", input);
        }
        if let Some(each) = &step.each {
            self.input("each", each);
            let mut uses_item = false;
            each.visit(&mut |input| uses_item |= matches!(input, Input::Item(_)));
            if uses_item {
                self.wrong("each", "uses `item` in the very list that gives it");
            }
        }
        let mut looked_at = Vec::new();
        if let Some(when) = &step.when {
            when.visit(&mut |input| looked_at.push(input));
        }
        for input in looked_at {
            self.one("when", input);
        }
        for input in step.undo.iter().flat_map(|undo| undo.arguments.values()) {
            self.input("undo", input);
        }
    }

    fn input(&mut self, part: &'static str, input: &'a Input) {
        let mut all = Vec::new();
        input.visit(&mut |input| all.push(input));
        for input in all {
            self.one(part, input);
        }
    }

    fn one(&mut self, part: &'static str, input: &Input) {
        match input {
            Input::Output { step, .. } | Input::Found { step, .. } => self.known(part, step),
            Input::Item(_) if self.step.each.is_none() => {
                self.wrong(part, "uses `item`, but has no `each` to take it from");
            }
            Input::Parameter(name) if !self.parameters.contains(&name.as_str()) => {
                self.wrong(part, &format!("uses the parameter `{name}`, which there is not"));
            }
            Input::Literal(_)
            | Input::Item(_)
            | Input::Parameter(_)
            | Input::Renamed { .. }
            | Input::Text(_)
            | Input::List(_)
            | Input::Object(_) => {}
        }
    }

    fn known(&mut self, part: &'static str, name: &str) {
        if name == self.step.name {
            // Only taking a step back may look at what it gave.
            if part != "undo" {
                self.wrong(part, "uses its own result");
            }
        } else if !self.names.contains_key(name) {
            self.wrong(part, &format!("needs the step `{name}`, which there is not"));
        }
    }
}
