//! Which tools nobody wrote about, in batches that a model is asked about at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use toolyard_core::enrich::{Questionnaire, shown};
use toolyard_core::metadata::{Knowledge, Library, Note, Sidecar};
use toolyard_core::tool::Tool;

use super::{BY, EnrichFile, Error, tokens};
use crate::config::Config;
use crate::jsonrpc::Fields;
use crate::live::Snapshot;
use crate::sidecars;

/// Tools of one question; with more, small models forget the last.
const BATCH_TOOLS: usize = 5;
/// Tokens of one tool in an answer, about.
const ANSWER_TOKENS: usize = 260;
/// Bytes of a hash that tell definitions apart.
const HASH_BYTES: usize = 16;
const MARK_BYTES: usize = 16;

/// Which tools are wanted.
#[derive(Clone, Debug, Default)]
pub struct EnrichSelection {
    /// Only tools of these servers; all when empty.
    pub servers: Vec<String>,
    /// Whether tools that were done before are done again.
    pub again: bool,
    /// Tools at most.
    pub limit: Option<usize>,
    /// Definitions that are left out: those of [`Batch::tools`] that were asked about in vain, with their servers.
    pub except: BTreeSet<(Arc<str>, String)>,
}

/// What is to be asked, and why the rest is not.
#[derive(Debug, Default)]
pub struct Survey {
    /// The questions.
    pub batches: Vec<Batch>,
    /// Tools that somebody wrote about, or the library that comes with the product.
    pub known: usize,
    /// Tools that were done before.
    pub done: usize,
    /// Drafts that still hold, by server and tool.
    pub drafts: BTreeMap<Arc<str>, BTreeMap<String, Note>>,
    /// Tools beyond the limit.
    pub beyond: usize,
}

/// One question about some tools of one server.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The server.
    pub server: Arc<str>,
    /// The tools, by the server's own names, each with what tells its definition from others.
    pub tools: BTreeMap<String, String>,
    /// What the model is to do.
    pub rules: String,
    /// The data that it is asked about.
    pub data: String,
    /// The form of an answer.
    pub schema: Value,
}

impl Batch {
    /// Returns about how many tokens the question and its answer take.
    pub fn tokens(&self) -> usize {
        tokens(&self.rules) + tokens(&self.data) + ANSWER_TOKENS * self.tools.len()
    }
}

impl Survey {
    /// Returns how many tools are asked about.
    pub fn tools(&self) -> usize {
        self.batches.iter().map(|batch| batch.tools.len()).sum()
    }

    /// Returns about how many tokens everything takes.
    pub fn tokens(&self) -> usize {
        self.batches.iter().map(Batch::tokens).sum()
    }
}

/// Looks for tools without texts of their own: neither a person nor the library says how people ask for them.
pub fn survey(
    snapshot: &Snapshot,
    config: &Config,
    folder: &Path,
    selection: &EnrichSelection,
) -> Result<Survey, Error> {
    let looking = Looking { snapshot, own: own_notes(config), selection };
    let mut survey = Survey::default();
    let mut left = selection.limit.unwrap_or(usize::MAX);
    for (server, _) in snapshot.catalog.servers() {
        let is_wanted = selection.servers.is_empty() || selection.servers.iter().any(|it| **it == **server);
        if !is_wanted || !config.servers.contains_key(&**server) {
            continue;
        }
        let file = EnrichFile::of(folder, server)?;
        let wanted = looking.wanted(server, &file, &mut survey)?;
        let taken = wanted.len().min(left);
        survey.beyond += wanted.len() - taken;
        left -= taken;
        survey
            .batches
            .extend(wanted[..taken].chunks(BATCH_TOOLS).map(|tools| batch(snapshot, config, tools)));
    }
    Ok(survey)
}

/// Returns what people wrote, without what a model did.
fn own_notes(config: &Config) -> Vec<Sidecar> {
    let (mut own, _) = sidecars::read(&config.metadata);
    for sidecar in &mut own {
        sidecar.tools.retain(|_, note| note.source.as_ref().is_none_or(|source| source.by != BY));
    }
    own
}

/// What tools are compared with that may lack texts.
struct Looking<'a> {
    snapshot: &'a Snapshot,
    /// What people wrote.
    own: Vec<Sidecar>,
    selection: &'a EnrichSelection,
}

impl<'a> Looking<'a> {
    /// Returns the tools of a server that are to be done, and counts the others.
    fn wanted(
        &self,
        server: &Arc<str>,
        file: &EnrichFile,
        survey: &mut Survey,
    ) -> Result<Vec<&'a Tool>, Error> {
        let (notes, drafts) = (file.notes()?, file.drafts()?);
        let catalog = &self.snapshot.catalog;
        let listing = self.snapshot.listings.get(server);
        let version = listing.and_then(|it| Fields::parse(it.info.as_deref()).ok()?.text("version"));
        let sources = (Some(Library::builtin()), self.own.as_slice());
        let facts = Knowledge::of_server(catalog, sources, server, version.as_deref());
        let mut wanted = Vec::new();
        for (tool, facts) in catalog.of_server(server).iter().zip(&facts) {
            let definition = definition(tool);
            let holds = |note: &&Note| note.source.as_ref().is_some_and(|it| it.definition == definition);
            let is_done = |notes: &BTreeMap<String, Note>| {
                notes.get(&tool.name).filter(holds).filter(|_| !self.selection.again).cloned()
            };
            if facts.phrasings().next().is_some() {
                survey.known += 1;
            } else if let Some(draft) = is_done(&drafts) {
                survey.drafts.entry(Arc::clone(server)).or_default().insert(tool.name.clone(), draft);
            } else if is_done(&notes).is_some() {
                survey.done += 1;
            } else if !self.selection.except.contains(&(Arc::clone(server), definition)) {
                wanted.push(tool);
            }
        }
        Ok(wanted)
    }
}

fn batch(snapshot: &Snapshot, config: &Config, tools: &[&Tool]) -> Batch {
    let server = Arc::clone(&tools[0].server);
    let is_other = |tool: &&Tool| !tools.iter().any(|it| it.id == tool.id);
    let others: Vec<&Tool> = snapshot.catalog.of_server(&server).iter().filter(is_other).collect();
    let instructions = snapshot.listings.get(&server).and_then(|listing| listing.instructions.as_deref());
    let languages = &config.enrich.languages;
    let question = Questionnaire { server: &server, instructions, tools, others: &others, languages };
    let mark = mark();
    Batch {
        rules: question.rules(&mark),
        data: question.data(&mark),
        schema: question.schema(),
        tools: tools.iter().map(|tool| (tool.name.clone(), definition(tool))).collect(),
        server,
    }
}

/// Returns what tells the definition of a tool from others, as far as the model sees it.
pub(super) fn definition(tool: &Tool) -> String {
    hex(&Sha256::digest(shown(tool).to_string())[..HASH_BYTES])
}

/// Returns a mark that nobody who wrote a listing can know.
fn mark() -> String {
    let mut bytes = [0; MARK_BYTES];
    getrandom::fill(&mut bytes).expect("the operating system has random numbers");
    format!("DATA-{}", hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
