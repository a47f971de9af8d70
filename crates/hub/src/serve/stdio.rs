//! The client that started us, over our own standard streams.
//!
//! stdout belongs to the protocol: nothing else in the program writes to it.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::FileType;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixStream, unix::pipe};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::answer::{Request, answer};
use super::session::{InFlight, Session, busy};
use super::{Reception, View, era};
use crate::access::Grant;
use crate::caller::{Caller, Era};
use crate::frame::{Bounds, Excess, Frame, Frames};
use crate::jsonrpc::{ErrorObject, Fields, Id, Message, response_line};

/// Lines that may wait for a client that does not read.
const QUEUE: usize = 1024;
/// Time for requests in flight after the client has closed its end.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves the client at our standard streams until it closes them.
///
/// It sees what the profile shows; one that the configuration does not have is an error.
pub async fn serve(reception: Arc<Reception>, profile: Option<&str>) -> std::io::Result<()> {
    let missing = || std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such profile");
    let view = reception.view(profile, &Grant::owner()).ok_or_else(missing)?;
    serve_view(reception, view, input()?, output()?).await
}

/// Serves one client over a pair of streams.
pub async fn serve_streams(
    reception: Arc<Reception>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let view = reception.view(None, &Grant::owner()).expect("the view without a profile always exists");
    serve_view(reception, view, input, output).await
}

async fn serve_view(
    reception: Arc<Reception>,
    view: View,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (lines, queue) = mpsc::channel(QUEUE);
    let writing = tokio::spawn(write(output, queue));
    let config = reception.hub.config();
    let client = Session::introduced(&Fields::default(), era::fresh_principal());
    let desk = Arc::new(Desk {
        session: Session::new(&reception, view, client, lines.clone()),
        modern: InFlight::default(),
        slots: Arc::new(Semaphore::new(config.serve.concurrency)),
        has_session: AtomicBool::new(false),
        opened: Notify::new(),
        lines: lines.clone(),
    });
    let mut work = JoinSet::new();
    let relay = Arc::clone(&desk);
    let relaying = tokio::spawn(async move {
        // A client without a session hears what it listens for, and nothing else.
        relay.opened.notified().await;
        relay.session.relay_news().await;
    });
    let bounds = Bounds { bytes: config.serve.body_bytes.max(1 << 20), nesting: 127 };
    let mut frames = Frames::new(input, bounds);
    while let Some(frame) = frames.next().await? {
        while work.try_join_next().is_some() {}
        desk.take(frame, &mut work).await;
    }
    let _ = tokio::time::timeout(DRAIN, async { while work.join_next().await.is_some() {} }).await;
    relaying.abort();
    let _ = relaying.await;
    drop((work, desk, lines));
    reception.hub.set_sole_client(None);
    let _ = tokio::time::timeout(DRAIN, writing).await;
    Ok(())
}

/// One client, in whichever era each of its requests is.
struct Desk {
    session: Session,
    modern: InFlight,
    slots: Arc<Semaphore>,
    has_session: AtomicBool,
    /// Told when the client knows that its session is open; nothing is announced to it before.
    opened: Notify,
    lines: mpsc::Sender<String>,
}

impl Desk {
    async fn take(self: &Arc<Self>, frame: Frame, work: &mut JoinSet<()>) {
        let message = match frame {
            Frame::Line(line) => Message::parse(&line).map_err(|err| (None, err.to_error())),
            Frame::Rejected { id, excess } => {
                // What a client may send has a setting of its own, and no depth to choose.
                let why = match excess {
                    Excess::Bytes { limit } => {
                        format!(
                            "the message has more than {limit} bytes; raise `serve.bodyBytes` if that is wanted"
                        )
                    }
                    Excess::Nesting { limit } => {
                        format!("the message is nested more than {limit} levels deep")
                    }
                };
                Err((id, ErrorObject::new(ErrorObject::INVALID_REQUEST, why)))
            }
        };
        match message {
            Ok(Message::Request { id, method, params }) => {
                let params = Fields::parse(params.as_deref());
                match params {
                    Ok(params) => self.run(id, method, params, work).await,
                    Err(_) => {
                        let error = ErrorObject::invalid_params("`params` must be an object");
                        self.say(response_line(Some(&id), &Err(error))).await;
                    }
                }
            }
            Ok(Message::Notification { method, params }) => {
                match method.as_str() {
                    "notifications/cancelled" => self.modern.cancel(params.as_deref()),
                    "notifications/initialized" => self.opened.notify_one(),
                    _ => {}
                }
                self.session.notified(&method, params.as_deref()).await;
            }
            Ok(Message::Response { id, outcome }) => self.session.answered(&id, outcome),
            Err((id, error)) => self.say(response_line(id.as_ref(), &Err(error))).await,
        }
    }

