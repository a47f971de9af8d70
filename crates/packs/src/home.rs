//! The devices of a house, the clock on its wall and the loudness of this computer.
//!
//! Nothing is sent to a device that it cannot do, and no entrance is opened without consent.

mod color; //     "warm white", `#ff8800`
mod device; //    one device, whatever network it is in
mod lookup; //    a name becomes a device
mod action; //    what is asked becomes a change that the device can make
mod values; //    what the command classes of Z-Wave mean
mod network; //   where the devices are
mod simulated; // a house on the disk
mod zwave_js; //  a Z-Wave JS server
mod mqtt; //      the MQTT gateway of Z-Wave JS UI
mod volume; //    the loudness of this computer
mod tools; //     what the clients see

use std::{ffi::OsStr, fs, io, path::Path};

use serde_json::{Map, Value, json};

use self::{
    action::Change,
    device::{Device, DeviceKind, Reading},
    network::{Access, Link, Session},
    simulated::Simulated,
    volume::{Loudness, Speaker},
};
use crate::{
    arguments::{self, Arguments},
    fold::fold,
    reply::{Answer, Outcome, Refusal, quoted, shown},
    time::Clock,
};

pub use self::network::{BadNetwork, Network};
pub(crate) use self::tools::tools;

/// How far "louder" and "quieter" go, in percent.
const STEP: usize = 10;
/// Nothing sets the volume higher than this, in percent.
const LOUDEST: u16 = 100;

/// The house, the clock and the speaker.
#[derive(Debug)]
pub(crate) struct Home {
    link: Link,
    clock: Clock,
    speaker: Option<Speaker>,
}

/// Why a home pack cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Network(#[from] BadNetwork),
    #[error(transparent)]
    Folder(#[from] io::Error),
}

/// Why a request makes no sense, although its arguments do one by one.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("there is nothing to set: send `level`, `direction` or `mute`")]
    NothingToSet,
    #[error("`level` and `direction` exclude each other: send one of them")]
    LevelAndDirection,
    #[error("`step` is used only with `direction`: leave it out, or send `direction` too")]
    UnusedStep,
    #[error("`changes` is empty: send one to 10 changes")]
    NothingToChange,
    #[error("this computer has no volume that can be set")]
    NoSpeaker,
}

impl Home {
    /// Opens the pack; `path` is where programs are looked for.
    pub(crate) fn open(
        folder: &Path,
        network: &Network,
        clock: Clock,
        path: &OsStr,
    ) -> Result<Self, OpenError> {
        let link = Link::new(network, || Simulated::new(folder))?;
        fs::create_dir_all(folder)?;
        Ok(Self { link, clock, speaker: Speaker::find(path) })
    }
}

fn list_devices(home: &Home, arguments: &Arguments<'_>) -> Outcome {
    let devices = home.link.open(Access::Look)?.devices();
    let (kind, state) = (arguments.text("kind"), arguments.text("state"));
    let mut fitting = lookup::in_room(&devices, arguments.text("room"))?;
    fitting.retain(|device| kind.is_none_or(|kind| is_of(device.kind, kind)));
    fitting.retain(|device| state.is_none_or(|state| device.is_in(state)));
    let (offset, limit) = (arguments.whole("offset", 0), arguments.whole("limit", 50));
    let page: Vec<&&Device> = fitting.iter().skip(offset).take(limit).collect();
    let has_more = offset.saturating_add(limit) < fitting.len();

    let mut text = counted(fitting.len(), "device");
    for device in &page {
        text.push_str(&format!("\n- {}", device.line()));
    }
    if has_more {
        text.push_str(&format!("\nMore: go on with offset {}", offset.saturating_add(limit)));
    }
    Ok(Answer {
        text,
        data: json!({
            "devices": page.iter().map(|device| device.brief()).collect::<Vec<_>>(),
            "rooms": lookup::rooms(&devices),
            "total_count": fitting.len(),
            "offset": offset,
            "has_more": has_more,
        }),
    })
}

fn get_device(home: &Home, arguments: &Arguments<'_>) -> Outcome {
    let devices = home.link.open(Access::Look)?.devices();
    let device = lookup::find(&devices, arguments.required("device"), arguments.text("room"))?;
    let values = device.values();
    let mut text = device.line();
    for value in &values {
        text.push_str(&format!("\n- {}", value.line()));
    }
    let mut data = device.brief();
    data["values"] = values.iter().map(as_data).collect();
    data["actions"] = json!(device.kind.actions());
    if let Some(heating) = &device.state.heating {
        text.push_str(&format!("\nModes: {}", heating.modes.join(", ")));
    }
    data["modes"] = json!(device.state.heating.as_ref().map_or(&[][..], |heating| &heating.modes));
    if !device.kind.actions().is_empty() {
        text.push_str(&format!("\nActions: {}", device.kind.actions().join(", ")));
    }
    Ok(Answer { text, data })
}

