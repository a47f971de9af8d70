//! A child process and its pipes.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Error, Shared};

/// How much of stderr is kept.
const STDERR_KEPT: usize = 1 << 20;

/// A child, with tasks that read what it writes and write what it shall read.
#[derive(Debug)]
pub(super) struct Pipe {
    child: Child,
    pid: u32,
    outgoing: mpsc::Sender<Vec<u8>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    strays: Arc<Mutex<Vec<String>>>,
    reader: JoinHandle<()>,
    others: [JoinHandle<()>; 2],
}

impl Pipe {
    pub(super) fn open(command: std::process::Command, shared: &Arc<Shared>) -> Self {
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let (outgoing, mut messages) = mpsc::channel::<Vec<u8>>(64);
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        let child_stderr = child.stderr.take().expect("stderr is piped");
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let strays = Arc::new(Mutex::new(Vec::new()));
        let writer = tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                if stdin.write_all(&message).await.is_err() {
                    return;
                }
            }
        });
        let reader =
            tokio::spawn(read(stdout, Arc::clone(shared), Arc::clone(&strays), outgoing.downgrade()));
        let logger = tokio::spawn(keep(child_stderr, Arc::clone(&stderr)));
        let pid = child.id().expect("a child that was not waited for has an id");
        Self { child, pid, outgoing, stderr, strays, reader, others: [writer, logger] }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock()).into_owned()
    }

    pub(super) fn strays(&self) -> Vec<String> {
        self.strays.lock().clone()
    }

    pub(super) async fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.outgoing.send(bytes.to_vec()).await.map_err(|_| Error::Closed)
    }

    pub(super) async fn close(self, patience: Duration) -> ExitStatus {
        let Self { mut child, outgoing, mut reader, others, .. } = self;
        drop(outgoing);
        let exit = timeout(patience, child.wait()).await;
        // What the child wrote last is still to be read; a grandchild may hold the pipe open.
        if timeout(Duration::from_secs(1), &mut reader).await.is_err() {
            reader.abort();
        }
        others.iter().for_each(JoinHandle::abort);
        exit.expect("a server exits when its stdin ends").expect("a child can be waited for")
    }

    pub(super) async fn kill(mut self) {
        self.child.kill().await.expect("a child can be killed");
        self.reader.abort();
        self.others.iter().for_each(JoinHandle::abort);
    }
}

async fn read(
    stdout: ChildStdout,
    shared: Arc<Shared>,
    strays: Arc<Mutex<Vec<String>>>,
    outgoing: mpsc::WeakSender<Vec<u8>>,
) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while stdout.read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line);
        match serde_json::from_str::<Value>(&text) {
            Ok(message) if message.is_object() => {
                if let (Some(answer), Some(outgoing)) = (shared.take(message), outgoing.upgrade())
                    && outgoing.send(format!("{answer}\n").into_bytes()).await.is_err()
                {
                    break;
                }
            }
            _ => strays.lock().push(text.trim_end_matches('\n').to_owned()),
        }
        line.clear();
    }
    shared.fail(None, || Error::Closed);
}

async fn keep(mut stderr: ChildStderr, kept: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let mut kept = kept.lock();
        let room = STDERR_KEPT.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&chunk[..room]);
    }
}
