//! What becomes of tools and results whose texts look like instructions to a model.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::screen::Screened;
use toolyard_core::tool::{Tool, ToolId};

use super::Hub;
use super::results::text_of;
use crate::config::{Config, ScreeningMode, Stance, Transport};
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;
use crate::policy::glob_fits;
use crate::screening::{Reading, Screenings, is_told, telling};

/// Where a result says what was found in it.
pub(crate) const SCREENING: &str = "toolyard/screening";
/// A text of fewer bytes is looked through where it is; for a longer one others do not wait.
const SHORT: usize = 4096;
/// How long a catalog is left alone before its tools are read: a start has better things to do.
const QUIET: Duration = Duration::from_secs(3);

/// A tool whose text looks like an attack.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The tool.
    pub tool: ToolId,
    /// Its server.
    pub server: Arc<str>,
    /// What was found in it.
    pub screened: Arc<Screened>,
    /// Whether it is neither listed nor callable for that.
    pub is_quarantined: bool,
}

impl Suspect {
    /// Says it in one sentence without a full stop.
    pub fn sentence(&self) -> String {
        let state = if self.is_quarantined { "is quarantined" } else { "looks suspicious" };
        format!("`{}` {state}: {}", self.tool, self.screened.sentence())
    }
}

impl Hub {
    /// Says why a tool is quarantined, where it is. A model may read it, so it quotes nothing.
    pub(crate) fn quarantined(&self, snapshot: &Snapshot, tool: &Tool) -> Option<String> {
        quarantined(&self.config(), &self.screenings, snapshot, tool).map(|found| found.gist())
    }

    /// Returns the tools that look like attacks, as far as that is known.
    pub fn suspects(&self, snapshot: &Snapshot) -> Vec<Suspect> {
        let suspect = |tool: &Tool| {
            let screened = self.screened(snapshot, tool, Reading::Known)?;
            let is_quarantined = self.quarantined(snapshot, tool).is_some();
            Some(Suspect {
                tool: tool.id.clone(),
                server: Arc::clone(&tool.server),
                screened,
                is_quarantined,
            })
        };
        snapshot.catalog.tools().iter().filter_map(suspect).collect()
    }

    /// Reads the tools of all servers now, because somebody waits to hear about them.
    pub async fn screen_all(self: &Arc<Self>) {
        let hub = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || hub.read_all(Reading::Now));
        let _ = reading.await;
    }

    /// Reads the tools of each catalog that stays for a while, and tells the log what it finds.
    pub(super) async fn keep_screening(hub: std::sync::Weak<Self>, mut live: crate::live::Live) {
        loop {
            while tokio::time::timeout(QUIET, live.changed()).await == Ok(true) {}
            let Some(hub) = hub.upgrade() else { return };
            let reading = tokio::task::spawn_blocking(move || hub.read_all(Reading::Spare));
            let _ = reading.await;
            if !live.changed().await {
                return;
            }
        }
    }

    /// Adds to a result what was found in its text. The content stays as it is.
    pub(crate) async fn screen_result(&self, result: Box<RawValue>) -> Box<RawValue> {
        if self.config().policy.screening == ScreeningMode::Allow {
            return result;
        }
        let text = text_of(&result);
        let excerpts = match text.len() {
            0..SHORT => telling(&text),
            _ => tokio::task::spawn_blocking(move || telling(&text)).await.unwrap_or_default(),
        };
        if excerpts.is_empty() {
            return result;
        }
        let screenings = Arc::clone(&self.screenings);
        let reading = tokio::task::spawn_blocking(move || screenings.of_result(&excerpts));
        let Ok(found) = reading.await else { return result };
        if !is_told(&found) {
            return result;
        }
        let mut fields = Fields::parse(Some(&result)).unwrap_or_default();
        let mut meta = fields.object("_meta");
        meta.set(SCREENING, raw(&json!({ "alarm": found.alarm, "signs": found.signs })));
        fields.set("_meta", raw(&meta));
        raw(&fields)
    }

    fn screened(&self, snapshot: &Snapshot, tool: &Tool, reading: Reading) -> Option<Arc<Screened>> {
        let config = self.config();
        if config.policy.screening == ScreeningMode::Allow || !is_foreign(&config, tool) {
            return None;
        }
        let found = self.screenings.of(snapshot, tool, reading);
        is_told(&found).then_some(found)
    }

    fn read_all(&self, reading: Reading) {
        let snapshot = self.snapshot();
        for tool in snapshot.catalog.tools() {
            let Some(found) = self.screened(&snapshot, tool, reading) else { continue };
            if self.screenings.is_news(tool) {
                let (id, why) = (&tool.id, found.sentence());
                tracing::warn!(tool = %id, "`{id}` looks suspicious: {why}; read it with `toolyard describe {id}`");
            }
        }
    }
}

/// Returns what a tool is quarantined for, where it is. Nothing is shown before it was read, even if somebody waits for
/// that once.
pub(super) fn quarantined(
    config: &Config,
    screenings: &Screenings,
    snapshot: &Snapshot,
    tool: &Tool,
) -> Option<Arc<Screened>> {
    let is_on = config.policy.screening == ScreeningMode::Quarantine;
    if !is_on || !is_foreign(config, tool) || is_vouched_for(config, tool) {
        return None;
    }
    let found = screenings.of(snapshot, tool, Reading::Now);
    is_told(&found).then_some(found)
}

/// Whether somebody else wrote it: built-in servers and workflows are the person's own.
fn is_foreign(config: &Config, tool: &Tool) -> bool {
    let server = config.servers.get(&*tool.server);
    server.is_some_and(|it| !matches!(it.transport, Transport::Builtin(_)))
}

/// Whether a rule allows just this tool: a person has read it.
fn is_vouched_for(config: &Config, tool: &Tool) -> bool {
    config.policy.rules.iter().any(|rule| {
        rule.then == Stance::Allow && rule.tools.iter().any(|glob| glob_fits(glob, tool.id.as_str()))
    })
}
