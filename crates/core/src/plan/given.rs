//! The parameters of a template, replaced by what was given for them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Condition, Input, Step, Undo};

impl Step {
    /// Returns the step with the values that were given for parameters. An argument whose parameter was
    /// not given is left out; inside a text, a list or a condition it is empty.
    pub fn given(&self, values: &Map<String, Value>) -> Self {
        let undo = |undo: &Undo| Undo { arguments: arguments(&undo.arguments, values), ..undo.clone() };
        Self {
            arguments: arguments(&self.arguments, values),
            each: self.each.as_ref().map(|each| filled(each, values)),
            when: self.when.as_ref().map(|when| decided(when, values)),
            undo: self.undo.as_ref().map(undo),
            ..self.clone()
        }
    }
}

fn arguments(inputs: &BTreeMap<String, Input>, values: &Map<String, Value>) -> BTreeMap<String, Input> {
    let is_left_out = |input: &Input| matches!(input, Input::Parameter(name) if !values.contains_key(name));
    let kept = inputs.iter().filter(|(_, input)| !is_left_out(input));
    kept.map(|(name, input)| (name.clone(), filled(input, values))).collect()
}

fn filled(input: &Input, values: &Map<String, Value>) -> Input {
    let all = |parts: &[Input]| parts.iter().map(|part| filled(part, values)).collect();
    match input {
        Input::Parameter(name) => Input::Literal(values.get(name).cloned().unwrap_or(Value::Null)),
        Input::Text(parts) => {
            let said = |part: &Input| !matches!(part, Input::Parameter(name) if !values.contains_key(name));
            Input::Text(parts.iter().filter(|part| said(part)).map(|part| filled(part, values)).collect())
        }
        Input::List(parts) => Input::List(all(parts)),
        Input::Renamed { of, ending } => {
            Input::Renamed { of: Box::new(filled(of, values)), ending: ending.clone() }
        }
        Input::Object(members) => Input::Object(arguments(members, values)),
        Input::Literal(_) | Input::Output { .. } | Input::Found { .. } | Input::Item(_) => input.clone(),
    }
}

fn decided(condition: &Condition, values: &Map<String, Value>) -> Condition {
    let all = |parts: &[Condition]| parts.iter().map(|part| decided(part, values)).collect();
    match condition {
        Condition::Value { of, is } => Condition::Value { of: filled(of, values), is: is.clone() },
        Condition::All(parts) => Condition::All(all(parts)),
        Condition::Any(parts) => Condition::Any(all(parts)),
        Condition::Not(inner) => Condition::Not(Box::new(decided(inner, values))),
    }
}
