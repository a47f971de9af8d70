//! How long calls may take, and when their clock stands still.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

/// How long a call may still take.
#[derive(Debug)]
pub(crate) struct Patience {
    deadline: Mutex<Instant>,
    limit: Duration,
    /// Questions that wait for a person; the clock stands still meanwhile.
    open_questions: AtomicUsize,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { deadline: Mutex::new(Instant::now() + limit), limit, open_questions: AtomicUsize::new(0) }
    }

    pub(crate) fn renew(&self) {
        *self.deadline.lock().expect("no holder panics") = Instant::now() + self.limit;
    }

    pub(crate) async fn ends(&self) {
        loop {
            let deadline = *self.deadline.lock().expect("no holder panics");
            tokio::time::sleep_until(deadline).await;
            if self.open_questions.load(Ordering::Relaxed) > 0 {
                self.renew();
            } else if *self.deadline.lock().expect("no holder panics") <= Instant::now() {
                return;
            }
        }
    }
}

/// Stops the clock of calls while a person thinks.
pub(crate) struct Waiting(Vec<Arc<Patience>>);

impl Waiting {
    pub(crate) fn new(calls: Vec<Arc<Patience>>) -> Self {
        for call in &calls {
            call.open_questions.fetch_add(1, Ordering::Relaxed);
        }
        Self(calls)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        for call in &self.0 {
            call.renew();
            call.open_questions.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
