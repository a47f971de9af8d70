//! A folder of Markdown notes: search, read, create, update, tag, list.
//!
//! Nothing here deletes a note, and a note that changed in the meantime is never overwritten unseen.

mod path; //     where a note is, checked by its words
mod markdown; // what a note says about itself
mod edit; //     changes, from text to text
mod search; //   words found, best first
mod sample; //   the notes of a new folder
mod vault; //    the folder on the disk
mod lookup; //   a name becomes a note
mod tools; //    what the clients see

use std::time::SystemTime;

use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

use self::{
    edit::Place,
    path::{FolderPath, NotePath},
    search::{Page, Query},
    vault::Listing,
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome, quoted, shown},
};

pub(crate) use self::{tools::tools, vault::Vault};

/// A search reads this many bytes, and an answer carries this many.
const MOST_SEARCHED: usize = 64 * 1024 * 1024;
const MOST_ANSWERED: usize = 100_000;
/// An answer names this many files that could not be used.
const MOST_SKIPPED: usize = 10;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("there is nothing to look for in `{0}`: send words, a \"phrase\" in quotes or a `#tag`")]
    NothingToFind(String),
    #[error("there are no notes in a folder `{0}`; {1}")]
    NoFolder(String, String),
    #[error(
        "`{0}` is no tag: a tag has letters, digits, `-`, `_` and `/` and no spaces, for example `reading-list`"
    )]
    BadTag(String),
    #[error("there is nothing to change: send tags to `add`, to `remove` or both")]
    NothingToTag,
    #[error("mode `replace_section` needs `heading`, the heading whose section is replaced")]
    NeedsHeading,
    #[error("`heading` is used only with mode `replace_section`: leave it out or change the mode")]
    UnusedHeading,
    #[error("`content` is blank: send the text to write")]
    Blank,
    #[error(
        "`{path}` has changed since it was read: its revision is {now} and not {expected}. Nothing was written; \
         read it with read_note and send the change again"
    )]
    Conflict { path: String, now: String, expected: String },
    #[error("`start_line` is {start}, and there are {lines} lines")]
    PastTheEnd { start: usize, lines: usize },
}

/// Notes that were read for a search or a list.
#[derive(Default)]
struct Loaded {
    pages: Vec<(Page, SystemTime)>,
    skipped: Vec<(String, String)>,
    cut: bool,
}

fn search_notes(vault: &Vault, arguments: &Arguments<'_>) -> Outcome {
    let asked = arguments.required("query");
    let mut query = Query::parse(asked);
    if let Some(tag) = arguments.text("tag") {
        query.tags.push(clean_tag(tag)?);
    }
    if query.is_empty() {
        return Err(Error::NothingToFind(shown(asked)).into());
    }
    let folder = FolderPath::parse(arguments.text("folder").unwrap_or_default())?;
    let limit = arguments.whole("limit", 10);
    let Loaded { pages, skipped, cut } = load(vault, walk(vault, &folder)?);
    let (pages, modified): (Vec<Page>, Vec<SystemTime>) = pages.into_iter().unzip();
    let hits = search::rank(&pages, &query);

    let mut text = format!("{} found for `{}`", counted(hits.len(), "note"), shown(asked));
    let mut results = Vec::new();
    for (at, hit) in hits.iter().take(limit).enumerate() {
        let page = &pages[hit.page];
        let line = format!("\n{}. {} ({}){}", at + 1, page.title, page.path, hashed(&page.tags));
        text.push_str(&line);
        let snippet = search::snippet(page, &query);
        text.push_str(&format!("\n   {snippet}"));
        results.push(json!({
            "path": page.path,
            "title": page.title,
            "tags": page.tags,
            "modified": stamp(modified[hit.page]),
            "score": hit.score,
            "snippet": snippet,
        }));
    }
    let has_more = limit < hits.len();
    if has_more {
        text.push_str(&format!("\n{} more: raise `limit` or add words", hits.len() - limit));
    }
    text.push_str(&told(&skipped, cut));
    Ok(Answer {
        text,
        data: json!({
            "results": results,
            "total_count": hits.len(),
            "has_more": has_more,
            "skipped": listed(&skipped),
            "incomplete": cut,
        }),
    })
}

