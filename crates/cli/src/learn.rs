//! Learns what servers offer that were never reached, and shows on a terminal what is waited for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use toolyard_core::tool::clean;
use toolyard_hub::hub::Hub;
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::Provisional;
use toolyard_hub::store::MeaningStatus;
use toolyard_hub::upstream::State;

/// A spinner on stderr; nothing at all when stderr is no terminal. Dropping it clears the line.
#[derive(Debug)]
pub(crate) struct Waiting(ProgressBar);

impl Waiting {
    /// Begins to show what is waited for.
    pub(crate) fn begin(message: impl Into<String>) -> Self {
        let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("the template is valid");
        let bar = ProgressBar::new_spinner().with_style(style).with_message(message.into());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// Shows something else from now on.
    pub(crate) fn say(&self, message: &str) {
        self.0.set_message(clean(message).replace('\n', " "));
    }

    /// Takes the line away while something else is written.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.suspend(write)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How long one command waits for tools to be understood; the next command goes on from there.
const UNDERSTANDING: Duration = Duration::from_secs(3);
/// What is done within this is not worth a line.
const UNNOTICED: Duration = Duration::from_millis(300);

/// Understands what tools mean, as far as a few seconds allow.
pub(crate) async fn understand(hub: &Hub, snapshot: &Arc<Snapshot>) {
    let mut work = std::pin::pin!(hub.understand(snapshot, UNDERSTANDING));
    if tokio::time::timeout(UNNOTICED, &mut work).await.is_ok() {
        return;
    }
    let waiting = Waiting::begin("reading what tools mean");
    let told = async {
        loop {
            let MeaningStatus { known, all, .. } = hub.meaning_progress();
            waiting.say(&format!("reading what tools mean: {known} of {all} texts"));
            tokio::time::sleep(UNNOTICED).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = told => {}
    }
}

/// Says on stderr that something was decided before all tools were understood, where that is so.
pub(crate) fn note(hub: &Hub, provisional: &Provisional) {
    if provisional.is_noted() {
        let MeaningStatus { known, all, .. } = hub.meaning_progress();
        let progress = if known < all { format!(" ({known} of {all} texts)") } else { String::new() };
        anstream::eprintln!(
            "still learning what the tools mean{progress}; the same command goes on from there"
        );
    }
}

/// Starts the servers that were never reached, or the given one of them, to learn what they offer.
pub(crate) async fn learn(hub: &Hub, only: Option<&str>) {
    let fresh: BTreeSet<Arc<str>> = hub
        .upstreams()
        .iter()
        .filter(|upstream| only.is_none_or(|only| *upstream.name == *only))
        .filter(|upstream| upstream.state() == State::Configured)
        .map(|upstream| Arc::clone(&upstream.name))
        .collect();
    if fresh.is_empty() {
        return;
    }
    let started = |left: &BTreeSet<Arc<str>>| {
        let names: Vec<&str> = left.iter().map(|name| &**name).collect();
        format!(
            "{} of {} servers started, waiting for {}",
            fresh.len() - left.len(),
            fresh.len(),
            names.join(", ")
        )
    };
    let waiting = Waiting::begin(started(&fresh));
    let left = Mutex::new(fresh.clone());
    let done = |name: &Arc<str>| {
        let mut left = left.lock();
        left.remove(name);
        waiting.say(&started(&left));
    };
    hub.learn(|upstream| fresh.contains(&upstream.name), |upstream| done(&upstream.name)).await;
}

/// Learns what all servers offer, and says on stderr which of them could not be reached: their tools are missing
/// from what is shown.
pub(crate) async fn learn_all(hub: &Hub) {
    learn(hub, None).await;
    let unknown = hub.servers().into_iter().filter(|status| status.tools.is_none());
    for status in unknown {
        let (name, reason) = (clean(&status.name), status.reason.as_deref().unwrap_or("it did not answer"));
        let reason = clean(reason);
        match status.is_off() {
            true => anstream::eprintln!("{name} is off: {reason}"),
            false => {
                anstream::eprintln!(
                    "{name} could not be reached: {reason}; `toolyard doctor` tells what helps"
                );
            }
        }
    }
}
