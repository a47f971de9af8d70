//! Questions of a server that wait for their answers.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::caller::Answer;

/// A question that waits for its answer in a task of its own, and can be taken back from outside.
pub(super) struct Asking(Mutex<Option<Pin<Box<dyn Future<Output = Answer> + Send>>>>);

/// A question that waits, by whom it is asked and answered.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) asking: Arc<Asking>,
    pub(super) task: AbortHandle,
    /// Who is asked.
    pub(super) client: Arc<str>,
    /// Tells who is asked from everybody else.
    pub(super) identity: Arc<str>,
}

impl Asking {
    pub(super) fn new(question: impl Future<Output = Answer> + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::pin(question))))
    }

    /// Waits for the answer; for ever, once the question is taken back.
    pub(super) async fn answer(&self) -> Answer {
        poll_fn(|context| {
            let mut asked = self.0.lock();
            let Some(question) = asked.as_mut() else { return Poll::Pending };
            let answer = question.as_mut().poll(context);
            if answer.is_ready() {
                *asked = None;
            }
            answer
        })
        .await
    }

    /// Takes it back before this returns, so that the client hears of it before whatever the server says next.
    pub(super) fn take_back(&self, task: &AbortHandle) {
        let question = self.0.lock().take();
        drop(question);
        task.abort();
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asking")
    }
}
