//! Calls that wait for a person's word: one handle for exactly one call, once, for a short time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use toolyard_core::turn::ChatMessage;
use toolyard_hub::pins::Pin;

/// How long a call waits.
const LIFETIME: Duration = Duration::from_secs(600);
/// Calls that wait at most; the oldest make room.
const MOST: usize = 1000;
/// The word in front of a handle.
const WORD: &str = "confirm";
/// Characters of a handle.
const HANDLE_CHARS: usize = 8;

/// A call that nobody agreed to yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Waiting {
    /// The tool.
    pub(super) tool: String,
    /// Its arguments.
    pub(super) arguments: Map<String, Value>,
    /// The definition that the person was asked about.
    pub(super) pin: Pin,
}

/// The calls that wait, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Confirmations {
    entries: Mutex<VecDeque<Entry>>,
}

#[derive(Debug)]
struct Entry {
    handle: String,
    /// The client that may confirm it.
    principal: String,
    call: Waiting,
    since: Instant,
}

impl Confirmations {
    /// Keeps a call for a client; returns its handle.
    pub(super) fn keep(&self, principal: &str, call: Waiting, now: Instant) -> String {
        let mut entries = self.entries.lock();
        forget_old(&mut entries, now);
        if entries.len() == MOST {
            entries.pop_front();
        }
        let handle = fresh(|handle| entries.iter().any(|it| it.handle == handle));
        let principal = principal.to_owned();
        entries.push_back(Entry { handle: handle.clone(), principal, call, since: now });
        handle
    }

    /// Takes the call of a handle, which is then used up.
    pub(super) fn take(&self, principal: &str, handle: &str, now: Instant) -> Option<Waiting> {
        let mut entries = self.entries.lock();
        forget_old(&mut entries, now);
        let at = entries.iter().position(|it| it.handle == handle && it.principal == principal)?;
        entries.remove(at).map(|entry| entry.call)
    }
}

/// Returns the handle that the last message confirms.
pub(super) fn handle(messages: &[ChatMessage]) -> Option<String> {
    let Some(ChatMessage::User { text }) = messages.last() else { return None };
    let text = text.trim().to_lowercase();
    let handle = text.strip_prefix(WORD).filter(|rest| rest.starts_with(char::is_whitespace))?.trim();
    let is_handle = handle.len() == HANDLE_CHARS && handle.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_handle.then(|| handle.to_owned())
}

/// Whether the last message confirms something.
pub(super) fn is_meant(messages: &[ChatMessage]) -> bool {
    handle(messages).is_some()
}

/// Says how a call is confirmed.
pub(super) fn how(call: &Waiting, handle: &str) -> String {
    let arguments = Value::Object(call.arguments.clone());
    format!("To run {} {arguments}, reply: {WORD} {handle}", call.tool)
}

/// Says that there is nothing behind a handle.
pub(super) fn unknown(handle: &str) -> String {
    let minutes = LIFETIME.as_secs() / 60;
    format!(
        "Nothing was run: {handle} was confirmed before, is older than {minutes} minutes, or was never given."
    )
}

/// Says that a call does not run because its tool is not what the person was asked about.
pub(super) fn changed(tool: &str) -> String {
    format!(
        "Nothing was run: the definition of {tool} changed since you were asked. Say again what you want."
    )
}

fn forget_old(entries: &mut VecDeque<Entry>, now: Instant) {
    while entries.front().is_some_and(|it| now.duration_since(it.since) > LIFETIME) {
        entries.pop_front();
    }
}

fn fresh(is_taken: impl Fn(&str) -> bool) -> String {
    loop {
        let number = getrandom::u32().expect("the operating system has random numbers");
        let handle = format!("{number:08x}");
        if !is_taken(&handle) {
            return handle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str) -> Waiting {
        let pin = Pin::of(&toolyard_hub::jsonrpc::raw(&serde_json::json!({ "name": tool })));
        Waiting { tool: tool.to_owned(), arguments: Map::new(), pin }
    }

    #[test]
    fn a_handle_is_good_once_and_for_its_client() {
        let (store, now) = (Confirmations::default(), Instant::now());
        let handle = store.keep("ana", call("a__b"), now);
        assert_eq!(handle.len(), HANDLE_CHARS);
        assert_eq!(store.take("ben", &handle, now), None);
        assert_eq!(store.take("ana", &handle, now), Some(call("a__b")));
        assert_eq!(store.take("ana", &handle, now), None);
    }

    #[test]
    fn a_handle_is_good_for_ten_minutes() {
        let (store, now) = (Confirmations::default(), Instant::now());
        let handles = [store.keep("ana", call("a__b"), now), store.keep("ana", call("a__c"), now)];
        assert!(store.take("ana", &handles[0], now + LIFETIME).is_some());
        assert!(store.take("ana", &handles[1], now + LIFETIME + Duration::from_secs(1)).is_none());
    }

    #[test]
    fn the_oldest_make_room() {
        let (store, now) = (Confirmations::default(), Instant::now());
        let handles: Vec<String> = (0..=MOST).map(|_| store.keep("ana", call("a__b"), now)).collect();
        assert!(store.take("ana", &handles[0], now).is_none());
        assert!(store.take("ana", &handles[1], now).is_some());
        assert!(store.take("ana", &handles[MOST], now).is_some());
    }

    #[test]
    fn only_the_word_and_a_handle_confirm() {
        let read = |text: &str| handle(&[ChatMessage::user(text)]);
        for text in ["confirm 0123abcd", "  Confirm   0123ABCD\n"] {
            assert_eq!(read(text).as_deref(), Some("0123abcd"), "{text}");
        }
        for text in
            ["confirm", "confirm 0123abc", "confirm 0123abcg", "please confirm 0123abcd", "confirm0123abcd"]
        {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(handle(&[ChatMessage::assistant("confirm 0123abcd")]), None);
        assert_eq!(handle(&[ChatMessage::user("confirm 0123abcd"), ChatMessage::assistant("no")]), None);
    }
}
