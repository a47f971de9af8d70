//! Calls that stand in the text of a reply: JSON in a fence, in tags or bare, or the syntax of a function call.
//!
//! JSON in an answer is a call only where it names a tool that is offered, or where it stands by itself.

use std::ops::Range;

use serde_json::{Map, Value};

use super::lenient::{keyword_arguments, read};
use super::message::RawCall;
use super::offer::Offer;
use super::repair::{ARGUMENTS, named};

/// What models call the name of a tool.
const NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];
/// What models write around a call.
const TAGS: [(&str, &str); 4] = [
    ("<tool_call>", "</tool_call>"),
    ("<function_call>", "</function_call>"),
    ("```json", "```"),
    ("```", "```"),
];
/// Marks of chat templates that are no part of an answer.
const TEMPLATE: [&str; 6] =
    ["<tool_response>", "</tool_response>", "<tools>", "</tools>", "<tool_call>", "</tool_call>"];
/// Calls of one reply that are read.
const MOST_CALLS: usize = 16;

/// Parts a reply into what it says before its calls, and the calls. What follows a call was written without its result,
/// so it is not kept.
pub(super) fn calls(text: &str, offers: &[Offer]) -> (String, Vec<RawCall>) {
    let found = in_json(text, offers);
    let found = if found.is_empty() { in_code(text, offers) } else { found };
    let Some((first, _)) = found.first() else { return (text.to_owned(), Vec::new()) };
    let before = without_opening(&text[..first.start]).trim().to_owned();
    (before, found.into_iter().map(|(_, call)| call).take(MOST_CALLS).collect())
}

fn in_json(text: &str, offers: &[Offer]) -> Vec<(Range<usize>, RawCall)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(step) = text[at..].find(['{', '[']) {
        let start = at + step;
        let Some((value, bytes)) = read(&text[start..]) else {
            at = start + 1;
            continue;
        };
        let whole = start..start + bytes;
        let is_alone = is_bare(text, &whole) || is_wrapped(text, &whole);
        let calls = calls_of(&value, offers, is_alone);
        at = if calls.is_empty() { start + 1 } else { whole.end };
        found.extend(calls.into_iter().map(|call| (whole.clone(), call)));
    }
    found
}

