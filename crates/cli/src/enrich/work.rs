//! Asks about one batch after the other, and keeps each answer as a draft before the next is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use toolyard_core::enrich::{LeftOut, Suggested, read};
use toolyard_core::metadata::Note;
use toolyard_hub::config::{Config, LanguageModel};
use toolyard_hub::enrich::{self, AnswerLine, Batch, EnrichFile, Error, Sifted, Sifter, Survey};
use toolyard_hub::live::Snapshot;
use toolyard_hub::web;

/// A model that failed with so many batches in a row is not asked again.
const MOST_FAILURES: usize = 3;

/// What bounds the asking.
pub(super) struct Bounds<'a, S> {
    /// Tokens at most.
    pub(super) tokens: usize,
    /// Ends it, unless an answer is being screened: no answer that was paid for is lost.
    pub(super) stop: S,
    /// Hears how far it is.
    pub(super) progress: &'a (dyn Fn(&str) + Sync),
}

/// What became of one tool.
pub(super) struct Written {
    pub(super) server: Arc<str>,
    pub(super) tool: String,
    /// What is kept; `None` where nothing may count.
    pub(super) note: Option<Note>,
    pub(super) left_out: Vec<LeftOut>,
}

/// Tools of which nothing was learnt.
pub(super) struct Failed {
    pub(super) server: Arc<str>,
    pub(super) tools: Vec<String>,
    pub(super) why: String,
}

/// What became of everything.
#[derive(Default)]
pub(super) struct Report {
    pub(super) written: Vec<Written>,
    pub(super) failed: Vec<Failed>,
    /// Why it ended early.
    pub(super) ended: Option<String>,
    pub(super) tokens: usize,
    /// Definitions that a model answered about, whatever it said, with their servers.
    pub(super) asked: BTreeSet<(Arc<str>, String)>,
    /// Files that have drafts.
    pub(super) files: Vec<EnrichFile>,
}

impl Report {
    /// Adds drafts of earlier runs, which are shown with the others.
    pub(super) fn add_drafts(&mut self, survey: &Survey, folder: &Path) -> Result<(), Error> {
        for (server, drafts) in &survey.drafts {
            self.add_file(EnrichFile::of(folder, server)?);
            for (tool, note) in drafts {
                let (server, tool) = (Arc::clone(server), tool.clone());
                self.written.push(Written { server, tool, note: Some(note.clone()), left_out: Vec::new() });
            }
        }
        self.written.sort_by(|a, b| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)));
        Ok(())
    }

    /// Lets every draft count that was shown.
    pub(super) fn take_over(&self) -> Result<(), Error> {
        for file in &self.files {
            let shown = self.written.iter().filter(|it| it.note.is_some() && *it.server == *file.server);
            file.take_over(&shown.map(|it| it.tool.clone()).collect())?;
        }
        Ok(())
    }

    fn add_file(&mut self, file: EnrichFile) {
        if !self.files.contains(&file) {
            self.files.push(file);
        }
    }
}

/// Asks, screens and keeps.
pub(super) struct Work {
    folder: PathBuf,
    sifter: Option<Sifter>,
    snapshot: Arc<Snapshot>,
    pub(super) report: Report,
}

impl Work {
    pub(super) fn new(snapshot: Arc<Snapshot>, config: &Config, folder: &Path) -> Self {
        let sifter = Sifter::new(Arc::clone(&snapshot), &config.routing.semantic_search);
        Self { folder: folder.to_owned(), sifter: Some(sifter), snapshot, report: Report::default() }
    }

