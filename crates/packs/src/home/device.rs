//! One device: what it is, how it is, and what can be done with it.
//!
//! Every network describes its devices in these terms, so that the tools know nothing of Z-Wave.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::color::Color;

/// A battery at this percentage or under it wants to be changed.
pub(super) const LOW_BATTERY: u8 = 20;

/// A device of the house.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Device {
    /// The node id, with the endpoint where a node holds several devices; another address where there is no id.
    pub(super) id: String,
    pub(super) name: String,
    /// Empty when the device is in no room.
    pub(super) room: String,
    pub(super) kind: DeviceKind,
    pub(super) reachable: bool,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DeviceKind {
    Lamp,
    Dimmer,
    ColorBulb,
    Plug,
    Switch,
    Thermostat,
    Lock,
    GarageDoor,
    Blinds,
    MotionSensor,
    TemperatureSensor,
    SmokeDetector,
    DoorContact,
    Sensor,
    Other,
}

/// How a device is, as far as it has told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct State {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on: Option<bool>,
    /// Brightness, or how far it is open, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) level: Option<u8>,
    /// The brightness that comes back when it is switched on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) restores: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) color: Option<Color>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) locked: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) door: Option<Door>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) heating: Option<Heating>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) battery: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) readings: Vec<Reading>,
}

/// How a door with a motor stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Door {
    Open,
    Closed,
    Opening,
    Closing,
    Stopped,
}

/// What a thermostat is set to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Heating {
    pub(super) mode: String,
    /// The modes that it has, lower case.
    pub(super) modes: Vec<String>,
    pub(super) target: Option<f64>,
    pub(super) unit: String,
    /// The lowest and the highest temperature that it takes.
    pub(super) range: Option<(f64, f64)>,
}

/// Something that a device measures or notices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reading {
    /// `temperature`, `motion`, `power` and the like.
    pub(super) quantity: String,
    pub(super) value: String,
    pub(super) unit: String,
}

impl DeviceKind {
    pub(super) const ALL: [Self; 15] = [
        Self::Lamp,
        Self::Dimmer,
        Self::ColorBulb,
        Self::Plug,
        Self::Switch,
        Self::Thermostat,
        Self::Lock,
        Self::GarageDoor,
        Self::Blinds,
        Self::MotionSensor,
        Self::TemperatureSensor,
        Self::SmokeDetector,
        Self::DoorContact,
        Self::Sensor,
        Self::Other,
    ];

    /// Returns the name that the tools use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lamp => "lamp",
            Self::Dimmer => "dimmer",
            Self::ColorBulb => "color_bulb",
            Self::Plug => "plug",
            Self::Switch => "switch",
            Self::Thermostat => "thermostat",
            Self::Lock => "lock",
            Self::GarageDoor => "garage_door",
            Self::Blinds => "blinds",
            Self::MotionSensor => "motion_sensor",
            Self::TemperatureSensor => "temperature_sensor",
            Self::SmokeDetector => "smoke_detector",
            Self::DoorContact => "door_contact",
            Self::Sensor => "sensor",
            Self::Other => "other",
        }
    }

    /// Returns other words by which people ask for such a device.
    pub(super) fn also_called(self) -> &'static str {
        match self {
            Self::Lamp => "lamp light",
            Self::Dimmer => "dimmer light lamp",
            Self::ColorBulb => "color colour bulb light lamp",
            Self::Plug => "plug socket outlet",
            Self::Switch => "switch",
            Self::Thermostat => "thermostat heating heater",
            Self::Lock => "lock door",
            Self::GarageDoor => "garage door gate",
            Self::Blinds => "blinds blind shade shades shutter shutters curtain curtains",
            Self::MotionSensor => "motion sensor detector",
            Self::TemperatureSensor => "temperature sensor thermometer",
            Self::SmokeDetector => "smoke detector sensor alarm",
            Self::DoorContact => "contact sensor window door",
            Self::Sensor => "sensor",
            Self::Other => "",
        }
    }

    pub(super) fn is_light(self) -> bool {
        matches!(self, Self::Lamp | Self::Dimmer | Self::ColorBulb)
    }

    pub(super) fn is_sensor(self) -> bool {
        matches!(
            self,
            Self::MotionSensor
                | Self::TemperatureSensor
                | Self::SmokeDetector
                | Self::DoorContact
                | Self::Sensor
        )
    }

    /// Returns what can be done with such a device, by the names of the tools.
    pub(super) fn actions(self) -> &'static [&'static str] {
        match self {
            Self::Lamp | Self::Plug | Self::Switch => &["on", "off", "toggle"],
            Self::Dimmer => &["on", "off", "toggle", "dim"],
            Self::ColorBulb => &["on", "off", "toggle", "dim", "set_color"],
            Self::Thermostat => &["set_temperature", "set_mode"],
            Self::Lock => &["lock", "unlock"],
            Self::GarageDoor => &["open", "close"],
            Self::Blinds => &["open", "close", "set_position"],
            Self::MotionSensor
            | Self::TemperatureSensor
            | Self::SmokeDetector
            | Self::DoorContact
            | Self::Sensor
            | Self::Other => &[],
        }
    }
}

impl Door {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Opening => "opening",
            Self::Closing => "closing",
            Self::Stopped => "stopped",
        }
    }
}

impl Reading {
    pub(super) fn new(quantity: &str, value: impl Into<String>, unit: &str) -> Self {
        Self { quantity: quantity.to_owned(), value: value.into(), unit: unit.to_owned() }
    }

