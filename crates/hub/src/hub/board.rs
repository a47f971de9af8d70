//! What servers offer, written in one place and shown to everybody as a snapshot.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, mpsc, watch};
use toolyard_core::alias::Aliases;
use toolyard_core::metadata::Sidecar;

use super::{renamed, workflow};
use crate::audit::Audit;
use crate::config::{self, Limits, Policy, Server};
use crate::jsonrpc::Fields;
use crate::live::Snapshot;
use crate::pins::{Notice, Pins, Sighting, Terms, WithheldTool};
use crate::store::{self, Store, fingerprint};
use crate::upstream::{Changes, Learnt, Listing, News};
use crate::workflows::{SERVER, Template};

/// Where the one snapshot is written: [`Board::write`] is the only way to it.
#[derive(Debug)]
pub(super) struct Board {
    written: Mutex<Written>,
    snapshot: watch::Sender<Arc<Snapshot>>,
    /// Tells those who wait for something to be written that something was.
    stir: watch::Sender<()>,
    pub(super) pins: Pins,
    audit: Arc<Audit>,
}

/// What the snapshot is made from.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) listings: BTreeMap<Arc<str>, Arc<Listing>>,
    /// The limits of each server, in the order of the settings.
    pub(super) limits: Vec<(Arc<str>, Limits)>,
    /// What a person wrote about tools.
    pub(super) own: Arc<[Sidecar]>,
    /// Old names of tools.
    pub(super) aliases: Arc<Aliases>,
    /// Workflows, which are listed like tools once those that they use are known.
    pub(super) templates: Arc<[Template]>,
    pub(super) fingerprints: BTreeMap<Arc<str>, String>,
    /// Why a server's offer could not be learnt the last time.
    pub(super) faults: BTreeMap<Arc<str>, String>,
    /// What listings are taken by; built-in servers have no terms.
    pub(super) terms: BTreeMap<Arc<str>, Terms>,
    /// The pins of listings.
    pub(super) sightings: BTreeMap<Arc<str>, Arc<Sighting>>,
    /// What is written down.
    pub(super) audit: config::Audit,
    /// How often something was learnt of a server, for those who wait until it is written.
    pub(super) heard: BTreeMap<Arc<str>, u64>,
}

impl Written {
    /// Takes a server's terms over, and compares what is known of it with what was approved.
    pub(super) fn meet(&mut self, name: &Arc<str>, (server, policy): (&Server, &Policy), board: &Board) {
        let Some(terms) = Terms::of(server, policy) else { return };
        if let Some(listing) = self.listings.get(name) {
            let (sighting, notices) = board.pins.meet(name, listing, &terms);
            board.note(&self.audit, name, &notices);
            self.sightings.insert(Arc::clone(name), sighting);
        }
        self.terms.insert(Arc::clone(name), terms);
    }
}

impl Board {
    pub(super) fn new(snapshot: watch::Sender<Arc<Snapshot>>, pins: Pins, audit: Arc<Audit>) -> Self {
        Self { written: Mutex::default(), snapshot, stir: watch::Sender::new(()), pins, audit }
    }

    /// Lets `change` write. What it changes of the catalog is published before anybody else can write, so that
    /// what is shown last is what was written last.
    pub(super) fn write(&self, change: impl FnOnce(&mut Written) -> Option<Changes>) -> Option<Changes> {
        let changes = {
            let mut written = self.written.lock();
            let changes = change(&mut written);
            if changes.is_some() {
                self.publish(&written);
            }
            changes
        };
        self.stir();
        changes
    }

    /// Lets everybody look again who waits for something to be written.
    pub(super) fn stir(&self) {
        self.stir.send_replace(());
    }

    /// Returns what tells whenever something was written from now on.
    pub(super) fn stirs(&self) -> watch::Receiver<()> {
        self.stir.subscribe()
    }

    /// Returns why the offers of servers could not be learnt the last time.
    pub(super) fn faults(&self) -> BTreeMap<Arc<str>, String> {
        self.written.lock().faults.clone()
    }

    /// Returns how often something was learnt of a server.
    pub(super) fn heard(&self, server: &str) -> u64 {
        self.written.lock().heard.get(server).copied().unwrap_or_default()
    }

    /// Whether it is known what a server offers, or why not.
    pub(super) fn is_settled(&self, server: &str) -> bool {
        let written = self.written.lock();
        written.listings.contains_key(server) || written.faults.contains_key(server)
    }

    /// Writes down what was noticed about a server.
    pub(super) fn note(&self, rules: &config::Audit, server: &str, notices: &[Notice]) {
        for notice in notices {
            self.audit.note(rules, server, notice);
        }
    }

