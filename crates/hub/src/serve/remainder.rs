//! What did not fit into an answer, kept for a while for whom it was made.
//!
//! Only what a model reads is cut: what passes through by name or unchanged is not touched. Texts go on in
//! pages, large pictures and files become links to a resource of the hub.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::fair::{Holding, expendable};
use crate::jsonrpc::{Fields, raw};

/// How long a remainder is kept.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Bytes that are kept altogether; beyond, the oldest of the client with most go.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// A picture or a file in more bytes than these, as they travel, becomes a link.
const LARGE: usize = 512 * 1024;
const HANDLE_BYTES: usize = 9;
/// Where links of the hub lead.
pub(crate) const SCHEME: &str = "toolyard://result/";

/// The remainders of all clients.
#[derive(Debug, Default)]
pub(crate) struct Remainders(Mutex<HashMap<String, Kept>>);

#[derive(Debug)]
struct Kept {
    /// Whose it is; nobody else can read it.
    principal: String,
    /// The client whose room it takes.
    owner: String,
    since: Instant,
    text: String,
    /// Kinds of content and content, in base64.
    blobs: Vec<(String, String)>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.text.len() + self.blobs.iter().map(|(_, data)| data.len()).sum::<usize>()
    }
}

/// A result that fits, and what is left of it.
#[derive(Debug)]
pub(crate) struct Fitted {
    pub(crate) result: Box<RawValue>,
    pub(crate) rest: Option<Rest>,
}

/// What is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Gets the next page.
    pub(crate) handle: String,
    /// Bytes of text that were not shown yet.
    pub(crate) bytes: usize,
}

/// A part of a text that was cut.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) rest: Option<Rest>,
}

impl Remainders {
    /// Cuts the result of a tool to so many bytes of text; what is left is kept for its caller.
    pub(crate) fn fit(&self, result: Box<RawValue>, budget: usize, caller: &Caller) -> Fitted {
        if result.get().len() <= budget.min(LARGE) {
            return Fitted { result, rest: None };
        }
        let Ok(mut fields) = Fields::parse(Some(&result)) else { return Fitted { result, rest: None } };
        let handle = fresh();
        let blocks: Vec<Box<RawValue>> = fields.read("content").unwrap_or_default();
        let mut cut = Cut { handle: &handle, left: budget, rest: String::new(), blobs: Vec::new() };
        let mut blocks: Vec<Box<RawValue>> =
            blocks.into_iter().filter_map(|block| cut.block(block)).collect();
        if let Some(structured) = fields.get("structuredContent").filter(|it| it.get().len() > budget) {
            // Half an object is none, so all of it is read as text where the tool gave no other text.
            if !blocks.iter().any(|block| is_text(block)) {
                blocks.extend(cut.block(raw(&json!({"type": "text", "text": structured.get()}))));
            }
            fields.remove("structuredContent");
        }
        if cut.rest.is_empty() && cut.blobs.is_empty() {
            return Fitted { result, rest: None };
        }
        let rest =
            (!cut.rest.is_empty()).then(|| Rest { handle: format!("{handle}.0"), bytes: cut.rest.len() });
        let (principal, owner) = (caller.principal.to_string(), caller.owner());
        let kept = Kept { principal, owner, since: Instant::now(), text: cut.rest, blobs: cut.blobs };
        self.put(handle, kept);
        fields.set("content", raw(&blocks));
        Fitted { result: raw(&fields), rest }
    }

    /// Returns the next page of a text; `None` when it is not known, was dropped, or is somebody else's.
    pub(crate) fn page(&self, handle: &str, budget: usize, principal: &str) -> Option<Page> {
        let (id, start) = handle.split_once('.')?;
        let start: usize = start.parse().ok()?;
        self.with(id, principal, |kept| {
            let rest = kept.text.get(start..).filter(|rest| !rest.is_empty())?;
            let end = start + cut_at(rest, budget);
            let left = kept.text.len() - end;
            let text = kept.text[start..end].to_owned();
            Some(Page { text, rest: (left > 0).then(|| Rest { handle: format!("{id}.{end}"), bytes: left }) })
        })?
    }

    /// Reads what a link of the hub leads to.
    pub(crate) fn read(&self, uri: &str, principal: &str) -> Option<Box<RawValue>> {
        let (id, number) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        let number: usize = number.parse().ok()?;
        self.with(id, principal, |kept| {
            let (kind, data) = kept.blobs.get(number)?;
            Some(raw(&json!({"contents": [{"uri": uri, "mimeType": kind, "blob": data}]})))
        })?
    }

    fn with<T>(&self, id: &str, principal: &str, read: impl FnOnce(&Kept) -> T) -> Option<T> {
        let kept = self.0.lock();
        let found = kept.get(id).filter(|it| it.principal == principal && it.since.elapsed() < PATIENCE);
        found.map(read)
    }

