//! What a note says about itself: front matter, title, headings, tags.
//!
//! Only what is needed is understood, and only the understood part is ever rewritten; the rest of a
//! note passes through byte by byte.

use crate::fold::fold;

/// A note in its parts; together they are the whole text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'t> {
    /// The front matter with both its fences, or nothing.
    pub(super) front: &'t str,
    pub(super) body: &'t str,
}

/// A heading of the body, with the places where its section begins and ends.
#[derive(Debug, PartialEq)]
pub(super) struct Heading<'t> {
    pub(super) level: usize,
    pub(super) text: &'t str,
    /// Where the heading's own line begins.
    pub(super) line: usize,
    /// Where the line after the heading begins.
    pub(super) start: usize,
    /// Where the next heading of this or a higher level begins.
    pub(super) end: usize,
}

/// How the front matter writes its tags.
#[derive(Debug, PartialEq)]
pub(super) enum Listed<'t> {
    /// There is no such entry.
    Nowhere,
    /// The tags, and the bytes of the front matter that hold the whole entry.
    At { tags: Vec<&'t str>, from: usize, to: usize },
    /// There is an entry in a form that is not understood.
    Strange,
}

/// Takes a note apart.
pub(super) fn split(text: &str) -> Parts<'_> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = rest.split_inclusive('\n');
    if lines.next().is_none_or(|line| line.trim_end() != "---") {
        return Parts { front: "", body: text };
    }
    let mut at = text.len() - rest.len() + rest.find('\n').map_or(rest.len(), |end| end + 1);
    for line in lines {
        at += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return Parts { front: &text[..at], body: &text[at..] };
        }
    }
    Parts { front: "", body: text }
}

/// Returns the title: of the front matter, else the first heading of the first level, else `stem`.
pub(super) fn title(text: &str, stem: &str) -> String {
    let Parts { front, body } = split(text);
    let named = front.lines().find_map(|line| line.strip_prefix("title:")).map(|it| unquoted(it.trim()));
    if let Some(named) = named.filter(|it| !it.is_empty()) {
        return named.to_owned();
    }
    let first = headings(body).into_iter().find(|heading| heading.level == 1 && !heading.text.is_empty());
    first.map_or(stem, |heading| heading.text).to_owned()
}

/// Returns the headings of a body; what stands in code is none.
pub(super) fn headings(body: &str) -> Vec<Heading<'_>> {
    let mut found: Vec<Heading<'_>> = Vec::new();
    for (line, text) in prose(body) {
        let level = text.bytes().take_while(|it| *it == b'#').count();
        let rest = &text[level..];
        if (1..=6).contains(&level) && (rest.trim().is_empty() || rest.starts_with([' ', '\t'])) {
            let text = rest.trim().trim_end_matches('#').trim_end();
            let start = body[line..].find('\n').map_or(body.len(), |end| line + end + 1);
            found.push(Heading { level, text, line, start, end: body.len() });
        }
    }
    for at in 0..found.len() {
        let level = found[at].level;
        if let Some(next) = found[at + 1..].iter().find(|later| later.level <= level) {
            found[at].end = next.line;
        }
    }
    found
}

/// Returns the tags of a note, those of the front matter first, each once.
pub(super) fn tags(text: &str) -> Vec<String> {
    let Parts { front, body } = split(text);
    let mut found: Vec<String> = Vec::new();
    let mut add = |tag: &str| {
        if !found.iter().any(|known| fold(known) == fold(tag)) {
            found.push(tag.to_owned());
        }
    };
    if let Listed::At { tags, .. } = listed(front) {
        tags.into_iter().for_each(&mut add);
    }
    for (from, to) in inline(body) {
        add(&body[from + 1..to]);
    }
    found
}

/// Returns where the tags in the running text stand, each with its `#`.
pub(super) fn inline(body: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (line, text) in prose(body) {
        let mut in_code = false;
        let mut before = ' ';
        let mut skip = 0;
        for (at, letter) in text.char_indices() {
            if at < skip {
                continue;
            }
            if letter == '`' {
                in_code = !in_code;
            } else if letter == '#' && !in_code && (before.is_whitespace() || before == '(') {
                let tag = &text[at + 1..];
                let length = tag.find(|it| !is_tag_letter(it)).unwrap_or(tag.len());
                if is_tag(&tag[..length]) {
                    found.push((line + at, line + at + 1 + length));
                    skip = at + 1 + length;
                }
            }
            before = letter;
        }
    }
    found
}

/// Says whether a text can be a tag: letters, digits, `-`, `_`, `/`, and not digits alone.
pub(super) fn is_tag(text: &str) -> bool {
    let digits = text.chars().all(|letter| letter.is_numeric());
    !text.is_empty() && !digits && text.chars().all(is_tag_letter) && text.chars().any(char::is_alphanumeric)
}

