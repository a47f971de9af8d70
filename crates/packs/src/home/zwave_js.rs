//! A Z-Wave JS server, by the protocol of its WebSocket.
//!
//! A session is one connection: the server tells the whole network once and then every change, so that the answers to
//! commands and the news of devices come mixed.

use std::{
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use tungstenite::{HandshakeError, Message, WebSocket};

use super::{
    action::{self, Change},
    device::Device,
    network::{self, Address, Applied, CHANGE, Error, SETTLE, SURVEY},
    values::{self, Node, NodeValue, ValueId},
};
use crate::reply::shown;

const SERVICE: &str = "Z-Wave JS server";
/// The version of the protocol that is spoken; older servers are spoken to in theirs.
const SCHEMA: u64 = 35;

/// A connection to a Z-Wave JS server, with what it has told.
#[derive(Debug)]
pub(super) struct Session<'a> {
    server: &'a Address,
    socket: WebSocket<TcpStream>,
    sent: u32,
    nodes: Vec<(u64, Node)>,
}

/// Why a frame did not come.
#[derive(Debug)]
enum Lost {
    TimeOut,
    Closed(String),
    Strange(String),
}

impl<'a> Session<'a> {
    /// Connects and lets the server tell the network.
    pub(super) fn open(server: &'a Address) -> Result<Self, Error> {
        let stream = server.connect(SERVICE)?;
        let deadline = Instant::now() + SURVEY;
        let foreign = |why: String| Error::Foreign { service: SERVICE, at: server.shown(), why };
        network::wait_until(&stream, deadline).ok_or_else(|| silent(server, "greeting"))?;
        let (socket, _) = tungstenite::client(server.url(), stream).map_err(|error| match error {
            HandshakeError::Interrupted(_) => silent(server, "greeting"),
            HandshakeError::Failure(error) => foreign(shown(&error.to_string())),
        })?;
        let mut session = Session { server, socket, sent: 0, nodes: Vec::new() };
        let greeting = session.frame(deadline).map_err(|lost| session.unheard(lost, "greeting"))?;
        let newest = greeting["maxSchemaVersion"].as_u64().filter(|_| greeting["type"] == "version");
        let newest = newest.ok_or_else(|| foreign("it does not tell its version".to_owned()))?;
        session.ask(json!({ "command": "set_api_schema", "schemaVersion": newest.min(SCHEMA) }), deadline)?;
        let told = session.ask(json!({ "command": "start_listening" }), deadline)?;
        let nodes = told["state"]["nodes"].as_array();
        let nodes = nodes.ok_or_else(|| foreign("it does not tell its nodes".to_owned()))?;
        session.nodes = nodes.iter().filter_map(node).collect();
        Ok(session)
    }

    pub(super) fn devices(&self) -> Vec<Device> {
        self.nodes.iter().flat_map(|(_, node)| values::devices(node)).collect()
    }

    /// Sets the values that make a change, and waits a moment for the device to tell of it.
    pub(super) fn apply(&mut self, device: &Device, change: &Change) -> Result<Applied, Error> {
        let not_settable = || Error::NotSettable { device: device.label() };
        let (number, node) = self.owner(device).ok_or_else(not_settable)?;
        let writes = values::writes(node, device, change);
        if writes.is_empty() {
            return Err(not_settable());
        }
        let deadline = Instant::now() + CHANGE;
        for (id, value) in writes {
            let command = json!({
                "command": "node.set_value",
                "nodeId": number,
                "valueId": value_id(&id),
                "value": value,
            });
            let uncertain = |lost: Lost| Error::Uncertain { device: device.label(), why: lost.why(CHANGE) };
            let sent = self.send(command).map_err(uncertain)?;
            let answer = self.answer(&sent, deadline).map_err(uncertain)?;
            if let Some(why) = refused(&answer) {
                return Err(Error::Failed { device: device.label(), why });
            }
        }
        let settled = Instant::now() + SETTLE;
        loop {
            let now =
                self.devices().into_iter().find(|it| it.id == device.id).unwrap_or_else(|| device.clone());
            if action::is_done(&now, change) {
                return Ok(Applied { device: now, confirmed: true });
            }
            match self.frame(settled) {
                Ok(frame) => self.hear(&frame),
                // The server has taken the change; whether the device tells of it is another matter.
                Err(_) => return Ok(Applied { device: now, confirmed: false }),
            }
        }
    }

