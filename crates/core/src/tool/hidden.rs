//! Definitions without the characters that nobody sees, and arguments under the names that a server gave them.
//!
//! Every string of a definition is cleaned, keys and values alike, so that a model reads what a person reads. A
//! definition without hidden characters is left as it is, byte for byte. The server still gets its own names: an
//! argument under a cleaned name, or one of the cleaned values that a schema lists, is sent as the server wrote it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::clean::{clean, is_hidden};
use super::json::{Members, items, text};

/// A definition whose hidden characters were removed.
#[derive(Clone, Debug)]
pub struct Unveiled {
    /// What is shown.
    pub definition: Box<RawValue>,
    /// What was removed, as clauses without a full stop.
    pub notes: Vec<String>,
}

/// Why hidden characters cannot be removed from a definition or from arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Veiled {
    /// Two names or values would be the same.
    #[error("two of its names or values are both `{0}` without their hidden characters")]
    Alike(String),
    /// A name would have no characters at all.
    #[error("one of its names has hidden characters only")]
    Nothing,
    /// Two arguments are the same one for the server.
    #[error("two arguments are both `{0}` for the server; give one of them")]
    Twice(String),
}

/// Whether a JSON text may hold hidden characters, written out or escaped. A single look at the bytes.
pub fn may_hide(json: &str) -> bool {
    let bytes = json.as_bytes();
    let mut is_ascii = true;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\\' if matches!(bytes.get(at + 1), Some(b'u' | b'b' | b'f')) => return true,
            0x7f => return true,
            0x80.. => is_ascii = false,
            _ => {}
        }
    }
    !is_ascii && json.contains(is_hidden)
}

/// Removes hidden characters from every string of a definition; `None` where there are none.
///
/// A form of results whose names would change is left out, because results are carried as they are.
pub fn unveiled(definition: &RawValue) -> Result<Option<Unveiled>, Veiled> {
    if !may_hide(definition.get()) {
        return Ok(None);
    }
    let Some(members) = Members::of(definition) else { return Ok(None) };
    let (mut out, mut notes, mut is_changed) = (Vec::new(), Vec::new(), false);
    for (key, value) in members.0 {
        if visible(&key) != key {
            is_changed = true;
            notes.push("a member with hidden characters in its name is left out".to_owned());
            continue;
        }
        let seen = Rewriter::of(value.get())?;
        is_changed |= seen.removed > 0;
        match key.as_str() {
            "outputSchema" if seen.is_renamed => {
                notes.push("its outputSchema has hidden characters in its names and is left out".to_owned());
                continue;
            }
            // Whoever reads these counts for themselves.
            "description" | "title" | "annotations" => {}
            _ if seen.removed > 0 => {
                let removed = seen.removed;
                notes.push(format!("its {key} had {removed} control or invisible characters, now removed"));
            }
            _ => {}
        }
        out.push(format!("{}:{}", quoted(&key), seen.out));
    }
    if !is_changed {
        return Ok(None);
    }
    let definition = RawValue::from_string(format!("{{{}}}", out.join(",")));
    Ok(Some(Unveiled { definition: definition.expect("its parts are JSON"), notes }))
}

/// Returns a JSON value without the hidden characters of its strings, for judging what it says.
pub(super) fn plainly(value: &RawValue) -> Result<Box<RawValue>, Veiled> {
    let seen = Rewriter::of(value.get())?;
    Ok(RawValue::from_string(seen.out).expect("only strings were written anew"))
}

/// Returns arguments under the names, and with the listed values, of the server's own schema.
pub(super) fn own_arguments(schema: &RawValue, arguments: &RawValue) -> Result<Box<RawValue>, Veiled> {
    let own = OwnSchema { root: schema }.own(&[schema], arguments, MAX_STEPS)?;
    Ok(RawValue::from_string(own.into_owned()).expect("its parts are JSON"))
}

/// Objects and lists inside one another that are followed.
const MAX_STEPS: usize = 48;
/// Schemas that one value may follow.
const MAX_SCHEMAS: usize = 64;
/// References and alternatives inside one another.
const MAX_TURNS: usize = 8;
/// Values of a list of choices that are compared.
const MAX_CHOICES: usize = 4096;
/// The members of a schema that only explain.
const REMARKS: [&str; 4] = ["description", "title", "$comment", "markdownDescription"];

