//! A declaration of entities, read from JSON.
//!
//! Every mistake is reported at once, with its place; nothing that is written is ignored.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::{
    Error,
    entity::{Entity, EntityField, FieldKind, Presence, Requests},
    schema,
};
use crate::{
    arguments::{self, fits, nearest},
    reply::{quoted, shown},
};

const ENTITY_KEYS: [&str; 7] =
    ["singular", "plural", "description", "slug_from", "not_for", "requests", "fields"];
const FIELD_KEYS: [&str; 11] = [
    "name",
    "type",
    "required",
    "default",
    "examples",
    "description",
    "minimum",
    "maximum",
    "choices",
    "to",
    "default_time",
];
const REQUEST_KEYS: [&str; 4] = ["query", "get", "create", "update"];
const TYPES: [&str; 9] =
    ["text", "integer", "number", "boolean", "date", "datetime", "enum", "texts", "reference"];
/// Names that the tools use themselves, or that the hub adds.
const RESERVED: [&str; 14] = [
    "slug",
    "created",
    "changed",
    "deleted",
    "items",
    "more",
    "search",
    "sort",
    "offset",
    "limit",
    "include_deleted",
    "history",
    "remarks",
    "confirm",
];
const MOST_FIELDS: usize = 30;
const MOST_CHOICES: usize = 50;

/// Reads a list of entities.
pub(super) fn read_all(declared: &Value) -> Result<Vec<Entity>, Error> {
    let mut problems = Vec::new();
    let mut entities = Vec::new();
    match declared.as_array().map(Vec::as_slice) {
        Some([]) => problems.push("entities: the list is empty: declare at least one entity".to_owned()),
        Some(list) => {
            for (at, value) in list.iter().enumerate() {
                entities.extend(entity(&Spot::top(format!("entities[{at}]"), value), &mut problems));
            }
        }
        None => problems
            .push(format!("entities: is {} and not a list: write [ {{ … }} ]", arguments::kind(declared))),
    }
    problems.extend(joint_problems(&entities));
    if problems.is_empty() { Ok(entities) } else { Err(Error::Declaration { problems }) }
}

/// Says in what entities do not fit together: names used twice, references to entities that are missing.
pub(super) fn joint_problems(entities: &[Entity]) -> Vec<String> {
    let mut problems = Vec::new();
    for (at, entity) in entities.iter().enumerate() {
        for (key, same) in [
            ("singular", entities[..at].iter().any(|it| it.singular == entity.singular)),
            ("plural", entities[..at].iter().any(|it| it.plural == entity.plural)),
        ] {
            if same {
                problems.push(format!(
                    "entities[{at}].{key}: another entity has this name: choose one of its own"
                ));
            }
        }
        for (other, _) in &entity.not_for {
            if other == &entity.plural || !entities.iter().any(|it| it.plural == *other) {
                let other = shown(other);
                problems.push(format!("entities[{at}].not_for: `{other}` is the plural of no other entity"));
            }
        }
        for field in &entity.fields {
            if let FieldKind::Reference(to) = &field.kind
                && !entities.iter().any(|it| it.plural == *to)
            {
                let known = quoted(entities.iter().map(|it| &it.plural));
                problems.push(format!(
                    "entities[{at}].fields `{}`: `to` names no entity: write the plural of one, {known}",
                    shown(&field.name)
                ));
            }
        }
    }
    problems
}

/// A value of the declaration, and where it stands.
struct Spot<'a> {
    place: String,
    value: &'a Value,
}

impl<'a> Spot<'a> {
    fn top(place: String, value: &'a Value) -> Self {
        Self { place, value }
    }

    /// Returns what is written under a key, if anything is.
    fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { place: format!("{}.{key}", self.place), value })
    }

    /// Returns what must be written under a key.
    fn need(&self, key: &str, problems: &mut Vec<String>) -> Option<Self> {
        let found = self.get(key);
        if found.is_none() {
            problems.push(format!("{}: `{key}` is missing", self.place));
        }
        found
    }

    fn object(&self, known: &[&str], problems: &mut Vec<String>) -> Option<&'a Map<String, Value>> {
        let Some(object) = self.value.as_object() else {
            self.say(problems, &format!("is {} and not an object", arguments::kind(self.value)));
            return None;
        };
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let near = nearest(key, known.iter().copied());
            let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            self.say(problems, &format!("there is no key `{}`{near}", shown(key)));
        }
        Some(object)
    }

    fn text(&self, problems: &mut Vec<String>) -> Option<&'a str> {
        let text = self.value.as_str().map(str::trim).filter(|text| !text.is_empty());
        if text.is_none() {
            self.say(problems, "is no text: write a string that is not empty");
        }
        text
    }

    fn name(&self, problems: &mut Vec<String>) -> Option<String> {
        let name = self.text(problems)?;
        let is_name = name.len() <= 40
            && name.starts_with(|it: char| it.is_ascii_lowercase())
            && name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
        if !is_name {
            let form = "a name has up to 40 of a-z, 0-9 and _, and begins with a letter";
            self.say(problems, &format!("`{}` is no name: {form}", shown(name)));
        }
        Some(name.to_owned())
    }

    fn list(&self, problems: &mut Vec<String>) -> Vec<Self> {
        let Some(list) = self.value.as_array() else {
            self.say(problems, &format!("is {} and not a list", arguments::kind(self.value)));
            return Vec::new();
        };
        let spot = |(at, value)| Self { place: format!("{}[{at}]", self.place), value };
        list.iter().enumerate().map(spot).collect()
    }

    fn texts(&self, problems: &mut Vec<String>) -> Vec<String> {
        let spots = self.list(problems);
        spots.iter().filter_map(|spot| spot.text(problems).map(str::to_owned)).collect()
    }

    fn say(&self, problems: &mut Vec<String>, problem: &str) {
        problems.push(format!("{}: {problem}", self.place));
    }
}

