//! Whom a server's messages reach, through the link's own front door.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{broadcast, mpsc};

use super::{Link, MOST_QUESTIONS, Outgoing, Wire};
use crate::caller::{Caller, Client, Questions};
use crate::frame::Bounds;
use crate::jsonrpc::{Fields, Id, Message, raw};
use crate::upstream::Audience;
use crate::upstream::patience::TimeLimit;

#[tokio::test]
async fn a_question_is_put_only_where_it_must_belong() {
    let (link, _server) = link();
    let (ann, bob) = (caller("ann"), caller("bob"));
    let mut of_ann = Box::pin(link.request("tools/call", Fields::default(), &ann, LONG));
    assert!(of_ann.as_mut().now_or_never().is_none());
    assert_eq!(asked(&link), Some("ann"), "one client is in flight");

    let mut of_bob = Box::pin(link.request("tools/call", Fields::default(), &bob, LONG));
    assert!(of_bob.as_mut().now_or_never().is_none());
    assert_eq!(asked(&link), None, "two are, and the server does not say");

    drop(of_bob);
    assert_eq!(asked(&link), None, "the server may still be at what was given up");
    link.receive(Message::Response { id: Id::number(2), outcome: Ok(raw(&())) }, None);
    assert_eq!(asked(&link), Some("ann"), "it has answered");
}

#[tokio::test]
async fn somebody_elses_listing_keeps_nobody_from_being_asked() {
    let (link, _server) = link();
    let (ann, bob) = (caller("ann"), caller("bob"));
    let mut listed = Box::pin(link.request("tools/list", Fields::default(), &bob, LONG));
    assert!(listed.as_mut().now_or_never().is_none());
    assert_eq!(asked(&link), Some("bob"), "nothing else is in flight");
    let mut of_ann = Box::pin(link.request("tools/call", Fields::default(), &ann, LONG));
    assert!(of_ann.as_mut().now_or_never().is_none());
    assert_eq!(asked(&link), Some("ann"));
    drop(listed);
    assert_eq!(asked(&link), Some("ann"), "nor does one that was given up");
}

#[tokio::test]
async fn m2_whoever_leaves_a_question_open_keeps_nobody_else_from_being_asked() {
    let (link, _server) = link();
    let (ann, bob) = (caller("ann"), caller("bob"));
    let mut of_ann = Box::pin(link.request("tools/call", Fields::default(), &ann, LONG));
    assert!(of_ann.as_mut().now_or_never().is_none());
    let question =
        Message::Request { id: Id::number(7), method: "elicitation/create".to_owned(), params: None };
    link.receive(question, None);
    assert_eq!(asked(&link), Some("ann"), "nobody else can be meant");
    let mut of_bob = Box::pin(link.request("tools/call", Fields::default(), &bob, LONG));
    assert!(of_bob.as_mut().now_or_never().is_none());
    assert_eq!(asked(&link), Some("bob"));
}

#[tokio::test]
async fn requests_with_the_same_token_are_told_apart() {
    let (link, _server) = link();
    let same = || Arc::into_inner(caller("token")).expect("it is new");
    let (one, other) = (Arc::new(same().apart("1".into())), Arc::new(same().apart("2".into())));
    let mut first = Box::pin(link.request("tools/call", Fields::default(), &one, LONG));
    let mut second = Box::pin(link.request("tools/call", Fields::default(), &other, LONG));
    assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
    assert_eq!(asked(&link), None);
}

#[tokio::test]
async fn a_server_that_asks_and_does_not_listen_is_not_heard_for_ever() {
    let (link, _server) = link();
    for number in 0..10_000 {
        let ping = Message::Request { id: Id::number(number), method: "ping".to_owned(), params: None };
        link.receive(ping, None);
    }
    assert_eq!(link.open_questions.lock().len(), MOST_QUESTIONS);
}

#[tokio::test]
async fn nobody_waits_for_a_server_that_does_not_read() {
    let (link, server) = link();
    for _ in 0..100 {
        let told = link.notify("notifications/roots/list_changed", None).now_or_never();
        assert!(told.is_some(), "a notification is lost and not waited for");
    }
    assert!(server.len() <= QUEUE);
}

const LONG: TimeLimit = TimeLimit::fixed(Duration::from_secs(3600));
const QUEUE: usize = 8;

/// A link to a server that reads nothing; the receiver is its input.
fn link() -> (Arc<Link>, mpsc::Receiver<Outgoing>) {
    let (lines, input) = mpsc::channel(QUEUE);
    let audience = Audience {
        news: broadcast::Sender::new(8),
        sole: Arc::default(),
        abilities: Arc::default(),
        ability_count: Arc::default(),
    };
    let bounds = Bounds { bytes: 1 << 20, nesting: 100 };
    (Arc::new(Link::new("deaf".into(), bounds, Wire::Lines(lines), audience)), input)
}

fn caller(name: &str) -> Arc<Caller> {
    let client =
        Client { info: None, capabilities: Fields::default(), principal: name.into(), log_level: None };
    Arc::new(Caller::session(&client, mpsc::channel(1).0, Arc::<Questions>::default()))
}

/// Returns who would be asked now.
fn asked(link: &Link) -> Option<&'static str> {
    let caller = link.addressee(None)?;
    ["ann", "bob", "token"].into_iter().find(|name| *caller.principal == **name)
}
