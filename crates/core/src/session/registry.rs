//! Every tool that a conversation can be given, by tier, group and domain.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::domain::DOMAIN;
use crate::lexicon::Action;
use crate::text::terms;

/// The tier of a tool that nobody gave one: usual, neither essential nor a last resort.
pub const USUAL: u8 = 1;
/// The tier of tools that are given out for one request only.
pub const FALLBACK: u8 = 2;

/// Words of a message that are compared with the names of domains.
const MOST_TERMS: usize = 200;

/// A tool as far as giving it out is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// What clients call it.
    pub name: Arc<str>,
    /// The server it comes from.
    pub group: Arc<str>,
    /// What it does.
    pub action: Action,
    /// Words it is filed under; `domain:…` says of which domain it is.
    pub tags: Vec<Arc<str>>,
}

impl Registered {
    fn domains(&self) -> impl Iterator<Item = &Arc<str>> {
        self.tags.iter().filter(|tag| tag.starts_with(DOMAIN))
    }
}

/// Every tool that a conversation can be given, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: Vec<(Registered, u8)>,
    by_name: HashMap<Arc<str>, usize>,
    by_domain: BTreeMap<Arc<str>, Vec<usize>>,
}

impl Registry {
    /// Adds a tool and assigns its tier; without one it is [`USUAL`]. A tool that is there already gets the
    /// new tier and keeps its place, so that every tool is in exactly one tier.
    pub fn add_tool(&mut self, tool: Registered, tier: Option<u8>) {
        let tier = tier.unwrap_or(USUAL);
        if let Some(at) = self.by_name.get(&tool.name) {
            self.tools[*at].1 = tier;
            return;
        }
        let at = self.tools.len();
        self.by_name.insert(Arc::clone(&tool.name), at);
        for domain in tool.domains() {
            self.by_domain.entry(Arc::clone(domain)).or_default().push(at);
        }
        self.tools.push((tool, tier));
    }

    /// Returns a tool by its name.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.by_name.get(name).map(|at| &self.tools[*at].0)
    }

    /// Returns the tier of a tool.
    pub fn tier(&self, name: &str) -> Option<u8> {
        self.by_name.get(name).map(|at| self.tools[*at].1)
    }

    /// Returns the tools of one tier; none when it is empty.
    pub fn tools_by_tier(&self, tier: u8) -> Vec<&Registered> {
        self.tools.iter().filter(|(_, own)| *own == tier).map(|(tool, _)| tool).collect()
    }

    /// Returns the tools of all tiers up to this one.
    pub fn tools_up_to_tier(&self, most: u8) -> Vec<&Registered> {
        self.tools.iter().filter(|(_, own)| *own <= most).map(|(tool, _)| tool).collect()
    }

    /// Returns the tools of one server, whatever their tier.
    pub fn group(&self, name: &str) -> Vec<&Registered> {
        self.tools.iter().map(|(tool, _)| tool).filter(|tool| *tool.group == *name).collect()
    }

    /// Returns the tags of all domains.
    pub fn domains(&self) -> BTreeSet<&str> {
        self.by_domain.keys().map(|domain| &**domain).collect()
    }

    /// Returns all tools of a domain, named by its tag.
    pub fn tools_by_domain(&self, domain: &str) -> Vec<&Registered> {
        self.by_domain.get(domain).into_iter().flatten().map(|at| &self.tools[*at].0).collect()
    }

    /// Returns how many tools each domain has.
    pub fn domain_tool_count(&self) -> BTreeMap<&str, usize> {
        self.by_domain.iter().map(|(domain, tools)| (&**domain, tools.len())).collect()
    }

    /// Whether nothing of a domain is given out for longer than one request.
    pub(super) fn is_fallback(&self, domain: &str) -> bool {
        let tools = self.by_domain.get(domain).map(Vec::as_slice).unwrap_or_default();
        tools.iter().all(|at| self.tools[*at].1 >= FALLBACK)
    }

    /// Returns the tools of a domain that stay while it is active.
    pub(super) fn staying<'a>(&'a self, domain: &str) -> impl Iterator<Item = &'a Arc<str>> {
        let tools = self.by_domain.get(domain).into_iter().flatten().map(|at| &self.tools[*at]);
        tools.filter(|(_, tier)| *tier < FALLBACK).map(|(tool, _)| &tool.name)
    }

    /// Returns the domains that a message names, each with the place of its first word.
    pub(super) fn said(&self, message: &str) -> Vec<(&Arc<str>, usize)> {
        let words = terms(message, MOST_TERMS);
        let place = |domain: &str| {
            // Of `domain:github/issues` people say the issues.
            let own = terms(domain.rsplit(['/', ':']).next().unwrap_or_default(), MOST_TERMS);
            let places: Option<Vec<usize>> =
                own.iter().map(|term| words.iter().position(|word| word == term)).collect();
            places?.into_iter().min()
        };
        self.by_domain.keys().filter_map(|domain| Some((domain, place(domain)?))).collect()
    }
}
