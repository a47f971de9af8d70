//! What was decided last in each conversation, which says what a person makes of it by what they do next.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Conversations that are remembered.
const MOST: usize = 1024;
/// After this long, what comes next says nothing about what was before.
const CONNECTED: Duration = Duration::from_secs(120);

/// The last decision of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LastRoute {
    /// Names the decision.
    pub(crate) id: String,
    /// The words of the request.
    pub(crate) words: String,
    /// The tool that ran.
    pub(crate) ran: Option<String>,
    /// The tools that were considered.
    pub(crate) considered: Vec<String>,
}

/// The last decisions of conversations.
#[derive(Debug, Default)]
pub(crate) struct LastRoutes(Mutex<HashMap<String, (Instant, LastRoute)>>);

impl LastRoutes {
    /// Returns the last decision of a conversation, unless it is long ago.
    pub(crate) fn of(&self, conversation: &str, now: Instant) -> Option<LastRoute> {
        let held = self.0.lock();
        let (at, last) = held.get(conversation)?;
        (now.duration_since(*at) < CONNECTED).then(|| last.clone())
    }

    /// Notes a decision. The oldest goes when there are too many.
    pub(crate) fn note(&self, conversation: &str, last: LastRoute, now: Instant) {
        let mut held = self.0.lock();
        held.insert(conversation.to_owned(), (now, last));
        if held.len() > MOST {
            let oldest = held.iter().min_by_key(|(_, (at, _))| *at).map(|(key, _)| key.clone());
            oldest.and_then(|key| held.remove(&key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r16_what_was_decided_long_ago_is_not_connected() {
        let (routes, now) = (LastRoutes::default(), Instant::now());
        let last = LastRoute { id: "a".into(), words: "x".into(), ran: None, considered: Vec::new() };
        routes.note("talk", last.clone(), now);
        assert_eq!(routes.of("talk", now), Some(last));
        assert_eq!(routes.of("other", now), None);
        assert_eq!(routes.of("talk", now + CONNECTED), None);
    }

    #[test]
    fn r16_the_conversations_that_are_remembered_are_bounded() {
        let (routes, now) = (LastRoutes::default(), Instant::now());
        for at in 0..MOST + 10 {
            let last =
                LastRoute { id: String::new(), words: String::new(), ran: None, considered: Vec::new() };
            routes.note(&at.to_string(), last, now + Duration::from_millis(at as u64));
        }
        assert_eq!(routes.of("0", now), None);
        assert!(routes.of("100", now).is_some());
    }
}
