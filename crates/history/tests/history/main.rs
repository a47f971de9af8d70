//! The history through its front door.

#![allow(clippy::unwrap_used, reason = "a test stops where something is wrong")]

mod keeping; //  routes, pages and searches
mod counting; // summaries and sessions
mod pruning; //  what is forgotten, and when
mod learning; // feedback and lessons
mod sharing; //  several processes, full queues
mod trouble; //  files and folders that cannot be used

use std::path::Path;

use serde_json::json;
use toolyard_history::{
    Considered, Feedback, FeedbackSource, History, Lesson, Page, Rating, Retention, Route, RouteOutcome,
    RouteSearch,
};

/// A time far ahead, so that what the writer removes by the clock of the machine never touches it.
pub(crate) const NOW: i64 = 4_000_000_000_000;
pub(crate) const DAY: i64 = 86_400_000;

pub(crate) fn opened(folder: &Path) -> History {
    History::open(folder, Retention::default()).unwrap()
}

/// A route with everything in it; later numbers are newer.
pub(crate) fn route(number: i64) -> Route {
    Route {
        id: format!("R{number:07}"),
        at: NOW + number,
        who: "local".to_owned(),
        client: "cursor 1.2".to_owned(),
        session: Some("s1".to_owned()),
        words: Some(format!("send the letter number {number}")),
        decision: RouteOutcome::Act,
        tool: Some("mail__send_message".to_owned()),
        confidence: 0.75,
        reasons: vec!["\"send\" is what the tool does".to_owned()],
        candidates: vec![
            Considered {
                tool: "mail__send_message".to_owned(),
                probability: 0.75,
                reasons: vec!["send".to_owned()],
            },
            Considered { tool: "chat__post".to_owned(), probability: 0.2, reasons: Vec::new() },
        ],
        shape: json!({"to": "string", "count": "number"}),
        arguments: Some(json!({"to": "ana@example.com", "count": 2})),
        ran: Some("answered".to_owned()),
        routing_ms: 1.5,
        total_ms: 20.25,
        cached: false,
        question: Some("To whom?".to_owned()),
    }
}

pub(crate) fn feedback(id: &str, route: Option<&str>, verdict: Rating) -> Feedback {
    Feedback {
        id: id.to_owned(),
        at: NOW,
        route: route.map(str::to_owned),
        who: "local".to_owned(),
        source: FeedbackSource::Dashboard,
        verdict,
        meant: Some("chat__post".to_owned()),
        weight: FeedbackSource::Dashboard.weight(),
        words: Some("send the letter".to_owned()),
    }
}

pub(crate) fn lesson(id: &str, at: i64) -> Lesson {
    Lesson {
        id: id.to_owned(),
        at,
        who: "local".to_owned(),
        words: "send the letter".to_owned(),
        right: Some("chat__post".to_owned()),
        wrong: Some("mail__send_message".to_owned()),
        weight: 1.0,
        source: FeedbackSource::Dashboard,
        route: None,
    }
}

pub(crate) fn recorded(history: &History, routes: impl IntoIterator<Item = Route>) {
    routes.into_iter().for_each(|route| history.record(route));
    history.flush();
}

/// Returns the ids that a search finds, over all pages.
pub(crate) fn found(history: &History, search: &RouteSearch) -> Vec<String> {
    let mut search = RouteSearch { limit: search.limit.max(100), ..search.clone() };
    let mut ids = Vec::new();
    loop {
        let page: Page<Route> = history.routes(&search).unwrap();
        ids.extend(page.items.into_iter().map(|route| route.id));
        match page.next {
            Some(next) => search.before = Some(next),
            None => return ids,
        }
    }
}

pub(crate) fn all(history: &History) -> Vec<String> {
    found(history, &RouteSearch::default())
}

/// Returns how many bytes a folder has on the disk.
pub(crate) fn disk(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Whether a text stands anywhere in the files of a folder.
pub(crate) fn is_on_disk(folder: &Path, text: &str) -> bool {
    let mut files = std::fs::read_dir(folder).unwrap();
    files.any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}
