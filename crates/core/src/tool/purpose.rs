//! What a parameter is for, as far as the last word of its name tells.

use super::words::words;

/// Parameters that say which thing is meant.
const IDENTITY: [&str; 30] = [
    "path", "paths", "id", "ids", "file", "files", "filename", "filepath", "name", "names", "uri", "url",
    "urls", "number", "key", "ref", "sha", "revision", "slug", "source", "note", "page", "document",
    "entity", "node", "hash", "target", "title", "handle", "uuid",
];
/// Parameters that hold what is written or told.
const CONTENT: [&str; 22] = [
    "content",
    "contents",
    "text",
    "body",
    "message",
    "description",
    "markdown",
    "data",
    "html",
    "comment",
    "input",
    "summary",
    "observations",
    "entities",
    "values",
    "value",
    "details",
    "expression",
    "caption",
    "rows",
    "subject",
    "query",
];

/// Whether a parameter holds what is written or told.
pub(crate) fn is_content(parameter: &str) -> bool {
    last_word_in(parameter, &CONTENT)
}

/// Whether a parameter says which thing is meant.
pub(crate) fn is_identity(parameter: &str) -> bool {
    last_word_in(parameter, &IDENTITY)
}

fn last_word_in(parameter: &str, known: &[&str]) -> bool {
    let last = words(parameter).last().map(str::to_lowercase);
    last.is_some_and(|last| known.contains(&last.as_str()))
}
