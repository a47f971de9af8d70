//! Whether a value fits a schema: JSON Schema 2020-12 and draft-07, without what reaches outside the document.
//!
//! What cannot be judged here does not fit: nothing is claimed to be valid that was not checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::format::is_formatted;

/// Steps from one reference to the next.
const MAX_REFERENCES: usize = 16;
/// Schemas inside schemas.
const MAX_DEPTH: usize = 64;
/// Patterns that are kept compiled. Few schemas have one, and a form is checked once for each value that it could have.
const MAX_COMPILED: usize = 32;
/// Bytes that a compiled pattern takes; schemas are written by strangers.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Words of a schema that change what fits and are not judged here.
const UNJUDGED: [&str; 5] =
    ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef", "dependencies"];

/// Whether `value` fits `schema`, which is part of `root`.
pub(super) fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    Check { root }.fits(schema, value, MAX_DEPTH)
}

/// Whether everything in a schema can be judged here; where it cannot, what does not fit may be right all the same.
pub(super) fn is_judged(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(name, member)| match (name.as_str(), member) {
            ("properties" | "$defs" | "definitions", Value::Object(each)) => each.values().all(is_judged),
            ("const" | "enum" | "default" | "examples", _) => true,
            _ => !UNJUDGED.contains(&name.as_str()) && is_judged(member),
        }),
        Value::Array(each) => each.iter().all(is_judged),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Follows references inside the document; what leads nowhere stays as it is.
pub(super) fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut at = schema;
    for _ in 0..MAX_REFERENCES {
        match at.get("$ref").and_then(Value::as_str).and_then(|target| referred(root, target)) {
            Some(next) => at = next,
            None => return at,
        }
    }
    at
}

fn referred<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    match target.strip_prefix('#')? {
        "" => Some(root),
        pointer => root.pointer(&pointer.replace("%24", "$").replace("%20", " ")),
    }
}

struct Check<'a> {
    root: &'a Value,
}

impl Check<'_> {
    fn fits(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let schema = match schema {
            Value::Bool(anything) => return *anything,
            Value::Object(schema) => schema,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => return false,
        };
        if UNJUDGED.iter().any(|word| schema.contains_key(*word)) {
            return false;
        }
        self.follows(schema, value, depth)
            && is_of_type(schema, value)
            && is_listed(schema, value)
            && self.combines(schema, value, depth)
            && match value {
                Value::String(text) => fits_text(schema, text),
                Value::Number(number) => fits_number(schema, number),
                Value::Array(items) => self.fits_list(schema, items, depth),
                Value::Object(members) => self.fits_object(schema, members, depth),
                Value::Null | Value::Bool(_) => true,
            }
    }

    fn follows(&self, schema: &Map<String, Value>, value: &Value, depth: usize) -> bool {
        match schema.get("$ref") {
            None => true,
            Some(target) => target
                .as_str()
                .and_then(|target| referred(self.root, target))
                .is_some_and(|target| self.fits(target, value, depth)),
        }
    }

    fn combines(&self, schema: &Map<String, Value>, value: &Value, depth: usize) -> bool {
        let fits = |it: &Value| self.fits(it, value, depth);
        let all = |key: &str, is_so: &dyn Fn(&[Value]) -> bool| {
            schema.get(key).is_none_or(|it| it.as_array().is_some_and(|it| is_so(it)))
        };
        let chosen = |branch: &str| schema.get(branch).is_none_or(fits);
        all("allOf", &|each| each.iter().all(fits))
            && all("anyOf", &|each| each.iter().any(fits))
            && all("oneOf", &|each| each.iter().filter(|it| fits(it)).count() == 1)
            && schema.get("not").is_none_or(|not| !fits(not))
            && schema
                .get("if")
                .is_none_or(|condition| if fits(condition) { chosen("then") } else { chosen("else") })
    }

    fn fits_list(&self, schema: &Map<String, Value>, items: &[Value], depth: usize) -> bool {
        let fits = |schema: &Value, item: &Value| self.fits(schema, item, depth);
        let own = |key: &str| schema.get(key);
        // Draft-07 lists the schemas of the first items in `items`, 2020-12 in `prefixItems`.
        let (first, rest) = match (own("prefixItems"), own("items")) {
            (Some(first), rest) => (first.as_array(), rest),
            (None, Some(Value::Array(first))) => (Some(first), own("additionalItems")),
            (None, rest) => (None, rest),
        };
        let first: &[Value] = first.map_or(&[], Vec::as_slice);
        let is_unique = |items: &[Value]| items.iter().enumerate().all(|(at, it)| !items[..at].contains(it));
        within(schema, ("minItems", "maxItems"), items.len())
            && items.iter().zip(first).all(|(item, schema)| fits(schema, item))
            && rest.is_none_or(|rest| items.iter().skip(first.len()).all(|item| fits(rest, item)))
            && (own("uniqueItems") != Some(&Value::Bool(true)) || is_unique(items))
            && own("contains").is_none_or(|wanted| {
                let found = items.iter().filter(|item| fits(wanted, item)).count();
                let least = own("minContains").and_then(Value::as_u64).unwrap_or(1);
                let most = own("maxContains").and_then(Value::as_u64).unwrap_or(u64::MAX);
                (least..=most).contains(&(found as u64))
            })
    }

    fn fits_object(&self, schema: &Map<String, Value>, members: &Map<String, Value>, depth: usize) -> bool {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        let patterns: Option<Vec<(Arc<Regex>, &Value)>> = match schema.get("patternProperties") {
            None => Some(Vec::new()),
            Some(Value::Object(each)) => {
                each.iter().map(|(pattern, schema)| Some((compiled(pattern)?, schema))).collect()
            }
            Some(_) => None,
        };
        let Some(patterns) = patterns else { return false };
        let dependent = schema.get("dependentRequired").and_then(Value::as_object);
        let fits_member = |(name, value): (&String, &Value)| {
            let own = properties.and_then(|it| it.get(name));
            let mut is_known = own.is_some();
            let mut is_right = own.is_none_or(|schema| self.fits(schema, value, depth));
            for (_, schema) in patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                is_known = true;
                is_right &= self.fits(schema, value, depth);
            }
            let others = schema.get("additionalProperties").filter(|_| !is_known);
            is_right && others.is_none_or(|others| self.fits(others, value, depth))
        };
        required.all(|name| members.contains_key(name))
            && within(schema, ("minProperties", "maxProperties"), members.len())
            && members.iter().all(fits_member)
            && schema.get("propertyNames").is_none_or(|names| {
                members.keys().all(|name| self.fits(names, &Value::String(name.clone()), depth))
            })
            && schema.get("dependentSchemas").is_none()
            && dependent.is_none_or(|dependent| {
                dependent.iter().filter(|(name, _)| members.contains_key(*name)).all(|(_, needed)| {
                    let mut needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
                    needed.all(|name| members.contains_key(name))
                })
            })
    }
}