/// A text without hidden characters. A carriage return is a line end like any other.
fn visible(written: &str) -> Cow<'_, str> {
    if !written.contains('\r') {
        return clean(written);
    }
    let lines: Vec<Cow<'_, str>> = written.split('\r').map(clean).collect();
    Cow::Owned(lines.join("\r"))
}

/// A regular expression that means the same, with every character to be seen.
fn escaped(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        if is_hidden(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}"));
        } else {
            out.push(c);
        }
    }
    out
}

/// Copies JSON and writes only those strings anew that hide something. It follows no nesting, so none is too deep.
struct Rewriter<'j> {
    json: &'j str,
    out: String,
    /// How far the text was copied.
    copied: usize,
    removed: usize,
    /// Whether a string other than a remark was changed.
    is_renamed: bool,
    open: Vec<Level>,
}

/// One object or list that is not closed yet.
#[derive(Default)]
struct Level {
    is_object: bool,
    /// The last key of an object; of a list, the key that it stands under.
    key: String,
    /// What was written for each name, or each value of a list of choices, as it is shown.
    shown: HashMap<String, String>,
}

impl<'j> Rewriter<'j> {
    fn of(json: &'j str) -> Result<Self, Veiled> {
        let out = String::with_capacity(json.len());
        let mut new = Self { json, out, copied: 0, removed: 0, is_renamed: false, open: Vec::new() };
        let mut at = 0;
        while let Some(byte) = json.as_bytes().get(at) {
            match byte {
                b'{' => new.open.push(Level { is_object: true, ..Level::default() }),
                b'[' => {
                    let key = new.open.last().map(|level| level.key.clone()).unwrap_or_default();
                    new.open.push(Level { key, ..Level::default() });
                }
                b'}' | b']' => drop(new.open.pop()),
                b'"' => {
                    let end = end_of_string(json, at);
                    new.string(at, end)?;
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        new.out.push_str(&json[new.copied..]);
        Ok(new)
    }

    fn string(&mut self, start: usize, end: usize) -> Result<(), Veiled> {
        let Ok(written) = serde_json::from_str::<String>(&self.json[start..end]) else { return Ok(()) };
        let is_key = self.open.last().is_some_and(|level| level.is_object)
            && self.json[end..].trim_start().starts_with(':');
        let key = self.open.last().map(|level| level.key.as_str()).unwrap_or_default();
        let seen = match key {
            "pattern" if !is_key && written.contains(is_hidden) => Cow::Owned(escaped(&written)),
            _ => visible(&written),
        };
        let is_changed = seen != written;
        if let Some(level) = self.open.last_mut() {
            if is_key {
                level.key.clone_from(&written);
            }
            if is_key || (!level.is_object && level.key == "enum") {
                if is_key && seen.is_empty() && is_changed {
                    return Err(Veiled::Nothing);
                }
                let before = level.shown.insert(seen.clone().into_owned(), written.clone());
                if before.is_some_and(|before| before != written) {
                    return Err(Veiled::Alike(seen.chars().take(60).collect()));
                }
            }
        }
        if is_changed {
            let is_remark = !is_key
                && self.open.last().is_some_and(|it| it.is_object && REMARKS.contains(&it.key.as_str()));
            self.is_renamed |= !is_remark;
            self.removed += written.chars().count().saturating_sub(seen.chars().count()).max(1);
            self.out.push_str(&self.json[self.copied..start]);
            self.out.push_str(&quoted(&seen));
            self.copied = end;
        }
        Ok(())
    }
}

/// Returns where the string ends that begins at a quotation mark.
fn end_of_string(json: &str, start: usize) -> usize {
    let bytes = json.as_bytes();
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

/// The schema that a server wrote, with its own names.
struct OwnSchema<'s> {
    root: &'s RawValue,
}

impl<'s> OwnSchema<'s> {
    /// Returns a value as the server names it, where one of these schemas describes it.
    fn own<'v>(
        &self,
        schemas: &[&'s RawValue],
        value: &'v RawValue,
        steps: usize,
    ) -> Result<Cow<'v, str>, Veiled> {
        let as_it_is = Cow::Borrowed(value.get());
        let Some(steps) = steps.checked_sub(1).filter(|_| !schemas.is_empty()) else { return Ok(as_it_is) };
        let mut seen = Vec::new();
        schemas.iter().for_each(|schema| self.spread(schema, MAX_TURNS, &mut seen));
        match value.get().as_bytes().first() {
            Some(b'{') => self.own_object(&seen, value, steps),
            Some(b'[') => {
                let each: Vec<&RawValue> = seen.iter().flat_map(of_items).collect();
                let Some(values) = items(value, usize::MAX) else { return Ok(as_it_is) };
                let own = values.into_iter().map(|value| self.own(&each, value, steps));
                let own = own.collect::<Result<Vec<_>, _>>()?;
                Ok(Cow::Owned(format!("[{}]", own.join(","))))
            }
            Some(b'"') => Ok(own_choice(&seen, value).map_or(as_it_is, Cow::Owned)),
            _ => Ok(as_it_is),
        }
    }

    fn own_object<'v>(
        &self,
        seen: &[Members<'s>],
        value: &'v RawValue,
        steps: usize,
    ) -> Result<Cow<'v, str>, Veiled> {
        let Some(members) = Members::of(value) else { return Ok(Cow::Borrowed(value.get())) };
        let properties: Vec<Members<'s>> =
            seen.iter().filter_map(|schema| Members::of(schema.get("properties")?)).collect();
        let names = || properties.iter().flat_map(|it| it.0.iter());
        let (mut out, mut given) = (Vec::new(), HashMap::new());
        for (key, value) in members.0 {
            let is_own = names().any(|(name, _)| *name == key);
            let own = names().find(|(name, _)| !is_own && visible(name) == key).map(|(name, _)| name);
            let own = own.unwrap_or(&key);
            let mut below: Vec<&RawValue> =
                names().filter(|(name, _)| name == own).map(|(_, schema)| *schema).collect();
            if below.is_empty() {
                below.extend(seen.iter().filter_map(|schema| schema.get("additionalProperties")));
            }
            if given.insert(own.clone(), ()).is_some() {
                return Err(Veiled::Twice(visible(own).into_owned()));
            }
            out.push(format!("{}:{}", quoted(own), self.own(&below, value, steps)?));
        }
        Ok(Cow::Owned(format!("{{{}}}", out.join(","))))
    }

    /// Gathers a schema with everything that it refers to or is made of.
    fn spread(&self, schema: &'s RawValue, turns: usize, seen: &mut Vec<Members<'s>>) {
        let Some(turns) = turns.checked_sub(1).filter(|_| seen.len() < MAX_SCHEMAS) else { return };
        let Some(members) = Members::of(schema) else { return };
        if let Some(target) = members.get("$ref").and_then(text).and_then(|target| self.referred(&target)) {
            self.spread(target, turns, seen);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let parts = members.get(key).and_then(|parts| items(parts, MAX_SCHEMAS)).unwrap_or_default();
            parts.into_iter().for_each(|part| self.spread(part, turns, seen));
        }
        seen.push(members);
    }

    fn referred(&self, target: &str) -> Option<&'s RawValue> {
        let mut found = self.root;
        for name in target.strip_prefix('#')?.split('/').skip(1) {
            found = Members::of(found)?.get(&name.replace("~1", "/").replace("~0", "~"))?;
        }
        Some(found)
    }
}

/// Returns the schemas of the values of a list.
fn of_items<'s>(schema: &Members<'s>) -> Vec<&'s RawValue> {
    let mut found = Vec::new();
    for key in ["items", "prefixItems"] {
        let Some(each) = schema.get(key) else { continue };
        match items(each, MAX_SCHEMAS) {
            Some(listed) => found.extend(listed),
            None => found.push(each),
        }
    }
    found
}

/// Returns a value as the list of choices writes it, where it stands there with hidden characters alone.
fn own_choice(seen: &[Members<'_>], value: &RawValue) -> Option<String> {
    let given = text(value)?;
    let listed = seen.iter().flat_map(|schema| {
        let listed = schema.get("enum").and_then(|it| items(it, MAX_CHOICES)).unwrap_or_default();
        listed.into_iter().chain(schema.get("const"))
    });
    let listed: Vec<(String, &RawValue)> = listed.filter_map(|own| Some((text(own)?, own))).collect();
    if listed.iter().any(|(own, _)| *own == given) {
        return None;
    }
    listed.iter().find(|(own, _)| visible(own) == given).map(|(_, own)| own.get().to_owned())
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text always has a JSON form")
}

#[cfg(test)]
mod tests;
