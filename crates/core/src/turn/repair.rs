//! A call as a model wrote it becomes one that fits its schema, where there is only one way to read it.

use serde_json::{Map, Value};

use super::lenient::read;
use super::message::RawCall;
use super::offer::Offer;

/// A call that can be made.
#[derive(Debug, PartialEq)]
pub(super) struct Repaired {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
    /// What was mended, in a sentence.
    pub(super) what: Option<String>,
}

/// What models call the arguments of a call.
pub(super) const ARGUMENTS: [&str; 6] = ["arguments", "parameters", "args", "params", "input", "tool_input"];
/// Names of this length and less are not guessed at.
const SHORT: usize = 5;
/// So many tools are named with what they take.
const FEW: usize = 2;
/// Lists and objects inside one another that are mended.
const MAX_DEPTH: usize = 8;
/// Characters of a name that is not known, in what is said about it.
const SHOWN: usize = 80;

/// Mends a call, or says what is wrong in a way that the model can act on.
pub(super) fn repair(call: &RawCall, offers: &[Offer]) -> Result<Repaired, String> {
    let Some(offer) = named(&call.name, offers) else { return Err(unknown(&call.name, offers)) };
    let refused = |what: String| {
        format!("{} was not called: {what}. It takes {}", offer.name, offer.form.signature(&[]))
    };
    let given = parsed(&call.arguments, offer)
        .ok_or_else(|| refused("its arguments are no JSON object".to_owned()))?;
    let arguments = typed(renamed(unwrapped(given.clone(), offer), offer), offer);
    let lacking: Vec<&str> = offer.form.required().filter(|name| !arguments.contains_key(*name)).collect();
    let strange: Vec<&str> =
        arguments.keys().map(String::as_str).filter(|name| !offer.form.has(name)).collect();
    if !lacking.is_empty() {
        return Err(refused(format!("{} missing", listed(&lacking))));
    }
    if offer.form.is_judged() && !offer.form.admits(&arguments) {
        let is_wrong = |(name, value): &(&String, &Value)| {
            !offer.form.admits_part(&Map::from_iter([((*name).clone(), (*value).clone())]))
        };
        let wrong: Vec<&str> = arguments.iter().filter(is_wrong).map(|(name, _)| name.as_str()).collect();
        return Err(refused(match (strange.as_slice(), wrong.as_slice()) {
            ([], []) => "its arguments do not fit the schema".to_owned(),
            ([], wrong) => format!("{} of the wrong type or value", listed(wrong)),
            (strange, _) => format!("there is no parameter {}", quoted(strange)),
        }));
    }
    let is_same = call.name == offer.name && given == arguments;
    let what = (!is_same).then(|| {
        format!("`{}` with {} was read as `{}`", shown(&call.name), shown(&call.arguments), offer.name)
    });
    Ok(Repaired { name: offer.name.clone(), arguments, what })
}

/// Finds the one tool that a name can mean.
pub(super) fn named<'o>(name: &str, offers: &'o [Offer]) -> Option<&'o Offer> {
    let name = name.trim();
    let (whole, own) = (plain(name), plain(tool_of(name)));
    let only = |is_it: &dyn Fn(&Offer) -> bool| {
        let mut fitting = offers.iter().filter(|offer| is_it(offer));
        fitting.next().filter(|_| fitting.next().is_none())
    };
    offers
        .iter()
        .find(|offer| offer.name == name)
        .or_else(|| only(&|offer| plain(&offer.name) == whole))
        .or_else(|| only(&|offer| plain(tool_of(&offer.name)) == own))
        .or_else(|| only(&|offer| whole.len() > SHORT && is_one_slip(&plain(&offer.name), &whole)))
}

/// Returns a name without the server before it.
fn tool_of(name: &str) -> &str {
    let name = name.rsplit_once("__").map_or(name, |(_, tool)| tool);
    name.rsplit_once(['.', '/', ':']).map_or(name, |(_, tool)| tool)
}

/// Returns a name without case and marks.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether one letter is missing, too many or wrong.
fn is_one_slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    let begin = short.iter().zip(long.iter()).take_while(|(a, b)| a == b).count();
    match long.len() - short.len() {
        0 => short[begin..].iter().skip(1).eq(long[begin..].iter().skip(1)),
        1 => short[begin..] == long[begin + 1..],
        _ => false,
    }
}

fn unknown(name: &str, offers: &[Offer]) -> String {
    let there: Vec<&Offer> = offers.iter().filter(|offer| offer.is_shown).collect();
    let described = |offer: &&Offer| match there.len() <= FEW {
        true => format!("{}{}", offer.name, offer.form.signature(&[])),
        false => offer.name.clone(),
    };
    let names: Vec<String> = there.iter().map(described).collect();
    format!("There is no tool `{}`. There are: {}", shown(name), names.join(", "))
}

