//! The definitions of the home tools.

use serde_json::{Value, json};

use super::{
    Home, action, all_off, control_device, device::DeviceKind, get_device, get_sensor_readings, get_volume,
    list_devices, set_scene, set_volume,
};
use crate::{
    time,
    tool::{Effect, Spec, Tool, record},
};

/// How many changes a scene may have.
const MOST_CHANGES: usize = 10;

/// Returns the tools of a home pack; those for the volume only where there is one.
pub(crate) fn tools(home: &Home) -> Vec<Tool<Home>> {
    let device = |tool: Tool<Home>| tool.tagged(["domain:devices", "zwave", "smart-home"]).in_tier(0);
    let loudness = |tool: Tool<Home>| tool.tagged(["domain:volume", "audio"]).in_tier(1);
    let mut tools = vec![
        device(list().run(list_devices)),
        device(get().run(get_device)),
        device(readings().run(get_sensor_readings)),
        device(control().run(control_device)),
        device(scene().run(set_scene)),
        device(off().run(all_off)),
        datetime()
            .run(|home: &Home, arguments| time::current_time(&home.clock, arguments))
            .tagged(["domain:datetime"])
            .in_tier(1),
    ];
    if home.speaker.is_some() {
        tools.push(loudness(volume().run(get_volume)));
        tools.push(loudness(louder().run(set_volume)));
    }
    tools
}

/// Returns the form of one change of a scene, against which each is checked by itself.
pub(super) fn scene_item(name: &str) -> Value {
    json!({ "name": name, "inputSchema": scene_schema() })
}

fn list() -> Spec {
    Spec {
        name: "list_devices".into(),
        title: "List devices".into(),
        description: "Lists the devices of the house (lights, plugs, thermostats, locks, blinds, sensors) with room, \
            kind and state.\n\
            PREREQUISITE: none.\n\
            Use when user wants to: see what devices there are; know which lights are on; find what is open, \
            unlocked, unreachable or low on battery.\n\
            Does NOT: show all values of one device (use get_device); compare measurements (use \
            get_sensor_readings); change anything (use control_device).\n\
            Args, all optional: room, e.g. \"Kitchen\"; kind, e.g. \"light\"; state, e.g. \"on\", \"unlocked\"; limit \
            (50) and offset (0) for pages.\n\
            Returns: devices with id, name, room, kind, state and whether they are reachable; the rooms; total_count; \
            has_more.\n\
            Examples: list_devices(); list_devices(room=\"Kitchen\", kind=\"light\", state=\"on\")".into(),
        effect: Effect::Reads,
        input: (
            json!({
                "room": room("Only devices of this room."),
                "kind": kind(),
                "state": {
                    "type": "string",
                    "description": "Only devices in this state.",
                    "enum": [
                        "on", "off", "open", "closed", "locked", "unlocked", "detected", "unreachable", "low_battery",
                    ],
                },
                "limit": number("How many devices to return.", (1, 200), 50),
                "offset": number("How many devices to leave out at the start.", (0, 10_000), 0),
            }),
            Vec::new(),
        ),
        output: json!({
            "devices": { "type": "array", "items": record(&device_properties()) },
            "rooms": { "type": "array", "items": { "type": "string" }, "description": "All rooms of the house." },
            "total_count": { "type": "integer", "description": "How many devices fit." },
            "offset": { "type": "integer" },
            "has_more": has_more(),
        }),
    }
}

fn get() -> Spec {
    let mut output = device_properties();
    output["values"] = json!({ "type": "array", "items": record(&reading_properties()) });
    output["actions"] = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "What control_device can do with it.",
    });
    output["modes"] = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "The modes of a thermostat.",
    });
    Spec {
        name: "get_device".into(),
        title: "Show a device".into(),
        description: "Shows everything about one device: state, measurements, battery, and what can be done with it.\n\
            PREREQUISITE: none; list_devices tells the names.\n\
            Use when user wants to: know if the front door is locked, how bright a light is, what the thermostat is \
            set to; check whether a change has happened.\n\
            Does NOT: change anything (use control_device); look at several devices (use list_devices).\n\
            Args: device, name, room and name, or node id, e.g. \"Front door\", \"kitchen ceiling lamp\", \"7\"; room \
            (optional), e.g. \"Hall\", when a name exists twice.\n\
            Returns: id, name, room, kind, state, reachable, values, actions, modes. A name that fits several devices \
            is answered with the candidates.\n\
            Examples: get_device(device=\"Front door\"); get_device(device=\"Ceiling lamp\", room=\"Hall\")".into(),
        effect: Effect::Reads,
        input: (json!({ "device": device(), "room": room_of_device() }), vec!["device".to_owned()]),
        output,
    }
}

