//! What one conversation has active: core tools, tiers, skills, domains, and what one request needs besides.
//!
//! All of it is values: the same messages over the same tools give the same list. Names of tools are all that
//! is kept, and nothing is shared between conversations.

mod meant;
mod registry;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::domain::DOMAIN;
use crate::lexicon::Action;
use crate::tool::clean;

pub use meant::{Meant, meant, merged, named, needed};
pub use registry::{FALLBACK, Registered, Registry, USUAL};

/// How many tools a conversation is given at most. No `Default`: the configuration knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Tools of active domains.
    pub max_tools: usize,
    /// Domains that are active at once.
    pub max_domains: usize,
    /// Skills that are active at once.
    pub max_skills: usize,
    /// Tools of the whole list.
    pub max_listed: usize,
}

impl Caps {
    /// What fits a small model.
    pub const STANDARD: Self = Self { max_tools: 10, max_domains: 3, max_skills: 3, max_listed: 15 };
}

/// Places that tools bound for one request have before domains, where the request means no domain.
const RESERVED: usize = 5;

/// Characters of a name that nobody has, in what is said about it.
const SHOWN_CHARS: usize = 100;

/// What a toolset is put together from.
#[derive(Clone, Copy, Debug)]
pub struct Stock<'a> {
    /// Every tool there is.
    pub registry: &'a Registry,
    /// Tools that are always there, in this order.
    pub core: &'a [Arc<str>],
    /// Tools up to this tier are always there.
    pub tier: Option<u8>,
    /// The tools of each skill.
    pub skills: &'a BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// How many tools there are at most.
    pub caps: Caps,
}

/// What a message of a conversation asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// The domains it is about, in the order in which it mentions them.
    pub domains: &'a [Meant],
    /// The tools that may be meant, likeliest first.
    pub ranked: &'a [Arc<str>],
    /// Tools that are needed for this message and not afterwards, most needed first.
    pub bound: &'a [Arc<str>],
}

/// What was selected for a message, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The whole list, in its order.
    pub tool_names: Vec<Arc<str>>,
    /// The active domains by their tags, in the order in which they came.
    pub domains: Vec<Arc<str>>,
    /// What changed and why, in sentences.
    pub reasoning: String,
}

/// What became of activating a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The skill that had to go.
    pub evicted: Option<Arc<str>>,
    /// What changed and why, in sentences.
    pub reasoning: String,
}

/// Says that there is no such skill, and which ones there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no skill `{name}`; {}", listed_skills(.known))]
pub struct UnknownSkill {
    /// What was asked for.
    pub name: String,
    /// The skills there are.
    pub known: Vec<Arc<str>>,
}

fn listed_skills(known: &[Arc<str>]) -> String {
    match known {
        [] => "no skill is configured".to_owned(),
        known => format!("skills: {}", known.join(", ")),
    }
}

/// What one conversation has active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolset {
    turn: u64,
    /// The oldest first.
    skills: Vec<Arc<str>>,
    /// In the order in which they came, so that the list does not move when one is used again.
    domains: Vec<Active>,
    bound: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Active {
    domain: Arc<str>,
    /// The last message that meant it, and its place there: what is mentioned last is the most recent.
    used: (u64, usize),
    /// The tools that were kept of a domain that is too large.
    kept: Part,
}

/// What is kept of a domain; all of it when `None`.
type Part = Option<Vec<Arc<str>>>;

impl Toolset {
    /// Begins with the tools that a conversation has already: their domains are active, the last of them the most
    /// recent. Tools that are always there, and names that nobody has, say nothing about it.
    pub fn with_tools(stock: &Stock, current_tools: &[impl AsRef<str>]) -> Self {
        let mut toolset = Self::default();
        let fixed = toolset.fixed(stock);
        let current = current_tools.iter().filter_map(|name| stock.registry.get(name.as_ref()));
        for (place, tool) in current.filter(|tool| !fixed.contains(&tool.name)).enumerate() {
            let domains = tool.tags.iter().filter(|tag| tag.starts_with(DOMAIN));
            for domain in domains.filter(|domain| !stock.registry.is_fallback(domain)) {
                match toolset.domains.iter_mut().find(|active| active.domain == *domain) {
                    Some(active) => active.used = (0, place),
                    None => {
                        let active = Active { domain: Arc::clone(domain), used: (0, place), kept: None };
                        toolset.domains.push(active);
                    }
                }
            }
        }
        toolset
    }