fn read_note(vault: &Vault, arguments: &Arguments<'_>) -> Outcome {
    let path = lookup::find(vault, arguments.required("note"))?;
    let contents = vault.read(&path)?;
    let whole = contents.text.as_str();
    let part = match arguments.text("heading") {
        Some(heading) => {
            let body = markdown::split(whole).body;
            let section = edit::section(body, heading)?;
            &body[section.line..section.end]
        }
        None => whole,
    };
    let lines: Vec<&str> = part.split_inclusive('\n').collect();
    let start = arguments.whole("start_line", 1);
    if lines.len().max(1) < start {
        return Err(Error::PastTheEnd { start, lines: lines.len() }.into());
    }
    let mut content = String::new();
    let mut next = start;
    for line in lines.iter().skip(start - 1).take(arguments.whole("max_lines", 400)) {
        if MOST_ANSWERED < content.len() + line.len() && !content.is_empty() {
            break;
        }
        content.push_str(line);
        next += 1;
    }
    // Only a single line can still be longer than an answer may be.
    let shortened = MOST_ANSWERED < content.len();
    if shortened {
        content.truncate(content.floor_char_boundary(MOST_ANSWERED));
    }
    let has_more = next <= lines.len();
    let title = markdown::title(whole, path.stem());
    let tags = markdown::tags(whole);
    let revision = revision(whole);
    let mut text = format!("{title} ({}, revision {revision}){}\n\n{content}", path.as_str(), hashed(&tags));
    if shortened {
        text.push_str("\n[this line is longer than an answer may be: its end is left out]");
    }
    if has_more {
        text.push_str(&format!(
            "\n[lines {start} to {} of {}: go on with start_line {next}]",
            next - 1,
            lines.len()
        ));
    }
    Ok(Answer {
        text,
        data: json!({
            "path": path.as_str(),
            "title": title,
            "tags": tags,
            "modified": stamp(contents.modified),
            "revision": revision,
            "content": content,
            "start_line": start,
            "total_lines": lines.len(),
            "has_more": has_more,
            "shortened": shortened,
        }),
    })
}

fn create_note(vault: &Vault, arguments: &Arguments<'_>) -> Outcome {
    let folder = FolderPath::parse(arguments.text("folder").unwrap_or_default())?;
    let title = arguments.required("title").trim();
    let path = NotePath::for_new(&folder, title)?;
    let tags = clean_tags(&arguments.list("tags"))?;
    let text = composed(arguments.text("content").unwrap_or_default(), title, path.stem());
    let text = edit::retag(&text, &borrowed(&tags), &[])?.text;
    vault.lock()?.create(&path, &text)?;
    Ok(written(&path, &text, "Created", json!({ "revision": revision(&text) })))
}

fn update_note(vault: &Vault, arguments: &Arguments<'_>) -> Outcome {
    let content = arguments.required("content");
    let place = match (arguments.text("mode").unwrap_or("append"), arguments.text("heading")) {
        ("replace_section", Some(heading)) => Place::Section(heading),
        ("replace_section", None) => return Err(Error::NeedsHeading.into()),
        (_, Some(_)) => return Err(Error::UnusedHeading.into()),
        ("replace", None) => Place::Whole,
        ("prepend", None) => Place::Top,
        (_, None) => Place::End,
    };
    if content.trim().is_empty() && !matches!(place, Place::Section(_)) {
        return Err(Error::Blank.into());
    }
    change(vault, arguments, |text| Ok((edit::apply(text, place, content)?, json!({}))))
}

fn tag_note(vault: &Vault, arguments: &Arguments<'_>) -> Outcome {
    let add = clean_tags(&arguments.list("add"))?;
    let remove = clean_tags(&arguments.list("remove"))?;
    if add.is_empty() && remove.is_empty() {
        return Err(Error::NothingToTag.into());
    }
    change(vault, arguments, |text| {
        let after = edit::retag(text, &borrowed(&add), &borrowed(&remove))?;
        let (old, new) = (markdown::tags(text), markdown::tags(&after.text));
        let only = |some: &[String], others: &[String]| -> Vec<String> {
            some.iter().filter(|tag| !others.contains(tag)).cloned().collect()
        };
        let data = json!({
            "added": only(&new, &old),
            "removed": only(&old, &new),
            "removed_from_text": after.taken_from_text,
        });
        Ok((after.text, data))
    })
}