    /// Asks a model about every batch, until it fails, the tokens are spent or it is stopped.
    pub(super) async fn ask(
        &mut self,
        survey: &Survey,
        model: &LanguageModel,
        bounds: Bounds<'_, impl Future<Output = ()>>,
    ) -> Result<(), Error> {
        let client = web::client();
        let mut stop = std::pin::pin!(bounds.stop);
        let (all, mut done, mut failures) = (survey.tools(), 0, 0);
        for batch in &survey.batches {
            if self.report.tokens + batch.tokens() > bounds.tokens {
                self.report.ended = Some(format!(
                    "the next question takes more than the {} tokens that are left",
                    bounds.tokens
                ));
                break;
            }
            (bounds.progress)(&format!(
                "{done} of {all} tools, about {} tokens; asking about {}",
                self.report.tokens, batch.server
            ));
            let answered = tokio::select! {
                answered = enrich::ask(&client, model, batch) => answered,
                () = &mut stop => {
                    self.report.ended = Some("stopped".to_owned());
                    break;
                }
            };
            done += batch.tools.len();
            match answered {
                Ok(answered) => {
                    failures = 0;
                    self.report.asked.extend(definitions(batch));
                    self.report.tokens += answered.tokens;
                    self.keep(&batch.server, (&batch.tools, &answered.tools), &model.name).await?;
                }
                Err(err) => {
                    failures += 1;
                    let is_away = matches!(err, Error::Model(_));
                    // What cannot be used costs as much as what can.
                    self.report.tokens += batch.tokens();
                    if !is_away {
                        self.report.asked.extend(definitions(batch));
                    }
                    self.fail(batch, &err.to_string());
                    if is_away || failures == MOST_FAILURES {
                        self.report.ended = Some("the model was not asked any further".to_owned());
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes answers from a file.
    pub(super) async fn take(
        &mut self,
        survey: &Survey,
        lines: &[AnswerLine],
        model: Option<&str>,
    ) -> Result<(), Error> {
        for (at, line) in lines.iter().enumerate() {
            let tools = self.snapshot.catalog.of_server(&line.server);
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let server: Arc<str> = Arc::from(line.server.as_str());
            let suggested = match read(&line.said(), &names) {
                Ok(suggested) => suggested,
                Err(why) => {
                    let why = format!("answer {}: {why}", at + 1);
                    self.report.failed.push(Failed { server, tools: Vec::new(), why });
                    continue;
                }
            };
            let wanted: BTreeMap<String, String> = survey
                .batches
                .iter()
                .filter(|batch| *batch.server == *line.server)
                .flat_map(|batch| batch.tools.clone())
                .filter(|(tool, _)| suggested.contains_key(tool))
                .collect();
            let is_old = |(tool, now): &(&String, &String)| {
                line.definitions.get(*tool).is_some_and(|then| then != *now)
            };
            let old: BTreeSet<String> = wanted.iter().filter(is_old).map(|(tool, _)| tool.clone()).collect();
            if !old.is_empty() {
                let why = format!("answer {}: the definition has changed since the question", at + 1);
                let (server, tools) = (Arc::clone(&server), old.iter().cloned().collect());
                self.report.failed.push(Failed { server, tools, why });
            }
            let wanted = wanted.into_iter().filter(|(tool, _)| !old.contains(tool)).collect();
            let by = line.model.as_deref().or(model).unwrap_or("a file of answers");
            self.keep(&server, (&wanted, &suggested), by).await?;
        }
        Ok(())
    }

    /// Screens what was said about the wanted tools, and keeps it as a draft.
    async fn keep(
        &mut self,
        server: &Arc<str>,
        (wanted, said): (&BTreeMap<String, String>, &BTreeMap<String, Suggested>),
        model: &str,
    ) -> Result<(), Error> {
        let said: BTreeMap<String, Suggested> = said
            .iter()
            .filter(|(tool, _)| wanted.contains_key(*tool))
            .map(|(tool, it)| (tool.clone(), it.clone()))
            .collect();
        let missing: Vec<String> = wanted.keys().filter(|tool| !said.contains_key(*tool)).cloned().collect();
        if !missing.is_empty() {
            let why = "the model said nothing about it".to_owned();
            self.report.failed.push(Failed { server: Arc::clone(server), tools: missing, why });
        }
        let now = SystemTime::now();
        let mut notes = BTreeMap::new();
        for sifted in self.sift(server, said).await {
            let note = sifted.note(model, now);
            let Sifted { tool, screening, .. } = sifted;
            notes.extend(note.clone().map(|note| (tool.clone(), note)));
            self.report.written.push(Written {
                server: Arc::clone(server),
                tool,
                note,
                left_out: screening.left_out,
            });
        }
        if !notes.is_empty() {
            let file = EnrichFile::of(&self.folder, server)?;
            file.keep(notes)?;
            self.report.add_file(file);
        }
        Ok(())
    }

    /// Comparing takes a while, which must not keep Ctrl-C from being heard.
    async fn sift(&mut self, server: &Arc<str>, said: BTreeMap<String, Suggested>) -> Vec<Sifted> {
        let Some(mut sifter) = self.sifter.take() else { return Vec::new() };
        let server = Arc::clone(server);
        let work = tokio::task::spawn_blocking(move || {
            let sifted = sifter.sift(&server, &said);
            (sifter, sifted)
        });
        let (sifter, sifted) = work.await.expect("comparing texts does not panic");
        self.sifter = Some(sifter);
        sifted
    }

    fn fail(&mut self, batch: &Batch, why: &str) {
        let tools = batch.tools.keys().cloned().collect();
        self.report.failed.push(Failed { server: Arc::clone(&batch.server), tools, why: why.to_owned() });
    }
}

/// What a batch is about, with its server.
fn definitions(batch: &Batch) -> impl Iterator<Item = (Arc<str>, String)> {
    batch.tools.values().map(|definition| (Arc::clone(&batch.server), definition.clone()))
}
