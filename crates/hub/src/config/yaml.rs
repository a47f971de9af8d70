//! YAML read into the same tree as JSON, in which every value knows its place in the text.
//!
//! What a reader could take for something else is refused and not guessed: aliases, tags, keys that are no texts, a
//! second document. Plain words are what YAML 1.2 says they are, so `yes` and `on` are texts.

use std::path::Path;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};
use serde_json::Number;

use super::document::{MOST_BYTES, MOST_LEVELS, Member, Node, Value, sentence};
use super::mistake::Report;

/// Reads the text into a tree; what cannot be read at all is reported and yields `None`.
pub(super) fn read(text: &str, report: &mut Report<'_>) -> Option<Node> {
    if text.len() > MOST_BYTES {
        let message = format!("the file has {} bytes; at most {MOST_BYTES} are read", text.len());
        report.add(0, message, None);
        return None;
    }
    // The parser counts characters, and reports count bytes.
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut builder = Builder { starts, report, open: Vec::new(), root: None, is_wrong: false };
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => builder.take(event, span),
            Err(error) => {
                let at = builder.byte(error.marker());
                builder.wrong(at, &sentence(error.info()), None);
            }
        }
        if builder.is_wrong {
            return None;
        }
    }
    if builder.root.is_none() {
        builder.report.add(0, "the file is empty", None);
    }
    builder.root
}

/// Reads what stands before the text of a file between two lines `---`; `None` where that is no object that everybody
/// reads alike.
pub(crate) fn front_matter(text: &str) -> Option<serde_json::Value> {
    let rest = text.strip_prefix(super::BYTE_ORDER_MARK).unwrap_or(text).strip_prefix("---")?;
    let (first, rest) = rest.split_once('\n')?;
    let mut at = 0;
    let end = rest.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        matches!(line.trim_end(), "---" | "...").then_some(start)
    })?;
    let matter = rest.get(..end).filter(|_| first.trim().is_empty())?;
    let mut report = Report::new(Path::new("SKILL.md"), matter);
    let node = read(matter, &mut report)?;
    Some(node.json()).filter(serde_json::Value::is_object)
}

/// A list or an object whose end has not come yet.
struct Open {
    start: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Node>),
    /// The members, and the key whose value is awaited.
    Object(Vec<Member>, Option<(String, usize)>),
}

struct Builder<'r, 'a> {
    starts: Vec<usize>,
    report: &'r mut Report<'a>,
    open: Vec<Open>,
    root: Option<Node>,
    is_wrong: bool,
}

impl Builder<'_, '_> {
    fn take(&mut self, event: Event<'_>, span: Span) {
        let span = self.byte(&span.start)..self.byte(&span.end);
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
            Event::Alias(_) => {
                let hint = "write the value again".to_owned();
                self.wrong(span.start, "an alias is not read", Some(hint));
            }
            Event::Scalar(.., Some(tag))
            | Event::SequenceStart(_, Some(tag))
            | Event::MappingStart(_, Some(tag)) => {
                let hint = "leave it out; put a text that looks like a number in quotes".to_owned();
                self.wrong(span.start, &format!("the tag `{tag}` is not read"), Some(hint));
            }
            Event::Scalar(written, style, ..) => {
                let value = if style == ScalarStyle::Plain {
                    plain(&written)
                } else {
                    Value::Text(written.into_owned())
                };
                self.put(Node { span, value });
            }
            Event::SequenceStart(..) => self.begin(span.start, Inside::List(Vec::new())),
            Event::MappingStart(..) => self.begin(span.start, Inside::Object(Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.end(span.end),
        }
    }

    fn begin(&mut self, start: usize, inside: Inside) {
        if self.open.len() == MOST_LEVELS {
            return self.wrong(start, &format!("more than {MOST_LEVELS} levels of nesting"), None);
        }
        // Where a key is awaited, braces that were meant as a reference are read as an object.
        if let Some(Open { inside: Inside::Object(_, None), .. }) = self.open.last() {
            let hint = "put a text with `{{` in quotes".to_owned();
            return self.wrong(start, "a key must be a text", Some(hint));
        }
        self.open.push(Open { start, inside });
    }

    fn end(&mut self, end: usize) {
        let Some(Open { start, inside }) = self.open.pop() else { return };
        let value = match inside {
            Inside::List(nodes) => Value::List(nodes),
            Inside::Object(members, _) => Value::Object(members),
        };
        self.put(Node { span: start..end.max(start), value });
    }

    /// Puts a value where the next one goes.
    fn put(&mut self, node: Node) {
        match self.open.last_mut().map(|open| &mut open.inside) {
            None if self.root.is_some() => {
                let hint = "one file has one document; put the other one into a file of its own".to_owned();
                self.wrong(node.span.start, "a second document begins here", Some(hint));
            }
            None => self.root = Some(node),
            Some(Inside::List(nodes)) => nodes.push(node),
            Some(Inside::Object(members, key @ Some(_))) => {
                let Some((key, key_at)) = key.take() else { return };
                if members.iter().any(|it| it.key == key) {
                    let hint = "keep one of the two".to_owned();
                    self.report.add(key_at, format!("the key `{key}` is written twice"), Some(hint));
                } else {
                    members.push(Member { key, key_at, node });
                }
            }
            Some(Inside::Object(_, key)) => *key = Some((named(&node), node.span.start)),
        }
    }

    fn wrong(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.is_wrong = true;
        self.report.add(at, message, hint);
    }

    fn byte(&self, marker: &Marker) -> usize {
        let end = self.starts.last().copied().unwrap_or_default();
        self.starts.get(marker.index()).copied().unwrap_or(end)
    }
}

/// A key as a text, whatever it looks like.
fn named(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Object(_) => {
            node.json().to_string()
        }
    }
}

/// What a word without quotes is.
fn plain(written: &str) -> Value {
    match written {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let based = [("0x", 16), ("0o", 8)].into_iter().find_map(|(lead, base)| {
        i64::from_str_radix(written.strip_prefix(lead)?, base).ok().map(Number::from)
    });
    let unsigned = written.strip_prefix('+').unwrap_or(written);
    let digits = unsigned.strip_prefix('-').unwrap_or(unsigned);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
    let number = based.or_else(|| unsigned.parse::<Number>().ok().filter(|_| is_number));
    number.map_or_else(|| Value::Text(written.to_owned()), Value::Number)
}
