//! Questions that wait for a follow-up call. A handle is short because a model has to repeat it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::fair::{Holding, expendable};
use crate::pins::Pin;

/// How long a question may wait.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Questions that wait at the same time; beyond, the oldest of the client with most goes.
const MOST: usize = 1000;
/// Larger arguments are not kept; they are given again.
const MOST_BYTES: usize = 16 * 1024;
const HANDLE_BYTES: usize = 9;

/// The questions that wait.
#[derive(Debug, Default)]
pub(crate) struct Pending(Mutex<HashMap<String, Waiting>>);

/// What a question was about.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// Whose question it is; nobody else can answer it.
    pub(super) principal: String,
    /// The client whose room it takes.
    pub(super) owner: String,
    pub(super) task: String,
    /// The tools that were offered, in order.
    pub(super) offered: Vec<String>,
    /// The tool that is meant, when only its arguments are missing.
    pub(super) chosen: Option<String>,
    pub(super) arguments: Option<Box<RawValue>>,
    /// The values that the caller named.
    pub(super) values: Option<Map<String, Value>>,
    /// The names of the values that were asked for.
    pub(super) missing: Vec<String>,
    /// The tools that were shown, as they were.
    pub(super) pins: Vec<(String, Pin)>,
}

#[derive(Debug)]
struct Waiting {
    question: Question,
    since: Instant,
}

impl Pending {
    /// Keeps a question under its old handle, or under a new one. `is_ours` knows handles that were given out
    /// elsewhere.
    pub(super) fn put(
        &self,
        handle: Option<&str>,
        mut question: Question,
        is_ours: impl Fn(&str) -> bool,
    ) -> String {
        if question.arguments.as_ref().is_some_and(|given| given.get().len() > MOST_BYTES) {
            question.arguments = None;
        }
        let mut waiting = self.0.lock();
        waiting.retain(|_, it| it.since.elapsed() < PATIENCE);
        if waiting.len() >= MOST {
            let expendable = expendable(waiting.iter().map(|(handle, it)| Holding {
                key: handle,
                owner: &it.question.owner,
                size: 1,
                since: Some(it.since),
            }));
            expendable.cloned().and_then(|handle| waiting.remove(&handle));
        }
        // Only a handle of ours goes on: nobody chooses what others might guess.
        let kept = handle.filter(|handle| {
            is_ours(handle)
                || waiting.get(*handle).is_some_and(|it| it.question.principal == question.principal)
        });
        let handle = kept.map_or_else(fresh_handle, str::to_owned);
        waiting.insert(handle.clone(), Waiting { question, since: Instant::now() });
        handle
    }

    /// Returns the question of a handle to whom it was put.
    pub(super) fn get(&self, handle: &str, principal: &str) -> Option<Question> {
        let waiting = self.0.lock();
        let found = waiting.get(handle).filter(|it| it.since.elapsed() < PATIENCE);
        found.map(|it| it.question.clone()).filter(|question| question.principal == principal)
    }
}

/// Makes a handle that nobody can guess.
pub(crate) fn fresh_handle() -> String {
    let mut bytes = [0; HANDLE_BYTES];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(principal: &str) -> Question {
        Question {
            values: None,
            principal: principal.to_owned(),
            owner: principal.to_owned(),
            task: "t".to_owned(),
            offered: Vec::new(),
            chosen: None,
            arguments: None,
            missing: Vec::new(),
            pins: Vec::new(),
        }
    }

    #[test]
    fn r7_a_handle_serves_only_whom_it_was_given_to() {
        let pending = Pending::default();
        let handle = pending.put(None, question("ana"), |_| false);
        assert!(pending.get(&handle, "ana").is_some());
        assert!(pending.get(&handle, "bob").is_none());
        assert_eq!(pending.put(Some(&handle), question("ana"), |_| false), handle);
        assert_ne!(pending.put(Some(&handle), question("bob"), |_| false), handle);
        assert_ne!(pending.put(Some("mine"), question("ana"), |_| false), "mine");
        assert_eq!(handle.len(), 12);
    }

    #[test]
    fn t27_thousands_of_drafts_of_one_client_displace_none_of_another() {
        let pending = Pending::default();
        let early = pending.put(None, question("bob"), |_| false);
        let mine: Vec<String> =
            (0..3 * MOST).map(|_| pending.put(None, question("ana"), |_| false)).collect();
        let late = pending.put(None, question("cy"), |_| false);
        pending.put(None, question("ana"), |_| false);
        assert!(pending.get(&early, "bob").is_some() && pending.get(&late, "cy").is_some());
        assert!(pending.get(&mine[0], "ana").is_none());
        assert!(mine.last().is_some_and(|last| pending.get(last, "ana").is_some()));
    }

    #[test]
    fn r17_questions_are_bounded() {
        let pending = Pending::default();
        for _ in 0..MOST + 5 {
            pending.put(None, question("ana"), |_| false);
        }
        assert_eq!(pending.0.lock().len(), MOST);
    }
}
