//! Calls of the new tools as calls of the original ones, and back.
//!
//! For every original tool and all arguments that fit it, `fold` gives a call that `resolve` maps back to exactly that
//! tool and those arguments. What does not belong to an action is refused by name and never dropped, except for `null`
//! and for values that are the default anyway: some clients fill those in for every parameter.

use serde_json::{Map, Value};

use super::build::MOST_ITEMS;
use super::{Consolidated, Consolidation, FamilyAction, Selector};

/// A call of an original tool.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginalCall {
    /// What the server calls the tool.
    pub tool: String,
    /// The arguments as the original tool takes them.
    pub arguments: Map<String, Value>,
    /// Whether the caller confirmed it.
    pub is_confirmed: bool,
}

/// What a call of a new tool stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// One call.
    One(OriginalCall),
    /// Several calls of the action that creates something, to be made one by one.
    Batch(Vec<OriginalCall>),
}

/// Why a call of a new tool stands for none of an original one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No family has this name.
    #[error("there is no consolidated tool `{0}`")]
    UnknownTool(String),
    /// The call does not say what to do.
    #[error("`{tool}` needs `{selector}`: one of {}", quoted(actions))]
    NoAction {
        /// The tool that was called.
        tool: String,
        /// The parameter that is missing.
        selector: String,
        /// What it can be.
        actions: Vec<String>,
    },
    /// The call wants something that the tool does not do.
    #[error("`{tool}` has no {selector} `{given}`; it has {}", quoted(actions))]
    UnknownAction {
        /// The tool that was called.
        tool: String,
        /// The parameter that says what to do.
        selector: String,
        /// What was given.
        given: String,
        /// What it can be.
        actions: Vec<String>,
    },
    /// The action cannot do without some parameters.
    #[error("`{action}` needs {}; usage: {usage}", quoted(names))]
    Missing {
        /// The action that was chosen.
        action: String,
        /// What is missing.
        names: Vec<String>,
        /// How the action is called.
        usage: String,
    },
    /// A parameter of other actions.
    #[error("`{action}` does not take `{name}`, which belongs to {}; usage: {usage}", quoted(owners))]
    Foreign {
        /// The action that was chosen.
        action: String,
        /// The parameter that does not belong to it.
        name: String,
        /// The actions that it belongs to.
        owners: Vec<String>,
        /// How the action is called.
        usage: String,
    },
    /// A parameter of no action.
    #[error("`{action}` does not take `{name}`; usage: {usage}")]
    UnknownParameter {
        /// The action that was chosen.
        action: String,
        /// The parameter that nobody knows.
        name: String,
        /// How the action is called.
        usage: String,
    },
    /// One parameter under two names.
    #[error("`{name}` is given twice, also as `{also}`; give it once")]
    Twice {
        /// The parameter.
        name: String,
        /// Its other name.
        also: String,
    },
    /// Arguments by name that are no object.
    #[error("`{0}` must be an object with arguments by name")]
    NotAnObject(String),
    /// A list that cannot be run.
    #[error(
        "`{name}` must be a list of 1 to {MOST_ITEMS} objects, and no other argument may stand beside it"
    )]
    BadList {
        /// The parameter that holds the list.
        name: String,
    },
    /// One item of a list stands for no call.
    #[error("item {number} of the list: {error}; nothing was done")]
    BadItem {
        /// The item, counted from 1.
        number: usize,
        /// What is wrong with it.
        error: Box<Self>,
    },
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl Consolidation {
    /// Returns the call, or the calls, that a call of a new tool stands for.
    pub fn resolve(&self, tool: &str, arguments: &Map<String, Value>) -> Result<Resolved, Error> {
        self.get(tool).ok_or_else(|| Error::UnknownTool(tool.to_owned()))?.resolve(arguments)
    }

    /// Returns the call of a new tool that stands for a call of an original one; `None` where that stays as it is.
    pub fn fold(&self, original: &str, arguments: &Map<String, Value>) -> Option<(&str, Map<String, Value>)> {
        let owner = self.owner(original)?;
        Some((owner.name(), owner.fold(original, arguments)?))
    }
}

impl Consolidated {
    /// Returns the call, or the calls, that a call with these arguments stands for.
    pub fn resolve(&self, arguments: &Map<String, Value>) -> Result<Resolved, Error> {
        let action = self.chosen(arguments)?;
        let is_confirmed = arguments.get(self.confirmation) == Some(&Value::Bool(true));
        let list = self.batch.as_ref().filter(|(at, _)| self.actions[*at].name == action.name);
        let list = list.and_then(|(_, name)| Some((name, arguments.get(name).filter(|it| !it.is_null())?)));
        if let Some((name, list)) = list {
            return self.batch(action, (name, list), arguments, is_confirmed);
        }
        let call = OriginalCall {
            tool: action.tool.clone(),
            arguments: self.mapped(action, arguments)?,
            is_confirmed,
        };
        Ok(Resolved::One(call))
    }

    /// Returns the arguments that stand for a call of one of its original tools.
    pub fn fold(&self, original: &str, arguments: &Map<String, Value>) -> Option<Map<String, Value>> {
        let action = self.actions.iter().find(|action| action.tool == original)?;
        let mut folded = Map::new();
        if let Selector::Named(name) = &self.selector {
            folded.insert((*name).to_owned(), Value::String(action.name.clone()));
        }
        let mut hidden = Map::new();
        for (name, value) in arguments {
            match action.slots.iter().find(|slot| slot.original == *name) {
                Some(slot) => drop(folded.insert(slot.name.clone(), value.clone())),
                None if self.means_something(action, name) => {
                    drop(hidden.insert(name.clone(), value.clone()))
                }
                None => drop(folded.insert(name.clone(), value.clone())),
            }
        }
        if !hidden.is_empty() {
            folded.insert(self.extra.clone(), Value::Object(hidden));
        }
        Some(folded)
    }

