//! Consent and several changes at once: doors open only when the user agreed, and a failure stops nothing else.

use serde_json::{Value, json};

use crate::house::House;

#[test]
fn c3_doors_open_only_with_consent() {
    let house = House::new();
    for (device, action, shut, opened) in
        [("Front door", "unlock", "locked", "unlocked"), ("Garage door", "open", "closed", "open")]
    {
        for confirm in [Value::Null, json!(false)] {
            let call = json!({ "device": device, "action": action, "confirm": confirm });
            let text = house.text("control_device", &call);
            assert!(text.starts_with("ERROR ") && text.contains("`confirm: true`"), "{text}");
            assert_eq!(house.state(device), shut);
        }
        let text =
            house.text("control_device", &json!({ "device": device, "action": action, "confirm": "true" }));
        assert!(text.contains("`confirm` is a string"), "{text}");
        assert_eq!(house.state(device), shut);
        house.facts("control_device", &json!({ "device": device, "action": action, "confirm": true }));
        assert_eq!(house.state(device), opened);
        // Making a house safe again needs nobody's consent.
        let back = if action == "unlock" { "lock" } else { "close" };
        house.facts("control_device", &json!({ "device": device, "action": back }));
        assert_eq!(house.state(device), shut);
    }
}

#[test]
fn c3_a_scene_opens_no_door_without_consent_and_does_the_rest() {
    let house = House::new();
    let mut scene = json!({ "changes": [
        { "device": "Ceiling light", "action": "dim", "level": 20 },
        { "device": "Front door", "action": "unlock" },
        // Consent is given for the whole scene and cannot be slipped into one change.
        { "device": "Garage door", "action": "open", "confirm": true },
    ] });
    let outcome = house.facts("set_scene", &scene);
    assert_eq!((&outcome["success_count"], &outcome["total"]), (&json!(1), &json!(3)));
    assert_eq!(
        (house.state("Front door"), house.state("Garage door")),
        ("locked".to_owned(), "closed".to_owned())
    );
    scene["confirm"] = json!(true);
    scene["changes"][2].as_object_mut().unwrap().remove("confirm");
    assert_eq!(house.facts("set_scene", &scene)["success_count"], 3);
    assert_eq!(
        (house.state("Front door"), house.state("Garage door")),
        ("unlocked".to_owned(), "open".to_owned())
    );
}

#[test]
fn c4_a_scene_reports_what_was_done_and_what_failed() {
    let house = House::new();
    insta::assert_snapshot!(house.text("set_scene", &json!({ "changes": [
        { "device": "Ceiling light", "action": "dim", "level": 20 },
        { "device": "Blinds", "action": "close" },
        { "device": "Ceiling lamp", "action": "off" },
        { "device": "Garden lights", "action": "on" },
        { "device": "Smoke detector", "action": "off" },
        { "device": "Reading bulb", "action": "dim", "lvl": 5 },
        { "device": "Reading bulb" },
        {},
    ] })), @r#"
    2 of 8 done
    - Ceiling light (Living room, node 3): on at 40 % -> on at 20 %
    - Blinds (Bedroom, node 9): open -> closed
    - FAILED change 3 (Ceiling lamp): `Ceiling lamp` can be any of 2 devices: `Ceiling lamp (Kitchen, node 2)`, `Ceiling lamp (Hall, node 14)`. Nothing was done; send the id of one as `device`, or add its `room`
    - FAILED change 4 (Garden lights): `Garden lights (Garden, node 15)` did not answer: it is out of reach or without power. Nothing was done; check its power and its distance, then try again
    - FAILED change 5 (Smoke detector): `Smoke detector (Kitchen, node 12)` is a smoke_detector and has no action `off`: it can only be read, with get_device. Nothing was done
    - FAILED change 6 (Reading bulb): `change 6` was not run. There is no argument `lvl`. It takes `device`, `room`, `action`, `level`, `color`, `temperature`, `mode`
    - FAILED change 7 (Reading bulb): `change 7` was not run. `action` is missing: send one of `on`, `off`, `toggle`, `dim`, `set_color`, `lock`, `unlock`, `open`, `close`, `set_position`, `set_temperature`, `set_mode`. It takes `device`, `room`, `action`, `level`, `color`, `temperature`, `mode`
    - FAILED change 8: `change 8` was not run. `device` is missing: send a string, for example "Front door". `action` is missing: send one of `on`, `off`, `toggle`, `dim`, `set_color`, `lock`, `unlock`, `open`, `close`, `set_position`, `set_temperature`, `set_mode`. It takes `device`, `room`, `action`, `level`, `color`, `temperature`, `mode`
    "#);
    insta::assert_snapshot!(house.texts("set_scene", &[
        json!({ "changes": [] }),
        json!({ "changes": vec![json!({ "device": "3", "action": "on" }); 11] }),
        json!({ "changes": ["lights out"] }),
        json!({}),
    ]), @r#"
    {"changes":[]}
    -> ERROR `set_scene` was not run. `changes` has 0 items, under 1: send a list of objects, for example [{"device":"Ceiling light","action":"dim","level":20}]. It takes `changes`, `confirm`

    {"changes":[{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"},{"device":"3","action":"on"}]}
    -> ERROR `set_scene` was not run. `changes` has 11 items, over 10: send a list of objects, for example [{"device":"Ceiling light","action":"dim","level":20}]. It takes `changes`, `confirm`

    {"changes":["lights out"]}
    -> ERROR `set_scene` was not run. `changes` has an item that is a string and not an object: send a list of objects, for example [{"device":"Ceiling light","action":"dim","level":20}]. It takes `changes`, `confirm`

    {}
    -> ERROR `set_scene` was not run. `changes` is missing: send a list of objects, for example [{"device":"Ceiling light","action":"dim","level":20}]. It takes `changes`, `confirm`
    "#);
    assert_eq!((house.state("3"), house.state("Blinds")), ("on at 20 %".to_owned(), "closed".to_owned()));
}

#[test]
fn c4_everything_is_switched_off_by_room_or_kind() {
    let house = House::new();
    house.facts("control_device", &json!({ "device": "Coffee machine", "action": "on" }));
    insta::assert_snapshot!(house.texts("all_off", &[
        json!({ "room": "Kitchen", "kind": "light" }),
        json!({ "kind": "light" }),
        json!({}),
        json!({}),
        json!({ "room": "Moon" }),
    ]), @r#"
    {"room":"Kitchen","kind":"light"}
    -> There was nothing to switch off

    {"kind":"light"}
    -> 2 of 2 done
    - Ceiling light (Living room, node 3): on at 40 % -> off
    - Ceiling lamp (Hall, node 14): on -> off

    {}
    -> 1 of 1 done
    - Coffee machine (Kitchen, node 5): on -> off

    {}
    -> There was nothing to switch off

    {"room":"Moon"}
    -> ERROR there is no room `Moon`: the rooms are `Bathroom`, `Bedroom`, `Garage`, `Garden`, `Hall`, `Kitchen`, `Living room`
    "#);
    assert_eq!(house.state("Front door"), "locked");
    assert_eq!(house.state("Thermostat"), "heat to 21 °C");
}