/// Reads what may be one call or several. One of a tool that nobody offers is a call only if there is nothing else.
fn calls_of(value: &Value, offers: &[Offer], is_alone: bool) -> Vec<RawCall> {
    let listed = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => match members.get("tool_calls") {
            Some(Value::Array(items)) => items.iter().collect(),
            Some(_) | None => vec![value],
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let is_meant = |call: &RawCall| is_alone || named(&call.name, offers).is_some();
    let calls: Option<Vec<RawCall>> =
        listed.into_iter().map(|it| call_of(it, offers).filter(&is_meant)).collect();
    calls.unwrap_or_default()
}

fn call_of(value: &Value, offers: &[Offer]) -> Option<RawCall> {
    let members = value.as_object()?;
    if let Some(inner @ Value::Object(_)) = members.get("function") {
        return call_of(inner, offers);
    }
    let name = NAMES.iter().find_map(|key| members.get(*key)?.as_str());
    let given = ARGUMENTS.iter().find_map(|key| members.get(*key));
    match (name, given, members.iter().next()) {
        (Some(name), Some(given), _) => Some(raw(name, given)),
        // Nothing but a name is a call of a tool that can do without arguments.
        (Some(name), None, _) => {
            let offer = named(name, offers)?;
            let others = members.iter().filter(|(key, _)| !NAMES.contains(&key.as_str()) && *key != "type");
            let others: Map<String, Value> = others.map(|(key, it)| (key.clone(), it.clone())).collect();
            let is_given = others.keys().all(|key| offer.form.has(key));
            is_given.then(|| raw(name, &Value::Object(others)))
        }
        (None, _, Some((name, given @ Value::Object(_)))) if members.len() == 1 => {
            offers.iter().any(|offer| offer.name == *name).then(|| raw(name, given))
        }
        (None, ..) => None,
    }
}

fn raw(name: &str, given: &Value) -> RawCall {
    let arguments = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
    RawCall { id: None, name: name.to_owned(), arguments }
}

/// Finds `server__tool(key="value")`, with names exactly as they are offered.
fn in_code(text: &str, offers: &[Offer]) -> Vec<(Range<usize>, RawCall)> {
    let mut found = Vec::new();
    for offer in offers {
        for (start, _) in text.match_indices(&format!("{}(", offer.name)) {
            let is_inside =
                text[..start].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
            let open = start + offer.name.len() + 1;
            let Some((arguments, bytes)) = keyword_arguments(&text[open..]).filter(|_| !is_inside) else {
                continue;
            };
            let (name, arguments) = (offer.name.clone(), Value::Object(arguments).to_string());
            found.push((start..open + bytes, RawCall { id: None, name, arguments }));
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    // Where a reply explains in prose how a tool is called, it does not call it.
    let is_code = bare(text).len() == found.iter().map(|(range, _)| range.len()).sum::<usize>();
    if is_code || text.contains("```") { found } else { Vec::new() }
}

/// Takes away what a call is wrapped in.
fn bare(text: &str) -> &str {
    let mut bare = text.trim();
    while let Some(inner) =
        TAGS.iter().find_map(|(open, close)| bare.strip_prefix(open)?.strip_suffix(close).map(str::trim))
    {
        bare = inner;
    }
    bare
}

/// Whether there is nothing else but what a call is wrapped in, and brackets too many.
fn is_bare(text: &str, whole: &Range<usize>) -> bool {
    let brackets = ['{', '}', '[', ']'];
    let inner = bare(text).trim_matches(brackets);
    inner.trim() == text[whole.clone()].trim_matches(brackets).trim()
}

/// Takes away what chat templates write around results and tools, and what a small model writes after them.
pub(super) fn without_template(text: &str) -> String {
    TEMPLATE.iter().fold(text.to_owned(), |text, tag| text.replace(tag, ""))
}

/// Whether something stands in a fence or in tags of its own.
fn is_wrapped(text: &str, whole: &Range<usize>) -> bool {
    let (before, after) = (text[..whole.start].trim_end(), text[whole.end..].trim_start());
    TAGS.iter().any(|(open, close)| before.ends_with(open) && after.starts_with(close))
}

/// Takes the opening of a wrapping away from what stands before a call.
fn without_opening(before: &str) -> &str {
    let mut kept = before.trim_end();
    while let Some(shorter) = TAGS.iter().find_map(|(open, _)| kept.strip_suffix(open)) {
        kept = shorter.trim_end();
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offers() -> Vec<Offer> {
        let definition = |name: &str| {
            json!({ "name": name, "description": "Tells", "inputSchema": {
                "type": "object", "properties": { "zone": { "type": "string" } },
            } })
        };
        vec![Offer::new(definition("time__current_time"), true), Offer::new(definition("notes__list"), true)]
    }

    fn read(text: &str) -> (String, Vec<String>) {
        let (before, calls) = calls(text, &offers());
        (before, calls.into_iter().map(|it| format!("{} {}", it.name, it.arguments)).collect())
    }

    #[test]
    fn a_call_in_a_fence_in_tags_or_bare_is_a_call() {
        let call = r#"{"name": "time__current_time", "arguments": {"zone": "Tokyo"}}"#;
        let expected = vec![r#"time__current_time {"zone":"Tokyo"}"#.to_owned()];
        for text in [
            call.to_owned(),
            format!("```json\n{call}\n```"),
            format!("```\n{call}\n```"),
            format!("<tool_call>\n{call}\n</tool_call>"),
            format!("{{\"tool_calls\": [{call}]}}"),
            format!("[{call}]"),
            format!("{{\"type\": \"function\", \"function\": {call}}}"),
            "{'tool': 'time__current_time', 'parameters': {'zone': 'Tokyo'}}".to_owned(),
            "{\"time__current_time\": {\"zone\": \"Tokyo\"}}".to_owned(),
            "{\"name\": \"time__current_time\", \"zone\": \"Tokyo\"}".to_owned(),
            "{\"name\": \"current_time\", \"arguments\": \"{\\\"zone\\\":\\\"Tokyo\\\"}\"}".to_owned(),
            "```python\ntime__current_time(zone=\"Tokyo\")\n```".to_owned(),
        ] {
            let (before, calls) = read(&text);
            let calls: Vec<String> = calls
                .into_iter()
                .map(|it| {
                    it.replace("current_time {", "time__current_time {").replace("time__time__", "time__")
                })
                .collect();
            assert_eq!(
                (before.trim_matches(|c| "`python ".contains(c)), calls),
                ("", expected.clone()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_stands_before_a_call_is_kept_and_what_follows_is_made_up() {
        let text =
            "Let me look.\n```json\n{\"name\": \"notes__list\", \"arguments\": {}}\n```\nYou have 3 notes.";
        assert_eq!(read(text), ("Let me look.".to_owned(), vec!["notes__list {}".to_owned()]));
    }

    #[test]
    fn several_calls_of_one_reply_stay_in_order() {
        let text = "{\"name\": \"notes__list\", \"arguments\": {}}\n{\"name\": \"time__current_time\", \"arguments\": {}}";
        assert_eq!(read(text).1, ["notes__list {}", "time__current_time {}"]);
    }

    #[test]
    fn json_that_is_an_answer_stays_one() {
        for text in [
            r#"Here it is: {"name": "Anna", "arguments": {"for": 1}}"#,
            r#"{"city": "Tokyo"}"#,
            "Use time__current_time(zone=\"Tokyo\") to see it.",
            "Brackets [1] and {braces} stay.",
            "",
        ] {
            assert_eq!(read(text), (text.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn a_reply_that_is_nothing_but_a_call_of_an_unknown_tool_is_a_call() {
        let call = r#"{"name": "get_weather", "arguments": {}}"#;
        assert_eq!(read(call).1, ["get_weather {}"]);
        assert_eq!(read(&format!("{{{call}}}}}}}")).1, ["get_weather {}"]);
        assert_eq!(read(&format!("I look.\n```json\n{call}\n```\nDone.")).1, ["get_weather {}"]);
    }
}
