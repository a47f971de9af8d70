//! A name becomes a device: its id, its name, its room and name, then a part of them.
//!
//! A name that fits several devices is answered with the candidates, and one that fits none with the nearest names.

use super::device::Device;
use crate::{
    fold::{fold, words},
    reply::{quoted, shown},
};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("there is no device `{name}`{near}: nothing was done; list_devices shows what there is")]
    Unknown { name: String, near: String },
    #[error(
        "`{name}` can be any of {count} devices: {candidates}. Nothing was done; send the id of one as `device`, or \
         add its `room`"
    )]
    Several { name: String, count: usize, candidates: String },
    #[error("there is no room `{name}`: the rooms are {rooms}")]
    Room { name: String, rooms: String },
}

/// Words that people put around a name.
const FILLERS: [&str; 7] = ["the", "in", "of", "my", "a", "at", "node"];

/// Finds the one device that a name, and a room if one is given, stand for.
pub(super) fn find<'d>(devices: &'d [Device], name: &str, room: Option<&str>) -> Result<&'d Device, Error> {
    let within = in_room(devices, room)?;
    let asked = name.trim();
    let folded = fold(asked);
    let wanted: Vec<&str> = words(&folded).filter(|word| !FILLERS.contains(word)).collect();
    let bare = folded.strip_prefix("node").unwrap_or(&folded).trim();
    let by_id = |device: &Device| fold(&device.id) == bare;
    let by_name = |device: &Device| fold(&device.name) == folded;
    let by_both = |device: &Device| same_words(&format!("{} {}", device.room, device.name), &wanted);
    let by_part = |device: &Device| {
        let own = fold(&format!("{} {}", device.room, device.name));
        let known: Vec<&str> = words(&own).chain(words(device.kind.also_called())).collect();
        !wanted.is_empty() && wanted.iter().all(|word| known.iter().any(|it| alike(it, word)))
    };
    let ways: [&dyn Fn(&Device) -> bool; 4] = [&by_id, &by_name, &by_both, &by_part];
    for way in ways {
        let fitting: Vec<&&Device> = within.iter().filter(|device| way(device)).collect();
        match fitting.as_slice() {
            [] => {}
            [one] => return Ok(one),
            several => {
                let candidates = quoted(several.iter().take(6).map(|device| device.label()));
                return Err(Error::Several { name: shown(asked), count: several.len(), candidates });
            }
        }
    }
    // A device of that name in another room is what a person would want to hear of.
    let place = room.map(|room| format!(" in `{}`", shown(room.trim()))).unwrap_or_default();
    let near = nearest(&folded, devices);
    let near = if near.is_empty() { place } else { format!("{place}, but {near}") };
    Err(Error::Unknown { name: shown(asked), near })
}

/// Returns the devices of a room, or all of them when no room is given.
pub(super) fn in_room<'d>(devices: &'d [Device], room: Option<&str>) -> Result<Vec<&'d Device>, Error> {
    let Some(room) = room else { return Ok(devices.iter().collect()) };
    let folded = fold(room.trim());
    let wanted: Vec<&str> = words(&folded).filter(|word| !FILLERS.contains(word)).collect();
    let exact: Vec<&Device> = devices.iter().filter(|device| same_words(&device.room, &wanted)).collect();
    if !exact.is_empty() {
        return Ok(exact);
    }
    let partly = |device: &&Device| {
        let own = fold(&device.room);
        !wanted.is_empty() && wanted.iter().all(|word| words(&own).any(|it| alike(it, word)))
    };
    let partly: Vec<&Device> = devices.iter().filter(partly).collect();
    if partly.is_empty() {
        return Err(Error::Room { name: shown(room.trim()), rooms: quoted(rooms(devices)) });
    }
    Ok(partly)
}

/// Returns the names of the rooms, in the order of the alphabet.
pub(super) fn rooms(devices: &[Device]) -> Vec<&str> {
    let mut rooms: Vec<&str> =
        devices.iter().map(|device| device.room.as_str()).filter(|it| !it.is_empty()).collect();
    rooms.sort_unstable();
    rooms.dedup();
    rooms
}

/// Says whether a text has these words and no others, in whatever order.
fn same_words(text: &str, wanted: &[&str]) -> bool {
    let folded = fold(text);
    let mut own: Vec<&str> = words(&folded).filter(|word| !FILLERS.contains(word)).collect();
    let mut wanted = wanted.to_vec();
    own.sort_unstable();
    wanted.sort_unstable();
    !own.is_empty() && own == wanted
}

/// Says whether two words are the same, but for a plural.
fn alike(known: &str, word: &str) -> bool {
    known == word || known.strip_suffix('s') == Some(word) || word.strip_suffix('s') == Some(known)
}

fn nearest(wanted: &str, devices: &[Device]) -> String {
    if 100 < wanted.len() {
        return String::new();
    }
    let mut near: Vec<(f64, String)> = devices
        .iter()
        .map(|device| {
            let by_name = strsim::jaro_winkler(wanted, &fold(&device.name));
            let by_both = strsim::jaro_winkler(wanted, &fold(&format!("{} {}", device.room, device.name)));
            (by_name.max(by_both), device.label())
        })
        .filter(|(score, _)| 0.75 < *score)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    quoted(near.iter().take(3).map(|(_, label)| label))
}
