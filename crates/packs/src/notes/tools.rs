//! The definitions of the notes tools.

use serde_json::{Value, json};

use super::{Vault, create_note, list_notes, read_note, search_notes, tag_note, update_note};
use crate::tool::{Effect, Spec, Tool, record};

/// Returns the tools of the notes pack.
pub(crate) fn tools() -> Vec<Tool<Vault>> {
    vec![
        search().run(search_notes),
        read().run(read_note),
        create().run(create_note),
        update().run(update_note),
        tag().run(tag_note),
        list().run(list_notes),
    ]
}

fn search() -> Spec {
    Spec {
        name: "search_notes".into(),
        title: "Search notes".into(),
        description: "Searches the Markdown notes for words in titles, text, headings and tags, best first. Use \
            for \"search my notes for AI\", \"what did I write about the garden\". Does not show a whole note \
            (use read_note), does not list without words (use list_notes), does not search the web. Args: query, \
            e.g. \"AI\", \"local models\", \"\\\"exact phrase\\\"\", \"#todo\"; tag, folder (optional filters), \
            e.g. \"ideas\", \"Projects\"; limit (10). Returns for each note path, title, tags, score and a \
            snippet, and how many there are.".into(),
        effect: Effect::Reads,
        input: (
            json!({
                "query": {
                    "type": "string",
                    "description": "Words to find; a phrase in double quotes and #tags must be there.",
                    "minLength": 1,
                    "maxLength": 500,
                    "examples": ["AI", "garden watering", "\"local models\"", "#todo"],
                },
                "tag": tag_filter(),
                "folder": folder("Only notes in this folder and below."),
                "limit": number("How many notes to return.", 1, 50, 10),
            }),
            vec!["query".to_owned()],
        ),
        output: json!({
            "results": {
                "type": "array",
                "items": record(&json!({
                    "path": path(),
                    "title": title(),
                    "tags": tags(),
                    "modified": modified(),
                    "score": { "type": "number", "description": "Higher fits better." },
                    "snippet": { "type": "string", "description": "The line that fits best." },
                })),
            },
            "total_count": { "type": "integer", "description": "How many notes fit." },
            "has_more": has_more(),
            "skipped": skipped(),
            "incomplete": incomplete(),
        }),
    }
}

fn read() -> Spec {
    Spec {
        name: "read_note".into(),
        title: "Read a note".into(),
        description: "Shows the text of one note. Use to open, quote or summarise a note whose path or title is \
            known. Does not find notes by their content (use search_notes) nor change them (use update_note). Args: \
            note, path or title, e.g. \"Projects/Plan.md\", \"Plan\"; heading (optional), only that section, e.g. \
            \"Next steps\"; start_line (1) and max_lines (400) for long notes. Returns the text, title, tags, time \
            of change, and the revision that update_note can check. A name that fits several notes is answered with \
            the candidates.".into(),
        effect: Effect::Reads,
        input: (
            json!({
                "note": note(),
                "heading": heading("Show only the section under this heading."),
                "start_line": number("The first line to show.", 1, 1_000_000, 1),
                "max_lines": number("How many lines to show.", 1, 5000, 400),
            }),
            vec!["note".to_owned()],
        ),
        output: json!({
            "path": path(),
            "title": title(),
            "tags": tags(),
            "modified": modified(),
            "revision": revision(),
            "content": { "type": "string", "description": "The text, Markdown with its front matter." },
            "start_line": { "type": "integer" },
            "total_lines": { "type": "integer" },
            "has_more": has_more(),
            "shortened": { "type": "boolean", "description": "Whether the end of a very long line is left out." },
        }),
    }
}

