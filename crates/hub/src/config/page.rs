//! Another file that a person writes, read with the same care as the settings.

use std::path::Path;

use super::document::{self, Node, Value};
use super::expand::Expander;
use super::mistake::{Mistake, Report};
use super::{BYTE_ORDER_MARK, check, yaml};

/// A file that fits its schema, in which everything has a place.
pub(crate) struct Page<'a> {
    root: Node,
    report: Report<'a>,
}

impl<'a> Page<'a> {
    /// Reads JSON with comments, or YAML where the file's name says so, and compares it with a schema; returns
    /// everything that does not fit.
    pub(crate) fn read(
        text: &'a str,
        path: &'a Path,
        schema: &serde_json::Value,
    ) -> Result<Self, Vec<Mistake>> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let mut report = Report::new(path, text);
        // Only settings refer to the environment.
        let expander = Expander { env: &|_| None, home: Path::new(""), folder: Path::new("") };
        let is_yaml = path.extension().is_some_and(|it| it == "yaml" || it == "yml");
        let read = if is_yaml {
            yaml::read(text, &mut report)
        } else {
            document::read(text, &expander, &mut report)
        };
        let Some(root) = read else { return Err(report.finish()) };
        check::check(schema, &root, &mut report);
        if report.touches(&(0..text.len() + 1)) { Err(report.finish()) } else { Ok(Self { root, report }) }
    }

    /// Returns what is written.
    pub(crate) fn json(&self) -> serde_json::Value {
        self.root.json()
    }

    /// Notes a mistake at a place, named by the keys and numbers that lead there; where there is nothing,
    /// at what is nearest.
    pub(crate) fn wrong(&mut self, place: &[&str], message: impl Into<String>, hint: Option<String>) {
        let mut at = self.root.span.start;
        let mut node = &self.root;
        for key in place {
            let next = match &node.value {
                Value::Object(_) => node.member(key).map(|member| (member.key_at, &member.node)),
                Value::List(nodes) => {
                    let found = key.parse::<usize>().ok().and_then(|index| nodes.get(index));
                    found.map(|node| (node.span.start, node))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
            };
            let Some(next) = next else { break };
            (at, node) = next;
        }
        self.report.add(at, message, hint);
    }

    /// Returns what was noted, in the order of the text.
    pub(crate) fn finish(self) -> Vec<Mistake> {
        self.report.finish()
    }
}