/// Reads the arguments that were written, as an object.
fn parsed(text: &str, offer: &Offer) -> Option<Map<String, Value>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Map::new());
    }
    let whole =
        |text: &str| read(text).filter(|(_, bytes)| text[*bytes..].trim().is_empty()).map(|(value, _)| value);
    let value = whole(text);
    let value = match &value {
        Some(Value::String(inner)) => whole(inner).filter(Value::is_object).or(value),
        _ => value,
    };
    let mut required = offer.form.required();
    match (value, required.next(), required.next()) {
        (Some(Value::Object(members)), ..) => Some(members),
        (Some(Value::Null), ..) => Some(Map::new()),
        // One plain value can only be for the one that is needed.
        (Some(Value::Array(_)), ..) => None,
        (Some(value), Some(name), None) => Some(Map::from_iter([(name.to_owned(), value)])),
        (None, Some(name), None) if !text.starts_with(['{', '[']) => {
            Some(Map::from_iter([(name.to_owned(), Value::from(text))]))
        }
        _ => None,
    }
}

/// Takes arguments out of an object that a model put around them once more.
fn unwrapped(mut given: Map<String, Value>, offer: &Offer) -> Map<String, Value> {
    let only = given.iter().next().filter(|_| given.len() == 1).map(|(key, _)| key.clone());
    let is_around =
        |key: &String| ARGUMENTS.contains(&key.as_str()) && !offer.form.has(key) && given[key].is_object();
    match only.filter(is_around).and_then(|key| given.remove(&key)) {
        Some(Value::Object(inner)) => inner,
        Some(_) | None => given,
    }
}

/// Gives arguments the names of the schema, where they differ in case and marks alone, or where only one is missing.
fn renamed(given: Map<String, Value>, offer: &Offer) -> Map<String, Value> {
    let parameters: Vec<&str> = offer.form.fields().iter().map(|field| field.parameter()).collect();
    let mut arguments = Map::new();
    let mut strange = Vec::new();
    for (key, value) in given {
        let alike =
            || parameters.iter().find(|name| plain(name) == plain(&key) && !arguments.contains_key(**name));
        match (offer.form.has(&key), alike().copied()) {
            (true, _) => drop(arguments.insert(key, value)),
            (false, Some(name)) => drop(arguments.insert(name.to_owned(), value)),
            (false, None) => strange.push((key, value)),
        }
    }
    let lacking: Vec<&str> = offer.form.required().filter(|name| !arguments.contains_key(*name)).collect();
    if let ([name], [(_, value)]) = (lacking.as_slice(), strange.as_slice()) {
        let mended = offer.form.schema_of(name).map(|schema| mend(value.clone(), schema, 0));
        let alone = mended.map(|value| Map::from_iter([((*name).to_owned(), value)]));
        if let Some(alone) = alone.filter(|alone| offer.form.admits_part(alone)) {
            arguments.extend(alone);
            return arguments;
        }
    }
    arguments.extend(strange);
    arguments
}

/// Whether a value is one that models write for what they do not have.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Gives values the types of the schema. Nothing, where that is no value and not required, is left out.
fn typed(given: Map<String, Value>, offer: &Offer) -> Map<String, Value> {
    let is_required = |name: &str| offer.form.required().any(|it| it == name);
    let mut arguments = Map::new();
    for (name, value) in given {
        let alone = |value: &Value| Map::from_iter([(name.clone(), value.clone())]);
        let value = match offer.form.schema_of(&name) {
            Some(_) if offer.form.admits_part(&alone(&value)) => value,
            Some(_) if is_nothing(&value) && !is_required(&name) => continue,
            Some(schema) => {
                let mended = mend(value.clone(), schema, 0);
                if offer.form.admits_part(&alone(&mended)) { mended } else { value }
            }
            None => value,
        };
        arguments.insert(name, value);
    }
    arguments
}