    pub(super) fn line(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!("{} {}{unit}", self.quantity, self.value)
    }
}

impl Device {
    /// Returns the name with the room and the id, for messages.
    pub(super) fn label(&self) -> String {
        if self.room.is_empty() {
            format!("{} (node {})", self.name, self.id)
        } else {
            format!("{} ({}, node {})", self.name, self.room, self.id)
        }
    }

    /// Returns the state in a few words.
    pub(super) fn summary(&self) -> String {
        let state = &self.state;
        let words = match self.kind {
            DeviceKind::Lamp | DeviceKind::Plug | DeviceKind::Switch => {
                state.on.map(switched).map(str::to_owned)
            }
            DeviceKind::Dimmer | DeviceKind::ColorBulb => self.light(),
            DeviceKind::Thermostat => state.heating.as_ref().map(Heating::summary),
            DeviceKind::Lock => state.locked.map(|it| if it { "locked" } else { "unlocked" }.to_owned()),
            DeviceKind::GarageDoor => state.door.map(|door| door.name().to_owned()),
            DeviceKind::Blinds => state.level.map(|level| match level {
                0 => "closed".to_owned(),
                100 => "open".to_owned(),
                _ => format!("{level} % open"),
            }),
            DeviceKind::MotionSensor
            | DeviceKind::TemperatureSensor
            | DeviceKind::SmokeDetector
            | DeviceKind::DoorContact
            | DeviceKind::Sensor
            | DeviceKind::Other => {
                let readings: Vec<String> = state.readings.iter().map(Reading::line).collect();
                (!readings.is_empty()).then(|| readings.join(", "))
            }
        };
        words.unwrap_or_else(|| "unknown".to_owned())
    }

    /// Says whether the device is in a state that a list can be narrowed to.
    pub(super) fn is_in(&self, word: &str) -> bool {
        let state = &self.state;
        let reads = |value: &str| state.readings.iter().any(|reading| reading.value == value);
        let has_door = state.door.is_some() || self.kind == DeviceKind::Blinds;
        let is_shut = state.door == Some(Door::Closed) || state.level == Some(0);
        match word {
            "on" => state.on == Some(true) || state.heating.as_ref().is_some_and(|it| it.mode != "off"),
            "off" => state.on == Some(false) || state.heating.as_ref().is_some_and(|it| it.mode == "off"),
            "open" => {
                (has_door && !is_shut && (state.door.is_some() || state.level.is_some())) || reads("open")
            }
            "closed" => (has_door && is_shut) || reads("closed"),
            "locked" => state.locked == Some(true),
            "unlocked" => state.locked == Some(false),
            "detected" => reads("detected"),
            "unreachable" => !self.reachable,
            "low_battery" => state.battery.is_some_and(|battery| battery <= LOW_BATTERY),
            _ => false,
        }
    }

    /// Returns everything that is known, by name: settings, readings, battery.
    pub(super) fn values(&self) -> Vec<Reading> {
        let mut values = self.settings();
        values.extend(self.measured());
        values
    }

    /// Returns what can be set, by name.
    pub(super) fn settings(&self) -> Vec<Reading> {
        let state = &self.state;
        let mut values = Vec::new();
        let mut add = |name: &str, value: Option<String>, unit: &str| {
            values.extend(value.map(|value| Reading::new(name, value, unit)));
        };
        add("power_state", state.on.map(|on| switched(on).to_owned()), "");
        let level = if self.kind == DeviceKind::Blinds { "position" } else { "brightness" };
        add(level, state.level.map(|level| level.to_string()), "%");
        add("color", state.color.map(|color| color.to_string()), "");
        add("lock_state", state.locked.map(|it| if it { "locked" } else { "unlocked" }.to_owned()), "");
        add("door_state", state.door.map(|door| door.name().to_owned()), "");
        if let Some(heating) = &state.heating {
            add("mode", Some(heating.mode.clone()), "");
            add("target_temperature", heating.target.map(|target| target.to_string()), &heating.unit);
        }
        values
    }

    /// Returns what the device measures or notices, its battery last.
    pub(super) fn measured(&self) -> Vec<Reading> {
        let battery = self.state.battery.map(|battery| Reading::new("battery", battery.to_string(), "%"));
        self.state.readings.iter().cloned().chain(battery).collect()
    }

    /// Returns the device as data, as lists show it.
    pub(super) fn brief(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "room": self.room,
            "kind": self.kind.name(),
            "state": self.summary(),
            "reachable": self.reachable,
        })
    }

    /// Returns the device as one line of text.
    pub(super) fn line(&self) -> String {
        let lost = if self.reachable { "" } else { ", unreachable (last known state)" };
        let battery = match self.state.battery {
            Some(battery) if battery <= LOW_BATTERY => format!(", battery low ({battery} %)"),
            Some(_) | None => String::new(),
        };
        format!("{}, {}: {}{battery}{lost}", self.label(), self.kind.name(), self.summary())
    }

    fn light(&self) -> Option<String> {
        let on = self.state.on?;
        let level = self.state.level.map(|level| format!(" at {level} %")).unwrap_or_default();
        let color = self.state.color.map(|color| format!(", {color}")).unwrap_or_default();
        Some(if on { format!("on{level}{color}") } else { "off".to_owned() })
    }
}

impl Heating {
    fn summary(&self) -> String {
        match self.target {
            Some(target) if self.mode == "off" => format!("off (set to {target} {})", self.unit),
            Some(target) => format!("{} to {target} {}", self.mode, self.unit),
            None => self.mode.clone(),
        }
    }
}

fn switched(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
