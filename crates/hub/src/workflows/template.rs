//! A workflow as it is meant: checked steps, and what they take.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use toolyard_core::alias::{Alias, Phase};
use toolyard_core::arguments::is_of_type;
use toolyard_core::catalog::Catalog;
use toolyard_core::plan::{Input, Origin, Plan, Step, Undo};
use toolyard_core::tool::{BadToolId, Effect, Hints, Tool, ToolId};

use super::raw::{RawStep, RawUndo, RawWorkflow, schema};
use super::{SERVER, expression};
use crate::config::{Mistake, Page, nearest};
use crate::jsonrpc::Fields;

/// A workflow with parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// What it is called.
    pub name: String,
    title: Option<String>,
    description: String,
    /// What it takes, as JSON Schema.
    parameters: Value,
    /// Effects are guessed from names until the tools themselves are known.
    steps: Vec<Step>,
}

impl Template {
    /// Reads a workflow, or says everything that is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Vec<Mistake>> {
        let mut page = Page::read(text, path, schema())?;
        let raw: RawWorkflow = match serde_json::from_value(page.json()) {
            Ok(raw) => raw,
            Err(err) => {
                page.wrong(&[], format!("it cannot be read: {err}"), None);
                return Err(page.finish());
            }
        };
        let steps: Vec<Option<Step>> =
            raw.steps.iter().enumerate().map(|(at, raw)| step(raw, at, &mut page)).collect();
        let parameters = raw.parameters.unwrap_or_default();
        for name in parameters.required.iter().filter(|name| !parameters.properties.contains_key(*name)) {
            let what = format!("`{name}` is required, but is no parameter");
            page.wrong(&["parameters", "required"], what, None);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if raw.name.is_empty() || raw.name.len() > 48 || !raw.name.chars().all(is_plain) {
            page.wrong(&["name"], "a name has 1 to 48 letters, digits, `_` and `-`", None);
        }
        // Where a step cannot be read, what refers to it would be reported as well.
        if let Some(steps) = steps.into_iter().collect::<Option<Vec<Step>>>() {
            let names: Vec<&str> = parameters.properties.keys().map(String::as_str).collect();
            for flaw in Plan::flaws(&raw.name, &steps, &names) {
                let at = flaw.step.map(|at| at.to_string());
                let place: Vec<&str> = match &at {
                    Some(at) => vec!["steps", at, flaw.part],
                    None => vec![flaw.part],
                };
                page.wrong(&place, flaw.what, None);
            }
            // One that is no parameter was told above.
            let is_needed = |it: &&String| parameters.properties.get(*it).is_some_and(|it| !has_default(it));
            let required: Vec<&String> = parameters.required.iter().filter(is_needed).collect();
            let schema = json!({
                "type": "object", "properties": parameters.properties, "required": required,
                "additionalProperties": false,
            });
            let mistakes = page.finish();
            let (name, title, description) = (raw.name, raw.title, raw.description);
            let template = Self { name, title, description, parameters: schema, steps };
            return if mistakes.is_empty() { Ok(template) } else { Err(mistakes) };
        }
        Err(page.finish())
    }

    /// Returns the beginnings of the names of its tools, which are those of their servers.
    pub(super) fn servers(&self) -> Vec<&str> {
        let undo = self.steps.iter().filter_map(|step| Some(&step.undo.as_ref()?.tool));
        let tools = self.steps.iter().map(|step| &step.tool).chain(undo);
        tools.filter_map(|tool| Some(tool.as_str().split_once("__")?.0)).collect()
    }

    /// Returns its steps, in the order in which they are written.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the tools that it calls.
    pub fn tools(&self) -> impl Iterator<Item = &ToolId> {
        let undo = self.steps.iter().filter_map(|step| Some(&step.undo.as_ref()?.tool));
        self.steps.iter().map(|step| &step.tool).chain(undo)
    }

    /// Returns it with the tools that are called instead of those that it names by old names, or says everything that
    /// is in the way.
    pub fn renamed(
        &self,
        new_name: impl Fn(&str) -> Option<Result<Alias, String>>,
    ) -> Result<Self, Vec<String>> {
        let (mut current, mut problems) = (self.clone(), Vec::new());
        let mut turn = |step: &str, tool: &mut ToolId, arguments: &mut BTreeMap<String, Input>| {
            let Some(alias) = new_name(tool.as_str()) else { return };
            match alias.and_then(|alias| turned(tool, &alias, arguments)) {
                Ok((to, given)) => (*tool, *arguments) = (to, given),
                Err(why) => problems.push(format!("step `{step}`: {why}")),
            }
        };
        for Step { name, tool, arguments, undo, .. } in &mut current.steps {
            turn(name, tool, arguments);
            if let Some(undo) = undo {
                turn(name, &mut undo.tool, &mut undo.arguments);
            }
        }
        if problems.is_empty() { Ok(current) } else { Err(problems) }
    }

