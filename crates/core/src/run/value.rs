//! From where a value comes to the value itself.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Call, Direction, Piece, Run, State, Work, find, output};
use crate::lexicon::split_ending;
use crate::plan::{Condition, Input, Step, Test};
use crate::tool::Effect;

/// Makes out what a step has to do, now that what it needs is over.
pub(super) fn begin(run: &Run, step: &Step) -> Work {
    let skipped = step.takes().into_iter().find(|name| run.work(name).is_some_and(is_skipped));
    if let Some(name) = skipped {
        return Work::Skipped { why: format!("`{name}`, whose result it needs, was skipped") };
    }
    let Some(each) = &step.each else { return Work::Begun { elements: None, pieces: vec![Piece::new()] } };
    let most = run.allowance.elements;
    match (Scene { run, step, element: None }).value(each) {
        Ok(Value::Array(elements)) if elements.len() <= most => {
            let pieces = elements.iter().map(|_| Piece::new()).collect();
            Work::Begun { elements: Some(elements), pieces }
        }
        Ok(Value::Array(elements)) => Work::Failed {
            why: format!("its list has {} elements; at most {most} are gone through", elements.len()),
        },
        Ok(_) => Work::Failed { why: format!("{each} is not a list") },
        Err(why) => Work::Failed { why },
    }
}

/// Makes the call of a piece; `None` when its condition does not hold.
pub(super) fn call(run: &Run, at: usize, piece: usize) -> Result<Option<Call>, String> {
    let step = &run.plan.steps()[at];
    let scene = Scene { run, step, element: element(run, at, piece) };
    if step.when.as_ref().is_some_and(|when| !scene.holds(when)) {
        return Ok(None);
    }
    let id = run.id(at, piece, Direction::Forth);
    let arguments = scene.arguments(&step.arguments)?;
    Ok(Some(Call { id, tool: step.tool.clone(), arguments, effect: step.effect, attempt: 0 }))
}

/// Makes the call that takes a piece back.
pub(super) fn undo(run: &Run, at: usize, piece: usize) -> Result<Call, String> {
    let step = &run.plan.steps()[at];
    let undo = step.undo.as_ref().ok_or_else(|| "no way to take it back is known".to_owned())?;
    let own = match &run.works[at] {
        Work::Begun { pieces, .. } => &pieces[piece].state,
        Work::Waiting | Work::Skipped { .. } | Work::Failed { .. } => return Err("it did not run".to_owned()),
    };
    let State::Done { value } = own else { return Err("it did not run".to_owned()) };
    let scene = Undone { scene: Scene { run, step, element: element(run, at, piece) }, own: value };
    let arguments = scene.arguments(&undo.arguments)?;
    let id = run.undo_id(at, piece);
    Ok(Call { id, tool: undo.tool.clone(), arguments, effect: Effect::Destroy, attempt: 0 })
}

impl Run {
    /// Returns the arguments of a call of a step, as far as they are known by now.
    pub fn arguments(&self, step: &str, element: Option<usize>) -> Map<String, Value> {
        let Some(at) = self.plan.steps().iter().position(|it| it.name == step) else { return Map::new() };
        let step = &self.plan.steps()[at];
        let scene =
            Scene { run: self, step, element: element.and_then(|piece| self::element(self, at, piece)) };
        let known = |(name, input): (&String, &Input)| Some((name.clone(), scene.value(input).ok()?));
        step.arguments.iter().filter_map(known).collect()
    }
}

fn element(run: &Run, at: usize, piece: usize) -> Option<&Value> {
    match &run.works[at] {
        Work::Begun { elements, .. } => elements.as_ref()?.get(piece),
        Work::Waiting | Work::Skipped { .. } | Work::Failed { .. } => None,
    }
}

fn is_skipped(work: &Work) -> bool {
    match work {
        Work::Skipped { .. } => true,
        Work::Begun { elements: None, pieces } => {
            pieces.iter().any(|piece| matches!(piece.state, State::Skipped { .. }))
        }
        Work::Begun { .. } | Work::Waiting | Work::Failed { .. } => false,
    }
}

