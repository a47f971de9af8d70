//! What the names of a tool and its server say that a request contradicts: what makes PDF files does not make a
//! `report.docx`, and what writes Word documents does not write a `report.txt`.

use std::sync::LazyLock;

use crate::language::WordSet;
use crate::lexicon::{file_format, split_ending};
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;
use crate::tool::{Effect, Tool};

/// Words before what something becomes.
static INTO: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.prepositions.into));
/// Words that may stand between, such as an article.
const BETWEEN: usize = 2;

/// Formats of what documents hold: a file of one is often put into something, and is not what is made.
const HELD: [&str; 8] = ["png", "jpg", "gif", "svg", "webp", "mp3", "wav", "mp4"];

/// The formats that a request names.
pub(super) struct Formats {
    /// Every one that it names.
    named: Vec<&'static str>,
    /// The one that it wants something to have.
    wanted: &'static str,
    /// Whether it names a document for that.
    is_document: bool,
}

impl Formats {
    /// Reads a request that wants something in a format: that of the last file or format that it names behind a word
    /// such as `to`.
    pub(super) fn wanted(task: &str) -> Option<Self> {
        let said: Vec<&str> = task
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '.'))
            .collect();
        let is_into = |word: &str| INTO.has(&word.to_lowercase());
        let behind = |at: usize| {
            said[at + 1..]
                .iter()
                .take(BETWEEN + 1)
                .find_map(|word| Some((named(word)?, ending(word).is_some())))
        };
        let (wanted, is_file) = (0..said.len()).rev().filter(|at| is_into(said[*at])).find_map(behind)?;
        Some(Self {
            named: said.iter().filter_map(|word| named(word)).collect(),
            wanted,
            is_document: is_file && !HELD.contains(&wanted),
        })
    }

    /// Whether a tool makes files of another format than the one that is wanted: its name says so, or a document
    /// is wanted, it changes something, its server is named after a format that the request does not name, and it says
    /// nothing of the one that is wanted.
    pub(super) fn are_against(&self, tool: &Tool) -> bool {
        if let Some(made) = made(&tool.name) {
            return made != self.wanted;
        }
        if !self.is_document || tool.effect == Effect::Read {
            return false;
        }
        // Text is in files of any format.
        let is_wanted = |word: &str| {
            word == self.wanted || self.wanted != "txt" && file_format(word) == Some(self.wanted)
        };
        let says = |text: &str| words(text).any(|word| is_wanted(&word.to_lowercase()));
        let is_for_another =
            words(&tool.server).filter_map(file_format).any(|it| it != "txt" && !self.named.contains(&it));
        is_for_another && !says(&tool.server) && !says(tool.definition.get())
    }
}

/// Returns the format that a word of a request names, as a file of it or by its name.
fn named(word: &str) -> Option<&'static str> {
    file_format(ending(word).unwrap_or_else(|| word.trim_matches('.')))
}

/// Returns the ending of the file that a word names.
fn ending(word: &str) -> Option<&str> {
    split_ending(word.trim_end_matches('.')).map(|(_, ending)| ending)
}

/// Returns the format that a tool makes, where its name says so, as `convert_to_pdf` does.
fn made(tool: &str) -> Option<&'static str> {
    let named: Vec<String> = words(tool).map(str::to_lowercase).collect();
    named
        .windows(2)
        .filter(|pair| vocabulary().names.into.contains(&pair[0]))
        .find_map(|pair| file_format(&pair[1]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::{Advertised, Bounds, Catalog};

    #[test]
    fn r9_what_makes_another_format_is_told_by_its_name() {
        for (task, format) in [
            ("convert it to /home/me/report.docx", Some("docx")),
            ("Turn notes.md into a Word document", Some("docx")),
            ("convert each file to docx.", Some("docx")),
            ("save the page as PDF", Some("pdf")),
            ("Convert notes.md", None),
            ("convert 5 miles to km", None),
            ("send it to Anna", None),
        ] {
            assert_eq!(Formats::wanted(task).map(|it| it.wanted), format, "{task}");
        }
        assert_eq!(made("convert_to_pdf"), Some("pdf"));
        assert_eq!(made("docxToPdf"), Some("pdf"));
        assert_eq!(made("convert-contents"), None);
        assert_eq!(made("move_to_folder"), None);
    }

    #[test]
    fn r9_what_a_server_for_another_format_writes_is_not_what_is_wanted() {
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 9 };
        let tool = |server: &str, name: &str, description: &str| {
            let definition =
                json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
            let tools = vec![serde_json::value::to_raw_value(&definition).unwrap()];
            let (catalog, problems) =
                Catalog::gather([(Advertised { server: server.into(), tools }, bounds)]);
            assert!(problems.is_empty(), "{problems:?}");
            catalog.tools()[0].clone()
        };
        for (server, name, description, task, expected) in [
            ("word", "add_paragraph", "Add a paragraph of text", "write it to a.txt", true),
            ("word", "add_paragraph", "Add a paragraph of text", "write it to a.docx", false),
            ("word", "add_paragraph", "Add a paragraph of text", "write a.docx to a.txt", false),
            ("word", "get_text", "Get the text", "write it to a.txt", false),
            ("word", "save_copy", "Save as docx or txt", "write it to a.txt", false),
            ("excel", "export_sheet", "Write a sheet into a CSV file", "save it as a.csv", false),
            ("excel", "export_sheet", "Write a sheet into a CSV file", "save it as a.json", true),
            ("excel", "export_sheet", "Write a sheet into a CSV file", "save it as json", false),
            ("excel", "export_sheet", "Write a sheet into a CSV file", "save the Excel as a.json", false),
            ("word", "add_picture", "Add a picture", "add to the end a.png", false),
            ("filesystem", "write_file", "Write a file", "write it to a.txt", false),
            ("text", "write_file", "Write a file", "write it to a.md", false),
            ("pdf", "convert_to_docx", "Convert", "turn it into a.docx", false),
        ] {
            let tool = tool(server, name, description);
            let formats = Formats::wanted(task).unwrap();
            assert_eq!(formats.are_against(&tool), expected, "{server} {name}: {task}");
        }
    }
}
