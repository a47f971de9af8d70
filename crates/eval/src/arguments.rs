//! How right the arguments are that words become, when the tool is given.

use std::path::Path;

use jiff::civil::date;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Form, Now, Sources, equivalent, fill};
use toolyard_core::lexicon::Action;
use toolyard_core::plan::repetition;
use toolyard_core::tool::Effect;
use toolyard_hub::meaning::ArgumentReader;

use crate::Error;
use crate::sets::{self, Case, Collection, RightCall};

/// What was measured on one set.
#[derive(Debug, Default)]
pub struct Arguments {
    /// The name of the set.
    pub name: String,
    /// Its requests with one right call.
    pub calls: usize,
    valid: usize,
    exact: usize,
    /// Arguments that were sent, that had to be, and that were right.
    sent: usize,
    wanted: usize,
    right: usize,
    /// Arguments that were sent though the right call does not have them.
    invented: usize,
    /// Requests for one call that would become several.
    repeated: usize,
}

/// Fills in the tool of every request of a set that has one right call.
pub fn measure(folder: &Path, limit: Option<usize>) -> Result<Arguments, Error> {
    let collection = sets::read(folder, limit)?;
    let mut measured = Arguments { name: collection.name.clone(), ..Arguments::default() };
    for case in &collection.cases {
        if let Some(call) = &case.call {
            measured.add(&collection, case, call);
        }
    }
    Ok(measured)
}

/// When the requests were written.
pub(crate) const WRITTEN: Now = Now { at: date(2026, 11, 17).at(10, 0, 0, 0), offset: 0 };

impl Arguments {
    fn add(&mut self, collection: &Collection, case: &Case, call: &RightCall) {
        let tool = &collection.tools[call.tool];
        let described = tool.definition["description"].as_str().unwrap_or_default();
        let form = Form::new((&tool.name, described), tool.definition["inputSchema"].clone());
        let reader = ArgumentReader::builtin();
        let reading = reader.map(|it| it.read(&case.task, (&tool.name, described), &form));
        let (given, reading) = (&Map::new(), reading.as_ref());
        let sources = Sources { task: &case.task, given, named: None, reading, earlier: &[], now: WRITTEN };
        let filling = fill(&form, &sources);
        // What only reads is repeated most readily, and is sent everything that is likely.
        let is_repeated = repetition(&form, Effect::Read, &sources, &filling).is_some();
        let is_whole = filling.missing.is_empty();
        let settled = filling.settle(&form, &sources, Effect::Read, Action::Unknown);
        let sent: Map<String, Value> = settled.found.into_iter().map(|it| (it.name, it.value)).collect();
        let is_valid = if is_whole { form.admits(&sent) } else { form.admits_part(&sent) };
        let is_default =
            |name: &str, value: &Value| form.default_of(name).is_some_and(|it| equivalent(it, value));
        let wanted = call.arguments.keys().filter(|name| call.needs(name)).count();
        let right = sent.iter().filter(|(name, value)| call.takes(name, value)).count();
        let right_needed =
            sent.iter().filter(|(name, value)| call.needs(name) && call.takes(name, value)).count();
        let invented =
            sent.iter().filter(|(name, value)| !call.knows(name) && !is_default(name, value)).count();
        let wrong = sent.iter().filter(|(name, value)| call.knows(name) && !call.takes(name, value)).count();
        self.calls += 1;
        self.valid += usize::from(is_valid);
        self.exact += usize::from(right_needed == wanted && invented == 0 && wrong == 0);
        self.sent += sent.len();
        self.wanted += wanted;
        self.right += right;
        self.invented += invented;
        self.repeated += usize::from(is_repeated);
    }

    /// Returns the shares that are valid, exact, found of what is needed, right of what is sent, invented, and repeated.
    pub fn shares(&self) -> [f64; 6] {
        let share = |count: usize, of: usize| if of == 0 { 1.0 } else { count as f64 / of as f64 };
        [
            share(self.valid, self.calls),
            share(self.exact, self.calls),
            share(self.right.min(self.wanted), self.wanted),
            share(self.right, self.sent),
            if self.sent == 0 { 0.0 } else { self.invented as f64 / self.sent as f64 },
            self.repeated as f64 / self.calls.max(1) as f64,
        ]
    }
}

impl RightCall {
    fn knows(&self, name: &str) -> bool {
        self.arguments.contains_key(name) || self.acceptable.as_ref().is_some_and(|it| it.contains_key(name))
    }

    /// Whether the call is wrong without this argument.
    fn needs(&self, name: &str) -> bool {
        let listed = self.acceptable.as_ref().and_then(|it| it.get(name)).and_then(Value::as_array);
        self.arguments.contains_key(name) && !listed.is_some_and(|it| it.contains(&json!("")))
    }

    fn takes(&self, name: &str, value: &Value) -> bool {
        let is_right = self.arguments.get(name).is_some_and(|right| equivalent(right, value));
        let listed = self.acceptable.as_ref().and_then(|it| it.get(name)).and_then(Value::as_array);
        is_right || listed.is_some_and(|it| it.iter().any(|right| is_acceptable(right, value)))
    }
}

/// Inside an object each member has a list of its own.
fn is_acceptable(right: &Value, value: &Value) -> bool {
    match (right, value) {
        (Value::Object(right), Value::Object(value)) => {
            let is_member = |(name, value): (&String, &Value)| {
                let listed = right.get(name).and_then(Value::as_array);
                listed.is_some_and(|it| it.iter().any(|right| is_acceptable(right, value)))
            };
            let is_there = |(name, right): (&String, &Value)| {
                value.contains_key(name) || right.as_array().is_some_and(|it| it.contains(&json!("")))
            };
            value.iter().all(is_member) && right.iter().all(is_there)
        }
        (Value::Array(right), Value::Array(value)) => {
            right.len() == value.len()
                && right.iter().zip(value).all(|(right, value)| is_acceptable(right, value))
        }
        // An item of a list may have several right values.
        (Value::Array(right), _) => right.iter().any(|right| is_acceptable(right, value)),
        _ => equivalent(right, value),
    }
}