/// Whether `value` is of one of the types that `schema` names.
pub fn is_of_type(schema: &Map<String, Value>, value: &Value) -> bool {
    let is = |name: &str| match (name, value) {
        ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_))
        | ("null", Value::Null)
        | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => number.as_f64().is_some_and(|it| it.fract() == 0.0),
        _ => false,
    };
    match schema.get("type") {
        None => true,
        Some(Value::String(name)) => is(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        Some(_) => false,
    }
}

fn is_listed(schema: &Map<String, Value>, value: &Value) -> bool {
    let is_allowed =
        |allowed: &Value| allowed.as_array().is_some_and(|it| it.iter().any(|it| same(it, value)));
    schema.get("enum").is_none_or(is_allowed) && schema.get("const").is_none_or(|it| same(it, value))
}

/// Compares as JSON Schema does: `1` and `1.0` are one number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

fn within(schema: &Map<String, Value>, (least, most): (&str, &str), count: usize) -> bool {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    bound(least).is_none_or(|least| count as f64 >= least)
        && bound(most).is_none_or(|most| count as f64 <= most)
}

fn fits_text(schema: &Map<String, Value>, text: &str) -> bool {
    within(schema, ("minLength", "maxLength"), text.chars().count())
        && schema.get("pattern").is_none_or(|pattern| {
            pattern.as_str().and_then(compiled).is_some_and(|pattern| pattern.is_match(text))
        })
        && schema.get("format").and_then(Value::as_str).is_none_or(|format| is_formatted(format, text))
}

fn fits_number(schema: &Map<String, Value>, number: &serde_json::Number) -> bool {
    let Some(number) = number.as_f64() else { return false };
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    // Draft-04 had flags here, and some schemas still do.
    let is_strict = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    bound("minimum").is_none_or(|it| number > it || (number == it && !is_strict("exclusiveMinimum")))
        && bound("maximum").is_none_or(|it| number < it || (number == it && !is_strict("exclusiveMaximum")))
        && bound("exclusiveMinimum").is_none_or(|it| number > it)
        && bound("exclusiveMaximum").is_none_or(|it| number < it)
        && bound("multipleOf").is_none_or(|step| {
            let times = number / step;
            step > 0.0 && (times - times.round()).abs() < 1e-9
        })
}

/// Compiles a pattern, or takes it from those that were compiled before.
fn compiled(pattern: &str) -> Option<Arc<Regex>> {
    static COMPILED: Mutex<BTreeMap<String, Option<Arc<Regex>>>> = Mutex::new(BTreeMap::new());
    if let Some(known) = COMPILED.lock().get(pattern) {
        return known.clone();
    }
    let made = RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().ok().map(Arc::new);
    let mut known = COMPILED.lock();
    if known.len() >= MAX_COMPILED {
        known.clear();
    }
    known.insert(pattern.to_owned(), made.clone());
    made
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_COMPILED, compiled, fits};

    #[test]
    fn a_pattern_is_compiled_once_until_there_are_too_many() {
        let first = compiled("^once$").unwrap();
        assert!(std::sync::Arc::ptr_eq(&first, &compiled("^once$").unwrap()));
        for at in 0..MAX_COMPILED {
            assert!(compiled(&format!("^{at}$")).unwrap().is_match(&at.to_string()));
        }
        assert!(!std::sync::Arc::ptr_eq(&first, &compiled("^once$").unwrap()));
    }

    #[test]
    fn nothing_fits_a_pattern_that_is_broken_or_too_large() {
        for pattern in ["(", "((a{1000}){1000}){1000}"] {
            let schema = json!({ "type": "string", "pattern": pattern });
            assert!(!fits(&schema, &schema, &json!("a")), "{pattern}");
        }
        let schema = json!({ "pattern": "^.{1,2000}$" });
        assert!(fits(&schema, &schema, &json!("a")));
    }
}
