//! What conversations can be given, and what their messages are about.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use toolyard_core::decide::{self, Needs};
use toolyard_core::domain;
use toolyard_core::lexicon::Action;
use toolyard_core::rank::Decision;
use toolyard_core::session::{
    FALLBACK, Meant, Registered, Registry, Said, Selection, Stock, Toolset as Active, meant, named,
};
use toolyard_core::tool::{Effect, Tool};

use super::Hub;
use crate::access::Within;
use crate::config::{Activating, Config, Mistake, Stance, Toolset, Transport};
use crate::jsonrpc::Fields;
use crate::live::Snapshot;
use crate::policy::glob_fits;
use crate::routing::Wanted;
use crate::skills::{self, Skills};

/// Supplies that are kept; there is one for each view in use.
const MOST_SUPPLIES: usize = 32;
/// Fields of use whose requests a browser can serve when nothing else does.
const OF_THE_WEB: [&str; 2] = ["web-search", "web-browsing"];

/// What conversations can be given on one view, at one moment.
#[derive(Debug)]
pub struct Supply {
    /// Every tool that may be called there.
    pub registry: Registry,
    /// The skills that can be used.
    pub skills: Skills,
    /// What is wrong with the others, and with the core tools.
    pub mistakes: Vec<Mistake>,
    /// What the configuration says.
    pub settings: Toolset,
    core: Vec<Arc<str>>,
    tools: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

impl Supply {
    /// Returns what toolsets are put together from.
    pub fn stock(&self) -> Stock<'_> {
        let Self { registry, settings, core, tools, .. } = self;
        Stock { registry, core, tier: Some(settings.tier), skills: tools, caps: settings.caps }
    }

    /// Returns the skills that have a tool.
    pub fn skills_with(&self, tool: &str) -> Vec<&str> {
        let has = |tools: &Vec<Arc<str>>| tools.iter().any(|name| **name == *tool);
        self.tools.iter().filter(|(_, tools)| has(tools)).map(|(skill, _)| &**skill).collect()
    }
}

/// What a message is about.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The domains, in the order in which it mentions them.
    pub domains: Vec<Meant>,
    /// The tools that may be meant, likeliest first.
    pub ranked: Vec<Arc<str>>,
    /// Tools that are needed for this message and not afterwards.
    pub bound: Vec<Arc<str>>,
    /// The skill that it is for, where skills are activated by words.
    pub skill: Option<String>,
}

/// Supplies by what they were made from.
pub(super) type Supplies = Mutex<HashMap<(u64, u64, String), Arc<Supply>>>;

impl Hub {
    /// Returns the skills that a person wrote, before their tools are looked for.
    pub fn skills(&self) -> Arc<Skills> {
        Arc::clone(&self.settings.read().skills)
    }

    /// Returns what is wrong with files of skills, and with what skills name.
    pub fn skill_mistakes(&self, supply: &Supply) -> Vec<Mistake> {
        let of_files = Arc::clone(&self.settings.read().skill_mistakes);
        of_files.iter().chain(&supply.mistakes).cloned().collect()
    }

    /// Returns the skills for some servers, or for all when none is named: with the tools that may be seen there.
    pub(crate) fn shown_skills(&self, snapshot: &Snapshot, within: Within<'_>) -> (Skills, Vec<Mistake>) {
        let config = self.config();
        let (sound, mistakes) = skills::check((*self.skills()).clone(), &snapshot.catalog, &config);
        let is_seen = |tool: &str| match snapshot.catalog.get(tool) {
            Some(tool) => within.shows(&tool.server) && self.permits_up_to(within.effect, snapshot, tool),
            // One of a server that was never reached is taken at its word, as far as its name is permitted.
            None => {
                let server = skills::owner(tool, &config).map_or(crate::workflows::SERVER, String::as_str);
                let (stance, _) = self.policy().decide(tool, server, Effect::Read);
                within.shows(server) && stance != Stance::Deny
            }
        };
        (skills::shown(sound, is_seen), mistakes)
    }

    /// Returns what conversations can be given: on some servers, or on all when none is named.
    pub async fn supply(
        &self,
        snapshot: &Arc<Snapshot>,
        servers: &[String],
        settings: &Toolset,
    ) -> Arc<Supply> {
        self.supply_within(snapshot, Within::servers(servers), settings).await
    }