fn readings() -> Spec {
    let mut row = reading_properties();
    row["device"] = json!({ "type": "string", "description": "Name of the device." });
    row["id"] = json!({ "type": "string", "description": "Node id of the device." });
    row["room"] = json!({ "type": "string", "description": "Room of the device." });
    row["reachable"] =
        json!({ "type": "boolean", "description": "False when this is only the last known value." });
    Spec {
        name: "get_sensor_readings".into(),
        title: "Sensor readings".into(),
        description: "Tells what the sensors of the house measure and notice: temperature, humidity, motion, smoke, \
            open windows, power, batteries.\n\
            PREREQUISITE: none.\n\
            Use when user wants to: know how warm it is in a room; hear of motion, smoke or open windows; find weak \
            batteries; know what a plug draws.\n\
            Does NOT: tell what lights and locks are doing (use list_devices); set a temperature (use control_device \
            with set_temperature).\n\
            Args, all optional: room, e.g. \"Bedroom\"; quantity, e.g. \"temperature\", \"battery\"; limit (50) and \
            offset (0) for pages.\n\
            Returns: readings with quantity, value, unit, device, id, room, reachable; total_count; has_more.\n\
            Examples: get_sensor_readings(quantity=\"temperature\"); get_sensor_readings(room=\"Hall\")".into(),
        effect: Effect::Reads,
        input: (
            json!({
                "room": room("Only sensors of this room."),
                "quantity": {
                    "type": "string",
                    "description": "Only this quantity, by the name that readings have.",
                    "minLength": 1,
                    "maxLength": 50,
                    "examples": ["temperature", "humidity", "motion", "smoke", "contact", "power", "battery"],
                },
                "limit": number("How many readings to return.", (1, 200), 50),
                "offset": number("How many readings to leave out at the start.", (0, 10_000), 0),
            }),
            Vec::new(),
        ),
        output: json!({
            "readings": { "type": "array", "items": record(&row) },
            "total_count": { "type": "integer", "description": "How many readings fit." },
            "offset": { "type": "integer" },
            "has_more": has_more(),
        }),
    }
}

fn control() -> Spec {
    let mut properties = change_properties();
    properties["confirm"] = confirm();
    Spec {
        name: "control_device".into(),
        title: "Control a device".into(),
        description: "Controls one device: switches, dims, colours, locks, opens, heats.\n\
            PREREQUISITE: to unlock a door or open a garage, ask the user, then send confirm.\n\
            Use when user wants to: turn a light on; dim to 40 %; lock the door; lower the blinds; set 21 degrees.\n\
            Does NOT: change several devices (use set_scene or all_off); only look (use get_device).\n\
            Args: device, e.g. \"Front door\"; room (optional); action: on, off, toggle, dim or set_position with level \
            (0-100), set_color with color, e.g. \"#ff8800\", lock, unlock, open, close, set_temperature with \
            temperature, e.g. 21.5, set_mode with mode, e.g. \"heat\"; confirm.\n\
            Returns: the device, its previous_state and state, changed, confirmed (the device reported it), remarks.\n\
            Examples: control_device(device=\"Ceiling light\", action=\"dim\", level=40); control_device(device=\"Front \
            door\", action=\"lock\")".into(),
        effect: Effect::Switches,
        input: (properties, vec!["device".to_owned(), "action".to_owned()]),
        output: made_properties(),
    }
}

fn scene() -> Spec {
    Spec {
        name: "set_scene".into(),
        title: "Change several devices".into(),
        description: "Changes several devices in one go, each by itself: what fails does not stop the rest.\n\
            PREREQUISITE: where a change unlocks a door or opens a garage, ask the user, then send confirm.\n\
            Use when user wants to: set a scene (\"movie time\", \"good night\"); change lights, blinds and heating \
            together.\n\
            Does NOT: remember scenes; switch a whole room off (use all_off); change one device (use \
            control_device).\n\
            Args: changes, 1 to 10 objects with the arguments of control_device, e.g. [{\"device\": \"Ceiling light\", \
            \"action\": \"dim\", \"level\": 20}, {\"device\": \"Blinds\", \"action\": \"close\"}]; confirm (optional).\n\
            Returns: done, failed (device and error), total, success_count.\n\
            Examples: set_scene(changes=[{\"device\": \"Front door\", \"action\": \"lock\"}])".into(),
        effect: Effect::Switches,
        input: (
            json!({
                "changes": {
                    "type": "array",
                    "description": "What to change, in this order.",
                    "items": scene_schema(),
                    "minItems": 1,
                    "maxItems": MOST_CHANGES,
                    "examples": [[{ "device": "Ceiling light", "action": "dim", "level": 20 }]],
                },
                "confirm": confirm(),
            }),
            vec!["changes".to_owned()],
        ),
        output: batch_properties(),
    }
}

