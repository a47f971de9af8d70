//! What the names of a tool and its server say that a request contradicts: what makes PDF files does not make a
//! `report.docx`, and what writes Word documents does not write a `report.txt`.

use crate::lexicon::{file_format, split_ending};
use crate::tool::words::words;
use crate::tool::{Effect, Tool};

/// Words before what something becomes.
const INTO: [&str; 12] =
    ["to", "into", "as", "nach", "zu", "als", "vers", "en", "hacia", "para", "verso", "в"];
/// Words that may stand between, such as an article.
const BETWEEN: usize = 2;

/// Returns the format that a request wants something to have, by the last file or format that it names behind a word
/// such as `to`.
pub(super) fn wanted(task: &str) -> Option<&'static str> {
    let said: Vec<&str> = task
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '.'))
        .collect();
    let is_into = |word: &str| INTO.contains(&word.to_lowercase().as_str());
    let named = |word: &&str| {
        let word = word.trim_end_matches('.');
        let bare = word.trim_start_matches('.');
        split_ending(word).map_or_else(|| file_format(bare), |(_, ending)| file_format(ending))
    };
    let behind = |at: usize| said[at + 1..].iter().take(BETWEEN + 1).find_map(named);
    (0..said.len()).rev().filter(|at| is_into(said[*at])).find_map(behind)
}

/// Whether a tool makes files of another format: its name says so, or it changes something, its server is named after
/// another format, and it says nothing of the one that is wanted.
pub(super) fn makes_another(tool: &Tool, wanted: &str) -> bool {
    if let Some(made) = made(&tool.name) {
        return made != wanted;
    }
    // Text is in files of any format.
    let names = |word: &str| word == wanted || wanted != "txt" && file_format(word) == Some(wanted);
    let says = |text: &str| words(text).any(|word| names(&word.to_lowercase()));
    let is_for_another = words(&tool.server).filter_map(file_format).any(|it| it != wanted && it != "txt");
    tool.effect != Effect::Read && is_for_another && !says(&tool.server) && !says(tool.definition.get())
}

/// Returns the format that a tool makes, where its name says so, as `convert_to_pdf` does.
fn made(tool: &str) -> Option<&'static str> {
    let named: Vec<String> = words(tool).map(str::to_lowercase).collect();
    named.windows(2).filter(|pair| is_way(&pair[0])).find_map(|pair| file_format(&pair[1]))
}

fn is_way(word: &str) -> bool {
    ["to", "2", "into", "as"].contains(&word)
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
            assert_eq!(wanted(task), format, "{task}");
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
        for (server, name, description, wanted, expected) in [
            ("word", "add_paragraph", "Add a paragraph of text", "txt", true),
            ("word", "add_paragraph", "Add a paragraph of text", "docx", false),
            ("word", "get_text", "Get the text", "txt", false),
            ("word", "save_copy", "Save as docx or txt", "txt", false),
            ("excel", "export_sheet", "Write a sheet into a CSV file", "csv", false),
            ("excel", "export_sheet", "Write a sheet into a CSV file", "json", true),
            ("filesystem", "write_file", "Write a file", "txt", false),
            ("text", "write_file", "Write a file", "md", false),
            ("pdf", "convert_to_docx", "Convert", "docx", false),
        ] {
            let tool = tool(server, name, description);
            assert_eq!(makes_another(&tool, wanted), expected, "{server} {name}, {wanted}");
        }
    }
}
