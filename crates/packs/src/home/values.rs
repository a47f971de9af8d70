//! What Z-Wave's command classes mean: values of a node become devices, and changes become values to set.
//!
//! Both real networks tell of nodes in these terms; <https://zwave-js.github.io/zwave-js/#/api/CCs> names the values.

use serde_json::{Value, json};

use super::{
    action::Change,
    color::Color,
    device::{Device, DeviceKind, Door, Heating, Reading, State},
};
use crate::fold::{fold, words};

pub(super) const BINARY_SWITCH: u16 = 37;
pub(super) const MULTILEVEL_SWITCH: u16 = 38;
pub(super) const BINARY_SENSOR: u16 = 48;
pub(super) const MULTILEVEL_SENSOR: u16 = 49;
pub(super) const METER: u16 = 50;
pub(super) const COLOR_SWITCH: u16 = 51;
pub(super) const THERMOSTAT_MODE: u16 = 64;
pub(super) const THERMOSTAT_SETPOINT: u16 = 67;
pub(super) const DOOR_LOCK: u16 = 98;
pub(super) const BARRIER_OPERATOR: u16 = 102;
pub(super) const WINDOW_COVERING: u16 = 106;
pub(super) const NOTIFICATION: u16 = 113;
pub(super) const BATTERY: u16 = 128;

/// A multilevel switch that is set to this goes back to its last level.
const LAST_LEVEL: u8 = 255;
/// The highest level that is a level.
const HIGHEST: u8 = 99;
/// What locks and barriers call locked and open.
const FULLY: u8 = 255;
const HEATING: &str = "1";
const COOLING: &str = "2";

/// A node of a real network.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) room: String,
    pub(super) reachable: bool,
    /// Whether the node says by its device class that it moves something.
    pub(super) is_motor: bool,
    pub(super) values: Vec<NodeValue>,
}

/// A value of a node, as it was last told.
#[derive(Clone, Debug)]
pub(super) struct NodeValue {
    pub(super) id: ValueId,
    pub(super) value: Value,
    /// What the network says about the value: `unit`, `states`, `min`, `max`; nothing where it says nothing.
    pub(super) metadata: Value,
}

/// Names a value of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueId {
    pub(super) class: u16,
    pub(super) endpoint: u16,
    pub(super) property: String,
    pub(super) key: Option<String>,
}

/// The values of one endpoint, or of the whole node.
struct Part<'n> {
    node: &'n Node,
    /// `None` for a node that is one device.
    endpoint: Option<u16>,
    /// Sensors and battery belong to the first device of a node.
    is_first: bool,
}

/// Returns the devices of a node: one, or one for each endpoint that can be switched.
pub(super) fn devices(node: &Node) -> Vec<Device> {
    parts(node).iter().map(Part::device).collect()
}

/// Returns the values that make a change, in the order in which they are set; none when there is no such value.
pub(super) fn writes(node: &Node, device: &Device, change: &Change) -> Vec<(ValueId, Value)> {
    let parts = parts(node);
    parts.iter().find(|part| part.id() == device.id).map(|part| part.writes(change)).unwrap_or_default()
}

fn parts(node: &Node) -> Vec<Part<'_>> {
    const ACTUATORS: [u16; 5] =
        [BINARY_SWITCH, MULTILEVEL_SWITCH, DOOR_LOCK, BARRIER_OPERATOR, WINDOW_COVERING];
    let mut endpoints: Vec<u16> = node
        .values
        .iter()
        .filter(|value| ACTUATORS.contains(&value.id.class))
        .map(|value| value.id.endpoint)
        .collect();
    endpoints.sort_unstable();
    endpoints.dedup();
    // The root repeats what the first endpoint tells.
    if 1 < endpoints.len() && endpoints.first() == Some(&0) {
        endpoints.remove(0);
    }
    if endpoints.len() < 2 {
        return vec![Part { node, endpoint: None, is_first: true }];
    }
    let first = endpoints[0];
    endpoints
        .into_iter()
        .map(|endpoint| Part { node, endpoint: Some(endpoint), is_first: endpoint == first })
        .collect()
}

