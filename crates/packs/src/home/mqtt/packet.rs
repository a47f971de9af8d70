//! As much of MQTT 3.1.1 as a visitor needs: connect, subscribe, publish and listen, over one blocking connection.
//!
//! Packets are taken apart only when they are there as a whole, so that a time limit never loses half of one.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Instant,
};

use super::super::network;

/// A packet may have this many bytes.
const LARGEST: usize = 16 * 1024 * 1024;
/// The broker may drop a visitor who was silent for this many seconds; no visit is that long.
const KEEP_ALIVE: u16 = 60;

/// A connection to a broker.
#[derive(Debug)]
pub(super) struct Client {
    stream: TcpStream,
    /// What has come and was not taken apart yet.
    pending: Vec<u8>,
    sent: u16,
}

/// What a broker sends to a visitor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Connected { code: u8 },
    Subscribed { id: u16, refused: bool },
    Published { id: u16 },
    Message { topic: String, payload: Vec<u8> },
    Other,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("there was no answer in time")]
    TimeOut,
    #[error("the connection was closed")]
    Closed,
    #[error("`{0}` is no packet of MQTT 3.1.1")]
    Strange(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Client {
    /// Takes a fresh connection and introduces itself; the broker answers with [`Packet::Connected`].
    pub(super) fn greet(
        stream: TcpStream,
        name: &str,
        login: Option<&(String, String)>,
    ) -> Result<Self, Error> {
        const CLEAN: u8 = 0b0000_0010;
        const WITH_LOGIN: u8 = 0b1100_0000;
        let flags = CLEAN | if login.is_some() { WITH_LOGIN } else { 0 };
        let mut body = text("MQTT");
        body.extend([4, flags]);
        body.extend(KEEP_ALIVE.to_be_bytes());
        body.extend(text(name));
        if let Some((user, password)) = login {
            body.extend(text(user));
            body.extend(text(password));
        }
        let mut client = Self { stream, pending: Vec::new(), sent: 0 };
        client.write(0x10, &body)?;
        Ok(client)
    }

    /// Subscribes at most once a message; the broker answers with [`Packet::Subscribed`].
    pub(super) fn subscribe(&mut self, filter: &str) -> Result<u16, Error> {
        let id = self.next_id();
        let mut body = id.to_be_bytes().to_vec();
        body.extend(text(filter));
        body.push(0);
        self.write(0x82, &body)?;
        Ok(id)
    }

    /// Publishes at least once; the broker answers with [`Packet::Published`].
    pub(super) fn publish(&mut self, topic: &str, payload: &[u8]) -> Result<u16, Error> {
        let id = self.next_id();
        let mut body = text(topic);
        body.extend(id.to_be_bytes());
        body.extend(payload);
        self.write(0x32, &body)?;
        Ok(id)
    }

    /// Waits for the next packet.
    pub(super) fn read(&mut self, deadline: Instant) -> Result<Packet, Error> {
        loop {
            if let Some((packet, used)) = parse(&self.pending)? {
                self.pending.drain(..used);
                return Ok(packet);
            }
            network::wait_until(&self.stream, deadline).ok_or(Error::TimeOut)?;
            let mut part = [0; 8192];
            match self.stream.read(&mut part) {
                Ok(0) => return Err(Error::Closed),
                Ok(count) => self.pending.extend(&part[..count]),
                Err(error) if network::timed_out(&error) => return Err(Error::TimeOut),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn next_id(&mut self) -> u16 {
        self.sent = self.sent.checked_add(1).unwrap_or(1);
        self.sent
    }

    fn write(&mut self, head: u8, body: &[u8]) -> Result<(), Error> {
        let mut packet = vec![head];
        let mut left = body.len();
        loop {
            let low = (left % 128) as u8;
            left /= 128;
            packet.push(if 0 < left { low | 0x80 } else { low });
            if left == 0 {
                break;
            }
        }
        packet.extend(body);
        Ok(self.stream.write_all(&packet)?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The broker notices a connection that is gone; saying so is a courtesy.
        let _ = self.stream.write_all(&[0xe0, 0]);
    }
}

/// Takes the first packet off, when all of it is there.
fn parse(bytes: &[u8]) -> Result<Option<(Packet, usize)>, Error> {
    let strange = |what: &str| Error::Strange(what.to_owned());
    let Some(head) = bytes.first() else { return Ok(None) };
    let mut length = 0_usize;
    let mut at = 1;
    loop {
        let Some(byte) = bytes.get(at) else { return Ok(None) };
        length |= usize::from(byte & 0x7f) << (7 * (at - 1));
        at += 1;
        if byte & 0x80 == 0 {
            break;
        }
        if 4 < at {
            return Err(strange("a length of five bytes"));
        }
    }
    if LARGEST < length {
        return Err(strange("a packet of many megabytes"));
    }
    let Some(body) = bytes.get(at..at + length) else { return Ok(None) };
    let id = |at: usize| body.get(at..at + 2).map(|it| u16::from_be_bytes([it[0], it[1]]));
    let packet = match head >> 4 {
        2 => Packet::Connected { code: *body.get(1).ok_or_else(|| strange("a short CONNACK"))? },
        3 => {
            let size = usize::from(id(0).ok_or_else(|| strange("a short PUBLISH"))?);
            let topic = body.get(2..2 + size).ok_or_else(|| strange("a topic that is cut off"))?;
            // A message that is sent at least once carries an id; nothing was subscribed that way.
            let skipped = if head & 0b0110 == 0 { 0 } else { 2 };
            let payload = body.get(2 + size + skipped..).ok_or_else(|| strange("a short PUBLISH"))?;
            Packet::Message { topic: String::from_utf8_lossy(topic).into_owned(), payload: payload.to_vec() }
        }
        4 => Packet::Published { id: id(0).ok_or_else(|| strange("a short PUBACK"))? },
        9 => Packet::Subscribed {
            id: id(0).ok_or_else(|| strange("a short SUBACK"))?,
            refused: body.get(2).is_none_or(|code| code & 0x80 != 0),
        },
        13 => Packet::Other,
        other => return Err(Error::Strange(format!("packet type {other}"))),
    };
    Ok(Some((packet, at + length)))
}

/// Writes a text with its length in front; a longer one than MQTT can carry is cut.
fn text(text: &str) -> Vec<u8> {
    let bytes = &text.as_bytes()[..text.floor_char_boundary(usize::from(u16::MAX))];
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::{Packet, parse};

    #[test]
    fn a_packet_is_taken_off_only_when_it_is_whole() {
        let publish = [0x30, 7, 0, 3, b'a', b'/', b'b', b'o', b'n', 0xd0, 0];
        for cut in 0..9 {
            assert!(parse(&publish[..cut]).unwrap().is_none(), "{cut}");
        }
        let message = Packet::Message { topic: "a/b".to_owned(), payload: b"on".to_vec() };
        assert_eq!(parse(&publish).unwrap(), Some((message, 9)));
        assert_eq!(parse(&publish[9..]).unwrap(), Some((Packet::Other, 2)));
    }

    #[test]
    fn lengths_of_several_bytes_are_read_and_absurd_ones_refused() {
        let mut packet = vec![0x30, 0xad, 0x02, 0, 1, b't'];
        packet.extend([b'x'; 298]);
        let Some((Packet::Message { payload, .. }, 304)) = parse(&packet).unwrap() else {
            panic!("no message")
        };
        assert_eq!(payload.len(), 298);
        for wrong in
            [&[0x30, 0xff, 0xff, 0xff, 0xff, 1][..], &[0x30, 0xff, 0xff, 0xff, 0x7f], &[0x50, 0], &[0x20, 0]]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
