//! A stream of events that ends with an answer, and that a session's client can pick up again.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use futures_util::{FutureExt, Stream, stream};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use crate::serve::park::AbortOnDrop;

/// Quiet streams get a comment this often, so that nobody between us takes them for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events of a broken stream that can be sent again, and broken streams of a session.
const KEPT_EVENTS: usize = 64;
const KEPT_STREAMS: usize = 16;
/// Bytes of events that can be sent again: of a broken stream, whose last one is kept however long it is, and
/// of all streams of a session that were sent to their ends.
const KEPT_BYTES: usize = 1024 * 1024;
/// Time for a client to come back to a stream that broke.
const COMING_BACK: Duration = Duration::from_secs(30);
/// Time for a connection to give a stream up whose client has come back on another.
const RECLAIM: Duration = Duration::from_secs(1);

/// The last line of an answer.
#[derive(Debug)]
pub(crate) struct Final {
    pub(crate) status: StatusCode,
    pub(crate) line: String,
}

/// The task that makes the answer, and what becomes of it when the client leaves.
#[derive(Debug)]
pub(crate) enum Work {
    /// It is cancelled.
    Cancelled(JoinHandle<Final>),
    /// It goes on; the client can cancel it by name, and come back for its answer.
    Finished(JoinHandle<Final>),
}

impl Work {
    pub(crate) fn task(&mut self) -> &mut JoinHandle<Final> {
        match self {
            Self::Cancelled(task) | Self::Finished(task) => task,
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Self::Cancelled(task) = self {
            task.abort();
        }
    }
}

/// Where the lines of a stream come from.
pub(crate) trait Lines: Send + 'static {
    /// Returns the next line, or `None` when there will be no more.
    fn next(&mut self) -> impl Future<Output = Option<String>> + Send;
}

impl Lines for mpsc::Receiver<String> {
    async fn next(&mut self) -> Option<String> {
        self.recv().await
    }
}

/// How a stream ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// With this answer.
    Ready(Final),
    /// With the answer that is being made.
    Pending(Work),
    /// Not by itself.
    Never,
    /// It has.
    Over,
}

/// A stream under way.
#[derive(Debug)]
pub(crate) struct Flow<L> {
    waiting: VecDeque<String>,
    outgoing: L,
    has_more: bool,
    ending: Ending,
    closing: watch::Receiver<bool>,
    is_draining: bool,
    memory: Option<Memory>,
}

/// What it takes to pick a stream up again.
#[derive(Debug)]
pub(crate) struct Memory {
    stream: String,
    sent: VecDeque<(u64, String)>,
    count: u64,
    /// Bytes of what was sent.
    bytes: usize,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let stream = crate::serve::era::fresh_principal().to_string();
        Self { stream, sent: VecDeque::new(), count: 0, bytes: 0 }
    }

    fn first(&self) -> Bytes {
        // The empty event gives the client an id to come back with before anything has happened.
        Bytes::from(format!("id: {}.0\nretry: 1000\ndata: \n\n", self.stream))
    }

    fn event(&mut self, line: String) -> Bytes {
        self.count += 1;
        let event = format!("id: {}.{}\nevent: message\ndata: {line}\n\n", self.stream, self.count);
        self.bytes += line.len();
        self.sent.push_back((self.count, line));
        while self.sent.len() > 1 && (self.sent.len() > KEPT_EVENTS || self.bytes > KEPT_BYTES) {
            self.bytes -= self.sent.pop_front().map_or(0, |(_, line)| line.len());
        }
        Bytes::from(event)
    }
}

/// The streams of a session that broke or have ended a moment ago, and a bell for each under way.
///
/// What was sent may never have arrived: a connection that broke at the end looks like one that did not.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    /// Oldest first.
    flows: Mutex<VecDeque<Kept>>,
    under_way: Mutex<HashMap<String, Arc<Notify>>>,
    came_back: Notify,
}