    fn owner(&self, device: &Device) -> Option<(u64, &Node)> {
        let number: u64 = device.id.split('-').next()?.parse().ok()?;
        self.nodes.iter().find(|(it, _)| *it == number).map(|(number, node)| (*number, node))
    }

    /// Asks for something that changes nothing.
    fn ask(&mut self, command: Value, deadline: Instant) -> Result<Value, Error> {
        let doing = "telling its devices";
        let sent = self.send(command).map_err(|lost| self.unheard(lost, doing))?;
        let answer = self.answer(&sent, deadline).map_err(|lost| self.unheard(lost, doing))?;
        match refused(&answer) {
            Some(why) => Err(Error::Foreign { service: SERVICE, at: self.server.shown(), why }),
            None => Ok(answer["result"].clone()),
        }
    }

    fn send(&mut self, mut command: Value) -> Result<String, Lost> {
        self.sent += 1;
        let id = self.sent.to_string();
        command["messageId"] = json!(id);
        let sent = self.socket.send(Message::text(command.to_string()));
        sent.map(|()| id).map_err(|error| Lost::from(&error))
    }

    /// Waits for the answer to a command, listening to the news that come before it.
    fn answer(&mut self, id: &str, deadline: Instant) -> Result<Value, Lost> {
        loop {
            let frame = self.frame(deadline)?;
            if frame["type"] == "result" && frame["messageId"] == id {
                return Ok(frame);
            }
            self.hear(&frame);
        }
    }

