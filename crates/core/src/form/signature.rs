//! A form as one line: what a tool takes, for somebody who is about to call it.

use serde_json::Value;

use super::{Form, check};

/// Parameters that are shown.
const MOST_SHOWN: usize = 8;
/// Parameters of which at least the name is shown.
const MOST_NAMED: usize = 8;
/// Characters after which no further parameter is shown that need not be.
const MOST_CHARS: usize = 260;
/// Choices that are shown of one parameter, and characters of each.
const MOST_CHOICES: usize = 6;
const MOST_CHOICE_CHARS: usize = 24;
/// Objects inside objects are shown this far.
const MAX_DEPTH: usize = 2;
/// Members of an object that are shown.
const MOST_MEMBERS: usize = 6;
/// Characters of a default that are shown.
const MOST_DEFAULT: usize = 20;

impl Form {
    /// Writes what it takes as one line: what is required first, then what is `wanted`, then the rest as far as there is
    /// room. What is left out is counted and named.
    pub fn signature(&self, wanted: &[&str]) -> String {
        self.signed(wanted, MOST_SHOWN)
    }

    /// The same with the names alone of what is neither required nor `wanted`.
    pub fn brief_signature(&self, wanted: &[&str]) -> String {
        self.signed(wanted, 0)
    }

    /// Whether it says nothing of what it takes and forbids nothing.
    pub fn is_unlisted(&self) -> bool {
        let root = check::resolved(&self.schema, &self.schema);
        let lists = ["properties", "anyOf", "oneOf", "allOf"].iter().any(|key| root.get(key).is_some());
        !lists && root.get("additionalProperties") != Some(&Value::Bool(false))
    }

    fn signed(&self, wanted: &[&str], most: usize) -> String {
        let root = check::resolved(&self.schema, &self.schema);
        let Some(properties) = root.get("properties").and_then(Value::as_object) else {
            return if self.is_unlisted() { "(…)".to_owned() } else { "()".to_owned() };
        };
        let required: Vec<&str> = self.required().collect();
        let rank = |name: &str| match (required.contains(&name), wanted.contains(&name)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let mut names: Vec<&String> = properties.keys().collect();
        names.sort_by_key(|name| rank(name));
        let (mut shown, mut hidden): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        for name in names {
            let is_needed = rank(name) < 2;
            let chars: usize = shown.iter().map(|it| it.chars().count()).sum();
            if !is_needed && (shown.len() >= most || chars >= MOST_CHARS) {
                hidden.push(name);
                continue;
            }
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            shown.push(format!("{name}{mark}{}", self.typed(&properties[name])));
        }
        shown.extend(left_out(hidden.iter().copied()));
        format!("({})", shown.join(", "))
    }

    /// Writes the type of a parameter behind a colon, with its default; plain text needs no type.
    fn typed(&self, property: &Value) -> String {
        let kind = self.kind(property, MAX_DEPTH);
        let default = property.get("default").filter(|it| !it.is_null() && !it.is_array() && !it.is_object());
        let default = default.map(ToString::to_string).filter(|it| it.chars().count() <= MOST_DEFAULT);
        let default = default.map(|it| format!(" = {it}")).unwrap_or_default();
        if kind == "string" { default } else { format!(": {kind}{default}") }
    }

    fn kind(&self, property: &Value, depth: usize) -> String {
        let schema = check::resolved(&self.schema, property);
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return choices_of(choices);
        }
        let several = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array());
        if let Some(several) = several {
            let mut kinds: Vec<String> = several.iter().map(|it| self.kind(it, depth)).collect();
            kinds.retain(|it| it != "null");
            kinds.dedup();
            return kinds.join(" or ");
        }
        let named = match schema.get("type") {
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).find(|it| *it != "null").unwrap_or("any")
            }
            _ if schema.get("properties").is_some() => "object",
            _ => "any",
        };
        match named {
            "array" => {
                let item = schema.get("items").map_or_else(|| "any".to_owned(), |it| self.kind(it, depth));
                format!("{item}[]")
            }
            "object" if depth > 0 => self.members(schema, depth - 1),
            other => other.to_owned(),
        }
    }

    fn members(&self, schema: &Value, depth: usize) -> String {
        let Some(properties) =
            schema.get("properties").and_then(Value::as_object).filter(|it| !it.is_empty())
        else {
            return "object".to_owned();
        };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let member = |(name, property): (&String, &Value)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            match self.kind(property, depth).as_str() {
                "string" => format!("{name}{mark}"),
                kind => format!("{name}{mark}: {kind}"),
            }
        };
        let is_required = |name: &str| required.contains(&name);
        let mut members: Vec<(&String, &Value)> = properties.iter().collect();
        members.sort_by_key(|(name, _)| !is_required(name));
        let (first, rest) = members.split_at(MOST_MEMBERS.min(members.len()));
        let mut shown: Vec<String> = first.iter().copied().map(member).collect();
        shown.extend(left_out(rest.iter().map(|(name, _)| name.as_str())));
        format!("{{{}}}", shown.join(", "))
    }
}

