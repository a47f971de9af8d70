//! Changes to the text of a note, as pure functions from text to text.

use super::markdown::{Heading, Listed, headings, inline, listed, split};
use crate::{
    fold::fold,
    reply::{quoted, shown},
};

/// Where new text goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// In the stead of everything below the front matter.
    Whole,
    /// At the end.
    End,
    /// At the top, below the front matter and the title.
    Top,
    /// In the stead of what stands under a heading.
    Section(&'a str),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("there is no heading `{0}` in this note; {1}")]
    NoHeading(String, String),
    #[error("{1} headings of this note are called `{0}`: rename one, or replace the whole text")]
    ManyHeadings(String, usize),
    #[error(
        "the front matter writes its tags in a form that cannot be edited safely: write them as `tags: [a, b]`"
    )]
    StrangeTags,
}

/// What a change of tags did.
#[derive(Debug, PartialEq)]
pub(super) struct Retagged {
    pub(super) text: String,
    /// How many tags were taken out of the running text.
    pub(super) taken_from_text: usize,
}

/// Puts new text into a note, in the note's own line endings.
pub(super) fn apply(text: &str, place: Place<'_>, content: &str) -> Result<String, Error> {
    let end = line_end(text);
    let content = content.replace("\r\n", "\n").replace('\n', end);
    let content = content.trim_end_matches(['\n', '\r']);
    let parts = split(text);
    Ok(match place {
        // Content that brings its own front matter replaces the old one too.
        Place::Whole if !split(content).front.is_empty() => format!("{content}{end}"),
        Place::Whole => format!("{}{content}{end}", parts.front),
        Place::End => after(text, content, end),
        Place::Top => {
            let first = headings(parts.body).into_iter().next();
            let title = first.filter(|it| it.level == 1 && parts.body[..it.line].trim().is_empty());
            let cut = parts.front.len() + title.map_or(0, |it| it.start);
            let rest = text[cut..].trim_start_matches(['\n', '\r']);
            let gap = if rest.is_empty() || (is_item(content) && is_item(rest)) { "" } else { end };
            let head = text[..cut].trim_end_matches(['\n', '\r']);
            let head = if head.is_empty() { String::new() } else { format!("{head}{end}{end}") };
            format!("{head}{content}{end}{gap}{rest}")
        }
        Place::Section(name) => {
            let Heading { start, end: stop, .. } = section(parts.body, name)?;
            let (start, stop) = (parts.front.len() + start, parts.front.len() + stop);
            let head = text[..start].trim_end_matches(['\n', '\r']);
            let rest = &text[stop..];
            let gap = if rest.is_empty() { "" } else { end };
            let content = if content.is_empty() { String::new() } else { format!("{end}{content}{end}") };
            format!("{head}{end}{content}{gap}{rest}")
        }
    })
}

/// Finds the one heading of that name, in any case, with or without its `#`.
pub(super) fn section<'t>(body: &'t str, name: &str) -> Result<Heading<'t>, Error> {
    let wanted = fold(name.trim().trim_start_matches('#').trim());
    let all = headings(body);
    let known = match all.as_slice() {
        [] => "it has no headings".to_owned(),
        some => format!("it has {}", quoted(some.iter().take(30).map(|it| it.text))),
    };
    let mut fitting: Vec<Heading<'t>> = all.into_iter().filter(|it| fold(it.text) == wanted).collect();
    match (fitting.pop(), fitting.len()) {
        (Some(found), 0) => Ok(found),
        (Some(_), others) => Err(Error::ManyHeadings(shown(name.trim()), others + 1)),
        (None, _) => Err(Error::NoHeading(shown(name.trim()), known)),
    }
}

/// Adds tags to the front matter and takes others out, there and in the running text.
pub(super) fn retag(text: &str, add: &[&str], remove: &[&str]) -> Result<Retagged, Error> {
    let (cleaned, taken_from_text) = without_inline(text, remove);
    let front = split(&cleaned).front;
    let (now, from, to) = match listed(front) {
        Listed::At { tags, from, to } => (tags, from, to),
        Listed::Nowhere => {
            // A new entry goes right below the opening fence.
            let at = front.find('\n').map_or(0, |end| end + 1);
            (Vec::new(), at, at)
        }
        Listed::Strange => return Err(Error::StrangeTags),
    };
    let same = |a: &str, b: &str| fold(a) == fold(b);
    let mut tags: Vec<&str> =
        now.iter().copied().filter(|tag| !remove.iter().any(|it| same(it, tag))).collect();
    let everywhere = super::markdown::tags(&cleaned);
    for tag in add {
        if !tags.iter().any(|known| same(known, tag)) && !everywhere.iter().any(|known| same(known, tag)) {
            tags.push(tag);
        }
    }
    if tags == now {
        return Ok(Retagged { text: cleaned, taken_from_text });
    }
    let end = line_end(&cleaned);
    let entry = if tags.is_empty() { String::new() } else { format!("tags: [{}]{end}", written(&tags)) };
    let text = if front.is_empty() {
        format!("---{end}{entry}---{end}{end}{cleaned}")
    } else {
        let kept = format!("{}{entry}{}", &front[..from], &front[to..]);
        let bare = kept.lines().all(|line| matches!(line.trim(), "---" | "..." | ""));
        let body = &cleaned[front.len()..];
        if bare { body.trim_start_matches(['\n', '\r']).to_owned() } else { format!("{kept}{body}") }
    };
    Ok(Retagged { text, taken_from_text })
}

/// Takes tags out of the running text, each with the space before it, or after it at a line's start.
fn without_inline(text: &str, remove: &[&str]) -> (String, usize) {
    let parts = split(text);
    let mut body = parts.body.to_owned();
    let mut taken = 0;
    // From the end, so that the places found stay right.
    for (from, to) in inline(parts.body).into_iter().rev() {
        if !remove.iter().any(|tag| fold(tag) == fold(&parts.body[from + 1..to])) {
            continue;
        }
        taken += 1;
        if body[..from].ends_with(' ') {
            body.replace_range(from - 1..to, "");
        } else if body[to..].starts_with(' ') {
            body.replace_range(from..=to, "");
        } else {
            body.replace_range(from..to, "");
        }
    }
    (format!("{}{body}", parts.front), taken)
}

fn after(text: &str, content: &str, end: &str) -> String {
    let head = text.trim_end_matches(['\n', '\r']);
    if head.is_empty() {
        return format!("{content}{end}");
    }
    // Two list items belong together; everything else is a new paragraph.
    let last = head.rsplit('\n').next().unwrap_or(head);
    let gap = if is_item(last.trim_start()) && is_item(content) { "" } else { end };
    format!("{head}{end}{gap}{content}{end}")
}

fn is_item(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = 0 < digits && (text[digits..].starts_with(". ") || text[digits..].starts_with(") "));
    numbered || text.starts_with("- ") || text.starts_with("* ") || text.starts_with("+ ")
}

/// Writes tags as a YAML list; what other programs put there may need quotes.
fn written(tags: &[&str]) -> String {
    let quoted = tags.iter().map(|tag| {
        if super::markdown::is_tag(tag) {
            (*tag).to_owned()
        } else {
            format!("\"{}\"", tag.replace(['"', '\\'], ""))
        }
    });
    quoted.collect::<Vec<_>>().join(", ")
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
