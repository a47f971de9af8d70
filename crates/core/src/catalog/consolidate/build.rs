//! One side of a family, its reads or its changes, as one tool: name, schema and description.

use std::collections::BTreeSet;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::documentation::gist;
use super::family::Class;
use super::join::{self, Joined, Member, Spellings};
use super::name::{Match, ParsedName};
use super::shape::{Openness, Shape};
use super::verbs::{VerbKind, family_words};
use super::{Consolidated, Declaration, FamilyAction, Selector, Slot};
use crate::form::Form;
use crate::tool::words::words;
use crate::tool::{Effect, Tool};

/// Tools of one family that become one.
#[derive(Debug)]
pub(super) struct Side<'a> {
    pub(super) class: Class,
    /// The entity as it is spelled.
    pub(super) title: &'a str,
    /// Its nouns in the singular.
    pub(super) entity: &'a [String],
    pub(super) spellings: &'a Spellings,
    pub(super) members: Vec<Original<'a>>,
    pub(super) declaration: Option<&'a Declaration>,
}

/// One tool that becomes part of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Original<'a> {
    pub(super) tool: &'a Tool,
    pub(super) name: Option<&'a ParsedName>,
    pub(super) shape: &'a Shape,
}

/// The longest name that clients and model servers take.
const MAX_NAME: usize = 64;
/// Items of one batch.
pub(super) const MOST_ITEMS: usize = 10;
/// The argument that confirms a call, and what it is called where a tool has one of that name.
const CONFIRM: &str = "confirm";
const CONFIRM_OTHERWISE: &str = "toolyard_confirm";

/// Makes one tool of several; `None` where no name is free for it.
pub(super) fn build(side: &Side<'_>, taken: &BTreeSet<String>) -> Option<Consolidated> {
    let labels = labels(side);
    let is_named =
        |name: &str| side.members.iter().any(|it| it.shape.parameters.iter().any(|(own, _)| own == name));
    let free = |name: &str| if is_named(name) { format!("toolyard_{name}") } else { name.to_owned() };
    let confirmation = if is_named(CONFIRM) { CONFIRM_OTHERWISE } else { CONFIRM };
    let (extra, items) = (free("extra"), free("items"));
    let choice = match side.class {
        Class::Read => "view",
        Class::Change => "action",
        Class::Analysis | Class::Effort => "mode",
    };
    let reserved = [choice.to_owned(), confirmation.to_owned(), extra.clone(), items.clone()];
    let members: Vec<Member> = side
        .members
        .iter()
        .zip(&labels)
        .map(|(it, label)| Member { label: label.clone(), shape: it.shape.clone() })
        .collect();
    let joined = join::join(&members, side.spellings, &reserved);
    let mut actions: Vec<FamilyAction> = side
        .members
        .iter()
        .zip(labels)
        .zip(&joined.names)
        .map(|((it, label), names)| action(it, label, names))
        .collect();
    let selector = keyed(side, &mut actions, &joined).unwrap_or(Selector::Named(choice));
    let batch = side.declaration.filter(|it| it.batch && side.class == Class::Change).and_then(|_| {
        let creates = |it: &FamilyAction| {
            it.name.split('_').next().is_some_and(|it| family_words().creates.contains(it))
        };
        let plain = actions.iter().position(|it| family_words().creates.contains(&it.name));
        Some((plain.or_else(|| actions.iter().position(creates))?, items))
    });
    let mut made = Consolidated {
        name: free_name(side, taken)?,
        definition: to_raw_value(&Value::Null).expect("null has a JSON form"),
        actions,
        selector,
        parameters: joined.parameters,
        extra,
        confirmation,
        batch,
    };
    let schema = schema(&made, side, joined.definitions);
    let annotations = match side.class {
        Class::Read | Class::Analysis => json!({ "readOnlyHint": true }),
        Class::Change | Class::Effort => json!({ "destructiveHint": made.effect() == Effect::Destroy }),
    };
    let definition = json!({
        "name": made.name, "description": describe(&made, side), "inputSchema": schema, "annotations": annotations,
    });
    made.definition = to_raw_value(&definition).expect("a value has a JSON form");
    Some(made)
}

impl Consolidated {
    /// Returns a call of an action as a person writes it: `?` marks what may be left out.
    pub fn usage(&self, action: &FamilyAction) -> String {
        let chosen = match &self.selector {
            Selector::Named(name) => Some(format!("{name}: {:?}", action.name)),
            Selector::Keyed(_) => None,
        };
        let parts: Vec<String> = chosen.into_iter().chain(action.takes()).collect();
        format!("{}({})", self.name, parts.join(", "))
    }
}

