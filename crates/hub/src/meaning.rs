//! What texts mean: the model that compares meanings, and the vectors that it made.
//!
//! Vectors are computed behind everything else. A request that comes before them waits a moment for those of the tools
//! that its words make likely, which then go first; where that takes too long, words and metadata speak for a tool.

mod error; //    why texts have no vectors
mod key; //      texts, by what stands for them
mod builtin; //  the encoder inside the program
mod draft; //    the vectors of one catalog, as far as they are known
mod endpoint; // a service that computes vectors
mod model; //    what turns texts into vectors
mod rush; //     whose vectors somebody waits for
mod slot; //     which model is in use, and what happens when it fails
mod cache; //    vectors that are known already
mod work; //     computing those that are not
mod exchange; // vectors of a store as others read them

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, watch};
use toolyard_core::arguments::Nearness;
use toolyard_core::decide::{Comparison, ToRead};
use toolyard_core::index::{Sense, spoken};
use toolyard_encoder::{Embedding, Packed, RequestReading};

use crate::config::SemanticSearch;
use crate::live::{Live, Snapshot};
use crate::store::{MeaningStatus, Store};
pub use builtin::{ArgumentReader, Inside, library_file};
pub use cache::EmbeddingCache;
use draft::Draft;
pub(crate) use draft::Published;
pub use error::Error;
pub use exchange::{ImportError, StoredVector};
pub(crate) use exchange::{keep, stored};
pub use key::TextKey;
pub use model::Embedder;
use rush::Rush;
use slot::{LoadedModel, ModelSlot};
pub use work::{Effort, compute};

/// Knows what texts mean.
#[derive(Debug)]
pub(crate) struct Meanings {
    store: Arc<Store>,
    http: reqwest::Client,
    slot: Mutex<ModelSlot>,
    published: watch::Sender<Option<Arc<Published>>>,
    status: Mutex<MeaningStatus>,
    rush: Rush,
    /// The catalog that was first asked about without all of its vectors, and when that was.
    first_wait: Mutex<Option<(u64, Instant)>>,
    is_wanted: AtomicBool,
    /// Whether vectors are computed in the background.
    is_kept_up: AtomicBool,
    is_closed: AtomicBool,
    /// Told when there is something to do.
    wake: Notify,
    /// Held while vectors are computed.
    turn: Arc<Semaphore>,
}

/// How far the vectors are there that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Readiness {
    /// Not even those of the tools that its words make likely.
    Lacking,
    /// Those of the tools that its words make likely.
    Likely,
    /// All that there will be.
    Complete,
}

/// What is known of how alike a request and the tools are.
#[derive(Debug)]
pub(crate) enum Sensed {
    /// This much, and what the whole request means.
    Known(Sense, Embedding),
    /// Nothing yet, or nothing is wanted.
    Nothing,
    /// Nothing this time: the model did not answer.
    Failed,
}

/// A better set of vectors is published this often while more are computed.
const PUBLISHING: Duration = Duration::from_secs(2);
/// Several servers tell what they offer one after the other; they are taken in together.
const SETTLING: Duration = Duration::from_millis(200);