/// A stream that waits for its client.
#[derive(Debug)]
struct Kept {
    stream: String,
    flow: Flow<mpsc::Receiver<String>>,
    /// Gives it up when the client does not come back.
    _expiry: Option<AbortOnDrop<()>>,
}

impl Kept {
    /// Bytes of a stream that was sent to its end; `None` where something is still to come.
    fn sent_whole(&self) -> Option<usize> {
        let memory = self.flow.memory.as_ref().filter(|_| self.flow.is_sent())?;
        Some(memory.bytes)
    }
}

/// Takes out what is too much: streams that were sent whole go first, oldest before newer.
fn surplus(flows: &mut VecDeque<Kept>) -> Vec<Kept> {
    let mut given_up = Vec::new();
    loop {
        let sent: usize = flows.iter().filter_map(Kept::sent_whole).sum();
        if flows.len() <= KEPT_STREAMS && sent <= KEPT_BYTES {
            return given_up;
        }
        let at = flows.iter().position(|kept| kept.sent_whole().is_some()).unwrap_or(0);
        given_up.extend(flows.remove(at));
    }
}

impl Broken {
    /// Takes the stream up again behind the event that the client saw last.
    pub(crate) async fn resume(&self, last_event: &str) -> Option<Flow<mpsc::Receiver<String>>> {
        let (stream, number) = last_event.rsplit_once('.')?;
        let number: u64 = number.parse().ok()?;
        let mut flow = self.reclaim(stream).await?;
        let memory = flow.memory.as_mut()?;
        let missed: Vec<(u64, String)> = memory.sent.drain(..).filter(|(at, _)| *at > number).collect();
        memory.count = missed.first().map_or(memory.count, |(at, _)| at - 1);
        memory.bytes = 0;
        for (_, line) in missed.into_iter().rev() {
            flow.waiting.push_front(line);
        }
        Some(flow)
    }

    /// Takes a stream from the connection that has it: its client would not come back if that still worked.
    async fn reclaim(&self, stream: &str) -> Option<Flow<mpsc::Receiver<String>>> {
        let mut came_back = pin!(self.came_back.notified());
        came_back.as_mut().enable();
        let take = || {
            let mut flows = self.flows.lock();
            let at = flows.iter().position(|kept| kept.stream == stream)?;
            flows.remove(at).map(|kept| kept.flow)
        };
        if let Some(flow) = take() {
            return Some(flow);
        }
        let Some(bell) = self.under_way.lock().get(stream).cloned() else {
            // Its connection may have given it up between the two looks.
            return take();
        };
        bell.notify_one();
        let waiting = async {
            loop {
                came_back.as_mut().await;
                came_back.set(self.came_back.notified());
                came_back.as_mut().enable();
                if let Some(flow) = take() {
                    return flow;
                }
            }
        };
        tokio::time::timeout(RECLAIM, waiting).await.ok()
    }

    /// Keeps a stream for a while. What was asked on it is unanswered for good when it is given up.
    fn keep(self: &Arc<Self>, flow: Flow<mpsc::Receiver<String>>) {
        let Some(memory) = &flow.memory else { return };
        let stream = memory.stream.clone();
        let _expiry = tokio::runtime::Handle::try_current().ok().map(|runtime| {
            let (home, stream) = (Arc::downgrade(self), stream.clone());
            AbortOnDrop(runtime.spawn(async move {
                tokio::time::sleep(COMING_BACK).await;
                let Some(home) = home.upgrade() else { return };
                let mut flows = home.flows.lock();
                let given_up =
                    flows.iter().position(|kept| kept.stream == stream).and_then(|at| flows.remove(at));
                drop(flows);
                drop(given_up);
            }))
        });
        let mut flows = self.flows.lock();
        flows.push_back(Kept { stream, flow, _expiry });
        let given_up = surplus(&mut flows);
        drop(flows);
        drop(given_up);
        self.came_back.notify_waiters();
    }
}