    async fn run(self: &Arc<Self>, id: Id, method: String, params: Fields, work: &mut JoinSet<()>) {
        let request = match self.request(&id, method, params) {
            Ok(request) => request,
            Err(error) => return self.say(response_line(Some(&id), &Err(error))).await,
        };
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            return self.say(response_line(Some(&id), &Err(busy()))).await;
        };
        let (era, lines) = (request.caller.era, self.lines.clone());
        let answering = id.clone();
        // In a box, because a task moves what it runs several times.
        let handle = work.spawn(Box::pin(async move {
            let outcome = answer(request).await;
            let _ = lines.send(response_line(Some(&answering), &outcome)).await;
            drop(slot);
        }));
        match era {
            Era::Session => self.session.runs(id, handle),
            Era::Modern => self.modern.add(id, handle),
        }
    }

    fn request(&self, id: &Id, method: String, params: Fields) -> Result<Request, ErrorObject> {
        if era::of(&method, &params) == Era::Modern {
            let client = era::modern_client(&params, "stdio")?;
            self.session.reception.hub.welcome(&client);
            return Ok(Request {
                reception: Arc::clone(&self.session.reception),
                view: self.session.view.clone(),
                caller: Arc::new(Caller::modern(&client, self.lines.clone())),
                id: id.clone(),
                method,
                params,
                watching: None,
            });
        }
        if method == "initialize" {
            self.session.introduce(Session::introduced(&params, era::fresh_principal()));
            self.has_session.store(true, Ordering::Relaxed);
            let hub = &self.session.reception.hub;
            hub.set_sole_client(Some(self.session.caller(None)));
            hub.welcome(&self.session.client());
        } else if method != "ping" && !self.has_session.load(Ordering::Relaxed) {
            let message = "the session is not open: send `initialize` first, or the `_meta` of 2026-07-28 with each request";
            return Err(ErrorObject::new(ErrorObject::INVALID_REQUEST, message));
        } else if method != "ping" {
            // Some clients never say that they are ready; whoever asks is.
            self.opened.notify_one();
        }
        Ok(self.session.request(id.clone(), method, params, None))
    }

    async fn say(&self, line: String) {
        let _ = self.lines.send(line).await;
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<String>) {
    let mut batch = Vec::new();
    while let Some(line) = queue.recv().await {
        batch.clear();
        batch.extend_from_slice(line.as_bytes());
        batch.push(b'\n');
        // Whatever else is ready goes out in the same write.
        while let Ok(line) = queue.try_recv() {
            batch.extend_from_slice(line.as_bytes());
            batch.push(b'\n');
        }
        if output.write_all(&batch).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

/// Our input as the kind of stream it is: pipes and sockets need no helper thread per read.
fn input() -> std::io::Result<Box<dyn AsyncRead + Unpin + Send>> {
    let fd = std::io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd) {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        FileType::RegularFile
        | FileType::Directory
        | FileType::Symlink
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Box::new(tokio::io::stdin()),
    })
}

fn output() -> std::io::Result<Box<dyn AsyncWrite + Unpin + Send>> {
    let fd = std::io::stdout().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd) {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        FileType::RegularFile
        | FileType::Directory
        | FileType::Symlink
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Box::new(tokio::io::stdout()),
    })
}

fn kind(fd: &OwnedFd) -> FileType {
    rustix::fs::fstat(fd).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

fn socket(fd: OwnedFd) -> std::io::Result<UnixStream> {
    let socket = StdUnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
