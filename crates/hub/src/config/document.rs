//! A settings file as a tree in which every value knows its place in the text.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use rustix::fs::OFlags;
use serde_json::Number;

use super::expand::{Expander, Unexpanded};
use super::mistake::Report;
use crate::private;

/// A file of this size is not written by hand, and neither are its settings.
pub(super) const MOST_BYTES: usize = 4 * 1024 * 1024;
/// No setting is nested deeper than a handful of levels.
pub(super) const MOST_LEVELS: usize = 100;
/// The top-level keys whose values may refer to the environment.
const EXPANDED: [&str; 7] = ["mcpServers", "servers", "serve", "store", "routing", "toolset", "schedules"];

/// One value and where it is written.
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) value: Value,
}

/// What a value is.
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Member>),
}

/// One key of an object with its value.
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_at: usize,
    pub(super) node: Node,
}

impl Node {
    pub(super) fn members(&self) -> &[Member] {
        match &self.value {
            Value::Object(members) => members,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => &[],
        }
    }

    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// Returns the value without the members in which something was reported.
    pub(super) fn json_without_mistakes(&self, report: &Report<'_>) -> serde_json::Value {
        let Value::Object(members) = &self.value else { return self.json() };
        let usable = members.iter().filter(|member| {
            let key = member.key_at..member.key_at + 1;
            let inside = matches!(member.node.value, Value::Object(_));
            !report.touches(&key) && (inside || !report.touches(&member.node.span))
        });
        usable.map(|member| (member.key.clone(), member.node.json_without_mistakes(report))).collect()
    }

    pub(super) fn json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(it) => serde_json::Value::Bool(*it),
            Value::Number(it) => serde_json::Value::Number(it.clone()),
            Value::Text(it) => serde_json::Value::String(it.clone()),
            Value::List(nodes) => nodes.iter().map(Self::json).collect(),
            Value::Object(members) => serde_json::Value::Object(
                members.iter().map(|member| (member.key.clone(), member.node.json())).collect(),
            ),
        }
    }
}

/// JSON with comments and trailing commas, and nothing else that only some readers understand.
pub(crate) fn dialect() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Reads a file that a person wrote, but no more of it than is too much. A pipe or a device, which may never end or
/// never begin, is refused; a link is followed.
pub fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    read_bytes_within(path, MOST_BYTES)
}

/// Reads a text that a person wrote, with the same care.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    let text = String::from_utf8(read_bytes(path)?);
    text.map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads a file that may be larger than settings are.
pub(crate) fn read_bytes_within(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    // Opening a pipe would wait for somebody who writes.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if let Some(oddity) = private::oddity(&file.metadata()?) {
        return Err(std::io::Error::other(oddity));
    }
    let mut bytes = Vec::new();
    file.take(u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(std::io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Reads the text into a tree; what cannot be read at all is reported and yields `None`.
pub(super) fn read(text: &str, expander: &Expander<'_>, report: &mut Report<'_>) -> Option<Node> {
    if text.len() > MOST_BYTES {
        let message = format!("the file has {} bytes; at most {MOST_BYTES} are read", text.len());
        report.add(0, message, None);
        return None;
    }
    match jsonc_parser::parse_to_ast(text, &Default::default(), &dialect()) {
        Ok(parsed) => match parsed.value {
            Some(value) => Some(Builder { expander, report, level: 0 }.root(value)),
            None => {
                let hint = "an empty configuration is written `{}`".to_owned();
                report.add(0, "the file is empty", Some(hint));
                None
            }
        },
        Err(error) => {
            report.add(error.range().start, sentence(&error.kind().to_string()), None);
            None
        }
    }
}

/// Brings a message of the parser into the form of ours.
pub(crate) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

struct Builder<'r, 'e, 'a> {
    expander: &'e Expander<'e>,
    report: &'r mut Report<'a>,
    level: usize,
}

/// Whether strings in this part of the file may refer to the environment.
#[derive(Clone, Copy, PartialEq)]
enum References {
    Expand,
    /// They may, and a variable that is not set puts only this server off.
    Server,
    Keep,
}

impl Builder<'_, '_, '_> {
    fn root(&mut self, value: ast::Value<'_>) -> Node {
        let ast::Value::Object(object) = value else { return self.node(value, References::Keep) };
        let span = object.range.start..object.range.end;
        let members = self.members(object, |this, key, value| {
            if matches!(key, "mcpServers" | "servers") {
                this.servers(value)
            } else if EXPANDED.contains(&key) {
                this.node(value, References::Expand)
            } else {
                this.node(value, References::Keep)
            }
        });
        Node { span, value: Value::Object(members) }
    }

    fn servers(&mut self, value: ast::Value<'_>) -> Node {
        let ast::Value::Object(object) = value else { return self.node(value, References::Keep) };
        let span = object.range.start..object.range.end;
        let members = self.members(object, |this, _, server| {
            // A server that is switched off may wait for a variable that nobody has set yet.
            let references = if switched_off(&server) { References::Keep } else { References::Server };
            this.node(server, references)
        });
        Node { span, value: Value::Object(members) }
    }

    fn node(&mut self, value: ast::Value<'_>, references: References) -> Node {
        let range = value.range();
        let span = range.start..range.end;
        if self.level == MOST_LEVELS {
            self.report.add(span.start, format!("more than {MOST_LEVELS} levels of nesting"), None);
            return Node { span, value: Value::Null };
        }
        self.level += 1;
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(it) => Value::Bool(it.value),
            ast::Value::NumberLit(it) => self.number(it.value, span.start),
            ast::Value::StringLit(it) => Value::Text(self.text(&it.value, span.start, references)),
            ast::Value::Array(it) => {
                Value::List(it.elements.into_iter().map(|element| self.node(element, references)).collect())
            }
            ast::Value::Object(it) => {
                Value::Object(self.members(it, |this, _, member| this.node(member, references)))
            }
        };
        self.level -= 1;
        Node { span, value }
    }

    fn number(&mut self, written: &str, at: usize) -> Value {
        written.parse().map_or_else(
            |_| {
                self.report.add(at, format!("`{written}` is too large for a number"), None);
                Value::Null
            },
            Value::Number,
        )
    }

    fn text(&mut self, written: &str, at: usize, references: References) -> String {
        if references == References::Keep {
            return written.to_owned();
        }
        let Unexpanded { message, hint, unset } = match self.expander.expand(written) {
            Ok(expanded) => return expanded,
            Err(unexpanded) => unexpanded,
        };
        match unset {
            Some(variable) if references == References::Server => {
                self.report.add_unset(at, variable, message, hint);
            }
            Some(_) | None => self.report.add(at, message, Some(hint)),
        }
        String::new()
    }

    fn members(
        &mut self,
        object: ast::Object<'_>,
        mut build: impl FnMut(&mut Self, &str, ast::Value<'_>) -> Node,
    ) -> Vec<Member> {
        let mut seen = std::collections::HashSet::new();
        let mut members = Vec::new();
        for property in object.properties {
            let key_at = property.name.range().start;
            let key = property.name.into_string();
            if seen.insert(key.clone()) {
                let node = build(self, &key, property.value);
                members.push(Member { key, key_at, node });
            } else {
                let hint = "keep one of the two".to_owned();
                self.report.add(key_at, format!("the key `{key}` is written twice"), Some(hint));
            }
        }
        members
    }
}

fn switched_off(server: &ast::Value<'_>) -> bool {
    let Some(server) = server.as_object() else { return false };
    server.get_boolean("disabled").is_some_and(|it| it.value)
        || server.get_boolean("enabled").is_some_and(|it| !it.value)
}