    fn put(&self, id: String, fresh: Kept) {
        let mut all = self.0.lock();
        all.retain(|_, kept| kept.since.elapsed() < PATIENCE);
        all.insert(id, fresh);
        while all.len() > 1 && all.values().map(Kept::bytes).sum::<usize>() > MOST_BYTES {
            let expendable = expendable(all.iter().map(|(id, kept)| Holding {
                key: id,
                owner: &kept.owner,
                size: kept.bytes(),
                since: Some(kept.since),
            }));
            expendable.cloned().and_then(|id| all.remove(&id));
        }
    }
}

/// A result that is being cut.
struct Cut<'a> {
    handle: &'a str,
    /// Bytes of text that may still be shown.
    left: usize,
    rest: String,
    blobs: Vec<(String, String)>,
}

impl Cut<'_> {
    /// Returns what of a block is shown.
    fn block(&mut self, block: Box<RawValue>) -> Option<Box<RawValue>> {
        let Ok(mut fields) = Fields::parse(Some(&block)) else { return Some(block) };
        let resource = fields.object("resource");
        if is_text(&block) {
            let text = fields.text("text").unwrap_or_default();
            let shown = self.text(&text)?;
            if shown.len() < text.len() {
                fields.set("text", raw(&shown));
                return Some(raw(&fields));
            }
            return Some(block);
        }
        if let Some(text) = resource.text("text") {
            let shown = self.text(&text)?;
            if shown.len() < text.len() {
                let mut resource = resource;
                resource.set("text", raw(&shown));
                fields.set("resource", raw(&resource));
                return Some(raw(&fields));
            }
            return Some(block);
        }
        let (holder, key) =
            if fields.get("data").is_some() { (&fields, "data") } else { (&resource, "blob") };
        if holder.get(key).is_none_or(|data| data.get().len() <= LARGE) {
            return Some(block);
        }
        Some(self.link(holder, key))
    }

    fn text<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let is_cut = !self.rest.is_empty();
        let end = if is_cut { 0 } else { cut_at(text, self.left) };
        self.left -= end.min(self.left);
        if end < text.len() {
            self.rest.push_str(if is_cut { "\n" } else { "" });
            self.rest.push_str(&text[end..]);
        }
        // Nothing is left of a block behind the cut.
        (end > 0 || text.is_empty() && !is_cut).then_some(&text[..end])
    }

    fn link(&mut self, holder: &Fields, key: &str) -> Box<RawValue> {
        let data = holder.text(key).unwrap_or_default();
        let kind = holder.text("mimeType").unwrap_or_else(|| "application/octet-stream".to_owned());
        let uri = format!("{SCHEME}{}/{}", self.handle, self.blobs.len());
        let bytes = data.len() / 4 * 3;
        let link = json!({
            "type": "resource_link", "uri": uri, "name": format!("{kind}, {bytes} bytes"),
            "mimeType": kind, "size": bytes,
        });
        self.blobs.push((kind, data));
        raw(&link)
    }
}

fn is_text(block: &RawValue) -> bool {
    Fields::parse(Some(block)).is_ok_and(|fields| fields.text("type").as_deref() == Some("text"))
}

/// Returns where a text is cut: behind a line if one ends in the last quarter, else between characters.
fn cut_at(text: &str, budget: usize) -> usize {
    if text.len() <= budget {
        return text.len();
    }
    let end = (0..=budget).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let line = text[..end].rfind('\n').map(|at| at + 1).filter(|at| *at > end - end / 4);
    match line.unwrap_or(end) {
        // Something is shown even where a budget is smaller than a character.
        0 => text.chars().next().map_or(0, char::len_utf8),
        end => end,
    }
}