fn get_sensor_readings(home: &Home, arguments: &Arguments<'_>) -> Outcome {
    let devices = home.link.open(Access::Look)?.devices();
    let quantity = arguments.text("quantity").map(|quantity| fold(quantity.trim()));
    let mut readings: Vec<(&Device, Reading)> = lookup::in_room(&devices, arguments.text("room"))?
        .into_iter()
        .flat_map(|device| device.measured().into_iter().map(move |reading| (device, reading)))
        .collect();
    let mut known: Vec<String> = readings.iter().map(|(_, reading)| reading.quantity.clone()).collect();
    known.sort_unstable();
    known.dedup();
    readings.retain(|(_, reading)| quantity.as_ref().is_none_or(|quantity| reading.quantity == *quantity));
    let (offset, limit) = (arguments.whole("offset", 0), arguments.whole("limit", 50));
    let has_more = offset.saturating_add(limit) < readings.len();
    let mut text = counted(readings.len(), "reading");
    if readings.is_empty() && !known.is_empty() {
        text.push_str(&format!(
            " of `{}`; there are {}",
            shown(&quantity.unwrap_or_default()),
            quoted(known)
        ));
    }
    let mut rows = Vec::new();
    for (device, reading) in readings.iter().skip(offset).take(limit) {
        let lost = if device.reachable { "" } else { " (unreachable: last known)" };
        text.push_str(&format!("\n- {}: {}{lost}", device.label(), reading.line()));
        let mut row = as_data(reading);
        row["device"] = json!(device.name);
        row["id"] = json!(device.id);
        row["room"] = json!(device.room);
        row["reachable"] = json!(device.reachable);
        rows.push(row);
    }
    if has_more {
        text.push_str(&format!("\nMore: go on with offset {}", offset.saturating_add(limit)));
    }
    Ok(Answer {
        text,
        data: json!({
            "readings": rows,
            "total_count": readings.len(),
            "offset": offset,
            "has_more": has_more,
        }),
    })
}

fn control_device(home: &Home, arguments: &Arguments<'_>) -> Outcome {
    let mut session = home.link.open(Access::Change)?;
    let consent = arguments.flag("confirm") == Some(true);
    let made = control(&mut session, arguments, consent)?;
    let mut text = format!("{}: {} -> {}", made.device.label(), made.before, made.device.summary());
    for remark in &made.remarks {
        text.push_str(&format!("\nNote: {remark}"));
    }
    Ok(Answer { text, data: made.data() })
}

fn set_scene(home: &Home, arguments: &Arguments<'_>) -> Outcome {
    let changes = arguments.value("changes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if changes.is_empty() {
        return Err(Error::NothingToChange.into());
    }
    let consent = arguments.flag("confirm") == Some(true);
    let mut session = home.link.open(Access::Change)?;
    let mut batch = Batch::default();
    for (at, change) in changes.iter().enumerate() {
        let nothing = Map::new();
        let given = change.as_object().unwrap_or(&nothing);
        let name = given.get("device").and_then(Value::as_str).unwrap_or_default();
        let number = format!("change {}", at + 1);
        let outcome = arguments::check(&tools::scene_item(&number), given)
            .map_err(Refusal::from)
            .and_then(|arguments| control(&mut session, &arguments, consent));
        let label = if name.is_empty() { number } else { format!("{number} ({})", shown(name)) };
        batch.take(&label, name, outcome);
    }
    Ok(batch.answer())
}

fn all_off(home: &Home, arguments: &Arguments<'_>) -> Outcome {
    let mut session = home.link.open(Access::Change)?;
    let devices = session.devices();
    let kind = arguments.text("kind");
    let mut fitting = lookup::in_room(&devices, arguments.text("room"))?;
    fitting.retain(|device| device.kind.actions().contains(&"off") && device.state.on != Some(false));
    fitting.retain(|device| kind.is_none_or(|kind| is_of(device.kind, kind)));
    let off = Change::Switch(false);
    let mut batch = Batch::default();
    for device in fitting {
        let outcome = action::needs_no_consent(device, &off, "off")
            .map_err(Refusal::from)
            .and_then(|()| apply(&mut session, device, &off));
        batch.take(&device.label(), &device.name, outcome);
    }
    Ok(batch.answer())
}

fn get_volume(home: &Home, _: &Arguments<'_>) -> Outcome {
    let speaker = home.speaker.as_ref().ok_or(Error::NoSpeaker)?;
    let now = speaker.read()?;
    let data = json!({ "volume": now.volume, "muted": now.muted, "system": speaker.name() });
    Ok(Answer { text: format!("Volume {}", spelled(now)), data })
}