    fn frame(&mut self, deadline: Instant) -> Result<Value, Lost> {
        loop {
            network::wait_until(self.socket.get_ref(), deadline).ok_or(Lost::TimeOut)?;
            match self.socket.read().map_err(|error| Lost::from(&error))? {
                Message::Text(text) => {
                    return serde_json::from_str(text.as_str())
                        .map_err(|error| Lost::Strange(error.to_string()));
                }
                Message::Close(_) => return Err(Lost::Closed("it was closed".to_owned())),
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Takes note of what the server tells unasked.
    fn hear(&mut self, frame: &Value) {
        let event = &frame["event"];
        let Some(number) = event["nodeId"].as_u64().filter(|_| event["source"] == "node") else { return };
        let Some((_, node)) = self.nodes.iter_mut().find(|(it, _)| *it == number) else { return };
        match event["event"].as_str() {
            Some("value updated" | "value added") => {
                let Some(id) = read_value_id(&event["args"]) else { return };
                let value = event["args"]["newValue"].clone();
                match node.values.iter_mut().find(|it| it.id == id) {
                    Some(known) => known.value = value,
                    None => node.values.push(NodeValue { id, value, metadata: Value::Null }),
                }
            }
            Some("dead") => node.reachable = false,
            Some("alive" | "wake up") => node.reachable = true,
            _ => {}
        }
    }

    fn unheard(&self, lost: Lost, doing: &'static str) -> Error {
        let at = self.server.shown();
        match lost {
            Lost::TimeOut => silent(self.server, doing),
            Lost::Closed(why) | Lost::Strange(why) => {
                Error::Foreign { service: SERVICE, at, why: shown(&why) }
            }
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // The server notices a connection that is gone; saying so is a courtesy.
        let _ = self.socket.close(None);
        let _ = self.socket.flush();
    }
}

impl Lost {
    fn from(error: &tungstenite::Error) -> Self {
        if let tungstenite::Error::Io(error) = error
            && network::timed_out(error)
        {
            return Self::TimeOut;
        }
        Self::Closed(error.to_string())
    }

    fn why(self, limit: Duration) -> String {
        match self {
            Self::TimeOut => format!("no answer within {} s", limit.as_secs()),
            Self::Closed(why) | Self::Strange(why) => shown(&why),
        }
    }
}

fn silent(server: &Address, doing: &'static str) -> Error {
    Error::Silent { service: SERVICE, at: server.shown(), doing, limit: SURVEY }
}

/// Says why the server did not do something, if it did not.
fn refused(answer: &Value) -> Option<String> {
    if answer["success"] != true {
        let texts = ["zwaveErrorMessage", "message", "errorCode"]
            .map(|name| answer[name].as_str().unwrap_or_default());
        let text = texts.into_iter().find(|text| !text.is_empty()).unwrap_or("the server gave no reason");
        return Some(shown(text));
    }
    // Old servers tell of success alone, newer ones of a status and sometimes of a reason.
    let result = &answer["result"];
    let told = &result["result"];
    let failed = match told["status"].as_u64() {
        Some(0) => "the device does not support it",
        Some(2) => "the device reported a failure",
        Some(3) => "the device has no such part",
        Some(4) => "Z-Wave JS cannot set this value",
        Some(5) => "the value is not one that the device takes",
        Some(_) => return None,
        None if result["success"] == false => "the device reported a failure",
        None => return None,
    };
    Some(match told["message"].as_str() {
        Some(message) => format!("{failed} ({})", shown(message)),
        None => failed.to_owned(),
    })
}

/// Reads a node as `start_listening` tells it; the controller itself is no device.
fn node(told: &Value) -> Option<(u64, Node)> {
    const DEAD: u64 = 3;
    const MULTILEVEL_SWITCH: u64 = 0x11;
    const MOTORS: [u64; 4] = [3, 5, 6, 7];
    let number = told["nodeId"].as_u64()?;
    if told["isControllerNode"] == true {
        return None;
    }
    let class = |part: &str| told["deviceClass"][part]["key"].as_u64();
    let product = told["deviceConfig"]["description"].as_str().or(told["label"].as_str());
    let name = told["name"].as_str().filter(|name| !name.trim().is_empty());
    let name = name.map(str::to_owned).or_else(|| product.map(str::to_owned));
    let values = told["values"].as_array().into_iter().flatten().filter_map(|value| {
        let (id, metadata) = (read_value_id(value)?, value["metadata"].clone());
        Some(NodeValue { id, value: value["value"].clone(), metadata })
    });
    Some((
        number,
        Node {
            id: number.to_string(),
            name: name.unwrap_or_else(|| format!("Node {number}")),
            room: told["location"].as_str().unwrap_or_default().trim().to_owned(),
            reachable: told["status"].as_u64() != Some(DEAD),
            is_motor: class("generic") == Some(MULTILEVEL_SWITCH)
                && class("specific").is_some_and(|it| MOTORS.contains(&it)),
            values: values.collect(),
        },
    ))
}

fn read_value_id(told: &Value) -> Option<ValueId> {
    let text =
        |value: &Value| value.as_str().map(str::to_owned).or_else(|| value.as_u64().map(|it| it.to_string()));
    Some(ValueId {
        class: u16::try_from(told["commandClass"].as_u64()?).ok()?,
        endpoint: u16::try_from(told["endpoint"].as_u64().unwrap_or(0)).ok()?,
        property: text(&told["property"])?,
        key: text(&told["propertyKey"]),
    })
}

/// Writes a value's name as the server wants it: a key of digits is a number.
fn value_id(id: &ValueId) -> Value {
    let mut told = Map::new();
    told.insert("commandClass".to_owned(), json!(id.class));
    told.insert("endpoint".to_owned(), json!(id.endpoint));
    told.insert("property".to_owned(), json!(id.property));
    if let Some(key) = &id.key {
        let key = key.parse::<u64>().map_or_else(|_| json!(key), |number| json!(number));
        told.insert("propertyKey".to_owned(), key);
    }
    Value::Object(told)
}
