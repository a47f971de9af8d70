//! Text files of the workspace: read, write, list.
//!
//! Everything goes through the sandbox. The database, hidden files and the file `STOP` are not offered.

use serde_json::json;

use super::{
    Studio,
    action::{Action, Actions},
    describe::Doc,
    interrupt,
    schema::{self, Page, choice, confirm, count, flag, is, line, page_of, records, said},
    store, tasks,
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome, Refusal, shown},
    sandbox::{self, SafePath, Shape, Writing},
    tool::{Effect, Spec, Tool},
};

const MODES: Actions = Actions {
    tool: "write_file",
    key: "mode",
    all: &[
        Action { name: "create", required: &["path", "content"], optional: &[], confirm: false },
        Action { name: "append", required: &["path", "content"], optional: &[], confirm: false },
        Action { name: "replace", required: &["path", "content"], optional: &[], confirm: true },
    ],
};

/// A text file may have this many bytes.
const LARGEST: u64 = 4 * 1024 * 1024;
/// An answer carries this many bytes of text.
const MOST_ANSWERED: usize = 100_000;
/// A listing goes this many levels down.
const LEVELS: usize = 15;

pub(super) fn tools() -> Vec<Tool<Studio>> {
    let tools = [read_spec().run(read), write_spec().run(write), list_spec().run(list)];
    tools.into_iter().map(|tool| tool.tagged(["domain:files"])).collect()
}

fn read(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let path = offered(arguments.required("path"))?;
    let text = text_of(studio, &path)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let start = arguments.whole("start_line", 1);
    if lines.len().max(1) < start {
        return Err(Refusal::new(format!(
            "`start_line` is {start}, and `{}` has {} lines",
            path.as_str(),
            lines.len()
        )));
    }
    let (mut content, mut next) = (String::new(), start);
    for line in lines.iter().skip(start - 1).take(arguments.whole("max_lines", 400)) {
        if MOST_ANSWERED < content.len() + line.len() && !content.is_empty() {
            break;
        }
        content.push_str(line);
        next += 1;
    }
    // Only a single line can still be longer than an answer may be.
    let shortened = MOST_ANSWERED < content.len();
    content.truncate(content.floor_char_boundary(MOST_ANSWERED));
    Ok(Answer::json(json!({
        "path": path.as_str(),
        "content": content,
        "start_line": start,
        "total_lines": lines.len(),
        "has_more": next <= lines.len(),
        "shortened": shortened,
        "bytes": text.len(),
    })))
}

fn write(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let mode = MODES.chosen(arguments)?;
    let path = offered(arguments.required("path"))?;
    if tasks::owns(&path) {
        return Err(Refusal::new(format!(
            "`{}` is a task file: change it with update_task, or make one with create_task_file",
            path.as_str()
        )));
    }
    let content = arguments.required("content");
    let (bytes, replaced) = studio.store.write(|_| {
        let there = studio.sandbox.holds(&path);
        let text = match mode.name {
            "append" if there => format!("{}{content}", text_of(studio, &path)?),
            _ => content.to_owned(),
        };
        if LARGEST < text.len() as u64 {
            return Err(Refusal::new(format!("`{}` would be larger than 4 MiB: nothing was written", path.as_str())));
        }
        let how = if mode.name == "create" { Writing::New } else { Writing::Replace };
        studio.sandbox.write(&path, text.as_bytes(), how).map_err(|error| match error {
            sandbox::Error::Exists(path) => Refusal::new(format!(
                "there is a file `{path}` already: send mode=\"append\" to add to it, or mode=\"replace\" with \
                 confirm=true to replace it"
            )),
            sandbox::Error::Missing(_)
            | sandbox::Error::Link(_)
            | sandbox::Error::HardLink(_)
            | sandbox::Error::NotAFile(_)
            | sandbox::Error::NotAFolder(_)
            | sandbox::Error::TooLarge { .. }
            | sandbox::Error::ReadOnly(_)
            | sandbox::Error::System { .. } => error.into(),
        })?;
        Ok((text.len(), there && mode.name == "replace"))
    })?;
    Ok(Answer::json(
        json!({ "path": path.as_str(), "mode": mode.name, "bytes": bytes, "replaced": replaced }),
    ))
}

fn list(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let page = Page::of(arguments);
    let folder = match arguments.text("path").unwrap_or_default() {
        "" | "." => None,
        path => Some(offered(path.strip_suffix('/').unwrap_or(path))?),
    };
    let levels = if arguments.flag("recursive") == Some(true) { LEVELS } else { 0 };
    let listing = studio.sandbox.list(folder.as_ref(), levels)?;
    let entries: Vec<_> = listing.entries.into_iter().filter(|entry| !is_reserved(&entry.path)).collect();
    let total = entries.len();
    let entries = page.take(entries);
    let rows = entries.iter().map(|entry| {
        let (kind, bytes) = match entry.shape {
            Shape::File(bytes) => ("file", bytes),
            Shape::Folder => ("folder", 0),
        };
        json!({ "path": entry.path.as_str(), "kind": kind, "bytes": bytes })
    });
    Ok(Answer::json(json!({
        "files": rows.collect::<Vec<_>>(),
        "total_count": total,
        "offset": page.offset,
        "has_more": page.has_more(entries.len(), total),
        "skipped": listing.skipped,
        "incomplete": listing.cut,
    })))
}

/// Reads a path that the tools may use.
fn offered(text: &str) -> Result<SafePath, Refusal> {
    let path = SafePath::parse(text)?;
    if is_reserved(&path) {
        return Err(Refusal::new(format!(
            "`{}` belongs to the studio itself and is not offered",
            path.as_str()
        )));
    }
    Ok(path)
}

