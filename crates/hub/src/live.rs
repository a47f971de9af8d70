//! The catalog as it is now. One writer; a request keeps the snapshot that it began with.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;
use toolyard_core::catalog::{Advertised, Bounds, Catalog, Problem};
use toolyard_core::index::Index;
use toolyard_core::metadata::{Knowledge, Library};

use crate::config::Limits;
use crate::upstream::Listing;

/// Everything that is known of all servers at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// Every tool.
    pub catalog: Catalog,
    /// What each server said.
    pub listings: BTreeMap<Arc<str>, Arc<Listing>>,
    /// What was wrong with it.
    pub problems: Vec<Problem>,
    index: OnceLock<Index>,
}

impl Snapshot {
    /// Makes the snapshot of what servers said; the limits are theirs.
    pub fn new(listings: BTreeMap<Arc<str>, Arc<Listing>>, limits: &BTreeMap<Arc<str>, Limits>) -> Self {
        let advertised = listings.iter().filter_map(|(server, listing)| {
            let limits = limits.get(server)?;
            let bounds = Bounds {
                tools: limits.tools,
                name_chars: limits.name_chars,
                description_chars: limits.description_chars,
                nesting: limits.nesting,
            };
            Some((Advertised { server: Arc::clone(server), tools: listing.tools.clone() }, bounds))
        });
        let (catalog, problems) = Catalog::gather(advertised);
        Self { catalog, listings, problems, index: OnceLock::new() }
    }

    /// Returns what requests are compared with, made on first use.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let knowledge = Knowledge::gather(&self.catalog, Some(Library::builtin()), &[], |_| None);
            Index::new(&self.catalog, knowledge)
        })
    }
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
}
