//! A house that exists only on the disk, for trying things out without a single device.
//!
//! Its state is one JSON file that a person may edit. Changes replace the file whole, one process at a time; a file
//! that cannot be read is left as it is.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    action::Change,
    device::{Device, DeviceKind, Door, Heating, Reading, State},
    network::{Access, Applied},
};

const FILE: &str = "devices.json";
const LOCK: &str = ".devices.lock";
/// What the appliance at the plug draws, in watts.
const LOAD: &str = "900";

/// The folder of a simulated house.
#[derive(Debug)]
pub(super) struct Simulated {
    folder: PathBuf,
}

/// The house as it was read; nobody else changes it while a session may.
#[derive(Debug)]
pub(super) struct Session<'s> {
    house: &'s Simulated,
    state: House,
    /// Closing the file unlocks it.
    _lock: Option<File>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("another program keeps the simulated house locked: nothing was done; try again")]
    Locked,
    #[error(
        "`{path}` cannot be read as the state of the simulated house ({why}): mend it, or remove it to start anew"
    )]
    Unreadable { path: String, why: String },
    #[error("the operating system refused to {doing} `{path}`: {source}")]
    System { doing: &'static str, path: String, source: io::Error },
    #[error(
        "`{device}` did not answer: it is out of reach or without power. Nothing was done; check its power and its \
         distance, then try again"
    )]
    NoAnswer { device: String },
    #[error("`{device}` is gone from the house: list_devices shows what there is")]
    Gone { device: String },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct House {
    devices: Vec<Device>,
}

impl Simulated {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Reads the house; a session that may change it waits for others that do.
    pub(super) fn open(&self, access: Access) -> Result<Session<'_>, Error> {
        let lock = match access {
            Access::Look => None,
            Access::Change => Some(self.lock()?),
        };
        Ok(Session { house: self, state: self.read()?, _lock: lock })
    }

    fn lock(&self) -> Result<File, Error> {
        const TRIES: u32 = 500;
        let path = self.folder.join(LOCK);
        let refused = |source| system("lock", &path, source);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(refused)?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(refused(error)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        Err(Error::Locked)
    }

    fn read(&self) -> Result<House, Error> {
        let path = self.folder.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| Error::Unreadable {
                path: path.display().to_string(),
                why: error.to_string(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(House { devices: furnished() }),
            Err(error) => Err(system("read", &path, error)),
        }
    }

    fn write(&self, state: &House) -> Result<(), Error> {
        let path = self.folder.join(FILE);
        let refused = |source| system("write", &path, source);
        let text = serde_json::to_string_pretty(state).expect("a house has only keys that are strings");
        let mut file = tempfile::Builder::new()
            .prefix(".devices-")
            .suffix(".tmp")
            .tempfile_in(&self.folder)
            .map_err(refused)?;
        file.write_all(text.as_bytes()).map_err(refused)?;
        file.as_file().sync_all().map_err(refused)?;
        file.persist(&path).map_err(|error| refused(error.error))?;
        Ok(())
    }
}

impl Session<'_> {
    pub(super) fn devices(&self) -> &[Device] {
        &self.state.devices
    }

    /// Makes a change as the real device would, and writes it down.
    pub(super) fn apply(&mut self, device: &Device, change: &Change) -> Result<Applied, Error> {
        let known = self.state.devices.iter_mut().find(|it| it.id == device.id);
        let known = known.ok_or_else(|| Error::Gone { device: device.label() })?;
        if !known.reachable {
            return Err(Error::NoAnswer { device: device.label() });
        }
        let before = known.clone();
        make(known, change);
        let after = known.clone();
        if after != before {
            self.house.write(&self.state)?;
        }
        Ok(Applied { device: after, confirmed: true })
    }
}

