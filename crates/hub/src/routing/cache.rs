//! Decisions that were made before, never results.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use toolyard_core::rank::Decision;
use toolyard_core::tool::Effect;

/// Everything that a decision is made from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) task: String,
    pub(crate) preferred_server: Option<String>,
    /// Whose lessons count in full.
    pub(crate) person: Arc<str>,
    pub(crate) servers: Vec<String>,
    /// The most that a tool may do.
    pub(crate) effect: Effect,
    /// What the conversation used lately, the latest first.
    pub(crate) recent: Vec<Arc<str>>,
    /// The servers that do not work.
    pub(crate) failed: Vec<Arc<str>>,
    pub(crate) candidates: usize,
    pub(crate) world: World,
}

/// The catalog, the configuration and the vectors of a decision; their numbers only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) snapshot: u64,
    pub(crate) settings: u64,
    /// The model and the catalog of the vectors.
    pub(crate) meaning: (u64, u64),
    /// What people said about earlier decisions.
    pub(crate) lessons: u64,
}

/// How often a decision was remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Decisions that were remembered.
    pub hits: u64,
    /// Decisions that had to be made.
    pub misses: u64,
    /// Decisions that took longer than they may.
    pub late: u64,
    /// Decisions that are remembered now.
    pub entries: usize,
}

/// The decisions of the present catalog and configuration; the least recently used go first.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    held: Mutex<Held>,
    hits: AtomicU64,
    misses: AtomicU64,
    late: AtomicU64,
}

#[derive(Debug, Default)]
struct Held {
    entries: HashMap<Arc<Key>, Entry>,
    /// The keys in the order of their last use.
    order: BTreeMap<u64, Arc<Key>>,
    uses: u64,
    world: World,
}

#[derive(Debug)]
struct Entry {
    decision: Arc<Decision>,
    made: Instant,
    used: u64,
}

impl Cache {
    /// Returns the decision for a key that is not older than `ttl`, and counts whether there was one. One that was made
    /// where nothing had been used lately serves as well if it `stands`.
    pub(crate) fn get(
        &self,
        key: &Key,
        (now, ttl): (Instant, Duration),
        stands: impl Fn(&Decision) -> bool,
    ) -> Option<Arc<Decision>> {
        let mut held = self.held.lock();
        let plain = (!key.recent.is_empty()).then(|| Key { recent: Vec::new(), ..key.clone() });
        let plain = plain.and_then(|key| held.get(&key, now, ttl)).filter(|it| stands(it));
        let found = plain.or_else(|| held.get(key, now, ttl));
        drop(held);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a decision, and at most `size` of them.
    pub(crate) fn put(&self, key: Key, decision: Arc<Decision>, now: Instant, size: usize) {
        self.held.lock().put(Arc::new(key), decision, now, size);
    }

    /// Counts a decision that took too long.
    pub(crate) fn count_late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            entries: self.held.lock().entries.len(),
        }
    }
}

impl Held {
    fn get(&mut self, key: &Key, now: Instant, ttl: Duration) -> Option<Arc<Decision>> {
        let (key, entry) = self.entries.get_key_value(key)?;
        let key = Arc::clone(key);
        self.order.remove(&entry.used);
        if now.duration_since(entry.made) >= ttl {
            self.entries.remove(&key);
            return None;
        }
        self.uses += 1;
        let uses = self.uses;
        self.order.insert(uses, Arc::clone(&key));
        let entry = self.entries.get_mut(&key)?;
        entry.used = uses;
        Some(Arc::clone(&entry.decision))
    }

    fn put(&mut self, key: Arc<Key>, decision: Arc<Decision>, now: Instant, size: usize) {
        if key.world != self.world {
            let is_old = key.world.snapshot < self.world.snapshot
                || key.world.settings < self.world.settings
                || key.world.meaning < self.world.meaning
                || key.world.lessons < self.world.lessons;
            if is_old {
                return;
            }
            // Nothing that was decided in another world is of use again.
            self.entries.clear();
            self.order.clear();
            self.world = key.world;
        }
        self.uses += 1;
        let entry = Entry { decision, made: now, used: self.uses };
        self.order.insert(self.uses, Arc::clone(&key));
        if let Some(replaced) = self.entries.insert(key, entry) {
            self.order.remove(&replaced.used);
        }
        while self.entries.len() > size {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolyard_core::catalog::Catalog;
    use toolyard_core::index::Index;
    use toolyard_core::metadata::Knowledge;
    use toolyard_core::rank::{Method, Reasons, Request, Rules, Scope, Weights, decide};

    const TTL: Duration = Duration::from_secs(60);

    fn key(task: &str, snapshot: u64) -> Key {
        Key {
            task: task.to_owned(),
            preferred_server: None,
            person: "local".into(),
            servers: Vec::new(),
            effect: Effect::Destroy,
            recent: Vec::new(),
            failed: Vec::new(),
            candidates: 5,
            world: World { snapshot, settings: 1, meaning: (0, 0), lessons: 0 },
        }
    }

    fn decision() -> Arc<Decision> {
        let catalog = Catalog::default();
        let index = Index::new(&catalog, Knowledge::default());
        let method = Method::Fitted(Weights::builtin());
        let rules = Rules { method, confidence: 0.7, candidates: 5, reasons: Reasons::Given };
        Arc::new(decide(Scope::plain(&catalog, &index), Request::in_words("do something"), rules))
    }

    #[test]
    fn r12_the_least_recently_used_decision_goes_first() {
        let (cache, now) = (Cache::default(), Instant::now());
        for task in ["a", "b"] {
            cache.put(key(task, 1), decision(), now, 2);
        }
        assert!(cache.get(&key("a", 1), (now, TTL), |_| true).is_some());
        cache.put(key("c", 1), decision(), now, 2);
        assert!(cache.get(&key("b", 1), (now, TTL), |_| true).is_none());
        assert!(cache.get(&key("a", 1), (now, TTL), |_| true).is_some());
        assert_eq!(cache.tally(), Tally { hits: 2, misses: 1, late: 0, entries: 2 });
    }

    #[test]
    fn r12_most_decisions_of_a_day_are_remembered_though_they_last_an_hour() {
        let (cache, morning) = (Cache::default(), Instant::now());
        for moment in testkit::seed::day() {
            let now = morning + Duration::from_secs(60 * moment.minute);
            let key = key(&moment.task, 1);
            if cache.get(&key, (now, Duration::from_secs(3600)), |_| true).is_none() {
                cache.put(key, decision(), now, 1000);
            }
        }
        let Tally { hits, misses, .. } = cache.tally();
        assert!(hits as f64 > 0.6 * (hits + misses) as f64, "{hits} of {}", hits + misses);
    }

    #[test]
    fn r12_a_decision_is_forgotten_in_time_and_with_its_catalog() {
        let (cache, now) = (Cache::default(), Instant::now());
        cache.put(key("a", 1), decision(), now, 9);
        assert!(cache.get(&key("a", 1), (now + TTL, TTL), |_| true).is_none());
        cache.put(key("a", 1), decision(), now, 9);
        cache.put(key("b", 2), decision(), now, 9);
        assert_eq!(cache.tally().entries, 1);
        cache.put(key("a", 1), decision(), now, 9);
        assert!(
            cache.get(&key("a", 1), (now, TTL), |_| true).is_none(),
            "an old catalog is not brought back"
        );
        assert!(cache.get(&key("b", 2), (now, TTL), |_| true).is_some());
    }
}