    /// Looks at the tools of one server that pass to a client, and returns the places of those that wait for nobody;
    /// `None` for a server whose tools are not looked at.
    pub(super) fn pass(&self, server: &Arc<str>, tools: &[Box<RawValue>]) -> Option<HashSet<usize>> {
        let (terms, rules) = {
            let written = self.written.lock();
            (written.terms.get(server).cloned(), written.audit.clone())
        };
        let terms = terms?;
        let (sighting, notices) = self.pins.see(server, tools, &terms);
        self.note(&rules, server, &notices);
        let waiting = self.pins.withheld(server, &sighting);
        let waiting: HashSet<usize> = waiting.into_iter().flat_map(|it| it.at).collect();
        Some(sighting.places().filter(|at| !waiting.contains(at)).collect())
    }

    /// Whether the tools of a server are looked at, and none of them has this name in any spelling.
    pub(super) fn is_stranger(&self, server: &str, name: &str) -> bool {
        let written = self.written.lock();
        if !written.terms.contains_key(server) {
            return false;
        }
        let is_it = |known: &str| known.to_lowercase() == name.to_lowercase();
        let is_seen = written.sightings.get(server).is_some_and(|it| it.names().any(is_it));
        !is_seen && !self.pins.has_approved(server, is_it)
    }

    /// Looks again at what servers list, because something else is approved now.
    pub(super) fn look_again(&self) -> Option<Changes> {
        self.write(|written| {
            for (server, terms) in &written.terms {
                if let Some(listing) = written.listings.get(server) {
                    let (sighting, notices) = self.pins.meet(server, listing, terms);
                    self.note(&written.audit, server, &notices);
                    written.sightings.insert(Arc::clone(server), sighting);
                }
            }
            Some(Changes { tools: true, prompts: false, resources: true })
        })
    }

    /// Notes of which servers a person has seen everything that is listed.
    pub(super) fn review(&self) -> Result<(), store::Error> {
        let written = self.written.lock();
        let is_seen = |server: &&Arc<str>| {
            let sighting = written.sightings.get(*server);
            sighting.is_some_and(|it| self.pins.withheld(server, it).is_empty())
        };
        let seen: Vec<&str> = written.terms.keys().filter(is_seen).map(|it| &**it).collect();
        let all: Vec<&str> = written.terms.keys().map(|it| &**it).collect();
        self.pins.reviewed(&seen, &all)
    }

    /// Returns what a server lists under each of these names.
    pub(super) fn definitions(&self, server: &str, tools: &[&WithheldTool]) -> Vec<Vec<Box<RawValue>>> {
        let written = self.written.lock();
        let most = written.terms.get(server).map_or(usize::MAX, Terms::most);
        let listed = written.listings.get(server).map(|it| it.definitions(most));
        let at = |at: &usize| listed.as_ref().and_then(|it| it.get(*at).cloned());
        tools.iter().map(|tool| tool.at.iter().filter_map(at).collect()).collect()
    }

    /// Returns the tools that wait now.
    pub(super) fn waiting(&self) -> Vec<WithheldTool> {
        self.withheld(&self.written.lock())
    }

    /// Returns the tools that differ from what was approved in numbers alone.
    pub(super) fn renumbered(&self) -> Vec<WithheldTool> {
        let written = self.written.lock();
        let seen = written.sightings.iter().filter(|(server, _)| written.terms.contains_key(*server));
        seen.flat_map(|(server, it)| self.pins.renumbered(server, it)).collect()
    }

    fn withheld(&self, written: &Written) -> Vec<WithheldTool> {
        let seen = written.sightings.iter().filter(|(server, _)| written.terms.contains_key(*server));
        seen.flat_map(|(server, it)| self.pins.withheld(server, it)).collect()
    }

    /// Makes what is written known to everybody.
    fn publish(&self, written: &Written) {
        let (mut listings, mut limits) = (written.listings.clone(), written.limits.clone());
        let withheld = self.withheld(written);
        let made = |listings, limits: &[(Arc<str>, Limits)]| {
            let snapshot = Snapshot::without(withheld.clone(), listings, limits, Arc::clone(&written.own));
            snapshot.with_aliases(Arc::clone(&written.aliases)).with_first_seen(self.pins.first_seen())
        };
        let mut snapshot = made(listings.clone(), &limits);
        let usable = written.templates.iter().filter_map(|template| {
            let template = template.renamed(|name| renamed(&snapshot, name, |_| true)).ok()?;
            template.on(&snapshot.catalog)
        });
        let usable: Vec<Template> = usable.collect();
        if !usable.is_empty() {
            listings.insert(SERVER.into(), Arc::new(workflow::listing(&usable)));
            limits.push((SERVER.into(), Limits::default()));
            snapshot = made(listings, &limits);
        }
        self.snapshot.send_replace(Arc::new(snapshot));
    }