    /// Returns the same for somebody who may not use everything.
    pub(crate) async fn supply_within(
        &self,
        snapshot: &Arc<Snapshot>,
        within: Within<'_>,
        settings: &Toolset,
    ) -> Arc<Supply> {
        snapshot.indexed().await;
        let number = self.settings.read().number;
        let key = (snapshot.number, number, format!("{within:?} {settings:?}"));
        let known = self.supplies.lock().get(&key).cloned();
        if let Some(known) = known {
            return known;
        }
        let made = Arc::new(self.make_supply(snapshot, within, settings));
        let mut supplies = self.supplies.lock();
        // What an older catalog or configuration had is not asked for again.
        supplies.retain(|(of, with, _), _| *of >= snapshot.number && *with >= number);
        if supplies.len() >= MOST_SUPPLIES {
            supplies.clear();
        }
        supplies.insert(key, Arc::clone(&made));
        made
    }

    fn make_supply(&self, snapshot: &Snapshot, within: Within<'_>, settings: &Toolset) -> Supply {
        let (config, knowledge) = (self.config(), &snapshot.index().knowledge);
        let own = |tool: &Tool| {
            let fits = |(glob, _): &&(String, String)| glob_fits(glob, tool.id.as_str());
            config.domains.iter().find(fits).map(|(_, domain)| domain.clone())
        };
        let domains = domain::infer(&snapshot.catalog, knowledge, own);
        let is_seen =
            |tool: &Tool| within.shows(&tool.server) && self.permits_up_to(within.effect, snapshot, tool);
        let mut registry = Registry::default();
        for (at, tool) in snapshot.catalog.tools().iter().enumerate().filter(|(_, tool)| is_seen(tool)) {
            let facts = knowledge.of(at);
            let mut tags = vec![Arc::clone(&domains[at])];
            let noted = facts.note.iter().flat_map(|note| &note.tags);
            tags.extend(
                noted.filter(|tag| !tag.starts_with(domain::DOMAIN)).map(|tag| Arc::from(tag.as_str())),
            );
            let name: Arc<str> = tool.id.as_str().into();
            let entry = Registered { name, group: Arc::clone(&tool.server), action: facts.action, tags };
            registry.add_tool(entry, tier(&config, tool));
        }
        let (skills, mut mistakes) = self.shown_skills(snapshot, within);
        mistakes.extend(skills::check_core(&settings.core, &snapshot.catalog, &config));
        for mistake in &mistakes {
            tracing::warn!("{mistake}");
        }
        let there = |names: &[String]| -> Vec<Arc<str>> {
            names.iter().filter_map(|name| registry.get(name)).map(|tool| Arc::clone(&tool.name)).collect()
        };
        let tools = skills.iter().map(|(name, skill)| (name.as_str().into(), there(&skill.tools))).collect();
        let own = settings.own.iter().map(|own| Arc::from(own.name()));
        let core = own.chain(there(&settings.core)).collect();
        Supply { core, tools, skills, mistakes, settings: settings.clone(), registry }
    }

    /// Selects the tools for a message of a conversation that has these tools already: by domains, as complete as there
    /// is room. Nothing is remembered of the conversation.
    pub async fn select(&self, intent: &str, current_tools: &[String]) -> Selection {
        let (snapshot, config) = (self.snapshot(), self.config());
        let supply = self.supply(&snapshot, &[], &config.toolset).await;
        let mut active = Active::with_tools(&supply.stock(), current_tools);
        self.take_in(&snapshot, &supply, &Wanted::plain(intent), &mut active).await
    }

    /// Takes a message into a conversation: the skill that it is for, then what it is about.
    pub async fn take_in(
        &self,
        snapshot: &Arc<Snapshot>,
        supply: &Supply,
        wanted: &Wanted<'_>,
        active: &mut Active,
    ) -> Selection {
        let heard = self.hear(snapshot, supply, wanted).await;
        let skill = heard.skill.as_deref().and_then(|skill| active.activate(&supply.stock(), skill).ok());
        let said = Said { domains: &heard.domains, ranked: &heard.ranked, bound: &heard.bound };
        let mut selection = active.select(&supply.stock(), &said);
        if let Some(skill) = skill {
            selection.reasoning = format!("{} {}", skill.reasoning, selection.reasoning);
        }
        selection
    }