impl Part<'_> {
    fn id(&self) -> String {
        match self.endpoint {
            Some(endpoint) => format!("{}-{endpoint}", self.node.id),
            None => self.node.id.clone(),
        }
    }

    fn device(&self) -> Device {
        let name = match self.endpoint {
            Some(endpoint) => format!("{} {endpoint}", self.node.name),
            None => self.node.name.clone(),
        };
        let readings = if self.is_first { self.readings() } else { Vec::new() };
        let kind = self.kind();
        Device {
            id: self.id(),
            name,
            room: self.node.room.clone(),
            kind,
            reachable: self.node.reachable,
            state: self.state(kind, readings),
        }
    }

    fn values(&self) -> impl Iterator<Item = &NodeValue> {
        let mine =
            move |value: &&NodeValue| self.endpoint.is_none_or(|endpoint| value.id.endpoint == endpoint);
        self.node.values.iter().filter(mine)
    }

    fn has(&self, class: u16) -> bool {
        self.values().any(|value| value.id.class == class)
    }

    /// Returns a value that was told; the lowest endpoint is the device itself.
    fn find(&self, class: u16, property: &str, key: Option<&str>) -> Option<&NodeValue> {
        self.values()
            .filter(|it| it.id.class == class && it.id.property == property)
            .filter(|it| key.is_none() || it.id.key.as_deref() == key)
            .min_by_key(|it| it.id.endpoint)
    }

    fn number(&self, class: u16, property: &str) -> Option<f64> {
        self.find(class, property, None)?.value.as_f64()
    }

    fn kind(&self) -> DeviceKind {
        let name = fold(&self.node.name);
        let named = |known: &[&str]| words(&name).any(|word| known.contains(&word));
        // A sensor that has not told anything yet is a sensor of its kind all the same.
        let reads =
            |name: &str| self.is_first && self.values().any(|it| quantity(it).as_deref() == Some(name));
        let motor = self.node.is_motor
            || named(&["blind", "blinds", "shade", "shades", "shutter", "shutters", "curtain"]);
        let ways = [
            (self.has(BARRIER_OPERATOR), DeviceKind::GarageDoor),
            (self.has(DOOR_LOCK), DeviceKind::Lock),
            (self.has(THERMOSTAT_MODE) || self.has(THERMOSTAT_SETPOINT), DeviceKind::Thermostat),
            (self.has(WINDOW_COVERING) || (self.has(MULTILEVEL_SWITCH) && motor), DeviceKind::Blinds),
            (self.has(MULTILEVEL_SWITCH) && self.has(COLOR_SWITCH), DeviceKind::ColorBulb),
            (self.has(MULTILEVEL_SWITCH), DeviceKind::Dimmer),
            (
                self.has(BINARY_SWITCH) && named(&["lamp", "lamps", "light", "lights", "bulb"]),
                DeviceKind::Lamp,
            ),
            (self.has(BINARY_SWITCH) && self.has(METER), DeviceKind::Plug),
            (self.has(BINARY_SWITCH), DeviceKind::Switch),
            (reads("smoke"), DeviceKind::SmokeDetector),
            (reads("motion"), DeviceKind::MotionSensor),
            (reads("contact"), DeviceKind::DoorContact),
            (reads("temperature"), DeviceKind::TemperatureSensor),
            (self.values().any(|it| quantity(it).is_some()) || self.has(NOTIFICATION), DeviceKind::Sensor),
        ];
        ways.iter().find(|(is, _)| *is).map_or(DeviceKind::Other, |(_, kind)| *kind)
    }

    fn state(&self, kind: DeviceKind, readings: Vec<Reading>) -> State {
        let level = self
            .number(MULTILEVEL_SWITCH, "currentValue")
            .or_else(|| self.number(WINDOW_COVERING, "currentValue"))
            .map(percent);
        let switched = self.find(BINARY_SWITCH, "currentValue", None).and_then(|it| it.value.as_bool());
        let is_light = kind != DeviceKind::Blinds;
        let color =
            self.find(COLOR_SWITCH, "hexColor", None).and_then(|it| Color::read(it.value.as_str()?).ok());
        State {
            on: level.filter(|_| is_light).map(|level| 0 < level).or(switched),
            level,
            restores: None,
            color,
            locked: self.number(DOOR_LOCK, "currentMode").map(|mode| mode == f64::from(FULLY)),
            door: self.number(BARRIER_OPERATOR, "currentState").and_then(door),
            heating: (kind == DeviceKind::Thermostat).then(|| self.heating()),
            battery: self
                .number(BATTERY, "level")
                .filter(|_| self.is_first)
                .map(|it| it.clamp(0.0, 100.0) as u8),
            readings,
        }
    }

    fn heating(&self) -> Heating {
        let told = self.find(THERMOSTAT_MODE, "mode", None);
        let names = told.map(mode_names).unwrap_or_default();
        let number = told.and_then(|it| it.value.as_u64());
        let mode = number.and_then(|number| names.iter().find(|(it, _)| *it == number));
        let mode = mode
            .map_or_else(|| if told.is_some() { "unknown" } else { "heat" }.to_owned(), |(_, it)| it.clone());
        let setpoint = self.setpoint(&mode);
        let limit = |name: &str| setpoint.and_then(|it| it.metadata[name].as_f64());
        Heating {
            modes: names.into_iter().map(|(_, name)| name).collect(),
            target: setpoint.and_then(|it| it.value.as_f64()),
            unit: setpoint.and_then(|it| it.metadata["unit"].as_str()).unwrap_or("°").to_owned(),
            range: limit("min").zip(limit("max")),
            mode,
        }
    }

    /// Returns the setpoint that a mode works towards.
    fn setpoint(&self, mode: &str) -> Option<&NodeValue> {
        let key = if mode.contains("cool") { COOLING } else { HEATING };
        self.find(THERMOSTAT_SETPOINT, "setpoint", Some(key))
            .or_else(|| self.find(THERMOSTAT_SETPOINT, "setpoint", None))
    }

    fn readings(&self) -> Vec<Reading> {
        let mut readings: Vec<Reading> = Vec::new();
        for reading in self.values().filter_map(reading) {
            if !readings.iter().any(|it| it.quantity == reading.quantity) {
                readings.push(reading);
            }
        }
        readings
    }

    fn writes(&self, change: &Change) -> Vec<(ValueId, Value)> {
        let target = |class: u16, property: &str, value: Value| -> Option<(ValueId, Value)> {
            // Some networks tell only of the current value; the one to set lies beside it.
            let beside = self.values().find(|it| it.id.class == class)?;
            let known = self.find(class, property, None).map(|it| it.id.clone());
            // Only coverings have one target for each of their parts.
            let key = beside.id.key.clone().filter(|_| class == WINDOW_COVERING);
            let id =
                known.unwrap_or_else(|| ValueId { property: property.to_owned(), key, ..beside.id.clone() });
            Some((id, value))
        };
        let level = |level: u8| {
            let moved = || target(WINDOW_COVERING, "targetValue", json!(level));
            target(MULTILEVEL_SWITCH, "targetValue", json!(level)).or_else(moved)
        };
        let write = match change {
            Change::Switch(on) => {
                let dimmed =
                    || target(MULTILEVEL_SWITCH, "targetValue", json!(if *on { LAST_LEVEL } else { 0 }));
                target(BINARY_SWITCH, "targetValue", json!(on)).or_else(dimmed)
            }
            Change::Level(percent) => level((*percent).min(HIGHEST)),
            Change::Color(color) => target(COLOR_SWITCH, "hexColor", json!(color.digits())),
            Change::Lock(locked) => target(DOOR_LOCK, "targetMode", json!(if *locked { FULLY } else { 0 })),
            Change::Open(open) => {
                target(BARRIER_OPERATOR, "targetState", json!(if *open { FULLY } else { 0 }))
                    .or_else(|| level(if *open { HIGHEST } else { 0 }))
            }
            Change::Temperature(degrees) => {
                let setpoint = self.setpoint(&self.heating().mode);
                setpoint.map(|it| (it.id.clone(), json!(degrees)))
            }
            Change::Mode(mode) => self.find(THERMOSTAT_MODE, "mode", None).and_then(|it| {
                let number = mode_names(it).into_iter().find(|(_, name)| name == mode)?.0;
                Some((it.id.clone(), json!(number)))
            }),
        };
        write.into_iter().collect()
    }
}

