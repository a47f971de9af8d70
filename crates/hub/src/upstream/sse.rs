//! Server-sent events, and the HTTP+SSE transport of 2024-11-05 that is built on them.

use std::sync::Arc;

use futures_util::StreamExt;
use reqwest::header::{ACCEPT, HeaderValue};
use tokio::task::JoinHandle;
use url::Url;

use super::http::Endpoint;
use super::link::{Link, Wire};
use super::{Audience, Failure, Sent};
use crate::frame::{Bounds, Frame, excess};

/// Cuts a byte stream into events. Lines may end in LF, CRLF or CR.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    after_cr: bool,
    event: Event,
    has_data: bool,
    /// Whether bytes of the event were dropped because they were too many, and whether some of this line were.
    overflow: bool,
    is_cut: bool,
}

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its type; empty means `message`.
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
}

impl Events {
    /// Takes bytes and returns the events that they complete, as frames within bounds.
    pub(crate) fn feed(&mut self, bytes: &[u8], bounds: Bounds) -> Vec<(String, Frame)> {
        let mut events = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' if self.after_cr => self.after_cr = false,
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    let (line, is_cut) = (std::mem::take(&mut self.line), std::mem::take(&mut self.is_cut));
                    if !line.is_empty() {
                        self.field(&line);
                    } else if !is_cut {
                        events.extend(self.dispatch(bounds));
                    }
                }
                _ => {
                    self.after_cr = false;
                    if self.line.len() + self.event.data.len() <= bounds.bytes + 64 {
                        self.line.push(byte);
                    } else {
                        (self.overflow, self.is_cut) = (true, true);
                    }
                }
            }
        }
        events
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => {
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.has_data = true;
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }

    fn dispatch(&mut self, bounds: Bounds) -> Option<(String, Frame)> {
        let event = std::mem::take(&mut self.event);
        let (has_data, overflow) = (std::mem::take(&mut self.has_data), std::mem::take(&mut self.overflow));
        if !has_data || event.data.is_empty() {
            return None;
        }
        let frame = match excess(&event.data, bounds) {
            Some((id, excess)) => Frame::Rejected { id, excess },
            None if overflow => {
                Frame::Rejected { id: None, excess: crate::frame::Excess::Bytes { limit: bounds.bytes } }
            }
            None => Frame::Line(event.data),
        };
        Some((event.name, frame))
    }
}

/// Sends messages to the address that the event stream named.
#[derive(Debug)]
pub(crate) struct SseWire {
    pub(crate) endpoint: Endpoint,
    target: Url,
}

impl SseWire {
    pub(crate) async fn post(&self, link: &Link, line: String) -> Result<(), Failure> {
        let response = self.endpoint.send(link.server.as_ref(), |client| {
            client.post(self.target.clone()).header("content-type", "application/json").body(line.clone())
        });
        let response = response.await?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(Failure::Http {
            server: Arc::clone(&link.server),
            status: response.status().as_u16(),
            said: String::new(),
        })
    }
}

