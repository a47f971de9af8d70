//! Old names of tools, and what a call of one becomes.
//!
//! An old name is never a tool of its own: it is not listed and not ranked, and a tool that has the name wins. A call
//! of one becomes a call of the tool that it stands for before anybody judges it.

mod usage; // how a tool is called instead, in one line

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::tool::Tool;

/// What an old name stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// The old name: `tool`, or `server__tool` where it was that of another server.
    pub old: String,
    /// The tool that is called instead, as `server__tool`.
    pub to: String,
    /// Arguments that it is always given.
    pub fixed: Map<String, Value>,
    /// New names of arguments by their old ones.
    pub renamed: BTreeMap<String, String>,
    /// How it is called instead, in one line; made from the rest where nobody wrote it.
    pub usage: Option<String>,
    /// Whether calls still work.
    pub phase: Phase,
}

/// How far the migration away from an old name is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Calls work, with a warning.
    #[default]
    Warn,
    /// Calls are answered with how to call the tool instead.
    Gone,
}

/// A tool that a server has renamed, in the names of that server itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Renaming {
    /// The old name.
    pub old: String,
    /// The new name.
    pub new: String,
    /// Arguments that the new tool is always given.
    pub fixed: Map<String, Value>,
    /// New names of arguments by their old ones.
    pub renamed: BTreeMap<String, String>,
    /// How it is called instead, in one line.
    pub usage: Option<String>,
}

/// Why an old name, or a call of one, cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Several servers have had a tool of that name.
    #[error("`{name}` is the old name of several tools; call one of {}", quoted(tools))]
    Ambiguous {
        /// The old name.
        name: String,
        /// The tools that it may stand for.
        tools: Vec<String>,
    },
    /// Following old names leads back to one of them.
    #[error("`{0}` stands for itself, through `to` of other old names")]
    Circle(String),
    /// Two old names on the way give one argument different values.
    #[error("`{name}` gives `{argument}` two different values on the way to `{to}`")]
    AtOdds {
        /// The old name.
        name: String,
        /// The tool.
        to: String,
        /// The argument.
        argument: String,
    },
    /// The caller gives one argument twice, with different values.
    #[error(
        "`{first}` and `{second}` are one argument of `{to}`, but have different values; give one of them"
    )]
    Conflict {
        /// The tool.
        to: String,
        /// The argument as it was given first.
        first: String,
        /// The argument as it was given the second time.
        second: String,
    },
    /// The caller gives an argument that the old name decides.
    #[error(
        "`{old}` always gives `{argument}` the value {value}; leave `{argument}` out, or call `{to}` itself"
    )]
    Fixed {
        /// The old name.
        old: String,
        /// The tool.
        to: String,
        /// The argument.
        argument: String,
        /// What it always is.
        value: String,
    },
}

impl Alias {
    /// Makes the alias of a tool that a server has renamed.
    pub fn of_server(server: &str, renaming: Renaming, phase: Phase) -> Self {
        let Renaming { old, new, fixed, renamed, usage } = renaming;
        let to = crate::tool::ToolId::new(server, &new).as_str().to_owned();
        Self { old, to, fixed, renamed, usage, phase }
    }

    /// Returns the names that it stands behind: a bare one is also that of the server whose tool is called instead.
    pub fn names(&self) -> Vec<String> {
        let server = self.to.split_once("__").map(|(server, _)| server);
        let whole =
            server.filter(|_| !self.old.contains("__")).map(|server| format!("{server}__{}", self.old));
        let whole = whole.filter(|whole| *whole != self.to);
        std::iter::once(self.old.clone()).chain(whole).collect()
    }

    /// Whether a call gets other arguments, not only another name.
    pub fn changes_arguments(&self) -> bool {
        !self.fixed.is_empty() || !self.renamed.is_empty()
    }

