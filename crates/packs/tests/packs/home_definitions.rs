//! What the clients of a home pack see, and that whatever is sent is answered.

use std::ffi::OsStr;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolyard_packs::{Kind, Network, Pack};

use crate::{
    arbitrary::{answered, any_arguments, any_json, calls},
    home_volume::sound,
    house::House,
};

#[test]
fn t1_d1_every_tool_is_in_one_tier_and_carries_its_domain() {
    let (house, _sound) = loud();
    let rows: Vec<String> = house
        .pack
        .tools()
        .iter()
        .map(|tool| {
            let hints = &tool["annotations"];
            format!(
                "{} {} reads {} destroys {} repeats {} {}",
                tool["name"].as_str().unwrap(),
                tool["_meta"],
                hints["readOnlyHint"],
                hints["destructiveHint"],
                hints["idempotentHint"],
                tool["inputSchema"]["required"]
            )
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r#"
    list_devices {"tags":["domain:devices","zwave","smart-home"],"tier":0} reads true destroys false repeats true []
    get_device {"tags":["domain:devices","zwave","smart-home"],"tier":0} reads true destroys false repeats true ["device"]
    get_sensor_readings {"tags":["domain:devices","zwave","smart-home"],"tier":0} reads true destroys false repeats true []
    control_device {"tags":["domain:devices","zwave","smart-home"],"tier":0} reads false destroys false repeats false ["device","action"]
    set_scene {"tags":["domain:devices","zwave","smart-home"],"tier":0} reads false destroys false repeats false ["changes"]
    all_off {"tags":["domain:devices","zwave","smart-home"],"tier":0} reads false destroys false repeats true []
    get_datetime {"tags":["domain:datetime"],"tier":1} reads true destroys false repeats true []
    get_volume {"tags":["domain:volume","audio"],"tier":1} reads true destroys false repeats true []
    set_volume {"tags":["domain:volume","audio"],"tier":1} reads false destroys false repeats false []
    "#);
}

#[test]
fn c10_every_tool_is_documented_in_five_parts() {
    let (house, _sound) = loud();
    let tools = house.pack.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for tool in &tools {
        let (name, description) = (tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap());
        assert!(description.chars().count() <= 900, "{name}: {} characters", description.chars().count());
        let heads =
            ["PREREQUISITE: ", "Use when user wants to: ", "Does NOT: ", "Args", "Returns: ", "Examples: "];
        let places: Vec<usize> =
            heads.iter().map(|head| description.find(&format!("\n{head}")).expect(head)).collect();
        assert!(places.is_sorted(), "{name}: {places:?}");
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(description[places[3]..places[4]].contains(argument.as_str()), "{name}: `{argument}`");
            assert!(schema["description"].is_string(), "{name}: `{argument}`");
            assert!(schema["examples"].is_array() || schema["enum"].is_array(), "{name}: `{argument}`");
        }
        for result in tool["outputSchema"]["properties"].as_object().unwrap().keys() {
            let text = &description[places[4]..places[5]];
            let of_device = ["id", "name", "room", "kind", "state", "reachable"].contains(&result.as_str());
            let paged = matches!(result.as_str(), "offset");
            assert!(
                text.contains(result.as_str()) || of_device || paged,
                "{name}: `{result}` is not told of"
            );
        }
        let words = description.split(|it: char| !it.is_ascii_lowercase() && it != '_');
        let verbs = ["list_", "get_", "all_", "set_volume", "set_scene", "control_"];
        for word in words.filter(|word| verbs.iter().any(|verb| word.starts_with(verb))) {
            assert!(names.contains(&word), "{name} names `{word}`");
        }
    }
}

#[test]
fn c10_every_example_is_accepted() {
    let (house, _sound) = loud();
    for tool in house.pack.tools() {
        let name = tool["name"].as_str().unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let required =
            tool["inputSchema"]["required"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
        let base: Map<String, Value> =
            required.map(|name| (name.to_owned(), properties[name]["examples"][0].clone())).collect();
        for (argument, schema) in properties {
            let choices =
                [&schema["examples"], &schema["enum"]].into_iter().filter_map(Value::as_array).flatten();
            for example in choices {
                let mut arguments = base.clone();
                arguments.insert(argument.clone(), example.clone());
                let result = house.pack.call(name, &arguments).unwrap();
                let text = result["content"][0]["text"].as_str().unwrap();
                assert!(!text.contains("was not run"), "{name} {arguments:?}: {text}");
            }
        }
    }
}

#[test]
fn t1_a_computer_without_sound_has_no_volume_tools() {
    let house = House::new();
    let names: Vec<String> =
        house.pack.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert!(names.contains(&"get_datetime".to_owned()));
    assert!(!names.iter().any(|name| name.contains("volume")), "{names:?}");
    assert!(house.pack.call("set_volume", json!({ "level": 3 }).as_object().unwrap()).is_none());
}

#[test]
fn c1_a_network_is_read_from_its_url_and_a_bad_one_is_a_clear_error() {
    let zwave_js = |url: &str| Network::ZwaveJs { url: url.to_owned() };
    let mqtt = |url: &str, prefix: &str| Network::Mqtt { url: url.to_owned(), prefix: prefix.to_owned() };
    for (text, network) in [
        ("simulated", Network::Simulated),
        ("ws://localhost:3000", zwave_js("ws://localhost:3000")),
        ("ws://192.168.1.5/zjs", zwave_js("ws://192.168.1.5/zjs")),
        ("mqtt://broker", mqtt("mqtt://broker", "zwave")),
        ("mqtt://me:se%2Fcret@[::1]:1884/my/house", mqtt("mqtt://me:se%2Fcret@[::1]:1884", "my/house")),
    ] {
        assert_eq!(text.parse::<Network>().unwrap(), network, "{text}");
    }
    let errors: Vec<String> =
        ["", "localhost:3000", "wss://house", "http://house", "ws://", "ws://house:port", "mqtt://a b"]
            .iter()
            .map(|text| text.parse::<Network>().unwrap_err().to_string())
            .collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    `` is no Z-Wave network (it is no URL): write `simulated`, `ws://HOST:3000` for a Z-Wave JS server, or `mqtt://HOST:1883/zwave` for the MQTT gateway of Z-Wave JS UI
    `localhost:3000` is no Z-Wave network (it is no URL): write `simulated`, `ws://HOST:3000` for a Z-Wave JS server, or `mqtt://HOST:1883/zwave` for the MQTT gateway of Z-Wave JS UI
    `wss://house` is no Z-Wave network (encrypted connections are not supported): write `simulated`, `ws://HOST:3000` for a Z-Wave JS server, or `mqtt://HOST:1883/zwave` for the MQTT gateway of Z-Wave JS UI
    `http://house` is no Z-Wave network (`http` is no known way to a network): write `simulated`, `ws://HOST:3000` for a Z-Wave JS server, or `mqtt://HOST:1883/zwave` for the MQTT gateway of Z-Wave JS UI
    `ws://` is no Z-Wave network (it names no host): write `simulated`, `ws://HOST:3000` for a Z-Wave JS server, or `mqtt://HOST:1883/zwave` for the MQTT gateway of Z-Wave JS UI
    `ws://house:port` is no Z-Wave network (invalid port number): write `simulated`, `ws://HOST:3000` for a Z-Wave JS server, or `mqtt://HOST:1883/zwave` for the MQTT gateway of Z-Wave JS UI
    `mqtt://a b` is no Z-Wave network (invalid domain character): write `simulated`, `ws://HOST:3000` for a Z-Wave JS server, or `mqtt://HOST:1883/zwave` for the MQTT gateway of Z-Wave JS UI
    ");

    let folder = tempfile::TempDir::new().unwrap();
    let kind =
        Kind::Home { folder: folder.path().join("home"), network: mqtt("mqtt://u:secret@house", "a/#") };
    let error = Pack::open(&kind).unwrap_err().to_string();
    assert!(error.contains("`mqtt://house`") && error.contains("no prefix of topics"), "{error}");
    assert!(!format!("{kind:?}{error}").contains("secret"), "{kind:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn r17_the_home_tools_answer_any_arguments(calls in calls(&House::new().pack), free in any_arguments()) {
        let house = House::new();
        for (tool, arguments) in calls {
            answered(&house.pack, &tool, &arguments);
            answered(&house.pack, &tool, &free);
        }
    }

    #[test]
    fn r17_no_arguments_open_a_door_without_consent(
        values in prop::collection::vec(prop::option::weighted(0.1, any_json()), 4),
        device in device_like(),
        action in action_like(),
        confirm in prop::sample::select(vec![json!(false), json!(false), json!(null), json!("true"), json!(1)]),
    ) {
        let house = House::new();
        let mut change = json!({ "device": device, "action": action });
        for (name, value) in ["level", "color", "temperature", "mode"].iter().zip(values) {
            if let Some(value) = value {
                change[*name] = value;
            }
        }
        let scene = json!({ "changes": [change.clone()], "confirm": confirm });
        change["confirm"] = confirm;
        answered(&house.pack, "control_device", change.as_object().unwrap());
        answered(&house.pack, "set_scene", scene.as_object().unwrap());
        answered(&house.pack, "list_devices", &Map::new());
        prop_assert_eq!(house.state("Front door"), "locked");
        prop_assert_eq!(house.state("Garage door"), "closed");
    }
}

fn device_like() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec!["Front door", "7", "Hall lock", "garage", "8", "Garage door"]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

fn action_like() -> impl Strategy<Value = String> {
    let known =
        prop::sample::select(vec!["unlock", "open", "unlock", "open", "toggle", "on", "set_position"]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

/// A house on a computer with sound.
fn loud() -> (House, tempfile::TempDir) {
    let sound = sound("0.40");
    let path: &OsStr = sound.path().as_os_str();
    (House::with(&Network::Simulated, path), sound)
}
