//! An MQTT broker on loopback with a gateway behind it, as small as the tests need.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use toolyard_packs::Network;

/// The login that a broker with a door wants.
const LOGIN: (&str, &str) = ("me", "pass/word");

/// How broker and gateway behave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The gateway tells of every value that is set.
    Tells,
    /// The gateway sets nothing, or says nothing.
    Mute,
    /// The broker wants a login.
    Locked,
    /// The broker is gone when something is published, once.
    GoneOnce,
}

pub(crate) struct Broker {
    pub(crate) address: String,
    sent: Arc<Mutex<Vec<String>>>,
}

impl Broker {
    /// A broker with these retained messages.
    pub(crate) fn new(retained: Vec<(String, Value)>, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (log, retained) = (Arc::clone(&sent), Arc::new(Mutex::new(retained)));
        thread::spawn(move || {
            for (visit, stream) in listener.incoming().enumerate() {
                let manner = if manner == Manner::GoneOnce && visit > 0 { Manner::Tells } else { manner };
                // A client that leaves in the middle of a packet ends its own visit only.
                let _ = serve(&mut stream.unwrap(), manner, &retained, &log);
            }
        });
        Self { address, sent }
    }

    pub(crate) fn network(&self) -> Network {
        format!("mqtt://{}/zwave", self.address).parse().unwrap()
    }

    /// What was published, as `TOPIC PAYLOAD`.
    pub(crate) fn published(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }
}

fn serve(
    stream: &mut TcpStream,
    manner: Manner,
    retained: &Mutex<Vec<(String, Value)>>,
    log: &Mutex<Vec<String>>,
) -> io::Result<()> {
    loop {
        let (head, body) = packet(stream)?;
        match head >> 4 {
            1 => {
                let mut login = text(LOGIN.0);
                login.extend(text(LOGIN.1));
                assert_eq!(body[..7], [0, 4, b'M', b'Q', b'T', b'T', 4]);
                let known = manner != Manner::Locked || body.ends_with(&login);
                stream.write_all(&[0x20, 2, 0, if known { 0 } else { 4 }])?;
            }
            8 => {
                assert_eq!(body[2..], [text("zwave/#"), vec![0]].concat());
                stream.write_all(&[0x90, 3, body[0], body[1], 0])?;
                for (topic, value) in retained.lock().unwrap().iter() {
                    publish(stream, topic, value)?;
                }
            }
            3 => {
                let size = usize::from(u16::from_be_bytes([body[0], body[1]]));
                let topic = String::from_utf8(body[2..2 + size].to_vec()).unwrap();
                let payload = String::from_utf8(body[4 + size..].to_vec()).unwrap();
                log.lock().unwrap().push(format!("{topic} {payload}"));
                if manner == Manner::GoneOnce {
                    return Ok(());
                }
                stream.write_all(&[0x40, 2, body[2 + size], body[3 + size]])?;
                if manner != Manner::Mute {
                    tell(stream, &topic, &payload, retained)?;
                }
            }
            14 => return Ok(()),
            other => panic!("the client sent packet type {other}"),
        }
    }
}

/// Does what the gateway does with a value that is set: it sets it, and tells the value that follows.
fn tell(
    stream: &mut TcpStream,
    topic: &str,
    payload: &str,
    retained: &Mutex<Vec<(String, Value)>>,
) -> io::Result<()> {
    let value = serde_json::from_str::<Value>(payload).unwrap()["value"].clone();
    let current = topic
        .strip_suffix("/set")
        .unwrap()
        .replace("targetValue", "currentValue")
        .replace("targetMode", "currentMode")
        .replace("targetState", "currentState");
    let message = json!({ "time": 1_772_362_800_000_u64, "value": value });
    let mut retained = retained.lock().unwrap();
    match retained.iter_mut().find(|(topic, _)| *topic == current) {
        Some((_, kept)) => *kept = message.clone(),
        None => panic!("{current} is no value of the gateway"),
    }
    publish(stream, &current, &message)
}

fn publish(stream: &mut TcpStream, topic: &str, value: &Value) -> io::Result<()> {
    let body = [text(topic), value.to_string().into_bytes()].concat();
    let mut packet = vec![0x31];
    let mut left = body.len();
    while 127 < left {
        packet.push((left % 128) as u8 | 0x80);
        left /= 128;
    }
    packet.push(left as u8);
    packet.extend(body);
    // In two pieces, as a network may deliver it.
    let (first, second) = packet.split_at(packet.len() / 2);
    stream.write_all(first)?;
    stream.flush()?;
    stream.write_all(second)
}

fn packet(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    let head = byte[0];
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        stream.read_exact(&mut byte)?;
        length |= usize::from(byte[0] & 0x7f) << shift;
        shift += 7;
        if byte[0] & 0x80 == 0 {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((head, body))
}

fn text(text: &str) -> Vec<u8> {
    [&u16::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat()
}
