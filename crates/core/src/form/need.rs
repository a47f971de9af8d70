//! What a tool needs although its schema lets it be left out: its descriptions say so, or one of several must be there.

use serde_json::{Map, Value};

use super::{Field, Form, check};
use crate::tool::vocabulary::{Descriptions, vocabulary};

impl Form {
    /// Returns the fields that are needed beside the ones of these names and must still be found, as far as the
    /// schema does not simply require them. `known` are the values that are known already.
    pub fn lacks(&self, names: &[&str], known: &Map<String, Value>) -> Vec<&Field> {
        let mut there: Vec<&str> = names.to_vec();
        let mut lacking = Vec::new();
        for field in self.fields().iter().filter(|field| field.path.len() == 1) {
            let is_open = !there.contains(&field.parameter());
            // Of fields that stand in for one another the first is enough.
            if is_open && self.is_needed(&field.description, &there, known) {
                there.push(field.parameter());
                lacking.push(field);
            }
        }
        for name in self.alternative(&there) {
            lacking.extend(self.of_parameter(name).find(|field| field.path.len() == 1));
        }
        lacking
    }

    /// Whether a description says that its field is needed: for the choice that another field has, or without another
    /// field.
    fn is_needed(&self, description: &str, names: &[&str], known: &Map<String, Value>) -> bool {
        let description = description.to_lowercase();
        let chosen =
            known.iter().filter(|(name, _)| self.of_parameter(name).any(|it| !it.choices.is_empty()));
        let chosen: Vec<String> =
            chosen.filter_map(|(_, value)| value.as_str()).map(str::to_lowercase).collect();
        let Descriptions { needed, absent, .. } = &vocabulary().descriptions;
        needed.iter().any(|lead| {
            let Some((_, rest)) = description.split_once(lead.as_str()) else { return false };
            let rest = &rest[..rest.find([')', '.', ';', '\n']).unwrap_or(rest.len())];
            let mut words = rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
            if lead != "required unless" && !absent.iter().any(|it| rest.contains(it.as_str())) {
                return words.any(|word| chosen.iter().any(|it| it == word));
            }
            let others: Vec<&str> = words.filter(|word| self.has(word)).collect();
            !others.is_empty() && !others.iter().any(|other| names.contains(other))
        })
    }

    /// Returns what the first alternative of the schema lacks where none of them has all that it requires.
    fn alternative(&self, names: &[&str]) -> Vec<&str> {
        let root = check::resolved(&self.schema, &self.schema);
        let mut wanted: Vec<&str> = Vec::new();
        for word in ["anyOf", "oneOf"] {
            let mut branches = root[word].as_array().into_iter().flatten().map(required);
            let lacks = |branch: &Vec<&str>| branch.iter().any(|name| !names.contains(name));
            if branches.clone().all(|branch| lacks(&branch)) {
                let first = branches.next().unwrap_or_default();
                wanted.extend(first.into_iter().filter(|name| !names.contains(name)));
            }
        }
        wanted
    }
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r9_what_only_a_description_or_one_of_several_alternatives_asks_for_is_needed_too() {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What to convert (required if file not provided)"},
                "file": {"type": "string"},
                "format": {"type": "string", "enum": ["html", "docx"]},
                "target": {"type": "string", "description": "Where to save it (required for pdf, docx formats)"},
            },
        });
        let form = Form::new(("", ""), schema);
        let lacking = |known: Value| {
            let known = known.as_object().cloned().unwrap();
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            form.lacks(&names, &known).iter().map(|it| it.place()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(lacking(json!({})), "text");
        assert_eq!(lacking(json!({"file": "a.md", "format": "html"})), "");
        assert_eq!(lacking(json!({"text": "pdf", "format": "docx"})), "target");
        assert_eq!(lacking(json!({"text": "pdf", "format": "docx", "target": "a.docx"})), "");

        let tags = json!({"type": "array", "items": {"type": "string"}});
        let schema = json!({
            "type": "object", "required": ["note"],
            "properties": {"note": {"type": "string"}, "add": tags, "remove": tags},
            "anyOf": [{"required": ["add"]}, {"required": ["remove"]}],
        });
        let form = Form::new(("", ""), schema);
        let lacking = |names: &[&str]| form.lacks(names, &Map::new()).len();
        assert_eq!((lacking(&["note"]), lacking(&["note", "remove"])), (1, 0));
    }
}
