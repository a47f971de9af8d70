//! What texts mean: the model that compares meanings, and the vectors that it made.
//!
//! Nothing waits for a vector. What is there is used, and what is missing is computed behind everything else;
//! until then words and metadata speak for a tool.

mod builtin; //  the encoder inside the program
mod draft; //    the vectors of one catalog, as far as they are known
mod endpoint; // a service that computes vectors
mod model; //    what turns texts into vectors
mod seat; //     which model is in use, and what happens when it fails
mod shelf; //    vectors that are known already
mod work; //     computing those that are not

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};
use toolyard_core::embed::Embedding;
use toolyard_core::index::{Sense, spoken};

use crate::config::SemanticSearch;
use crate::live::{Live, Snapshot};
use crate::store::{MeaningStatus, Store};
pub use builtin::{Inside, library_file};
use draft::Draft;
pub(crate) use draft::Published;
pub use model::{Embedder, Error};
use seat::{Seat, Seated};
pub use shelf::{Shelf, TextKey};
pub use work::{Effort, compute};

/// Knows what texts mean.
#[derive(Debug)]
pub(crate) struct Meanings {
    store: Arc<Store>,
    http: reqwest::Client,
    seat: Mutex<Seat>,
    published: RwLock<Option<Arc<Published>>>,
    status: Mutex<MeaningStatus>,
    numbers: AtomicU64,
    is_wanted: AtomicBool,
    is_closed: AtomicBool,
    /// Told when there is something to do.
    wake: Notify,
    /// Held while vectors are computed.
    turn: Arc<Semaphore>,
}

/// What is known of how alike a request and the tools are.
#[derive(Debug)]
pub(crate) enum Sensed {
    /// This much.
    Known(Sense),
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
            seat: Mutex::default(),
            published: RwLock::default(),
            status: Mutex::default(),
            numbers: AtomicU64::new(1),
            is_wanted: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            wake: Notify::new(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// Takes a configuration over.
    pub(crate) fn choose(&self, search: &SemanticSearch) {
        let chosen = search.enabled.then(|| search.model.clone());
        if self.seat.lock().expect("no holder panics").choose(chosen) {
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
        self.published.read().expect("no holder panics").clone()
    }

    /// Returns how far tools are understood.
    pub(crate) fn status(&self) -> MeaningStatus {
        self.status.lock().expect("no holder panics").clone()
    }

    /// Compares a request with the tools of a snapshot by the vectors that are there now.
    pub(crate) async fn sense(
        &self,
        now: Option<&Published>,
        (snapshot, task): (&Snapshot, &str),
        (search, limit): (&SemanticSearch, Duration),
    ) -> Sensed {
        if !search.enabled || task.is_empty() || limit.is_zero() {
            return Sensed::Nothing;
        }
        self.want();
        let Some(now) = now.filter(|now| now.covers(snapshot)) else { return Sensed::Nothing };
        let request = now.seated.embedder.request(task, limit).await;
        let (failed, has_fallen) = {
            let mut seat = self.seat.lock().expect("no holder panics");
            let failed = request.as_ref().err().map(ToString::to_string);
            let has_fallen = seat.count(&now.seated, failed.as_deref());
            (failed, has_fallen)
        };
        if has_fallen {
            self.wake.notify_one();
        }
        if let Some(why) = failed {
            tracing::debug!("words alone choose this time: {why}");
        }
        request
            .ok()
            .and_then(|request| sensed(now, snapshot, &request, search))
            .map_or(Sensed::Failed, Sensed::Known)
    }

    /// Reads a request beside the texts of tools, and returns how well each fits; nothing where the model cannot read.
    pub(crate) async fn read(&self, now: &Published, task: &str, texts: Vec<String>) -> Vec<f32> {
        let (embedder, task) = (now.seated.embedder.clone(), spoken(task));
        let reading = tokio::task::spawn_blocking(move || work::read(&embedder, &task, &texts));
        reading.await.unwrap_or_default()
    }

    /// Understands the tools of every snapshot, until it is dropped.
    pub(crate) async fn keep_up(self: Arc<Self>, mut live: Live) {
        let _ending = Ending(Arc::clone(&self));
        loop {
            while !self.is_wanted.load(Ordering::Relaxed) {
                self.wake.notified().await;
            }
            let snapshot = live.now();
            snapshot.indexed().await;
            let (number, watched) = (snapshot.number, live.clone());
            let is_newest = move || watched.now().number == number;
            self.pass(snapshot, Effort::Spare, is_newest).await;
            tokio::select! {
                is_there = live.changed() => match is_there {
                    true => tokio::time::sleep(SETTLING).await,
                    false => return,
                },
                () = self.wake.notified() => {}
                () = self.retried() => {}
            }
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
                let Some(seated) = this.seated() else { return this.publish_nothing() };
                let is_current = || this.seat.lock().expect("no holder panics").is_current(&seated);
                let goes_on = || !this.is_closed.load(Ordering::Relaxed) && goes_on() && is_current();
                let Err(err) = this.fill(&seated, &snapshot, effort, &goes_on) else { return };
                this.seat.lock().expect("no holder panics").fall(&seated, &err.to_string());
            }
        });
        let _ = work.await;
    }