/// Reads what can be read of an entity, so that mistakes elsewhere are still found.
fn entity(spot: &Spot<'_>, problems: &mut Vec<String>) -> Option<Entity> {
    spot.object(&ENTITY_KEYS, problems)?;
    let named = |key: &str, problems: &mut Vec<String>| {
        spot.need(key, problems).and_then(|it| it.name(problems)).unwrap_or_default()
    };
    let (singular, plural) = (named("singular", problems), named("plural", problems));
    let description = spot.need("description", problems).and_then(|it| it.text(problems));
    let not_for = spot.get("not_for").map(|it| not_for(&it, problems)).unwrap_or_default();
    let requests = spot.get("requests").map(|it| requests(&it, problems)).unwrap_or_default();
    let declared = spot.need("fields", problems);
    let spots = declared.as_ref().map(|it| it.list(problems)).unwrap_or_default();
    if let Some(declared) = &declared
        && !(1..=MOST_FIELDS).contains(&spots.len())
    {
        declared.say(problems, &format!("has {} fields: declare from 1 to {MOST_FIELDS}", spots.len()));
    }
    let fields: Vec<EntityField> = spots.iter().filter_map(|it| field(it, problems)).collect();
    let slug_from = spot.get("slug_from").and_then(|it| {
        let name = it.text(problems)?;
        check_slug_source(&it, name, &fields, problems);
        Some(name.to_owned())
    });
    let description = description.unwrap_or_default().trim_end_matches('.').to_owned();
    let entity = Entity { singular, plural, description, not_for, requests, slug_from, fields };
    let mut seen = HashSet::new();
    for filter in schema::filters(&entity) {
        if !seen.insert(filter.name.clone()) {
            let name = filter.name;
            spot.say(problems, &format!("two fields make a filter `{name}`: rename one of them"));
        }
    }
    Some(entity)
}

fn check_slug_source(spot: &Spot<'_>, name: &str, fields: &[EntityField], problems: &mut Vec<String>) {
    let source = fields.iter().find(|field| field.name == name);
    let is_fit =
        source.is_some_and(|it| it.kind == FieldKind::Text && matches!(it.presence, Presence::Required));
    if !is_fit {
        spot.say(problems, &format!("`{}` is no required text field: name one", shown(name)));
    }
}

fn not_for(spot: &Spot<'_>, problems: &mut Vec<String>) -> Vec<(String, String)> {
    let Some(object) = spot.value.as_object() else {
        spot.say(problems, "is no object: write the plural of another entity and what belongs there");
        return Vec::new();
    };
    let mut others = Vec::new();
    for plural in object.keys() {
        let what = spot.get(plural).and_then(|it| it.text(problems));
        others.extend(what.map(|what| (plural.clone(), what.to_owned())));
    }
    others
}

fn requests(spot: &Spot<'_>, problems: &mut Vec<String>) -> Requests {
    spot.object(&REQUEST_KEYS, problems);
    let mut of = |key: &str| spot.get(key).map(|it| it.texts(problems)).unwrap_or_default();
    Requests { query: of("query"), get: of("get"), create: of("create"), update: of("update") }
}

fn field(spot: &Spot<'_>, problems: &mut Vec<String>) -> Option<EntityField> {
    spot.object(&FIELD_KEYS, problems)?;
    let named = spot.need("name", problems);
    let name = named.as_ref().and_then(|it| it.name(problems));
    if let (Some(named), Some(name)) = (&named, &name)
        && RESERVED.contains(&name.as_str())
    {
        named.say(problems, &format!("`{name}` is a name that the tools use themselves: choose another"));
    }
    let kind = spot.need("type", problems).and_then(|it| kind(spot, &it, problems));
    let described = spot.get("description").and_then(|it| it.text(problems));
    let examples = spot.get("examples").map(|it| it.list(problems)).unwrap_or_default();
    let required = spot.get("required");
    let is_required = required.as_ref().is_some_and(|it| {
        if !it.value.is_boolean() {
            it.say(problems, "is not true or false");
        }
        it.value == &Value::Bool(true)
    });
    let (name, kind) = (name?, kind?);
    let plain = schema::sent(&kind);
    for example in &examples {
        if let Err(problem) = fits(&plain, example.value) {
            example.say(problems, &problem);
        }
    }
    let presence = match spot.get("default") {
        Some(default) => {
            check_default(&default, &kind, is_required, problems);
            Presence::Default(settled(&kind, default.value))
        }
        None if is_required => Presence::Required,
        None => Presence::Optional,
    };
    let description = described.map_or_else(|| schema::own_words(&name), str::to_owned);
    let examples = examples.iter().map(|it| it.value.clone()).collect();
    Some(EntityField { name, kind, presence, description, examples })
}