    /// Finds out what a message is about.
    pub async fn hear(&self, snapshot: &Arc<Snapshot>, supply: &Supply, wanted: &Wanted<'_>) -> Heard {
        let parts = decide::parts(wanted.task);
        let ranking = Wanted { candidates: Some(decide::MOST_RANKED), ..*wanted };
        let decisions = self.rank_parts(snapshot, &ranking, &parts).await;
        let chosen = match &supply.settings.chooser {
            Some(chooser) => {
                Some(match self.chosen(chooser, (&snapshot.catalog, &supply.registry), wanted.task).await {
                    Ok(chosen) => chosen,
                    Err(why) => {
                        tracing::warn!("domains are chosen by words: {why}");
                        named(&supply.registry, wanted.task)
                    }
                })
            }
            None => None,
        };
        let most = supply.settings.caps.max_tools;
        let domains = |ranked: &[(Arc<str>, f32)]| {
            chosen.unwrap_or_else(|| meant(&supply.registry, wanted.task, ranked))
        };
        let Needs { domains, ranked, mut bound } =
            decide::needs(&snapshot.catalog, &supply.registry, &decisions, most, domains);
        if let (true, Some(decision)) = (domains.is_empty(), decisions.first()) {
            bound =
                with_fallback(&supply.registry, decision, bound, || web_group(snapshot, &supply.registry));
        }
        let is_automatic = supply.settings.activating == Activating::Automatic;
        let skill = is_automatic.then(|| skills::fitting(&supply.skills, wanted.task)).flatten();
        Heard {
            domains,
            ranked: ranked.into_iter().map(|(name, _)| name).collect(),
            bound,
            skill: skill.map(str::to_owned),
        }
    }

    /// Returns the tools that search the web or browse it where nothing else fits: the group of a last resort.
    pub fn web_fallback(&self, snapshot: &Snapshot, supply: &Supply) -> Vec<Arc<str>> {
        let group = web_group(snapshot, &supply.registry);
        let tools = group.map(|group| supply.registry.group(&group)).unwrap_or_default();
        tools.into_iter().map(|tool| Arc::clone(&tool.name)).collect()
    }

    /// Whether a configuration makes a tool a last resort.
    pub(crate) fn is_fallback(&self, tool: &Tool) -> bool {
        written_tier(&self.config(), tool.id.as_str()) == Some(FALLBACK)
    }
}

/// Returns the group of a last resort whose tools are for the web.
fn web_group(snapshot: &Snapshot, registry: &Registry) -> Option<Arc<str>> {
    let categories = toolyard_core::lexicon::Categories::builtin();
    let is_browser = |tool: &&Registered| {
        let facts = snapshot.catalog.get(&tool.name).and_then(|tool| snapshot.facts(tool));
        facts.and_then(|facts| facts.category).is_some_and(|at| OF_THE_WEB.contains(&categories.name(at)))
    };
    let browser = registry.tools_by_tier(FALLBACK).into_iter().find(is_browser);
    browser.map(|tool| Arc::clone(&tool.group))
}

/// Returns the tier that a configuration gives a tool.
pub(super) fn written_tier(config: &Config, tool: &str) -> Option<u8> {
    config.tiers.iter().find(|(glob, _)| glob_fits(glob, tool)).map(|(_, tier)| *tier)
}

/// Returns the tier that a configuration gives a tool, or that a built-in server gives its own.
fn tier(config: &Config, tool: &Tool) -> Option<u8> {
    written_tier(config, tool.id.as_str()).or_else(|| {
        // A stranger's tool does not choose to be always listed.
        let server = config.servers.get(&*tool.server)?;
        matches!(server.transport, Transport::Builtin(_)).then_some(())?;
        let definition = Fields::parse(Some(&tool.definition)).ok()?;
        serde_json::from_str(definition.object("_meta").get("tier")?.get()).ok()
    })
}

/// Adds the whole group of a last resort: where its tool is the likeliest, or where a search of the web has no
/// other tool.
fn with_fallback(
    registry: &Registry,
    decision: &Decision,
    bound: Vec<Arc<str>>,
    web_group: impl FnOnce() -> Option<Arc<str>>,
) -> Vec<Arc<str>> {
    let first = bound.first().filter(|name| registry.tier(name) == Some(FALLBACK));
    let of_first = first.and_then(|name| registry.get(name)).map(|tool| Arc::clone(&tool.group));
    let is_for_web = OF_THE_WEB.contains(&decision.intent.category.as_str())
        && matches!(decision.intent.action, Action::Search | Action::Read | Action::List | Action::Unknown);
    let of_web = || is_for_web.then(web_group).flatten();
    let Some(group) = of_first.or_else(of_web) else { return bound };
    let (mut all, others): (Vec<Arc<str>>, Vec<Arc<str>>) =
        bound.into_iter().partition(|name| registry.get(name).is_some_and(|tool| tool.group == group));
    let rest = registry.group(&group).into_iter().map(|tool| Arc::clone(&tool.name));
    let rest: Vec<Arc<str>> = rest.filter(|name| !all.contains(name)).collect();
    all.extend(rest);
    all.extend(others);
    all
}
