//! A Z-Wave JS server on loopback that speaks frames recorded from a real one.
//!
//! They were recorded from `@zwave-js/server` 3.10.2 with the driver 15.29.0 and mocked nodes.

use std::{
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use toolyard_packs::Network;
use tungstenite::{Message, WebSocket};

const RECORDED: &str = include_str!("home/zwave_js.json");

/// How the server behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Recorded,
    /// Speaks an old version of the protocol.
    Old,
    /// Is gone when a value is to be set, once.
    GoneOnce,
}

/// The server, and what it was sent.
pub(crate) struct Replay {
    pub(crate) network: Network,
    sent: Arc<Mutex<Vec<Value>>>,
}

impl Replay {
    pub(crate) fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&sent);
        thread::spawn(move || {
            for (visit, stream) in listener.incoming().enumerate() {
                let manner = if manner == Manner::GoneOnce && visit > 0 { Manner::Recorded } else { manner };
                // A client that leaves in the middle of a sentence ends its own visit only.
                let _ = serve(stream.unwrap(), manner, &log);
            }
        });
        Self { network: Network::ZwaveJs { url }, sent }
    }

    /// The commands that set something, without the ids of messages.
    pub(crate) fn writes(&self) -> Vec<Value> {
        let sent = self.sent.lock().unwrap();
        sent.iter().filter(|it| it["command"] == "node.set_value").cloned().collect()
    }

    /// The versions of the protocol that were asked for.
    pub(crate) fn schemas(&self) -> Vec<Value> {
        self.sent
            .lock()
            .unwrap()
            .iter()
            .map(|it| it["schemaVersion"].clone())
            .filter(|it| !it.is_null())
            .collect()
    }
}

fn serve(stream: TcpStream, manner: Manner, log: &Mutex<Vec<Value>>) -> Result<(), tungstenite::Error> {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let mut socket = tungstenite::accept(stream).unwrap();
    let mut version = recorded["version"].clone();
    if manner == Manner::Old {
        version["maxSchemaVersion"] = json!(20);
    }
    send(&mut socket, &version)?;
    loop {
        let Message::Text(text) = socket.read()? else { continue };
        let mut command: Value = serde_json::from_str(text.as_str()).unwrap();
        let id = command.as_object_mut().unwrap().remove("messageId").unwrap();
        log.lock().unwrap().push(command.clone());
        let frames = match command["command"].as_str().unwrap() {
            "set_api_schema" => {
                vec![json!({ "type": "result", "success": true, "messageId": "?", "result": {} })]
            }
            "start_listening" => vec![recorded["told"].clone()],
            "node.set_value" if manner == Manner::GoneOnce => return Ok(()),
            "node.set_value" => answers(&recorded, &command, manner),
            other => panic!("the client sent {other}"),
        };
        for mut frame in frames {
            if frame["messageId"] == "?" {
                frame["messageId"] = id.clone();
            }
            send(&mut socket, &frame)?;
        }
    }
}

fn answers(recorded: &Value, command: &Value, manner: Manner) -> Vec<Value> {
    let same = |it: &&Value| ["nodeId", "valueId", "value"].iter().all(|part| it[*part] == command[*part]);
    let exchange = recorded["exchanges"].as_array().unwrap().iter().find(same);
    let mut frames = exchange.unwrap_or_else(|| panic!("{command} was not recorded"))["frames"]
        .as_array()
        .unwrap()
        .clone();
    if manner == Manner::Old {
        for frame in frames.iter_mut().filter(|it| it["type"] == "result" && it["success"] == true) {
            frame["result"] = json!({ "success": true });
        }
    }
    frames
}

fn send(socket: &mut WebSocket<TcpStream>, frame: &Value) -> Result<(), tungstenite::Error> {
    socket.send(Message::text(frame.to_string()))
}
