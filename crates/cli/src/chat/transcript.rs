//! What was said, on disk as it happens: one message per line.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolyard_core::turn::ChatMessage;

use crate::failure::Failure;

/// A file that a conversation is written into; or none.
#[derive(Debug)]
pub(super) struct Transcript {
    path: Option<PathBuf>,
    file: Option<File>,
    /// What stands in its first line.
    head: Option<Value>,
    has_warned: bool,
}

impl Transcript {
    /// Keeps nothing.
    pub(super) fn none() -> Self {
        Self { path: None, file: None, head: None, has_warned: true }
    }

    /// Begins a new file; it is made when the first message is said.
    pub(super) fn new(folder: &Path, model: &str) -> Self {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let path = folder.join(format!("{at}-{}.jsonl", std::process::id()));
        let head = json!({ "toolyard": "chat", "version": 1, "model": model });
        Self { path: Some(path), file: None, head: Some(head), has_warned: false }
    }

    /// Goes on with a file.
    pub(super) fn of(path: PathBuf) -> Self {
        Self { path: Some(path), file: None, head: None, has_warned: false }
    }

    /// Returns where it is.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Writes a message down. A conversation goes on when the disk is full; the person is told once.
    pub(super) fn add(&mut self, message: &ChatMessage) {
        let Some(path) = &self.path else { return };
        let lines = [self.head.take(), serde_json::to_value(message).ok()];
        let lines: String = lines.into_iter().flatten().map(|line| format!("{line}\n")).collect();
        let written = match &mut self.file {
            Some(file) => file.write_all(lines.as_bytes()),
            None => open(path).and_then(|mut file| {
                let written = file.write_all(lines.as_bytes());
                self.file = Some(file);
                written
            }),
        };
        if let Err(error) = written
            && !self.has_warned
        {
            self.has_warned = true;
            anstream::eprintln!("the conversation is not kept: `{}`: {error}", path.display());
        }
    }
}

/// Opens a file to append to. A conversation is nobody else's business.
fn open(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    // What a crash cut off stays a line of its own.
    let ends_open = fs::read(path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    if ends_open {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

/// Returns the latest conversation of a folder.
pub(super) fn latest(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    files.max_by_key(|path| fs::metadata(path).and_then(|it| it.modified()).ok())
}

/// Reads a conversation. Lines that are no messages, such as one that a crash cut off, are passed over, and so is a call
/// that has no answer.
pub(super) fn read(path: &Path) -> Result<Vec<ChatMessage>, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", path.display())))?;
    let messages: Vec<ChatMessage> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if messages.is_empty() && !text.trim().is_empty() {
        return Err(Failure::usage(format!("`{}` is no transcript", path.display()))
            .hint("give a .jsonl file of the folder `chats`"));
    }
    let answered =
        |id: &str| messages.iter().any(|it| matches!(it, ChatMessage::Tool { id: other, .. } if other == id));
    let is_whole = |message: &&ChatMessage| match message {
        ChatMessage::Assistant { calls, .. } => calls.iter().all(|call| answered(&call.id)),
        ChatMessage::System { .. } | ChatMessage::User { .. } | ChatMessage::Tool { .. } => true,
    };
    Ok(messages.iter().filter(is_whole).cloned().collect())
}
