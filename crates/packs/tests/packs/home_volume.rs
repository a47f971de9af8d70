//! The volume tools, with a program that stands for the sound system: a real process on a private search path.

use std::{fs, path::Path};

use serde_json::json;
use tempfile::TempDir;
use toolyard_packs::Network;

use crate::house::House;

#[test]
fn t1_the_volume_is_told_and_set() {
    let sound = sound("0.40");
    let house = House::with(&Network::Simulated, sound.path().as_os_str());
    insta::assert_snapshot!(house.texts("get_volume", &[json!({})]), @"
    {}
    -> Volume 40 %
    ");
    insta::assert_snapshot!(house.texts("set_volume", &[
        json!({ "level": 30 }),
        json!({ "direction": "up" }),
        json!({ "direction": "down", "step": 35 }),
        json!({ "mute": true }),
        json!({ "direction": "up", "step": 100 }),
        json!({ "level": 55, "mute": false }),
        json!({ "level": 0 }),
        json!({ "direction": "down" }),
    ]), @r#"
    {"level":30}
    -> Volume 40 % -> 30 %

    {"direction":"up"}
    -> Volume 30 % -> 40 %

    {"direction":"down","step":35}
    -> Volume 40 % -> 5 %

    {"mute":true}
    -> Volume 5 % -> 5 % (muted)

    {"direction":"up","step":100}
    -> Volume 5 % (muted) -> 100 % (muted)
    Note: the output is muted; send `mute: false` to hear it

    {"level":55,"mute":false}
    -> Volume 100 % (muted) -> 55 %

    {"level":0}
    -> Volume 55 % -> 0 %

    {"direction":"down"}
    -> Volume 0 % -> 0 %
    "#);
    let facts = house.facts("set_volume", &json!({ "level": 12 }));
    assert_eq!(
        facts,
        json!({
            "volume": 12, "muted": false, "previous_volume": 0, "previous_muted": false, "system": "PipeWire",
        })
    );
    assert_eq!(fs::read_to_string(sound.path().join("volume")).unwrap(), "0.12\n");
}

#[test]
fn t1_what_makes_no_sense_is_refused_and_nothing_is_set() {
    let sound = sound("0.40");
    let house = House::with(&Network::Simulated, sound.path().as_os_str());
    insta::assert_snapshot!(house.texts("set_volume", &[
        json!({}),
        json!({ "level": 101 }),
        json!({ "level": -1 }),
        json!({ "level": 10, "direction": "up" }),
        json!({ "level": 10, "step": 5 }),
        json!({ "direction": "sideways" }),
        json!({ "mute": "yes" }),
    ]), @r#"
    {}
    -> ERROR there is nothing to set: send `level`, `direction` or `mute`

    {"level":101}
    -> ERROR `set_volume` was not run. `level` is 101, over 100: send a whole number from 0 to 100, for example 30. It takes `level`, `direction`, `step`, `mute`

    {"level":-1}
    -> ERROR `set_volume` was not run. `level` is -1, under 0: send a whole number from 0 to 100, for example 30. It takes `level`, `direction`, `step`, `mute`

    {"level":10,"direction":"up"}
    -> ERROR `level` and `direction` exclude each other: send one of them

    {"level":10,"step":5}
    -> ERROR `step` is used only with `direction`: leave it out, or send `direction` too

    {"direction":"sideways"}
    -> ERROR `set_volume` was not run. `direction` is `sideways`, which is no choice: send one of `up`, `down`. It takes `level`, `direction`, `step`, `mute`

    {"mute":"yes"}
    -> ERROR `set_volume` was not run. `mute` is a string and not true or false: send true or false. It takes `level`, `direction`, `step`, `mute`
    "#);
    assert_eq!(fs::read_to_string(sound.path().join("volume")).unwrap(), "0.40\n");
}

#[test]
fn t1_a_sound_system_that_goes_away_is_a_soft_error() {
    let sound = sound("1.30");
    let house = House::with(&Network::Simulated, sound.path().as_os_str());
    // Louder than anything that is set here: it is not turned down by asking for more.
    assert_eq!(house.facts("set_volume", &json!({ "direction": "up" }))["volume"], 130);
    fs::write(sound.path().join("volume"), "gone\n").unwrap();
    insta::assert_snapshot!(house.texts("get_volume", &[json!({})]), @"
    {}
    -> ERROR the answer of PipeWire cannot be read (`Volume: gone`): check that the default output has a volume
    ");
    fs::remove_file(sound.path().join("volume")).unwrap();
    insta::assert_snapshot!(house.texts("set_volume", &[json!({ "level": 20 })]), @r#"
    {"level":20}
    -> ERROR the sound system cannot be asked: `wpctl` failed: Could not connect to PipeWire. Check that sound works on this computer, then try again
    "#);
}

#[test]
fn t1_a_sound_system_that_does_not_answer_is_not_offered() {
    let sound = sound("0.40");
    fs::remove_file(sound.path().join("volume")).unwrap();
    let house = House::with(&Network::Simulated, sound.path().as_os_str());
    assert!(!house.pack.tools().iter().any(|tool| tool["name"] == "get_volume"));
}

/// A folder with a `wpctl` that keeps its volume in a file beside itself.
pub(crate) fn sound(volume: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packs/home/wpctl");
    // A link, because a program that was just written cannot always be run at once.
    std::os::unix::fs::symlink(program, folder.path().join("wpctl")).unwrap();
    fs::write(folder.path().join("volume"), format!("{volume}\n")).unwrap();
    folder
}