fn list_notes(vault: &Vault, arguments: &Arguments<'_>) -> Outcome {
    let folder = FolderPath::parse(arguments.text("folder").unwrap_or_default())?;
    let tag = arguments.text("tag").map(clean_tag).transpose()?;
    let (offset, limit) = (arguments.whole("offset", 0), arguments.whole("limit", 50));
    let mut listing = walk(vault, &folder)?;
    if arguments.text("sort") != Some("name") {
        listing.notes.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    }
    // Without a tag to look for, only the notes of this page need to be read.
    let total = match &tag {
        Some(_) => None,
        None => {
            let total = listing.notes.len();
            listing.notes = listing.notes.into_iter().skip(offset).take(limit).collect();
            Some(total)
        }
    };
    let Loaded { mut pages, skipped, cut } = load(vault, listing);
    if let Some(tag) = &tag {
        pages.retain(|(page, _)| page.tags.iter().any(|own| markdown::is_under(own, tag)));
    }
    let total = total.unwrap_or(pages.len());
    let from = if tag.is_some() { offset } else { 0 };
    let shown_pages: Vec<&(Page, SystemTime)> = pages.iter().skip(from).take(limit).collect();
    let has_more = offset.saturating_add(limit) < total;

    let mut text = counted(total, "note");
    if shown_pages.is_empty() && 0 < total {
        text.push_str(&format!(", none from number {} on", offset + 1));
    } else if shown_pages.len() < total {
        text.push_str(&format!(", from number {} on", offset + 1));
    }
    for (page, modified) in &shown_pages {
        let line = format!("\n- {} ({}){}, {}", page.title, page.path, hashed(&page.tags), stamp(*modified));
        text.push_str(&line);
    }
    if has_more {
        text.push_str(&format!("\nMore: go on with offset {}", offset.saturating_add(limit)));
    }
    text.push_str(&told(&skipped, cut));
    let notes = shown_pages.iter().map(|(page, modified)| {
        json!({ "path": page.path, "title": page.title, "tags": page.tags, "modified": stamp(*modified) })
    });
    Ok(Answer {
        text,
        data: json!({
            "notes": notes.collect::<Vec<_>>(),
            "total_count": total,
            "offset": offset,
            "has_more": has_more,
            "skipped": listed(&skipped),
            "incomplete": cut,
        }),
    })
}

/// Reads a note, changes its text and writes it back, with nobody else writing in between.
fn change(
    vault: &Vault,
    arguments: &Arguments<'_>,
    edit: impl FnOnce(&str) -> Result<(String, Value), edit::Error>,
) -> Outcome {
    let path = lookup::find(vault, arguments.required("note"))?;
    let writing = vault.lock()?;
    let before = vault.read(&path)?.text;
    let was = revision(&before);
    if let Some(expected) = arguments.text("expected")
        && expected.trim() != was
    {
        let (path, expected) = (shown(path.as_str()), shown(expected.trim()));
        return Err(Error::Conflict { path, now: was, expected }.into());
    }
    let (after, mut data) = edit(&before)?;
    let changed = after != before;
    if changed {
        writing.replace(&path, &before, &after)?;
    }
    data["revision"] = json!(revision(&after));
    data["previous_revision"] = json!(was);
    data["changed"] = json!(changed);
    Ok(written(&path, &after, if changed { "Changed" } else { "Nothing to change in" }, data))
}

fn written(path: &NotePath, text: &str, did: &str, mut data: Value) -> Answer {
    let title = markdown::title(text, path.stem());
    let tags = markdown::tags(text);
    let line = format!("{did} {title} ({}, revision {}){}", path.as_str(), revision(text), hashed(&tags));
    data["path"] = json!(path.as_str());
    data["title"] = json!(title);
    data["tags"] = json!(tags);
    Answer { text: line, data }
}