    fn fill(
        &self,
        seated: &Arc<Seated>,
        snapshot: &Arc<Snapshot>,
        effort: Effort,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let (mut draft, missing) = Draft::new(seated, snapshot);
        self.publish(&draft);
        let texts: Vec<&str> = missing.iter().map(|missing| missing.text.as_str()).collect();
        let mut published = Instant::now();
        compute(&seated.embedder, &texts, effort, goes_on, &mut |made| {
            let kept: Vec<_> = made.iter().map(|(at, vector)| (missing[*at].key, vector.clone())).collect();
            seated.shelf.keep(&kept);
            for (at, vector) in &made {
                draft.add(&missing[*at], vector);
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
        Ok(())
    }

    /// Opens the model that is to be used, unless it is open.
    fn seated(&self) -> Option<Arc<Seated>> {
        loop {
            let opening = self.seat.lock().expect("no holder panics").opening();
            let opening = match opening {
                seat::Opening::Open(seated) => return Some(seated),
                seat::Opening::Nothing => return None,
                seat::Opening::Wanted(opening) => opening,
            };
            let opened = opening.open(&self.http).map(|embedder| {
                let shelf = Shelf::new(Arc::clone(&self.store), &embedder);
                (embedder, shelf)
            });
            self.seat.lock().expect("no holder panics").opened(&opening, opened);
        }
    }

    /// Shows a set of vectors to everybody, unless the one they see is of more use.
    fn publish(&self, draft: &Draft) {
        let mut published = self.published.write().expect("no holder panics");
        let is_better = |now: &Published| draft.is_enough() || !now.covers(&draft.snapshot);
        if published.as_deref().is_none_or(is_better) {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            *published = Some(Arc::new(draft.publish(number)));
        }
        drop(published);
        self.tell(draft);
    }

    fn publish_nothing(&self) {
        *self.published.write().expect("no holder panics") = None;
        let trouble = self.seat.lock().expect("no holder panics").trouble();
        *self.status.lock().expect("no holder panics") =
            MeaningStatus { trouble, ..MeaningStatus::default() };
    }

    fn tell(&self, draft: &Draft) {
        let trouble = self.seat.lock().expect("no holder panics").trouble();
        *self.status.lock().expect("no holder panics") = MeaningStatus {
            model: Some(draft.seated.embedder.name().to_owned()),
            known: draft.known,
            all: draft.all,
            trouble,
        };
    }

    /// Waits until a model that failed may be tried again.
    async fn retried(&self) {
        let at = self.seat.lock().expect("no holder panics").retry_at();
        match at {
            Some(at) => tokio::time::sleep_until(at.into()).await,
            None => std::future::pending().await,
        }
        self.seat.lock().expect("no holder panics").retry();
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
        self.0.is_closed.store(true, Ordering::Relaxed);
    }
}
