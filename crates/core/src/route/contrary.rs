//! What the name of a tool says that a request contradicts: what makes PDF files does not make a `report.docx`.

use crate::lexicon::{file_format, split_ending};
use crate::tool::words::words;

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

/// Returns the format that a tool makes, where its name says so, as `convert_to_pdf` does.
pub(super) fn made(tool: &str) -> Option<&'static str> {
    let named: Vec<String> = words(tool).map(str::to_lowercase).collect();
    named.windows(2).filter(|pair| is_way(&pair[0])).find_map(|pair| file_format(&pair[1]))
}

fn is_way(word: &str) -> bool {
    ["to", "2", "into", "as"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
