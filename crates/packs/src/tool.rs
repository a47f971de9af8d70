//! One tool: its definition, and the function behind it.

use serde_json::{Map, Value, json};

use crate::{
    arguments::{self, Arguments},
    reply::{self, Outcome, Refusal},
};

/// A tool of the server `S`.
pub(crate) struct Tool<S> {
    name: &'static str,
    pub(crate) definition: Value,
    run: fn(&S, &Arguments<'_>) -> Outcome,
}

impl<S> std::fmt::Debug for Tool<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tool").field(&self.name).finish()
    }
}

/// What a tool is, in words and schemas.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) effect: Effect,
    /// The properties of the input and the names of those that are required.
    pub(crate) input: (Value, &'static [&'static str]),
    /// The properties of the output; all of them are always there.
    pub(crate) output: Value,
}

/// What a tool does to the world.
#[derive(Clone, Copy)]
pub(crate) enum Effect {
    /// Looks only.
    Reads,
    /// Adds, and leaves what is there alone.
    Adds,
    /// May replace what is there; a second time changes it again.
    Changes,
    /// Marks what is there and can be taken back; a second time changes nothing more.
    Settles,
}

impl Spec {
    /// Binds the function that does the work.
    pub(crate) fn run<S>(self, run: fn(&S, &Arguments<'_>) -> Outcome) -> Tool<S> {
        let (properties, required) = self.input;
        let definition = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "outputSchema": record(&self.output),
            "annotations": {
                "title": self.title,
                "readOnlyHint": matches!(self.effect, Effect::Reads),
                "destructiveHint": matches!(self.effect, Effect::Changes),
                "idempotentHint": matches!(self.effect, Effect::Reads | Effect::Settles),
                "openWorldHint": false,
            },
        });
        Tool { name: self.name, definition, run }
    }
}

/// Returns the schema of an object with these properties, all of them required.
pub(crate) fn record(properties: &Value) -> Value {
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let required = json!(names);
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Runs the tool of that name, if there is one.
pub(crate) fn call<S>(
    tools: &[Tool<S>],
    server: &S,
    name: &str,
    given: &Map<String, Value>,
) -> Option<Value> {
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let outcome = match arguments::check(&tool.definition, given) {
        Ok(arguments) => (tool.run)(server, &arguments),
        Err(error) => Err(Refusal::from(error)),
    };
    Some(reply::result(outcome))
}
