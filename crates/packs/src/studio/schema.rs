//! Pieces that the schemas of the studio's tools share.

use serde_json::{Value, json};

use crate::{arguments::Arguments, reply::Refusal, tool::record};

/// A page of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) offset: usize,
    pub(super) limit: usize,
}

impl Page {
    /// Reads `offset` and `limit`, which the schema has checked.
    pub(super) fn of(arguments: &Arguments<'_>) -> Self {
        Self { offset: arguments.whole("offset", 0), limit: arguments.whole("limit", 20) }
    }

    /// Reads them for a list that is not one when `key` names a single thing.
    pub(super) fn unless(arguments: &Arguments<'_>, key: &str) -> Result<Self, Refusal> {
        let page = Self::of(arguments);
        if arguments.value(key).is_some() && (page.offset, page.limit) != (0, 20) {
            let text = format!(
                "`offset` and `limit` are for lists: leave them out, or leave out `{key}` to list all"
            );
            return Err(Refusal::new(text));
        }
        Ok(page)
    }

    /// Returns limit and offset as a query takes them; the schema keeps both small.
    pub(super) fn bounds(self) -> [i64; 2] {
        [self.limit, self.offset].map(|it| i64::try_from(it).unwrap_or(i64::MAX))
    }

    /// Says whether there is more behind a page that holds this many.
    pub(super) fn has_more(self, shown: usize, total: usize) -> bool {
        self.offset.saturating_add(shown) < total
    }

    /// Takes the page out of a list.
    pub(super) fn take<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.offset).take(self.limit).collect()
    }
}

/// The input `offset`.
pub(super) fn offset() -> Value {
    json!({
        "type": "integer", "description": "How many to leave out at the start.",
        "minimum": 0, "maximum": 1_000_000, "default": 0, "examples": [20],
    })
}

/// The input `limit`, at most `most`.
pub(super) fn limit(most: u32) -> Value {
    json!({
        "type": "integer", "description": "How many to return.",
        "minimum": 1, "maximum": most, "default": 20, "examples": [20],
    })
}

/// A short text as input.
pub(super) fn line(description: &str, most: u32, examples: &[&str]) -> Value {
    json!({
        "type": "string", "description": description, "minLength": 1, "maxLength": most, "examples": examples,
    })
}

/// A long text as input; it may be empty.
pub(super) fn text(description: &str, most: u32, examples: &[&str]) -> Value {
    json!({ "type": "string", "description": description, "maxLength": most, "examples": examples })
}

/// A choice as input.
pub(super) fn choice(description: &str, choices: &[&str]) -> Value {
    json!({ "type": "string", "description": description, "enum": choices, "examples": [choices[0]] })
}

/// A yes or no as input.
pub(super) fn flag(description: &str, default: bool) -> Value {
    json!({ "type": "boolean", "description": description, "default": default, "examples": [!default] })
}

/// The input `slug`.
pub(super) fn slug(description: &str, example: &str) -> Value {
    line(description, 100, &[example])
}

/// The input `confirm`.
pub(super) fn confirm() -> Value {
    flag("Has to be true for what cannot be undone; nothing happens without it.", false)
}

/// The input `image_path`.
pub(super) fn image_path() -> Value {
    line("An image in `uploads/`: png, jpg or webp, at most 10 MB.", 1000, &["uploads/bottle.png"])
}

/// A list of short texts as input.
pub(super) fn lines(description: &str, most_items: u32, most: u32, example: &[&str]) -> Value {
    json!({
        "type": "array", "description": description, "maxItems": most_items,
        "items": { "type": "string", "minLength": 1, "maxLength": most }, "examples": [example],
    })
}

/// Text in an answer.
pub(super) fn said(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// A number in an answer.
pub(super) fn count(description: &str) -> Value {
    json!({ "type": "integer", "description": description })
}

/// A yes or no in an answer.
pub(super) fn is(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

/// A list of records in an answer.
pub(super) fn records(fields: &Value) -> Value {
    json!({ "type": "array", "items": record(fields) })
}

/// A list of texts in an answer.
pub(super) fn texts(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

/// An object with fields of the user's own in an answer.
pub(super) fn free(description: &str) -> Value {
    json!({ "type": "object", "description": description })
}

/// Colours of an image in an answer.
pub(super) fn colours() -> Value {
    records(&json!({
        "hex": said("The colour, such as #1a2b3c."),
        "share": { "type": "number", "description": "How much of the image has it, from 0 to 1." },
    }))
}

/// Makes the answer of a list: the page, how many there are, and whether there is more.
pub(super) fn page_of(name: &str, items: Value) -> Value {
    let mut fields = json!({});
    fields[name] = items;
    fields["total_count"] = count("How many there are in all.");
    fields["offset"] = count("How many were left out at the start.");
    fields["has_more"] = is("Whether there are more after this page.");
    fields
}
