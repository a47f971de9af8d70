//! The parameters of several tools as those of one.
//!
//! One name stands for one idea: parameters share a name only where their values must be the same, or where each is
//! a single value and one may be any of them. Everything else gets a name of its own, so that nothing is lost.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::name::singular;
use super::shape::{Shape, bare, is_scalar, renamed};
use crate::text::terms;
use crate::tool::clean;
use crate::tool::words::words;

/// One tool whose parameters are joined with others.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// What tells it from the others.
    pub(super) label: String,
    pub(super) shape: Shape,
}

/// The parameters of several tools.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    /// Each with its schema.
    pub(super) parameters: Vec<(String, Value)>,
    /// For each tool, and each of its own parameters in their order: what it is called here.
    pub(super) names: Vec<Vec<String>>,
    /// What the schemas refer to.
    pub(super) definitions: Map<String, Value>,
}

/// Which names of parameters are only other spellings, such as `product_slug` for `slug`.
pub(super) type Spellings = BTreeMap<String, String>;

/// One use of a parameter: the tool, and the parameter's place in it.
type Use = (usize, usize);

/// A description with more words that are new is kept beside the main one.
const FEW_NEW: usize = 4;
const MAX_TERMS: usize = 80;

/// Finds names that are spelled differently by tools of one entity and mean the same.
///
/// They do where they differ in case or in naming the entity, where their values must be the same, and where no tool
/// has both.
pub(super) fn spellings(entity: &[String], shapes: &[&Shape]) -> Spellings {
    let mut ideas: BTreeMap<Vec<String>, Vec<(&str, String)>> = BTreeMap::new();
    let mut unclear: BTreeSet<Vec<String>> = BTreeSet::new();
    for shape in shapes {
        let mut own: BTreeSet<Vec<String>> = BTreeSet::new();
        for (name, schema) in &shape.parameters {
            let idea = idea(entity, name);
            if !own.insert(idea.clone()) {
                unclear.insert(idea.clone());
            }
            ideas.entry(idea).or_default().push((name, shape.essence(schema)));
        }
    }
    let mut found = Spellings::new();
    for (_, uses) in ideas.into_iter().filter(|(idea, _)| !unclear.contains(idea)) {
        let is_same = uses.iter().all(|(_, essence)| *essence == uses[0].1);
        let shortest = uses.iter().map(|(name, _)| *name).min_by_key(|name| name.len());
        if let Some(shortest) = shortest.filter(|_| is_same) {
            found.extend(uses.iter().map(|(name, _)| ((*name).to_owned(), shortest.to_owned())));
        }
    }
    found
}

/// Joins the parameters of tools. No parameter gets a reserved name.
pub(super) fn join(members: &[Member], spellings: &Spellings, reserved: &[String]) -> Joined {
    let mut joined = Joined {
        names: members.iter().map(|member| vec![String::new(); member.shape.parameters.len()]).collect(),
        ..Joined::default()
    };
    let mut definitions = Definitions::default();
    for (name, variants) in by_name(members, spellings) {
        let all_scalar = variants.iter().all(|uses| is_scalar(&bare(schema_of(members, uses[0]))));
        let parts: Vec<Vec<Vec<Use>>> =
            if all_scalar { vec![variants] } else { variants.into_iter().map(|uses| vec![uses]).collect() };
        // The variant that most tools share keeps the plain name.
        let count = |part: &Vec<Vec<Use>>| part.iter().map(Vec::len).sum::<usize>();
        let most = parts.iter().map(count).max().unwrap_or_default();
        let plain = parts.iter().position(|part| count(part) == most).unwrap_or_default();
        for (at, part) in parts.iter().enumerate() {
            let wanted = match at == plain && !reserved.contains(&name) {
                true => name.clone(),
                false => format!("{name}_{}", members[part[0][0].0].label),
            };
            let wanted = free(&wanted, &joined, reserved);
            for (member, place) in part.iter().flatten() {
                joined.names[*member][*place] = wanted.clone();
            }
            let schema = joint_schema(&wanted, members, part, &mut definitions);
            joined.parameters.push((wanted, schema));
        }
    }
    joined.definitions = definitions.written;
    joined
}