fn fresh() -> String {
    let mut bytes = [0; HANDLE_BYTES];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Says how a result goes on, as the last block of it.
pub(crate) fn going_on(result: &RawValue, said: &str) -> Box<RawValue> {
    let mut fields = Fields::parse(Some(result)).unwrap_or_default();
    let mut blocks: Vec<Value> = fields.read("content").unwrap_or_default();
    blocks.push(json!({"type": "text", "text": said}));
    fields.set("content", raw(&blocks));
    raw(&fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Client;

    /// A client by its name, which is all that tells it from others here.
    fn caller(name: &str) -> Caller {
        let client = Client {
            info: Some(raw(&json!({ "name": name }))),
            capabilities: Fields::default(),
            principal: name.into(),
            log_level: None,
        };
        Caller::modern(&client, tokio::sync::mpsc::channel(1).0)
    }

    fn fitted(remainders: &Remainders, result: &Value, budget: usize) -> (Value, Option<Rest>) {
        let fitted = remainders.fit(raw(result), budget, &caller("ana"));
        (serde_json::from_str(fitted.result.get()).unwrap(), fitted.rest)
    }

    #[test]
    fn r1_a_small_result_is_not_touched() {
        let result = json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1.50}});
        assert_eq!(fitted(&Remainders::default(), &result, 1024), (result, None));
    }

    #[test]
    fn r1_a_long_text_goes_on_page_by_page_for_whom_it_was_made() {
        let remainders = Remainders::default();
        let lines: String = (0..200).map(|at| format!("line {at} äöü\n")).collect();
        let content = json!([{"type": "text", "text": lines}, {"type": "text", "text": "last"}]);
        let (shown, rest) = fitted(&remainders, &json!({"content": content, "_meta": {"k": 1}}), 500);
        assert_eq!(shown["_meta"], json!({"k": 1}));
        let mut read = shown["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(read.len() <= 500 && read.ends_with('\n') && shown["content"].as_array().unwrap().len() == 1);
        let mut next = rest;
        assert_eq!(remainders.page(&next.clone().unwrap().handle, 500, "bob"), None);
        while let Some(rest) = next {
            let page = remainders.page(&rest.handle, 500, "ana").unwrap();
            read.push_str(&page.text);
            assert_eq!(page.rest.as_ref().map_or(0, |it| it.bytes) + page.text.len(), rest.bytes);
            next = page.rest;
        }
        assert_eq!(read, format!("{lines}\nlast"));
        for wrong in ["", "x", "x.0", "x.y", ".0"] {
            assert_eq!(remainders.page(wrong, 500, "ana"), None, "{wrong}");
        }
    }

    #[test]
    fn r1_structured_content_is_kept_whole_or_read_as_text() {
        let remainders = Remainders::default();
        let long = "x".repeat(3000);
        let small = json!({"content": [{"type": "text", "text": long}], "structuredContent": {"n": 1}});
        let (shown, rest) = fitted(&remainders, &small, 1000);
        assert_eq!(shown["structuredContent"], json!({"n": 1}));
        assert_eq!(rest.unwrap().bytes, 2000);
        let (shown, rest) =
            fitted(&remainders, &json!({"content": [], "structuredContent": {"n": long}}), 1000);
        assert!(shown.get("structuredContent").is_none());
        let read = shown["content"][0]["text"].as_str().unwrap().to_owned();
        let page = remainders.page(&rest.unwrap().handle, 9000, "ana").unwrap();
        assert_eq!(read + &page.text, json!({"n": long}).to_string());
    }

    #[test]
    fn r1_large_pictures_and_files_become_links_and_small_ones_stay() {
        let remainders = Remainders::default();
        let large = "A".repeat(LARGE + 4);
        let small = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let content = json!([
            small,
            {"type": "image", "data": large, "mimeType": "image/jpeg"},
            {"type": "resource", "resource": {"uri": "f:/a", "blob": large}},
        ]);
        let (shown, rest) = fitted(&remainders, &json!({"content": content}), 1000);
        assert_eq!((&shown["content"][0], rest), (&small, None));
        for (at, kind) in [(1, "image/jpeg"), (2, "application/octet-stream")] {
            let link = &shown["content"][at];
            assert_eq!((&link["type"], &link["mimeType"]), (&json!("resource_link"), &json!(kind)));
            let uri = link["uri"].as_str().unwrap();
            let read: Value = serde_json::from_str(remainders.read(uri, "ana").unwrap().get()).unwrap();
            assert_eq!(read["contents"][0]["blob"], json!(large));
            assert!(remainders.read(uri, "bob").is_none());
        }
        assert!(remainders.read("toolyard://result/x/0", "ana").is_none());
    }

    #[test]
    fn t27_long_results_of_one_client_displace_none_of_another() {
        let remainders = Remainders::default();
        let keep = |name: &str, bytes: usize| {
            let result = json!({"content": [{"type": "text", "text": "x".repeat(bytes)}]});
            remainders.fit(raw(&result), 1000, &caller(name)).rest.unwrap().handle
        };
        let early = keep("bob", 9000);
        let mine: Vec<String> = (0..12).map(|_| keep("ana", MOST_BYTES / 4)).collect();
        assert!(remainders.page(&early, 1000, "bob").is_some());
        assert!(remainders.page(&mine[0], 1000, "ana").is_none());
        assert!(remainders.page(&mine[11], 1000, "ana").is_some());
    }

    #[test]
    fn r17_remainders_are_bounded() {
        let remainders = Remainders::default();
        for _ in 0..5 {
            let text = "x".repeat(MOST_BYTES / 3);
            fitted(&remainders, &json!({"content": [{"type": "text", "text": text}]}), 1000);
        }
        let bytes: usize = remainders.0.lock().values().map(Kept::bytes).sum();
        assert!(bytes <= MOST_BYTES, "{bytes}");
    }
}