    /// Returns the action that arguments mean.
    fn chosen(&self, arguments: &Map<String, Value>) -> Result<&FamilyAction, Error> {
        let selector = match &self.selector {
            Selector::Keyed(keys) => {
                let is_given = |key: &String| arguments.get(key).is_some_and(|value| !value.is_null());
                return Ok(&self.actions[usize::from(!keys.iter().any(is_given))]);
            }
            Selector::Named(name) => *name,
        };
        let actions = || self.actions.iter().map(|action| action.name.clone()).collect();
        let Some(given) = arguments.get(selector).filter(|given| !given.is_null()) else {
            return Err(Error::NoAction {
                tool: self.name.clone(),
                selector: selector.to_owned(),
                actions: actions(),
            });
        };
        let found = given.as_str().and_then(|given| self.actions.iter().find(|action| action.name == given));
        found.ok_or_else(|| Error::UnknownAction {
            tool: self.name.clone(),
            selector: selector.to_owned(),
            given: given.as_str().map_or_else(|| given.to_string(), str::to_owned),
            actions: actions(),
        })
    }

    fn mapped(&self, action: &FamilyAction, given: &Map<String, Value>) -> Result<Map<String, Value>, Error> {
        let mut mapped: Map<String, Value> = Map::new();
        for (name, value) in given.iter().filter(|(name, _)| !self.is_own(name)) {
            let slot = action.slots.iter().find(|slot| slot.name == *name);
            // The name that the original tool uses is as clear.
            let slot = slot.or_else(|| action.slots.iter().find(|slot| slot.original == *name));
            if let Some(slot) = slot {
                if mapped.insert(slot.original.clone(), value.clone()).is_some() {
                    return Err(Error::Twice { name: slot.name.clone(), also: slot.original.clone() });
                }
            } else if *name == self.extra && action.is_open {
                let Some(more) = value.as_object() else { return Err(Error::NotAnObject(name.clone())) };
                for (name, value) in more {
                    if mapped.insert(name.clone(), value.clone()).is_some() {
                        return Err(Error::Twice { name: name.clone(), also: self.extra.clone() });
                    }
                }
            } else if let Some((_, schema)) = self.parameters.iter().find(|(known, _)| known == name) {
                if !value.is_null() && schema.get("default") != Some(value) {
                    return Err(self.foreign(action, name));
                }
            } else if action.is_open && !self.is_list(name) {
                mapped.insert(name.clone(), value.clone());
            } else {
                let usage = self.usage(action);
                return Err(Error::UnknownParameter {
                    action: action.name.clone(),
                    name: name.clone(),
                    usage,
                });
            }
        }
        let missing =
            action.slots.iter().filter(|slot| slot.is_required && !mapped.contains_key(&slot.original));
        let names: Vec<String> = missing.map(|slot| slot.name.clone()).collect();
        match names.is_empty() {
            true => Ok(mapped),
            false => Err(Error::Missing { action: action.name.clone(), names, usage: self.usage(action) }),
        }
    }

    fn batch(
        &self,
        action: &FamilyAction,
        (name, list): (&str, &Value),
        given: &Map<String, Value>,
        is_confirmed: bool,
    ) -> Result<Resolved, Error> {
        let is_alone =
            given.iter().all(|(other, value)| other == name || self.is_own(other) || value.is_null());
        let items = list.as_array().filter(|items| is_alone && (1..=MOST_ITEMS).contains(&items.len()));
        let items: Option<Vec<&Map<String, Value>>> =
            items.and_then(|items| items.iter().map(Value::as_object).collect());
        let items = items.ok_or_else(|| Error::BadList { name: name.to_owned() })?;
        let call = |(at, item): (usize, &Map<String, Value>)| match self.mapped(action, item) {
            Ok(arguments) => Ok(OriginalCall { tool: action.tool.clone(), arguments, is_confirmed }),
            Err(error) => Err(Error::BadItem { number: at + 1, error: Box::new(error) }),
        };
        Ok(Resolved::Batch(items.into_iter().enumerate().map(call).collect::<Result<_, _>>()?))
    }

    fn foreign(&self, action: &FamilyAction, name: &str) -> Error {
        let owners = self.actions.iter().filter(|it| it.slots.iter().any(|slot| slot.name == name));
        Error::Foreign {
            action: action.name.clone(),
            name: name.to_owned(),
            owners: owners.map(|it| it.name.clone()).collect(),
            usage: self.usage(action),
        }
    }

    /// Whether a name is of the new tool itself, and of no original one.
    fn is_own(&self, name: &str) -> bool {
        name == self.confirmation || matches!(&self.selector, Selector::Named(own) if *own == name)
    }

    fn is_list(&self, name: &str) -> bool {
        self.batch.as_ref().is_some_and(|(_, own)| own == name)
    }

    /// Whether a name that an original tool does not know would be taken as something else here.
    fn means_something(&self, action: &FamilyAction, name: &str) -> bool {
        self.is_own(name)
            || self.is_list(name)
            || name == self.extra
            || self.parameters.iter().any(|(known, _)| known == name)
            || action.slots.iter().any(|slot| slot.name == name)
    }
}