    /// Returns it with the effects of the tools that there are; `None` when one is missing.
    pub fn on(&self, catalog: &Catalog) -> Option<Self> {
        let mut known = self.clone();
        for step in &mut known.steps {
            let tool = catalog.get(step.tool.as_str())?;
            step.effect = tool.effect;
            step.repeatable |= tool.effect == Effect::Read || is_idempotent(tool);
        }
        let is_whole = known.tools().all(|tool| catalog.get(tool.as_str()).is_some());
        is_whole.then_some(known)
    }

    /// Returns it as a tool is listed.
    pub fn definition(&self) -> Value {
        let has = |effect| self.steps.iter().any(|step| step.effect == effect);
        let mut definition = json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": self.parameters,
            "annotations": {
                "readOnlyHint": !has(Effect::Write) && !has(Effect::Destroy),
                "destructiveHint": has(Effect::Destroy),
                "idempotentHint": self.steps.iter().all(|step| step.repeatable),
            },
        });
        if let Some(title) = &self.title {
            definition["title"] = json!(title);
        }
        definition
    }

    /// Makes the plan of these values on the tools that there are, or says everything that is in the way.
    ///
    /// `latency` tells how many milliseconds a tool takes.
    pub fn plan(
        &self,
        catalog: &Catalog,
        values: &Map<String, Value>,
        latency: impl Fn(&str) -> Option<u64>,
    ) -> Result<Plan, Vec<String>> {
        let mut problems = self.unfit(values);
        // What is missing here would be reported as missing there as well.
        let is_fit = problems.is_empty();
        let mut all = values.clone();
        for (name, schema) in self.parameters["properties"].as_object().into_iter().flatten() {
            if let (Some(default), false) = (schema.get("default"), values.contains_key(name)) {
                all.insert(name.clone(), default.clone());
            }
        }
        let mut steps = Vec::new();
        for step in &self.steps {
            let mut step = step.given(&all);
            match catalog.get(step.tool.as_str()) {
                Some(tool) => {
                    problems.extend(misfits(&step.name, tool, step.arguments.keys()).filter(|_| is_fit));
                    step.effect = tool.effect;
                    step.repeatable |= tool.effect == Effect::Read || is_idempotent(tool);
                    step.estimate_ms = latency(step.tool.as_str()).unwrap_or_default();
                }
                None => problems
                    .push(format!("step `{}` needs the tool `{}`, which there is not", step.name, step.tool)),
            }
            if let Some(undo) = &mut step.undo {
                match catalog.get(undo.tool.as_str()) {
                    Some(tool) => {
                        problems.extend(misfits(&step.name, tool, undo.arguments.keys()).filter(|_| is_fit));
                        undo.repeatable |= is_idempotent(tool);
                    }
                    None => problems.push(format!(
                        "undoing `{}` needs the tool `{}`, which there is not",
                        step.name, undo.tool
                    )),
                }
            }
            steps.push(step);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Plan::new(&self.name, steps).map_err(|flaws| flaws.iter().map(ToString::to_string).collect())
    }

    /// Says what is wrong with values for the parameters.
    fn unfit(&self, values: &Map<String, Value>) -> Vec<String> {
        let none = Map::new();
        let properties = self.parameters["properties"].as_object().unwrap_or(&none);
        let required = self.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing = required.filter(|name| !values.contains_key(*name));
        let mut unfit: Vec<String> =
            missing.map(|name| format!("the parameter `{name}` is missing")).collect();
        for (name, value) in values {
            let Some(schema) = properties.get(name) else {
                let near = nearest(name, properties.keys().map(String::as_str));
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                unfit.push(format!("there is no parameter `{name}`{hint}"));
                continue;
            };
            let types: Vec<&str> = match &schema["type"] {
                Value::String(word) => vec![word],
                Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
            };
            if schema.as_object().is_some_and(|schema| !is_of_type(schema, value)) {
                unfit.push(format!("the parameter `{name}` must be {}, not {value}", types.join(" or ")));
            }
            if let Some(choices) = schema["enum"].as_array()
                && !choices.contains(value)
            {
                let choices: Vec<String> = choices.iter().map(ToString::to_string).collect();
                unfit.push(format!("the parameter `{name}` must be one of {}", choices.join(", ")));
            }
        }
        unfit
    }
}