/// What the inputs of one piece may look at.
struct Scene<'a> {
    run: &'a Run,
    step: &'a Step,
    element: Option<&'a Value>,
}

/// The same, for taking the piece back: its own result is there as well.
struct Undone<'a> {
    scene: Scene<'a>,
    own: &'a Value,
}

impl Undone<'_> {
    fn arguments(&self, inputs: &BTreeMap<String, Input>) -> Result<Map<String, Value>, String> {
        let own = |name: &str| (name == self.scene.step.name).then(|| self.own.clone());
        let value = |(name, input): (&String, &Input)| Ok((name.clone(), self.scene.resolve(input, &own)?));
        inputs.iter().map(value).collect()
    }
}

impl Scene<'_> {
    fn arguments(&self, inputs: &BTreeMap<String, Input>) -> Result<Map<String, Value>, String> {
        inputs.iter().map(|(name, input)| Ok((name.clone(), self.value(input)?))).collect()
    }

    fn value(&self, input: &Input) -> Result<Value, String> {
        self.resolve(input, &|_| None)
    }

    /// `own` gives the results of steps that are not taken from the run.
    fn resolve(&self, input: &Input, own: &dyn Fn(&str) -> Option<Value>) -> Result<Value, String> {
        let result = |step: &str| {
            let given = own(step).or_else(|| self.run.work(step).and_then(output));
            given.ok_or_else(|| format!("`{step}` gave no result"))
        };
        match input {
            Input::Literal(value) => Ok(value.clone()),
            Input::Output { step, path } => path
                .pick(&result(step)?)
                .ok_or_else(|| format!("the result of `{step}` has nothing at `{path}`")),
            Input::Found { step, sought, which } => find::find(&result(step)?, sought, *which)
                .ok_or_else(|| format!("nothing in the result of `{step}` fits `{}`", sought.parameter)),
            Input::Item(path) => {
                let picked = self.element.and_then(|element| path.pick(element));
                picked.ok_or_else(|| format!("the element has nothing at `{path}`"))
            }
            Input::Text(parts) => {
                let mut text = String::new();
                for part in parts {
                    let value = self.resolve(part, own)?;
                    match value.as_str() {
                        Some(words) => text.push_str(words),
                        None => text.push_str(&value.to_string()),
                    }
                }
                Ok(Value::String(text))
            }
            Input::Renamed { of, ending } => {
                let value = self.resolve(of, own)?;
                let path = value.as_str().ok_or_else(|| format!("{of} is not the path of a file"))?;
                let stem = split_ending(path).map_or(path, |(stem, _)| stem);
                Ok(Value::String(format!("{stem}.{ending}")))
            }
            Input::List(parts) => parts.iter().map(|part| self.resolve(part, own)).collect(),
            Input::Object(members) => {
                members.iter().map(|(key, member)| Ok((key.clone(), self.resolve(member, own)?))).collect()
            }
            Input::Parameter(name) => Err(format!("nobody gave the parameter `{name}`")),
        }
    }

    fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Value { of, is } => passes(self.value(of).ok().as_ref(), is),
            Condition::All(parts) => parts.iter().all(|part| self.holds(part)),
            Condition::Any(parts) => parts.iter().any(|part| self.holds(part)),
            Condition::Not(inner) => !self.holds(inner),
        }
    }
}

fn passes(value: Option<&Value>, test: &Test) -> bool {
    let Some(value) = value else { return false };
    let number = value.as_f64();
    match test {
        Test::Present => !value.is_null(),
        Test::Filled => match value {
            Value::Null => false,
            Value::Bool(is) => *is,
            Value::Number(_) => true,
            Value::String(text) => !text.trim().is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
        },
        Test::Equals(other) => value == other || (number.is_some() && number == other.as_f64()),
        Test::Contains(part) => match (value, part) {
            (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
            (Value::Array(items), part) => items.contains(part),
            (Value::Object(members), Value::String(key)) => members.contains_key(key),
            _ => false,
        },
        Test::Above(limit) => number.is_some_and(|number| number > *limit),
        Test::Below(limit) => number.is_some_and(|number| number < *limit),
    }
}