fn off() -> Spec {
    Spec {
        name: "all_off".into(),
        title: "Switch everything off".into(),
        description: "Switches off all lights and plugs that are on, in one room or in the whole house.\n\
            PREREQUISITE: none.\n\
            Use when user wants to: turn off all lights; leave the house; switch off everything in a room.\n\
            Does NOT: lock doors, close blinds or turn the heating down (use set_scene); switch one device (use \
            control_device).\n\
            Args, all optional: room, e.g. \"Living room\", else the whole house; kind, e.g. \"light\", else everything \
            that can be switched off.\n\
            Returns: done, failed (device and error), total, success_count.\n\
            Examples: all_off(kind=\"light\"); all_off(room=\"Kitchen\")".into(),
        effect: Effect::Settles,
        input: (
            json!({
                "room": room("Only devices of this room; without it, the whole house."),
                "kind": {
                    "type": "string",
                    "description": "Only this kind; without it, everything that can be switched off.",
                    "enum": ["light", "plug", "switch", "lamp", "dimmer", "color_bulb"],
                },
            }),
            Vec::new(),
        ),
        output: batch_properties(),
    }
}

fn datetime() -> Spec {
    Spec {
        name: "get_datetime".into(),
        title: "Date and time".into(),
        description: "Tells the date, the time, the weekday and the time zone.\n\
            PREREQUISITE: none.\n\
            Use when user wants to: know what time it is, what day it is, today's date, or the time in another city.\n\
            Does NOT: convert other times, count days or set alarms; it only tells the present moment.\n\
            Args: zone (optional), IANA name, city or offset, e.g. \"Asia/Tokyo\", \"Tokyo\", \"UTC+2\"; without it, the \
            zone of this computer.\n\
            Returns: iso, date, time, weekday, zone, abbreviation, utc_offset, daylight_saving, unix_seconds, iso_week, \
            day_of_year, remarks.\n\
            Examples: get_datetime(); get_datetime(zone=\"Tokyo\")".into(),
        ..time::current()
    }
}

fn volume() -> Spec {
    Spec {
        name: "get_volume".into(),
        title: "Volume".into(),
        description: "Tells how loud this computer is, and whether it is muted.\n\
            PREREQUISITE: none.\n\
            Use when user wants to: know the volume; know why nothing can be heard.\n\
            Does NOT: change the volume (use set_volume).\n\
            Args: none.\n\
            Returns: volume in percent, muted, system (the sound system that was asked).\n\
            Examples: get_volume()"
            .into(),
        effect: Effect::Reads,
        input: (json!({}), Vec::new()),
        output: json!({ "volume": percent(), "muted": muted(), "system": system() }),
    }
}

fn louder() -> Spec {
    Spec {
        name: "set_volume".into(),
        title: "Set the volume".into(),
        description: "Sets the volume of this computer, makes it louder or quieter, mutes or unmutes it.\n\
            PREREQUISITE: none.\n\
            Use when user wants to: set the volume to 30; turn it up or down; mute or unmute the sound.\n\
            Does NOT: tell the volume (use get_volume); choose the output; play anything.\n\
            Args, at least one: level, 0 to 100, e.g. 30; direction, \"up\" or \"down\", instead of level, by step (10) \
            percent; mute, true or false.\n\
            Returns: volume, muted, previous_volume, previous_muted, system.\n\
            Examples: set_volume(level=30); set_volume(direction=\"up\", step=5); set_volume(mute=true)".into(),
        effect: Effect::Switches,
        input: (
            json!({
                "level": {
                    "type": "integer",
                    "description": "The volume in percent.",
                    "minimum": 0,
                    "maximum": 100,
                    "examples": [30],
                },
                "direction": {
                    "type": "string",
                    "description": "Louder or quieter, instead of a level.",
                    "enum": ["up", "down"],
                },
                "step": {
                    "type": "integer",
                    "description": "With direction: by how many percent; 10 when left out.",
                    "minimum": 1,
                    "maximum": 100,
                    "examples": [10, 5],
                },
                "mute": { "type": "boolean", "description": "Mutes or unmutes.", "examples": [true] },
            }),
            Vec::new(),
        ),
        output: json!({
            "volume": percent(),
            "muted": muted(),
            "previous_volume": percent(),
            "previous_muted": muted(),
            "system": system(),
        }),
    }
}