/// Says whether a note's tag is the wanted one or lies below it, as `work/plans` below `work`.
pub(super) fn is_under(tag: &str, wanted: &str) -> bool {
    let (tag, wanted) = (fold(tag), fold(wanted));
    tag.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Finds the tags entry of a front matter.
pub(super) fn listed(front: &str) -> Listed<'_> {
    let mut from = 0;
    for line in front.split_inclusive('\n') {
        let value = line.strip_prefix("tags:").or_else(|| line.strip_prefix("tag:"));
        let Some(value) = value else {
            from += line.len();
            continue;
        };
        let rest = &front[from + line.len()..];
        let value = value.trim();
        // Anchors, block texts, comments and lists over several lines are left alone.
        if value.starts_with(['&', '*', '|', '>', '!', '{']) || value.contains(" #") {
            return Listed::Strange;
        }
        let (tags, items) = match value.strip_prefix('[') {
            Some(list) => match list.strip_suffix(']') {
                Some(list) => (list.split(',').collect(), 0),
                None => return Listed::Strange,
            },
            None if value.is_empty() => match block(rest) {
                Some(found) => found,
                None => return Listed::Strange,
            },
            None if value.contains(',') => (value.split(',').collect(), 0),
            None => (value.split_whitespace().collect(), 0),
        };
        let tags = tags.into_iter().map(|tag| unquoted(tag.trim()).trim_start_matches('#'));
        let tags = tags.filter(|tag| !tag.is_empty()).collect();
        return Listed::At { tags, from, to: from + line.len() + items };
    }
    Listed::Nowhere
}

/// Reads the lines `- tag` below the entry: the tags, and how many bytes they take.
fn block(rest: &str) -> Option<(Vec<&str>, usize)> {
    let mut tags = Vec::new();
    let mut bytes = 0;
    for line in rest.split_inclusive('\n') {
        let Some(item) = line.trim_start().strip_prefix("- ") else {
            // An indented line that is no item continues something.
            let continues = line.starts_with([' ', '\t']) && !line.trim().is_empty();
            return (!continues).then_some((tags, bytes));
        };
        if item.contains(": ") || item.contains(" #") {
            return None;
        }
        tags.push(item);
        bytes += line.len();
    }
    Some((tags, bytes))
}

/// Returns the lines that are not in fenced code, with the places where they begin.
fn prose(body: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let mut fence: Option<(char, usize)> = None;
    body.split_inclusive('\n').filter_map(move |whole| {
        let line = at;
        at += whole.len();
        let text = whole.trim_end_matches(['\n', '\r']);
        let inner = text.trim_start_matches(' ');
        let mark = inner.chars().next().filter(|it| matches!(it, '`' | '~'));
        let length = mark.map_or(0, |mark| inner.chars().take_while(|it| *it == mark).count());
        match fence {
            Some((open, least)) => {
                if mark == Some(open) && least <= length && inner[length..].trim().is_empty() {
                    fence = None;
                }
                None
            }
            None if 3 <= length => {
                fence = mark.map(|mark| (mark, length));
                None
            }
            None => Some((line, text)),
        }
    })
}

fn is_tag_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '-' | '_' | '/')
}

fn unquoted(text: &str) -> &str {
    let inner = |mark: char| text.strip_prefix(mark).and_then(|it| it.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{Listed, headings, inline, listed, split, tags, title};

    #[test]
    fn tags_are_read_from_every_form_of_front_matter() {
        let forms = [
            "tags: [a, \"b c\", '#d']",
            "tags: a, b",
            "tags: a b",
            "tags:\n  - a\n  - 'b'",
            "tags:\n- a\ntitle: x",
            "tag: a",
            "tags:",
            "tags: [a,\n  b]",
            "tags: &x [a]",
            "tags:\n  a: b",
            "title: x",
        ];
        let read: Vec<String> = forms
            .iter()
            .map(|form| match listed(&format!("---\n{form}\n---\n")) {
                Listed::At { tags, .. } => tags.join("|"),
                other @ (Listed::Nowhere | Listed::Strange) => format!("{other:?}"),
            })
            .collect();
        assert_eq!(
            read,
            ["a|b c|d", "a|b", "a|b", "a|b", "a", "a", "", "Strange", "Strange", "Strange", "Nowhere"]
        );
    }

    #[test]
    fn inline_tags_are_words_and_not_headings_numbers_links_or_code() {
        let text = "# Title\n#todo call (#work/plans) #2026 a#b https://x/#y `#code` #été.\n```\n#fenced\n```\n#End\n";
        assert_eq!(tags(text), ["todo", "work/plans", "été", "End"]);
        assert_eq!(inline("no tags # here"), []);
    }

    #[test]
    fn the_title_is_named_or_the_first_heading_or_the_file() {
        assert_eq!(title("---\ntitle: \"A: b\"\n---\n# C\n", "d"), "A: b");
        assert_eq!(title("text\n## B\n# C ##\n", "d"), "C");
        assert_eq!(title("text\n", "d"), "d");
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let body = "# A\na\n## B\nb\n```\n# no\n```\n### C\n## D\n";
        let found: Vec<(usize, &str, &str)> =
            headings(body).iter().map(|it| (it.level, it.text, &body[it.start..it.end])).collect();
        assert_eq!(
            found,
            [
                (1, "A", "a\n## B\nb\n```\n# no\n```\n### C\n## D\n"),
                (2, "B", "b\n```\n# no\n```\n### C\n"),
                (3, "C", ""),
                (2, "D", ""),
            ]
        );
    }

    #[test]
    fn front_matter_without_an_end_is_text() {
        assert_eq!(split("---\ntags: [a]\n").front, "");
        assert_eq!(split("\u{feff}---\r\na: b\r\n---\r\nx").body, "x");
    }
}
