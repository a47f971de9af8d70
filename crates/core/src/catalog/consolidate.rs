//! Families of tools on one entity, each presented as few tools: `create_product`, `update_product` and
//! `delete_product` become `manage_product` with an `action`, `get_product` and `list_products` one tool that reads.
//!
//! Nothing is lost: for every call of an original tool there is one of the new tool that maps back to exactly that call.
//! Reading, changing and analysing stay apart, and whoever judges a call judges the original one.

mod verbs; //   the words of names
mod name; //    names as verb and entity
mod shape; //   schemas that can be joined
mod documentation; // what tools say of themselves
mod family; //  which tools belong together
mod join; //    many parameters become those of one tool
mod build; //   a family becomes a tool
mod resolve; // calls, there and back
mod sample; //  arguments made up from a schema

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Problem, Severity};
use crate::tool::{Effect, Tool};
use build::Side;
use family::{Candidate, Class};
use name::ParsedName;
use shape::Shape;

pub use resolve::{Error, OriginalCall, Resolved};
pub use sample::{lost, sample};

/// A family that a person declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// What the tools act on, as it is to be called: `product` gives `manage_product`.
    pub entity: String,
    /// The tools, by the names that their server uses.
    pub tools: Vec<String>,
    /// What tools are called as actions, where that is not to follow from their names.
    #[serde(default)]
    pub actions: BTreeMap<String, String>,
    /// Whether the action that creates something takes a list of up to ten.
    #[serde(default)]
    pub batch: bool,
}

/// What became of the tools of one server.
#[derive(Clone, Debug)]
pub struct Consolidation {
    /// The new tools.
    pub tools: Vec<Consolidated>,
    /// The names of the tools that stay as they are, in their order.
    pub kept: Vec<String>,
    /// What was wrong with declarations.
    pub problems: Vec<Problem>,
}

/// One tool that stands for several.
#[derive(Clone, Debug)]
pub struct Consolidated {
    name: String,
    definition: Box<RawValue>,
    actions: Vec<FamilyAction>,
    selector: Selector,
    /// Every parameter of the new tool, with its schema.
    parameters: Vec<(String, Value)>,
    /// The parameter that holds arguments of the original tool that this tool cannot show.
    extra: String,
    confirmation: &'static str,
    /// The action that takes a list, and the parameter that holds it.
    batch: Option<(usize, String)>,
}

/// One original tool as part of a new one.
#[derive(Clone, Debug)]
pub struct FamilyAction {
    /// What it is called in the new tool.
    pub name: String,
    /// What the server calls the tool.
    pub tool: String,
    /// What the original tool does to the world.
    pub effect: Effect,
    /// Its parameters in the order of its schema.
    slots: Vec<Slot>,
    /// Whether it takes arguments that its schema does not name.
    is_open: bool,
}

/// A parameter of an original tool.
#[derive(Clone, Debug)]
struct Slot {
    /// What the new tool calls it.
    name: String,
    /// What the original tool calls it.
    original: String,
    is_required: bool,
}

/// How a call says which action it means.
#[derive(Clone, Debug)]
enum Selector {
    /// By a parameter of this name.
    Named(&'static str),
    /// The first action has these parameters, the second has none of them.
    Keyed(Vec<String>),
}

/// Definitions are counted as one token for so many bytes.
const TOKEN_BYTES: usize = 4;
/// A family of so many tools, reads and changes together, is worth it wherever it saves anything.
const LEAST: usize = 3;
/// A smaller one is only where it saves so many hundredths of its tokens.
const CLEAR_PERCENT: usize = 20;

/// Presents the tools of a server as few as can be without losing one. Declared families come first; of the other tools
/// those are joined that form a family by their names and schemas, where that saves tokens.
pub fn consolidate(server: &str, tools: &[Tool], declared: &[Declaration]) -> Consolidation {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let parsed = name::parse_all(&names);
    let read = |tool: &Tool| {
        let mut shape = Shape::of(tool)?;
        documentation::complete(&mut shape, &tool.description);
        Some(shape)
    };
    let shapes: Vec<Option<Shape>> = tools.iter().map(read).collect();
    let mut work = Work {
        server,
        tools,
        parsed: &parsed,
        shapes: &shapes,
        is_free: vec![true; tools.len()],
        taken: names.iter().map(|name| name.to_lowercase()).collect(),
        found: Vec::new(),
        problems: Vec::new(),
    };
    declared.iter().for_each(|declaration| work.declare(declaration));
    work.infer();
    let kept = tools.iter().zip(&work.is_free).filter(|(_, is_free)| **is_free);
    Consolidation {
        kept: kept.map(|(tool, _)| tool.name.clone()).collect(),
        tools: work.found,
        problems: work.problems,
    }
}

/// Counts the tokens that a definition takes, however it is laid out.
pub fn tokens(definition: &RawValue) -> usize {
    let written = serde_json::from_str::<Value>(definition.get()).map(|value| value.to_string());
    written.map_or_else(|_| definition.get().len(), |text| text.len()).div_ceil(TOKEN_BYTES)
}

impl Consolidation {
    /// Returns the new tool of a name.
    pub fn get(&self, name: &str) -> Option<&Consolidated> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns the new tool that an original one became part of.
    pub fn owner(&self, original: &str) -> Option<&Consolidated> {
        self.tools.iter().find(|tool| tool.actions.iter().any(|action| action.tool == original))
    }
}

impl Consolidated {
    /// Returns what the new tool is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its definition as servers list it.
    pub fn definition(&self) -> &RawValue {
        &self.definition
    }

    /// Returns the original tools that it stands for.
    pub fn actions(&self) -> &[FamilyAction] {
        &self.actions
    }