impl Meanings {
    pub(crate) fn new(store: Arc<Store>, http: reqwest::Client) -> Self {
        Self {
            store,
            http,
            slot: Mutex::default(),
            published: watch::Sender::new(None),
            status: Mutex::default(),
            rush: Rush::default(),
            first_wait: Mutex::default(),
            is_wanted: AtomicBool::new(false),
            is_kept_up: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            wake: Notify::new(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// Takes a configuration over.
    pub(crate) fn choose(&self, search: &SemanticSearch) {
        let chosen = search.enabled.then(|| search.model.clone());
        if self.slot.lock().choose(chosen) {
            self.wake.notify_one();
        }
    }

    /// Says that somebody will ask for meanings; before that, none are prepared.
    pub(crate) fn want(&self) {
        if !self.is_wanted.swap(true, Ordering::Relaxed) {
            self.wake.notify_one();
        }
    }

    /// Returns the vectors in use.
    pub(crate) fn now(&self) -> Option<Arc<Published>> {
        self.published.borrow().clone()
    }

    /// Waits until the vectors of a snapshot are there as far as is wanted, or the time is over. Those of the `likely`
    /// tools are computed before all others.
    pub(crate) async fn wait(
        self: &Arc<Self>,
        snapshot: &Arc<Snapshot>,
        likely: &[usize],
        (wanted, until): (Readiness, Instant),
    ) -> Readiness {
        self.want();
        let readiness = |now: &Option<Arc<Published>>| self.readiness(now.as_deref(), snapshot, likely);
        let before = readiness(&self.published.borrow());
        if before >= wanted || until <= Instant::now() {
            return before;
        }
        let _waiting = self.rush.wait(snapshot.number, likely);
        self.wake.notify_one();
        let mut published = self.published.subscribe();
        let there = published.wait_for(|now| readiness(now) >= wanted);
        let mut there = std::pin::pin!(tokio::time::timeout_at(until.into(), there));
        if self.is_kept_up.load(Ordering::Relaxed) {
            let _ = there.await;
        } else {
            loop {
                let (turn, _) = self.rush.turn();
                let this = Arc::clone(self);
                let goes_on = move || this.rush.turn().0 == turn && Instant::now() < until;
                tokio::select! {
                    _ = &mut there => break,
                    () = self.pass(Arc::clone(snapshot), Effort::Full, goes_on) => {}
                }
                // Another request may have changed what is computed next; otherwise nothing more will come.
                if self.rush.turn().0 == turn {
                    break;
                }
            }
        }
        readiness(&self.published.borrow())
    }

    /// Returns until when requests wait for all vectors of a catalog: the patience counts from the first of them, so that
    /// later ones are not kept waiting as well.
    pub(crate) fn all_until(&self, snapshot: &Snapshot, patience: Duration) -> Instant {
        let mut first = self.first_wait.lock();
        let known = first.filter(|(number, _)| *number == snapshot.number);
        let (_, since) = *first.insert(known.unwrap_or((snapshot.number, Instant::now())));
        since + patience
    }

    /// Says how far the vectors of a snapshot are there for a request that the `likely` tools may be meant by.
    pub(crate) fn readiness(
        &self,
        now: Option<&Published>,
        snapshot: &Snapshot,
        likely: &[usize],
    ) -> Readiness {
        let slot = self.slot.lock();
        if matches!(slot.opening(), slot::Opening::Nothing) {
            return Readiness::Complete;
        }
        match now.filter(|now| slot.is_current(&now.loaded)) {
            Some(now) if now.is_complete(snapshot) => Readiness::Complete,
            Some(now) if now.knows(snapshot, likely) => Readiness::Likely,
            Some(_) | None => Readiness::Lacking,
        }
    }

    /// Returns how far tools are understood.
    pub(crate) fn status(&self) -> MeaningStatus {
        self.status.lock().clone()
    }

    /// Compares a request with the tools of a snapshot by the vectors that are there now.
    pub(crate) async fn sense(
        &self,
        now: &Published,
        (snapshot, task): (&Snapshot, &str),
        (search, limit): (&SemanticSearch, Duration),
    ) -> Sensed {
        if !search.enabled || task.is_empty() || limit.is_zero() {
            return Sensed::Nothing;
        }
        let request = now.loaded.embedder.request(task, limit).await;
        let (failed, has_fallen) = {
            let mut slot = self.slot.lock();
            let failed = request.as_ref().err().map(ToString::to_string);
            let has_fallen = slot.count(&now.loaded, failed.as_deref());
            (failed, has_fallen)
        };
        if has_fallen {
            self.wake.notify_one();
        }
        if let Some(why) = failed {
            tracing::debug!("words alone choose this time: {why}");
        }
        let known = request.ok().and_then(|request| {
            let sense = sensed(now, snapshot, &request, search)?;
            Some(Sensed::Known(sense, request.into_iter().next()?))
        });
        known.unwrap_or(Sensed::Failed)
    }

    /// Returns the vectors of texts, in their order; nothing where a service would have to be asked for them.
    pub(crate) async fn vectors(&self, now: &Published, texts: Vec<String>) -> Vec<Option<Packed>> {
        let loaded = Arc::clone(&now.loaded);
        let work = tokio::task::spawn_blocking(move || {
            let Some(encoder) = loaded.embedder.encoder() else { return Vec::new() };
            let texts: Vec<&String> = texts.iter().collect();
            let vectors = work::known(encoder, &loaded.cache, &texts);
            vectors.iter().map(|it| Some(it.pack())).collect()
        });
        work.await.unwrap_or_default()
    }

    /// Reads a request beside the texts of tools, and returns how well each fits; nothing where the model cannot read.
    pub(crate) async fn read(&self, now: &Published, task: &str, texts: Vec<String>) -> Vec<f32> {
        let (embedder, task) = (now.loaded.embedder.clone(), spoken(task));
        let reading = tokio::task::spawn_blocking(move || work::read(&embedder, &task, &texts));
        reading.await.unwrap_or_default()
    }

    /// Compares the names of values with the fields of a tool; nothing where another model than the one inside is in use,
    /// whose cosines mean something else.
    pub(crate) async fn compare(&self, comparison: &Comparison) -> Option<Nearness> {
        let loaded = Arc::clone(&self.now()?.loaded);
        let Comparison { names, fields, .. } = comparison.clone();
        let work = tokio::task::spawn_blocking(move || {
            let Embedder::Inside(inside) = &loaded.embedder else { return None };
            let texts: Vec<&String> = names.iter().chain(fields.iter().flatten()).collect();
            let vectors = work::known(inside.encoder(), &loaded.cache, &texts);
            let (values, rest) = vectors.split_at(names.len());
            let pairs: Vec<[Embedding; 2]> =
                rest.chunks_exact(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
            Some(Nearness::of(values, &pairs))
        });
        work.await.ok().flatten()
    }

    /// Reads a text beside a tool of a snapshot; nothing where there is no reader.
    pub(crate) async fn read_arguments(
        &self,
        snapshot: &Arc<Snapshot>,
        wanted: &ToRead,
    ) -> Option<RequestReading> {
        let (snapshot, ToRead { position, text }) = (Arc::clone(snapshot), wanted.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let (tool, form) = (&snapshot.catalog.tools()[position], snapshot.catalog.form(position));
            let reader = ArgumentReader::builtin();
            reader.map(|it| it.read(&text, (&tool.name, &tool.description), form))
        });
        reading.await.ok().flatten()
    }

    /// Understands the tools of every snapshot, until it is dropped.
    pub(crate) async fn keep_up(self: Arc<Self>, mut live: Live) {
        let _ending = Ending(Arc::clone(&self));
        self.is_kept_up.store(true, Ordering::Relaxed);
        loop {
            while !self.is_wanted.load(Ordering::Relaxed) {
                self.wake.notified().await;
            }
            let snapshot = live.now();
            snapshot.indexed().await;
            let (turn, is_awaited) = self.rush.turn();
            let (number, watched, this) = (snapshot.number, live.clone(), Arc::clone(&self));
            let goes_on = move || watched.now().number == number && this.rush.turn().0 == turn;
            let effort = if is_awaited { Effort::Full } else { Effort::Spare };
            self.pass(Arc::clone(&snapshot), effort, goes_on).await;
            let is_cut_short = self.rush.turn().0 != turn
                && self.readiness(self.now().as_deref(), &snapshot, &[]) != Readiness::Complete;
            if is_cut_short {
                continue;
            }
            tokio::select! {
                is_there = live.changed() => match is_there {
                    true => self.settled().await,
                    false => return,
                },
                () = self.wake.notified() => {}
                () = self.retried() => {}
            }
        }
    }

    /// Waits until servers that tell what they offer one after the other have done so, unless somebody waits.
    async fn settled(&self) {
        tokio::select! {
            () = tokio::time::sleep(SETTLING) => {}
            () = self.wake.notified() => {}
        }
    }

    /// Understands the tools of a snapshot as far as the time allows, for somebody who waits.
    pub(crate) async fn understand(self: &Arc<Self>, snapshot: Arc<Snapshot>, patience: Duration) {
        let until = Instant::now() + patience;
        snapshot.indexed().await;
        self.pass(snapshot, Effort::Full, move || Instant::now() < until).await;
    }

    /// Stops computing, and waits until that is so.
    pub(crate) async fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        let _ = self.turn.acquire().await;
    }

    /// Publishes what is known of a snapshot, and computes what is not while `goes_on`.
    async fn pass(
        self: &Arc<Self>,
        snapshot: Arc<Snapshot>,
        effort: Effort,
        goes_on: impl Fn() -> bool + Send + Sync + 'static,
    ) {
        let Ok(turn) = Arc::clone(&self.turn).acquire_owned().await else { return };
        let this = Arc::clone(self);
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            loop {
                let Some(loaded) = this.loaded() else { return this.publish_nothing() };
                let is_current = || this.slot.lock().is_current(&loaded);
                let goes_on = || !this.is_closed.load(Ordering::Relaxed) && goes_on() && is_current();
                let Err(err) = this.fill(&loaded, &snapshot, effort, &goes_on) else { return };
                this.slot.lock().fall(&loaded, &err.to_string());
            }
        });
        let _ = work.await;
    }

