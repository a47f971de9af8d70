//! The one place that writes to stdout.
//!
//! Colours are taken out again unless stdout is a terminal that wants them.

use std::io::{self, Write};

pub(crate) use comfy_table::{Attribute, Cell, Color};
use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, Width, presets};
use serde_json::Value;
use toolyard_core::tool::clean;

/// Writes lines of text.
pub(crate) fn text(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes a piece of a line.
pub(crate) fn piece(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a value for programs.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    raw_json(&format!("{value:#}"))
}

/// Writes a value for programs on one line.
pub(crate) fn json_line(value: &Value) -> io::Result<()> {
    raw_json(&value.to_string())
}

/// Writes JSON text as it is, except that what could act on a terminal is written as an escape.
pub(crate) fn raw_json(json: &str) -> io::Result<()> {
    if matches!(clean(json), std::borrow::Cow::Borrowed(_)) {
        return text(json);
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        // Below U+0080 JSON itself leaves no controls in a string, except DEL.
        if (!c.is_ascii() || c == '\u{7f}')
            && *clean(c.encode_utf8(&mut [0; 4])) != *c.encode_utf8(&mut [0; 4])
        {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    text(&escaped)
}

/// How rows are laid out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout {
    /// The titles of the columns; none when empty.
    pub(crate) header: &'static [&'static str],
    /// Spaces before each row.
    pub(crate) indent: u16,
    /// The least width of the first column, so that several tables align.
    pub(crate) first: u16,
    /// Whether a row that is too wide for the terminal is cut, and not continued below.
    pub(crate) cut: bool,
}

/// Aligns rows in columns; only the last column gives way when the terminal is narrow.
pub(crate) fn grid(layout: Layout, rows: Vec<Vec<Cell>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // A terminal that does not know its width says 0.
    if table.width().is_some_and(|width| width >= 40) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.style_text_only();
    if !layout.header.is_empty() {
        table.set_header(layout.header.iter().map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    }
    for cells in rows {
        let mut row = Row::from(cells);
        if layout.cut {
            row.max_height(1);
        }
        table.add_row(row);
    }
    let last = table.column_count().saturating_sub(1);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if at == 0 { layout.indent } else { 0 }, if at == last { 0 } else { 2 }));
        if at == 0 {
            let least = layout.first + layout.indent + 2;
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        } else if at != last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.trim_fmt()
}

/// Counts things: `1 tool`, `2 tools`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}