/// Turns a level into percent: the highest is all, and every other counts as it is.
fn percent(level: f64) -> u8 {
    let level = level.clamp(0.0, f64::from(HIGHEST)) as u8;
    if level == HIGHEST { 100 } else { level }
}

fn door(state: f64) -> Option<Door> {
    match state as u16 {
        0 => Some(Door::Closed),
        252 => Some(Door::Closing),
        253 => Some(Door::Stopped),
        254 => Some(Door::Opening),
        255 => Some(Door::Open),
        _ => None,
    }
}

/// Returns the modes of a thermostat: its own, or those that nearly all have.
fn mode_names(value: &NodeValue) -> Vec<(u64, String)> {
    let own = value.metadata["states"].as_object().into_iter().flatten();
    let own: Vec<(u64, String)> =
        own.filter_map(|(number, name)| Some((number.parse().ok()?, fold(name.as_str()?)))).collect();
    if own.is_empty() {
        return (0..).zip(["off", "heat", "cool", "auto"].map(str::to_owned)).collect();
    }
    own
}

/// Names what a value measures or notices, if it does.
fn quantity(value: &NodeValue) -> Option<String> {
    let property = fold(&value.id.property);
    let key = value.id.key.as_deref().map(fold).unwrap_or_default();
    let name = match value.id.class {
        MULTILEVEL_SENSOR => match property.as_str() {
            "air temperature" => "temperature",
            "illuminance" => "light",
            other => other,
        },
        METER if property == "value" => match unit(value) {
            "kWh" => "energy",
            "W" => "power",
            "V" => "voltage",
            "A" => "current",
            _ => return None,
        },
        BINARY_SENSOR => match property.as_str() {
            "door/window" | "door-window" => "contact",
            "any" => "sensor",
            other => other,
        },
        NOTIFICATION => match (property.as_str(), key.as_str()) {
            ("smoke alarm", "sensor status") => "smoke",
            ("home security", "motion sensor status") => "motion",
            ("water alarm", "sensor status") => "leak",
            ("co alarm", "sensor status") => "carbon monoxide",
            ("access control", "door state" | "door state (simple)") => "contact",
            _ => return None,
        },
        _ => return None,
    };
    Some(name.to_owned())
}

