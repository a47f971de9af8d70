//! From `KEY=VALUE` words to the arguments that a tool's schema wants.

use serde_json::{Map, Value};
use toolyard_core::arguments::Form;
use toolyard_core::tool::{Parameter, Tool};

use crate::failure::Failure;

/// References and alternatives are followed this deep.
const STEPS: usize = 8;

/// Reads words into arguments, each typed by the tool's schema; none that is required may be missing.
pub(super) fn read(tool: &Tool, pairs: &[String]) -> Result<Map<String, Value>, Failure> {
    let arguments = given(tool, pairs)?;
    let missing: Vec<String> = missing(tool, &arguments).map(described).collect();
    if !missing.is_empty() {
        let message = format!("`{}` needs {}", tool.id, missing.join(", "));
        return Err(Failure::usage(message).hint(advice(tool)));
    }
    Ok(arguments)
}

/// Reads words into arguments, each typed by the tool's schema.
pub(crate) fn given(tool: &Tool, pairs: &[String]) -> Result<Map<String, Value>, Failure> {
    // A definition that nests deeper than the reader goes leaves every value untyped.
    let definition: Value = serde_json::from_str(tool.definition.get()).unwrap_or_default();
    read_pairs(&definition["inputSchema"], pairs).map_err(|unfit| match unfit {
        Unfit::Unknown(key) => no_parameter(tool, &key),
        Unfit::Wrong(why) => Failure::usage(why).hint(advice(tool)),
    })
}

/// Reads words into values, each typed by a schema; an error says which one does not fit.
pub(crate) fn typed(schema: &Value, pairs: &[String]) -> Result<Map<String, Value>, String> {
    read_pairs(schema, pairs).map_err(|unfit| match unfit {
        Unfit::Unknown(key) => format!("there is no parameter `{key}`"),
        Unfit::Wrong(why) => why,
    })
}

enum Unfit {
    /// There is no such parameter.
    Unknown(String),
    Wrong(String),
}

fn read_pairs(schema: &Value, pairs: &[String]) -> Result<Map<String, Value>, Unfit> {
    let schema = Schema { root: schema };
    let mut arguments = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(Unfit::Wrong(format!("`{pair}` is not KEY=VALUE")));
        };
        let wanted = schema.property(key).ok_or_else(|| Unfit::Unknown(key.to_owned()))?;
        let value = wanted.read(text, STEPS).map_err(|why| Unfit::Wrong(format!("`{key}` {why}")))?;
        match (arguments.get_mut(key), value) {
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (Some(_), _) => return Err(Unfit::Wrong(format!("`{key}` is given twice"))),
            (None, value) => drop(arguments.insert(key.to_owned(), value)),
        }
    }
    Ok(arguments)
}

/// Returns what a tool requires and the arguments do not have.
pub(crate) fn missing<'t>(
    tool: &'t Tool,
    arguments: &Map<String, Value>,
) -> impl Iterator<Item = &'t Parameter> {
    tool.parameters.iter().filter(|parameter| parameter.required && !arguments.contains_key(&parameter.name))
}

/// Returns what a tool needs with these arguments, whether its schema requires it or only says so.
pub(crate) fn needed<'t>(tool: &'t Tool, arguments: &Map<String, Value>) -> Vec<&'t Parameter> {
    let form = Form::of(tool);
    let names: Vec<&str> = arguments.keys().map(String::as_str).collect();
    let lacking = form.lacks(&names, arguments);
    let is_lacking = |it: &&Parameter| lacking.iter().any(|field| field.parameter() == it.name);
    let said = tool.parameters.iter().filter(|it| !it.required).filter(is_lacking);
    missing(tool, arguments).chain(said).collect()
}

/// Writes a parameter as it would be given: `text=… (string)`.
pub(crate) fn described(parameter: &Parameter) -> String {
    format!("{}=… ({})", parameter.name, parameter.kind)
}