fn create() -> Spec {
    Spec {
        name: "create_note".into(),
        title: "Create a note".into(),
        description: "Creates a new Markdown note. Use for \"make a note called Groceries\", \"write this down\". \
            Does not overwrite: a title that is taken is refused (add to that note with update_note). Args: title, \
            e.g. \"Reading list\"; content (optional), Markdown, e.g. \"- Dune\\n- Emma\"; folder (optional, made when \
            missing), e.g. \"Projects/2026\"; tags (optional), e.g. [\"books\", \"todo\"]. The title becomes the file's \
            name and, when the content has none, its first heading. Returns path, title, tags and revision.".into(),
        effect: Effect::Adds,
        input: (
            json!({
                "title": {
                    "type": "string",
                    "description": "The title, without slashes.",
                    "minLength": 1,
                    "maxLength": 150,
                    "examples": ["Reading list", "Meeting with Ana"],
                },
                "content": content("The text, Markdown."),
                "folder": folder("Where to put it; without it, at the top."),
                "tags": tag_list("Tags to give it."),
            }),
            vec!["title".to_owned()],
        ),
        output: json!({
            "revision": revision(),
            "path": path(),
            "title": title(),
            "tags": tags(),
        }),
    }
}

fn update() -> Spec {
    Spec {
        name: "update_note".into(),
        title: "Update a note".into(),
        description: "Changes the text of a note. Use to add to a note, rewrite it or one of its sections. Does not \
            create (use create_note), tag (use tag_note) or delete notes. Args: note, path or title; content, \
            Markdown; mode (append): append at the end, prepend below the title, replace everything below the front \
            matter, replace_section with heading, e.g. \"Next steps\"; expected (optional), the revision from \
            read_note: when the note has changed since, nothing is written. Returns path, title, tags, the new and \
            the previous revision, and whether it changed.".into(),
        effect: Effect::Changes,
        input: (
            json!({
                "note": note(),
                "content": content("The text to write, Markdown."),
                "mode": {
                    "type": "string",
                    "description": "Where the text goes.",
                    "enum": ["append", "prepend", "replace", "replace_section"],
                    "default": "append",
                },
                "heading": heading("With replace_section: the heading whose section is replaced; it stays itself."),
                "expected": expected(),
            }),
            vec!["note".to_owned(), "content".to_owned()],
        ),
        output: changed(json!({})),
    }
}

fn tag() -> Spec {
    Spec {
        name: "tag_note".into(),
        title: "Tag a note".into(),
        description: "Adds tags to a note, removes tags from it, or both. Use for \"tag the plan as urgent\", \"this \
            is no longer a todo\". Does not find notes by tag (use list_notes or search_notes) nor change other text \
            (use update_note). Args: note, path or title; add and remove, e.g. [\"urgent\"], [\"todo\"]; expected \
            (optional), the revision from read_note. Tags are added to the front matter and removed from there and \
            from #tags in the text. Returns the note's tags, what was added and removed, and the new revision.".into(),
        effect: Effect::Settles,
        input: (
            json!({
                "note": note(),
                "add": tag_list("Tags to add; required unless remove is given."),
                "remove": tag_list("Tags to remove; required unless add is given."),
                "expected": expected(),
            }),
            vec!["note".to_owned()],
        ),
        output: changed(json!({
            "added": tags(),
            "removed": tags(),
            "removed_from_text": { "type": "integer", "description": "How many #tags were taken out of the text." },
        })),
    }
}

