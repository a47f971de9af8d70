//! Compares a settings file with its schema and reports everything that does not fit.
//!
//! The schema is the one that is shipped to editors, so that both accept the same files.

use serde_json::Value as Schema;

use super::document::{Node, Value, sentence};
use super::mistake::Report;

/// Reports every value in `node` that `schema` does not allow.
pub(super) fn check(root: &Schema, node: &Node, report: &mut Report<'_>) {
    Check { root, report, path: Vec::new() }.node(node, root);
}

struct Check<'s, 'r, 'a> {
    root: &'s Schema,
    report: &'r mut Report<'a>,
    path: Vec<String>,
}

impl<'s> Check<'s, '_, '_> {
    fn node(&mut self, node: &Node, schema: &'s Schema) {
        let alternatives = self.alternatives(schema);
        let fitting: Vec<&Schema> =
            alternatives.iter().copied().filter(|it| has_type(node, it.get("type"))).collect();
        if fitting.is_empty() {
            self.wrong_type(node, &alternatives);
            return;
        }
        match &node.value {
            Value::Text(text) => self.text(node, text, &fitting),
            Value::Number(number) => self.number(node, number.as_f64().unwrap_or(f64::NAN), fitting[0]),
            Value::List(elements) => self.list(elements, fitting[0]),
            Value::Object(_) => self.object(node, fitting[0]),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Follows references and opens choices, down to the schemas that a value can be compared with.
    fn alternatives(&self, schema: &'s Schema) -> Vec<&'s Schema> {
        if let Some(reference) = schema.get("$ref").and_then(Schema::as_str) {
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.map_or_else(Vec::new, |target| self.alternatives(target));
        }
        for choice in ["allOf", "anyOf", "oneOf"] {
            if let Some(choices) = schema.get(choice).and_then(Schema::as_array) {
                return choices.iter().flat_map(|it| self.alternatives(it)).collect();
            }
        }
        vec![schema]
    }

    fn wrong_type(&mut self, node: &Node, alternatives: &[&Schema]) {
        let mut expected: Vec<&str> =
            alternatives.iter().flat_map(|it| types(it.get("type"))).filter(|it| *it != "null").collect();
        expected.dedup();
        let expected: Vec<&str> = expected.into_iter().map(in_words).collect();
        let hint = match &node.value {
            Value::Text(text) if text.parse::<f64>().is_ok() || text == "true" || text == "false" => {
                Some(format!("write {text} without quotes"))
            }
            Value::Number(number) if expected == ["a string"] => Some(format!("write \"{number}\"")),
            Value::Text(_) if expected == ["a list"] => Some("put it in brackets: [\"…\"]".to_owned()),
            Value::Text(_)
            | Value::Number(_)
            | Value::Null
            | Value::Bool(_)
            | Value::List(_)
            | Value::Object(_) => None,
        };
        let message = format!("{} must be {}, not {}", self.here(), expected.join(", "), kind(node));
        self.report.add(node.span.start, message, hint);
    }

    fn text(&mut self, node: &Node, text: &str, schemas: &[&Schema]) {
        // What a variable stands for is not known before it is set.
        if self.report.unset(&node.span).next().is_some() {
            return;
        }
        let words: Vec<&str> = schemas.iter().flat_map(|it| allowed_words(it)).collect();
        if !words.is_empty() && !words.contains(&text) {
            let hint = self
                .report
                .did_you_mean(text, words.iter().copied())
                .unwrap_or_else(|| format!("one of {}", quoted(words.iter().copied())));
            let written = self.report.written(&node.span).trim_matches('"');
            let message = format!("{} cannot be `{}`", self.here(), shortened(written));
            self.report.add(node.span.start, message, Some(hint));
        } else if text.trim().is_empty() && schemas.iter().any(|it| it.get("minLength").is_some()) {
            self.report.add(node.span.start, format!("{} is empty", self.here()), None);
        }
    }

    fn number(&mut self, node: &Node, number: f64, schema: &Schema) {
        let bound = |key: &str| schema.get(key).and_then(Schema::as_f64);
        let (least, most) = (bound("minimum"), bound("maximum"));
        if least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most) {
            return;
        }
        let range = match (least, most) {
            (Some(least), Some(most)) => format!("between {least} and {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => return,
        };
        let about = schema.get("description").and_then(Schema::as_str);
        let hint = about.map(|about| sentence(about.trim_end_matches('.')));
        self.report.add(node.span.start, format!("{} must be {range}, not {number}", self.here()), hint);
    }

    fn list(&mut self, elements: &[Node], schema: &'s Schema) {
        let Some(items) = schema.get("items") else { return };
        for (index, element) in elements.iter().enumerate() {
            self.path.push(index.to_string());
            self.node(element, items);
            self.path.pop();
        }
    }

    fn object(&mut self, node: &Node, schema: &'s Schema) {
        let properties = schema.get("properties").and_then(Schema::as_object);
        for member in node.members() {
            let known = properties.and_then(|properties| properties.get(&member.key));
            let inner = known.or_else(|| schema.get("additionalProperties"));
            match inner {
                Some(Schema::Bool(false)) => {
                    let keys = properties.into_iter().flat_map(|it| it.keys().map(String::as_str));
                    let message = format!("unknown key `{}` {}", shortened(&member.key), self.inside());
                    let hint = self.report.did_you_mean(&member.key, keys);
                    self.report.add(member.key_at, message, hint);
                }
                Some(inner) => {
                    if known.is_none() && member.key.trim().is_empty() {
                        self.report.add(member.key_at, format!("an empty name {}", self.inside()), None);
                    }
                    self.path.push(member.key.clone());
                    self.node(&member.node, inner);
                    self.path.pop();
                }
                None => {}
            }
        }
        let required = schema.get("required").and_then(Schema::as_array).into_iter().flatten();
        for key in required.filter_map(Schema::as_str).filter(|key| node.member(key).is_none()) {
            self.report.add(node.span.start, format!("`{key}` is missing {}", self.inside()), None);
        }
    }

    /// Names the value that is being looked at.
    fn here(&self) -> String {
        match self.path.split_last() {
            None => "the file".to_owned(),
            Some((key, [])) => format!("`{}`", shortened(key)),
            Some((key, above)) => {
                let name = match above.split_last() {
                    Some((list, rest)) if key.parse::<usize>().is_ok() && !rest.is_empty() => {
                        return format!("`{}[{key}]` {}", shortened(list), place(rest));
                    }
                    _ => shortened(key),
                };
                format!("`{name}` {}", place(above))
            }
        }
    }

    /// Names the object whose keys are being looked at.
    fn inside(&self) -> String {
        place(&self.path)
    }
}

/// Says in words where a path of keys leads.
fn place(path: &[String]) -> String {
    let path: Vec<String> = path.iter().map(|key| shortened(key)).collect();
    match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => "at the top level".to_owned(),
        ["mcpServers" | "servers", name] => format!("in server `{name}`"),
        ["mcpServers" | "servers", name, ref rest @ ..] => {
            format!("in `{}` of server `{name}`", rest.join("."))
        }
        ref keys => format!("in `{}`", keys.join(".")),
    }
}

fn has_type(node: &Node, expected: Option<&Schema>) -> bool {
    let names: Vec<&str> = types(expected).collect();
    names.is_empty()
        || names.iter().any(|name| match &node.value {
            Value::Null => *name == "null",
            Value::Bool(_) => *name == "boolean",
            Value::Number(number) => {
                *name == "number" || (*name == "integer" && (number.is_u64() || number.is_i64()))
            }
            Value::Text(_) => *name == "string",
            Value::List(_) => *name == "array",
            Value::Object(_) => *name == "object",
        })
}

fn types(expected: Option<&Schema>) -> impl Iterator<Item = &str> {
    let single = expected.and_then(Schema::as_str);
    let several = expected.and_then(Schema::as_array).into_iter().flatten().filter_map(Schema::as_str);
    single.into_iter().chain(several)
}

fn allowed_words(schema: &Schema) -> impl Iterator<Item = &str> {
    let several = schema.get("enum").and_then(Schema::as_array).into_iter().flatten();
    several.chain(schema.get("const")).filter_map(Schema::as_str)
}

fn in_words(name: &str) -> &'static str {
    match name {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a string",
        "array" => "a list",
        _ => "an object",
    }
}

fn kind(node: &Node) -> &'static str {
    match &node.value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::Text(_) => "a string",
        Value::List(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Lists words for a sentence.
pub(super) fn quoted<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Keeps a stranger's text from filling the screen.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let mut short: String = text.chars().filter(|it| !it.is_control()).take(MOST).collect();
    if text.chars().count() > MOST {
        short.push('…');
    }
    short
}