/// Reads all arguments at once.
pub(crate) fn read_object(text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text).map_err(|err| {
        Failure::usage(format!("the arguments are not a JSON object: {err}"))
            .hint("write them like '{\"path\": \"a.txt\"}'")
    })
}

fn advice(tool: &Tool) -> String {
    format!("`toolyard describe {}` shows its parameters", tool.id)
}

fn no_parameter(tool: &Tool, key: &str) -> Failure {
    let names: Vec<&str> = tool.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let hint = match names.is_empty() {
        true => "it takes none".to_owned(),
        false => format!("it takes {}; `--args JSON` sends anything", names.join(", ")),
    };
    Failure::usage(format!("`{}` has no parameter `{key}`", tool.id)).hint(hint)
}

/// A tool's input schema.
#[derive(Clone, Copy)]
struct Schema<'a> {
    root: &'a Value,
}

/// What one value should be.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    schema: Schema<'a>,
    value: &'a Value,
}

impl<'a> Schema<'a> {
    /// Returns what a parameter should be; `None` when there is no such parameter.
    fn property(self, key: &str) -> Option<Wanted<'a>> {
        let properties = &self.root["properties"];
        let further = &self.root["additionalProperties"];
        let is_open =
            further == true || further.is_object() || properties.as_object().is_none_or(Map::is_empty);
        match properties.get(key) {
            Some(value) => Some(Wanted { schema: self, value }),
            // Most schemas do not say that they are closed, and a slip in a name should be noticed.
            None => (is_open && *further != false).then_some(Wanted { schema: self, value: further }),
        }
    }
}

impl<'a> Wanted<'a> {
    /// Returns the type words of the schema; none when anything will do.
    fn types(self, steps: usize) -> Vec<&'a str> {
        let Some(steps) = steps.checked_sub(1) else { return Vec::new() };
        if let Some(target) = self.value["$ref"].as_str() {
            let found = target.strip_prefix('#').and_then(|pointer| self.schema.root.pointer(pointer));
            return found.map_or_else(Vec::new, |value| Wanted { value, ..self }.types(steps));
        }
        match &self.value["type"] {
            Value::String(word) => return vec![word],
            Value::Array(words) => return words.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        if let Some(choices) = self.value["enum"].as_array() {
            return choices.iter().map(type_of).collect();
        }
        let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| self.value[key].as_array()).flatten();
        alternatives.flat_map(|value| Wanted { value, ..self }.types(steps)).collect()
    }

    /// Returns what the items of a list should be.
    fn items(self, steps: usize) -> Self {
        let Some(steps) = steps.checked_sub(1) else { return self };
        if let Some(target) = self.value["$ref"].as_str() {
            let found = target.strip_prefix('#').and_then(|pointer| self.schema.root.pointer(pointer));
            return found.map_or(self, |value| Wanted { value, ..self }.items(steps));
        }
        let alternatives = ["anyOf", "oneOf"].iter().filter_map(|key| self.value[key].as_array()).flatten();
        let own = Some(&self.value["items"]).filter(|items| !items.is_null());
        let items = own.or_else(|| alternatives.map(|value| &value["items"]).find(|items| !items.is_null()));
        Wanted { value: items.unwrap_or(&Value::Null), ..self }
    }

    /// Reads a word as the first of the wanted types that it fits; text is the last resort.
    fn read(self, text: &str, steps: usize) -> Result<Value, String> {
        let types = self.types(STEPS);
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        let Some(steps) = steps.checked_sub(1) else { return Ok(text.into()) };
        if types.is_empty() {
            // Only what is plainly not text is taken as something else.
            return Ok(parsed.filter(|value| !value.is_string()).unwrap_or_else(|| text.into()));
        }
        if let Some(parsed) = parsed
            && types.iter().any(|word| fits(&parsed, word))
            && !parsed.is_string()
        {
            return Ok(parsed);
        }
        if types.contains(&"string") {
            return Ok(text.into());
        }
        if types.contains(&"array") {
            return Ok(Value::Array(vec![self.items(STEPS).read(text, steps)?]));
        }
        Err(format!(
            "is {} and `{text}` is not",
            types.iter().map(|word| called(word)).collect::<Vec<_>>().join(" or ")
        ))
    }
}

