//! What servers offer, written by one task and shown to everybody as a snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{broadcast, mpsc, watch};
use toolyard_core::metadata::Sidecar;

use super::workflow;
use crate::config::Limits;
use crate::live::Snapshot;
use crate::store::{Store, fingerprint};
use crate::upstream::{Changes, Learnt, Listing, News};
use crate::workflows::{SERVER, Template};

/// Where the one snapshot is written.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) written: Mutex<Written>,
    pub(super) snapshot: watch::Sender<Arc<Snapshot>>,
}

/// What the snapshot is made from.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) listings: BTreeMap<Arc<str>, Arc<Listing>>,
    /// The limits of each server, in the order of the settings.
    pub(super) limits: Vec<(Arc<str>, Limits)>,
    /// What a person wrote about tools.
    pub(super) own: Arc<[Sidecar]>,
    /// Workflows, which are listed like tools once those that they use are known.
    pub(super) templates: Arc<[Template]>,
    pub(super) fingerprints: BTreeMap<Arc<str>, String>,
    /// Why a server's offer could not be learnt the last time.
    pub(super) faults: BTreeMap<Arc<str>, String>,
    /// How often something was learnt of a server, for those who wait until it is written.
    pub(super) heard: BTreeMap<Arc<str>, u64>,
}

impl Board {
    /// Makes what is written known to everybody.
    pub(super) fn publish(&self, written: &Written) {
        let (mut listings, mut limits) = (written.listings.clone(), written.limits.clone());
        let mut snapshot = Snapshot::new(listings.clone(), &limits, Arc::clone(&written.own));
        let usable = written.templates.iter().filter_map(|template| template.on(&snapshot.catalog));
        let usable: Vec<Template> = usable.collect();
        if !usable.is_empty() {
            listings.insert(SERVER.into(), Arc::new(workflow::listing(&usable)));
            limits.push((SERVER.into(), Limits::default()));
            snapshot = Snapshot::new(listings, &limits, Arc::clone(&written.own));
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
        let mut written = self.written.lock();
        if !counts(&written) {
            return None;
        }
        *written.heard.entry(Arc::clone(&learnt.server)).or_default() += 1;
        match learnt.listing {
            Err(reason) => drop(written.faults.insert(learnt.server, reason)),
            Ok(listing) => {
                written.faults.remove(&learnt.server);
                if changes.is_some() {
                    written.listings.insert(learnt.server, listing);
                    self.publish(&written);
                }
            }
        }
        changes
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
