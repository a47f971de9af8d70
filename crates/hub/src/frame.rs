//! Lines of JSON from a stream that is not to be trusted.
//!
//! A line that is too long or too deep never reaches a parser: it is read past, and
//! reported with the id it carried, so that the call it belongs to fails at once
//! instead of waiting for its time limit.

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::jsonrpc::Id;

/// What one line may cost us.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of a line.
    pub bytes: usize,
    /// Levels of nesting.
    pub nesting: usize,
}

/// What came off the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A whole line within bounds, without its end.
    Line(Vec<u8>),
    /// A line that was read past.
    Rejected {
        /// The id at its top level, when it had one.
        id: Option<Id>,
        /// Why it was not taken.
        excess: Excess,
    },
}

/// What was too much about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// Too many bytes.
    #[error("the message has more than {limit} bytes; raise `limits.messageBytes` if that is wanted")]
    Bytes {
        /// What is allowed.
        limit: usize,
    },
    /// Too many levels.
    #[error("the message is nested more than {limit} levels deep; raise `limits.nesting` if that is wanted")]
    Nesting {
        /// What is allowed.
        limit: usize,
    },
}

/// Splits a stream into frames.
#[derive(Debug)]
pub struct Frames<R> {
    source: R,
    bounds: Bounds,
    buffer: Vec<u8>,
    /// How much of `buffer` was searched for a line end already.
    searched: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// Reads frames from `source`.
    pub fn new(source: R, bounds: Bounds) -> Self {
        Self { source, bounds, buffer: Vec::new(), searched: 0 }
    }

    /// Returns the next frame, or `None` at the end of the stream. Empty lines are skipped.
    pub async fn next(&mut self) -> std::io::Result<Option<Frame>> {
        loop {
            if let Some(end) = self.line_end() {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                self.searched = 0;
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                if !line.iter().all(u8::is_ascii_whitespace) {
                    return Ok(Some(checked(line, self.bounds)));
                }
                continue;
            }
            // The byte more may be the CR of a line end.
            if self.buffer.len() > self.bounds.bytes.saturating_add(1) {
                match self.read_past().await? {
                    Some(frame) => return Ok(Some(frame)),
                    None => continue,
                }
            }
            if !self.fill().await? {
                // A last line without an end is still a message.
                let rest = std::mem::take(&mut self.buffer);
                self.searched = 0;
                let blank = rest.iter().all(u8::is_ascii_whitespace);
                return Ok((!blank).then(|| checked(rest, self.bounds)));
            }
        }
    }

    fn line_end(&mut self) -> Option<usize> {
        let found = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n');
        let end = found.map(|at| self.searched + at);
        self.searched = self.buffer.len();
        end
    }

    async fn fill(&mut self) -> std::io::Result<bool> {
        if self.buffer.capacity() - self.buffer.len() < 4096 {
            self.buffer.reserve(self.buffer.len().clamp(8192, 1 << 20));
        }
        Ok(self.source.read_buf(&mut self.buffer).await? > 0)
    }

    /// Drops bytes until the line ends, keeping only what names the call. A line of white space is no message.
    async fn read_past(&mut self) -> std::io::Result<Option<Frame>> {
        let (mut scan, mut is_blank) = (Scan::default(), true);
        loop {
            let end = self.buffer.iter().position(|&byte| byte == b'\n');
            let part = &self.buffer[..end.unwrap_or(self.buffer.len())];
            scan.feed(part);
            is_blank = is_blank && part.iter().all(u8::is_ascii_whitespace);
            match end {
                Some(end) => {
                    self.buffer.drain(..=end);
                    self.buffer.shrink_to(1 << 16);
                    break;
                }
                None => self.buffer.clear(),
            }
            if !self.fill().await? {
                break;
            }
        }
        self.searched = 0;
        let rejected =
            || Frame::Rejected { id: scan.id(), excess: Excess::Bytes { limit: self.bounds.bytes } };
        Ok((!is_blank).then(rejected))
    }
}

fn checked(line: Vec<u8>, bounds: Bounds) -> Frame {
    match excess(&line, bounds) {
        Some((id, excess)) => Frame::Rejected { id, excess },
        None => Frame::Line(line),
    }
}

/// Checks a whole message against the bounds; says what is too much, and the id it carries.
pub fn excess(message: &[u8], bounds: Bounds) -> Option<(Option<Id>, Excess)> {
    let mut scan = Scan::default();
    if message.len() > bounds.bytes {
        scan.feed(message);
        return Some((scan.id(), Excess::Bytes { limit: bounds.bytes }));
    }
    // Fewer brackets than levels cannot be too deep, and counting is cheap.
    let brackets = message.iter().filter(|&&byte| byte == b'{' || byte == b'[').count();
    if brackets <= bounds.nesting {
        return None;
    }
    scan.feed(message);
    (scan.deepest > bounds.nesting).then(|| (scan.id(), Excess::Nesting { limit: bounds.nesting }))
}

