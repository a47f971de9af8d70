//! The catalog as it is now. One writer; a request keeps the snapshot that it began with.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::watch;
use toolyard_core::alias::Aliases;
use toolyard_core::catalog::{Advertised, Bounds, Catalog, Problem};
use toolyard_core::index::Index;
use toolyard_core::metadata::{Facts, Knowledge, Library, Sidecar};
use toolyard_core::tool::Tool;

use crate::config::Limits;
use crate::jsonrpc::Fields;
use crate::pins::{FirstSeen, WithheldTool};
use crate::upstream::{Listing, SkillEntry};

/// A skill of a server.
#[derive(Clone, Debug)]
pub struct GatheredSkill {
    /// What the server says of it.
    pub entry: Arc<SkillEntry>,
    /// Whether it waits for a person.
    pub waits: bool,
}

/// Everything that is known of all servers at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// Every tool.
    pub catalog: Catalog,
    /// What each server said.
    pub listings: BTreeMap<Arc<str>, Arc<Listing>>,
    /// What was wrong with it.
    pub problems: Vec<Problem>,
    /// Old names of tools.
    pub aliases: Arc<Aliases>,
    /// Tools that are in no catalog, because they wait for a person.
    pub withheld: Vec<WithheldTool>,
    /// The skills of servers that have some.
    pub skills: BTreeMap<Arc<str>, Vec<GatheredSkill>>,
    first_seen: FirstSeen,
    /// Tells it from every other one of this process; a later one has a larger number.
    pub number: u64,
    own: Arc<[Sidecar]>,
    index: OnceLock<Index>,
    contested_pages: OnceLock<BTreeSet<String>>,
    /// What is known of the tools of a server, where that was asked before there is an index.
    facts: Mutex<HashMap<Arc<str>, Arc<[Facts]>>>,
}

impl Snapshot {
    /// Makes the snapshot of what servers said, with their limits, in the order of the settings, and what a person
    /// wrote about them.
    pub fn new(
        listings: BTreeMap<Arc<str>, Arc<Listing>>,
        limits: &[(Arc<str>, Limits)],
        own: Arc<[Sidecar]>,
    ) -> Self {
        Self::without(Vec::new(), listings, limits, own)
    }

