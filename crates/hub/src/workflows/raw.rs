//! A workflow as it is written. The schema that editors use is made from these types.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::Value;

/// Returns the JSON Schema of a workflow's file.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        SchemaSettings::draft07().into_generator().into_root_schema_for::<RawWorkflow>().to_value()
    });
    &SCHEMA
}

/// A workflow of Toolyard: tools that are called one after the other, or at the same time.
///
/// Values may refer to what is known only later, in double braces: `{{parameters.topic}}`,
/// `{{search.results[0].path}}`, `{{item.path}}`, or `{{first path in search}}`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "workflow", deny_unknown_fields)]
pub(super) struct RawWorkflow {
    /// The JSON Schema of this file, for editors.
    #[serde(rename = "$schema")]
    #[expect(dead_code, reason = "it is for editors")]
    pub(super) schema: Option<String>,
    /// What it is called: letters, digits, `_` and `-`.
    pub(super) name: String,
    /// What it is called in lists.
    pub(super) title: Option<String>,
    /// What it does and when it is the right thing; requests in plain words are compared with this.
    pub(super) description: String,
    /// What it takes, as JSON Schema.
    pub(super) parameters: Option<RawParameters>,
    /// The tools it calls.
    pub(super) steps: Vec<RawStep>,
}

/// What a workflow takes, as JSON Schema.
#[derive(Deserialize, JsonSchema, Default)]
#[schemars(deny_unknown_fields)]
pub(super) struct RawParameters {
    /// Always `object`.
    #[expect(dead_code, reason = "it can only be one")]
    pub(super) r#type: Option<RawType>,
    /// Each parameter with its JSON Schema.
    #[serde(default)]
    pub(super) properties: BTreeMap<String, Value>,
    /// The parameters that must be given.
    #[serde(default)]
    pub(super) required: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum RawType {
    Object,
}

/// One tool that is called.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(super) struct RawStep {
    /// What the step and its result are called.
    pub(super) name: String,
    /// The tool as `server__tool`.
    pub(super) tool: String,
    /// What it is called with.
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, Value>,
    /// Steps that must be over before, besides those whose results are used.
    #[serde(default)]
    pub(super) after: Vec<String>,
    /// The list for whose elements the step runs, one call each; each is `{{item}}` then.
    pub(super) each: Option<Value>,
    /// What must hold for the step, or for an element, to run.
    pub(super) when: Option<RawCondition>,
    /// How often a call that failed is tried again, where that is safe.
    #[serde(default)]
    pub(super) retries: u32,
    /// Says that a second call with the same arguments changes nothing more.
    pub(super) idempotent: Option<bool>,
    /// How the step is taken back when a later one fails.
    pub(super) undo: Option<RawUndo>,
}

/// The call that takes a step back.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(super) struct RawUndo {
    /// The tool as `server__tool`.
    pub(super) tool: String,
    /// What it is called with; the step's own result may be used.
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, Value>,
    /// Says that a second call with the same arguments changes nothing more.
    pub(super) idempotent: Option<bool>,
}

/// A value with one test, or several conditions together.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(super) struct RawCondition {
    /// The value that is tested.
    pub(super) value: Option<Value>,
    /// Whether it is there and not `null`.
    pub(super) present: Option<bool>,
    /// Whether it is there and not empty.
    pub(super) filled: Option<bool>,
    /// What it is.
    pub(super) equals: Option<Value>,
    /// What is in it: a part of a text, an element of a list, a key of an object.
    pub(super) contains: Option<Value>,
    /// A number that it is above.
    pub(super) above: Option<f64>,
    /// A number that it is below.
    pub(super) below: Option<f64>,
    /// Conditions that must all hold.
    pub(super) all: Option<Vec<Self>>,
    /// Conditions of which one must hold.
    pub(super) any: Option<Vec<Self>>,
    /// A condition that must not hold.
    pub(super) not: Option<Box<Self>>,
}
