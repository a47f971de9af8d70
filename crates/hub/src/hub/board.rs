//! What servers offer, written in one place and shown to everybody as a snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{broadcast, mpsc, watch};
use toolyard_core::alias::Aliases;
use toolyard_core::metadata::Sidecar;

use super::{renamed, workflow};
use crate::config::Limits;
use crate::live::Snapshot;
use crate::store::{Store, fingerprint};
use crate::upstream::{Changes, Learnt, Listing, News};
use crate::workflows::{SERVER, Template};

/// Where the one snapshot is written: [`Board::write`] is the only way to it.
#[derive(Debug)]
pub(super) struct Board {
    written: Mutex<Written>,
    snapshot: watch::Sender<Arc<Snapshot>>,
    /// Tells those who wait for something to be written that something was.
    stir: watch::Sender<()>,
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
    /// How often something was learnt of a server, for those who wait until it is written.
    pub(super) heard: BTreeMap<Arc<str>, u64>,
}

impl Board {
    pub(super) fn new(snapshot: watch::Sender<Arc<Snapshot>>) -> Self {
        Self { written: Mutex::default(), snapshot, stir: watch::Sender::new(()) }
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

    /// Makes what is written known to everybody.
    fn publish(&self, written: &Written) {
        let (mut listings, mut limits) = (written.listings.clone(), written.limits.clone());
        let made = |listings, limits: &[(Arc<str>, Limits)]| {
            let snapshot = Snapshot::new(listings, limits, Arc::clone(&written.own));
            snapshot.with_aliases(Arc::clone(&written.aliases))
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
        if let (Ok(listing), Some(_)) = (&learnt.listing, &changes)
            && let Err(err) = store.keep_listing(&learnt.server, &fingerprint, listing)
        {
            tracing::warn!(server = %learnt.server, "{err}; it will be learnt again after a restart");
        }
        self.write(|written| {
            if !counts(written) {
                return None;
            }
            *written.heard.entry(Arc::clone(&learnt.server)).or_default() += 1;
            match learnt.listing {
                Err(reason) => drop(written.faults.insert(Arc::clone(&learnt.server), reason)),
                Ok(listing) => {
                    written.faults.remove(&learnt.server);
                    if changes.is_some() {
                        written.listings.insert(Arc::clone(&learnt.server), listing);
                    }
                }
            }
            changes
        })
    }
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
