//! Lines of JSON-RPC, as clients and servers send them over standard streams, in pieces of any size.
#![no_main]

use std::pin::Pin;
use std::task::{Context, Poll};

use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncRead, ReadBuf};
use toolyard_hub::frame::{Bounds, Frame, Frames, excess, id_of};
use toolyard_hub::fuzzing::canonical;
use toolyard_hub::jsonrpc::{ErrorObject, Fields, Message, raw, response_line};

/// Few, so that what is too much is found soon.
const BOUNDS: Bounds = Bounds { bytes: 400, nesting: 20 };

fuzz_target!(|data: &[u8]| {
    let frames = read(data, data.len().max(1));
    assert_eq!(read(data, 1 + data.len() % 7), frames, "a line is the same however it comes");
    for frame in frames {
        if let Frame::Line(line) = frame {
            assert_eq!(excess(&line, BOUNDS), None);
            assert!(!line.contains(&b'\n'));
            check(&line);
        }
    }
});

fn check(line: &[u8]) {
    let message = match Message::parse(line) {
        Ok(message) => message,
        Err(err) => {
            let error = err.to_error();
            assert!(matches!(error.code, ErrorObject::PARSE | ErrorObject::INVALID_REQUEST));
            let answer = response_line(id_of(line).as_ref(), &Err(error));
            serde_json::from_str::<serde_json::Value>(&answer).expect("what is answered is JSON");
            return;
        }
    };
    let written = message.to_line();
    assert!(!written.contains(['\n', '\r']), "a message is one line");
    let again = Message::parse(written.as_bytes()).expect("what was written can be read");
    assert_eq!(again.to_line(), written);
    let (id, params) = match message {
        Message::Request { id, params, .. } => (Some(id), params),
        Message::Notification { params, .. } => (None, params),
        Message::Response { id, outcome } => (Some(id), outcome.ok()),
    };
    if let Some(found) = id_of(line) {
        assert_eq!(Some(found), id, "the id that is found without parsing is the one that counts");
    }
    let Some(params) = params else { return };
    let once = canonical(&params);
    let once = serde_json::value::RawValue::from_string(once).expect("it is JSON still");
    assert_eq!(canonical(&once), once.get());
    if let Ok(fields) = Fields::parse(Some(&params)) {
        let _ = fields.ambiguity();
        let sent = raw(&fields);
        let again = Fields::parse(Some(&sent)).expect("what is sent can be read");
        assert_eq!(raw(&again).get(), sent.get());
        // A name that was there twice is sent once.
        assert!(again.iter().map(|(name, _)| name).eq(fields.iter().map(|(name, _)| name)));
    }
}

fn read(data: &[u8], step: usize) -> Vec<Frame> {
    let mut frames = Frames::new(Chopped { rest: data, step }, BOUNDS);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it needs nothing");
    runtime.block_on(async {
        let mut read = Vec::new();
        while let Some(frame) = frames.next().await.expect("memory can be read") {
            read.push(frame);
        }
        read
    })
}

/// Hands out a few bytes at a time, as pipes do.
struct Chopped<'d> {
    rest: &'d [u8],
    step: usize,
}

impl AsyncRead for Chopped<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let (now, later) = self.rest.split_at(self.step.min(buf.remaining()).min(self.rest.len()));
        buf.put_slice(now);
        self.rest = later;
        Poll::Ready(Ok(()))
    }
}
