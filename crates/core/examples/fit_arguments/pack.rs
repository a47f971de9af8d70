//! Writes what the argument reader learns from: requests beside the fields of their tools, and where each value stands.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Field, Form, ReadField, Sources, read_fields, said_in};

use crate::data::{Case, text};
use crate::learn::gold;
use crate::measure::sources;
use crate::named::NamedCall;
use crate::pairs::Pair;

/// Bytes of a request that are looked at.
const MOST_BYTES: usize = 4000;

pub(crate) fn write(path: &Path, cases: &[Case], named: &[NamedCall], pairs: &[Pair<'_>]) {
    let file = std::fs::File::create(path).expect("the file can be written");
    let mut out = GzEncoder::new(file, Compression::best());
    let nothing = Map::new();
    for case in cases.iter().filter(|case| case.text.len() <= MOST_BYTES) {
        let split = if case.is_held_out { "dev" } else { "train" };
        let sources = sources(&case.text, &nothing);
        let line =
            packed((split, case.source), (&case.name, &case.about), (&case.form, &case.gold), &sources);
        writeln!(out, "{line}").expect("the file can be written");
    }
    for call in named {
        let text = call.spoken();
        if text.len() <= MOST_BYTES {
            let split = if call.is_held_out { "dev" } else { "train" };
            let about = (&call.name, &call.about);
            let line = packed((split, "named"), about, (&call.form, &call.gold), &sources(&text, &nothing));
            writeln!(out, "{line}").expect("the file can be written");
        }
    }
    for pair in pairs.iter().filter(|pair| pair.text.len() <= MOST_BYTES) {
        writeln!(out, "{}", paired(pair)).expect("the file can be written");
    }
    out.finish().expect("the file can be written");
}

fn packed(
    (split, source): (&str, &str),
    (tool, about): (&String, &String),
    (form, arguments): (&Form, &Map<String, Value>),
    sources: &Sources<'_>,
) -> Value {
    let fields = form.fields().iter().zip(read_fields(form));
    let labelled = |(field, read): (&Field, ReadField)| {
        let label = label(form, field, gold(field, arguments), (&read.options, sources));
        parameter(field, &read, &label)
    };
    let parameters: Vec<Value> = fields.map(labelled).collect();
    json!({
        "split": split, "source": source, "request": sources.task, "tool": tool, "about": about,
        "parameters": parameters, "fits": true,
    })
}

/// A request beside a tool that can serve it or cannot; what it says of the fields is not known.
fn paired(pair: &Pair<'_>) -> Value {
    let about = (text(&pair.tool["name"]), text(&pair.tool["description"]));
    let form = Form::new(about, pair.tool["input_schema"].clone());
    let fields = form.fields().iter().zip(read_fields(&form));
    let parameters: Vec<Value> = fields.map(|(field, read)| parameter(field, &read, &Value::Null)).collect();
    json!({
        "split": if pair.is_held_out { "dev" } else { "train" }, "source": pair.source, "request": pair.text,
        "tool": about.0, "about": about.1, "parameters": parameters, "fits": pair.fits,
    })
}

fn parameter(field: &Field, read: &ReadField, label: &Value) -> Value {
    json!({
        "name": read.name, "description": read.description, "kind": read.kind, "options": read.options,
        "list": field.is_list, "label": label,
    })
}

/// Says what is right for a field: nothing, options, places in the request, or what only the words mean.
fn label(
    form: &Form,
    field: &Field,
    gold: Option<&Value>,
    (options, sources): (&[String], &Sources<'_>),
) -> Value {
    let Some(gold) = gold else { return json!(0) };
    let items = gold.as_array().filter(|_| field.is_list);
    if !options.is_empty() {
        let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let wanted: Vec<String> =
            items.map_or_else(|| vec![written(gold)], |it| it.iter().map(written).collect());
        let place = |it: &String| options.iter().position(|option| option.eq_ignore_ascii_case(it));
        let places: Option<Vec<usize>> = wanted.iter().map(place).collect();
        return places.map_or(Value::Null, |places| json!({ "options": places }));
    }
    if let Some(items) = items {
        let places: Vec<Vec<[usize; 2]>> = items.iter().map(|it| written_in(sources.task, it)).collect();
        return if places.iter().all(|it| !it.is_empty()) { json!({ "items": places }) } else { Value::Null };
    }
    if gold.is_object() || gold.is_array() {
        return Value::Null;
    }
    let mut places: Vec<[usize; 2]> = said_in(form, field, sources, gold).into_iter().map(pair).collect();
    if places.is_empty() {
        places = written_in(sources.task, gold);
    }
    if places.is_empty() { json!("meant") } else { json!({ "spans": places }) }
}

fn pair(range: Range<usize>) -> [usize; 2] {
    [range.start, range.end]
}

/// Finds a value as it is written, whatever the case of its letters.
fn written_in(text: &str, value: &Value) -> Vec<[usize; 2]> {
    let wanted = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut found: Vec<[usize; 2]> =
        text.match_indices(wanted.as_str()).map(|(at, it)| [at, at + it.len()]).collect();
    if found.is_empty()
        && text.to_lowercase().len() == text.len()
        && wanted.to_lowercase().len() == wanted.len()
    {
        let (text, wanted) = (text.to_lowercase(), wanted.to_lowercase());
        found = text.match_indices(wanted.as_str()).map(|(at, it)| [at, at + it.len()]).collect();
    }
    found.retain(|[start, end]| start < end);
    found
}