fn change_properties() -> Value {
    json!({
        "device": device(),
        "room": room_of_device(),
        "action": {
            "type": "string",
            "description": "What to do; get_device tells which actions a device has.",
            "enum": action::ACTIONS,
            "examples": ["on", "dim", "lock"],
        },
        "level": {
            "type": "integer",
            "description": "With dim: brightness in percent. With set_position: how far open in percent.",
            "minimum": 0,
            "maximum": 100,
            "examples": [40],
        },
        "color": {
            "type": "string",
            "description": "With set_color: a name or #rrggbb.",
            "minLength": 1,
            "maxLength": 40,
            "examples": ["#ff8800", "warm white"],
        },
        "temperature": {
            "type": "number",
            "description": "With set_temperature: in the unit of the thermostat.",
            "minimum": -50,
            "maximum": 150,
            "examples": [21.5],
        },
        "mode": {
            "type": "string",
            "description": "With set_mode: a mode of the thermostat.",
            "minLength": 1,
            "maxLength": 40,
            "examples": ["heat", "off"],
        },
    })
}

fn scene_schema() -> Value {
    json!({
        "type": "object",
        "properties": change_properties(),
        "required": ["device", "action"],
        "additionalProperties": false,
    })
}

fn made_properties() -> Value {
    let mut properties = device_properties();
    properties["previous_state"] = json!({ "type": "string", "description": "The state before." });
    properties["changed"] = json!({ "type": "boolean", "description": "Whether the state is another one." });
    properties["confirmed"] =
        json!({ "type": "boolean", "description": "Whether the device reported the change." });
    properties["remarks"] = json!({ "type": "array", "items": { "type": "string" } });
    properties
}

fn batch_properties() -> Value {
    json!({
        "done": { "type": "array", "items": record(&made_properties()) },
        "failed": {
            "type": "array",
            "items": record(&json!({ "device": { "type": "string" }, "error": { "type": "string" } })),
        },
        "total": { "type": "integer", "description": "How many changes were tried." },
        "success_count": { "type": "integer", "description": "How many of them were made." },
    })
}

fn device_properties() -> Value {
    let kinds: Vec<&str> = DeviceKind::ALL.into_iter().map(DeviceKind::name).collect();
    json!({
        "id": { "type": "string", "description": "Node id; names the device exactly." },
        "name": { "type": "string" },
        "room": { "type": "string", "description": "Empty when it is in no room." },
        "kind": { "type": "string", "enum": kinds },
        "state": { "type": "string", "description": "For example `on at 40 %`, `locked`, `unknown`." },
        "reachable": { "type": "boolean", "description": "False when the state is only the last known one." },
    })
}

fn reading_properties() -> Value {
    json!({
        "quantity": { "type": "string", "description": "For example `temperature`, `battery`, `brightness`." },
        "value": { "type": "string", "description": "A number, or a word such as `detected`, `open`, `on`." },
        "unit": { "type": "string", "description": "For example `°C`, `%`; empty for words." },
    })
}

fn kind() -> Value {
    let groups = ["light", "any_sensor"].into_iter();
    let kinds: Vec<&str> = groups.chain(DeviceKind::ALL.into_iter().map(DeviceKind::name)).collect();
    json!({
        "type": "string",
        "description": "Only this kind; `light` and `any_sensor` stand for all kinds of lights and sensors.",
        "enum": kinds,
    })
}

fn device() -> Value {
    json!({
        "type": "string",
        "description": "The device: its name, its room and name, or its node id.",
        "minLength": 1,
        "maxLength": 200,
        "examples": ["Front door", "kitchen ceiling lamp", "7"],
    })
}

fn room(description: &str) -> Value {
    json!({
        "type": "string",
        "description": description,
        "minLength": 1,
        "maxLength": 100,
        "examples": ["Kitchen", "Living room"],
    })
}

fn room_of_device() -> Value {
    let mut room = room("The room, when several devices have the same name.");
    room["examples"] = json!(["Hall"]);
    room
}

fn confirm() -> Value {
    json!({
        "type": "boolean",
        "description": "True only after the user has agreed to unlock the door or open the garage.",
        "examples": [true],
    })
}

fn number(description: &str, range: (u32, u32), default: u32) -> Value {
    json!({
        "type": "integer",
        "description": description,
        "minimum": range.0,
        "maximum": range.1,
        "default": default,
        "examples": [default],
    })
}

fn percent() -> Value {
    json!({ "type": "integer", "description": "In percent; 100 is the normal maximum." })
}

fn muted() -> Value {
    json!({ "type": "boolean" })
}

fn system() -> Value {
    json!({ "type": "string", "description": "The sound system that was asked." })
}

fn has_more() -> Value {
    json!({ "type": "boolean", "description": "Whether there is more than was returned." })
}
