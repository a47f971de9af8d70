//! A server that is a child process and speaks over its standard streams.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Surroundings;
use super::link::{Link, Outgoing, Wire};
use crate::frame::{Bounds, Frames};
use crate::process::{Child, Error, Launch, Log};

/// Lines that may wait for a server that does not read; then callers wait, within their time limit.
const QUEUE: usize = 256;
/// Time for a child that closed a stream to be seen to exit: the streams go first.
const LEAVING: Duration = Duration::from_secs(1);
/// Time for the last words of a child that has exited.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Starts the child. The task runs until the connection ends; it kills the child when it is dropped.
pub(crate) fn connect(
    server: &Arc<str>,
    bounds: Bounds,
    around: &Surroundings,
    launch: &Launch<'_>,
    log: Log,
) -> Result<(Arc<Link>, JoinHandle<()>), Error> {
    let mut child = around.nursery.spawn(launch)?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        unreachable!("all three streams are piped");
    };
    let (lines, queue) = mpsc::channel(QUEUE);
    let link = Arc::new(Link::new(Arc::clone(server), bounds, Wire::Lines(lines), around.audience.clone()));
    let tending =
        tokio::spawn(tend(Arc::clone(&link), child, Pipes { stdin, queue, stdout }, log.copy(stderr)));
    Ok((link, tending))
}

/// What is written to a child and read from it.
struct Pipes {
    stdin: ChildStdin,
    /// The lines to write.
    queue: mpsc::Receiver<Outgoing>,
    stdout: ChildStdout,
}

async fn tend(
    link: Arc<Link>,
    mut child: Child,
    Pipes { stdin, queue, stdout }: Pipes,
    logging: impl Future<Output = ()>,
) {
    let mut reading = std::pin::pin!(read(&link, stdout));
    let mut logging = std::pin::pin!(logging);
    // Boxed to be dropped before the rest: that is what closes the child's input.
    let mut writing = Box::pin(write(&link, stdin, queue));
    let mut is_logged = false;
    let end = loop {
        tokio::select! {
            () = link.stop.notified() => break End::Stopped,
            how = child.ended() => break End::Exited(how),
            () = &mut reading => break End::Mute,
            () = &mut writing => break End::Deaf,
            () = &mut logging, if !is_logged => is_logged = true,
        }
    };
    // From here on callers are told that what they send does not arrive.
    drop(writing);
    let log_rest = std::pin::pin!(async {
        if !is_logged {
            logging.await;
        }
    });
    // What it wrote before it ended may still be in the pipes, and a descendant may hold them open for ever.
    let reason = match end {
        End::Stopped => "it was stopped".to_owned(),
        End::Exited(how) => {
            let _ = timeout(LAST_WORDS, async { tokio::join!(reading, log_rest) }).await;
            how
        }
        End::Deaf => {
            let how = timeout(LEAVING, child.ended()).await;
            let _ = timeout(LAST_WORDS, async { tokio::join!(reading, log_rest) }).await;
            how.unwrap_or_else(|_| "it closed its input".to_owned())
        }
        End::Mute => {
            let how = timeout(LEAVING, child.ended()).await;
            let _ = timeout(LAST_WORDS, log_rest).await;
            how.unwrap_or_else(|_| "it closed its output".to_owned())
        }
    };
    link.close(&reason);
    child.stop().await;
}

/// How a connection ended.
enum End {
    Stopped,
    Exited(String),
    /// It does not take input any more, and is perhaps gone.
    Deaf,
    /// Its output ended, and it perhaps with it.
    Mute,
}

async fn read(link: &Arc<Link>, stdout: ChildStdout) {
    let mut frames = Frames::new(stdout, link.bounds);
    while let Ok(Some(frame)) = frames.next().await {
        link.receive_frame(frame, None);
        tokio::task::consume_budget().await;
    }
}

/// Returns when the child does not take input any more.
async fn write(link: &Link, mut stdin: ChildStdin, mut queue: mpsc::Receiver<Outgoing>) {
    while let Some(Outgoing { mut line, id }) = queue.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        if let Some(id) = id {
            link.is_sent(id);
        }
    }
}
