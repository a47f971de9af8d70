//! What a text becomes when old names in it are replaced.
//!
//! The name is always replaced. Arguments are changed only where a call can be read with certainty: `name(key=value)`
//! with nothing but named arguments, or JSON with `arguments` behind `name`. Everything else gets a remark of what is
//! left to do. All bytes between the changes stay as they are.

mod call; // calls as texts write them

use std::ops::Range;

use serde_json::Value;
use toolyard_core::alias::Alias;

use super::names::{Name, Names};
use super::search::{Position, Searcher};
use call::{Argument, Call, Notation};

/// A text with new names.
pub(super) struct Rewritten {
    pub(super) text: Vec<u8>,
    pub(super) places: Vec<Place>,
}

/// One place that was changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
    /// Which name stood there.
    pub(super) name: usize,
    /// What stands there instead.
    pub(super) new: String,
    /// What is left to do by hand.
    pub(super) remark: Option<String>,
}

/// A part of a text and what takes its place.
struct Edit {
    part: Range<usize>,
    text: String,
}

/// Replaces every old name.
pub(super) fn rewrite(text: &[u8], names: &Names, searcher: &Searcher) -> Rewritten {
    let start = if text.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    let mut rewritten = Rewritten { text: Vec::with_capacity(text.len() + 256), places: Vec::new() };
    let (mut position, mut counted, mut copied, mut next) = (Position::START, start, 0, start);
    while let Some((at, found)) = searcher.first(text, next..text.len()) {
        position.pass(&text[counted..found.start]);
        counted = found.start;
        next = found.end;
        let name = &names.list[at];
        let (edits, remark) = changes(text, &found, name, searcher);
        let edits = std::iter::once(Edit { part: found, text: name.new.clone() }).chain(edits);
        for Edit { part, text: fresh } in edits {
            rewritten.text.extend_from_slice(&text[copied..part.start]);
            rewritten.text.extend_from_slice(fresh.as_bytes());
            copied = part.end;
            next = next.max(copied);
        }
        let Position { line, column } = position;
        rewritten.places.push(Place { line, column, name: at, new: name.new.clone(), remark });
    }
    rewritten.text.extend_from_slice(&text[copied..]);
    rewritten
}

/// Returns the changes to the arguments of a call, in order, or a remark of what is left to do.
fn changes(
    text: &[u8],
    found: &Range<usize>,
    name: &Name,
    searcher: &Searcher,
) -> (Vec<Edit>, Option<String>) {
    if !name.alias.changes_arguments() {
        return (Vec::new(), None);
    }
    let edits = call::read(text, found).and_then(|call| {
        // Another old name among the arguments is replaced by itself, which this call must not get in the way of.
        let is_plain = searcher.first(text, call.inside.clone()).is_none();
        is_plain.then(|| turned(text, &call, &name.alias)).flatten()
    });
    let is_final = |edit: &Edit| searcher.first(edit.text.as_bytes(), 0..edit.text.len()).is_none();
    match edits.filter(|edits| edits.iter().all(is_final)) {
        Some(edits) => (edits, None),
        None => (Vec::new(), Some(remark(&name.alias))),
    }
}

/// Turns the arguments of a call; `None` where they contradict what the old name always gives.
fn turned(text: &[u8], call: &Call, alias: &Alias) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut missing: Vec<(&String, &Value)> = alias.fixed.iter().collect();
    for Argument { key, value } in &call.arguments {
        let given = std::str::from_utf8(&text[key.clone()]).ok()?;
        let new = alias.argument(given);
        if seen.contains(&new) {
            return None;
        }
        seen.push(new);
        if let Some(fixed) = alias.fixed.get(new) {
            if call.notation.read(&text[value.clone()]) != Some(fixed.clone()) {
                return None;
            }
            missing.retain(|(name, _)| *name != new);
        }
        if new != given {
            edits.push(Edit { part: key.clone(), text: new.to_owned() });
        }
    }
    if !missing.is_empty() {
        let written: Vec<String> =
            missing.into_iter().map(|(name, value)| call.notation.write(name, value)).collect();
        let begin = call.inside.start;
        let after = match (call.is_empty, text.get(begin)) {
            (true, _) => "",
            (false, Some(b'\n' | b'\r' | b' ')) => ",",
            (false, _) => ", ",
        };
        let text = format!("{}{after}", written.join(", "));
        edits.insert(0, Edit { part: begin..begin, text });
    }
    Some(edits)
}

/// Says what is left to do by hand.
fn remark(alias: &Alias) -> String {
    let fixed =
        alias.fixed.iter().map(|(name, value)| format!("give {}", Notation::Words.write(name, value)));
    let renamed = alias.renamed.iter().map(|(old, new)| format!("write {new} for {old}"));
    fixed.chain(renamed).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
