//! Takes connections and serves them: HTTP/1.1, with a time and a measure for everything that a client may do.
//!
//! Nothing that one connection does or omits delays the next: the accept loop never waits for a client.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Sleep;

use super::connections::{Admission, Answering, Connection, Connections, Listens, Role};
use super::stall::Watched;
use crate::fair::Turn;

/// Time for a handshake, where there is one.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Time for a request's body, where nobody else looks at the clock.
const BODY: Duration = Duration::from_secs(60);
/// Time for a connection that is given up to say goodbye.
const GOODBYE: Duration = Duration::from_millis(500);
/// Bytes of a request's headers, and of an answer that are written at once.
const BUFFER: usize = 128 * 1024;
/// Pause when the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves a router at a listener until `closing` turns true and the requests in flight are answered.
/// `handshake` makes the stream that is served of the one that came, in the connection's own task.
pub(crate) async fn listen<S, H>(
    listener: TcpListener,
    router: Router,
    connections: Arc<Connections>,
    mut closing: watch::Receiver<bool>,
    handshake: impl Fn(TcpStream) -> H,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Future<Output = io::Result<S>> + Send + 'static,
{
    let mut serving = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            Some(_) = serving.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(err) => {
                if !is_of_one_connection(&err) {
                    tracing::warn!("a connection could not be taken: {err}");
                    connections.make_room();
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            }
        };
        let Some(admission) = connections.admit(peer) else {
            tracing::warn!("a connection was refused: {} are open and all at work", connections.most());
            continue;
        };
        if let Err(err) = stream.set_nodelay(true) {
            tracing::debug!("TCP_NODELAY could not be set: {err}");
        }
        let (router, closing, secured) = (router.clone(), closing.clone(), handshake(stream));
        serving.spawn(async move {
            // One that has to make room does so before it has shaken hands, too.
            let secured = tokio::select! {
                secured = tokio::time::timeout(HANDSHAKE, secured) => secured,
                () = admission.0.displaced() => return,
            };
            match secured {
                Ok(Ok(stream)) => serve(stream, router, admission, closing).await,
                Ok(Err(err)) => tracing::debug!("a handshake failed: {err}"),
                Err(_) => tracing::debug!("a handshake took longer than {HANDSHAKE:?}"),
            }
        });
    }
    drop(listener);
    while serving.join_next().await.is_some() {}
    Ok(())
}

/// Whether an error says something about the connection that came, and nothing about those to come.
fn is_of_one_connection(err: &io::Error) -> bool {
    matches!(
        err.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

/// Serves one connection to its end.
async fn serve<S>(stream: S, router: Router, admission: Admission, mut closing: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = Arc::clone(&admission.0);
    let asked = Arc::clone(&connection);
    let service = service_fn(move |request| answer(request, router.clone(), &asked));
    let stream = TokioIo::new(Watched::new(stream, Arc::clone(&connection)));
    // The time of headers is kept by the connection, which tells half a request from none.
    let serving = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(BUFFER)
        .serve_connection(stream, service);
    let mut serving = pin!(serving);
    let is_given_up = tokio::select! {
        served = serving.as_mut() => {
            if let Err(err) = served {
                tracing::trace!("a connection ended: {err}");
            }
            return;
        }
        _ = closing.wait_for(|closing| *closing) => false,
        () = connection.displaced() => true,
        () = connection.overdue() => true,
    };
    serving.as_mut().graceful_shutdown();
    if is_given_up {
        let _ = tokio::time::timeout(GOODBYE, serving).await;
    } else {
        tokio::select! {
            _ = serving => {}
            () = connection.overdue() => {}
        }
    }
}

/// Answers one request; the connection is at work until its answer is handed over.
fn answer(
    request: Request<Incoming>,
    router: Router,
    connection: &Arc<Connection>,
) -> impl Future<Output = Result<Response<Owed>, Infallible>> + use<> {
    let answering = connection.begin();
    let mut request = request.map(|body| Body::new(Arriving { body, ends: None }));
    request.extensions_mut().insert(ConnectInfo(connection.peer));
    request.extensions_mut().insert(Arc::clone(connection));
    let answer = TowerToHyperService::new(router).call(request);
    async move {
        let mut response = answer.await?;
        let turn = response.extensions_mut().remove::<Arc<Turn>>();
        if response.extensions().get::<Listens>().is_some() {
            answering.serves(Role::Listening);
        }
        Ok(response.map(|body| Owed::new(body, answering, turn)))
    }
}

/// The body of a request, which has to come in time.
#[derive(Debug)]
struct Arriving {
    body: Incoming,
    ends: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)));
        }
        let ends = self.ends.get_or_insert_with(|| Box::pin(tokio::time::sleep(BODY)));
        ready!(ends.as_mut().poll(context));
        let late = io::Error::new(io::ErrorKind::TimedOut, "the body did not come in time");
        Poll::Ready(Some(Err(axum::Error::new(late))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer; its bytes are owed by the client until it takes them.
#[derive(Debug)]
struct Owed {
    body: Body,
    /// Whether all of it is counted already.
    is_counted: bool,
    answering: Answering,
    /// The turn of the request, which lasts until the client took the answer.
    turn: Option<Arc<Turn>>,
}

impl Owed {
    fn new(body: Body, answering: Answering, turn: Option<Arc<Turn>>) -> Self {
        let known = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
        answering.0.owes(known.unwrap_or(0));
        Self { body, is_counted: known.is_some(), answering, turn }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.answering.0.keeps(turn);
        }
    }
}

impl HttpBody for Owed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(bytes) = frame.data_ref()
            && !self.is_counted
        {
            self.answering.0.owes(bytes.len());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn m2_a_connection_that_never_shakes_hands_makes_room_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_open, closing) = watch::channel(false);
        let hanging = |stream: TcpStream| async move {
            let () = std::future::pending().await;
            Ok(stream)
        };
        let serving = tokio::spawn(listen(listener, Router::new(), Connections::new(1), closing, hanging));
        let mut first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        // Sooner than by the time that every handshake has.
        let gone = tokio::time::timeout(HANDSHAKE / 2, first.read(&mut [0])).await;
        assert!(matches!(gone, Ok(Ok(0) | Err(_))), "{gone:?}");
        serving.abort();
    }
}