    /// Returns the worst that it can do to the world.
    pub fn effect(&self) -> Effect {
        let has = |effect: Effect| self.actions.iter().any(|action| action.effect == effect);
        match (has(Effect::Destroy), has(Effect::Write)) {
            (true, _) => Effect::Destroy,
            (false, true) => Effect::Write,
            (false, false) => Effect::Read,
        }
    }

    /// Returns the parameter that confirms a call, which no original tool has.
    pub fn confirmation(&self) -> &str {
        self.confirmation
    }
}

/// A consolidation under way.
struct Work<'a> {
    server: &'a str,
    tools: &'a [Tool],
    parsed: &'a [Option<ParsedName>],
    shapes: &'a [Option<Shape>],
    /// Whether each tool is part of no new one yet.
    is_free: Vec<bool>,
    /// Names in lower case that no new tool may have.
    taken: BTreeSet<String>,
    found: Vec<Consolidated>,
    problems: Vec<Problem>,
}

impl<'a> Work<'a> {
    fn declare(&mut self, declaration: &Declaration) {
        let mut sides: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
        for name in &declaration.tools {
            let Some(at) = self.tools.iter().position(|tool| tool.name == *name) else {
                self.complain(name, "the server has no tool of this name");
                continue;
            };
            let kind = self.parsed[at].as_ref().and_then(|parsed| parsed.kind);
            match (self.is_free[at], &self.shapes[at], Class::of(&self.tools[at], kind)) {
                (false, _, _) => self.complain(name, "it is in another declared family"),
                (_, None, _) => self.complain(name, "its schema cannot be joined with others"),
                (_, _, None) => {
                    self.complain(name, "its name and its server disagree on whether it changes something")
                }
                (true, Some(_), Some(class)) => sides.entry(class).or_default().push(at),
            }
        }
        let entity: Vec<String> = crate::tool::words::words(&declaration.entity)
            .map(|word| name::singular(&word.to_lowercase()))
            .collect();
        let spellings = self.spellings(&entity, sides.values().flatten().copied());
        for (class, places) in sides.into_iter().filter(|(_, places)| places.len() > 1) {
            let title = crate::tool::words::words(&declaration.entity).map(str::to_lowercase);
            let title = title.collect::<Vec<_>>().join("_");
            let side = Side {
                class,
                title: &title,
                entity: &entity,
                spellings: &spellings,
                members: self.members(&places),
                declaration: Some(declaration),
            };
            match build::build(&side, &self.taken).filter(|made| self.is_whole(made, &places)) {
                Some(made) => self.keep(made, &places),
                None => self.complain(&declaration.entity, "the family cannot be presented as one tool"),
            }
        }
    }

    fn infer(&mut self) {
        let (tools, parsed, shapes) = (self.tools, self.parsed, self.shapes);
        let places: Vec<usize> = (0..tools.len()).filter(|at| self.is_free[*at]).collect();
        let candidate = |at: usize| {
            let (name, shape) = (parsed[at].as_ref()?, shapes[at].as_ref()?);
            Some((at, Candidate { name, shape, class: Class::of(&tools[at], name.kind)? }))
        };
        let (places, candidates): (Vec<usize>, Vec<Candidate<'_>>) =
            places.into_iter().filter_map(candidate).unzip();
        let mut families = family::families(&candidates);
        families.sort_by_key(|family| family.members.first().copied());
        for family in families {
            let all = family.members.iter().map(|at| places[*at]);
            let spellings = self.spellings(&family.entity, all);
            for class in [Class::Read, Class::Change] {
                let own = family.members.iter().filter(|at| candidates[**at].class == class);
                let own: Vec<usize> = own.map(|at| places[*at]).collect();
                if own.len() < 2 {
                    continue;
                }
                let side = Side {
                    class,
                    title: &family.title,
                    entity: &family.entity,
                    spellings: &spellings,
                    members: self.members(&own),
                    declaration: None,
                };
                let made = build::build(&side, &self.taken);
                if let Some(made) = made
                    .filter(|made| self.saves(made, &own, family.members.len()) && self.is_whole(made, &own))
                {
                    self.keep(made, &own);
                }
            }
        }
    }

    fn members(&self, places: &[usize]) -> Vec<build::Original<'a>> {
        let member = |at: &usize| {
            let shape = self.shapes[*at].as_ref()?;
            Some(build::Original { tool: &self.tools[*at], name: self.parsed[*at].as_ref(), shape })
        };
        places.iter().filter_map(member).collect()
    }

    fn spellings(&self, entity: &[String], places: impl Iterator<Item = usize>) -> join::Spellings {
        let shapes: Vec<&Shape> = places.filter_map(|at| self.shapes[at].as_ref()).collect();
        join::spellings(entity, &shapes)
    }

    fn keep(&mut self, made: Consolidated, places: &[usize]) {
        places.iter().for_each(|at| self.is_free[*at] = false);
        self.taken.insert(made.name.to_lowercase());
        self.found.push(made);
    }

    fn saves(&self, made: &Consolidated, places: &[usize], family: usize) -> bool {
        let before: usize = places.iter().map(|at| tokens(&self.tools[*at].definition)).sum();
        let after = tokens(&made.definition);
        match family < LEAST {
            true => 100 * after <= (100 - CLEAR_PERCENT) * before,
            false => after < before,
        }
    }

    /// Whether made-up calls of all original tools come back unchanged.
    fn is_whole(&self, made: &Consolidated, places: &[usize]) -> bool {
        places.iter().all(|at| sample::is_kept(made, &self.tools[*at]))
    }

    fn complain(&mut self, name: &str, message: &str) {
        let message = format!("in a declared family: {message}");
        self.problems.push(Problem::new(&self.server.into(), Some(name), Severity::Altered, message));
    }
}

#[cfg(test)]
mod tests;