/// Puts a title on top of content that has none.
fn composed(content: &str, title: &str, stem: &str) -> String {
    let parts = markdown::split(content);
    let body = parts.body.trim_matches(['\n', '\r']);
    let title = if title.to_lowercase().ends_with(".md") { stem } else { title };
    let named = parts.front.lines().any(|line| line.starts_with("title:"));
    if named || markdown::headings(body).iter().any(|heading| heading.level == 1) {
        return format!("{}{body}\n", parts.front);
    }
    // A title is one line, whatever was sent.
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if body.is_empty() {
        format!("{}# {title}\n", parts.front)
    } else {
        format!("{}# {title}\n\n{body}\n", parts.front)
    }
}

fn walk(vault: &Vault, folder: &FolderPath) -> Result<Listing, Error> {
    let mut listing = vault.walk();
    let mut folders: Vec<String> = listing.notes.iter().map(|it| it.path.folders().join("/")).collect();
    listing.notes.retain(|entry| folder.holds(&entry.path));
    if listing.notes.is_empty() && !folder.as_str().is_empty() {
        folders.retain(|it| !it.is_empty());
        folders.dedup();
        folders.truncate(20);
        let known = if folders.is_empty() {
            "all notes lie at the top".to_owned()
        } else {
            format!("there are {}", quoted(folders))
        };
        return Err(Error::NoFolder(shown(folder.as_str()), known));
    }
    Ok(listing)
}

fn load(vault: &Vault, listing: Listing) -> Loaded {
    let mut loaded = Loaded { pages: Vec::new(), skipped: listing.skipped, cut: listing.cut };
    let mut bytes = 0;
    for entry in listing.notes {
        if MOST_SEARCHED < bytes {
            loaded.cut = true;
            break;
        }
        match vault.read(&entry.path) {
            Ok(contents) => {
                bytes += contents.text.len();
                loaded.pages.push((page(&entry.path, &contents.text), contents.modified));
            }
            // It may have been moved since the folder was listed.
            Err(vault::Error::Missing(_)) => {}
            Err(error) => loaded.skipped.push((shown(entry.path.as_str()), error.to_string())),
        }
    }
    loaded
}

fn page(path: &NotePath, text: &str) -> Page {
    let body = markdown::split(text).body;
    let headings: Vec<&str> = markdown::headings(body).iter().map(|heading| heading.text).collect();
    Page {
        path: path.as_str().to_owned(),
        title: markdown::title(text, path.stem()),
        tags: markdown::tags(text),
        headings: headings.join("\n"),
        body: body.to_owned(),
    }
}

fn clean_tag(text: &str) -> Result<String, Error> {
    let tag = text.trim().trim_start_matches('#');
    if markdown::is_tag(tag) { Ok(tag.to_owned()) } else { Err(Error::BadTag(shown(text.trim()))) }
}

fn clean_tags(tags: &[&str]) -> Result<Vec<String>, Error> {
    tags.iter().map(|tag| clean_tag(tag)).collect()
}

fn borrowed(tags: &[String]) -> Vec<&str> {
    tags.iter().map(String::as_str).collect()
}

/// Names a text by its content: the same text has the same revision, on every computer.
fn revision(text: &str) -> String {
    // FNV-1a: it has to notice changes, not to withstand an attacker.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn stamp(time: SystemTime) -> String {
    let stamp = Timestamp::try_from(time).and_then(|it| it.round(Unit::Second));
    stamp.map_or_else(|_| "unknown".to_owned(), |it| it.to_string())
}

fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn hashed(tags: &[String]) -> String {
    tags.iter().map(|tag| format!(" #{tag}")).collect()
}

fn listed(skipped: &[(String, String)]) -> Value {
    let some = skipped.iter().take(MOST_SKIPPED);
    some.map(|(path, reason)| json!({ "path": path, "reason": reason })).collect()
}

/// Says what was left out of an answer, if anything was.
fn told(skipped: &[(String, String)], cut: bool) -> String {
    let mut text = String::new();
    for (path, reason) in skipped.iter().take(MOST_SKIPPED) {
        text.push_str(&format!("\nNot looked at: {path}: {reason}"));
    }
    if MOST_SKIPPED < skipped.len() {
        text.push_str(&format!("\nNot looked at: {} more files", skipped.len() - MOST_SKIPPED));
    }
    if cut {
        text.push_str("\nThe folder is larger than is looked at in one go: name a `folder`");
    }
    text
}
