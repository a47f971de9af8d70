//! The MQTT gateway of Z-Wave JS UI.
//!
//! The gateway keeps every value as a retained message under `PREFIX/ROOM/NAME/CLASS/ENDPOINT/PROPERTY`, so that a
//! visitor who subscribes is told the whole network; publishing to the same topic with `/set` sets a value.

mod packet; // the protocol itself

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use self::packet::{Client, Packet};
use super::{
    action::{self, Change},
    device::Device,
    network::{Address, Applied, CHANGE, Error, SETTLE, SURVEY},
    values::{self, Node, NodeValue, ValueId},
};
use crate::reply::shown;

const SERVICE: &str = "MQTT broker";
/// Retained messages come in one go: a pause of this length is their end.
const PAUSE: Duration = Duration::from_millis(400);

/// What Z-Wave JS UI calls the command classes when its topics are named.
const CLASSES: [(&str, u16); 13] = [
    ("switch_binary", values::BINARY_SWITCH),
    ("switch_multilevel", values::MULTILEVEL_SWITCH),
    ("sensor_binary", values::BINARY_SENSOR),
    ("sensor_multilevel", values::MULTILEVEL_SENSOR),
    ("meter", values::METER),
    ("color", values::COLOR_SWITCH),
    ("thermostat_mode", values::THERMOSTAT_MODE),
    ("thermostat_setpoint", values::THERMOSTAT_SETPOINT),
    ("door_lock", values::DOOR_LOCK),
    ("barrier_operator", values::BARRIER_OPERATOR),
    ("unknownClass_106", values::WINDOW_COVERING),
    ("notification", values::NOTIFICATION),
    ("battery", values::BATTERY),
];

/// A visit to a broker, with what its gateway has told.
#[derive(Debug)]
pub(super) struct Session<'a> {
    broker: &'a Address,
    prefix: &'a str,
    client: Client,
    nodes: Vec<Spot>,
    /// Whether a gateway has said that it is there, or that it is not.
    gateway: Option<bool>,
}

/// A node and the topic under which it is told.
#[derive(Debug)]
struct Spot {
    topic: String,
    /// Whether classes and endpoints are written as names.
    named: bool,
    node: Node,
}

/// Where a value lies, by its topic.
struct Place<'t> {
    topic: &'t str,
    named: bool,
    id: ValueId,
}

impl<'a> Session<'a> {
    /// Connects, subscribes and listens until the retained messages are told.
    pub(super) fn open(broker: &'a Address, prefix: &'a str) -> Result<Self, Error> {
        static VISITS: AtomicU32 = AtomicU32::new(0);
        let name = format!("toolyard-{}-{}", std::process::id(), VISITS.fetch_add(1, Ordering::Relaxed));
        let stream = broker.connect(SERVICE)?;
        let deadline = Instant::now() + SURVEY;
        let lost = |error: packet::Error| unheard(broker, &error);
        let client = Client::greet(stream, &name, broker.login.as_ref()).map_err(lost)?;
        let mut session = Session { broker, prefix, client, nodes: Vec::new(), gateway: None };
        let greeting = session.client.read(deadline).map_err(lost)?;
        let Packet::Connected { code } = greeting else {
            return Err(foreign(broker, format!("it answered {greeting:?} to a greeting")));
        };
        let refused = match code {
            0 => None,
            4 => Some("bad user name or password"),
            5 => Some("not authorized"),
            _ => return Err(foreign(broker, format!("it answered with code {code} to a greeting"))),
        };
        if let Some(why) = refused {
            return Err(Error::Login { service: SERVICE, at: broker.shown(), why: why.to_owned() });
        }
        let asked = session.client.subscribe(&format!("{prefix}/#")).map_err(lost)?;
        let mut answered = false;
        while Instant::now() < deadline {
            let until = if answered { deadline.min(Instant::now() + PAUSE) } else { deadline };
            match session.client.read(until) {
                Ok(Packet::Subscribed { id, refused: true }) if id == asked => {
                    let why = format!("no right to read `{prefix}/#`");
                    return Err(Error::Login { service: SERVICE, at: broker.shown(), why });
                }
                Ok(Packet::Subscribed { id, refused: false }) if id == asked => answered = true,
                Ok(packet) => session.hear(packet),
                Err(packet::Error::TimeOut) if answered => break,
                Err(error) => return Err(lost(error)),
            }
        }
        session.checked()
    }

