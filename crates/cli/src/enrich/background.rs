//! What a serving hub asks by itself: about tools that nobody wrote about, once each, with a bound on the cost.
//!
//! What is written waits as drafts. Nothing counts before a person has seen it.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use toolyard_core::tool::clean;
use toolyard_hub::enrich::{self, EnrichSelection, Error};
use toolyard_hub::hub::Hub;

use super::MOST_TOKENS;
use super::work::{Bounds, Report, Work};
use crate::output::count;

/// Lists change several times in a row while servers start.
const REST: Duration = Duration::from_secs(2);
/// A model that is away may be back, and settings may have changed.
const PAUSE: Duration = Duration::from_secs(60);

/// What was asked since the hub began.
#[derive(Default)]
struct Spent {
    /// Definitions that the model answered about, whatever it said.
    asked: BTreeSet<String>,
    tokens: usize,
    /// What the log was told last. A model may be away for hours.
    told: Vec<String>,
}

/// Asks about new tools whenever some appear; does not end.
pub(crate) async fn keep_asking(hub: &Hub) {
    let (mut news, mut spent) = (hub.news(), Spent::default());
    loop {
        tokio::time::sleep(REST).await;
        news = news.resubscribe();
        if let Err(error) = ask(hub, &mut spent).await {
            tracing::warn!("{error}");
        }
        // News that were missed are news too.
        let _ = tokio::time::timeout(PAUSE, news.recv()).await;
    }
}

async fn ask(hub: &Hub, spent: &mut Spent) -> Result<(), Error> {
    let config = hub.config();
    let settings = &config.enrich;
    let (true, Some(model), Some(folder)) = (settings.background, &settings.model, &settings.folder) else {
        return Ok(());
    };
    // Of several hubs over one store, one asks.
    let Ok(Some(_turn)) = turn(&config.store.folder) else { return Ok(()) };
    let snapshot = hub.snapshot();
    let selection = EnrichSelection { except: spent.asked.clone(), ..EnrichSelection::default() };
    let survey = enrich::survey(&snapshot, &config, folder, &selection)?;
    if survey.batches.is_empty() {
        return Ok(());
    }
    let mut work = Work::new(snapshot, &config, folder);
    let bounds = Bounds {
        tokens: MOST_TOKENS.saturating_sub(spent.tokens),
        stop: std::future::pending(),
        progress: &|said| tracing::debug!("{said}"),
    };
    let asked = work.ask(&survey, model, bounds).await;
    let report = work.report;
    let said = said(&report);
    if said != spent.told {
        said.iter().for_each(|line| tracing::info!("{line}"));
    }
    spent.told = said;
    spent.tokens += report.tokens;
    spent.asked.extend(report.asked);
    asked
}

/// Returns the lines for the log: what was written, and what failed.
fn said(report: &Report) -> Vec<String> {
    let written = report.written.chunk_by(|a, b| a.server == b.server).map(|of_server| {
        let drafts = of_server.iter().filter(|it| it.note.is_some()).count();
        let (tools, server) = (count(drafts, "tool"), clean(&of_server[0].server));
        format!("drafts of what people say for {tools} of `{server}`: `toolyard enrich` shows them")
    });
    let failed = report
        .failed
        .iter()
        .map(|it| format!("no phrasings for tools of `{}`: {}", clean(&it.server), clean(&it.why)));
    written.chain(failed).collect()
}

/// Takes the turn to write phrasings; `None` while another program has it. Dropping it gives it back.
pub(super) fn turn(store: &Path) -> io::Result<Option<File>> {
    let path = store.join("enrich.lock");
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