    /// Returns the new name of an argument.
    pub fn argument<'a>(&'a self, given: &'a str) -> &'a str {
        self.renamed.get(given).map_or(given, String::as_str)
    }

    /// Turns the arguments of a call into those of the tool that is called instead: the given ones under their new
    /// names, then the fixed ones. `literal` makes a value of a fixed one.
    pub fn apply<V: PartialEq>(
        &self,
        given: impl IntoIterator<Item = (String, V)>,
        literal: impl Fn(&Value) -> V,
    ) -> Result<Vec<(String, V)>, Error> {
        let mut taken: Vec<(String, V)> = Vec::new();
        // As it was given, by its new name.
        let mut places: HashMap<String, (usize, String)> = HashMap::new();
        for (name, value) in given {
            let new = self.argument(&name).to_owned();
            match places.get(&new) {
                Some((at, _)) if taken[*at].1 == value => {}
                Some((_, first)) => {
                    let (to, first) = (self.to.clone(), first.clone());
                    return Err(Error::Conflict { to, first, second: name });
                }
                None => {
                    places.insert(new.clone(), (taken.len(), name));
                    taken.push((new, value));
                }
            }
        }
        for (name, fixed) in &self.fixed {
            let value = literal(fixed);
            match places.get(name) {
                Some((at, _)) if taken[*at].1 == value => {}
                Some((_, given)) => {
                    let (old, to) = (self.old.clone(), self.to.clone());
                    return Err(Error::Fixed { old, to, argument: given.clone(), value: fixed.to_string() });
                }
                None => taken.push((name.clone(), value)),
            }
        }
        Ok(taken)
    }

    /// Says how the tool is called instead: as somebody wrote it, or by the mapping and what the tool takes.
    pub fn usage(&self, tool: Option<&Tool>) -> String {
        self.usage.clone().unwrap_or_else(|| usage::generated(self, tool))
    }

    /// Says that the name is gone and what to call instead, for a model to act on.
    pub fn farewell(&self, name: &str, tool: Option<&Tool>) -> String {
        format!(
            "The tool `{name}` does not exist any more; nothing was done. Call {} instead.",
            self.usage(tool)
        )
    }

    /// Follows an alias whose tool is itself an old name.
    fn then(&self, next: &Self) -> Result<Self, Error> {
        let mut fixed = next.fixed.clone();
        for (name, value) in &self.fixed {
            let new = next.argument(name);
            if fixed.get(new).is_some_and(|other| other != value) {
                let (name, to) = (self.old.clone(), next.to.clone());
                return Err(Error::AtOdds { name, to, argument: new.to_owned() });
            }
            fixed.insert(new.to_owned(), value.clone());
        }
        let mut renamed = next.renamed.clone();
        for (old, new) in &self.renamed {
            renamed.insert(old.clone(), next.argument(new).to_owned());
        }
        renamed.retain(|old, new| old != new);
        let usage = self.usage.clone().or_else(|| next.usage.clone().filter(|_| !self.changes_arguments()));
        Ok(Self { old: self.old.clone(), to: next.to.clone(), fixed, renamed, usage, phase: self.phase })
    }
}