    fn fill(
        &self,
        loaded: &Arc<LoadedModel>,
        snapshot: &Arc<Snapshot>,
        effort: Effort,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let first = self.rush.tools(snapshot.number);
        let (mut draft, missing) = Draft::new(loaded, snapshot, &first);
        self.publish(&draft);
        let awaited = missing.iter().take_while(|missing| missing.is_of(&first)).count();
        let (awaited, rest) = missing.split_at(awaited);
        let mut published = Instant::now();
        for part in [awaited, rest].into_iter().filter(|part| !part.is_empty()) {
            let texts: Vec<&str> = part.iter().map(|missing| missing.text.as_str()).collect();
            compute(&loaded.embedder, &texts, effort, goes_on, &mut |made| {
                let kept: Vec<_> = made.iter().map(|(at, vector)| (part[*at].key, vector.clone())).collect();
                loaded.cache.keep(&kept);
                for (at, vector) in &made {
                    draft.add(&part[*at], vector);
                }
                if published.elapsed() >= PUBLISHING {
                    self.publish(&draft);
                    published = Instant::now();
                } else if draft.known < draft.all {
                    // That all is known is said only when it is there to be used.
                    self.tell(&draft);
                }
            })?;
            self.publish(&draft);
        }
        Ok(())
    }

    /// Opens the model that is to be used, unless it is open.
    fn loaded(&self) -> Option<Arc<LoadedModel>> {
        loop {
            let opening = self.slot.lock().opening();
            let opening = match opening {
                slot::Opening::Open(loaded) => return Some(loaded),
                slot::Opening::Nothing => return None,
                slot::Opening::Wanted(opening) => opening,
            };
            let opened = opening.open(&self.http).map(|embedder| {
                let cache = EmbeddingCache::new(Arc::clone(&self.store), &embedder);
                (embedder, cache)
            });
            self.slot.lock().opened(&opening, opened);
        }
    }

