//! Requests of people, in every language: the clauses of a task, and the values that its words give.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, json};
use toolyard_core::arguments::{Form, fill, listed_values, said_in, unsaid};
use toolyard_core::decide::normalised;
use toolyard_core::language::Language;
use toolyard_core::task::{agrees, clauses, is_stand_in, names_one, refers_back, stand_ins};
use toolyard_core::text::terms;
use toolyard_fuzz::{text, words};

/// One field of every kind.
static FORM: LazyLock<Form> = LazyLock::new(|| {
    let schema = json!({"type": "object", "required": ["title", "count"], "properties": {
        "title": {"type": "string", "description": "What it is called"},
        "count": {"type": "integer", "minimum": 0, "description": "How many"},
        "price": {"type": "number"},
        "due": {"type": "string", "format": "date-time", "description": "When it is due"},
        "day": {"type": "string", "format": "date"},
        "email": {"type": "string", "format": "email"},
        "url": {"type": "string", "format": "uri"},
        "path": {"type": "string", "description": "Path of the file"},
        "owner": {"type": "string"}, "repo": {"type": "string"},
        "status": {"type": "string", "enum": ["open", "closed", "all"]},
        "urgent": {"type": "boolean", "description": "Whether it is urgent"},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "Labels"},
        "minutes": {"type": "integer", "description": "How long it takes, in minutes"},
        "timezone": {"type": "string"},
        "place": {"type": "object", "properties": {"city": {"type": "string"}, "country": {"type": "string"}}}
    }});
    Form::new(("create_task", "Creates a task with a title, a date and labels."), schema)
});

fuzz_target!(|data: &[u8]| {
    let Some(task) = text(data) else { return };
    for clause in clauses(task) {
        assert!(task.get(clause.span.clone()).is_some(), "{clause:?} lies in the task");
    }
    for language in Language::ALL {
        let _ = (stand_ins(task, language), is_stand_in(task, language));
    }
    let _ = (agrees(task), names_one(task), refers_back(task, 9));
    let plain = normalised(task);
    assert_eq!(normalised(&plain), plain);
    assert!(terms(task, 20).len() <= 20);
    let given = Map::new();
    let sources = words(task, &given);
    let filling = fill(&FORM, &sources);
    assert_eq!(filling, fill(&FORM, &sources), "the same words give the same values");
    let arguments = filling.object();
    assert!(FORM.admits_part(&arguments), "{arguments:?}");
    let _ = (listed_values(&FORM, &sources, &filling), unsaid(&FORM, &sources, &arguments));
    for field in FORM.fields() {
        let Some(value) = arguments.get(field.parameter()) else { continue };
        for place in said_in(&FORM, field, &sources, value) {
            assert!(task.get(place.clone()).is_some(), "{place:?} lies in the task");
        }
    }
});