/// Turns a step by an old name into the one that it stands for.
fn turned(
    tool: &ToolId,
    alias: &Alias,
    arguments: &BTreeMap<String, Input>,
) -> Result<(ToolId, BTreeMap<String, Input>), String> {
    if alias.phase == Phase::Gone {
        return Err(format!("the tool `{tool}` is gone; call {} instead", alias.usage(None)));
    }
    let to: ToolId = alias.to.parse().map_err(|error: BadToolId| error.to_string())?;
    let given = arguments.iter().map(|(name, input)| (name.clone(), input.clone()));
    let given =
        alias.apply(given, |fixed| Input::Literal(fixed.clone())).map_err(|error| error.to_string())?;
    Ok((to, given.into_iter().collect()))
}

fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some()
}

fn is_idempotent(tool: &Tool) -> bool {
    let definition = Fields::parse(Some(&tool.definition)).unwrap_or_default();
    definition.object("annotations").read::<bool>("idempotentHint") == Some(true)
}

/// Says which arguments a tool does not take, and which it lacks.
fn misfits<'a>(
    step: &str,
    tool: &Tool,
    given: impl Iterator<Item = &'a String>,
) -> impl Iterator<Item = String> {
    let given: Vec<&str> = given.map(String::as_str).collect();
    let required = tool.parameters.iter().filter(|it| it.required && !given.contains(&it.name.as_str()));
    let mut misfits: Vec<String> =
        required.map(|it| format!("step `{step}` does not give `{}` to `{}`", it.name, tool.id)).collect();
    let names: Vec<&str> = tool.parameters.iter().map(|it| it.name.as_str()).collect();
    // A tool without parameters may take anything.
    for name in given.iter().filter(|name| !names.is_empty() && !names.contains(*name)) {
        let hint = nearest(name, names.iter().copied()).map(|it| format!("; did you mean `{it}`?"));
        let hint = hint.unwrap_or_default();
        misfits.push(format!("step `{step}` gives `{name}` to `{}`, which does not take it{hint}", tool.id));
    }
    misfits.into_iter()
}

fn step(raw: &RawStep, at: usize, page: &mut Page<'_>) -> Option<Step> {
    let at = at.to_string();
    let tool = tool_id(&raw.tool, &["steps", &at, "tool"], page);
    let arguments = inputs(&raw.arguments, &["steps", &at, "arguments"], page);
    let each = raw.each.as_ref().map(|it| one(it, &["steps", &at, "each"], page));
    let when = raw.when.as_ref().map(|when| {
        let read = expression::condition(when);
        read.map_err(|why| page.wrong(&["steps", &at, "when"], why, None)).ok()
    });
    let undo = raw.undo.as_ref().map(|it| undo(it, &at, page));
    let tool = tool?;
    let named = tool.as_str().split_once("__").map_or("", |(_, name)| name);
    let effect = Effect::infer(named, Hints::default());
    Some(Step {
        name: raw.name.clone(),
        effect,
        // What only a name says is not enough to send a call twice.
        repeatable: raw.idempotent.unwrap_or(false),
        tool,
        arguments: arguments?,
        after: raw.after.clone(),
        each: each.map_or(Some(None), |it| it.map(Some))?,
        when: when.map_or(Some(None), |it| it.map(Some))?,
        retries: raw.retries,
        undo: undo.map_or(Some(None), |it| it.map(Some))?,
        estimate_ms: 0,
        words: String::new(),
        is_unsure: false,
    })
}

fn undo(raw: &RawUndo, at: &str, page: &mut Page<'_>) -> Option<Undo> {
    let tool = tool_id(&raw.tool, &["steps", at, "undo", "tool"], page);
    let arguments = inputs(&raw.arguments, &["steps", at, "undo", "arguments"], page);
    let repeatable = raw.idempotent.unwrap_or(false);
    Some(Undo { tool: tool?, arguments: arguments?, repeatable, origin: Origin::Written })
}

fn tool_id(text: &str, place: &[&str], page: &mut Page<'_>) -> Option<ToolId> {
    match text.parse::<ToolId>() {
        Ok(tool) if tool.as_str().starts_with(&format!("{SERVER}__")) => {
            page.wrong(place, "a workflow cannot call a workflow", None);
            None
        }
        Ok(tool) => Some(tool),
        Err(err) => {
            page.wrong(place, err.to_string(), None);
            None
        }
    }
}

fn inputs(
    values: &BTreeMap<String, Value>,
    place: &[&str],
    page: &mut Page<'_>,
) -> Option<BTreeMap<String, Input>> {
    let mut read = Some(BTreeMap::new());
    for (name, value) in values {
        let place: Vec<&str> = place.iter().copied().chain([name.as_str()]).collect();
        match (one(value, &place, page), &mut read) {
            (Some(input), Some(inputs)) => drop(inputs.insert(name.clone(), input)),
            (Some(_) | None, _) => read = None,
        }
    }
    read
}

fn one(value: &Value, place: &[&str], page: &mut Page<'_>) -> Option<Input> {
    expression::input(value).map_err(|why| page.wrong(place, why, None)).ok()
}
