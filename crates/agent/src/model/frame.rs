//! The bytes of an answer, cut into JSON: events, lines, or one object.
//!
//! Services do not always keep to their own dialect, so all three are told apart by what arrives. Lines are cut
//! before they are decoded, so a character that is split over chunks is whole again.

use serde_json::Value;

use super::MOST_BYTES;
use super::draft::Stop;

/// The sign of OpenAI that nothing follows.
const END: &[u8] = b"[DONE]";

/// One message of a service.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Frame {
    /// What it says.
    Json(Value),
    /// It says that nothing follows.
    End,
}

/// Takes bytes as they come and hands out frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    /// Where the line begins that is read next.
    start: usize,
    /// How far a line end was looked for.
    searched: usize,
    /// An event whose data goes over several lines.
    event: Vec<u8>,
    /// Whether the answer is one object over several lines.
    is_whole: bool,
    has_frames: bool,
}

impl Frames {
    /// Takes bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next frame, if its line is complete.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Stop> {
        while !self.is_whole {
            let Some(end) = self.bytes[self.searched..].iter().position(|it| *it == b'\n') else {
                self.searched = self.bytes.len();
                break;
            };
            let (start, end) = (self.start, self.searched + end);
            let line = self.bytes[start..end].to_vec();
            (self.start, self.searched) = (end + 1, end + 1);
            if let Some(frame) = self.line(line.trim_ascii())? {
                self.has_frames = true;
                return Ok(Some(frame));
            }
            if self.is_whole {
                self.start = start;
            }
        }
        let is_endless = self.bytes.len() - self.start > MOST_BYTES || self.event.len() > MOST_BYTES;
        if is_endless { Err(Stop::Endless) } else { Ok(None) }
    }

    /// Returns the frame that the end of the body completes.
    pub(super) fn finish(&mut self) -> Option<Frame> {
        let rest = self.bytes[self.start..].trim_ascii();
        let rest = rest.strip_prefix(b"data:").unwrap_or(rest);
        read(&[&self.event, rest].concat())
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<Frame>, Stop> {
        if let Some(data) = line.strip_prefix(b"data:") {
            return Ok(self.data(data.trim_ascii_start()));
        }
        if line.is_empty() && !self.event.is_empty() {
            let event = std::mem::take(&mut self.event);
            return read(&event).map(Some).ok_or(Stop::Senseless);
        }
        // Comments keep a connection alive; other fields of events say nothing that the data does not say.
        if !line.starts_with(b"{") {
            return Ok(None);
        }
        match read(line) {
            Some(frame) => Ok(Some(frame)),
            None if self.has_frames => Err(Stop::Senseless),
            None => {
                self.is_whole = true;
                Ok(None)
            }
        }
    }

    /// Takes a line of data. Some services forget the empty line that ends an event, so it is not waited for.
    fn data(&mut self, data: &[u8]) -> Option<Frame> {
        if self.event.is_empty() {
            if data.is_empty() {
                return None;
            }
            if let Some(frame) = read(data) {
                return Some(frame);
            }
        }
        self.event.extend_from_slice(data);
        self.event.push(b'\n');
        None
    }
}

fn read(bytes: &[u8]) -> Option<Frame> {
    let bytes = bytes.trim_ascii();
    if bytes == END {
        return Some(Frame::End);
    }
    serde_json::from_slice(bytes).ok().map(Frame::Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds chunks and writes down the frames, or how they stop.
    fn cut(chunks: &[&[u8]]) -> String {
        let mut frames = Frames::default();
        let mut shown = Vec::new();
        let show = |frame: Frame| match frame {
            Frame::Json(value) => value.to_string(),
            Frame::End => "end".to_owned(),
        };
        for chunk in chunks {
            frames.push(chunk);
            loop {
                match frames.next() {
                    Ok(Some(frame)) => shown.push(show(frame)),
                    Ok(None) => break,
                    Err(stop) => return format!("{}\n{stop:?}", shown.join("\n")),
                }
            }
        }
        shown.extend(frames.finish().map(show));
        shown.join("\n")
    }

    #[test]
    fn events_and_lines_are_cut_alike() {
        insta::assert_snapshot!(cut(&[b": hello\n\nevent: x\r\ndata: {\"a\":1}\r\n\r\ndata:{\"a\":2}\n\ndata: [DONE]\n\n"]), @r#"
        {"a":1}
        {"a":2}
        end
        "#);
        insta::assert_snapshot!(cut(&[b"{\"a\":1}\n{\"a\"", b":2}\n\n{\"a\":3}"]), @r#"
        {"a":1}
        {"a":2}
        {"a":3}
        "#);
    }

    #[test]
    fn a_chunk_may_end_anywhere() {
        let whole = "data: {\"a\":\"é→😀\"}\n\ndata: {\"b\":2}\ndata: [DONE]\n\n".as_bytes();
        let expected = cut(&[whole]);
        assert_eq!(expected, "{\"a\":\"é→😀\"}\n{\"b\":2}\nend");
        for at in 0..whole.len() {
            assert_eq!(cut(&[&whole[..at], &whole[at..]]), expected, "cut at {at}");
        }
        let single: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(cut(&single), expected);
    }

    #[test]
    fn one_object_over_several_lines_is_read_whole() {
        assert_eq!(cut(&[b"\n{\n  \"a\": 1,\n", b"  \"b\": 2\n}\n"]), r#"{"a":1,"b":2}"#);
        assert_eq!(cut(&[b"data: {\"a\":\ndata: 1}\n\n"]), r#"{"a":1}"#);
    }

    #[test]
    fn what_is_not_json_between_frames_is_senseless() {
        assert_eq!(cut(&[b"{\"a\":1}\n{oops}\n{\"a\":2}\n"]), "{\"a\":1}\nSenseless");
        assert_eq!(cut(&[b"data: {\"a\":1}\n\ndata: oops\n\n"]), "{\"a\":1}\nSenseless");
        assert_eq!(cut(&[b"<html>\n<p>It works!</p>\n"]), "");
    }

    #[test]
    fn a_line_that_does_not_end_is_endless() {
        let long = vec![b'x'; MOST_BYTES + 1];
        assert_eq!(cut(&[b"data: ", &long]), "\nEndless");
    }
}
