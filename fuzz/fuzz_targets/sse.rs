//! Streams of server-sent events, in pieces of any size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolyard_hub::frame::{Bounds, Frame, excess};
use toolyard_hub::fuzzing::{endpoint, events};

/// Few, so that what is too much is found soon.
const BOUNDS: Bounds = Bounds { bytes: 100, nesting: 5 };

fuzz_target!(|data: &[u8]| {
    let read = events([data], BOUNDS);
    assert_eq!(
        events(data.chunks(1 + data.len() % 7), BOUNDS),
        read,
        "events are the same however they come"
    );
    let expected = plainly(data);
    assert_eq!(read.len(), expected.len(), "{read:?}\n{expected:?}");
    for ((name, frame), event) in read.iter().zip(&expected) {
        match frame {
            Frame::Line(line) => {
                assert_eq!(line, &event.data);
                assert_eq!(name, &event.name);
                assert_eq!(excess(line, BOUNDS), None);
            }
            Frame::Rejected { .. } => {
                assert!(event.is_long || excess(&event.data, BOUNDS).is_some(), "{event:?}")
            }
        }
    }
    let base = "https://tools.example:8443/a/sse?k=v".parse().expect("it is an address");
    if let Some(target) = endpoint(&base, data) {
        assert_eq!(target.origin(), base.origin());
    }
});

#[derive(Debug, Default)]
struct Event {
    name: String,
    data: Vec<u8>,
    /// Whether one of its lines is too much beside the data before it.
    is_long: bool,
}

/// Reads a whole stream as the standard has it, with no care for its size.
fn plainly(data: &[u8]) -> Vec<Event> {
    let mut text = Vec::new();
    for (at, &byte) in data.iter().enumerate() {
        match byte {
            b'\n' if at > 0 && data[at - 1] == b'\r' => {}
            b'\r' => text.push(b'\n'),
            _ => text.push(byte),
        }
    }
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    // The last line has no end yet.
    lines.pop();
    let (mut found, mut event) = (Vec::new(), Event::default());
    let mut lines_of_data: Vec<&[u8]> = Vec::new();
    for line in lines {
        if line.is_empty() {
            event.data = std::mem::take(&mut lines_of_data).join(&b'\n');
            let event = std::mem::take(&mut event);
            if !event.data.is_empty() {
                found.push(event);
            }
            continue;
        }
        event.is_long |=
            line.len() + lines_of_data.iter().map(|it| it.len() + 1).sum::<usize>() > BOUNDS.bytes;
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => lines_of_data.push(value),
            b"event" => event.name = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }
    found
}
