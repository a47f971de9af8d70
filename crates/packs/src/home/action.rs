//! What is asked of a device becomes a change that it can make.
//!
//! The device decides what can be asked of it: an action that it does not have, a value that is missing and an entrance
//! that would be opened without consent are refused before anything is sent.

use super::{
    color::{self, Color},
    device::{Device, DeviceKind, Door, Heating},
};
use crate::{
    arguments::Arguments,
    fold::{fold, words},
    reply::{quoted, shown},
};

/// Every action, in the order in which the tools list them.
pub(super) const ACTIONS: [&str; 12] = [
    "on",
    "off",
    "toggle",
    "dim",
    "set_color",
    "lock",
    "unlock",
    "open",
    "close",
    "set_position",
    "set_temperature",
    "set_mode",
];

/// A change that the device can make.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Switch(bool),
    /// Brightness or position, in percent.
    Level(u8),
    Color(Color),
    Lock(bool),
    Open(bool),
    Temperature(f64),
    Mode(String),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("`{device}` is a {kind} and has no action `{action}`: {can}. Nothing was done")]
    NotPossible { device: String, kind: &'static str, action: String, can: String },
    #[error("action `{action}` needs `{value}`, {what}. Nothing was done")]
    Missing { action: String, value: &'static str, what: String },
    #[error("`{value}` is not used by action `{action}`: leave it out{instead}. Nothing was done")]
    Unused { value: &'static str, action: String, instead: String },
    #[error("`{device}` does not tell whether it is on, so it cannot be toggled: send `on` or `off`")]
    UnknownState { device: String },
    #[error(
        "`{device}` takes temperatures from {least} to {most} {unit}, and `{asked}` is none. Nothing was done"
    )]
    OutOfRange { device: String, asked: f64, least: f64, most: f64, unit: String },
    #[error("`{device}` has no mode `{mode}`: send one of {modes}. Nothing was done")]
    NoMode { device: String, mode: String, modes: String },
    #[error("{0}. Nothing was done")]
    Color(#[from] color::Error),
    #[error(
        "`{doing}` of `{device}` can let somebody in, so it needs consent: ask the user, and if they agree send the \
         same call with `confirm: true`. Nothing was done"
    )]
    NeedsConsent { device: String, doing: String },
}

/// Values and the actions that use them.
const USES: [(&str, &[&str]); 4] = [
    ("level", &["dim", "set_position"]),
    ("color", &["set_color"]),
    ("temperature", &["set_temperature"]),
    ("mode", &["set_mode"]),
];

/// Reads the change that is asked of a device; `consent` says that the user has agreed to open an entrance.
pub(super) fn read(asked: &Arguments<'_>, device: &Device, consent: bool) -> Result<Change, Error> {
    let action = asked.required("action");
    if !device.kind.actions().contains(&action) {
        return Err(not_possible(device, action));
    }
    for (value, by) in USES {
        if asked.value(value).is_some() && !by.contains(&action) {
            let by: Vec<&&str> = by.iter().filter(|it| device.kind.actions().contains(it)).collect();
            let instead =
                if by.is_empty() { String::new() } else { format!(", or send action {}", quoted(by)) };
            return Err(Error::Unused { value, action: action.to_owned(), instead });
        }
    }
    let missing = |value: &'static str, what: &str| Error::Missing {
        action: action.to_owned(),
        value,
        what: what.to_owned(),
    };
    let level = || {
        let level = asked.value("level").and_then(|_| u8::try_from(asked.whole("level", 0)).ok());
        level.ok_or_else(|| missing("level", "a whole number from 0 to 100 (percent), for example 40"))
    };
    let change = match action {
        "on" => Change::Switch(true),
        "off" => Change::Switch(false),
        "toggle" => match device.state.on {
            Some(on) => Change::Switch(!on),
            None => return Err(Error::UnknownState { device: device.label() }),
        },
        "dim" | "set_position" => Change::Level(level()?),
        "set_color" => {
            let color = asked.text("color");
            Change::Color(Color::read(
                color.ok_or_else(|| missing("color", "for example `#ff8800` or `warm white`"))?,
            )?)
        }
        "lock" => Change::Lock(true),
        "unlock" => Change::Lock(false),
        "open" => Change::Open(true),
        "close" => Change::Open(false),
        "set_temperature" => {
            let degrees = asked.number("temperature");
            Change::Temperature(in_range(
                degrees.ok_or_else(|| missing("temperature", &span(device)))?,
                device,
            )?)
        }
        "set_mode" => {
            Change::Mode(mode(asked.text("mode").ok_or_else(|| missing("mode", &modes(device)))?, device)?)
        }
        _ => return Err(not_possible(device, action)),
    };
    if !consent {
        needs_no_consent(device, &change, action)?;
    }
    Ok(change)
}

