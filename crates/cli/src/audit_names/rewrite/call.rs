//! Calls as texts write them, read only where nothing is in doubt.

use std::ops::Range;

use serde_json::{Map, Value};

/// Bytes of the arguments of a call that are read.
const MOST_BYTES: usize = 16 * 1024;
/// Brackets within brackets.
const MOST_LEVELS: usize = 64;
/// A call, by places in its text.
pub(super) struct Call {
    pub(super) notation: Notation,
    /// Between the brackets.
    pub(super) inside: Range<usize>,
    pub(super) arguments: Vec<Argument>,
    /// Whether there is nothing between the brackets.
    pub(super) is_empty: bool,
}

/// One named argument.
pub(super) struct Argument {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

/// How arguments are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// `name(key="value", flag=True)`
    Words,
    /// `{"name": …, "arguments": {"key": "value"}}`
    Json,
}

impl Notation {
    /// Writes an argument.
    pub(super) fn write(self, name: &str, value: &Value) -> String {
        match self {
            Self::Words => format!("{name}={}", in_words(value)),
            Self::Json => format!("{}: {value}", Value::from(name)),
        }
    }

    /// Reads a value; `None` where it is none that is written out.
    pub(super) fn read(self, text: &[u8]) -> Option<Value> {
        let text = std::str::from_utf8(text).ok()?;
        match (self, text) {
            (Self::Words, "True") => Some(Value::Bool(true)),
            (Self::Words, "False") => Some(Value::Bool(false)),
            (Self::Words, "None") => Some(Value::Null),
            (Self::Words, text) => match text.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')) {
                Some(plain) if !plain.contains(['\\', '"']) => Some(Value::from(plain)),
                Some(_) => None,
                None => serde_json::from_str(text).ok(),
            },
            (Self::Json, text) => serde_json::from_str(text).ok(),
        }
    }
}

/// Reads the call whose name stands at a place; `None` where that is no call, or one that could be read otherwise.
pub(super) fn read(text: &[u8], name: &Range<usize>) -> Option<Call> {
    match text.get(name.end) {
        Some(b'(') => words(text, name),
        Some(b'"') => json(text, name),
        Some(_) | None => None,
    }
}

/// Reads `name(key=value, …)`; `...` may stand for what is left out.
fn words(text: &[u8], name: &Range<usize>) -> Option<Call> {
    let before = &text[..name.start];
    // What belongs to something else may be another thing of the same name.
    if [&b"."[..], b":", b">"].iter().any(|sign| before.ends_with(sign)) {
        return None;
    }
    let start = name.end + 1;
    let mut reader = Reader { text, at: start, end: text.len().min(start + MOST_BYTES) };
    let (mut arguments, mut is_empty) = (Vec::new(), true);
    loop {
        reader.skip_blanks();
        if reader.peek() == Some(b')') {
            let inside = start..reader.at;
            let call = Call { notation: Notation::Words, inside, arguments, is_empty };
            return (!begins_a_body(&text[reader.at + 1..])).then_some(call);
        }
        is_empty = false;
        if !reader.take_ellipsis() {
            let key = reader.word()?;
            reader.skip_blanks();
            reader.take(b'=').filter(|()| reader.peek() != Some(b'='))?;
            reader.skip_blanks();
            let value = reader.value()?;
            arguments.push(Argument { key, value });
        }
        reader.skip_blanks();
        match reader.peek()? {
            b',' => reader.at += 1,
            b')' => {}
            _ => return None,
        }
    }
}

/// Whether what follows the brackets says that something is defined there, not called.
fn begins_a_body(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    [&b":"[..], b"{", b"->", b"=>"].iter().any(|sign| rest.starts_with(sign))
}