    /// Takes what was learnt. It is stored before it is shown: what a client has seen is known after a restart.
    fn learn(&self, learnt: Learnt, store: &Store) -> Option<Changes> {
        let fingerprint = fingerprint(&learnt.transport);
        // A server that was replaced meanwhile may still be heard, but does not count.
        let counts = |written: &Written| written.fingerprints.get(&learnt.server) == Some(&fingerprint);
        let changes = match &learnt.listing {
            Ok(listing) => {
                let written = self.written.lock();
                let known = written.listings.get(&learnt.server).filter(|_| counts(&written));
                listing.changes_since(known.map(|known| &**known))
            }
            Err(_) => None,
        };
        let is_ours = counts(&self.written.lock());
        let heard = learnt.listing.as_ref().ok().filter(|_| is_ours);
        let sighting = heard.and_then(|it| self.meet(&learnt.server, it, changes.is_some()));
        if let (Ok(listing), Some(_)) = (&learnt.listing, &changes)
            && let Err(err) = store.keep_listing(&learnt.server, &fingerprint, listing)
        {
            tracing::warn!(server = %learnt.server, "{err}; it will be learnt again after a restart");
        }
        let shown = self.write(|written| {
            if !counts(written) {
                return None;
            }
            *written.heard.entry(Arc::clone(&learnt.server)).or_default() += 1;
            match learnt.listing {
                Err(reason) => drop(written.faults.insert(Arc::clone(&learnt.server), reason)),
                Ok(listing) => {
                    written.faults.remove(&learnt.server);
                    if changes.is_some() {
                        let is_shown =
                            self.is_shown(written, (&learnt.server, &listing), sighting.as_deref());
                        written.listings.insert(Arc::clone(&learnt.server), listing);
                        let seen = sighting.map(|it| (Arc::clone(&learnt.server), it));
                        written.sightings.extend(seen);
                        return changes.filter(|_| is_shown);
                    }
                }
            }
            changes
        });
        // Whoever waits until it is written down may go on.
        let _ = learnt.written.send(());
        shown
    }

    /// Whether anybody is shown something else now. A server may change what waits for a person as often as it likes.
    fn is_shown(
        &self,
        written: &Written,
        (server, listing): (&Arc<str>, &Listing),
        sighting: Option<&Sighting>,
    ) -> bool {
        let (Some(old), Some(seen)) = (written.listings.get(server), written.sightings.get(server)) else {
            return true;
        };
        let (waited, waits) = match sighting {
            Some(sighting) => (self.pins.withheld(server, seen), self.pins.withheld(server, sighting)),
            None => return true,
        };
        let beside = Listing { tools: old.tools.clone(), skills: old.skills.clone(), ..listing.clone() };
        let is_beside = beside.changes_since(Some(old)).is_some();
        let names =
            |tools: &[WithheldTool]| tools.iter().map(|it| (it.id.clone(), it.why)).collect::<Vec<_>>();
        is_beside || names(&waited) != names(&waits) || shown(old, &waited) != shown(listing, &waits)
    }

    /// Compares what a server lists with what was approved; `None` where there is nothing to compare.
    fn meet(&self, server: &Arc<str>, listing: &Listing, is_changed: bool) -> Option<Arc<Sighting>> {
        let (terms, rules) = {
            let written = self.written.lock();
            (written.terms.get(server).cloned()?, written.audit.clone())
        };
        if !is_changed {
            let notices: Vec<Notice> = self.pins.heard_of(server, listing, &terms).into_iter().collect();
            self.note(&rules, server, &notices);
            return None;
        }
        let (sighting, notices) = self.pins.meet(server, listing, &terms);
        self.note(&rules, server, &notices);
        Some(sighting)
    }
}

/// Returns the tools and skills of a listing without those that wait.
fn shown<'l>(listing: &'l Listing, waiting: &[WithheldTool]) -> Vec<&'l str> {
    let places: HashSet<usize> = waiting.iter().flat_map(|it| it.at.iter().copied()).collect();
    let kept = listing.tools.iter().enumerate().filter(|(at, _)| !places.contains(at));
    let kept = kept.map(|(_, definition)| definition.get());
    let is_kept = |entry: &RawValue| {
        let uri = Fields::parse(Some(entry)).ok().and_then(|it| it.text("uri"));
        uri.is_none_or(|uri| !waiting.iter().any(|it| it.name == uri))
    };
    let skills = listing.skills.iter().filter(|entry| is_kept(entry)).map(|entry| entry.get());
    kept.chain(skills).collect()
}

/// Writes down what servers tell, until no server is left that could.
pub(super) async fn write_down(
    mut learning: mpsc::UnboundedReceiver<Learnt>,
    board: Arc<Board>,
    store: Arc<Store>,
    news: broadcast::Sender<News>,
) {
    while let Some(learnt) = learning.recv().await {
        let (board, store, news) = (Arc::clone(&board), Arc::clone(&store), news.clone());
        // Gathering tens of thousands of tools takes a while; others are served meanwhile.
        let writing = tokio::task::spawn_blocking(move || {
            if let Some(changes) = board.learn(learnt, &store) {
                let _ = news.send(News::Catalog(changes));
            }
        });
        let _ = writing.await;
    }
}