    pub(super) fn devices(&self) -> Vec<Device> {
        // The controller itself has a status, and no values that mean anything here.
        let told = self.nodes.iter().filter(|spot| !spot.node.values.is_empty());
        told.flat_map(|spot| values::devices(&spot.node)).collect()
    }

    /// Publishes the values that make a change, and waits for the device to tell of it.
    pub(super) fn apply(&mut self, device: &Device, change: &Change) -> Result<Applied, Error> {
        let not_settable = || Error::NotSettable { device: device.label() };
        let owner = |spot: &&Spot| values::devices(&spot.node).iter().any(|it| it.id == device.id);
        let spot = self.nodes.iter().find(owner).ok_or_else(not_settable)?;
        let topics: Vec<(String, Value)> = values::writes(&spot.node, device, change)
            .into_iter()
            .map(|(id, value)| (format!("{}/{}/{}/set", self.prefix, spot.topic, spot.path(&id)), value))
            .collect();
        if topics.is_empty() {
            return Err(not_settable());
        }
        let deadline = Instant::now() + CHANGE;
        for (topic, value) in topics {
            // A bare text of digits would be taken for a number.
            let payload = json!({ "value": value }).to_string();
            let uncertain = |error: packet::Error| Error::Uncertain {
                device: device.label(),
                why: shown(&error.to_string()),
            };
            let sent = self.client.publish(&topic, payload.as_bytes()).map_err(uncertain)?;
            loop {
                let packet = self.client.read(deadline).map_err(uncertain)?;
                if packet == (Packet::Published { id: sent }) {
                    break;
                }
                self.hear(packet);
            }
        }
        let settled = Instant::now() + SETTLE;
        loop {
            let now =
                self.devices().into_iter().find(|it| it.id == device.id).unwrap_or_else(|| device.clone());
            if action::is_done(&now, change) {
                return Ok(Applied { device: now, confirmed: true });
            }
            match self.client.read(settled) {
                Ok(packet) => self.hear(packet),
                // The broker has taken the change; whether the device tells of it is another matter.
                Err(_) => return Ok(Applied { device: now, confirmed: false }),
            }
        }
    }

    /// Makes sure that somebody is there who would carry out a change.
    fn checked(self) -> Result<Self, Error> {
        let at = self.broker.shown();
        if self.gateway == Some(false) {
            return Err(Error::GatewayAway { at });
        }
        if self.nodes.iter().all(|spot| spot.node.values.is_empty()) {
            return Err(Error::NoValues { at, prefix: self.prefix.to_owned() });
        }
        Ok(self)
    }

    fn hear(&mut self, packet: Packet) {
        let Packet::Message { topic, payload } = packet else { return };
        let Some(topic) = topic.strip_prefix(self.prefix).and_then(|it| it.strip_prefix('/')) else { return };
        // An empty message takes a retained one back.
        let Ok(payload) = serde_json::from_slice::<Value>(&payload) else { return };
        if let Some(client) = topic.strip_prefix("_CLIENTS/") {
            if client.starts_with("ZWAVE_GATEWAY-") && client.split('/').skip(1).eq(["status"]) {
                let online = told(&payload).as_bool();
                self.gateway = if self.gateway == Some(true) { Some(true) } else { online };
            }
        } else if topic.ends_with("/set") || topic.starts_with("_EVENTS") || topic.starts_with("driver/") {
            // Requests of others, and news of the driver itself.
        } else if let Some(place) = Place::parse(topic) {
            let value = told(&payload).clone();
            let spot = self.spot(place.topic);
            spot.named = place.named;
            match spot.node.values.iter_mut().find(|it| it.id == place.id) {
                Some(known) => known.value = value,
                None => spot.node.values.push(NodeValue { id: place.id, value, metadata: payload }),
            }
        } else if let Some(node) = topic.strip_suffix("/status") {
            let spot = self.spot(node);
            spot.node.reachable = payload["status"] != "Dead" && told(&payload) != &json!(false);
            if let Some(id) = payload["nodeId"].as_u64() {
                spot.node.id = id.to_string();
            }
        }
    }

