//! The formats of files that people speak of, by the names and the endings they go by.

/// Each format: the ending that new files get, then what else it is called.
const FORMATS: [(&str, &[&str]); 27] = [
    ("md", &["markdown", "mdown"]),
    ("html", &["htm", "webpage"]),
    ("txt", &["text", "plain", "plaintext"]),
    ("pdf", &[]),
    ("docx", &["doc", "word"]),
    ("odt", &["opendocument"]),
    ("rtf", &[]),
    ("rst", &["restructuredtext"]),
    ("tex", &["latex"]),
    ("epub", &["ebook"]),
    ("ipynb", &["jupyter"]),
    ("pptx", &["ppt", "powerpoint"]),
    ("xlsx", &["xls", "excel"]),
    ("csv", &[]),
    ("tsv", &[]),
    ("json", &[]),
    ("yaml", &["yml"]),
    ("xml", &[]),
    ("png", &[]),
    ("jpg", &["jpeg"]),
    ("gif", &[]),
    ("svg", &[]),
    ("webp", &[]),
    ("mp3", &[]),
    ("wav", &[]),
    ("mp4", &[]),
    ("zip", &[]),
];

/// Returns the ending of the format that goes by this name or ending, in any case.
pub(crate) fn file_format(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let is_it = |(ending, names): &&(&str, &[&str])| *ending == word || names.contains(&word.as_str());
    FORMATS.iter().find(is_it).map(|(ending, _)| *ending)
}

/// Splits a path before the ending of its file, which is without the dot.
pub(crate) fn split_ending(path: &str) -> Option<(&str, &str)> {
    let (stem, ending) = path.rsplit_once('.')?;
    let is_named = stem.chars().next_back().is_some_and(|it| it != '/' && it != '\\');
    (is_named && !ending.is_empty() && ending.chars().all(char::is_alphanumeric)).then_some((stem, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r9_a_format_is_known_by_its_names_and_endings() {
        assert_eq!(file_format("Markdown"), Some("md"));
        assert_eq!(file_format("DOCX"), Some("docx"));
        assert_eq!(file_format("Word"), Some("docx"));
        assert_eq!(file_format("sheet"), None);
        assert_eq!(split_ending("/a.b/notes.md"), Some(("/a.b/notes", "md")));
        for path in ["/a.b/notes", ".hidden", "/a/.hidden", "notes.", "notes"] {
            assert_eq!(split_ending(path), None, "{path}");
        }
    }
}