fn fits(value: &Value, word: &str) -> bool {
    match word {
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        word => type_of(value) == word,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn called(word: &str) -> &str {
    match word {
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    #[test]
    fn words_take_the_types_of_the_schema() {
        insta::assert_snapshot!(read_all(&["text=5", "count=5", "ratio=5", "on=true"]), @r#"{"text":"5","count":5,"ratio":5,"on":true}"#);
        insta::assert_snapshot!(read_all(&["text=a=b", "mode=fast", "either=7", "maybe=null"]), @r#"{"text":"a=b","mode":"fast","either":7,"maybe":null}"#);
        insta::assert_snapshot!(read_all(&["either=seven", "shared=3", "any=[1]", "deep={\"a\":1}"]), @r#"{"either":"seven","shared":3,"any":[1],"deep":{"a":1}}"#);
    }

    #[test]
    fn a_list_is_json_or_a_repeated_key() {
        insta::assert_snapshot!(read_all(&["tags=1", "tags=b"]), @r#"{"tags":["1","b"]}"#);
        insta::assert_snapshot!(read_all(&["tags=[\"a\", \"b\"]", "tags=c"]), @r#"{"tags":["a","b","c"]}"#);
        insta::assert_snapshot!(read_all(&["sizes=1", "sizes=2"]), @r#"{"sizes":[1,2]}"#);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        insta::assert_snapshot!(
            [
                read_all(&["count=many"]),
                read_all(&["count=1.5"]),
                read_all(&["on=yes"]),
                read_all(&["sizes=big"]),
                read_all(&["text=a", "text=b"]),
                read_all(&["txt=a"]),
                read_all(&["text"]),
                read_all(&[]),
            ]
            .join("\n"),
            @"
            `count` is a whole number and `many` is not
            `count` is a whole number and `1.5` is not
            `on` is true or false and `yes` is not
            `sizes` is a whole number and `big` is not
            `text` is given twice
            `s__t` has no parameter `txt`
            `text` is not KEY=VALUE
            `s__t` needs text=… (string)
            "
        );
    }

    fn read_all(pairs: &[&str]) -> String {
        let list = |kind: &str| json!({ "type": "array", "items": { "type": kind } });
        let definition = json!({ "name": "t", "inputSchema": {
            "type": "object",
            "$defs": { "Count": { "type": "integer" } },
            "properties": {
                "text": { "type": "string" }, "count": { "type": "integer" }, "ratio": { "type": "number" },
                "on": { "type": "boolean" }, "mode": { "enum": ["fast", "slow"] }, "any": {},
                "either": { "type": ["string", "integer"] }, "deep": { "type": "object" },
                "maybe": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                "shared": { "$ref": "#/$defs/Count" },
                "tags": list("string"), "sizes": { "anyOf": [list("integer"), { "type": "null" }] },
            },
            "required": if pairs.is_empty() { json!(["text"]) } else { json!([]) },
        }});
        let advertised = toolyard_core::catalog::Advertised {
            server: "s".into(),
            tools: vec![serde_json::value::to_raw_value(&definition).unwrap()],
        };
        let bounds = toolyard_core::catalog::Bounds {
            tools: 1,
            name_chars: 100,
            description_chars: 100,
            nesting: 100,
        };
        let (catalog, _) = toolyard_core::catalog::Catalog::gather([(advertised, bounds)]);
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        match read(&catalog.tools()[0], &pairs) {
            Ok(arguments) => serde_json::to_string(&arguments).unwrap(),
            Err(failure) => failure.to_json()["error"]["message"].as_str().unwrap().to_owned(),
        }
    }
}