/// All old names at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aliases {
    list: Vec<Alias>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Aliases {
    /// Gathers what a person wrote and what servers brought along; a name that a person wrote about is theirs.
    pub fn gather(written: Vec<Alias>, brought: impl IntoIterator<Item = Alias>) -> Self {
        let mut aliases = Self::default();
        let own: BTreeSet<String> = written.iter().flat_map(Alias::names).collect();
        for alias in written {
            aliases.insert(alias, |_| true);
        }
        for alias in brought {
            aliases.insert(alias, |name| !own.contains(name));
        }
        aliases
    }

    fn insert(&mut self, alias: Alias, is_free: impl Fn(&str) -> bool) {
        for name in alias.names().into_iter().filter(|name| is_free(name)) {
            self.by_name.entry(name).or_default().push(self.list.len());
        }
        self.list.push(alias);
    }

    /// Returns whether there is no old name at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns every alias, each once, in the order in which they were gathered.
    pub fn iter(&self) -> impl Iterator<Item = &Alias> {
        self.list.iter()
    }

    /// Returns what an old name stands for, followed to its end; `None` where it is not one, or is a tool.
    ///
    /// `sees` says whether the caller may know of a tool.
    pub fn resolve(
        &self,
        name: &str,
        catalog: &Catalog,
        sees: impl Fn(&str) -> bool,
    ) -> Result<Option<Alias>, Error> {
        let Some(places) = self.by_name.get(name).filter(|_| catalog.get(name).is_none()) else {
            return Ok(None);
        };
        let mut found: Vec<Alias> = Vec::new();
        for at in places.iter().filter(|at| shadow(&self.list[**at], catalog).is_none()) {
            let alias = self.follow(*at, catalog)?;
            if sees(&alias.to) {
                found.push(alias);
            }
        }
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => {
                let tools = found.into_iter().map(|alias| alias.to).collect();
                Err(Error::Ambiguous { name: name.to_owned(), tools })
            }
        }
    }

    /// Says what is wrong with old names on the tools that there are. `is_awaited` says whether the server of a tool
    /// was not heard of yet, and so may have it.
    pub fn problems(&self, catalog: &Catalog, is_awaited: impl Fn(&str) -> bool) -> Vec<String> {
        let mut problems = Vec::new();
        for (at, alias) in self.list.iter().enumerate() {
            let old = &alias.old;
            if let Some(tool) = shadow(alias, catalog) {
                problems.push(format!(
                    "`{old}` is an old name, but there is a tool `{}`, which is called",
                    tool.id
                ));
                continue;
            }
            let end = match self.follow(at, catalog) {
                Ok(end) => end,
                Err(error) => {
                    problems.push(error.to_string());
                    continue;
                }
            };
            match catalog.get(&end.to) {
                Some(tool) => problems.extend(misfits(&end, tool)),
                None if is_awaited(&end.to) => {}
                None => problems.push(format!("`{old}` stands for `{}`, which no server has", end.to)),
            }
        }
        problems
    }

    /// Follows an alias to a tool, or to a name that is nobody's old one.
    fn follow(&self, at: usize, catalog: &Catalog) -> Result<Alias, Error> {
        let (mut alias, mut seen) = (self.list[at].clone(), BTreeSet::from([at]));
        while catalog.get(&alias.to).is_none() {
            match self.by_name.get(&alias.to).map(Vec::as_slice) {
                None | Some([]) => break,
                Some([next]) if !seen.insert(*next) => return Err(Error::Circle(alias.old)),
                Some([next]) => alias = alias.then(&self.list[*next])?,
                Some(several) => {
                    let tools = several.iter().map(|next| self.list[*next].to.clone()).collect();
                    return Err(Error::Ambiguous { name: alias.to, tools });
                }
            }
        }
        Ok(alias)
    }
}

/// Returns the tool that has the name which an alias takes for an old one.
fn shadow<'c>(alias: &Alias, catalog: &'c Catalog) -> Option<&'c Tool> {
    alias.names().iter().find_map(|name| catalog.get(name))
}

/// Says which arguments a tool would be given that it does not take.
fn misfits(alias: &Alias, tool: &Tool) -> Vec<String> {
    // A tool without parameters may take anything.
    let takes = |name: &str| tool.parameters.is_empty() || tool.parameters.iter().any(|it| it.name == name);
    let given: BTreeSet<&str> =
        alias.fixed.keys().map(String::as_str).chain(alias.renamed.values().map(String::as_str)).collect();
    let unknown = given.into_iter().filter(|name| !takes(name));
    unknown
        .map(|name| format!("`{}` gives `{name}` to `{}`, which does not take it", alias.old, tool.id))
        .collect()
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
