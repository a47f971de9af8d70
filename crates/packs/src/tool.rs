//! One tool: its definition, and the function behind it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::{
    arguments::{self, Arguments},
    reply::{self, Outcome, Refusal},
};

/// A tool of the server `S`.
pub(crate) struct Tool<S> {
    name: String,
    pub(crate) definition: Value,
    run: Run<S>,
}

enum Run<S> {
    /// Runs only with arguments that fit the input schema.
    Checked(Box<CheckedRun<S>>),
    /// Checks the arguments itself, beginning with the input schema; it is given the definition.
    Own(Box<OwnRun<S>>),
}

type CheckedRun<S> = dyn Fn(&S, &Arguments<'_>) -> Outcome + Send + Sync;
type OwnRun<S> = dyn Fn(&S, &Value, &Map<String, Value>) -> Outcome + Send + Sync;

impl<S> std::fmt::Debug for Tool<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tool").field(&self.name).finish()
    }
}

impl<S> Tool<S> {
    /// Tags the tool, as `_meta.tags`; `domain:X` says which tools belong together.
    pub(crate) fn tagged<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        let tags: Vec<String> = tags.into_iter().map(Into::into).collect();
        self.definition["_meta"]["tags"] = json!(tags);
        self
    }

    /// Puts the tool into a tier, as `_meta.tier`: 0 essential, 1 utility, 2 fallback.
    pub(crate) fn in_tier(mut self, tier: u8) -> Self {
        self.definition["_meta"]["tier"] = json!(tier);
        self
    }
}

/// What a tool is, in words and schemas.
pub(crate) struct Spec {
    pub(crate) name: Cow<'static, str>,
    pub(crate) title: Cow<'static, str>,
    pub(crate) description: Cow<'static, str>,
    pub(crate) effect: Effect,
    /// The properties of the input and the names of those that are required.
    pub(crate) input: (Value, Vec<String>),
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
    /// Changes what can be changed back at any time; a second time may change it again.
    Switches,
    /// Marks what is there and can be taken back; a second time changes nothing more.
    Settles,
}

impl Spec {
    /// Binds the function that does the work.
    pub(crate) fn run<S>(
        self,
        run: impl Fn(&S, &Arguments<'_>) -> Outcome + Send + Sync + 'static,
    ) -> Tool<S> {
        self.bind(Run::Checked(Box::new(run)))
    }

    /// Binds a function that does the work and checks the arguments too.
    ///
    /// It is for mistakes that no schema can tell, so that they are reported together with the others.
    pub(crate) fn run_own<S>(
        self,
        run: impl Fn(&S, &Value, &Map<String, Value>) -> Outcome + Send + Sync + 'static,
    ) -> Tool<S> {
        self.bind(Run::Own(Box::new(run)))
    }

    fn bind<S>(self, run: Run<S>) -> Tool<S> {
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
        Tool { name: self.name.into_owned(), definition, run }
    }
}

/// Returns the schema of an object with these properties, all of them required.
pub(crate) fn record(properties: &Value) -> Value {
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let required = json!(names);
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Returns the definitions of tools, in the form of `tools/list`.
pub(crate) fn definitions<S>(tools: &[Tool<S>]) -> Vec<Value> {
    tools.iter().map(|tool| tool.definition.clone()).collect()
}

/// Runs the tool of that name, if there is one.
pub(crate) fn call<S>(
    tools: &[Tool<S>],
    server: &S,
    name: &str,
    given: &Map<String, Value>,
) -> Option<Value> {
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let outcome = match &tool.run {
        Run::Checked(run) => match arguments::check(&tool.definition, given) {
            Ok(arguments) => run(server, &arguments),
            Err(error) => Err(Refusal::from(error)),
        },
        Run::Own(run) => run(server, &tool.definition, given),
    };
    Some(reply::result(outcome))
}