/// Reads what a value measures or notices, if it does and has told.
fn reading(value: &NodeValue) -> Option<Reading> {
    let quantity = quantity(value)?;
    let told = &value.value;
    let text = match (value.id.class, quantity.as_str()) {
        (MULTILEVEL_SENSOR | METER, _) => told.as_f64()?.to_string(),
        (BINARY_SENSOR, "contact") => if told.as_bool()? { "open" } else { "closed" }.to_owned(),
        (BINARY_SENSOR, _) => noticed(told.as_bool()?),
        (_, "contact") => match told.as_u64()? {
            22 => "open".to_owned(),
            23 => "closed".to_owned(),
            _ => return None,
        },
        _ => noticed(told.as_u64()? != 0),
    };
    Some(Reading::new(&quantity, text, unit(value)))
}

fn unit(value: &NodeValue) -> &str {
    // The key of a meter holds its scale: kilowatt hours and watts are the two that nearly every meter has.
    let by_key = match (value.id.class, value.id.key.as_deref()) {
        (METER, Some("65537")) => "kWh",
        (METER, Some("66049")) => "W",
        _ => "",
    };
    value.metadata["unit"].as_str().unwrap_or(by_key)
}

fn noticed(is: bool) -> String {
    if is { "detected" } else { "none" }.to_owned()
}
