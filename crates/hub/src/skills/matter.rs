//! What stands before the text of a file: keys with texts and lists, in the part of YAML that people use there.

/// Front matter, and the text after it.
#[derive(Debug)]
pub(super) struct Matter<'a> {
    pub(super) lines: Vec<Line>,
    pub(super) rest: &'a str,
}

/// One key with its value.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) key: String,
    pub(super) line: usize,
    values: Vec<(String, usize)>,
}

const FENCE: &str = "---";

impl<'a> Matter<'a> {
    /// Reads it, or says in which line what is wrong.
    pub(super) fn parse(text: &'a str) -> Result<Self, (usize, String)> {
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        if first.trim_end() != FENCE {
            return Err((1, "the file has no front matter".to_owned()));
        }
        let mut read: Vec<Line> = Vec::new();
        let mut at = first.len();
        for (number, line) in (2..).zip(lines) {
            at += line.len();
            let line = line.trim_end();
            if line == FENCE || line == "..." {
                read.iter_mut().for_each(Line::finish);
                return Ok(Self { lines: read, rest: &text[at..] });
            }
            take(&mut read, line, number)?;
        }
        Err((1, "the front matter does not end; it ends with ---".to_owned()))
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        let line = self.lines.iter().find(|line| line.key == key)?;
        let words: Vec<&str> = line.values.iter().map(|(value, _)| value.as_str()).collect();
        Some(words.join(" ")).filter(|text| !text.is_empty())
    }

    pub(super) fn line(&self, key: &str) -> usize {
        self.lines.iter().find(|line| line.key == key).map_or(1, |line| line.line)
    }

    /// Returns the elements of a list, each with its line. One text with commas or spaces is a list as well.
    pub(super) fn items(&self, key: &str) -> Vec<(String, usize)> {
        let values = self.lines.iter().filter(|line| line.key == key).flat_map(|line| &line.values);
        let parted = values.flat_map(|(value, line)| {
            value.split([',', ' ']).map(|part| (unquoted(part.trim()).to_owned(), *line))
        });
        parted.filter(|(part, _)| !part.is_empty()).collect()
    }
}

impl Line {
    /// Quotes around a whole text, and brackets around a list, are not part of it.
    fn finish(&mut self) {
        for (value, _) in &mut self.values {
            let inner = value.trim_start_matches('[').trim_end_matches(']');
            let is_list = inner.len() != value.len();
            *value = if is_list { inner.to_owned() } else { unquoted(value).to_owned() };
        }
        self.values.retain(|(value, _)| !value.is_empty());
    }
}

/// Takes one line: a key, or something that belongs to the key before.
fn take(read: &mut Vec<Line>, line: &str, number: usize) -> Result<(), (usize, String)> {
    let text = without_comment(line).trim();
    if text.is_empty() {
        return Ok(());
    }
    let is_inside = line.starts_with([' ', '\t']) || text == "-" || text.starts_with("- ");
    if is_inside {
        let Some(last) = read.last_mut() else {
            return Err((number, format!("`{text}` belongs to no key")));
        };
        let value = text.strip_prefix('-').unwrap_or(text).trim();
        last.values.push((unquoted(value).to_owned(), number));
        return Ok(());
    }
    let Some((key, value)) = text.split_once(':') else {
        return Err((number, format!("`{text}` is no key with a value")));
    };
    let key = key.trim().to_owned();
    if read.iter().any(|line| line.key == key) {
        return Err((number, format!("the key `{key}` is written twice")));
    }
    let value = value.trim();
    // Text in lines of its own follows.
    let is_block = matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+" | "[]");
    let values = if is_block || value.is_empty() { Vec::new() } else { vec![(value.to_owned(), number)] };
    read.push(Line { key, line: number, values });
    Ok(())
}

/// A `#` after a space begins a comment, unless it stands in quotes.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    let is_quoted = |at: usize| line[..at].matches('"').count() % 2 == 1;
    let comment = line.match_indices(" #").find(|(at, _)| !is_quoted(*at));
    comment.map_or(line, |(at, _)| &line[..at])
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    text
}