impl<L: Lines> Flow<L> {
    pub(crate) fn new(
        first: Vec<String>,
        outgoing: L,
        ending: Ending,
        closing: watch::Receiver<bool>,
    ) -> Self {
        let waiting = first.into();
        Self { waiting, outgoing, has_more: true, ending, closing, is_draining: false, memory: None }
    }

    /// Gives the stream ids by which it can be picked up again.
    pub(crate) fn remembered(self, memory: Option<Memory>) -> Self {
        Self { memory, ..self }
    }

    /// Whether all of it was sent, its answer too.
    fn is_sent(&self) -> bool {
        matches!(self.ending, Ending::Over) && self.waiting.is_empty()
    }

    /// Turns the flow into bytes.
    pub(crate) fn bytes(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold(self, |mut flow| async move { flow.next().await.map(|bytes| (Ok(bytes), flow)) })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.waiting.pop_front() {
                return Some(match &mut self.memory {
                    Some(memory) => memory.event(line),
                    None => Bytes::from(format!("event: message\ndata: {line}\n\n")),
                });
            }
            match std::mem::replace(&mut self.ending, Ending::Over) {
                Ending::Over => return None,
                Ending::Ready(last) => {
                    // What was said before the answer goes out before it.
                    while let Some(Some(line)) = self.outgoing.next().now_or_never() {
                        self.waiting.push_back(line);
                    }
                    self.waiting.push_back(last.line);
                    continue;
                }
                waiting @ (Ending::Pending(_) | Ending::Never) => self.ending = waiting,
            }
            tokio::select! {
                biased;
                line = self.outgoing.next(), if self.has_more => match line {
                    Some(line) => self.waiting.push_back(line),
                    None if matches!(self.ending, Ending::Never) => return None,
                    None => self.has_more = false,
                },
                done = finished(&mut self.ending) => self.ending = done.map_or(Ending::Over, Ending::Ready),
                _ = self.closing.wait_for(|closing| *closing), if !self.is_draining => {
                    // A stream that never ends by itself must not hold the hub up.
                    if matches!(self.ending, Ending::Never) {
                        return None;
                    }
                    self.is_draining = true;
                }
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(Bytes::from_static(b": still here\n\n")),
            }
        }
    }
}

async fn finished(ending: &mut Ending) -> Option<Final> {
    match ending {
        Ending::Pending(work) => work.task().await.ok(),
        Ending::Never | Ending::Ready(_) | Ending::Over => std::future::pending().await,
    }
}

/// A flow that goes back to its session when its connection breaks.
struct Carried {
    flow: Option<Flow<mpsc::Receiver<String>>>,
    home: Arc<Broken>,
    /// Rung when the client takes the stream up elsewhere.
    bell: Arc<Notify>,
}

impl Carried {
    fn new(flow: Flow<mpsc::Receiver<String>>, home: Arc<Broken>) -> Self {
        let bell = Arc::new(Notify::new());
        if let Some(memory) = &flow.memory {
            let mut under_way = home.under_way.lock();
            under_way.insert(memory.stream.clone(), Arc::clone(&bell));
        }
        Self { flow: Some(flow), home, bell }
    }

    async fn next(&mut self) -> Option<Bytes> {
        let flow = self.flow.as_mut()?;
        tokio::select! {
            biased;
            () = self.bell.notified() => None,
            next = flow.next() => next,
        }
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        let Some(flow) = self.flow.take() else { return };
        // Held until the stream is kept: whoever comes back for it finds it in one place or the other.
        let mut under_way = self.home.under_way.lock();
        if let Some(memory) = &flow.memory {
            under_way.remove(&memory.stream);
        }
        self.home.keep(flow);
    }
}