    /// Takes a message in: its domains become the most recent ones, what was bound for the message before goes,
    /// and what has no room goes from the oldest on.
    pub fn select(&mut self, stock: &Stock, message: &Said) -> Selection {
        self.turn += 1;
        let mut why = Vec::new();
        self.bound.clear();
        let mut known: Vec<&Meant> = Vec::new();
        for meant in message.domains {
            let is_new = !known.iter().any(|other| other.domain == meant.domain);
            if is_new && !stock.registry.tools_by_domain(&meant.domain).is_empty() {
                known.push(meant);
            }
        }
        let (fallback, current): (Vec<&Meant>, Vec<&Meant>) =
            known.into_iter().partition(|meant| stock.registry.is_fallback(&meant.domain));
        let before: Vec<Arc<str>> = self.domains().cloned().collect();
        self.mention(&current);
        self.settle(stock, &current, message.ranked, &mut why);
        let came = self.domains().filter(|domain| !before.contains(domain));
        let came = came.map(|domain| format!("{} came: it is meant now", shown(domain)));
        why.splice(0..0, came.collect::<Vec<_>>());
        self.bind(stock, &fallback, message, &mut why);
        let domains = self.domains.iter().map(|active| Arc::clone(&active.domain)).collect();
        Selection { tool_names: self.listed(stock), domains, reasoning: sentences(&why) }
    }

    /// Activates a skill; the oldest goes when there are too many. Activating an active one changes nothing.
    pub fn activate(&mut self, stock: &Stock, skill: &str) -> Result<Activation, UnknownSkill> {
        let Some((name, tools)) = stock.skills.get_key_value(skill) else {
            let known = stock.skills.keys().cloned().collect();
            let name = clean(skill).chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect();
            return Err(UnknownSkill { name, known });
        };
        if self.skills.contains(name) {
            let reasoning = format!("The skill `{name}` is active already.");
            return Ok(Activation { evicted: None, reasoning });
        }
        let is_full = self.skills.len() >= stock.caps.max_skills && !self.skills.is_empty();
        let evicted = is_full.then(|| self.skills.remove(0));
        let mut why = Vec::new();
        if let Some(evicted) = &evicted {
            let most = stock.caps.max_skills;
            why.push(format!("the skill `{evicted}` went: it was the oldest of {most}"));
        }
        self.skills.push(Arc::clone(name));
        why.push(match tools.len() {
            0 => format!("the skill `{name}` came, with instructions and no tools"),
            1 => format!("the skill `{name}` came, with one tool"),
            count => format!("the skill `{name}` came, with {count} tools"),
        });
        self.settle(stock, &[], &[], &mut why);
        Ok(Activation { evicted, reasoning: sentences(&why) })
    }

    /// Returns the list: core tools, tiers, skills, domains, what is bound; each tool once.
    pub fn listed(&self, stock: &Stock) -> Vec<Arc<str>> {
        let mut list = self.fixed(stock);
        let bound: Vec<&Arc<str>> = self.bound.iter().filter(|name| !list.contains(name)).collect();
        let room = stock.caps.max_listed - list.len();
        let is_meant = self.domains.iter().any(|active| active.used.0 == self.turn);
        let reserved = if is_meant { 0 } else { bound.len().min(RESERVED).min(room) };
        let mut left = room - reserved;
        let mut shown: Vec<&Active> = Vec::new();
        for active in self.by_recency() {
            let count = of_domain(stock, active).filter(|name| !list.contains(name)).count();
            if count > left {
                break;
            }
            left -= count;
            shown.push(active);
        }
        for active in self.domains.iter().filter(|active| shown.contains(active)) {
            let tools: Vec<&Arc<str>> = of_domain(stock, active).collect();
            list = joined(list, tools, stock.caps.max_listed);
        }
        joined(list, bound, stock.caps.max_listed)
    }

    /// Whether a tool may be called: it is listed, or there was only no room to list it.
    pub fn is_active(&self, stock: &Stock, tool: &str) -> bool {
        let is_there = |names: &[Arc<str>]| names.iter().any(|name| **name == *tool);
        let of_skills = || self.skills.iter().filter_map(|skill| stock.skills.get(skill));
        let of_domains = || self.domains.iter().flat_map(|active| stock.registry.staying(&active.domain));
        is_there(stock.core)
            || is_there(&self.bound)
            || stock.tier.is_some_and(|most| stock.registry.tier(tool).is_some_and(|tier| tier <= most))
            || of_skills().any(|tools| is_there(tools))
            || of_domains().any(|name| **name == *tool)
    }

