//! A stream whose reader may be slow, but not stand still.
//!
//! A stream on which nothing is to be said may be quiet for ever; only bytes that wait to be taken count.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::connections::Connection;

/// Time that bytes may wait before the connection is given up; what is taken meanwhile adds to it.
const STALL: Duration = Duration::from_secs(30);
/// Bytes that must be taken within a second for a second more.
const SLOWEST: usize = 4096;
/// A stall is looked at this often. One that moved nothing since the last look ends at once when memory is short.
const LOOK: Duration = Duration::from_secs(1);

/// A connection's stream, watched.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    stream: S,
    connection: Arc<Connection>,
    stall: Option<Stall>,
}

#[derive(Debug)]
struct Stall {
    look: Pin<Box<Sleep>>,
    ends: Instant,
    /// Whether bytes were taken since the last look.
    has_moved: bool,
}

impl<S> Watched<S> {
    pub(crate) fn new(stream: S, connection: Arc<Connection>) -> Self {
        Self { stream, connection, stall: None }
    }

    fn wrote(&mut self, bytes: usize) {
        self.connection.took(bytes);
        if let Some(stall) = &mut self.stall {
            stall.has_moved = true;
            let earned = Duration::from_millis((bytes.saturating_mul(1000) / SLOWEST) as u64);
            stall.ends = (stall.ends + earned).min(Instant::now() + STALL);
        }
    }

    /// Waits with bytes that cannot be written, and gives up when that lasts too long.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let now = Instant::now();
        let stall = self.stall.get_or_insert_with(|| Stall {
            look: Box::pin(sleep_until(now + LOOK)),
            ends: now + STALL,
            has_moved: true,
        });
        loop {
            ready!(stall.look.as_mut().poll(context));
            let now = Instant::now();
            let is_pressed = !stall.has_moved && self.connection.is_pressed();
            if is_pressed || stall.ends <= now {
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the client does not read"));
            }
            stall.has_moved = false;
            stall.look.as_mut().reset(now + LOOK);
        }
    }

    fn written(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match outcome {
            Poll::Ready(Ok(bytes)) => {
                self.wrote(bytes);
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(Err(err)) => Poll::Ready(Err(err)),
            Poll::Pending => self.wait(context).map(Err),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if buffer.filled().len() > before {
            self.connection.heard();
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(context) {
            Poll::Ready(flushed) => {
                // Whoever flushes has nothing left to write.
                self.stall = None;
                Poll::Ready(flushed)
            }
            Poll::Pending => self.wait(context).map(Err),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_shutdown(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => self.wait(context).map(Err),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::http::connections::{Admission, Connections};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    fn watched() -> (Watched<DuplexStream>, DuplexStream, Admission) {
        let (ours, theirs) = duplex(1000);
        let admission = Connections::new(4).admit(std::net::SocketAddr::from(([127, 0, 0, 1], 1))).unwrap();
        (Watched::new(ours, Arc::clone(&admission.0)), theirs, admission)
    }

    #[tokio::test(start_paused = true)]
    async fn m2_a_client_that_stops_reading_is_given_up_and_a_quiet_one_is_not() {
        let (mut stream, mut client, _admission) = watched();
        stream.write_all(b"hello").await.unwrap();
        stream.flush().await.unwrap();
        tokio::time::sleep(100 * STALL).await;
        client.read_exact(&mut [0; 5]).await.unwrap();
        stream.write_all(b"still here").await.unwrap();
        let start = Instant::now();
        let failed = stream.write_all(&[0; 5000]).await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), STALL);
    }

    #[tokio::test(start_paused = true)]
    async fn m2_a_client_that_reads_a_byte_now_and_then_is_given_up_too() {
        let (mut stream, mut client, _admission) = watched();
        let start = Instant::now();
        let dripping = tokio::spawn(async move {
            while client.read_u8().await.is_ok() {
                tokio::time::sleep(LOOK).await;
            }
        });
        assert!(stream.write_all(&[0; 100_000]).await.is_err());
        assert!(start.elapsed() < 2 * STALL);
        drop(stream);
        dripping.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn m2_when_memory_is_short_a_client_that_reads_nothing_goes_at_once() {
        let (mut stream, _client, admission) = watched();
        admission.0.owes(usize::MAX / 2);
        let start = Instant::now();
        assert!(stream.write_all(&[0; 5000]).await.is_err());
        assert!(start.elapsed() <= 2 * LOOK);
    }
}