/// Counts and names what is not shown.
fn left_out<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
    let count = names.len();
    let named = names.take(MOST_NAMED).collect::<Vec<_>>().join(" ");
    let end = if count > MOST_NAMED { " …" } else { "" };
    (count > 0).then(|| format!("+{count} more: {named}{end}"))
}

fn choices_of(choices: &[Value]) -> String {
    let written = |choice: &Value| {
        let text = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
        text.chars().take(MOST_CHOICE_CHARS).collect::<String>()
    };
    let mut shown: Vec<String> =
        choices.iter().filter(|it| !it.is_null()).take(MOST_CHOICES).map(written).collect();
    let more = choices.len().saturating_sub(MOST_CHOICES);
    shown.extend((more > 0).then(|| format!("+{more}")));
    shown.join("|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signature(schema: Value, wanted: &[&str]) -> String {
        Form::new(("t", ""), schema).signature(wanted)
    }

    #[test]
    fn r1_a_signature_says_types_choices_shapes_and_defaults() {
        let schema = json!({
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "default": 10},
                "path": {"type": "string"},
                "mode": {"enum": ["add", "remove"]},
                "items": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"content": {"type": "string"}, "due": {"type": "string"}, "priority": {"type": "integer"}},
                    "required": ["content"],
                }},
                "at": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            },
            "required": ["path", "items"],
        });
        assert_eq!(
            signature(schema, &["at"]),
            "(path, items: {content, due?, priority?: integer}[], at?: number, limit?: integer = 10, mode?: add|remove)"
        );
        let closed = json!({"type": "object", "additionalProperties": false});
        assert_eq!(signature(closed, &[]), "()");
        assert_eq!(signature(json!({"type": "object", "properties": {}}), &[]), "()");
        assert_eq!(signature(json!({}), &[]), "(…)");
    }

    #[test]
    fn r1_what_a_signature_leaves_out_is_counted_and_what_is_wanted_stays() {
        let names: Vec<String> = (0..20).map(|at| format!("field{at}")).collect();
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
        let line = signature(json!({"type": "object", "properties": properties}), &["field19"]);
        assert!(
            line.starts_with("(field19?, field0?")
                && line.ends_with("field14 …)")
                && line.contains("+12 more: field7 "),
            "{line}"
        );
        let properties = json!({"id": {}, "mode": {"enum": ["a", "b"]}, "x": {"type": "integer"}, "y": {}});
        let form = Form::new(("t", ""), json!({"properties": properties, "required": ["id"]}));
        assert_eq!(form.brief_signature(&["mode"]), "(id: any, mode?: a|b, +2 more: x y)");
        let many: Vec<Value> = (0..9).map(|at| json!(format!("choice {at}"))).collect();
        let line = signature(json!({"properties": {"kind": {"enum": many}}}), &[]);
        assert!(line.ends_with("choice 5|+3)"), "{line}");
    }
}
