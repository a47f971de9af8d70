//! The definitions of the time tools.

use serde_json::{Value, json};

use super::{Clock, add_time, convert_time, current_time, time_difference};
use crate::tool::{Effect, Spec, Tool, record};

/// Returns the tools of the time pack.
pub(crate) fn tools() -> Vec<Tool<Clock>> {
    vec![
        current().run(current_time),
        convert().run(convert_time),
        difference().run(time_difference),
        add().run(add_time),
    ]
}

/// Returns what `current_time` is, for every pack that tells the time.
pub(crate) fn current() -> Spec {
    let mut output = moment_properties();
    output["iso_week"] = json!({ "type": "integer", "description": "Week of the year, ISO 8601." });
    output["day_of_year"] = json!({ "type": "integer", "description": "1 for the first of January." });
    output["remarks"] = remarks();
    Spec {
        name: "current_time".into(),
        title: "Current time".into(),
        description: "Tells the current date and time in a time zone. Use when the present moment matters: \
            \"what time is it in Tokyo\", \"what is today's date\". Does not carry a given time over to another \
            zone (use convert_time) nor count the time between two dates (use time_difference). Args: zone \
            (optional): IANA name, city, abbreviation or offset, e.g. \"Asia/Tokyo\", \"Tokyo\", \"EST\", \
            \"UTC+2\"; without it, this computer's zone. Returns the moment: ISO 8601, zone, UTC offset, \
            weekday, ISO week, whether daylight saving is on.".into(),
        effect: Effect::Reads,
        input: (json!({ "zone": zone("Where to tell the time; without it, this computer's zone.") }), Vec::new()),
        output,
    }
}

fn convert() -> Spec {
    Spec {
        name: "convert_time".into(),
        title: "Convert a time between zones".into(),
        description: "Carries a time from one time zone over to another. Use for \"what is 9am New York in \
            Tokyo\" or to plan a call across zones. Does not tell the present time alone (use current_time) nor \
            add hours or days (use add_time). Args: time, e.g. \"14:30\", \"2026-03-01 9am\", \"tomorrow noon\", \
            \"2026-03-01T14:30:00Z\"; from_zone (optional, this computer's zone), e.g. \"New York\"; to_zone, \
            e.g. \"Asia/Tokyo\". Returns both moments, the hours between the zones, and remarks on daylight \
            saving or on what was assumed.".into(),
        effect: Effect::Reads,
        input: (
            json!({
                "time": time("The time to carry over."),
                "from_zone": zone("Where the time is meant; without it, this computer's zone."),
                "to_zone": zone("Where to carry it over to."),
            }),
            vec!["time".to_owned(), "to_zone".to_owned()],
        ),
        output: json!({
            "source": moment_schema(),
            "target": moment_schema(),
            "hours_ahead": { "type": "number", "description": "How far the target's clock is ahead." },
            "remarks": remarks(),
        }),
    }
}

fn difference() -> Spec {
    let count = |unit: &str| json!({ "type": "integer", "description": format!("Whole {unit}.") });
    Spec {
        name: "time_difference".into(),
        title: "Time between two times".into(),
        description: "Measures the time from one moment to another, exactly, across zones and daylight saving. \
            Use for \"how long until Friday 5pm\", \"days between two dates\", a person's age. Does not find \
            the date after a span (use add_time). Args: start and end, e.g. \"now\", \"2026-03-01\", \
            \"2026-03-01 9am\"; start_zone (optional, this computer's zone) and end_zone (optional, start_zone), \
            e.g. \"Europe/Paris\". Returns years, months, days, hours, minutes and seconds by the start's \
            calendar, the total in seconds, and which is first.".into(),
        effect: Effect::Reads,
        input: (
            json!({
                "start": time("The first of the two times."),
                "end": time("The second of the two times."),
                "start_zone": zone("Where `start` is meant; without it, this computer's zone."),
                "end_zone": zone("Where `end` is meant; without it, the zone of `start`."),
            }),
            vec!["start".to_owned(), "end".to_owned()],
        ),
        output: json!({
            "start": moment_schema(),
            "end": moment_schema(),
            "order": {
                "type": "string",
                "enum": ["end is after start", "same moment", "end is before start"],
            },
            "total_seconds": { "type": "number", "description": "Negative when the end is before the start." },
            "years": count("years"),
            "months": count("months beside the years"),
            "days": count("days beside the months"),
            "hours": count("hours beside the days"),
            "minutes": count("minutes beside the hours"),
            "seconds": { "type": "number", "description": "Seconds beside the minutes." },
            "words": { "type": "string", "description": "The same, spelled out." },
            "remarks": remarks(),
        }),
    }
}

fn add() -> Spec {
    Spec {
        name: "add_time".into(),
        title: "Add a span to a time".into(),
        description: "Finds the moment a span of time after or before another. Use for \"what date is 90 days \
            from now\", \"three hours before 2pm\", deadlines. Does not measure between two times (use \
            time_difference) and does not know working days or holidays. Args: span, e.g. \"3 days\", \"2 weeks \
            4 hours\", \"90 minutes ago\", \"-P1D\"; time (optional, now), e.g. \"2026-03-01 9am\"; zone \
            (optional, this computer's zone). Days and months move on the calendar, hours in elapsed time. \
            Returns both moments and remarks on daylight saving.".into(),
        effect: Effect::Reads,
        input: (
            json!({
                "span": {
                    "type": "string",
                    "description": "How much to add; negative or with \"ago\" to go back.",
                    "minLength": 1,
                    "maxLength": 200,
                    "examples": ["3 days", "2 weeks 4 hours", "90 minutes ago", "-P1D"],
                },
                "time": time("What to add to; without it, now."),
                "zone": zone("Where the time is meant; without it, this computer's zone."),
            }),
            vec!["span".to_owned()],
        ),
        output: json!({
            "start": moment_schema(),
            "span": { "type": "string", "description": "The span, ISO 8601." },
            "result": moment_schema(),
            "remarks": remarks(),
        }),
    }
}

fn zone(description: &str) -> Value {
    json!({
        "type": "string",
        "description": format!("{description} An IANA name, a large city, an abbreviation or an offset."),
        "minLength": 1,
        "maxLength": 100,
        "examples": ["Asia/Tokyo", "New York", "EST", "UTC+2"],
    })
}

fn time(description: &str) -> Value {
    json!({
        "type": "string",
        "description": format!("{description} ISO 8601 or an everyday form."),
        "minLength": 1,
        "maxLength": 200,
        "examples": ["14:30", "2026-03-01 9am", "tomorrow noon", "2026-03-01T14:30:00Z", "now"],
    })
}

fn remarks() -> Value {
    json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "What had to be assumed, and what daylight saving did.",
    })
}

/// Returns the schema of one moment.
fn moment_schema() -> Value {
    record(&moment_properties())
}

fn moment_properties() -> Value {
    json!({
        "iso": { "type": "string", "description": "ISO 8601 with the UTC offset." },
        "zone": { "type": "string", "description": "IANA name, or UTC with an offset." },
        "abbreviation": { "type": "string", "description": "What the zone calls its time then." },
        "utc_offset": { "type": "string", "description": "For example +09:00." },
        "date": { "type": "string", "description": "Year-month-day." },
        "time": { "type": "string", "description": "24 hours." },
        "weekday": { "type": "string", "description": "In English." },
        "daylight_saving": { "type": "boolean", "description": "Whether daylight saving is on." },
        "unix_seconds": { "type": "integer", "description": "Seconds since 1970 in UTC." },
    })
}