/// Returns the words that a parameter is about, without those of the entity.
fn idea(entity: &[String], name: &str) -> Vec<String> {
    let named: Vec<String> = words(name).map(str::to_lowercase).collect();
    let last = entity.last().map(std::slice::from_ref).unwrap_or_default();
    for prefix in [entity, last].into_iter().filter(|prefix| !prefix.is_empty()) {
        let begins = named.iter().map(|word| singular(word)).take(prefix.len()).eq(prefix.iter().cloned());
        if begins && named.len() > prefix.len() {
            return named[prefix.len()..].to_vec();
        }
    }
    named
}

/// Uses of one name whose values must be the same.
struct Variant {
    essence: String,
    uses: Vec<Use>,
}

/// Gathers the uses of each name, parted by what their values must be.
fn by_name(members: &[Member], spellings: &Spellings) -> Vec<(String, Vec<Vec<Use>>)> {
    let mut found: Vec<(String, Vec<Variant>)> = Vec::new();
    for (at, Member { shape, .. }) in members.iter().enumerate() {
        for (place, (name, schema)) in shape.parameters.iter().enumerate() {
            let name = spellings.get(name).unwrap_or(name);
            let essence = shape.essence(schema);
            let known = match found.iter().position(|(known, _)| known == name) {
                Some(known) => known,
                None => {
                    found.push((name.clone(), Vec::new()));
                    found.len() - 1
                }
            };
            let variants = &mut found[known].1;
            match variants.iter_mut().find(|it| it.essence == essence) {
                Some(variant) => variant.uses.push((at, place)),
                None => variants.push(Variant { essence, uses: vec![(at, place)] }),
            }
        }
    }
    let without = |variants: Vec<Variant>| variants.into_iter().map(|it| it.uses).collect();
    found.into_iter().map(|(name, variants)| (name, without(variants))).collect()
}

fn free(wanted: &str, joined: &Joined, reserved: &[String]) -> String {
    let is_taken =
        |name: &String| reserved.contains(name) || joined.parameters.iter().any(|(known, _)| known == name);
    let numbered = (2..).map(|number| format!("{wanted}_{number}"));
    let mut all = std::iter::once(wanted.to_owned()).chain(numbered);
    all.find(|name| !is_taken(name)).expect("names with numbers never run out")
}

fn schema_of(members: &[Member], (member, place): Use) -> &Value {
    &members[member].shape.parameters[place].1
}

/// Writes the schema of one parameter, which may be any of its variants.
fn joint_schema(
    name: &str,
    members: &[Member],
    variants: &[Vec<Use>],
    definitions: &mut Definitions,
) -> Value {
    let mut branches: Vec<Value> = Vec::new();
    for uses in variants {
        let (member, _) = uses[0];
        let schema = definitions.take_over(&members[member], &bare(schema_of(members, uses[0])));
        let several =
            schema.as_object().filter(|it| it.len() == 1).and_then(|it| it.get("anyOf")?.as_array());
        let each = match several.filter(|_| variants.len() > 1) {
            Some(each) => each.clone(),
            None => vec![schema],
        };
        each.into_iter().for_each(|it| {
            if !branches.contains(&it) {
                branches.push(it);
            }
        });
    }
    if variants.len() > 1 {
        // Any text takes in texts of some form.
        let plain: Vec<Value> =
            branches.iter().filter(|it| *it == &json!({ "type": it["type"] })).cloned().collect();
        branches.retain(|it| plain.contains(it) || !plain.iter().any(|wide| wide["type"] == it["type"]));
    }
    let mut schema = match branches.len() {
        1 => branches.remove(0),
        _ => json!({ "anyOf": branches }),
    };
    let Some(written) = schema.as_object_mut() else { return schema };
    let uses: Vec<Use> = variants.iter().flatten().copied().collect();
    let (mut said, default) = (description(name, members, &uses), default(members, &uses));
    if let Stated::Several(each) = &default {
        said = format!("{said} (default: {each})").trim_start().to_owned();
    }
    if !said.is_empty() {
        written.insert("description".to_owned(), Value::String(said));
    }
    if let Stated::One(value) = default {
        written.insert("default".to_owned(), value);
    }
    if let Some(examples) = uses.iter().find_map(|at| schema_of(members, *at).get("examples")) {
        written.insert("examples".to_owned(), examples.clone());
    }
    schema
}

