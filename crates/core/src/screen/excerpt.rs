//! The sentences of a definition or a result, with where they stand.
//!
//! Every string of a definition is read, wherever it lies: an order can hide in the default of a parameter as well as
//! in a description. What is hidden or encoded is read as a sentence of its own.

use serde_json::Value;

use super::Neighbours;
use super::disguise::uncovered;
use super::feature::{Features, is_identifier};
use super::place::{Source, TextPlace};
use crate::tool::Tool;
use crate::tool::json::nesting;

/// One sentence, or a few short ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt {
    /// Where it stands.
    pub place: TextPlace,
    /// What it says.
    pub text: String,
    /// What can be seen of it.
    pub features: Features,
}

/// Sentences of one text that are looked at.
const MOST: usize = 400;
/// A sentence that is shorter says nothing without the next.
const LEAST_CHARS: usize = 24;
/// A sentence that is longer is cut into several.
const MOST_CHARS: usize = 320;
/// A line that was broken because it was full has so many characters at least.
const FULL_LINE: usize = 50;
/// Bytes of a result that are read.
const MOST_BYTES: usize = 64 * 1024;
/// Deeper definitions are read as one text.
const MAX_NESTING: usize = 100;

/// Returns what is screened of a tool: every sentence of its definition, as the server sent it.
pub fn excerpts_of_tool(tool: &Tool, neighbours: &Neighbours) -> Vec<Excerpt> {
    let definition = tool.own.as_deref().unwrap_or(&tool.definition);
    let mut gathered = Gathered { found: Vec::new(), own: Vec::new() };
    gathered.own.push(tool.name.to_lowercase());
    gathered.own.extend(tool.parameters.iter().map(|parameter| parameter.name.to_lowercase()));
    match serde_json::from_str::<Value>(definition.get()) {
        Ok(value) if nesting(definition) <= MAX_NESTING => gathered.walk(&value, &TextPlace::Description, ""),
        Ok(_) | Err(_) => gathered.take(definition.get(), &TextPlace::Description),
    }
    gathered.excerpts(neighbours)
}

/// Returns what is screened of a result's text.
pub fn excerpts_of_text(text: &str, neighbours: &Neighbours) -> Vec<Excerpt> {
    let mut end = text.len().min(MOST_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut gathered = Gathered { found: Vec::new(), own: Vec::new() };
    gathered.take(&text[..end], &TextPlace::Result);
    gathered.excerpts(neighbours)
}

struct Gathered {
    found: Vec<(TextPlace, String, Source)>,
    /// Names that the tool uses for itself and its parameters.
    own: Vec<String>,
}

impl Gathered {
    /// Reads every string of a definition.
    fn walk(&mut self, value: &Value, place: &TextPlace, key: &str) {
        match value {
            Value::String(text) => self.string(text, place, key),
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, place, key)),
            Value::Object(members) => {
                for (name, value) in members {
                    if !is_identifier(name) {
                        self.take(name, &TextPlace::Value);
                    }
                    let is_parameter = key == "properties";
                    let inner = if is_parameter { TextPlace::Parameter(name.clone()) } else { place.clone() };
                    // A parameter may be called like a word of the schema language.
                    self.walk(value, &inner, if is_parameter { "" } else { name });
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn string(&mut self, text: &str, place: &TextPlace, key: &str) {
        match key {
            "name" | "type" | "format" | "$schema" | "$ref" | "$id" | "required" => {}
            "description" | "title" | "$comment" => self.take(text, place),
            _ if !text.contains(' ') && text.is_ascii() && text.len() < 40 => {}
            _ => self.take(text, &TextPlace::Value),
        }
    }

    fn take(&mut self, text: &str, place: &TextPlace) {
        let found = |text: String, source| (place.clone(), text, source);
        self.found.extend(sentences(text).into_iter().map(|text| found(text, Source::Open)));
        for behind in uncovered(text) {
            let source = if behind.is_hidden { Source::Hidden } else { Source::Encoded };
            self.found.extend(sentences(&behind.text).into_iter().map(|text| found(text, source)));
        }
    }

    fn excerpts(self, neighbours: &Neighbours) -> Vec<Excerpt> {
        let Self { found, own } = self;
        let excerpt = |(place, text, source): (TextPlace, String, Source)| {
            let features = Features::of(&text, &place, source, &own, neighbours);
            Excerpt { place, text, features }
        };
        let mut excerpts: Vec<Excerpt> = found.into_iter().map(excerpt).collect();
        if excerpts.len() > MOST {
            // What a rule notices is never among those that are too many.
            excerpts.sort_by_key(|excerpt| excerpt.features.is_plain());
            excerpts.truncate(MOST);
        }
        excerpts
    }
}

/// Cuts a text into sentences. Short ones are read with those after them.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut sentence, mut length, mut line) = (String::new(), 0, 0);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        length += 1;
        line += 1;
        let is_broken = c == '\n' && line > FULL_LINE && goes_on(&sentence, chars.clone());
        sentence.push(if is_broken { ' ' } else { c });
        if c == '\n' {
            line = 0;
        }
        while is_broken && chars.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        let ends = match c {
            '\n' => !is_broken,
            '。' | '！' | '？' => true,
            '.' | '!' | '?' | ';' => chars.peek().is_none_or(|next| next.is_whitespace()),
            _ => false,
        };
        let is_full = length >= MOST_CHARS && c.is_whitespace() || length >= 2 * MOST_CHARS;
        if ends && length >= LEAST_CHARS || is_full {
            found.push(std::mem::take(&mut sentence));
            length = 0;
        }
    }
    found.push(sentence);
    let kept =
        found.iter().map(|it| it.trim()).filter(|it| it.chars().filter(|c| c.is_alphabetic()).count() >= 4);
    kept.map(str::to_owned).collect()
}

/// Whether a sentence was not over where its line ended.
fn goes_on(before: &str, after: impl Iterator<Item = char>) -> bool {
    let mut after = after.skip_while(|c| *c == ' ' || *c == '\t');
    let has_ended = before.trim_end().ends_with(['.', '!', '?', ':', ';']);
    !has_ended && after.next().is_some_and(|c| c.is_lowercase() || c == '(')
}