impl FamilyAction {
    /// Returns the parameters as they are written in a signature, required ones first.
    fn takes(&self) -> impl Iterator<Item = String> {
        let written = |slot: &Slot| format!("{}{}", slot.name, if slot.is_required { "" } else { "?" });
        let part =
            move |required: bool| self.slots.iter().filter(move |it| it.is_required == required).map(written);
        part(true).chain(part(false))
    }
}

fn action(original: &Original<'_>, label: String, names: &[String]) -> FamilyAction {
    let Shape { parameters, required, openness, .. } = original.shape;
    let slot = |((own, _), name): (&(String, Value), &String)| Slot {
        name: name.clone(),
        original: own.clone(),
        is_required: required.contains(own),
    };
    FamilyAction {
        name: label,
        tool: original.tool.name.clone(),
        effect: original.tool.effect,
        slots: parameters.iter().zip(names).map(slot).collect(),
        is_open: *openness != Openness::Closed,
    }
}

/// Names the actions, each differently.
fn labels(side: &Side<'_>) -> Vec<String> {
    let reads = side.class == Class::Read;
    let declared =
        |it: &Original<'_>| side.declaration.and_then(|all| all.actions.get(&it.tool.name).cloned());
    let plain = |it: &Original<'_>| declared(it).unwrap_or_else(|| it.label(side.entity, reads));
    let mut labels: Vec<String> = side.members.iter().map(plain).collect();
    // Each round says more of those that are called the same, and the last says all.
    for round in 0..3 {
        let count = |label: &String| labels.iter().filter(|it| *it == label).count();
        let is_shared: Vec<bool> = labels.iter().map(|label| count(label) > 1 || label.is_empty()).collect();
        for (at, it) in side.members.iter().enumerate().filter(|(at, _)| is_shared[*at]) {
            let is_many = it.name.is_some_and(|name| name.is_many(side.entity));
            let is_list = reads && it.name.is_some_and(|name| name.is_about_one(side.entity));
            labels[at] = match (round, is_many) {
                (0, true) if is_list => "list".to_owned(),
                (0, true) => format!("{}_many", labels[at]),
                (0, false) => labels[at].clone(),
                (1, _) => it.label(side.entity, false),
                _ => identifier(&it.tool.name),
            };
        }
    }
    labels
}

impl Original<'_> {
    fn label(&self, entity: &[String], reads: bool) -> String {
        if let Some(name) = self.name.filter(|name| name.matches(entity).is_some()) {
            return identifier(&name.label(entity, reads));
        }
        // A declared entity may stand anywhere in a name.
        let own = words(&self.tool.name).map(str::to_lowercase);
        let own: Vec<String> = own.filter(|word| !entity.contains(&super::name::singular(word))).collect();
        own.join("_")
    }

    /// Whether it reads all of an entity.
    fn lists(&self, entity: &[String]) -> bool {
        let Some(name) = self.name.filter(|name| name.matches(entity) == Some(Match::Whole)) else {
            return false;
        };
        let is_many =
            name.kind == Some(VerbKind::List) || name.kind == Some(VerbKind::Get) && name.is_many(entity);
        is_many && name.tail.is_empty()
    }

    /// Whether it reads one of an entity.
    fn gets(&self, entity: &[String]) -> bool {
        let is_read = |name: &&ParsedName| matches!(name.kind, Some(VerbKind::Get | VerbKind::Read));
        self.name.filter(is_read).is_some_and(|name| name.is_about_one(entity))
    }
}

/// Finds out whether two reads are told apart by a key: with it one thing is read, without it all are listed. The one
/// that takes the key becomes the first action.
fn keyed(side: &Side<'_>, actions: &mut [FamilyAction], joined: &Joined) -> Option<Selector> {
    let ([_, _], Class::Read) = (&*actions, side.class) else { return None };
    for (one, many) in [(0, 1), (1, 0)] {
        let others: Vec<&str> = actions[many].slots.iter().map(|slot| slot.name.as_str()).collect();
        let required = |at: usize| actions[at].slots.iter().filter(|slot| slot.is_required);
        let keys: Vec<String> = required(one)
            .filter(|it| !others.contains(&it.name.as_str()))
            .map(|it| it.name.clone())
            .collect();
        let needs_more = required(many).any(|it| !required(one).any(|own| own.name == it.name));
        let takes_null = keys.iter().any(|key| admits_null(joined, key));
        let is_pair = side.members[one].gets(side.entity) && side.members[many].lists(side.entity);
        if !keys.is_empty() && !needs_more && !takes_null && is_pair {
            if one == 1 {
                actions.swap(0, 1);
            }
            for (action, name) in actions.iter_mut().zip(["get", "list"]) {
                action.name = name.to_owned();
            }
            return Some(Selector::Keyed(keys));
        }
    }
    None
}

