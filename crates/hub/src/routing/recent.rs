//! What conversations used lately.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
/// Tools of one conversation that are remembered.
const MOST_TOOLS: usize = 10;
/// Conversations that are remembered.
const MOST_CONVERSATIONS: usize = 1000;
/// A conversation that rested this long begins anew.
const REST: Duration = Duration::from_secs(3600);

/// What conversations used lately. Nothing of one is seen by another.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<HashMap<String, Used>>);

#[derive(Debug)]
struct Used {
    /// The latest first.
    tools: VecDeque<Arc<str>>,
    at: Instant,
}

impl Recent {
    /// Notes that a conversation used a tool.
    pub(crate) fn note(&self, conversation: &str, tool: &str, now: Instant) {
        let mut conversations = self.0.lock();
        if conversations.len() >= MOST_CONVERSATIONS && !conversations.contains_key(conversation) {
            conversations.retain(|_, used| now.duration_since(used.at) < REST);
            let oldest = conversations.iter().min_by_key(|(_, used)| used.at).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest.filter(|_| conversations.len() >= MOST_CONVERSATIONS) {
                conversations.remove(&oldest);
            }
        }
        let used = conversations
            .entry(conversation.to_owned())
            .or_insert_with(|| Used { tools: VecDeque::new(), at: now });
        if now.duration_since(used.at) >= REST {
            used.tools.clear();
        }
        used.at = now;
        used.tools.retain(|known| **known != *tool);
        used.tools.push_front(tool.into());
        used.tools.truncate(MOST_TOOLS);
    }

    /// Returns what a conversation used, the latest first.
    pub(crate) fn of(&self, conversation: &str, now: Instant) -> Vec<Arc<str>> {
        let conversations = self.0.lock();
        let used = conversations.get(conversation).filter(|used| now.duration_since(used.at) < REST);
        used.map(|used| used.tools.iter().cloned().collect()).unwrap_or_default()
    }
}

/// Says how lately a tool was used, from 0 to 1.
pub(crate) fn freshness(recent: &[Arc<str>], tool: &str) -> f32 {
    let place = recent.iter().position(|used| **used == *tool);
    place.map_or(0.0, |place| 1.0 - place as f32 / MOST_TOOLS as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r5_a_conversation_remembers_its_last_tools_and_no_others() {
        let (recent, now) = (Recent::default(), Instant::now());
        for tool in 0..12 {
            recent.note("a", &format!("t{tool}"), now);
        }
        recent.note("a", "t5", now);
        let used = recent.of("a", now);
        assert_eq!(used.len(), MOST_TOOLS);
        assert_eq!(&*used[0], "t5");
        assert!(freshness(&used, "t5") > freshness(&used, "t11") && freshness(&used, "t1") == 0.0);
        assert!(recent.of("b", now).is_empty());
        assert!(recent.of("a", now + REST).is_empty());
    }

    #[test]
    fn conversations_are_bounded() {
        let (recent, now) = (Recent::default(), Instant::now());
        for number in 0..MOST_CONVERSATIONS + 10 {
            recent.note(&number.to_string(), "t", now + Duration::from_millis(number as u64));
        }
        assert_eq!(recent.0.lock().len(), MOST_CONVERSATIONS);
        assert!(recent.of("0", now).is_empty());
    }
}