/// Returns the id at the top level of a message that is perhaps not even JSON.
pub fn id_of(message: &[u8]) -> Option<Id> {
    let mut scan = Scan::default();
    scan.feed(message);
    scan.id()
}

/// Walks over JSON text without building anything: how deep it goes, and its top-level id.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    deepest: usize,
    in_string: bool,
    escaped: bool,
    /// The key or value being read at the top level.
    token: Vec<u8>,
    after_id_key: bool,
    id: Option<Vec<u8>>,
}

/// Longer tokens are neither the key `id` nor an id that we would answer to.
const TOKEN_BYTES: usize = 256;

impl Scan {
    fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
                self.token.clear();
            }
            b'}' | b']' => {
                self.end_token();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.after_id_key = self.token == br#""id""#;
                self.token.clear();
            }
            b',' => self.end_token(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < TOKEN_BYTES {
            self.token.push(byte);
        }
    }

    fn end_token(&mut self) {
        if self.depth == 1 {
            if self.after_id_key && self.id.is_none() {
                self.id = Some(std::mem::take(&mut self.token));
            }
            self.after_id_key = false;
            self.token.clear();
        }
    }

    fn id(&self) -> Option<Id> {
        Id::from_json(std::str::from_utf8(self.id.as_deref()?).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_names_its_call_and_spoils_nothing() {
        let big = format!(
            "{{\"jsonrpc\":\"2.0\",\"result\":{{\"id\":9,\"x\":\"{}\"}},\"id\":7}}",
            "y".repeat(5000)
        );
        let frames = all(&format!("{{\"a\":1}}\n{big}\n{{\"b\":2}}\n"), 1000, 10).await;
        assert_eq!(
            frames,
            [
                Frame::Line(b"{\"a\":1}".to_vec()),
                Frame::Rejected { id: Some(Id::number(7)), excess: Excess::Bytes { limit: 1000 } },
                Frame::Line(b"{\"b\":2}".to_vec()),
            ]
        );
    }

    #[tokio::test]
    async fn a_line_that_is_too_deep_names_its_call() {
        let deep = format!("{{\"id\":\"q\\\"1\",\"result\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        let frames = all(&format!("{deep}\n"), 10_000, 127).await;
        let id = Id::from_json("\"q\\\"1\"");
        assert_eq!(frames, [Frame::Rejected { id, excess: Excess::Nesting { limit: 127 } }]);
    }

    #[tokio::test]
    async fn brackets_inside_strings_are_not_nesting() {
        let line = format!("{{\"text\":\"{}\"}}", "[{".repeat(300));
        assert_eq!(all(&format!("{line}\n"), 10_000, 127).await, [Frame::Line(line.into_bytes())]);
    }

    #[tokio::test]
    async fn blank_lines_are_skipped_and_a_last_line_needs_no_end() {
        assert_eq!(
            all("\r\n  \n{}\r\n[1]", 100, 10).await,
            [Frame::Line(b"{}".to_vec()), Frame::Line(b"[1]".to_vec())]
        );
    }

    #[tokio::test]
    async fn t27_a_line_at_the_bound_and_a_long_blank_one_are_the_same_however_they_come() {
        let stream = format!("{}\r\n{}\n{{}}\n", "1".repeat(20), " ".repeat(300));
        let expected = [Frame::Line(b"1".repeat(20)), Frame::Line(b"{}".to_vec())];
        for step in 1..stream.len() {
            let source = Chopped { bytes: stream.clone().into_bytes(), at: 0, step };
            assert_eq!(read_all(source, 20, 8).await, expected, "{step} bytes at a time");
        }
    }

    proptest! {
        #[test]
        fn no_stream_panics_and_good_lines_survive(noise in proptest::collection::vec(any::<u8>(), 0..400), cut in 1usize..50) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut stream = noise;
            stream.extend_from_slice(b"\n{\"good\":true}\n");
            let frames = runtime.block_on(read_all(Chopped { bytes: stream, at: 0, step: cut }, 64, 8));
            prop_assert_eq!(frames.last(), Some(&Frame::Line(b"{\"good\":true}".to_vec())));
        }
    }

    async fn all(stream: &str, bytes: usize, nesting: usize) -> Vec<Frame> {
        read_all(stream.as_bytes(), bytes, nesting).await
    }

    async fn read_all(source: impl AsyncRead + Unpin, bytes: usize, nesting: usize) -> Vec<Frame> {
        let mut frames = Frames::new(source, Bounds { bytes, nesting });
        let mut seen = Vec::new();
        while let Some(frame) = frames.next().await.unwrap() {
            seen.push(frame);
        }
        seen
    }

    /// Hands out a few bytes at a time, as pipes do.
    struct Chopped {
        bytes: Vec<u8>,
        at: usize,
        step: usize,
    }

    impl AsyncRead for Chopped {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buf: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            let end = (self.at + self.step.min(buf.remaining())).min(self.bytes.len());
            buf.put_slice(&self.bytes[self.at..end]);
            self.at = end;
            std::task::Poll::Ready(Ok(()))
        }
    }
}
