//! A server that is a child process and speaks over its standard streams.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Audience;
use super::link::{Link, Wire};
use crate::frame::{Bounds, Frames};
use crate::process::{Child, Error, Launch, Log, Nursery};

/// Lines that may wait for a server that does not read; then callers wait, within their time limit.
const QUEUE: usize = 256;
/// Time for the last words of a child that has exited.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Starts the child. The task runs until the connection ends; it kills the child when it is dropped.
pub(crate) fn connect(
    server: &Arc<str>,
    bounds: Bounds,
    nursery: &Nursery,
    (launch, log): (&Launch<'_>, Log),
    audience: Audience,
) -> Result<(Arc<Link>, JoinHandle<()>), Error> {
    let mut child = nursery.spawn(launch)?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        unreachable!("all three streams are piped");
    };
    let (lines, queue) = mpsc::channel(QUEUE);
    let link = Arc::new(Link::new(Arc::clone(server), bounds, Wire::Lines(lines), audience));
    let tending = tokio::spawn(tend(Arc::clone(&link), child, (stdin, queue), stdout, log.copy(stderr)));
    Ok((link, tending))
}

async fn tend(
    link: Arc<Link>,
    mut child: Child,
    (stdin, queue): (ChildStdin, mpsc::Receiver<String>),
    stdout: ChildStdout,
    logging: impl Future<Output = ()>,
) {
    let reason = {
        let reading = read(&link, stdout);
        let mut reading = std::pin::pin!(reading);
        let writing = write(stdin, queue);
        let background = async { tokio::join!(writing, logging) };
        let mut background = std::pin::pin!(background);
        tokio::select! {
            () = link.stop.notified() => "it was stopped".to_owned(),
            ended = child.ended() => {
                // What it wrote before it ended may still be in the pipe, and a
                // descendant may hold the pipe open for ever.
                let _ = tokio::time::timeout(LAST_WORDS, reading).await;
                ended
            }
            () = &mut reading => match tokio::time::timeout(LAST_WORDS, child.ended()).await {
                Ok(ended) => ended,
                Err(_) => "it closed its output".to_owned(),
            },
            _ = &mut background => unreachable!("the log ends only with the child's streams, which `child.ended` precedes"),
        }
    };
    link.close(&reason);
    child.stop().await;
}

async fn read(link: &Arc<Link>, stdout: ChildStdout) {
    let mut frames = Frames::new(stdout, link.bounds);
    while let Ok(Some(frame)) = frames.next().await {
        link.receive_frame(frame, None);
        tokio::task::consume_budget().await;
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<String>) {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() {
            break;
        }
    }
    // A broken pipe shows as the child's end; until then nothing more can be said to it.
    std::future::pending::<()>().await;
}
