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

/// Tools of one server that look like attacks for the same words.
#[derive(Debug)]
pub struct Suspects<'s> {
    /// The first of them.
    pub first: &'s Suspect,
    /// How many others there are.
    pub others: usize,
}

impl Suspects<'_> {
    /// Says it in one sentence without a full stop.
    pub fn sentence(&self) -> String {
        let Suspect { tool, screened, is_quarantined, .. } = self.first;
        let (like_it, state) = match (self.others, is_quarantined) {
            (0, true) => (String::new(), "is quarantined"),
            (0, false) => (String::new(), "looks suspicious"),
            (others, true) => (format!(" and {others} like it"), "are quarantined"),
            (others, false) => (format!(" and {others} like it"), "look suspicious"),
        };
        format!("`{tool}`{like_it} {state}: {}", screened.sentence())
    }
}

/// Puts together what is suspicious for the same reason, in the order of the first of each.
pub fn alike(suspects: &[Suspect]) -> Vec<Suspects<'_>> {
    let mut found: Vec<Suspects<'_>> = Vec::new();
    for suspect in suspects {
        let reason = |it: &Suspect| it.screened.signs.first().map(|sign| (sign.kind, sign.words.clone()));
        let is_like = |it: &&mut Suspects<'_>| {
            it.first.server == suspect.server
                && it.first.is_quarantined == suspect.is_quarantined
                && reason(it.first) == reason(suspect)
        };
        match found.iter_mut().find(is_like) {
            Some(known) => known.others += 1,
            None => found.push(Suspects { first: suspect, others: 0 }),
        }
    }
    found
}

impl Hub {
    /// Says why a tool is quarantined, where it is. A model may read it, so it quotes nothing.
    pub(crate) fn quarantined(&self, snapshot: &Snapshot, tool: &Tool) -> Option<String> {
        quarantined(&self.config(), &self.screenings, snapshot, tool).map(|found| found.gist())
    }

    /// Returns the tools that look like attacks, as far as that is known.
    pub fn suspects(&self, snapshot: &Snapshot) -> Vec<Suspect> {
        let tools = snapshot.catalog.tools().iter();
        tools.filter_map(|tool| self.suspect(snapshot, tool, Reading::Known)).collect()
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

    fn suspect(&self, snapshot: &Snapshot, tool: &Tool, reading: Reading) -> Option<Suspect> {
        let config = self.config();
        if config.policy.screening == ScreeningMode::Allow || !is_foreign(&config, tool) {
            return None;
        }
        let screened = self.screenings.of(snapshot, tool, reading);
        is_told(&screened).then(|| Suspect {
            tool: tool.id.clone(),
            server: Arc::clone(&tool.server),
            screened,
            is_quarantined: self.quarantined(snapshot, tool).is_some(),
        })
    }

    fn read_all(&self, reading: Reading) {
        let snapshot = self.snapshot();
        let found = snapshot.catalog.tools().iter().filter_map(|tool| {
            self.suspect(&snapshot, tool, reading).filter(|_| self.screenings.is_news(tool))
        });
        let found: Vec<Suspect> = found.collect();
        for suspects in alike(&found) {
            let (id, sentence) = (&suspects.first.tool, suspects.sentence());
            tracing::warn!(tool = %id, "{sentence}; read it with `toolyard describe {id}`");
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

#[cfg(test)]
mod tests {
    use toolyard_core::screen::{Alarm, Sign, SignKind};

    use super::*;

    fn suspect(server: &str, tool: &str, words: &str) -> Suspect {
        let sign = Sign {
            kind: SignKind::Instructions,
            alarm: Alarm::Suspicious,
            place: "description".to_owned(),
            words: words.to_owned(),
        };
        Suspect {
            tool: ToolId::new(server, tool),
            server: server.into(),
            screened: Arc::new(Screened { alarm: Alarm::Suspicious, signs: vec![sign] }),
            is_quarantined: false,
        }
    }

    #[test]
    fn t27_words_that_many_tools_of_a_server_have_are_told_once() {
        let suspects = [
            suspect("desk", "read", "Always ask first."),
            suspect("desk", "list", "Never ask."),
            suspect("shop", "read", "Always ask first."),
            suspect("desk", "write", "Always ask first."),
            suspect("desk", "move", "Always ask first."),
        ];
        let sentences: Vec<String> = alike(&suspects).iter().map(Suspects::sentence).collect();
        insta::assert_snapshot!(sentences.join("\n"), @"
        `desk__read` and 2 like it look suspicious: its description reads like instructions to a model: “Always ask first.”
        `desk__list` looks suspicious: its description reads like instructions to a model: “Never ask.”
        `shop__read` looks suspicious: its description reads like instructions to a model: “Always ask first.”
        ");
    }
}