    fn spot(&mut self, topic: &str) -> &mut Spot {
        let at = self.nodes.iter().position(|spot| spot.topic == topic).unwrap_or_else(|| {
            self.nodes.push(Spot::new(topic));
            self.nodes.len() - 1
        });
        &mut self.nodes[at]
    }
}

impl Spot {
    fn new(topic: &str) -> Self {
        let (room, name) = topic.rsplit_once('/').unwrap_or(("", topic));
        let number = name.strip_prefix("nodeID_").unwrap_or(name);
        let is_number = number.bytes().all(|it| it.is_ascii_digit());
        let node = Node {
            id: if is_number { number } else { topic }.to_owned(),
            name: if is_number { format!("Node {number}") } else { spaced(name) },
            room: spaced(room),
            reachable: true,
            is_motor: false,
            values: Vec::new(),
        };
        Self { topic: topic.to_owned(), named: false, node }
    }

    /// Returns the end of the topic of a value.
    fn path(&self, id: &ValueId) -> String {
        let key = id.key.as_ref().map(|key| format!("/{key}")).unwrap_or_default();
        let name = CLASSES.iter().find(|(_, class)| *class == id.class).filter(|_| self.named);
        match name {
            Some((name, _)) => format!("{name}/endpoint_{}/{}{key}", id.endpoint, id.property),
            None => format!("{}/{}/{}{key}", id.class, id.endpoint, id.property),
        }
    }
}

impl<'t> Place<'t> {
    /// Takes a topic apart from its end, because rooms and names can look like anything.
    fn parse(topic: &'t str) -> Option<Self> {
        let parts: Vec<&str> = topic.split('/').collect();
        (1..parts.len().saturating_sub(2)).rev().find_map(|at| {
            let by_name = CLASSES.iter().find(|(name, _)| *name == parts[at]).map(|(_, class)| *class);
            let by_number =
                parts[at].parse().ok().filter(|number| CLASSES.iter().any(|(_, it)| it == number));
            let (class, endpoint) = match (by_name, by_number) {
                (Some(class), _) => (class, parts[at + 1].strip_prefix("endpoint_")?),
                (None, Some(class)) => (class, parts[at + 1]),
                (None, None) => return None,
            };
            let (property, keys) = (parts[at + 2], &parts[at + 3..]);
            if property.parse::<u64>().is_ok() || 1 < keys.len() {
                return None;
            }
            let id = ValueId {
                class,
                endpoint: endpoint.parse().ok()?,
                property: spaced(property),
                key: keys.first().map(|key| spaced(key)),
            };
            let length: usize = parts[..at].iter().map(|part| part.len() + 1).sum();
            Some(Self { topic: &topic[..length - 1], named: by_name.is_some(), id })
        })
    }
}

/// Returns what a payload tells; the gateway can be set to send bare values.
fn told(payload: &Value) -> &Value {
    payload.get("value").unwrap_or(payload)
}

/// The gateway writes spaces as underscores.
fn spaced(text: &str) -> String {
    text.replace('_', " ")
}

fn unheard(broker: &Address, error: &packet::Error) -> Error {
    match error {
        packet::Error::TimeOut => {
            let doing = "telling the values";
            Error::Silent { service: SERVICE, at: broker.shown(), doing, limit: SURVEY }
        }
        packet::Error::Closed | packet::Error::Strange(_) | packet::Error::Io(_) => {
            foreign(broker, shown(&error.to_string()))
        }
    }
}

fn foreign(broker: &Address, why: String) -> Error {
    Error::Foreign { service: SERVICE, at: broker.shown(), why }
}