/// Makes sure that a change, by the name of its action, cannot let anybody in.
pub(super) fn needs_no_consent(device: &Device, change: &Change, action: &str) -> Result<(), Error> {
    if opens_an_entrance(device, change) {
        return Err(Error::NeedsConsent { device: device.label(), doing: action.to_owned() });
    }
    Ok(())
}

/// Says whether the device is in the state that the change leads to, or on its way there.
pub(super) fn is_done(device: &Device, change: &Change) -> bool {
    let state = &device.state;
    match change {
        Change::Switch(on) => state.on == Some(*on),
        // Z-Wave counts to 99, and some devices round.
        Change::Level(0) => state.level == Some(0),
        Change::Level(level) => state.level.is_some_and(|it| 0 < it && it.abs_diff(*level) <= 1),
        Change::Color(color) => state.color == Some(*color),
        Change::Lock(locked) => state.locked == Some(*locked),
        Change::Open(open) => match (state.door, state.level) {
            (Some(door), _) if *open => matches!(door, Door::Open | Door::Opening),
            (Some(door), _) => matches!(door, Door::Closed | Door::Closing),
            (None, Some(level)) => {
                if *open {
                    99 <= level
                } else {
                    level == 0
                }
            }
            (None, None) => false,
        },
        Change::Temperature(degrees) => {
            let target = state.heating.as_ref().and_then(|heating| heating.target);
            target.is_some_and(|target| (target - degrees).abs() < 0.05)
        }
        Change::Mode(mode) => state.heating.as_ref().is_some_and(|heating| heating.mode == *mode),
    }
}

/// Says what a user might not expect of a change that was made.
pub(super) fn remark(device: &Device, change: &Change) -> Option<String> {
    match (change, &device.state.heating) {
        (Change::Temperature(_), Some(heating)) if heating.mode == "off" => Some(
            "the thermostat is off, so it will not heat or cool until set_mode chooses another mode"
                .to_owned(),
        ),
        (Change::Color(_), _) if device.state.on == Some(false) => {
            Some("the bulb is off: the colour shows when it is switched on".to_owned())
        }
        _ => None,
    }
}

/// Says whether a change may let somebody in.
fn opens_an_entrance(device: &Device, change: &Change) -> bool {
    match device.kind {
        DeviceKind::Lock => *change == Change::Lock(false),
        DeviceKind::GarageDoor => *change == Change::Open(true),
        // Gates and doors are often moved by a plain relay, and only its name tells.
        DeviceKind::Switch | DeviceKind::Plug => {
            let name = fold(&device.name);
            words(&name).any(|word| matches!(word, "door" | "gate" | "lock" | "opener"))
        }
        DeviceKind::Lamp
        | DeviceKind::Dimmer
        | DeviceKind::ColorBulb
        | DeviceKind::Thermostat
        | DeviceKind::Blinds
        | DeviceKind::MotionSensor
        | DeviceKind::TemperatureSensor
        | DeviceKind::SmokeDetector
        | DeviceKind::DoorContact
        | DeviceKind::Sensor
        | DeviceKind::Other => false,
    }
}

fn not_possible(device: &Device, action: &str) -> Error {
    let can = match device.kind.actions() {
        [] => "it can only be read, with get_device".to_owned(),
        actions => format!("it has {}", quoted(actions)),
    };
    Error::NotPossible { device: device.label(), kind: device.kind.name(), action: shown(action), can }
}

fn in_range(degrees: f64, device: &Device) -> Result<f64, Error> {
    match &device.state.heating {
        Some(Heating { range: Some((least, most)), unit, .. }) if !(*least..=*most).contains(&degrees) => {
            let (device, unit) = (device.label(), unit.clone());
            Err(Error::OutOfRange { device, asked: degrees, least: *least, most: *most, unit })
        }
        Some(_) | None => Ok(degrees),
    }
}

fn mode(asked: &str, device: &Device) -> Result<String, Error> {
    let wanted = fold(asked.trim());
    let known: &[String] = device.state.heating.as_ref().map_or(&[], |heating| &heating.modes);
    known.iter().find(|mode| **mode == wanted).cloned().ok_or_else(|| Error::NoMode {
        device: device.label(),
        mode: shown(asked.trim()),
        modes: quoted(known),
    })
}

fn span(device: &Device) -> String {
    match &device.state.heating {
        Some(Heating { range: Some((least, most)), unit, .. }) => {
            format!("a number from {least} to {most} {unit}, for example 21.5")
        }
        Some(_) | None => "a number, for example 21.5".to_owned(),
    }
}

fn modes(device: &Device) -> String {
    let known: &[String] = device.state.heating.as_ref().map_or(&[], |heating| &heating.modes);
    format!("one of {}", quoted(known))
}