    /// Returns the active skills, the oldest first.
    pub fn skills(&self) -> &[Arc<str>] {
        &self.skills
    }

    /// Returns the tags of the active domains, in the order in which they came.
    pub fn domains(&self) -> impl Iterator<Item = &Arc<str>> {
        self.domains.iter().map(|active| &active.domain)
    }

    /// Returns the tools that are there for this message and not afterwards.
    pub fn bound(&self) -> &[Arc<str>] {
        &self.bound
    }

    /// What stands before the domains and does not depend on messages.
    fn fixed(&self, stock: &Stock) -> Vec<Arc<str>> {
        let of_tiers = stock.tier.map(|most| stock.registry.tools_up_to_tier(most)).unwrap_or_default();
        let of_tiers = of_tiers.into_iter().map(|tool| &tool.name);
        let of_skills = self.skills.iter().filter_map(|skill| stock.skills.get(skill)).flatten();
        joined(Vec::new(), stock.core.iter().chain(of_tiers).chain(of_skills), stock.caps.max_listed)
    }

    fn mention(&mut self, current: &[&Meant]) {
        for (place, meant) in current.iter().enumerate() {
            let used = (self.turn, place);
            match self.domains.iter_mut().find(|active| active.domain == meant.domain) {
                Some(active) => active.used = used,
                None => self.domains.push(Active { domain: Arc::clone(&meant.domain), used, kept: None }),
            }
        }
    }