fn admits_null(joined: &Joined, name: &str) -> bool {
    let own = joined.parameters.iter().filter(|(known, _)| known == name).cloned().collect::<Map<_, _>>();
    let form = Form::new(("", ""), json!({ "properties": own, "$defs": joined.definitions }));
    !form.is_judged() || form.admits_part(&Map::from_iter([(name.to_owned(), Value::Null)]))
}

/// Returns a name that no tool of the server has.
fn free_name(side: &Side<'_>, taken: &BTreeSet<String>) -> Option<String> {
    let verbs: BTreeSet<String> =
        side.members.iter().filter_map(|it| it.name).map(|name| name.verb.join("_")).collect();
    let own = verbs.first().filter(|_| verbs.len() == 1).cloned().unwrap_or_else(|| "analyze".to_owned());
    let prefixes = match side.class {
        Class::Read => vec!["get".to_owned(), "read".to_owned(), "view".to_owned()],
        Class::Change => vec!["manage".to_owned(), "change".to_owned()],
        Class::Analysis | Class::Effort => vec![own, "analyze".to_owned()],
    };
    let names = prefixes.iter().map(|prefix| format!("{prefix}_{}", identifier(side.title)));
    let mut names = names.filter(|name| name.len() <= MAX_NAME);
    names.find(|name| !taken.contains(name))
}

/// Writes a text with the characters that names of tools may have.
fn identifier(text: &str) -> String {
    let words: Vec<String> = words(text).map(str::to_lowercase).collect();
    words.join("_").replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_")
}

fn schema(made: &Consolidated, side: &Side<'_>, definitions: Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    if let Selector::Named(name) = &made.selector {
        let names: Vec<&str> = made.actions.iter().map(|action| action.name.as_str()).collect();
        properties.insert((*name).to_owned(), json!({ "type": "string", "enum": names }));
        required.push(name);
    }
    properties.extend(made.parameters.iter().cloned());
    // With a batch, what the creating action requires stands in its items.
    let is_always = |name: &str| {
        made.actions.iter().all(|it| it.slots.iter().any(|slot| slot.name == name && slot.is_required))
    };
    if made.batch.is_none() {
        required.extend(made.parameters.iter().map(|(name, _)| name.as_str()).filter(|name| is_always(name)));
    }
    if let Some((at, items)) = &made.batch {
        let about = format!(
            "For {} alone: up to {MOST_ITEMS} at once, each an object with its parameters, which then stand nowhere else.",
            made.actions[*at].name
        );
        let list = json!({
            "type": "array", "maxItems": MOST_ITEMS, "items": { "type": "object" }, "description": about,
        });
        properties.insert(items.clone(), list);
    }
    if side.members.iter().any(|it| it.shape.openness == Openness::Open) {
        let about = json!({ "type": "object", "description": "More arguments, by name." });
        properties.insert(made.extra.clone(), about);
    }
    if made.effect() == Effect::Destroy {
        properties.insert(made.confirmation.to_owned(), json!({ "type": "boolean" }));
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if side.members.iter().all(|it| it.shape.openness == Openness::Closed) {
        schema["additionalProperties"] = json!(false);
    }
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    schema
}

/// Says what the tool does, and for each action what it takes.
fn describe(made: &Consolidated, side: &Side<'_>) -> String {
    let entity = side.title.replace('_', " ");
    let intent = match (&made.selector, side.class) {
        (Selector::Keyed(keys), _) => {
            format!("Get {entity} by {}; without it, list them.", keys.join(" and "))
        }
        (Selector::Named(name), Class::Read) => format!("Read {entity}: choose `{name}`."),
        (Selector::Named(name), Class::Change) => format!("Change {entity}: choose `{name}`."),
        (Selector::Named(name), Class::Analysis | Class::Effort) => {
            format!("Analyze {entity}: choose `{name}`.")
        }
    };
    let mut text = format!("{intent} `?` = optional.");
    for action in &made.actions {
        let takes = action.takes().collect::<Vec<_>>().join(", ");
        text += &format!("\n- {}({takes})", action.name);
        if action.effect == Effect::Destroy {
            text += &format!(" [needs {}: true]", made.confirmation);
        }
        let original = side.members.iter().find(|it| it.tool.name == action.tool);
        let gist = original.map(|it| gist(&it.tool.description, it.shape)).unwrap_or_default();
        if !gist.is_empty() {
            text += &format!(": {gist}");
        }
    }
    text
}