fn make(device: &mut Device, change: &Change) {
    let state = &mut device.state;
    match change {
        Change::Switch(on) => {
            state.on = Some(*on);
            if let Some(level) = state.level {
                if 0 < level {
                    state.restores = Some(level);
                }
                state.level = Some(if *on { state.restores.unwrap_or(100) } else { 0 });
            }
            for power in state.readings.iter_mut().filter(|reading| reading.quantity == "power") {
                power.value = if *on { LOAD } else { "0" }.to_owned();
            }
        }
        Change::Level(level) => {
            state.level = Some(*level);
            if device.kind != DeviceKind::Blinds {
                state.on = Some(0 < *level);
                if 0 < *level {
                    state.restores = Some(*level);
                }
            }
        }
        Change::Color(color) => state.color = Some(*color),
        Change::Lock(locked) => state.locked = Some(*locked),
        Change::Open(open) if device.kind == DeviceKind::Blinds => {
            state.level = Some(if *open { 100 } else { 0 });
        }
        Change::Open(open) => state.door = Some(if *open { Door::Open } else { Door::Closed }),
        Change::Temperature(degrees) => {
            if let Some(heating) = &mut state.heating {
                heating.target = Some(*degrees);
            }
        }
        Change::Mode(mode) => {
            if let Some(heating) = &mut state.heating {
                heating.mode.clone_from(mode);
            }
        }
    }
}

/// The house before anything was done in it.
fn furnished() -> Vec<Device> {
    use DeviceKind::{
        Blinds, ColorBulb, Dimmer, DoorContact, GarageDoor, Lamp, Lock, MotionSensor, Plug, SmokeDetector,
        TemperatureSensor, Thermostat,
    };
    let on = |on: bool| State { on: Some(on), ..State::default() };
    let reads =
        |battery: u8, readings: Vec<Reading>| State { battery: Some(battery), readings, ..State::default() };
    let heating = Heating {
        mode: "heat".to_owned(),
        modes: ["off", "heat", "cool", "auto"].map(str::to_owned).to_vec(),
        target: Some(21.0),
        unit: "°C".to_owned(),
        range: Some((5.0, 30.0)),
    };
    let bulb = State {
        level: Some(0),
        restores: Some(80),
        color: super::color::Color::read("warm white").ok(),
        ..on(false)
    };
    let draws = vec![Reading::new("power", "0", "W"), Reading::new("energy", "37.4", "kWh")];
    let climate = vec![Reading::new("temperature", "19.2", "°C"), Reading::new("humidity", "48", "%")];
    let rows: [(&str, &str, &str, DeviceKind, State); 14] = [
        ("2", "Ceiling lamp", "Kitchen", Lamp, on(false)),
        ("3", "Ceiling light", "Living room", Dimmer, State { level: Some(40), ..on(true) }),
        ("4", "Reading bulb", "Bedroom", ColorBulb, bulb),
        ("5", "Coffee machine", "Kitchen", Plug, State { readings: draws, ..on(false) }),
        (
            "6",
            "Thermostat",
            "Living room",
            Thermostat,
            State {
                heating: Some(heating),
                readings: vec![Reading::new("temperature", "20.5", "°C")],
                ..State::default()
            },
        ),
        (
            "7",
            "Front door",
            "Hall",
            Lock,
            State { locked: Some(true), battery: Some(84), ..State::default() },
        ),
        ("8", "Garage door", "Garage", GarageDoor, State { door: Some(Door::Closed), ..State::default() }),
        ("9", "Blinds", "Bedroom", Blinds, State { level: Some(100), ..State::default() }),
        ("10", "Motion sensor", "Hall", MotionSensor, reads(67, vec![Reading::new("motion", "none", "")])),
        ("11", "Climate sensor", "Bedroom", TemperatureSensor, reads(91, climate)),
        (
            "12",
            "Smoke detector",
            "Kitchen",
            SmokeDetector,
            reads(15, vec![Reading::new("smoke", "none", "")]),
        ),
        (
            "13",
            "Window contact",
            "Bathroom",
            DoorContact,
            reads(73, vec![Reading::new("contact", "open", "")]),
        ),
        ("14", "Ceiling lamp", "Hall", Lamp, on(true)),
        ("15", "Garden lights", "Garden", Lamp, on(false)),
    ];
    rows.into_iter()
        .map(|(id, name, room, kind, state)| Device {
            id: id.to_owned(),
            name: name.to_owned(),
            room: room.to_owned(),
            kind,
            // The lights at the end of the garden are too far away for the radio.
            reachable: id != "15",
            state,
        })
        .collect()
}

fn system(doing: &'static str, path: &Path, source: io::Error) -> Error {
    Error::System { doing, path: path.display().to_string(), source }
}