/// Opens the event stream and waits for the address that messages go to.
pub(crate) async fn connect(
    server: &Arc<str>,
    bounds: Bounds,
    endpoint: Endpoint,
    audience: Audience,
) -> Result<(Arc<Link>, JoinHandle<()>), Failure> {
    let response = endpoint
        .send(server, |client| {
            client.get(endpoint.url.clone()).header(ACCEPT, HeaderValue::from_static("text/event-stream"))
        })
        .await?;
    if !response.status().is_success() {
        let status = response.status().as_u16();
        return Err(Failure::Http { server: Arc::clone(server), status, said: "no event stream".to_owned() });
    }
    let mut stream = response.bytes_stream();
    let mut events = Events::default();
    let closed =
        |reason: &str| Failure::Closed { server: Arc::clone(server), reason: reason.into(), sent: Sent::No };
    let (target, early) = loop {
        let chunk = stream.next().await.ok_or_else(|| closed("it ended its event stream"))?;
        let chunk = chunk.map_err(|err| closed(&err.to_string()))?;
        let mut ready = events.feed(&chunk, bounds).into_iter();
        if let Some((name, Frame::Line(data))) = ready.next()
            && name == "endpoint"
        {
            let target = endpoint_url(server, &endpoint.url, &data);
            break (target.map_err(|failure| failure.without(&endpoint.secrets))?, ready.collect::<Vec<_>>());
        }
    };
    let wire = Wire::Sse(SseWire { endpoint, target });
    let link = Arc::new(Link::new(Arc::clone(server), bounds, wire, audience));
    let reader = Arc::clone(&link);
    let reading = tokio::spawn(async move {
        for (_, frame) in early {
            reader.receive_frame(frame, None);
        }
        let pump = async {
            while let Some(Ok(chunk)) = stream.next().await {
                for (_, frame) in events.feed(&chunk, bounds) {
                    reader.receive_frame(frame, None);
                }
                tokio::task::coop::consume_budget().await;
            }
        };
        tokio::select! {
            () = pump => reader.close("it ended its event stream"),
            () = reader.stop.notified() => reader.close("it was stopped"),
        }
    });
    Ok((link, reading))
}

/// The address must stay on the server's own origin: what it gets may hold credentials.
pub(crate) fn endpoint_url(server: &Arc<str>, base: &Url, data: &[u8]) -> Result<Url, Failure> {
    let senseless = |what: String| Failure::Senseless { server: Arc::clone(server), what };
    let text = std::str::from_utf8(data).map_err(|_| senseless("its endpoint is not text".to_owned()))?;
    let target = base
        .join(text.trim())
        .map_err(|err| senseless(format!("its endpoint `{text}` is no address: {err}")))?;
    if target.origin() != base.origin() {
        return Err(senseless(format!("its endpoint `{target}` is on another origin")));
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: Bounds = Bounds { bytes: 100, nesting: 5 };

    #[test]
    fn reads_events_however_they_are_cut_and_ended() {
        let text = ": hello\r\nevent: endpoint\r\ndata: /x\r\n\r\nid: 1\ndata:{\"a\":\ndata: 1}\n\ndata\n\n\rdata: z\r\r";
        for step in 1..text.len() {
            let mut events = Events::default();
            let seen: Vec<_> =
                text.as_bytes().chunks(step).flat_map(|chunk| events.feed(chunk, BOUNDS)).collect();
            assert_eq!(
                seen,
                [
                    ("endpoint".to_owned(), Frame::Line(b"/x".to_vec())),
                    (String::new(), Frame::Line(b"{\"a\":\n1}".to_vec())),
                    (String::new(), Frame::Line(b"z".to_vec())),
                ]
            );
        }
    }

    #[test]
    fn an_event_that_is_too_large_is_rejected_and_the_next_one_is_read() {
        let text = format!("data: {{\"id\":3,\"x\":\"{}\"}}\n\ndata: ok\n\n", "y".repeat(500));
        let seen = Events::default().feed(text.as_bytes(), BOUNDS);
        assert!(matches!(seen[0].1, Frame::Rejected { .. }), "{seen:?}");
        assert_eq!(seen[1].1, Frame::Line(b"ok".to_vec()));
    }

    #[test]
    fn t27_what_is_left_of_an_event_that_is_too_large_is_no_event_of_its_own() {
        let large = format!("data: {}\n", "y".repeat(90)).repeat(2);
        let text = format!("{large}data: {{\"forged\":1}}\n\ndata: ok\n\n");
        let seen = Events::default().feed(text.as_bytes(), BOUNDS);
        assert!(matches!(seen[0].1, Frame::Rejected { .. }), "{seen:?}");
        assert_eq!(seen[1..], [(String::new(), Frame::Line(b"ok".to_vec()))]);
    }

    proptest! {
        #[test]
        fn no_stream_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Events::default().feed(&bytes, BOUNDS);
        }
    }
}