    /// Makes it without the tools that wait for a person.
    pub fn without(
        withheld: Vec<WithheldTool>,
        listings: BTreeMap<Arc<str>, Arc<Listing>>,
        limits: &[(Arc<str>, Limits)],
        own: Arc<[Sidecar]>,
    ) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(1);
        let advertised = limits.iter().filter_map(|(server, limits)| {
            let listing = listings.get(server)?;
            let bounds = Bounds {
                tools: limits.tools,
                name_chars: limits.name_chars,
                description_chars: limits.description_chars,
                nesting: limits.nesting,
            };
            let places =
                withheld.iter().filter(|it| it.server == *server).flat_map(|it| it.at.iter().copied());
            let places: HashSet<usize> = places.collect();
            let shown = listing.tools.iter().enumerate().filter(|(at, _)| !places.contains(at));
            let tools = shown.map(|(_, definition)| definition.clone()).collect();
            Some((Advertised { server: Arc::clone(server), tools }, bounds))
        });
        let (catalog, problems) = Catalog::gather(advertised);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let skills = gathered(&listings, &withheld);
        Self {
            catalog,
            listings,
            problems,
            aliases: Arc::default(),
            withheld,
            skills,
            first_seen: HashMap::new(),
            number,
            own,
            index: OnceLock::new(),
            contested_pages: OnceLock::new(),
            facts: Mutex::default(),
        }
    }

    /// Returns it with the old names of tools.
    pub fn with_aliases(self, aliases: Arc<Aliases>) -> Self {
        Self { aliases, ..self }
    }

    /// Returns it with the days on which the hub first saw its tools.
    pub(crate) fn with_first_seen(self, first_seen: FirstSeen) -> Self {
        Self { first_seen, ..self }
    }

    /// Returns the day on which the hub first saw a tool; 0 for one that is part of the program. However old its server
    /// is, a tool that was not there before is a newcomer.
    pub(crate) fn first_seen(&self, tool: &Tool) -> u64 {
        let of_server = self.first_seen.get(&tool.server);
        of_server.map_or(0, |tools| tools.get(&tool.name).copied().unwrap_or(u64::MAX))
    }

    /// Returns the tool that clients would call `id`, if it waited for nobody.
    pub fn withheld(&self, id: &str) -> Option<&WithheldTool> {
        self.withheld.iter().find(|it| it.id.as_str() == id)
    }

    /// Returns the addresses of apps' pages that more than one server claims: by a tool that names it, or by its list.
    pub(crate) fn contested_pages(&self) -> &BTreeSet<String> {
        self.contested_pages.get_or_init(|| {
            let tools = self.catalog.tools().iter();
            let named = tools.filter_map(|tool| Some((tool.app_address()?, &tool.server)));
            let mut claims: BTreeMap<&str, BTreeSet<&Arc<str>>> = BTreeMap::new();
            for (address, server) in named {
                claims.entry(address).or_default().insert(server);
            }
            let is_named = !claims.is_empty();
            for (server, listing) in self.listings.iter().filter(|_| is_named) {
                let uris =
                    listing.resources.iter().filter_map(|it| Fields::parse(Some(it)).ok()?.text("uri"));
                for address in uris {
                    if let Some(servers) = claims.get_mut(address.as_str()) {
                        servers.insert(server);
                    }
                }
            }
            let several = claims.into_iter().filter(|(_, servers)| servers.len() > 1);
            several.map(|(address, _)| address.to_owned()).collect()
        })
    }

    /// Returns what requests are compared with, made on first use.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let versions: BTreeMap<&str, String> = self
                .listings
                .iter()
                .filter_map(|(server, listing)| {
                    let info = Fields::parse(listing.info.as_deref()).ok()?;
                    Some((&**server, info.text("version")?))
                })
                .collect();
            let version = |server: &str| versions.get(server).map(String::as_str);
            let knowledge = Knowledge::gather(&self.catalog, Some(Library::builtin()), &self.own, version);
            Index::new(&self.catalog, knowledge)
        })
    }

    /// Returns what is known of a tool. Who never searches does not wait for an index.
    pub fn facts(&self, tool: &Tool) -> Option<Facts> {
        if let Some(index) = self.index.get() {
            return self.catalog.position(tool.id.as_str()).map(|at| index.knowledge.of(at).clone());
        }
        let known = self.facts.lock().get(&tool.server).cloned();
        let known = known.unwrap_or_else(|| {
            let listing = self.listings.get(&tool.server);
            let info = listing.and_then(|it| Fields::parse(it.info.as_deref()).ok());
            let version = info.and_then(|info| info.text("version"));
            let sources = (Some(Library::builtin()), &*self.own);
            let made: Arc<[Facts]> =
                Knowledge::of_server(&self.catalog, sources, &tool.server, version.as_deref()).into();
            let mut facts = self.facts.lock();
            Arc::clone(facts.entry(Arc::clone(&tool.server)).or_insert(made))
        });
        let at = self.catalog.of_server(&tool.server).iter().position(|other| other.id == tool.id)?;
        known.get(at).cloned()
    }

    /// Whether the index was made already.
    pub fn is_indexed(&self) -> bool {
        self.index.get().is_some()
    }

    /// Makes the index without keeping other requests waiting. Reading tens of thousands of tools takes a while.
    pub async fn indexed(self: &Arc<Self>) -> &Index {
        if !self.is_indexed() {
            let snapshot = Arc::clone(self);
            let making = tokio::task::spawn_blocking(move || {
                snapshot.index();
            });
            let _ = making.await;
        }
        self.index()
    }
}

fn gathered(
    listings: &BTreeMap<Arc<str>, Arc<Listing>>,
    withheld: &[WithheldTool],
) -> BTreeMap<Arc<str>, Vec<GatheredSkill>> {
    let with_skills = listings.iter().filter(|(_, listing)| !listing.skills.is_empty());
    let of_server = |(server, listing): (&Arc<str>, &Arc<Listing>)| {
        let read = listing.skills.iter().filter_map(|entry| SkillEntry::read(entry).ok());
        let skills = read.map(|entry| {
            let waits = withheld.iter().any(|it| it.server == *server && it.name == entry.uri);
            GatheredSkill { entry: Arc::new(entry), waits }
        });
        (Arc::clone(server), skills.collect())
    };
    with_skills.map(of_server).collect()
}

/// Hands out the newest [`Snapshot`]. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Live(watch::Receiver<Arc<Snapshot>>);

impl Live {
    /// Makes the pair of reader and writer.
    pub fn new(snapshot: Snapshot) -> (Self, watch::Sender<Arc<Snapshot>>) {
        let (writer, reader) = watch::channel(Arc::new(snapshot));
        (Self(reader), writer)
    }

    /// Returns the newest snapshot. A request takes it once and keeps it, so a refresh
    /// half-way through cannot show it two different worlds.
    pub fn now(&self) -> Arc<Snapshot> {
        Arc::clone(&self.0.borrow())
    }

    /// Waits for a snapshot after the last one that was waited for; `false` when there will be none.
    pub(crate) async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