/// Changes a value to the type that a schema names, where that loses nothing.
fn mend(value: Value, schema: &Value, depth: usize) -> Value {
    let choices = schema["enum"].as_array();
    if let (Some(choices), Some(text)) = (choices, value.as_str()) {
        let mut alike = choices.iter().filter(|it| it.as_str().is_some_and(|it| plain(it) == plain(text)));
        if let (Some(one), None) = (alike.next(), alike.next()) {
            return one.clone();
        }
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let takes = |kind: &str| kinds.contains(&kind);
    match value {
        _ if depth > MAX_DEPTH => value,
        Value::String(text) if !takes("string") => {
            let said: Option<Value> = serde_json::from_str(text.trim()).ok();
            match said {
                Some(Value::Number(number)) if takes("integer") || takes("number") => Value::Number(number),
                Some(Value::Bool(flag)) if takes("boolean") => Value::Bool(flag),
                _ if takes("boolean") && text.eq_ignore_ascii_case("true") => Value::Bool(true),
                _ if takes("boolean") && text.eq_ignore_ascii_case("false") => Value::Bool(false),
                Some(inner @ Value::Array(_)) if takes("array") => mend(inner, schema, depth + 1),
                Some(inner @ Value::Object(_)) if takes("object") => mend(inner, schema, depth + 1),
                // A list that is written with commas may be one text with commas.
                _ if takes("array") && !text.contains(',') => {
                    Value::Array(vec![mend(Value::String(text), &schema["items"], depth + 1)])
                }
                _ => Value::String(text),
            }
        }
        Value::Number(number) if takes("string") && !takes("number") => Value::String(number.to_string()),
        Value::Number(number) if takes("integer") && number.as_f64().is_some_and(|it| it.fract() == 0.0) => {
            number
                .as_f64()
                .filter(|it| it.abs() < 9e15)
                .map_or(Value::Number(number), |it| Value::from(it as i64))
        }
        scalar @ (Value::Number(_) | Value::Bool(_) | Value::Object(_))
            if takes("array") && !takes("object") =>
        {
            Value::Array(vec![mend(scalar, &schema["items"], depth + 1)])
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| mend(item, &schema["items"], depth + 1)).collect())
        }
        Value::Object(members) => {
            let one = |(name, value): (String, Value)| {
                let value = mend(value, &schema["properties"][&name], depth + 1);
                (name, value)
            };
            Value::Object(members.into_iter().map(one).collect())
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ")
}

fn listed(names: &[&str]) -> String {
    format!("{} {}", quoted(names), if names.len() == 1 { "is" } else { "are" })
}

fn shown(text: &str) -> String {
    crate::tool::clean(text).chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offers() -> Vec<Offer> {
        let search = json!({ "name": "notes__search_notes", "description": "Searches", "inputSchema": {
            "type": "object", "additionalProperties": false, "required": ["query"], "properties": {
                "query": { "type": "string" },
                "limit": { "type": "integer" },
                "folder_only": { "type": "boolean" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "order": { "type": "string", "enum": ["newest", "oldest"] },
            },
        } });
        let named =
            |name: &str| json!({ "name": name, "description": "", "inputSchema": { "type": "object" } });
        let others = ["notes__delete_note", "time__now", "clock__now", "files__read_file"];
        let others = others.into_iter().map(|name| Offer::new(named(name), false));
        others.chain([Offer::new(search, true)]).collect()
    }

    fn mended(name: &str, arguments: &str) -> Result<Value, String> {
        let call = RawCall { id: None, name: name.to_owned(), arguments: arguments.to_owned() };
        repair(&call, &offers()).map(|it| json!({ it.name: it.arguments }))
    }

    #[test]
    fn names_are_mended_where_only_one_tool_can_be_meant() {
        let found = |name: &str| named(name, &offers()).map(|offer| offer.name.clone());
        for name in [
            "notes__search_notes",
            "search_notes",
            "Notes.search_notes",
            "notes__searchNotes",
            "notes__serch_notes",
        ] {
            assert_eq!(found(name).as_deref(), Some("notes__search_notes"), "{name}");
        }
        // Two servers have it; a letter too many; another verb; nothing like it.
        for name in ["now", "notes__create_note", "files__load_file", "get_weather", ""] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn values_are_given_the_types_of_the_schema() {
        let call = r#"{"query": 42, "limit": "5", "folder_only": "True", "tags": "home", "order": "Newest"}"#;
        let expected = json!({ "notes__search_notes": {
            "query": "42", "limit": 5, "folder_only": true, "tags": ["home"], "order": "newest",
        } });
        assert_eq!(mended("search_notes", call), Ok(expected));
        let plain = json!({ "notes__search_notes": { "query": "bees" } });
        for arguments in [
            r#"{"query": "bees", "limit": null}"#,
            r#"{"query": "bees", "order": "", "limit": ""}"#,
            r#"{"arguments": {"query": "bees"}}"#,
            r#""{\"query\": \"bees\"}""#,
            "{'Query': 'bees'}",
            r#"{"text": "bees"}"#,
            "\"bees\"",
            "bees",
        ] {
            assert_eq!(mended("search_notes", arguments), Ok(plain.clone()), "{arguments}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_answered_with_the_signature() {
        let takes = "It takes (query, limit?: integer, folder_only?: boolean, tags?: string[], order?: newest|oldest)";
        for (arguments, why) in [
            ("{}", "`query` is missing"),
            (r#"{"query": "a", "limit": "many"}"#, "`limit` is of the wrong type or value"),
            (r#"{"query": "a", "colour": "red"}"#, "there is no parameter `colour`"),
            (r#"{"query": "a", "tags": "home, garden"}"#, "`tags` is of the wrong type or value"),
            ("{\"query\": \"a", "its arguments are no JSON object"),
        ] {
            let refused = mended("search_notes", arguments).expect_err("it is refused");
            assert_eq!(refused, format!("notes__search_notes was not called: {why}. {takes}"));
        }
    }
}
