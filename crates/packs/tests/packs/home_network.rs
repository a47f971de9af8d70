//! Real networks: a Z-Wave JS server and the MQTT gateway of Z-Wave JS UI, over sockets on loopback.

use std::{ffi::OsStr, io::Write, net::TcpListener, thread};

use serde_json::{Value, json};
use toolyard_packs::Network;

use crate::{
    broker::{self, Broker},
    house::House,
    replay::{Manner, Replay},
};

#[test]
fn t1_the_nodes_of_a_zwave_js_server_become_devices() {
    let server = Replay::new(Manner::Recorded);
    let house = house(&server.network);
    insta::assert_snapshot!(house.text("list_devices", &json!({})), @"
    13 devices
    - Ceiling lamp (Kitchen, node 2), lamp: off
    - Dimmer (Living room, node 3), dimmer: on at 40 %
    - Front door (Hall, node 4), lock: unlocked
    - Thermostat (Living room, node 5), thermostat: off (set to 21 °C)
    - Blinds (Bedroom, node 6), blinds: closed
    - Colour bulb (Bedroom, node 7), color_bulb: on at 100 %, #ff8000
    - Plug (Office, node 8), plug: on
    - Motion (Hall, node 9), motion_sensor: motion detected
    - Smoke (Kitchen, node 10), smoke_detector: smoke none
    - Window (Bedroom, node 11), door_contact: unknown
    - Shade (Office, node 12), blinds: closed
    - Garage door (Garage, node 13), garage_door: unknown
    - Node 14 (node 14), other: unknown, unreachable (last known state)
    ");
    insta::assert_snapshot!(house.texts("get_device", &[
        json!({ "device": "Thermostat" }), json!({ "device": "Plug" }), json!({ "device": "Colour bulb" }),
    ]), @r#"
    {"device":"Thermostat"}
    -> Thermostat (Living room, node 5), thermostat: off (set to 21 °C)
    - mode off
    - target_temperature 21 °C
    - temperature 20.5 °C
    Modes: off, heat, cool
    Actions: set_temperature, set_mode

    {"device":"Plug"}
    -> Plug (Office, node 8), plug: on
    - power_state on
    - energy 12.25 kWh
    - power 42.5 W
    Actions: on, off, toggle

    {"device":"Colour bulb"}
    -> Colour bulb (Bedroom, node 7), color_bulb: on at 100 %, #ff8000
    - power_state on
    - brightness 100 %
    - color #ff8000
    Actions: on, off, toggle, dim, set_color
    "#);
    insta::assert_snapshot!(house.text("get_sensor_readings", &json!({})), @"
    5 readings
    - Thermostat (Living room, node 5): temperature 20.5 °C
    - Plug (Office, node 8): energy 12.25 kWh
    - Plug (Office, node 8): power 42.5 W
    - Motion (Hall, node 9): motion detected
    - Smoke (Kitchen, node 10): smoke none
    ");
    assert_eq!(server.schemas(), [35, 35, 35, 35, 35]);
    assert_eq!(server.writes(), [] as [Value; 0]);
}

#[test]
fn t1_changes_go_to_a_zwave_js_server_and_its_news_are_heard() {
    let server = Replay::new(Manner::Recorded);
    let house = house(&server.network);
    insta::assert_snapshot!(house.texts("control_device", &[
        json!({ "device": "kitchen ceiling lamp", "action": "on" }),
        json!({ "device": "Dimmer", "action": "dim", "level": 60 }),
        json!({ "device": "Dimmer", "action": "toggle" }),
        json!({ "device": "Front door", "action": "lock" }),
        json!({ "device": "Thermostat", "action": "set_mode", "mode": "heat" }),
        json!({ "device": "Thermostat", "action": "set_temperature", "temperature": 22.5 }),
        json!({ "device": "Shade", "action": "set_position", "level": 50 }),
        json!({ "device": "Colour bulb", "action": "set_color", "color": "green" }),
        json!({ "device": "Garage door", "action": "open", "confirm": true }),
    ]), @r#"
    {"device":"kitchen ceiling lamp","action":"on"}
    -> Ceiling lamp (Kitchen, node 2): off -> on

    {"device":"Dimmer","action":"dim","level":60}
    -> Dimmer (Living room, node 3): on at 40 % -> on at 60 %

    {"device":"Dimmer","action":"toggle"}
    -> Dimmer (Living room, node 3): on at 40 % -> off

    {"device":"Front door","action":"lock"}
    -> Front door (Hall, node 4): unlocked -> locked

    {"device":"Thermostat","action":"set_mode","mode":"heat"}
    -> Thermostat (Living room, node 5): off (set to 21 °C) -> heat to 21 °C

    {"device":"Thermostat","action":"set_temperature","temperature":22.5}
    -> Thermostat (Living room, node 5): off (set to 21 °C) -> off (set to 22.5 °C)
    Note: the thermostat is off, so it will not heat or cool until set_mode chooses another mode

    {"device":"Shade","action":"set_position","level":50}
    -> Shade (Office, node 12): closed -> 50 % open

    {"device":"Colour bulb","action":"set_color","color":"green"}
    -> ERROR `Colour bulb (Bedroom, node 7)` did not do it: The node did not acknowledge the command (ZW0204). Check its power, its battery and its distance, then try again

    {"device":"Garage door","action":"open","confirm":true}
    -> ERROR `Garage door (Garage, node 13)` did not do it: The node did not acknowledge the command (ZW0204). Check its power, its battery and its distance, then try again
    "#);
    let writes: Vec<String> = server.writes().iter().map(Value::to_string).collect();
    insta::assert_snapshot!(writes.join("\n"), @r#"
    {"command":"node.set_value","nodeId":2,"valueId":{"commandClass":37,"endpoint":0,"property":"targetValue"},"value":true}
    {"command":"node.set_value","nodeId":3,"valueId":{"commandClass":38,"endpoint":0,"property":"targetValue"},"value":60}
    {"command":"node.set_value","nodeId":3,"valueId":{"commandClass":38,"endpoint":0,"property":"targetValue"},"value":0}
    {"command":"node.set_value","nodeId":4,"valueId":{"commandClass":98,"endpoint":0,"property":"targetMode"},"value":255}
    {"command":"node.set_value","nodeId":5,"valueId":{"commandClass":64,"endpoint":0,"property":"mode"},"value":1}
    {"command":"node.set_value","nodeId":5,"valueId":{"commandClass":67,"endpoint":0,"property":"setpoint","propertyKey":1},"value":22.5}
    {"command":"node.set_value","nodeId":12,"valueId":{"commandClass":106,"endpoint":0,"property":"targetValue","propertyKey":13},"value":50}
    {"command":"node.set_value","nodeId":7,"valueId":{"commandClass":51,"endpoint":0,"property":"hexColor"},"value":"00ff00"}
    {"command":"node.set_value","nodeId":13,"valueId":{"commandClass":102,"endpoint":0,"property":"targetState"},"value":255}
    "#);
}

#[test]
fn c3_consent_and_sense_are_checked_before_a_network_is_told_anything() {
    let server = Replay::new(Manner::Recorded);
    let house = house(&server.network);
    for call in [
        json!({ "device": "Front door", "action": "unlock" }),
        json!({ "device": "Garage door", "action": "open", "confirm": false }),
        json!({ "device": "Plug", "action": "dim", "level": 3 }),
        json!({ "device": "Thermostat", "action": "set_mode", "mode": "auto" }),
        json!({ "device": "Attic lamp", "action": "on" }),
    ] {
        let text = house.text("control_device", &call);
        assert!(text.starts_with("ERROR "), "{call}: {text}");
    }
    assert_eq!(server.writes(), [] as [Value; 0]);
    // The lock of the recording is open, so that only the consent tells the two calls apart.
    house.facts("control_device", &json!({ "device": "Front door", "action": "unlock", "confirm": true }));
    assert_eq!(server.writes().len(), 1);
}

#[test]
fn t1_a_change_that_the_device_does_not_report_is_not_called_confirmed() {
    let server = Replay::new(Manner::Recorded);
    let house = house(&server.network);
    let call = json!({ "device": "Blinds", "action": "open" });
    let facts = house.facts("control_device", &call);
    assert_eq!((&facts["confirmed"], &facts["state"]), (&json!(false), &json!("closed")));
    let remark = facts["remarks"][0].as_str().unwrap();
    assert!(remark.contains("get_device before repeating"), "{remark}");
    assert_eq!(server.writes().len(), 1);
}

#[test]
fn t1_a_scene_uses_one_connection_and_reports_each_change() {
    let server = Replay::new(Manner::Recorded);
    let house = house(&server.network);
    let scene = json!({ "changes": [
        { "device": "Ceiling lamp", "action": "on" },
        { "device": "Colour bulb", "action": "set_color", "color": "#00ff00" },
        { "device": "Dimmer", "action": "off" },
    ] });
    insta::assert_snapshot!(house.text("set_scene", &scene), @"
    2 of 3 done
    - Ceiling lamp (Kitchen, node 2): off -> on
    - FAILED change 2 (Colour bulb): `Colour bulb (Bedroom, node 7)` did not do it: The node did not acknowledge the command (ZW0204). Check its power, its battery and its distance, then try again
    - Dimmer (Living room, node 3): on at 40 % -> off
    ");
    assert_eq!(server.schemas(), [35]);
}

#[test]
fn t1_an_old_zwave_js_server_is_spoken_to_in_its_version() {
    let server = Replay::new(Manner::Old);
    let house = house(&server.network);
    let facts = house.facts("control_device", &json!({ "device": "Ceiling lamp", "action": "on" }));
    assert_eq!((&facts["state"], &facts["confirmed"]), (&json!("on"), &json!(true)));
    assert_eq!(server.schemas(), [20]);
}

#[test]
fn r8_a_lost_connection_is_never_answered_by_sending_again() {
    let server = Replay::new(Manner::GoneOnce);
    let zwave_js = house(&server.network);
    let call = json!({ "device": "Ceiling lamp", "action": "on" });
    let text = zwave_js.text("control_device", &call);
    assert!(
        text.starts_with("ERROR ") && text.contains("may still happen") && text.contains("get_device"),
        "{text}"
    );
    assert_eq!(server.writes().len(), 1);
    // The next call connects again.
    assert_eq!(zwave_js.facts("control_device", &call)["state"], "on");

    let broker = Broker::new(gateway(), broker::Manner::GoneOnce);
    let mqtt = house(&broker.network());
    let text = mqtt.text("control_device", &call);
    assert!(text.starts_with("ERROR ") && text.contains("may still happen"), "{text}");
    assert_eq!(broker.published().len(), 1);
    assert_eq!(mqtt.facts("control_device", &call)["state"], "on");
}

#[test]
fn r8_a_network_that_is_away_is_a_soft_error_that_says_what_to_check() {
    // A port that was free a moment ago and that nobody listens to.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for network in [format!("ws://{free}"), format!("mqtt://{free}")] {
        let house = house(&network.parse().unwrap());
        for (tool, arguments) in [
            ("list_devices", json!({})),
            ("control_device", json!({ "device": "3", "action": "on" })),
            ("set_scene", json!({ "changes": [{ "device": "3", "action": "on" }] })),
            ("all_off", json!({})),
        ] {
            let text = house.text(tool, &arguments);
            assert!(text.starts_with("ERROR ") && text.contains(&free.to_string()), "{text}");
            assert!(text.contains("check that it is running"), "{text}");
        }
        // What needs no network works on.
        house.facts("get_datetime", &json!({}));
    }
}

#[test]
fn r8_what_is_no_network_is_told_as_such() {
    let reply = |text: &'static [u8]| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || listener.incoming().for_each(|it| it.unwrap().write_all(text).unwrap()));
        address
    };
    for (scheme, answer) in [
        ("ws", &b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"[..]),
        ("ws", b""),
        ("ws", b"\x20\x02\0\0"),
        ("mqtt", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        ("mqtt", b""),
        ("mqtt", b"\x20\x02\0\x02"),
    ] {
        let house = house(&format!("{scheme}://{}", reply(answer)).parse().unwrap());
        let text = house.text("list_devices", &json!({}));
        let named = if scheme == "ws" { "is not a Z-Wave JS server" } else { "is not a MQTT broker" };
        assert!(text.starts_with("ERROR ") && text.contains(named), "{answer:?}: {text}");
    }
}

#[test]
fn r8_a_network_that_says_nothing_is_given_up_on() {
    for scheme in ["ws", "mqtt"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let house = house(&format!("{scheme}://{}", listener.local_addr().unwrap()).parse().unwrap());
        let text = house.text("list_devices", &json!({}));
        assert!(text.starts_with("ERROR ") && text.contains("did not answer within 4 s"), "{text}");
    }
}

#[test]
fn t1_the_values_of_an_mqtt_gateway_become_devices() {
    let broker = Broker::new(gateway(), broker::Manner::Tells);
    let house = house(&broker.network());
    insta::assert_snapshot!(house.text("list_devices", &json!({})), @"
    12 devices
    - Ceiling lamp (Kitchen, node 2), lamp: off
    - Front door (Hall, node 4), lock: locked, battery low (12 %)
    - Node 9 (node 9), motion_sensor: motion detected, unreachable (last known state)
    - Node 37 (Office, node 37), plug: on
    - Bulb (Bedroom, node Bedroom/Bulb), color_bulb: off
    - Garage door (Garage, node Garage/Garage_door), garage_door: closed
    - Garden gate (node Garden_gate), switch: off
    - Dimmer (Living room, node Living_room/Dimmer), dimmer: on at 100 %
    - Thermostat (Living room, node Living_room/Thermostat), thermostat: off (set to 21 °C)
    - Shade (Office, node Office/Shade), blinds: open
    - Strip 1 (Office, node Office/Strip-1), switch: on
    - Strip 2 (Office, node Office/Strip-2), switch: on
    ");
    insta::assert_snapshot!(house.text("get_sensor_readings", &json!({})), @"
    4 readings
    - Front door (Hall, node 4): battery 12 %
    - Node 9 (node 9): motion detected (unreachable: last known)
    - Node 37 (Office, node 37): power 42.5 W
    - Thermostat (Living room, node Living_room/Thermostat): temperature 20.5 °C
    ");
    assert_eq!(broker.published(), [] as [String; 0]);
}

#[test]
fn t1_changes_are_published_to_the_mqtt_gateway_and_its_news_are_heard() {
    let broker = Broker::new(gateway(), broker::Manner::Tells);
    let house = house(&broker.network());
    insta::assert_snapshot!(house.texts("control_device", &[
        json!({ "device": "Ceiling lamp", "action": "on" }),
        json!({ "device": "Dimmer", "action": "dim", "level": 25 }),
        json!({ "device": "Front door", "action": "unlock" }),
        json!({ "device": "Front door", "action": "unlock", "confirm": true }),
        json!({ "device": "Thermostat", "action": "set_temperature", "temperature": 19.5 }),
        json!({ "device": "Thermostat", "action": "set_mode", "mode": "heat" }),
        json!({ "device": "Bulb", "action": "set_color", "color": "#123456" }),
        json!({ "device": "Shade", "action": "close" }),
        json!({ "device": "Garage door", "action": "open", "confirm": true }),
        json!({ "device": "Strip 2", "action": "off" }),
        json!({ "device": "Garden gate", "action": "on" }),
    ]), @r##"
    {"device":"Ceiling lamp","action":"on"}
    -> Ceiling lamp (Kitchen, node 2): off -> on

    {"device":"Dimmer","action":"dim","level":25}
    -> Dimmer (Living room, node Living_room/Dimmer): on at 100 % -> on at 25 %

    {"device":"Front door","action":"unlock"}
    -> ERROR `unlock` of `Front door (Hall, node 4)` can let somebody in, so it needs consent: ask the user, and if they agree send the same call with `confirm: true`. Nothing was done

    {"device":"Front door","action":"unlock","confirm":true}
    -> Front door (Hall, node 4): locked -> unlocked

    {"device":"Thermostat","action":"set_temperature","temperature":19.5}
    -> Thermostat (Living room, node Living_room/Thermostat): off (set to 21 °C) -> off (set to 19.5 °C)
    Note: the thermostat is off, so it will not heat or cool until set_mode chooses another mode

    {"device":"Thermostat","action":"set_mode","mode":"heat"}
    -> Thermostat (Living room, node Living_room/Thermostat): off (set to 19.5 °) -> heat to 19.5 °

    {"device":"Bulb","action":"set_color","color":"#123456"}
    -> Bulb (Bedroom, node Bedroom/Bulb): off -> off
    Note: the bulb is off: the colour shows when it is switched on

    {"device":"Shade","action":"close"}
    -> Shade (Office, node Office/Shade): open -> closed

    {"device":"Garage door","action":"open","confirm":true}
    -> Garage door (Garage, node Garage/Garage_door): closed -> open

    {"device":"Strip 2","action":"off"}
    -> Strip 2 (Office, node Office/Strip-2): on -> off

    {"device":"Garden gate","action":"on"}
    -> ERROR `on` of `Garden gate (node Garden_gate)` can let somebody in, so it needs consent: ask the user, and if they agree send the same call with `confirm: true`. Nothing was done
    "##);
    insta::assert_snapshot!(broker.published().join("\n"), @r#"
    zwave/Kitchen/Ceiling_lamp/37/0/targetValue/set {"value":true}
    zwave/Living_room/Dimmer/38/0/targetValue/set {"value":25}
    zwave/Hall/Front_door/98/0/targetMode/set {"value":0}
    zwave/Living_room/Thermostat/67/0/setpoint/1/set {"value":19.5}
    zwave/Living_room/Thermostat/64/0/mode/set {"value":1}
    zwave/Bedroom/Bulb/color/endpoint_0/hexColor/set {"value":"123456"}
    zwave/Office/Shade/106/0/targetValue/13/set {"value":0}
    zwave/Garage/Garage_door/102/0/targetState/set {"value":255}
    zwave/Office/Strip/37/2/targetValue/set {"value":false}
    "#);
}

#[test]
fn t1_a_gateway_that_does_not_answer_a_change_is_not_taken_for_success() {
    let broker = Broker::new(gateway(), broker::Manner::Mute);
    let facts = house(&broker.network())
        .facts("control_device", &json!({ "device": "Ceiling lamp", "action": "on" }));
    assert_eq!((&facts["confirmed"], &facts["state"]), (&json!(false), &json!("off")));
    assert_eq!(broker.published().len(), 1);
}

#[test]
fn r8_a_broker_without_gateway_values_or_login_is_told_as_such() {
    let away = |online: bool| {
        let mut messages = gateway();
        messages.push(("zwave/_CLIENTS/ZWAVE_GATEWAY-house/status".to_owned(), json!({ "value": online })));
        messages
    };
    let empty = Broker::new(Vec::new(), broker::Manner::Tells);
    let gone = Broker::new(away(false), broker::Manner::Tells);
    let there = Broker::new(away(true), broker::Manner::Tells);
    let locked = Broker::new(gateway(), broker::Manner::Locked);
    let told = |network: &Network| house(network).text("list_devices", &json!({}));
    let texts = [
        (told(&empty.network()), "check the prefix"),
        (told(&gone.network()), "Z-Wave JS UI is not connected"),
        (told(&locked.network()), "refused the login (bad user name or password)"),
    ];
    for (text, expected) in texts {
        assert!(text.starts_with("ERROR ") && text.contains(expected), "{text}");
    }
    assert!(told(&there.network()).starts_with("12 devices"));
    let with_login = format!("mqtt://me:pass%2Fword@{}/zwave", locked.address).parse().unwrap();
    assert!(told(&with_login).starts_with("12 devices"));
}

#[test]
#[ignore = "needs a running Z-Wave JS server: set TOOLYARD_ZWAVE_JS_URL, for example to ws://127.0.0.1:3000"]
fn t1_a_real_zwave_js_server_is_controlled() {
    let url =
        std::env::var("TOOLYARD_ZWAVE_JS_URL").expect("TOOLYARD_ZWAVE_JS_URL is the address of the server");
    switches_a_light(&house(&url.parse().unwrap()));
}

#[test]
#[ignore = "needs a broker with a Z-Wave JS UI gateway: set TOOLYARD_MQTT_URL, for example to mqtt://127.0.0.1:1883/zwave"]
fn t1_a_real_mqtt_broker_is_controlled() {
    let url = std::env::var("TOOLYARD_MQTT_URL").expect("TOOLYARD_MQTT_URL is the address of the broker");
    switches_a_light(&house(&url.parse().unwrap()));
}

/// Switches the first device that can be switched on and off, and back.
fn switches_a_light(house: &House) {
    let listed = house.facts("list_devices", &json!({}));
    let devices = listed["devices"].as_array().unwrap();
    let can = |it: &&Value| it["reachable"] == true && ["on", "off"].contains(&it["state"].as_str().unwrap());
    let light = devices.iter().find(can).expect("a device that is on or off");
    let id = light["id"].as_str().unwrap();
    for action in ["on", "off", "toggle", "off"] {
        let made = house.facts("control_device", &json!({ "device": id, "action": action }));
        assert_eq!(made["confirmed"], true, "{made}");
        assert_eq!(made["state"], if action == "off" { "off" } else { "on" });
        assert_eq!(house.state(id), made["state"]);
    }
    let wrong = house.text("control_device", &json!({ "device": id, "action": "lock" }));
    assert!(wrong.starts_with("ERROR "), "{wrong}");
}

fn house(network: &Network) -> House {
    House::with(network, OsStr::new(""))
}

/// What a gateway retains: by numbers, by names, with entire values and with bare ones.
fn gateway() -> Vec<(String, Value)> {
    let value = |value: Value| json!({ "time": 1_772_362_800_000_u64, "value": value });
    let rows: Vec<(&str, Value)> = vec![
        ("driver/status", value(json!(true))),
        ("Kitchen/Ceiling_lamp/status", json!({ "time": 1, "value": true, "status": "Alive", "nodeId": 2 })),
        ("Kitchen/Ceiling_lamp/37/0/currentValue", value(json!(false))),
        ("Kitchen/Ceiling_lamp/37/0/targetValue", value(json!(false))),
        ("Kitchen/Ceiling_lamp/37/0/targetValue/set", json!({ "value": true })),
        ("Living_room/Dimmer/38/0/currentValue", value(json!(99))),
        ("Hall/Front_door/98/0/currentMode", value(json!(255))),
        ("Hall/Front_door/98/0/boltStatus", value(json!("locked"))),
        ("Hall/Front_door/128/0/level", value(json!(12))),
        ("Hall/Front_door/status", json!({ "time": 1, "value": true, "status": "Asleep", "nodeId": 4 })),
        ("Living_room/Thermostat/64/0/mode", value(json!(0))),
        ("Living_room/Thermostat/67/0/setpoint/1", json!({ "value": 21, "unit": "°C", "min": 5, "max": 30 })),
        ("Living_room/Thermostat/49/0/Air_temperature", json!({ "value": 20.5, "unit": "°C" })),
        ("Bedroom/Bulb/switch_multilevel/endpoint_0/currentValue", value(json!(0))),
        ("Bedroom/Bulb/color/endpoint_0/hexColor", value(json!("ffffff"))),
        ("Bedroom/Bulb/color/endpoint_0/currentColor/2", value(json!(255))),
        ("Office/Shade/106/0/currentValue/13", value(json!(99))),
        ("Garage/Garage_door/102/0/currentState", value(json!(0))),
        ("Office/37/37/1/currentValue", json!(true)),
        ("Office/37/50/1/value/66049", json!(42.5)),
        ("nodeID_9/113/0/Home_Security/Motion_sensor_status", value(json!(8))),
        ("nodeID_9/status", json!({ "time": 1, "value": false, "status": "Dead", "nodeId": 9 })),
        ("Office/Strip/37/0/currentValue", value(json!(true))),
        ("Office/Strip/37/1/currentValue", value(json!(true))),
        ("Office/Strip/37/2/currentValue", value(json!(true))),
        ("Garden_gate/37/0/currentValue", value(json!(false))),
        ("1/status", json!({ "time": 1, "value": true, "status": "Alive", "nodeId": 1 })),
        ("_EVENTS/ZWAVE_GATEWAY-house/node/node_ready", json!({ "data": [] })),
    ];
    rows.into_iter().map(|(topic, value)| (format!("zwave/{topic}"), value)).collect()
}