/// Whether a file is the studio's own, in whatever capitals, because some systems do not tell them apart.
fn is_reserved(path: &SafePath) -> bool {
    let path = path.as_str().to_lowercase();
    path.starts_with(store::FILE) || path == interrupt::FILE.to_lowercase()
}

fn text_of(studio: &Studio, path: &SafePath) -> Result<String, Refusal> {
    let bytes = studio.sandbox.read(path, LARGEST)?;
    String::from_utf8(bytes).map_err(|_| {
        Refusal::new(format!(
            "`{}` is not UTF-8 text: images are described by browse_brand_assets and get_context",
            shown(path.as_str())
        ))
    })
}

fn read_spec() -> Spec {
    let doc = Doc {
        purpose: "Reads a text file of the workspace.",
        prerequisite: "the file exists (list_files).",
        use_when: &["open, quote or summarise a file", "go on reading a long file"],
        not: &["show images (use browse_brand_assets, get_context)", "change a file (use write_file)"],
        args: &[
            "path: inside the workspace, e.g. \"notes/brief.md\"",
            "start_line: Defaults to 1",
            "max_lines: 1 to 5000. Defaults to 400",
        ],
        returns: "JSON with content, total_lines and has_more.",
        examples: &[
            "read_file(path=\"notes/brief.md\")",
            "read_file(path=\"notes/brief.md\", start_line=401)",
        ],
    };
    Spec {
        name: "read_file".into(),
        title: "Read a file".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "path": line("The file, inside the workspace.", 1000, &["notes/brief.md"]),
                "start_line": {
                    "type": "integer", "description": "The first line to show.",
                    "minimum": 1, "maximum": 10_000_000, "default": 1, "examples": [401],
                },
                "max_lines": {
                    "type": "integer", "description": "How many lines to show.",
                    "minimum": 1, "maximum": 5000, "default": 400, "examples": [400],
                },
            }),
            vec!["path".to_owned()],
        ),
        output: json!({
            "path": said("The file."),
            "content": said("Its text."),
            "start_line": count("The first line shown."),
            "total_lines": count("How many lines it has."),
            "has_more": is("Whether there are more lines."),
            "shortened": is("Whether the end of a very long line is left out."),
            "bytes": count("Size of the file."),
        }),
    }
}

fn write_spec() -> Spec {
    let doc = Doc {
        purpose: "Writes a text file in the workspace, and the folders on the way.",
        prerequisite: "none; replacing a file needs confirm.",
        use_when: &["save a text, brief or caption", "add to a file, or replace it"],
        not: &[
            "overwrite a file without mode replace and confirm",
            "change tasks (use update_task) or remember facts (use update_memory)",
        ],
        args: &[
            "path: inside the workspace, e.g. \"notes/brief.md\"",
            "content: the text, e.g. \"# Brief\"",
            "mode: create (refused when the file exists), append, replace. Defaults to create",
            "confirm: true with replace",
        ],
        returns: "JSON with path, mode, bytes and whether a file was replaced.",
        examples: &[
            "write_file(path=\"notes/brief.md\", content=\"# Brief\")",
            "write_file(path=\"notes/brief.md\", content=\"# New\", mode=\"replace\", confirm=true)",
        ],
    };
    Spec {
        name: "write_file".into(),
        title: "Write a file".into(),
        description: doc.text().into(),
        effect: Effect::Changes,
        input: (
            json!({
                "path": line("The file, inside the workspace.", 1000, &["notes/brief.md"]),
                "content": schema::text("The text.", 1_000_000, &["# Brief"]),
                "mode": choice("What to do when the file exists.", &MODES.names()),
                "confirm": confirm(),
            }),
            vec!["path".to_owned(), "content".to_owned()],
        ),
        output: json!({
            "path": said("The file."),
            "mode": said("create, append or replace."),
            "bytes": count("Size of the file."),
            "replaced": is("Whether a file was replaced."),
        }),
    }
}

fn list_spec() -> Spec {
    let doc = Doc {
        purpose: "Lists the files and folders of the workspace.",
        prerequisite: "none.",
        use_when: &["see which files there are", "find the path of an uploaded or generated file"],
        not: &[
            "show what is in a file (use read_file)",
            "tell what images are used for (use browse_brand_assets)",
        ],
        args: &[
            "path: a folder, e.g. \"uploads\"; without it, the workspace",
            "recursive: also what lies in folders below. Defaults to false",
            "offset: Defaults to 0",
            "limit: 1 to 100. Defaults to 20",
        ],
        returns: "JSON with files (path, kind, bytes), total_count and has_more; skipped counts links and odd names.",
        examples: &["list_files()", "list_files(path=\"uploads\", recursive=true)"],
    };
    let mut output = page_of(
        "files",
        records(&json!({
            "path": said("Where it is in the workspace."),
            "kind": said("file or folder."),
            "bytes": count("Size of a file; 0 for a folder."),
        })),
    );
    output["skipped"] = count("How many links and other odd entries were left out.");
    output["incomplete"] = is("Whether there is more than is looked at in one go.");
    Spec {
        name: "list_files".into(),
        title: "List files".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "path": schema::text("A folder; without it, the workspace.", 1000, &["uploads"]),
                "recursive": flag("Whether to go into folders.", false),
                "offset": schema::offset(),
                "limit": schema::limit(100),
            }),
            Vec::new(),
        ),
        output,
    }
}
