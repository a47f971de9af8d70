//! The home pack in its simulated house: what can be asked of which device, and what is refused.

use serde_json::{Value, json};

use crate::house::House;

const ACTIONS: [&str; 12] = [
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

#[test]
fn c2_devices_are_listed_by_room_kind_and_state_in_pages() {
    let house = House::new();
    insta::assert_snapshot!(house.texts("list_devices", &[
        json!({}),
        json!({ "room": "kitchen" }),
        json!({ "kind": "light", "state": "on" }),
        json!({ "kind": "any_sensor", "limit": 2 }),
        json!({ "kind": "any_sensor", "limit": 2, "offset": 2 }),
        json!({ "state": "unreachable" }),
        json!({ "state": "low_battery" }),
        json!({ "state": "open" }),
        json!({ "state": "locked", "room": "Hall" }),
        json!({ "room": "Cellar" }),
        json!({ "kind": "toaster" }),
    ]), @r#"
    {}
    -> 14 devices
    - Ceiling lamp (Kitchen, node 2), lamp: off
    - Ceiling light (Living room, node 3), dimmer: on at 40 %
    - Reading bulb (Bedroom, node 4), color_bulb: off
    - Coffee machine (Kitchen, node 5), plug: off
    - Thermostat (Living room, node 6), thermostat: heat to 21 °C
    - Front door (Hall, node 7), lock: locked
    - Garage door (Garage, node 8), garage_door: closed
    - Blinds (Bedroom, node 9), blinds: open
    - Motion sensor (Hall, node 10), motion_sensor: motion none
    - Climate sensor (Bedroom, node 11), temperature_sensor: temperature 19.2 °C, humidity 48 %
    - Smoke detector (Kitchen, node 12), smoke_detector: smoke none, battery low (15 %)
    - Window contact (Bathroom, node 13), door_contact: contact open
    - Ceiling lamp (Hall, node 14), lamp: on
    - Garden lights (Garden, node 15), lamp: off, unreachable (last known state)

    {"room":"kitchen"}
    -> 3 devices
    - Ceiling lamp (Kitchen, node 2), lamp: off
    - Coffee machine (Kitchen, node 5), plug: off
    - Smoke detector (Kitchen, node 12), smoke_detector: smoke none, battery low (15 %)

    {"kind":"light","state":"on"}
    -> 2 devices
    - Ceiling light (Living room, node 3), dimmer: on at 40 %
    - Ceiling lamp (Hall, node 14), lamp: on

    {"kind":"any_sensor","limit":2}
    -> 4 devices
    - Motion sensor (Hall, node 10), motion_sensor: motion none
    - Climate sensor (Bedroom, node 11), temperature_sensor: temperature 19.2 °C, humidity 48 %
    More: go on with offset 2

    {"kind":"any_sensor","limit":2,"offset":2}
    -> 4 devices
    - Smoke detector (Kitchen, node 12), smoke_detector: smoke none, battery low (15 %)
    - Window contact (Bathroom, node 13), door_contact: contact open

    {"state":"unreachable"}
    -> 1 device
    - Garden lights (Garden, node 15), lamp: off, unreachable (last known state)

    {"state":"low_battery"}
    -> 1 device
    - Smoke detector (Kitchen, node 12), smoke_detector: smoke none, battery low (15 %)

    {"state":"open"}
    -> 2 devices
    - Blinds (Bedroom, node 9), blinds: open
    - Window contact (Bathroom, node 13), door_contact: contact open

    {"state":"locked","room":"Hall"}
    -> 1 device
    - Front door (Hall, node 7), lock: locked

    {"room":"Cellar"}
    -> ERROR there is no room `Cellar`: the rooms are `Bathroom`, `Bedroom`, `Garage`, `Garden`, `Hall`, `Kitchen`, `Living room`

    {"kind":"toaster"}
    -> ERROR `list_devices` was not run. `kind` is `toaster`, which is no choice: send one of `light`, `any_sensor`, `lamp`, `dimmer`, `color_bulb`, `plug`, `switch`, `thermostat`, `lock`, `garage_door`, `blinds`, `motion_sensor`, `temperature_sensor`, `smoke_detector`, `door_contact`, `sensor`, `other`. It takes `room`, `kind`, `state`, `limit`, `offset`
    "#);
    let page = house.facts("list_devices", &json!({ "limit": 5, "offset": 10 }));
    assert_eq!(page["devices"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&page["total_count"], &page["has_more"], &page["offset"]),
        (&json!(14), &json!(false), &json!(10))
    );
    assert_eq!(house.facts("list_devices", &json!({ "limit": 5 }))["has_more"], true);
}

#[test]
fn c2_a_device_is_shown_with_its_values_and_what_it_can_do() {
    let house = House::new();
    let thermostat = house.facts("get_device", &json!({ "device": "thermostat" }));
    insta::assert_snapshot!(serde_json::to_string_pretty(&thermostat).unwrap(), @r#"
    {
      "id": "6",
      "name": "Thermostat",
      "room": "Living room",
      "kind": "thermostat",
      "state": "heat to 21 °C",
      "reachable": true,
      "values": [
        {
          "quantity": "mode",
          "value": "heat",
          "unit": ""
        },
        {
          "quantity": "target_temperature",
          "value": "21",
          "unit": "°C"
        },
        {
          "quantity": "temperature",
          "value": "20.5",
          "unit": "°C"
        }
      ],
      "actions": [
        "set_temperature",
        "set_mode"
      ],
      "modes": [
        "off",
        "heat",
        "cool",
        "auto"
      ]
    }
    "#);
    insta::assert_snapshot!(house.texts("get_device", &[
        json!({ "device": "Reading bulb" }), json!({ "device": "coffee machine" }), json!({ "device": "12" }),
    ]), @r#"
    {"device":"Reading bulb"}
    -> Reading bulb (Bedroom, node 4), color_bulb: off
    - power_state off
    - brightness 0 %
    - color #ffd6aa
    Actions: on, off, toggle, dim, set_color

    {"device":"coffee machine"}
    -> Coffee machine (Kitchen, node 5), plug: off
    - power_state off
    - power 0 W
    - energy 37.4 kWh
    Actions: on, off, toggle

    {"device":"12"}
    -> Smoke detector (Kitchen, node 12), smoke_detector: smoke none, battery low (15 %)
    - smoke none
    - battery 15 %
    "#);
}

#[test]
fn c2_readings_are_gathered_over_the_house() {
    let house = House::new();
    insta::assert_snapshot!(house.texts("get_sensor_readings", &[
        json!({ "quantity": "temperature" }),
        json!({ "quantity": "battery", "limit": 2, "offset": 1 }),
        json!({ "room": "Hall" }),
        json!({ "quantity": "radiation" }),
    ]), @r#"
    {"quantity":"temperature"}
    -> 2 readings
    - Thermostat (Living room, node 6): temperature 20.5 °C
    - Climate sensor (Bedroom, node 11): temperature 19.2 °C

    {"quantity":"battery","limit":2,"offset":1}
    -> 5 readings
    - Motion sensor (Hall, node 10): battery 67 %
    - Climate sensor (Bedroom, node 11): battery 91 %
    More: go on with offset 3

    {"room":"Hall"}
    -> 3 readings
    - Front door (Hall, node 7): battery 84 %
    - Motion sensor (Hall, node 10): motion none
    - Motion sensor (Hall, node 10): battery 67 %

    {"quantity":"radiation"}
    -> 0 readings of `radiation`; there are `battery`, `contact`, `energy`, `humidity`, `motion`, `power`, `smoke`, `temperature`
    "#);
}

#[test]
fn c1_a_device_is_found_by_name_room_or_id_and_never_guessed() {
    let house = House::new();
    insta::assert_snapshot!(house.texts("get_device", &[
        json!({ "device": "FRONT DOOR" }),
        json!({ "device": "kitchen ceiling lamp" }),
        json!({ "device": "the ceiling lamp in the hall" }),
        json!({ "device": "Ceiling lamp", "room": "Hall" }),
        json!({ "device": "node 9" }),
        json!({ "device": "bedroom light" }),
        json!({ "device": "Ceiling lamp" }),
        json!({ "device": "lamp" }),
        json!({ "device": "Frnt door" }),
        json!({ "device": "Swimming pool" }),
        json!({ "device": "Front door", "room": "Kitchen" }),
        json!({ "device": "Front door", "room": "Attic" }),
        json!({ "device": " ?! " }),
    ]), @r#"
    {"device":"FRONT DOOR"}
    -> Front door (Hall, node 7), lock: locked
    - lock_state locked
    - battery 84 %
    Actions: lock, unlock

    {"device":"kitchen ceiling lamp"}
    -> Ceiling lamp (Kitchen, node 2), lamp: off
    - power_state off
    Actions: on, off, toggle

    {"device":"the ceiling lamp in the hall"}
    -> Ceiling lamp (Hall, node 14), lamp: on
    - power_state on
    Actions: on, off, toggle

    {"device":"Ceiling lamp","room":"Hall"}
    -> Ceiling lamp (Hall, node 14), lamp: on
    - power_state on
    Actions: on, off, toggle

    {"device":"node 9"}
    -> Blinds (Bedroom, node 9), blinds: open
    - position 100 %
    Actions: open, close, set_position

    {"device":"bedroom light"}
    -> Reading bulb (Bedroom, node 4), color_bulb: off
    - power_state off
    - brightness 0 %
    - color #ffd6aa
    Actions: on, off, toggle, dim, set_color

    {"device":"Ceiling lamp"}
    -> ERROR `Ceiling lamp` can be any of 2 devices: `Ceiling lamp (Kitchen, node 2)`, `Ceiling lamp (Hall, node 14)`. Nothing was done; send the id of one as `device`, or add its `room`

    {"device":"lamp"}
    -> ERROR `lamp` can be any of 5 devices: `Ceiling lamp (Kitchen, node 2)`, `Ceiling light (Living room, node 3)`, `Reading bulb (Bedroom, node 4)`, `Ceiling lamp (Hall, node 14)`, `Garden lights (Garden, node 15)`. Nothing was done; send the id of one as `device`, or add its `room`

    {"device":"Frnt door"}
    -> ERROR there is no device `Frnt door`, but `Front door (Hall, node 7)`: nothing was done; list_devices shows what there is

    {"device":"Swimming pool"}
    -> ERROR there is no device `Swimming pool`: nothing was done; list_devices shows what there is

    {"device":"Front door","room":"Kitchen"}
    -> ERROR there is no device `Front door` in `Kitchen`, but `Front door (Hall, node 7)`: nothing was done; list_devices shows what there is

    {"device":"Front door","room":"Attic"}
    -> ERROR there is no room `Attic`: the rooms are `Bathroom`, `Bedroom`, `Garage`, `Garden`, `Hall`, `Kitchen`, `Living room`

    {"device":" ?! "}
    -> ERROR there is no device `?!`: nothing was done; list_devices shows what there is
    "#);
}

#[test]
fn c1_every_kind_of_device_does_its_own_actions_and_refuses_all_others() {
    let mut rows = Vec::new();
    for id in 2..=14 {
        let (mut does, mut kind) = (Vec::new(), String::new());
        for action in ACTIONS {
            // A fresh house each time, so that no action depends on another.
            let house = House::new();
            let before = house.facts("get_device", &json!({ "device": id.to_string() }));
            kind = before["kind"].as_str().unwrap().to_owned();
            let result = house.call("control_device", &asked(&id.to_string(), action));
            let after = house.facts("get_device", &json!({ "device": id.to_string() }));
            if result["isError"] == false {
                does.push(action);
                assert_eq!(result["structuredContent"]["state"], after["state"], "{kind} {action}");
                assert_eq!(result["structuredContent"]["confirmed"], true);
            } else {
                let text = result["content"][0]["text"].as_str().unwrap();
                assert!(text.contains("Nothing was done"), "{kind} {action}: {text}");
                for own in before["actions"].as_array().unwrap() {
                    assert!(
                        text.contains(&format!("`{}`", own.as_str().unwrap())),
                        "{kind} {action}: {text}"
                    );
                }
                assert_eq!(before, after, "{kind} {action}");
            }
            let own = before["actions"].as_array().unwrap().contains(&json!(action));
            assert_eq!(own, result["isError"] == false, "{kind} {action}: {result}");
        }
        rows.push(format!("{id} {kind}: {} actions {}", does.len(), does.join(" ")).trim_end().to_owned());
    }
    insta::assert_snapshot!(rows.join("\n"), @"
    2 lamp: 3 actions on off toggle
    3 dimmer: 4 actions on off toggle dim
    4 color_bulb: 5 actions on off toggle dim set_color
    5 plug: 3 actions on off toggle
    6 thermostat: 2 actions set_temperature set_mode
    7 lock: 2 actions lock unlock
    8 garage_door: 2 actions open close
    9 blinds: 3 actions open close set_position
    10 motion_sensor: 0 actions
    11 temperature_sensor: 0 actions
    12 smoke_detector: 0 actions
    13 door_contact: 0 actions
    14 lamp: 3 actions on off toggle
    ");
}

#[test]
fn c1_a_missing_wrong_or_useless_value_is_named() {
    let house = House::new();
    insta::assert_snapshot!(house.texts("control_device", &[
        json!({ "device": "Ceiling light", "action": "dim" }),
        json!({ "device": "Blinds", "action": "set_position" }),
        json!({ "device": "Reading bulb", "action": "set_color" }),
        json!({ "device": "Reading bulb", "action": "set_color", "color": "loud" }),
        json!({ "device": "Thermostat", "action": "set_temperature" }),
        json!({ "device": "Thermostat", "action": "set_temperature", "temperature": 99 }),
        json!({ "device": "Thermostat", "action": "set_mode" }),
        json!({ "device": "Thermostat", "action": "set_mode", "mode": "boil" }),
        json!({ "device": "Ceiling light", "action": "on", "level": 40 }),
        json!({ "device": "Ceiling light", "action": "dim", "level": 101 }),
        json!({ "device": "Ceiling light", "action": "explode" }),
        json!({ "device": "2", "action": "dim", "level": 10 }),
        json!({ "device": "Motion sensor", "action": "on" }),
        json!({ "action": "on" }),
    ]), @r#"
    {"device":"Ceiling light","action":"dim"}
    -> ERROR action `dim` needs `level`, a whole number from 0 to 100 (percent), for example 40. Nothing was done

    {"device":"Blinds","action":"set_position"}
    -> ERROR action `set_position` needs `level`, a whole number from 0 to 100 (percent), for example 40. Nothing was done

    {"device":"Reading bulb","action":"set_color"}
    -> ERROR action `set_color` needs `color`, for example `#ff8800` or `warm white`. Nothing was done

    {"device":"Reading bulb","action":"set_color","color":"loud"}
    -> ERROR `loud` is no colour: send `#rrggbb`, for example `#ff8800`, or a name such as `red`, `warm white` or `blue`. Nothing was done

    {"device":"Thermostat","action":"set_temperature"}
    -> ERROR action `set_temperature` needs `temperature`, a number from 5 to 30 °C, for example 21.5. Nothing was done

    {"device":"Thermostat","action":"set_temperature","temperature":99}
    -> ERROR `Thermostat (Living room, node 6)` takes temperatures from 5 to 30 °C, and `99` is none. Nothing was done

    {"device":"Thermostat","action":"set_mode"}
    -> ERROR action `set_mode` needs `mode`, one of `off`, `heat`, `cool`, `auto`. Nothing was done

    {"device":"Thermostat","action":"set_mode","mode":"boil"}
    -> ERROR `Thermostat (Living room, node 6)` has no mode `boil`: send one of `off`, `heat`, `cool`, `auto`. Nothing was done

    {"device":"Ceiling light","action":"on","level":40}
    -> ERROR `level` is not used by action `on`: leave it out, or send action `dim`. Nothing was done

    {"device":"Ceiling light","action":"dim","level":101}
    -> ERROR `control_device` was not run. `level` is 101, over 100: send a whole number from 0 to 100, for example 40. It takes `device`, `room`, `action`, `level`, `color`, `temperature`, `mode`, `confirm`

    {"device":"Ceiling light","action":"explode"}
    -> ERROR `control_device` was not run. `action` is `explode`, which is no choice: send one of `on`, `off`, `toggle`, `dim`, `set_color`, `lock`, `unlock`, `open`, `close`, `set_position`, `set_temperature`, `set_mode`. It takes `device`, `room`, `action`, `level`, `color`, `temperature`, `mode`, `confirm`

    {"device":"2","action":"dim","level":10}
    -> ERROR `Ceiling lamp (Kitchen, node 2)` is a lamp and has no action `dim`: it has `on`, `off`, `toggle`. Nothing was done

    {"device":"Motion sensor","action":"on"}
    -> ERROR `Motion sensor (Hall, node 10)` is a motion_sensor and has no action `on`: it can only be read, with get_device. Nothing was done

    {"action":"on"}
    -> ERROR `control_device` was not run. `device` is missing: send a string, for example "Front door". It takes `device`, `room`, `action`, `level`, `color`, `temperature`, `mode`, `confirm`
    "#);
    assert_eq!(house.state("Ceiling light"), "on at 40 %");
    assert_eq!(house.state("Thermostat"), "heat to 21 °C");
}

#[test]
fn c1_a_dimmer_at_zero_is_off_and_comes_back_as_bright_as_it_was() {
    let house = House::new();
    let states: Vec<String> = [
        json!({ "device": "3", "action": "dim", "level": 70 }),
        json!({ "device": "3", "action": "dim", "level": 0 }),
        json!({ "device": "3", "action": "on" }),
        json!({ "device": "3", "action": "toggle" }),
        json!({ "device": "3", "action": "toggle" }),
        json!({ "device": "3", "action": "on" }),
    ]
    .iter()
    .map(|call| house.text("control_device", call))
    .collect();
    insta::assert_snapshot!(states.join("\n"), @"
    Ceiling light (Living room, node 3): on at 40 % -> on at 70 %
    Ceiling light (Living room, node 3): on at 70 % -> off
    Ceiling light (Living room, node 3): off -> on at 70 %
    Ceiling light (Living room, node 3): on at 70 % -> off
    Ceiling light (Living room, node 3): off -> on at 70 %
    Ceiling light (Living room, node 3): on at 70 % -> on at 70 %
    ");
    let again = house.facts("control_device", &json!({ "device": "3", "action": "on" }));
    assert_eq!(again["changed"], false);
}

#[test]
fn c1_effects_that_a_user_might_not_expect_are_remarked() {
    let house = House::new();
    house.facts("control_device", &json!({ "device": "Thermostat", "action": "set_mode", "mode": "Off" }));
    insta::assert_snapshot!(house.texts("control_device", &[
        json!({ "device": "Thermostat", "action": "set_temperature", "temperature": 22.5 }),
        json!({ "device": "Reading bulb", "action": "set_color", "color": "Orange" }),
        json!({ "device": "Coffee machine", "action": "on" }),
    ]), @r#"
    {"device":"Thermostat","action":"set_temperature","temperature":22.5}
    -> Thermostat (Living room, node 6): off (set to 21 °C) -> off (set to 22.5 °C)
    Note: the thermostat is off, so it will not heat or cool until set_mode chooses another mode

    {"device":"Reading bulb","action":"set_color","color":"Orange"}
    -> Reading bulb (Bedroom, node 4): off -> off
    Note: the bulb is off: the colour shows when it is switched on

    {"device":"Coffee machine","action":"on"}
    -> Coffee machine (Kitchen, node 5): off -> on
    "#);
    let draws = house.text("get_sensor_readings", &json!({ "quantity": "power" }));
    assert!(draws.contains("power 900 W"), "{draws}");
}

#[test]
fn r8_a_device_out_of_reach_is_a_soft_error_and_stays_as_it_was() {
    let house = House::new();
    insta::assert_snapshot!(house.texts("control_device", &[json!({ "device": "Garden lights", "action": "on" })]), @r#"
    {"device":"Garden lights","action":"on"}
    -> ERROR `Garden lights (Garden, node 15)` did not answer: it is out of reach or without power. Nothing was done; check its power and its distance, then try again
    "#);
    insta::assert_snapshot!(house.texts("get_device", &[json!({ "device": "Garden lights" })]), @r#"
    {"device":"Garden lights"}
    -> Garden lights (Garden, node 15), lamp: off, unreachable (last known state)
    - power_state off
    Actions: on, off, toggle
    "#);
}

#[test]
fn t1_the_date_and_the_time_are_told() {
    let house = House::new();
    insta::assert_snapshot!(house.texts("get_datetime", &[
        json!({}), json!({ "zone": "Tokyo" }), json!({ "zone": "Tokio" }),
    ]), @r#"
    {}
    -> Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00)

    {"zone":"Tokyo"}
    -> Sunday 2026-03-01 20:00:00 (Asia/Tokyo, UTC+09:00)

    {"zone":"Tokio"}
    -> ERROR `Tokio` is no time zone that is known here: send an IANA name such as `Europe/Paris`, a large city, or an offset such as `UTC+2`; did you mean `Asia/Tokyo`?
    "#);
    let now = house.facts("get_datetime", &json!({}));
    for (name, value) in
        [("date", "2026-03-01"), ("time", "12:00:00"), ("weekday", "Sunday"), ("zone", "Europe/Berlin")]
    {
        assert_eq!(now[name], value);
    }
}

/// The arguments that an action needs, with consent, and no others.
fn asked(device: &str, action: &str) -> Value {
    let mut call = json!({ "device": device, "action": action, "confirm": true });
    match action {
        "dim" | "set_position" => call["level"] = json!(35),
        "set_color" => call["color"] = json!("#102030"),
        "set_temperature" => call["temperature"] = json!(18),
        "set_mode" => call["mode"] = json!("cool"),
        _ => {}
    }
    call
}
