//! What a serving hub asks by itself: about tools that nobody wrote about, once each, with a bound on the cost.
//!
//! What is written waits as drafts. Nothing counts before a person has seen it.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use toolyard_core::tool::clean;
use toolyard_hub::config::Config;
use toolyard_hub::enrich::{self, EnrichSelection, Error};
use toolyard_hub::hub::Hub;
use toolyard_hub::live::Snapshot;
use toolyard_hub::upstream::News;

use super::MOST_TOKENS;
use super::work::{Bounds, Report, Work};
use crate::output::count;

/// Lists change several times in a row while servers start.
const REST: Duration = Duration::from_secs(2);
/// A model that is away may be back after this long; each time in vain doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// What was asked since the hub began.
#[derive(Default)]
struct Spent {
    /// Definitions that the model answered about, whatever it said, with their servers.
    asked: BTreeSet<(Arc<str>, String)>,
    tokens: usize,
    /// What the log was told last. A model may be away for hours.
    told: Vec<String>,
    /// The settings and tools about which nothing is left to ask.
    done_with: Option<(Arc<Config>, Arc<Snapshot>)>,
}

/// Asks about new tools whenever some appear; does not end.
pub(crate) async fn keep_asking(hub: &Hub) {
    let (mut news, mut spent, mut pause) = (hub.news(), Spent::default(), FIRST_PAUSE);
    loop {
        tokio::time::sleep(REST).await;
        news = news.resubscribe();
        let is_away = ask(hub, &mut spent).await.unwrap_or_else(|error| {
            tracing::warn!("{error}");
            true
        });
        if is_away {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        } else {
            pause = FIRST_PAUSE;
            // Settings without tools say nothing, and another hub may have had the turn.
            let _ = tokio::time::timeout(FIRST_PAUSE, of_tools(&mut news)).await;
        }
    }
}

/// Waits until tools changed.
async fn of_tools(news: &mut Receiver<News>) {
    loop {
        match news.recv().await {
            // News that were missed are news too.
            Ok(News::Catalog(_)) | Err(_) => return,
            Ok(News::Announced { .. } | News::Resource { .. } | News::Task { .. }) => {}
        }
    }
}

/// Asks about all tools that nobody wrote about, and returns whether the model is away.
async fn ask(hub: &Hub, spent: &mut Spent) -> Result<bool, Error> {
    let (config, snapshot) = (hub.config(), hub.snapshot());
    let is_done = spent
        .done_with
        .as_ref()
        .is_some_and(|(settings, tools)| Arc::ptr_eq(settings, &config) && Arc::ptr_eq(tools, &snapshot));
    let settings = &config.enrich;
    let (true, Some(model), Some(folder)) =
        (settings.background && !is_done, &settings.model, &settings.folder)
    else {
        return Ok(false);
    };
    // Of several hubs over one store, one asks.
    let Ok(Some(_turn)) = turn(&config.store.folder) else { return Ok(false) };
    let selection = EnrichSelection { except: spent.asked.clone(), ..EnrichSelection::default() };
    let of = (Arc::clone(&snapshot), Arc::clone(&config), folder.clone());
    let looking = tokio::task::spawn_blocking(move || enrich::survey(&of.0, &of.1, &of.2, &selection)).await;
    let survey = looking.expect("reading does not panic")?;
    if survey.batches.is_empty() {
        spent.done_with = Some((Arc::clone(&config), snapshot));
        return Ok(false);
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
        let is_bad = !report.failed.is_empty() || report.ended.is_some();
        for line in &said {
            if is_bad { tracing::warn!("{line}") } else { tracing::info!("{line}") }
        }
    }
    spent.told = said;
    spent.tokens += report.tokens;
    spent.asked.extend(report.asked);
    asked.map(|()| report.ended.is_some())
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
    written
        .chain(failed)
        .chain(report.ended.iter().map(|why| format!("no more phrasings for now: {why}")))
        .collect()
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