/// Turns a flow into bytes, and keeps it at `home` for a client that comes back.
pub(crate) fn carried(
    flow: Flow<mpsc::Receiver<String>>,
    home: Arc<Broken>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let greeting =
        flow.memory.as_ref().filter(|memory| memory.count == 0 && memory.sent.is_empty()).map(Memory::first);
    let rest = stream::unfold(Carried::new(flow, home), |mut carried| async move {
        carried.next().await.map(|bytes| (Ok(bytes), carried))
    });
    futures_util::StreamExt::chain(stream::iter(greeting.map(Ok)), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn m1_a_stream_to_which_nobody_comes_back_is_given_up_and_what_was_asked_on_it_too() {
        let home = Arc::new(Broken::default());
        let (lines, outgoing) = mpsc::channel(1);
        let (_close, closing) = watch::channel(false);
        let flow = Flow::new(Vec::new(), outgoing, Ending::Never, closing).remembered(Some(Memory::new()));
        drop(Carried::new(flow, Arc::clone(&home)));
        tokio::time::sleep(COMING_BACK / 2).await;
        assert!(!lines.is_closed(), "the client may come back");
        lines.closed().await;
        assert!(home.flows.lock().is_empty());
    }

    /// A stream that ends with this answer, read to its end, and the id of the event before the answer.
    async fn read_whole(home: &Arc<Broken>, answer: String) -> String {
        let (_lines, outgoing) = mpsc::channel(1);
        let (_close, closing) = watch::channel(false);
        let memory = Memory::new();
        let greeting = format!("{}.0", memory.stream);
        let ending = Ending::Ready(Final { status: StatusCode::OK, line: answer });
        let flow = Flow::new(Vec::new(), outgoing, ending, closing).remembered(Some(memory));
        let mut carried = Carried::new(flow, Arc::clone(home));
        while carried.next().await.is_some() {}
        greeting
    }

    #[tokio::test]
    async fn m1_an_answer_that_was_sent_into_a_broken_connection_is_sent_again() {
        let home = Arc::new(Broken::default());
        let last = read_whole(&home, "the answer".to_owned()).await;
        let again: Vec<_> = {
            use futures_util::StreamExt;
            carried(home.resume(&last).await.unwrap(), Arc::clone(&home)).collect().await
        };
        let text: String =
            again.into_iter().map(|it| String::from_utf8(it.unwrap().to_vec()).unwrap()).collect();
        assert!(text.contains("data: the answer\n"), "{text}");
        assert!(home.resume(&last).await.is_some(), "and once more, should that have been lost too");
    }

    #[tokio::test]
    async fn m2_streams_that_were_sent_whole_make_room_first_and_are_bounded_in_bytes() {
        let home = Arc::new(Broken::default());
        let (_lines, outgoing) = mpsc::channel(1);
        let (_close, closing) = watch::channel(false);
        let flow = Flow::new(Vec::new(), outgoing, Ending::Never, closing).remembered(Some(Memory::new()));
        let broken = flow.memory.as_ref().unwrap().stream.clone();
        drop(Carried::new(flow, Arc::clone(&home)));
        for _ in 0..2 * KEPT_STREAMS {
            read_whole(&home, "short".to_owned()).await;
        }
        assert_eq!(home.flows.lock().len(), KEPT_STREAMS);
        for _ in 0..3 {
            read_whole(&home, "x".repeat(KEPT_BYTES / 2 + 1)).await;
        }
        let kept: Vec<String> = home.flows.lock().iter().map(|kept| kept.stream.clone()).collect();
        assert_eq!((kept.len(), kept.contains(&broken)), (2, true));
        read_whole(&home, "x".repeat(KEPT_BYTES + 1)).await;
        assert_eq!(home.flows.lock().len(), 1, "a long answer that was sent is not kept");
    }

    #[test]
    fn m2_what_is_kept_to_be_sent_again_is_bounded_in_bytes() {
        let mut memory = Memory::new();
        for _ in 0..KEPT_EVENTS {
            memory.event("x".repeat(KEPT_BYTES / 4));
        }
        assert_eq!(memory.sent.len(), 4);
        memory.event("x".repeat(2 * KEPT_BYTES));
        assert_eq!(memory.sent.len(), 1, "the last one is kept however long it is");
    }
}