/// Says what a parameter is, in the words that most tools use; what others add is kept beside it.
fn description(name: &str, members: &[Member], uses: &[Use]) -> String {
    let mut texts: Vec<Remark<'_>> = Vec::new();
    for at in uses {
        let said = remark(name, schema_of(members, *at));
        match texts.iter_mut().find(|it| it.text == said) {
            Some(known) => known.count += 1,
            None => texts.push(Remark { label: &members[at.0].label, text: said, count: 1 }),
        }
    }
    texts.retain(|it| !it.text.is_empty());
    // `The issue to update` is said of one action.
    let is_general = |it: &Remark<'_>| {
        let of_label = terms(it.label, MAX_TERMS);
        !terms(&it.text, MAX_TERMS).iter().any(|term| of_label.contains(term))
    };
    let main =
        texts.iter().max_by_key(|it| (it.count, is_general(it), it.text.len())).map(|it| it.text.clone());
    let Some(main) = main else { return String::new() };
    let mut known = terms(&main, MAX_TERMS);
    let mut whole = main.clone();
    for Remark { label, text, .. } in texts.iter().filter(|it| it.text != main) {
        let own: Vec<String> = terms(text, MAX_TERMS);
        // The action itself says what `The issue to update` adds.
        let of_label = terms(label, MAX_TERMS);
        let new = own.iter().filter(|term| !known.contains(term) && !of_label.contains(term)).count();
        if new > FEW_NEW {
            whole += &format!(" ({label}: {text})");
            known.extend(own);
        }
    }
    whole
}

/// What some tools say of a parameter.
struct Remark<'a> {
    /// The first tool that says so.
    label: &'a str,
    text: String,
    /// How many say so.
    count: usize,
}

/// Returns what a schema says of a parameter; its title only where that is more than the name.
fn remark(name: &str, schema: &Value) -> String {
    let lower = |text: &str| words(text).map(str::to_lowercase).collect::<Vec<_>>();
    let title = schema.get("title").and_then(Value::as_str).filter(|title| lower(title) != lower(name));
    let said = schema.get("description").and_then(Value::as_str).or(title);
    clean(said.unwrap_or_default()).trim().to_owned()
}

/// What a parameter is where it is left out.
enum Stated {
    Unsaid,
    One(Value),
    /// Each tool has its own, in words.
    Several(String),
}

fn default(members: &[Member], uses: &[Use]) -> Stated {
    let all: Vec<Option<&Value>> = uses.iter().map(|at| schema_of(members, *at).get("default")).collect();
    match all.as_slice() {
        [Some(first), rest @ ..] if rest.iter().all(|it| *it == Some(*first)) => {
            Stated::One((*first).clone())
        }
        _ => {
            let each = uses.iter().zip(&all).filter_map(|((member, _), value)| {
                let value = value.filter(|value| !value.is_null())?;
                Some(format!("{} {value}", members[*member].label))
            });
            let each: Vec<String> = each.collect();
            if each.is_empty() { Stated::Unsaid } else { Stated::Several(each.join(", ")) }
        }
    }
}

/// The definitions of all tools under names that mean one thing.
#[derive(Default)]
struct Definitions {
    written: Map<String, Value>,
    essences: BTreeMap<String, String>,
}

impl Definitions {
    /// Returns a schema of a tool with its references as they are here, and takes over what they lead to.
    fn take_over(&mut self, member: &Member, schema: &Value) -> Value {
        let needed = member.shape.needed(schema);
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        for (name, definition) in &needed {
            let essence = format!("{definition} {}", Value::Object(member.shape.needed(definition)));
            let candidates = [name.clone(), format!("{name}_{}", member.label)];
            let is_free = |name: &&String| self.essences.get(*name).is_none_or(|known| *known == essence);
            let chosen = candidates.iter().find(is_free).unwrap_or(&candidates[1]).clone();
            self.essences.insert(chosen.clone(), essence);
            names.insert(name, chosen);
        }
        let here = |name: &str| names.get(name).cloned().unwrap_or_else(|| name.to_owned());
        for (name, definition) in &needed {
            self.written.insert(here(name), renamed(definition, &here));
        }
        renamed(schema, &here)
    }
}
