//! Learns what servers offer that were never reached, and shows on a terminal what is waited for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use toolyard_core::tool::clean;
use toolyard_hub::hub::Hub;
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
        let mut left = left.lock().expect("no holder panics");
        left.remove(name);
        waiting.say(&started(&left));
    };
    hub.learn(|upstream| fresh.contains(&upstream.name), |upstream| done(&upstream.name)).await;
}
