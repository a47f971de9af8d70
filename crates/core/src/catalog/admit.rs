//! One definition, checked and read.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Bounds;
use super::problem::{Problem, Severity, shown};
use crate::tool::json::{Members, items, nesting, read_through, text};
use crate::tool::{AppLink, Effect, Hints, Parameter, Tool, ToolId, Unveiled, clean, unveiled};

/// Reads one definition; what is wrong with it joins `problems`.
pub(super) fn admit(
    server: &Arc<str>,
    definition: Box<RawValue>,
    bounds: Bounds,
    problems: &mut Vec<Problem>,
) -> Option<(Tool, Hints)> {
    let mut notes = Vec::new();
    let read = read(&definition, bounds, &mut notes);
    match read.and_then(|read| uncover(&definition, read, &mut notes)) {
        Ok((Read { name, title, description, hints, parameters }, seen)) => {
            let altered = |note| Problem::new(server, Some(&name), Severity::Altered, note);
            problems.extend(notes.into_iter().map(altered));
            let tool = Tool {
                id: ToolId::new(server, &name),
                server: Arc::clone(server),
                effect: Effect::infer(&name, hints),
                name,
                title,
                description,
                parameters,
                app: AppLink::of(seen.as_deref().unwrap_or(&definition)),
                own: seen.is_some().then(|| definition.clone()),
                definition: seen.unwrap_or(definition),
            };
            Some((tool, hints))
        }
        Err(Refusal { name, message }) => {
            problems.push(Problem::new(server, name.as_deref(), Severity::Rejected, message));
            None
        }
    }
}

/// Removes what the definition hides; with the definition that is shown instead, where that differs.
fn uncover(
    definition: &RawValue,
    read: Read,
    notes: &mut Vec<String>,
) -> Result<(Read, Option<Box<RawValue>>), Refusal> {
    let seen = unveiled(definition)
        .map_err(|err| Refusal { name: Some(read.name.clone()), message: err.to_string() })?;
    let Some(Unveiled { definition, notes: removed }) = seen else { return Ok((read, None)) };
    notes.extend(removed);
    let schema = Members::of(&definition).and_then(|members| members.get("inputSchema"));
    let parameters = schema.map(Parameter::extract).unwrap_or_default();
    Ok((Read { parameters, ..read }, Some(definition)))
}

struct Read {
    name: String,
    title: Option<String>,
    description: String,
    hints: Hints,
    parameters: Vec<Parameter>,
}

struct Refusal {
    name: Option<String>,
    message: String,
}

#[derive(Default, Deserialize)]
struct Annotations {
    title: Option<String>,
    #[serde(flatten)]
    hints: Hints,
}

fn read(definition: &RawValue, bounds: Bounds, notes: &mut Vec<String>) -> Result<Read, Refusal> {
    let nameless = |message: &str| Refusal { name: None, message: message.to_owned() };
    let members = Members::of(definition).ok_or_else(|| nameless("the definition is not an object"))?;
    let name = members.get("name").ok_or_else(|| nameless("a tool has no name"))?;
    let name = text(name).ok_or_else(|| nameless("a tool's name is not a string"))?;
    if name.trim().is_empty() {
        return Err(nameless("a tool's name is empty"));
    }

    let refuse = |message: String| Refusal { name: Some(name.clone()), message };
    check_name(&name, bounds).map_err(refuse)?;
    check_form(definition, &members, bounds).map_err(refuse)?;
    let annotations = match members.get("annotations") {
        Some(value) => serde_json::from_str(value.get())
            .map_err(|err| refuse(format!("its `annotations` cannot be read: {}", reason(&err))))?,
        None => Annotations::default(),
    };
    let parameters = read_schema(&members, notes).map_err(refuse)?;

    let title = read_text("title", &members, bounds.name_chars, notes).filter(|title| !title.is_empty());
    let title = title.or_else(|| Some(keep("title", &annotations.title?, bounds.name_chars, notes)));
    let description = read_text("description", &members, bounds.description_chars, notes).unwrap_or_default();
    Ok(Read { name, title, description, hints: annotations.hints, parameters })
}

fn check_name(name: &str, bounds: Bounds) -> Result<(), String> {
    if name.chars().nth(bounds.name_chars).is_some() {
        return Err(format!("the name is longer than {} characters", bounds.name_chars));
    }
    if name.contains(char::is_control) || clean(name) != name {
        return Err("the name has control or invisible characters".to_owned());
    }
    Ok(())
}

/// Checks what a strict client would reject, because it would reject the whole listing with it.
fn check_form(definition: &RawValue, members: &Members<'_>, bounds: Bounds) -> Result<(), String> {
    let deep = nesting(definition);
    if deep > bounds.nesting {
        return Err(format!("the definition is nested {deep} levels deep; {} are allowed", bounds.nesting));
    }
    read_through(definition).map_err(|err| format!("the definition cannot be read: {}", reason(&err)))?;
    let mut keys: Vec<&str> = members.0.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
        // Readers differ in which of the two counts, so what we check may not be what a client sees.
        return Err(format!("the definition has `{}` twice", shown(twice[0])));
    }
    for key in ["outputSchema", "execution", "_meta"] {
        if members.get(key).is_some_and(|value| !value.get().starts_with('{')) {
            return Err(format!("its `{key}` is not an object"));
        }
    }
    if members.get("icons").is_some_and(|value| items(value, 0).is_none()) {
        return Err("its `icons` is not an array".to_owned());
    }
    Ok(())
}

/// The error without its place in the text, which only the server's author could look up.
fn reason(err: &serde_json::Error) -> String {
    let message = err.to_string();
    shown(message.rsplit_once(" at line ").map_or(&*message, |(reason, _)| reason))
}

fn read_schema(members: &Members<'_>, notes: &mut Vec<String>) -> Result<Vec<Parameter>, String> {
    let Some(schema) = members.get("inputSchema") else {
        notes.push("it has no `inputSchema`; taken as a tool without parameters".to_owned());
        return Ok(Vec::new());
    };
    let Some(level) = Members::of(schema) else {
        return Err("its `inputSchema` is not an object".to_owned());
    };
    match level.get("type").map(text) {
        Some(Some(kind)) if kind == "object" => {}
        Some(_) => return Err("its `inputSchema` is not of type `object`".to_owned()),
        None => notes.push("its `inputSchema` has no type; taken as `object`".to_owned()),
    }
    Ok(Parameter::extract(schema))
}

/// Reads a text for people, cleaned and cut; `None` if there is none.
fn read_text(key: &str, members: &Members<'_>, limit: usize, notes: &mut Vec<String>) -> Option<String> {
    let value = members.get(key)?;
    let Some(written) = text(value) else {
        notes.push(format!("its {key} is not a string and is left out"));
        return None;
    };
    Some(keep(key, &written, limit, notes))
}

fn keep(key: &str, written: &str, limit: usize, notes: &mut Vec<String>) -> String {
    let cleaned = clean(written);
    // Windows line ends hide nothing.
    let shown = cleaned.chars().count() + written.matches("\r\n").count();
    let hidden = written.chars().count().saturating_sub(shown);
    if hidden > 0 {
        notes.push(format!("its {key} had {hidden} control or invisible characters, now removed"));
    }
    let kept = cut(&cleaned, limit);
    if let Cow::Owned(_) = kept {
        notes.push(format!("its {key} is longer than {limit} characters and was cut"));
    }
    kept.into_owned()
}

/// Shortens to `limit` characters, the last of which says so.
fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.chars().nth(limit).is_none() {
        return Cow::Borrowed(text);
    }
    let mut kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    kept.push('…');
    Cow::Owned(kept)
}