/// Reads `"name": "…", "arguments": {…}`.
fn json(text: &[u8], name: &Range<usize>) -> Option<Call> {
    let before = text[..name.start].strip_suffix(b"\"")?;
    let before = before.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    before.strip_suffix(b"\"name\"").filter(|rest| !rest.ends_with(b"\\"))?;
    let mut reader = Reader { text, at: name.end + 1, end: text.len().min(name.end + MOST_BYTES) };
    reader.skip_blanks();
    reader.take(b',')?;
    reader.skip_blanks();
    let key = reader.quoted()?;
    if &text[key] != b"\"arguments\"" {
        return None;
    }
    reader.skip_blanks();
    reader.take(b':')?;
    reader.skip_blanks();
    let object = reader.at;
    if reader.peek() != Some(b'{') {
        return None;
    }
    let whole = reader.bracketed()?;
    let read: Map<String, Value> = serde_json::from_slice(&text[whole.clone()]).ok()?;
    let inside = object + 1..whole.end - 1;
    let arguments = members(text, inside.clone())?;
    // A name that is there twice, or is written with escapes, can be read in more than one way.
    let is_plain = |argument: &Argument| {
        std::str::from_utf8(&text[argument.key.clone()]).is_ok_and(|key| read.contains_key(key))
    };
    let is_sure = arguments.len() == read.len() && arguments.iter().all(is_plain);
    is_sure.then_some(Call { notation: Notation::Json, inside, is_empty: arguments.is_empty(), arguments })
}

/// Returns the members of an object that was read before.
fn members(text: &[u8], inside: Range<usize>) -> Option<Vec<Argument>> {
    let mut reader = Reader { text, at: inside.start, end: inside.end };
    let mut members = Vec::new();
    reader.skip_blanks();
    while reader.at < inside.end {
        let key = reader.quoted()?;
        reader.skip_blanks();
        reader.take(b':')?;
        reader.skip_blanks();
        let value = reader.value()?;
        members.push(Argument { key: key.start + 1..key.end - 1, value });
        reader.skip_blanks();
        let _ = reader.take(b',');
        reader.skip_blanks();
    }
    Some(members)
}

/// Writes a value as a call in words has it.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(in_words).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), in_words(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Reads pieces of a call, from left to right.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    end: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text[..self.end].get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take_ellipsis(&mut self) -> bool {
        let rest = &self.text[self.at..self.end];
        let width = ["...", "…"].iter().find(|it| rest.starts_with(it.as_bytes())).map_or(0, |it| it.len());
        self.at += width;
        width > 0
    }

    /// Takes a name as program text has it.
    fn word(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        (start < self.at && !self.text[start].is_ascii_digit()).then_some(start..self.at)
    }

    /// Takes a text in quotes that ends on its line.
    fn quoted(&mut self) -> Option<Range<usize>> {
        let (start, quote) = (self.at, self.peek()?);
        if !matches!(quote, b'"' | b'\'') {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'\n' => return None,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return Some(start..self.at);
                    }
                }
            }
        }
    }

    /// Takes everything from a bracket to the one that closes it.
    fn bracketed(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let mut open: Vec<u8> = Vec::new();
        loop {
            let byte = self.peek()?;
            match byte {
                b'"' | b'\'' => {
                    self.quoted()?;
                    continue;
                }
                b'[' => open.push(b']'),
                b'{' => open.push(b'}'),
                b'(' => open.push(b')'),
                b']' | b'}' | b')' => {
                    open.pop().filter(|wanted| *wanted == byte)?;
                }
                _ => {}
            }
            self.at += 1;
            if open.is_empty() {
                return Some(start..self.at);
            }
            if open.len() > MOST_LEVELS {
                return None;
            }
        }
    }

    /// Takes a value: quoted, in brackets, a number, a name, or what stands for something left out.
    fn value(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        match self.peek()? {
            b'"' | b'\'' => {
                let quoted = self.quoted()?;
                // Three quotes begin another kind of text, and two texts in a row are one.
                self.skip_blanks();
                (!matches!(self.peek(), Some(b'"' | b'\''))).then_some(quoted)
            }
            b'[' | b'{' => self.bracketed(),
            _ if self.take_ellipsis() => Some(start..self.at),
            _ => {
                let is_part =
                    |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-');
                while self.peek().is_some_and(is_part) {
                    self.at += 1;
                }
                (start < self.at).then_some(start..self.at)
            }
        }
    }
}