fn set_volume(home: &Home, arguments: &Arguments<'_>) -> Outcome {
    let speaker = home.speaker.as_ref().ok_or(Error::NoSpeaker)?;
    let level = arguments.value("level").and_then(|_| u16::try_from(arguments.whole("level", 0)).ok());
    let (direction, mute) = (arguments.text("direction"), arguments.flag("mute"));
    match (level, direction, mute) {
        (None, None, None) => return Err(Error::NothingToSet.into()),
        (Some(_), Some(_), _) => return Err(Error::LevelAndDirection.into()),
        _ => {}
    }
    if direction.is_none() && arguments.value("step").is_some() {
        return Err(Error::UnusedStep.into());
    }
    let before = speaker.read()?;
    let step = u16::try_from(arguments.whole("step", STEP)).unwrap_or(LOUDEST);
    let wanted = match direction {
        // What is louder than anything set here stays as it is.
        Some("up") => Some(before.volume.saturating_add(step).min(before.volume.max(LOUDEST))),
        Some(_) => Some(before.volume.saturating_sub(step)),
        None => level,
    };
    if let Some(volume) = wanted.filter(|volume| *volume != before.volume) {
        speaker.set_volume(volume)?;
    }
    if let Some(muted) = mute.filter(|muted| *muted != before.muted) {
        speaker.set_muted(muted)?;
    }
    let now = speaker.read()?;
    let mut text = format!("Volume {} -> {}", spelled(before), spelled(now));
    if now.muted && mute.is_none() {
        text.push_str("\nNote: the output is muted; send `mute: false` to hear it");
    }
    Ok(Answer {
        text,
        data: json!({
            "volume": now.volume,
            "muted": now.muted,
            "previous_volume": before.volume,
            "previous_muted": before.muted,
            "system": speaker.name(),
        }),
    })
}

/// A change that was made.
struct Made {
    device: Device,
    /// The state before, in a few words.
    before: String,
    changed: bool,
    confirmed: bool,
    remarks: Vec<String>,
}

impl Made {
    fn data(&self) -> Value {
        let mut data = self.device.brief();
        data["previous_state"] = json!(self.before);
        data["changed"] = json!(self.changed);
        data["confirmed"] = json!(self.confirmed);
        data["remarks"] = json!(self.remarks);
        data
    }
}

/// Several changes, each of which may fail without the others.
#[derive(Default)]
struct Batch {
    text: String,
    done: Vec<Value>,
    failed: Vec<Value>,
}

impl Batch {
    fn take(&mut self, label: &str, name: &str, outcome: Result<Made, Refusal>) {
        match outcome {
            Ok(made) => {
                let line =
                    format!("\n- {}: {} -> {}", made.device.label(), made.before, made.device.summary());
                self.text.push_str(&line);
                for remark in &made.remarks {
                    self.text.push_str(&format!(" ({remark})"));
                }
                self.done.push(made.data());
            }
            Err(refusal) => {
                self.text.push_str(&format!("\n- FAILED {label}: {}", refusal.text()));
                self.failed.push(json!({ "device": shown(name), "error": refusal.text() }));
            }
        }
    }

    fn answer(self) -> Answer {
        let (success, total) = (self.done.len(), self.done.len() + self.failed.len());
        let text = match total {
            0 => "There was nothing to switch off".to_owned(),
            _ => format!("{success} of {total} done{}", self.text),
        };
        let data = json!({
            "done": self.done,
            "failed": self.failed,
            "total": total,
            "success_count": success,
        });
        Answer { text, data }
    }
}

/// Finds the device, reads the change that is asked of it, and makes it.
fn control(session: &mut Session<'_>, arguments: &Arguments<'_>, consent: bool) -> Result<Made, Refusal> {
    let devices = session.devices();
    let device = lookup::find(&devices, arguments.required("device"), arguments.text("room"))?;
    let change = action::read(arguments, device, consent)?;
    apply(session, device, &change)
}

fn apply(session: &mut Session<'_>, device: &Device, change: &Change) -> Result<Made, Refusal> {
    let applied = session.apply(device, change)?;
    let mut remarks: Vec<String> = action::remark(&applied.device, change).into_iter().collect();
    if !applied.confirmed {
        remarks.push(
            "the change was accepted, but the device has not reported it yet: look again with get_device before \
             repeating it"
                .to_owned(),
        );
    }
    let changed = device.settings() != applied.device.settings();
    Ok(Made {
        before: device.summary(),
        device: applied.device,
        changed,
        confirmed: applied.confirmed,
        remarks,
    })
}

/// Says whether a kind is the one that is asked for, or belongs to the group that is.
fn is_of(kind: DeviceKind, asked: &str) -> bool {
    match asked {
        "light" => kind.is_light(),
        "any_sensor" => kind.is_sensor(),
        _ => kind.name() == asked,
    }
}

fn as_data(reading: &Reading) -> Value {
    json!({ "quantity": reading.quantity, "value": reading.value, "unit": reading.unit })
}

fn spelled(loudness: Loudness) -> String {
    format!("{} %{}", loudness.volume, if loudness.muted { " (muted)" } else { "" })
}

fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