fn check_default(spot: &Spot<'_>, kind: &FieldKind, is_required: bool, problems: &mut Vec<String>) {
    if is_required {
        spot.say(problems, "a field with a default is never missing: leave out `required`");
    }
    if matches!(kind, FieldKind::Date | FieldKind::DateTime { .. } | FieldKind::Reference(_)) {
        spot.say(problems, "dates and references have no default: leave it out");
    } else if let Err(problem) = fits(&schema::sent(kind), spot.value) {
        spot.say(problems, &problem);
    }
}

/// Writes a default as it is kept: `1.0` in a field of whole numbers is `1`.
fn settled(kind: &FieldKind, value: &Value) -> Value {
    match (kind, arguments::whole(value)) {
        (FieldKind::Integer { .. }, Some(number)) => number.into(),
        _ => value.clone(),
    }
}

fn kind(field: &Spot<'_>, spot: &Spot<'_>, problems: &mut Vec<String>) -> Option<FieldKind> {
    let name = spot.text(problems)?;
    let own: &[&str] = match name {
        "integer" | "number" => &["minimum", "maximum"],
        "enum" => &["choices"],
        "reference" => &["to"],
        "datetime" => &["default_time"],
        _ => &[],
    };
    for key in ["minimum", "maximum", "choices", "to", "default_time"] {
        if TYPES.contains(&name)
            && !own.contains(&key)
            && let Some(extra) = field.get(key)
        {
            extra.say(problems, &format!("a field of type `{name}` has no `{key}`: leave it out"));
        }
    }
    Some(match name {
        "text" => FieldKind::Text,
        "boolean" => FieldKind::Boolean,
        "date" => FieldKind::Date,
        "texts" => FieldKind::Texts,
        "integer" => {
            let whole = |number: Number| arguments::whole(&Value::Number(number));
            let [minimum, maximum] = bounds(field, problems);
            let (minimum, maximum) = (minimum.and_then(whole), maximum.and_then(whole));
            FieldKind::Integer { minimum, maximum }
        }
        "number" => {
            let [minimum, maximum] = bounds(field, problems);
            FieldKind::Number { minimum, maximum }
        }
        "datetime" => FieldKind::DateTime { default_time: default_time(field, problems) },
        "enum" => FieldKind::Enum(choices(field, problems)),
        "reference" => FieldKind::Reference(field.need("to", problems)?.name(problems)?),
        _ => {
            spot.say(problems, &format!("`{}` is no type: write one of {}", shown(name), quoted(TYPES)));
            return None;
        }
    })
}

fn bounds(field: &Spot<'_>, problems: &mut Vec<String>) -> [Option<Number>; 2] {
    let is_whole = field.value["type"] == "integer";
    let bounds = ["minimum", "maximum"].map(|key| {
        let spot = field.get(key)?;
        let number = spot.value.as_number().filter(|_| !is_whole || arguments::whole(spot.value).is_some());
        if number.is_none() {
            spot.say(problems, if is_whole { "is no whole number" } else { "is no number" });
        }
        number.cloned()
    });
    if let [Some(least), Some(most)] = &bounds
        && most.as_f64() < least.as_f64()
    {
        field.say(problems, &format!("`minimum` {least} is over `maximum` {most}"));
    }
    bounds
}

fn default_time(field: &Spot<'_>, problems: &mut Vec<String>) -> Option<jiff::civil::Time> {
    let spot = field.get("default_time")?;
    let time = spot.text(problems)?.parse();
    if time.is_err() {
        spot.say(problems, "is no time of day: write for example \"09:00\"");
    }
    time.ok()
}

fn choices(field: &Spot<'_>, problems: &mut Vec<String>) -> Vec<String> {
    let Some(spot) = field.need("choices", problems) else { return Vec::new() };
    let choices = spot.texts(problems);
    let distinct: HashSet<&String> = choices.iter().collect();
    if !(1..=MOST_CHOICES).contains(&choices.len()) {
        spot.say(problems, &format!("has {} choices: write from 1 to {MOST_CHOICES}", choices.len()));
    } else if distinct.len() != choices.len() {
        spot.say(problems, "has the same choice twice");
    }
    choices
}