    /// Keeps the domains that have room, complete: those that are meant now in the order of their weight, then
    /// the others from the most recent to the first that has no room.
    fn settle(&mut self, stock: &Stock, current: &[&Meant], ranked: &[Arc<str>], why: &mut Vec<String>) {
        let fixed = self.fixed(stock);
        let room = stock.caps.max_tools.min(stock.caps.max_listed - fixed.len());
        let mut order: Vec<&Meant> = current.to_vec();
        order.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.domain.cmp(&b.domain)));
        let is_current = |domain: &Arc<str>| order.iter().any(|meant| meant.domain == *domain);
        // A domain whose server is gone has nothing to keep a place for.
        let is_there = |domain: &Arc<str>| stock.registry.staying(domain).next().is_some();
        let older = self.by_recency().into_iter().map(|active| &active.domain);
        let older = older.filter(|domain| !is_current(domain) && is_there(domain));
        let candidates: Vec<(Arc<str>, bool)> = (order.iter().map(|meant| (Arc::clone(&meant.domain), true)))
            .chain(older.map(|domain| (Arc::clone(domain), false)))
            .collect();
        let mut kept: Vec<(Arc<str>, Part)> = Vec::new();
        let (mut taken, mut is_full): (HashSet<Arc<str>>, bool) = (HashSet::new(), false);
        for (domain, is_meant) in candidates {
            let known = |name: &Arc<str>| fixed.contains(name) || taken.contains(name);
            let tools: Vec<&Arc<str>> = stock.registry.staying(&domain).filter(|name| !known(name)).collect();
            let (count, would_be) = (tools.len(), taken.len() + tools.len());
            let has_room = would_be <= room && kept.len() < stock.caps.max_domains;
            if has_room && !is_full {
                taken.extend(tools.into_iter().cloned());
                kept.push((domain, None));
            } else if kept.is_empty() && stock.caps.max_domains > 0 {
                let before =
                    self.domains.iter().find(|it| it.domain == domain).and_then(|it| it.kept.clone());
                let most = self.most_relevant(stock, (tools, ranked), room, before.clone());
                if before.as_ref() != Some(&most) {
                    why.push(format!(
                        "{} has {count} tools and there is room for {room}: the most relevant stay, one for each \
                         kind of action first",
                        shown(&domain)
                    ));
                }
                taken.extend(most.iter().cloned());
                kept.push((domain, Some(most)));
            } else {
                let reason = match kept.len() < stock.caps.max_domains {
                    true => format!("{would_be} tools would be more than {room}"),
                    false => format!("at most {} domains are active", stock.caps.max_domains),
                };
                why.push(match is_meant {
                    true => format!("{} is left out although it is meant: {reason}", shown(&domain)),
                    false => format!("{} went: {reason}, and it was used longest ago", shown(&domain)),
                });
                is_full |= !is_meant;
            }
        }
        self.domains.retain_mut(|active| match kept.iter().find(|(domain, _)| *domain == active.domain) {
            Some((_, most)) => {
                active.kept.clone_from(most);
                true
            }
            None => false,
        });
    }

    /// Chooses the tools of a domain that is too large. What was chosen before stays while it will do.
    fn most_relevant(
        &self,
        stock: &Stock,
        (tools, ranked): (Vec<&Arc<str>>, &[Arc<str>]),
        room: usize,
        before: Part,
    ) -> Vec<Arc<str>> {
        let first = ranked.iter().find(|name| tools.contains(name));
        let will_do =
            |before: &Vec<Arc<str>>| before.len() == room && first.is_none_or(|first| before.contains(first));
        if let Some(before) = before.filter(will_do) {
            return before;
        }
        let place = |name: &Arc<str>| ranked.iter().position(|other| other == name).unwrap_or(usize::MAX);
        let mut by_relevance = tools.clone();
        by_relevance.sort_by_key(|name| place(name));
        let action = |name: &Arc<str>| stock.registry.get(name).map_or(Action::Unknown, |tool| tool.action);
        let mut seen = HashSet::new();
        let (firsts, others): (Vec<&Arc<str>>, Vec<&Arc<str>>) =
            by_relevance.into_iter().partition(|name| seen.insert(action(name)));
        let chosen: Vec<&Arc<str>> = firsts.into_iter().chain(others).take(room).collect();
        // In the order of the registry, so that another choice moves as little as possible.
        tools.into_iter().filter(|name| chosen.contains(name)).cloned().collect()
    }

    fn bind(&mut self, stock: &Stock, fallback: &[&Meant], said: &Said, why: &mut Vec<String>) {
        let mut wanted: Vec<Arc<str>> = said.bound.to_vec();
        // Who needs one tool of a last resort needs the others with it: a page is opened, then clicked on.
        let groups: BTreeSet<&Arc<str>> = fallback
            .iter()
            .flat_map(|meant| stock.registry.tools_by_domain(&meant.domain))
            .map(|tool| &tool.group)
            .collect();
        let is_meant = |name: &Arc<str>| {
            let tags = stock.registry.get(name).map(|tool| tool.tags.as_slice()).unwrap_or_default();
            fallback.iter().any(|meant| tags.contains(&meant.domain))
        };
        let place = |name: &Arc<str>| said.ranked.iter().position(|other| other == name);
        for group in groups {
            let tools = stock.registry.group(group).into_iter().map(|tool| &tool.name);
            let mut names: Vec<&Arc<str>> =
                tools.filter(|name| stock.registry.tier(name) == Some(FALLBACK)).collect();
            names.sort_by_key(|name| (place(name).unwrap_or(usize::MAX), !is_meant(name)));
            wanted.extend(names.into_iter().cloned());
        }
        for name in wanted {
            if !self.is_active(stock, &name) && stock.registry.get(&name).is_some() {
                self.bound.push(name);
            }
        }
        if let Some(first) = self.bound.first() {
            let more = match self.bound.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            why.push(format!("`{first}`{more} came for this request only"));
        }
    }

    fn by_recency(&self) -> Vec<&Active> {
        let mut active: Vec<&Active> = self.domains.iter().collect();
        active.sort_by_key(|it| std::cmp::Reverse(it.used));
        active
    }
}

/// Returns what is listed of an active domain.
fn of_domain<'a>(stock: &'a Stock, active: &'a Active) -> Box<dyn Iterator<Item = &'a Arc<str>> + 'a> {
    match &active.kept {
        Some(kept) => Box::new(kept.iter()),
        None => Box::new(stock.registry.staying(&active.domain)),
    }
}

fn joined<'a>(
    mut list: Vec<Arc<str>>,
    more: impl IntoIterator<Item = &'a Arc<str>>,
    most: usize,
) -> Vec<Arc<str>> {
    for name in more {
        if list.len() < most && !list.contains(name) {
            list.push(Arc::clone(name));
        }
    }
    list
}

fn shown(domain: &str) -> String {
    format!("`{}`", domain.strip_prefix(DOMAIN).unwrap_or(domain))
}

fn sentences(why: &[String]) -> String {
    match why {
        [] => "Nothing changed.".to_owned(),
        why => {
            let mut text = why.join("; ");
            if let Some(first) = text.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            text.push('.');
            text
        }
    }
}

#[cfg(test)]
mod tests;
