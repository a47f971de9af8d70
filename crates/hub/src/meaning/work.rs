//! Computes vectors without being in anybody's way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use toolyard_encoder::{Embedding, Encoder, Packed};

use super::cache::EmbeddingCache;
use super::endpoint::{Endpoint, PATIENCE};
use super::error::Error;
use super::key::TextKey;
use super::model::Embedder;

/// How much of the machine computing may take.
#[derive(Clone, Copy, Debug)]
pub enum Effort {
    /// All cores but one, behind everything else that runs.
    Spare,
    /// All cores: somebody waits for it.
    Full,
}

/// How often what was computed is handed over.
const HANDING: Duration = Duration::from_millis(250);
/// Texts that a service is sent at once.
const BATCH: usize = 32;
/// How much less important than others a thread is.
const NICE: i32 = 15;

/// Computes the vectors of texts; `take` gets them with the places of their texts, some at a time.
///
/// It ends early when `goes_on` says so. A service is asked within the runtime in which this thread is.
pub fn compute(
    embedder: &Embedder,
    texts: &[&str],
    effort: Effort,
    goes_on: &(dyn Fn() -> bool + Sync),
    take: &mut dyn FnMut(Vec<(usize, Packed)>),
) -> Result<(), Error> {
    if texts.is_empty() {
        // The weights inside are not touched for nothing.
        return Ok(());
    }
    let encoder = match embedder {
        Embedder::Inside(inside) => inside.encoder(),
        Embedder::Local(encoder) => encoder,
        Embedder::Remote(endpoint) => return from_service(endpoint, texts, goes_on, take),
    };
    on_cores(encoder, texts, effort, goes_on, take);
    Ok(())
}

/// Returns the vectors of texts, and keeps those that had to be computed.
pub(super) fn known(encoder: &Encoder, cache: &EmbeddingCache, texts: &[&String]) -> Vec<Embedding> {
    let keys: Vec<TextKey> = texts.iter().map(|text| TextKey::of(text)).collect();
    let mut fresh: Vec<(TextKey, Packed)> = Vec::new();
    let vectors = cache.find(&keys).into_iter().enumerate().map(|(at, known)| {
        known.unwrap_or_else(|| {
            let vector = encoder.encode(texts[at]).pack();
            fresh.push((keys[at], vector.clone()));
            vector
        })
    });
    let vectors = vectors.map(|it| it.unpack()).collect();
    cache.keep(&fresh);
    vectors
}

/// Cores that reading for one request may take.
const READERS: usize = 4;

/// Reads a request beside texts and returns how well each fits, as a logarithm of odds; nothing where the model cannot read.
pub(super) fn read(embedder: &Embedder, request: &str, texts: &[String]) -> Vec<f32> {
    let Some(encoder) = embedder.encoder().filter(|encoder| encoder.can_read()) else { return Vec::new() };
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get().min(READERS));
    let fit = |text: &String| encoder.read(request, text).expect("it can read");
    let fit = &fit;
    std::thread::scope(|scope| {
        let parts = texts.chunks(texts.len().div_ceil(cores).max(1));
        let reading: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(fit).collect::<Vec<f32>>())).collect();
        reading.into_iter().flat_map(|part| part.join().expect("reading does not panic")).collect()
    })
}

fn on_cores(
    encoder: &Encoder,
    texts: &[&str],
    effort: Effort,
    goes_on: &(dyn Fn() -> bool + Sync),
    take: &mut dyn FnMut(Vec<(usize, Packed)>),
) {
    let next = AtomicUsize::new(0);
    let work = |done: mpsc::Sender<(usize, Packed)>| {
        if let Effort::Spare = effort {
            yield_to_others();
        }
        while goes_on() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = texts.get(at) else { return };
            if done.send((at, encoder.encode(text).pack())).is_err() {
                return;
            }
        }
    };
    let (done, made) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..effort.workers().min(texts.len()) {
            let done = done.clone();
            scope.spawn(|| work(done));
        }
        drop(done);
        let (mut batch, mut handed) = (Vec::new(), Instant::now());
        for one in made {
            batch.push(one);
            if handed.elapsed() >= HANDING {
                take(std::mem::take(&mut batch));
                handed = Instant::now();
            }
        }
        if !batch.is_empty() {
            take(batch);
        }
    });
}

fn from_service(
    endpoint: &Endpoint,
    texts: &[&str],
    goes_on: &(dyn Fn() -> bool + Sync),
    take: &mut dyn FnMut(Vec<(usize, Packed)>),
) -> Result<(), Error> {
    let runtime = tokio::runtime::Handle::current();
    for (at, batch) in texts.chunks(BATCH).enumerate() {
        if !goes_on() {
            break;
        }
        let stopped = async {
            while goes_on() {
                tokio::time::sleep(HANDING).await;
            }
        };
        let answer = runtime.block_on(async {
            tokio::select! {
                answer = endpoint.vectors(batch, PATIENCE) => Some(answer),
                () = stopped => None,
            }
        });
        let Some(vectors) = answer.transpose()? else { break };
        let first = at * BATCH;
        take(vectors.iter().enumerate().map(|(at, vector)| (first + at, vector.pack())).collect());
    }
    Ok(())
}

impl Effort {
    fn workers(self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            Self::Spare => cores.saturating_sub(1).max(1),
            Self::Full => cores,
        }
    }
}

/// Lets everything else on the machine go first. On Linux this is a matter of the thread; elsewhere it would
/// slow the whole process down.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICE);
}