fn list() -> Spec {
    Spec {
        name: "list_notes".into(),
        title: "List notes".into(),
        description: "Lists notes with title, tags and time of change. Use for \"my latest notes\", \"all notes tagged \
            todo\", \"what is in Projects\". Does not look into the text (use search_notes) nor show it (use \
            read_note). Args, all optional: folder, e.g. \"Projects\"; tag, e.g. \"todo\" (also finds \"todo/home\"); \
            sort, \"modified\" (newest first, the default) or \"name\"; limit (50) and offset (0) for pages. Returns the \
            notes of this page, how many there are in all, and whether there are more.".into(),
        effect: Effect::Reads,
        input: (
            json!({
                "folder": folder("Only notes in this folder and below."),
                "tag": tag_filter(),
                "sort": {
                    "type": "string",
                    "description": "Newest first, or by path.",
                    "enum": ["modified", "name"],
                    "default": "modified",
                },
                "limit": number("How many notes to return.", 1, 200, 50),
                "offset": number("How many notes to leave out at the start.", 0, 1_000_000, 0),
            }),
            Vec::new(),
        ),
        output: json!({
            "notes": {
                "type": "array",
                "items": record(&json!({
                    "path": path(),
                    "title": title(),
                    "tags": tags(),
                    "modified": modified(),
                })),
            },
            "total_count": { "type": "integer", "description": "How many notes there are in all." },
            "offset": { "type": "integer" },
            "has_more": has_more(),
            "skipped": skipped(),
            "incomplete": incomplete(),
        }),
    }
}

fn changed(mut properties: Value) -> Value {
    properties["revision"] = revision();
    properties["previous_revision"] = revision();
    properties["changed"] = json!({ "type": "boolean", "description": "Whether the note is different now." });
    properties["path"] = path();
    properties["title"] = title();
    properties["tags"] = tags();
    properties
}

fn note() -> Value {
    json!({
        "type": "string",
        "description": "The note: its path, or its title or a part of it when only one note fits.",
        "minLength": 1,
        "maxLength": 1000,
        "examples": ["Projects/Plan.md", "Welcome to Toolyard"],
    })
}

fn content(description: &str) -> Value {
    json!({
        "type": "string",
        "description": description,
        "maxLength": 1_000_000,
        "examples": ["- call Ana\n- order seeds"],
    })
}

fn heading(description: &str) -> Value {
    json!({
        "type": "string",
        "description": description,
        "minLength": 1,
        "maxLength": 500,
        "examples": ["Next steps"],
    })
}

fn expected() -> Value {
    json!({
        "type": "string",
        "description": "The revision that read_note returned; another one now means that nothing is written.",
        "pattern": "^[0-9a-f]{8,64}$",
        "examples": ["9f8a3c5d1e2b4f60"],
    })
}

fn folder(description: &str) -> Value {
    json!({ "type": "string", "description": description, "maxLength": 1000, "examples": ["Projects", "Projects/2026"] })
}

fn tag_filter() -> Value {
    json!({
        "type": "string",
        "description": "Only notes with this tag, or one below it.",
        "minLength": 1,
        "maxLength": 100,
        "examples": ["todo", "work/plans"],
    })
}

fn tag_list(description: &str) -> Value {
    json!({
        "type": "array",
        "description": format!("{description} With or without #, no spaces."),
        "items": { "type": "string", "minLength": 1, "maxLength": 100 },
        "maxItems": 50,
        "examples": [["todo", "reading-list"]],
    })
}

fn number(description: &str, least: u32, most: u32, default: u32) -> Value {
    json!({
        "type": "integer",
        "description": description,
        "minimum": least,
        "maximum": most,
        "default": default,
        "examples": [default],
    })
}

fn path() -> Value {
    json!({ "type": "string", "description": "Path inside the folder of notes." })
}

fn title() -> Value {
    json!({ "type": "string", "description": "Title of the note." })
}

fn tags() -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": "Tags, without #." })
}

fn modified() -> Value {
    json!({ "type": "string", "description": "When the file was last changed, ISO 8601 in UTC." })
}

fn revision() -> Value {
    json!({ "type": "string", "description": "Stands for exactly this text." })
}

fn has_more() -> Value {
    json!({ "type": "boolean", "description": "Whether there is more than was returned." })
}

fn skipped() -> Value {
    json!({
        "type": "array",
        "items": record(&json!({ "path": path(), "reason": { "type": "string" } })),
        "description": "Files that could not be looked at, at most ten.",
    })
}

fn incomplete() -> Value {
    json!({ "type": "boolean", "description": "Whether the folder is larger than is looked at in one go." })
}