    /// Shows a set of vectors to everybody, unless the one they see is of more use.
    fn publish(&self, draft: &Draft) {
        let is_better = |now: &Published| draft.is_enough() || !now.covers(&draft.snapshot);
        if self.now().as_deref().is_none_or(is_better) {
            self.published.send_replace(Some(Arc::new(draft.publish())));
        }
        self.tell(draft);
    }

    fn publish_nothing(&self) {
        self.published.send_replace(None);
        let trouble = self.slot.lock().trouble();
        *self.status.lock() = MeaningStatus { trouble, ..MeaningStatus::default() };
    }

    fn tell(&self, draft: &Draft) {
        let trouble = self.slot.lock().trouble();
        *self.status.lock() = MeaningStatus {
            model: Some(draft.loaded.embedder.name().to_owned()),
            known: draft.known,
            all: draft.all,
            trouble,
        };
    }

    /// Waits until a model that failed may be tried again.
    async fn retried(&self) {
        let at = self.slot.lock().retry_at();
        match at {
            Some(at) => tokio::time::sleep_until(at.into()).await,
            None => std::future::pending().await,
        }
        self.slot.lock().retry();
    }
}

/// Compares, and takes the credit from tools that are too far from the request.
fn sensed(
    now: &Published,
    snapshot: &Snapshot,
    request: &[Embedding],
    search: &SemanticSearch,
) -> Option<Sense> {
    let mut sense = now.sense(snapshot, request)?;
    if let Some(share) = search.similarity_threshold {
        let similarity = |(tool, sentence): (&f32, &f32)| tool.max(*sentence);
        let all: Vec<f32> = sense.tools.iter().zip(&sense.sentences).map(similarity).collect();
        let nearest = all.iter().copied().fold(0.0_f32, f32::max);
        let least = nearest * share as f32;
        for (at, _) in all.iter().enumerate().filter(|(_, similarity)| **similarity < least) {
            (sense.tools[at], sense.phrases[at], sense.sentences[at]) = (0.0, 0.0, 0.0);
        }
    }
    Some(sense)
}

/// Stops the computing of whoever stops waiting for it.
struct Ending(Arc<Meanings>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.is_kept_up.store(false, Ordering::Relaxed);
        self.0.is_closed.store(true, Ordering::Relaxed);
    }
}
