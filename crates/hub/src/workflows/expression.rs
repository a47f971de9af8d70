//! Values of a workflow, with what stands in double braces.

use std::str::FromStr;

use serde_json::{Value, json};
use toolyard_core::plan::{Condition, Input, Path, Sought, Test, Which};

use super::raw::RawCondition;

/// Reads a value; text in double braces refers to what is known later.
pub(super) fn input(value: &Value) -> Result<Input, String> {
    match value {
        Value::String(text) => of_text(text),
        Value::Array(items) if items.iter().any(refers) => {
            Ok(Input::List(items.iter().map(input).collect::<Result<_, _>>()?))
        }
        Value::Object(members) if members.values().any(refers) => {
            let member = |(key, value): (&String, &Value)| Ok((key.clone(), input(value)?));
            Ok(Input::Object(members.iter().map(member).collect::<Result<_, String>>()?))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Ok(Input::Literal(value.clone()))
        }
    }
}

/// Reads a condition.
pub(super) fn condition(raw: &RawCondition) -> Result<Condition, String> {
    let several = |parts: &[RawCondition]| parts.iter().map(condition).collect::<Result<Vec<_>, _>>();
    let tests = [
        raw.present.map(|it| (Test::Present, it)),
        raw.filled.map(|it| (Test::Filled, it)),
        raw.equals.clone().map(|it| (Test::Equals(it), true)),
        raw.contains.clone().map(|it| (Test::Contains(it), true)),
        raw.above.map(|it| (Test::Above(it), true)),
        raw.below.map(|it| (Test::Below(it), true)),
    ];
    let mut tests: Vec<(Test, bool)> = tests.into_iter().flatten().collect();
    let together = [raw.all.is_some(), raw.any.is_some(), raw.not.is_some()];
    let count = together.iter().filter(|it| **it).count();
    let one = "a condition is a `value` with one test (`present`, `filled`, `equals`, `contains`, `above`, \
               `below`), or one of `all`, `any` and `not`";
    match (&raw.value, tests.pop(), count) {
        (Some(value), Some((is, holds)), 0) if tests.is_empty() => {
            let tested = Condition::Value { of: input(value)?, is };
            Ok(if holds { tested } else { Condition::Not(Box::new(tested)) })
        }
        (None, None, 1) => match (&raw.all, &raw.any, &raw.not) {
            (Some(parts), ..) => Ok(Condition::All(several(parts)?)),
            (_, Some(parts), _) => Ok(Condition::Any(several(parts)?)),
            (_, _, Some(inner)) => Ok(Condition::Not(Box::new(condition(inner)?))),
            (None, None, None) => Err(one.to_owned()),
        },
        _ => Err(one.to_owned()),
    }
}

fn refers(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(refers),
        Value::Object(members) => members.values().any(refers),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A text that is one reference keeps the type of its value; otherwise it is put together as text.
fn of_text(text: &str) -> Result<Input, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        if start > 0 {
            parts.push(Input::Literal(json!(&rest[..start])));
        }
        let inside = &rest[start + 2..];
        let end = inside.find("}}").ok_or_else(|| format!("`{{{{` without `}}}}` in `{text}`"))?;
        parts.push(reference(inside[..end].trim())?);
        rest = &inside[end + 2..];
    }
    if !rest.is_empty() || parts.is_empty() {
        parts.push(Input::Literal(json!(rest)));
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Input::Text(parts) })
}

/// Reads what stands between the braces.
fn reference(text: &str) -> Result<Input, String> {
    if let Some(found) = sought(text) {
        return found;
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, path) = (&text[..end], text[end..].strip_prefix('.').unwrap_or(&text[end..]));
    let path = Path::from_str(path).map_err(|err| err.to_string())?;
    match name {
        "" => Err(format!("`{text}` names nothing; write a step, `parameters` or `item`")),
        "item" => Ok(Input::Item(path)),
        "parameters" => match path.0.as_slice() {
            [toolyard_core::plan::Segment::Key(key)] => Ok(Input::Parameter(key.clone())),
            _ => Err(format!("`{text}` must be `parameters.` and the name of one parameter")),
        },
        step => Ok(Input::Output { step: step.to_owned(), path }),
    }
}

/// Reads `first path in search`, with `last` and `all` as well.
fn sought(text: &str) -> Option<Result<Input, String>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [which, parameter, "in", step] = words.as_slice() else {
        let is_tried = words.len() > 1;
        return is_tried
            .then(|| Err(format!("`{text}` is not understood; write it like `first path in search`")));
    };
    let which = match *which {
        "first" => Which::First,
        "last" => Which::Last,
        "all" => Which::All,
        other => return Some(Err(format!("`{other}` is not `first`, `last` or `all`"))),
    };
    let sought = Sought { parameter: (*parameter).to_owned(), schema: json!({}) };
    Some(Ok(Input::Found { step: (*step).to_owned(), sought, which }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r11_braces_refer_to_steps_parameters_and_elements() {
        let read = |value: Value| match input(&value) {
            Ok(input) => input.to_string(),
            Err(why) => format!("wrong: {why}"),
        };
        assert_eq!(read(json!("plain")), r#""plain""#);
        assert_eq!(read(json!("{{search.results[0].path}}")), "search.results[0].path");
        assert_eq!(read(json!("{{ search }}")), "search");
        assert_eq!(read(json!("{{search[0]}}")), "search[0]");
        assert_eq!(read(json!("{{parameters.topic}}")), "parameters.topic");
        assert_eq!(read(json!("{{item}}")), "item");
        assert_eq!(
            read(json!("About {{parameters.topic}}: {{count}}")),
            r#""About " + parameters.topic + ": " + count"#
        );
        assert_eq!(read(json!({"a": ["{{x.y}}", 1], "b": true})), r#"{a: [x.y, 1], b: true}"#);
        assert_eq!(read(json!({"a": [1]})), r#"{"a":[1]}"#);
        assert_eq!(read(json!("{{all path in search}}")), "all path in search");
        for wrong in ["{{", "{{}}", "{{a..b}}", "{{parameters}}", "{{every path in x}}", "{{two words}}"] {
            assert!(read(json!(wrong)).starts_with("wrong: "), "{wrong}");
        }
    }
}
