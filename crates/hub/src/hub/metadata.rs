//! What is known of a tool, with what was seen of its calls and the workflows that use it.

use std::sync::Arc;

use toolyard_core::metadata::{Metadata, Sidecar};
use toolyard_core::tool::Tool;

use super::Hub;
use crate::config::Config;
use crate::live::Snapshot;
use crate::meaning::{self, ImportError, StoredVector};
use crate::sidecars;

impl Hub {
    /// Returns everything that is known of a tool.
    pub fn metadata(&self, snapshot: &Snapshot, tool: &Tool) -> Option<Metadata> {
        let position = snapshot.catalog.position(tool.id.as_str())?;
        let known = Metadata::complete(&snapshot.catalog, &snapshot.index().knowledge, position);
        Some(self.with_measured(known))
    }

    /// Adds what was measured of a tool to what else is known of it, and the workflows that use it.
    pub fn with_measured(&self, mut known: Metadata) -> Metadata {
        known.estimated_latency = self.latency_ms(&known.name).or(known.estimated_latency);
        let templates = self.templates();
        let used = templates.iter().filter(|it| it.tools().any(|tool| tool.as_str() == known.name));
        known.typical_workflows.extend(used.map(|template| format!("workflow {}", template.name)));
        known
    }

    /// Returns how many milliseconds a call of a tool takes, as far as was seen.
    pub(crate) fn latency_ms(&self, tool: &str) -> Option<u64> {
        let seen = self.measured(tool).filter(|it| it.calls > 0)?;
        Some(seen.latency_ms.round().max(1.0) as u64)
    }

    /// Returns how many milliseconds a call takes as was seen, or as somebody wrote where none was.
    pub(super) fn estimated_ms(&self, snapshot: &Snapshot, tool: &str) -> Option<u64> {
        let written = || snapshot.facts(snapshot.catalog.get(tool)?)?.note?.estimated_latency;
        self.latency_ms(tool).or_else(written)
    }

    /// Returns the vectors of the store, with the tools that they belong to.
    pub fn stored_vectors(&self, snapshot: &Snapshot) -> Vec<StoredVector> {
        meaning::stored(&self.store, &snapshot.catalog)
    }

    /// Keeps vectors that another store had.
    pub fn keep_vectors(&self, vectors: &[StoredVector]) -> Result<(), ImportError> {
        meaning::keep(&self.store, vectors)
    }
}

/// Reads what a person wrote about tools, and says what is wrong with it.
pub(super) fn written(config: &Config) -> (Arc<[Sidecar]>, Vec<String>) {
    let (own, mut problems) = sidecars::read(&config.metadata);
    let names = config.servers.keys().chain(config.off.keys());
    problems.extend(sidecars::strangers(&own, &names.map(String::as_str).collect()));
    for problem in &problems {
        tracing::warn!("{problem}");
    }
    (own.into(), problems)
}
