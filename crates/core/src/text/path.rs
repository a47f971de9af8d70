//! Paths in a text. What the folders of a path are called says nothing about what is wanted: a folder for temporary
//! files has a random name, and a project may be called `git`, `notes` or `delete`.

use std::borrow::Cow;
use std::ops::Range;

use super::is_unparted;

/// Stands for a path that names no file, where words are compared. No tool has such a word, so that it is a detail like
/// any other name.
pub(crate) const SOME_FOLDER: &str = "somefolder";

/// Whether a text can be the ending of a file, without the dot.
pub(crate) fn is_file_ending(text: &str) -> bool {
    (1..=MAX_ENDING).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Cuts every path of a text to the name of its file; `folder` stands for a path that names none.
///
/// The result has no paths left, so cutting it again changes nothing.
pub(crate) fn without_folders<'t>(text: &'t str, folder: &str) -> Cow<'t, str> {
    let paths = paths(text);
    if paths.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut cut = String::with_capacity(text.len());
    let mut from = 0;
    for path in paths {
        cut.push_str(&text[from..path.start]);
        cut.push_str(file_name(&text[path.clone()]).unwrap_or(folder));
        from = path.end;
    }
    cut.push_str(&text[from..]);
    Cow::Owned(cut)
}

/// Returns where the paths of a text stand, in order, without quotes and punctuation around them.
pub(crate) fn paths(text: &str) -> Vec<Range<usize>> {
    let mut paths: Vec<Range<usize>> = Vec::new();
    if !text.contains(SEPARATORS) {
        return paths;
    }
    let mut before = None;
    for (at, char) in text.char_indices() {
        let is_inside = paths.last().is_some_and(|path| at < path.end);
        if !is_inside && before.is_none_or(|before| ends_word(before) || is_unparted(before)) {
            paths.extend(path_at(text, at, before));
        }
        before = Some(char);
    }
    paths
}

const SEPARATORS: [char; 2] = ['/', '\\'];
const QUOTES: [char; 3] = ['"', '\'', '`'];
/// What a path begins with that is not told by the ending of its file.
const ROOTS: [&str; 7] = ["/", "~/", "./", "../", "~\\", ".\\", "..\\"];
/// A longer ending is a part of the name.
const MAX_ENDING: usize = 5;

/// Returns the path that begins at a place, if one does.
fn path_at(text: &str, start: usize, before: Option<char>) -> Option<Range<usize>> {
    let rest = &text[start..];
    let is_rooted = is_rooted(rest);
    let quote = before.filter(|before| is_rooted && QUOTES.contains(before));
    // Within quotes a path may have spaces.
    let quoted =
        quote.and_then(|quote| rest.find(['\n', quote]).filter(|end| rest[*end..].starts_with(quote)));
    let end = quoted.unwrap_or_else(|| end_of_path(rest));
    let path = &rest[..end];
    let names: Vec<&str> = path.split(SEPARATORS).filter(|name| !name.is_empty()).collect();
    let is_path = match is_rooted {
        // `/search` may be a command, `/` and `//` are no paths.
        true => names.len() > 1 || file_name(path).is_some(),
        false => names.len() > 1 && file_name(path).is_some() && is_relative(names[0]),
    };
    is_path.then_some(start..start + end)
}

fn is_rooted(text: &str) -> bool {
    let is_drive = |text: &str| {
        let mut chars = text.chars();
        chars.next().is_some_and(|it| it.is_ascii_alphabetic())
            && chars.next() == Some(':')
            && chars.next().is_some_and(|it| SEPARATORS.contains(&it))
    };
    let is_root = ROOTS.iter().any(|root| text.starts_with(root));
    is_root || text.starts_with("\\\\") || text.starts_with("file:///") || is_drive(text)
}

/// Whether a path may begin with this folder: it is neither the name of a host nor a part of something else.
fn is_relative(first: &str) -> bool {
    first.chars().all(|it| it.is_alphanumeric() && !is_unparted(it) || matches!(it, '_' | '-' | '*'))
}

/// Returns where a path ends that the text begins with.
fn end_of_path(text: &str) -> usize {
    let mut end = text.len();
    let mut before = None;
    for (at, char) in text.char_indices() {
        let is_escaped = before == Some('\\') && char == ' ';
        // Scripts without spaces go on right behind a name in other letters.
        let changes = before.is_some_and(|it: char| it.is_ascii_alphanumeric()) && is_unparted(char);
        if ends_word(char) && !is_escaped || changes {
            end = at;
            break;
        }
        before = Some(char);
    }
    text[..end]
        .trim_end_matches(['.', ',', ';', ':', '!', '?', '…', '*', '。', '，', '、', '；', '！', '？'])
        .len()
}

fn ends_word(char: char) -> bool {
    char.is_whitespace()
        || QUOTES.contains(&char)
        || matches!(char, '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '|' | '=' | ',' | ';')
        || matches!(char, '“' | '”' | '„' | '‘' | '’' | '«' | '»' | '「' | '」' | '，' | '。' | '、')
}

/// Returns the name of the file that a path names: its last part, if that has an ending.
fn file_name(path: &str) -> Option<&str> {
    let name = path.rsplit(SEPARATORS).next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    (is_file_ending(ending) && !stem.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str) -> String {
        without_folders(text, "FOLDER").into_owned()
    }

    #[test]
    fn r13_a_path_is_cut_to_the_name_of_its_file() {
        for (text, expected) in [
            ("Read /tmp/.tmpX1/notes.md and  \"~/a/b.txt\".", "Read notes.md and  \"b.txt\"."),
            ("list /var/log/ or ../up", "list FOLDER or FOLDER"),
            ("open src/git/main.rs, then C:\\Users\\me\\a.docx", "open main.rs, then a.docx"),
            ("show '/home/me/My Notes/delete me.md' now", "show 'delete me.md' now"),
            ("cat /a/My\\ Notes/x.md", "cat x.md"),
            ("path=/tmp/x/y.csv (see ./z/)", "path=y.csv (see FOLDER)"),
            ("读取/tmp/x1/notes.md文件", "读取notes.md文件"),
            ("in /tmp/tmp.Ab12Cd34Ef", "in FOLDER"),
            ("find docs/*.md", "find *.md"),
            ("open file:///tmp/x/a.html", "open a.html"),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
    }

    #[test]
    fn r13_what_only_has_a_slash_in_it_is_no_path() {
        for text in [
            "and/or",
            "https://a.example/b/c.html",
            "/",
            "either / or",
            "",
            "m/s  \n",
            "/search for cats",
            "acme/widgets",
            "10/12/2025",
            "1/2.5",
            "github.com/acme/widgets.git",
            "@acme/parts.js",
            "TCP/IP.",
            "\\d+\\.md",
            "application/vnd.ms-excel",
        ] {
            assert_eq!(cut(text), text);
        }
    }

    proptest! {
        #[test]
        fn r13_any_text_is_cut_once_and_for_all(text in "[ a-c./~\\\\:\"'文]{0,24}|.{0,24}") {
            let once = without_folders(&text, SOME_FOLDER).into_owned();
            prop_assert_eq!(without_folders(&once, SOME_FOLDER).into_owned(), once);
        }
    }
}
