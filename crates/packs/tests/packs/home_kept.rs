//! What a simulated house keeps: across restarts, beside other processes, and when it is killed.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use toolyard_packs::{Kind, Network, Pack};

use crate::house::House;

/// Where the child process finds the house, and which device is its own.
const FOLDER: &str = "TOOLYARD_TEST_HOUSE";
const DEVICE: &str = "TOOLYARD_TEST_DEVICE";
const ROUNDS: u8 = 60;

#[test]
fn t1_the_state_of_the_house_survives_a_restart() {
    let house = House::new();
    house.facts("control_device", &json!({ "device": "3", "action": "dim", "level": 15 }));
    house.facts("control_device", &json!({ "device": "Front door", "action": "unlock", "confirm": true }));
    house.facts("control_device", &json!({ "device": "4", "action": "set_color", "color": "#0080ff" }));
    let house = house.reopened();
    assert_eq!(house.state("3"), "on at 15 %");
    assert_eq!(house.state("Front door"), "unlocked");
    house.facts("control_device", &json!({ "device": "4", "action": "on" }));
    assert_eq!(house.state("4"), "on at 80 %, #0080ff");
}

#[test]
fn t1_a_person_may_edit_the_house_and_a_broken_file_is_left_alone() {
    let house = House::new();
    house.facts("control_device", &json!({ "device": "3", "action": "off" }));
    let file = house.folder.path().join("home/devices.json");
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    kept["devices"][0]["name"] = json!("Chandelier");
    kept["devices"][0]["room"] = json!("Ballroom");
    fs::write(&file, kept.to_string()).unwrap();
    house.facts("control_device", &json!({ "device": "ballroom chandelier", "action": "on" }));

    for broken in ["{ \"devices\": [", "{ \"devices\": [{ \"id\": 7 }] }", ""] {
        fs::write(&file, broken).unwrap();
        for (tool, arguments) in
            [("list_devices", json!({})), ("control_device", json!({ "device": "3", "action": "on" }))]
        {
            let text = house.text(tool, &arguments);
            assert!(
                text.starts_with("ERROR ") && text.contains("devices.json") && text.contains("mend it"),
                "{text}"
            );
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    }
}

#[test]
fn t1_two_processes_lose_none_of_each_others_changes() {
    let house = House::new();
    let mut other = child(&house.folder.path().join("home"), "4");
    // Whatever one process writes, the other must find: each asserts its own device after every change.
    dims(&house.pack, "3");
    assert!(other.wait().unwrap().success());
    assert_eq!(house.state("3"), format!("on at {ROUNDS} %"));
    assert!(house.state("4").starts_with(&format!("on at {ROUNDS} %")), "{}", house.state("4"));
    let left: Vec<_> =
        fs::read_dir(house.folder.path().join("home")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the state and its lock: {left:?}");
}

#[test]
fn t1_a_killed_process_leaves_a_whole_house_and_no_lock() {
    for _ in 0..5 {
        let house = House::new();
        let mut other = child(&house.folder.path().join("home"), "3");
        let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
        // Killed at once after some change was made, while the next is on its way.
        let changed = lines.find(|line| line.as_ref().unwrap().contains("dimmed to 5"));
        assert!(changed.is_some());
        other.kill().unwrap();
        other.wait().unwrap();
        let level: u8 = house.state("3").trim_start_matches("on at ").trim_end_matches(" %").parse().unwrap();
        assert!((5..=ROUNDS).contains(&level));
        house.facts("control_device", &json!({ "device": "3", "action": "off" }));
        assert_eq!(house.state("3"), "off");
    }
}

#[test]
#[ignore = "is the other process of the tests above, which start it"]
fn the_other_process() {
    let (Some(folder), Some(device)) = (std::env::var_os(FOLDER), std::env::var(DEVICE).ok()) else { return };
    let kind = Kind::Home { folder: PathBuf::from(folder), network: Network::Simulated };
    dims(&Pack::open(&kind).unwrap(), &device);
}

#[test]
fn t1_a_folder_that_cannot_be_made_is_a_clear_error() {
    let house = House::new();
    let blocked = house.folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    let kind = Kind::Home { folder: blocked.join("home"), network: Network::Simulated };
    let error = Pack::open(&kind).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot use `") && error.ends_with("` as the folder of the home pack"),
        "{error}"
    );
}

/// Dims a device step by step and looks after every step whether it is still so.
fn dims(pack: &Pack, device: &str) {
    let mut progress = std::io::stdout();
    for level in 1..=ROUNDS {
        let call = json!({ "device": device, "action": "dim", "level": level });
        let made = pack.call("control_device", call.as_object().unwrap()).unwrap();
        assert_eq!(made["isError"], false, "{made}");
        let seen = pack.call("get_device", json!({ "device": device }).as_object().unwrap()).unwrap();
        let state = seen["structuredContent"]["state"].as_str().unwrap();
        assert!(state.starts_with(&format!("on at {level} %")), "{device} is {state} and not {level}");
        writeln!(progress, "dimmed to {level}").unwrap();
    }
}

fn child(folder: &Path, device: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["home_kept::the_other_process", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(DEVICE, OsStr::new(device))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
