//! What of an answer may count: screened by itself, then compared with all tools of the server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use toolyard_core::enrich::{Objection, Screening, Suggested, by_vectors, by_words, screen};
use toolyard_core::index::tool_text;
use toolyard_core::tool::Tool;
use toolyard_encoder::Embedding;

use super::Sifted;
use super::survey::definition;
use crate::config::{Model, SemanticSearch};
use crate::live::Snapshot;
use crate::meaning::{Effort, Embedder, compute};

/// Sifts what models answered about the tools of a snapshot.
#[derive(Debug)]
pub struct Sifter {
    snapshot: Arc<Snapshot>,
    /// The encoder inside the program, where it is in use: what is near is known for its vectors alone.
    embedder: Option<Embedder>,
    /// The vectors of the tools of each server.
    tools: HashMap<Arc<str>, Vec<Embedding>>,
}

impl Sifter {
    /// Prepares to compare with the tools of a snapshot.
    pub fn new(snapshot: Arc<Snapshot>, search: &SemanticSearch) -> Self {
        let is_inside = search.enabled && search.model == Model::Builtin;
        let embedder = is_inside.then(Embedder::builtin).and_then(Result::ok);
        Self { snapshot, embedder, tools: HashMap::new() }
    }

    /// Returns what may count of what was suggested for tools of a server, by name. It computes, and so belongs on a
    /// thread of its own.
    pub fn sift(&mut self, server: &Arc<str>, suggested: &BTreeMap<String, Suggested>) -> Vec<Sifted> {
        let snapshot = Arc::clone(&self.snapshot);
        let tools: Vec<&Tool> = snapshot.catalog.of_server(server).iter().collect();
        let names = &snapshot.index().names;
        let mut sifted = Vec::new();
        for (own, tool) in tools.iter().enumerate() {
            let Some(suggested) = suggested.get(&tool.name) else { continue };
            let mut screening = screen(suggested, tool, &snapshot.catalog, names);
            let by_words = by_words(&tools, own, &screening.requests);
            leave_out(&mut screening, &tools, &by_words);
            let by_vectors = self.by_vectors((server, &tools), own, &screening.requests);
            leave_out(&mut screening, &tools, &by_vectors);
            sifted.push(Sifted { tool: tool.name.clone(), definition: definition(tool), screening });
        }
        sifted
    }

    fn by_vectors(
        &mut self,
        (server, tools): (&Arc<str>, &[&Tool]),
        own: usize,
        requests: &[String],
    ) -> Vec<Option<usize>> {
        let Some(embedder) = &self.embedder else { return Vec::new() };
        let known = self.tools.entry(Arc::clone(server));
        let texts = known.or_insert_with(|| {
            let texts: Vec<String> = tools.iter().map(|tool| tool_text(tool)).collect();
            vectors(embedder, &texts)
        });
        by_vectors(texts, own, &vectors(embedder, requests))
    }
}

/// Leaves out each request that another tool stands beside.
fn leave_out(screening: &mut Screening, tools: &[&Tool], nearer: &[Option<usize>]) {
    let requests = screening.requests.clone();
    for (request, nearer) in requests.iter().zip(nearer) {
        if let Some(other) = nearer {
            screening.leave_out(request, Objection::OtherTool(tools[*other].name.clone()));
        }
    }
}

fn vectors(embedder: &Embedder, texts: &[String]) -> Vec<Embedding> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut made: Vec<Option<Embedding>> = vec![None; texts.len()];
    let computed = compute(embedder, &texts, Effort::Full, &|| true, &mut |vectors| {
        for (at, vector) in vectors {
            made[at] = Some(vector.unpack());
        }
    });
    let all: Option<Vec<Embedding>> = made.into_iter().collect();
    computed.ok().and(all).unwrap_or_default()
}
