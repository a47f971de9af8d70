//! Every tool we know, as one immutable value.
//!
//! Gathering cannot fail: it takes what is usable from each server and reports the rest, so that one
//! malformed tool never hides the others.

mod admit;
pub mod consolidate;
mod problem;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use crate::form::Form;
use crate::tool::{Effect, Hints, Tool, ToolId};

pub use problem::{Problem, Severity};

/// What one server listed.
#[derive(Clone, Debug)]
pub struct Advertised {
    /// The server as the configuration names it.
    pub server: Arc<str>,
    /// The definitions in the server's order, unread.
    pub tools: Vec<Box<RawValue>>,
}

/// How much of one server's listing is taken. No `Default`: the configuration knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Tools looked at; the rest are cut.
    pub tools: usize,
    /// Characters of a name, above which the tool is rejected; titles are cut there.
    pub name_chars: usize,
    /// Characters of a description, above which it is cut.
    pub description_chars: usize,
    /// Levels of objects and arrays in a definition, above which the tool is rejected.
    pub nesting: usize,
}

/// So many tools with a warning each say nothing about any of them.
const CRIES: usize = 5;

/// Takes the warnings of a server back that warns of every change it can make. What destroys by its name stays.
fn disregard_warnings(tools: &mut [Tool]) {
    if tools.iter().filter(|tool| tool.effect != Effect::Read).count() < CRIES {
        return;
    }
    for tool in tools.iter_mut().filter(|tool| tool.effect == Effect::Destroy) {
        if Effect::infer(&tool.name, Hints::default()) != Effect::Destroy {
            tool.effect = Effect::Write;
        }
    }
}

/// Every tool we know, ordered by server and then as each server lists them.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tools: Vec<Tool>,
    /// The form of each tool, read on first use.
    forms: Vec<OnceLock<Form>>,
    by_id: HashMap<ToolId, usize>,
    servers: Vec<Listed>,
}

/// One server that listed something.
#[derive(Clone, Debug)]
struct Listed {
    server: Arc<str>,
    tools: Range<usize>,
    /// How many servers were given before it.
    place: usize,
}

impl Catalog {
    /// Takes in whatever is usable and says what was not. Of tools that are alike, those of a server that comes
    /// earlier are preferred.
    pub fn gather(advertised: impl IntoIterator<Item = (Advertised, Bounds)>) -> (Self, Vec<Problem>) {
        let mut advertised: Vec<(usize, (Advertised, Bounds))> = advertised.into_iter().enumerate().collect();
        advertised.sort_by(|(_, (a, _)), (_, (b, _))| a.server.cmp(&b.server));

        let mut catalog = Self::default();
        let mut problems = Vec::new();
        for (place, (Advertised { server, mut tools }, bounds)) in advertised {
            let start = catalog.tools.len();
            if let Some(cut) = tools.len().checked_sub(bounds.tools).filter(|cut| *cut > 0) {
                tools.truncate(bounds.tools);
                problems.push(Problem::too_many(&server, bounds.tools, cut));
            }
            let mut warns_of_all = true;
            for definition in tools {
                let Some((tool, hints)) = admit::admit(&server, definition, bounds, &mut problems) else {
                    continue;
                };
                warns_of_all &= tool.effect == Effect::Read || hints.destructive == Some(true);
                problems.extend(catalog.insert(tool).err());
            }
            if warns_of_all {
                disregard_warnings(&mut catalog.tools[start..]);
            }
            let end = catalog.tools.len();
            match catalog.servers.last_mut() {
                Some(last) if last.server == server => last.tools.end = end,
                _ => catalog.servers.push(Listed { server, tools: start..end, place }),
            }
        }
        (catalog, problems)
    }

    /// Returns all tools; a tool's place in the slice is its position.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Returns the form of the tool at a position.
    pub fn form(&self, position: usize) -> &Form {
        self.forms[position].get_or_init(|| Form::of(&self.tools[position]))
    }

    /// Returns how many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns whether there is no tool at all.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tool that clients call `id`.
    pub fn get(&self, id: &str) -> Option<&Tool> {
        self.position(id).map(|at| &self.tools[at])
    }

    /// Returns the position of the tool that clients call `id`.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Returns the tool that `server` itself calls `name`.
    pub fn find(&self, server: &str, name: &str) -> Option<&Tool> {
        // An id follows from the two names, so a second map would only cost memory.
        self.get(ToolId::new(server, name).as_str())
            .filter(|tool| &*tool.server == server && tool.name == name)
    }

    /// Returns the tools of one server in its own order; none if it is not known.
    pub fn of_server(&self, server: &str) -> &[Tool] {
        match self.servers.binary_search_by(|listed| (*listed.server).cmp(server)) {
            Ok(at) => &self.tools[self.servers[at].tools.clone()],
            Err(_) => &[],
        }
    }

    /// Returns every server that listed something, with how many of its tools are usable.
    pub fn servers(&self) -> impl Iterator<Item = (&Arc<str>, usize)> {
        self.servers.iter().map(|listed| (&listed.server, listed.tools.len()))
    }

    /// Returns how many servers were given before one.
    pub fn place(&self, server: &str) -> Option<usize> {
        let at = self.servers.binary_search_by(|listed| (*listed.server).cmp(server)).ok()?;
        Some(self.servers[at].place)
    }

    /// Returns the positions of all tools in the order in which those that fit equally well are preferred: by
    /// their own names, and those of one name as their servers were given.
    pub fn preferred(&self) -> Vec<usize> {
        let places = self.servers.iter().flat_map(|listed| listed.tools.clone().map(|_| listed.place));
        let places: Vec<usize> = places.collect();
        let mut order: Vec<usize> = (0..self.tools.len()).collect();
        order.sort_by_key(|at| (&self.tools[*at].name, places[*at]));
        order
    }

    fn insert(&mut self, tool: Tool) -> Result<(), Problem> {
        if let Some(at) = self.position(tool.id.as_str()) {
            return Err(Problem::taken(&tool, &self.tools[at]));
        }
        self.by_id.insert(tool.id.clone(), self.tools.len());
        self.tools.push(tool);
        self.forms.push(OnceLock::new());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
