//! Waiting for something to become true, by looking again and again.

use std::panic::Location;
use std::time::Duration;

use tokio::time::{Instant, sleep};

const PAUSE: Duration = Duration::from_millis(10);

/// Waits until `met` holds.
///
/// # Panics
///
/// If it does not hold before the deadline; the message names the caller.
#[track_caller]
pub fn wait_until(deadline: Duration, mut met: impl FnMut() -> bool) -> impl Future<Output = ()> {
    wait_for(deadline, move || std::future::ready(met().then_some(())))
}

/// Waits until `look` finds something, and gives it.
///
/// # Panics
///
/// If nothing was found before the deadline; the message names the caller.
#[track_caller]
pub fn wait_for<T, F: Future<Output = Option<T>>>(
    deadline: Duration,
    mut look: impl FnMut() -> F,
) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let end = Instant::now() + deadline;
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(Instant::now() < end, "what {caller} waits for did not happen within {deadline:?}");
            sleep(PAUSE).await;
        }
    }
}
