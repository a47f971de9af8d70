//! Everything known of every tool of a catalog.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Library, Note, Sidecar, infer};
use crate::catalog::Catalog;
use crate::lexicon::{Action, Categories};
use crate::tool::{Effect, Hints, Tool};

/// Everything known of every tool of a catalog, by position.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    tools: Vec<Facts>,
    servers: BTreeMap<Arc<str>, Vec<String>>,
}

/// What is known of one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// What it does.
    pub action: Action,
    /// What a call does to the world.
    pub effect: Effect,
    /// Its field of use, as a position in [`Categories`].
    pub category: Option<usize>,
    /// What somebody wrote about it.
    pub note: Option<Arc<Note>>,
}

impl Facts {
    /// Returns what somebody wrote about how people ask for it.
    pub fn phrasings(&self) -> impl Iterator<Item = &String> {
        self.note.iter().flat_map(|note| note.examples.iter().chain(&note.use_cases))
    }
}

impl Knowledge {
    /// Brings together what the library and a person's own files say about a catalog. `version` is that
    /// of a server, where it is known.
    pub fn gather<'a>(
        catalog: &Catalog,
        library: Option<&Library>,
        own: &[Sidecar],
        version: impl Fn(&str) -> Option<&'a str>,
    ) -> Self {
        let mut knowledge = Self::default();
        for (server, _) in catalog.servers() {
            let tools = catalog.of_server(server);
            let sources = sources(tools, (library, own), server, version(server));
            knowledge.tools.extend(tools.iter().map(|tool| facts(tool, &sources)));
            let aliases = sources.iter().flat_map(|source| source.aliases.iter().cloned());
            knowledge.servers.insert(Arc::clone(server), aliases.collect());
        }
        knowledge
    }

    /// Brings together what is known of the tools of one server, in the order of the catalog.
    pub fn of_server(
        catalog: &Catalog,
        (library, own): (Option<&Library>, &[Sidecar]),
        server: &str,
        version: Option<&str>,
    ) -> Vec<Facts> {
        let tools = catalog.of_server(server);
        let sources = sources(tools, (library, own), server, version);
        tools.iter().map(|tool| facts(tool, &sources)).collect()
    }

    /// Returns what is known of the tool at a position of the catalog.
    pub fn of(&self, position: usize) -> &Facts {
        &self.tools[position]
    }

    /// Returns what people call a server.
    pub fn aliases(&self, server: &str) -> &[String] {
        self.servers.get(server).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns for how many tools somebody wrote something.
    pub fn written(&self) -> usize {
        self.tools.iter().filter(|facts| facts.note.is_some()).count()
    }
}

/// Returns what was written about a server: a person's own files before the library.
fn sources<'a>(
    tools: &[Tool],
    (library, own): (Option<&'a Library>, &'a [Sidecar]),
    server: &str,
    version: Option<&str>,
) -> Vec<Cow<'a, Sidecar>> {
    let common = library.and_then(|library| library.about(tools));
    let own = own.iter().filter(|it| it.server == server && it.holds_for(version));
    own.map(Cow::Borrowed).chain(common).collect()
}

fn facts(tool: &Tool, sources: &[Cow<'_, Sidecar>]) -> Facts {
    let notes = || sources.iter().filter_map(|source| source.tools.get(&tool.name));
    // What nobody wrote never stands before what somebody did.
    let by_people = notes().filter(|note| note.source.is_none());
    let note = joined(by_people.chain(notes().filter(|note| note.source.is_some())));
    let categories = Categories::builtin();
    let written = note.as_ref().and_then(|note| note.category.as_deref());
    let of_server = sources.iter().map(|source| source.category.as_str());
    let category = written.into_iter().chain(of_server).find_map(|name| categories.position(name));
    let effect = effect(tool, note.as_ref());
    Facts {
        action: note.as_ref().and_then(|note| note.action).unwrap_or_else(|| infer::action(tool)),
        effect,
        category: category.or_else(|| infer::category(tool)),
        note: note.map(Arc::new),
    }
}

/// A note may correct what a server says; it cannot make a tool harmless that its own name gives away.
fn effect(tool: &Tool, note: Option<&Note>) -> Effect {
    if Effect::infer(&tool.name, Hints::default()) == Effect::Destroy {
        return Effect::Destroy;
    }
    let done = note.and_then(|note| note.action).and_then(|action| match action {
        Action::Delete => Some(Effect::Destroy),
        Action::Search | Action::List | Action::Read => Some(Effect::Read),
        Action::Create | Action::Update | Action::Execute | Action::Send | Action::Move | Action::Copy => {
            None
        }
        Action::Convert | Action::Compute | Action::Compare | Action::Monitor | Action::Unknown => None,
    });
    note.and_then(|note| note.effect).or(done).unwrap_or(tool.effect)
}

/// Returns what a tool acts on.
pub(crate) fn targets(tool: &Tool, facts: &Facts) -> Vec<String> {
    let written = facts.note.as_ref().map(|note| note.targets.as_slice()).unwrap_or_default();
    if written.is_empty() { infer::targets(tool) } else { written.to_vec() }
}

/// The first note that says something about a field wins it.
fn joined<'a>(mut notes: impl Iterator<Item = &'a Note>) -> Option<Note> {
    let mut joined = notes.next()?.clone();
    for note in notes {
        joined.action = joined.action.or(note.action);
        joined.effect = joined.effect.or(note.effect);
        joined.rate_limit = joined.rate_limit.or(note.rate_limit);
        joined.estimated_latency = joined.estimated_latency.or(note.estimated_latency);
        joined.example_call = joined.example_call.or_else(|| note.example_call.clone());
        joined.category = joined.category.or_else(|| note.category.clone());
        let lists = [
            (&mut joined.targets, &note.targets),
            (&mut joined.tags, &note.tags),
            (&mut joined.keywords, &note.keywords),
            (&mut joined.use_cases, &note.use_cases),
            (&mut joined.examples, &note.examples),
            (&mut joined.chains_with, &note.chains_with),
            (&mut joined.typical_workflows, &note.typical_workflows),
        ];
        for (own, other) in lists {
            if own.is_empty() {
                own.clone_from(other);
            }
        }
        if joined.not_for.is_empty() {
            joined.not_for.clone_from(&note.not_for);
        }
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::super::RateLimit;
    use super::*;
    use crate::catalog::{Advertised, Bounds};

    #[test]
    fn r2_what_a_model_wrote_fills_gaps_and_never_stands_before_what_a_person_wrote() {
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 9 };
        let tools =
            ["a", "b"].map(|name| RawValue::from_string(format!(r#"{{"name": "{name}"}}"#)).expect("JSON"));
        let listed = Advertised { server: Arc::from("s"), tools: tools.into() };
        let (catalog, _) = Catalog::gather([(listed, bounds)]);
        let source = r#""source": {"by": "enrich", "model": "m", "at": "", "definition": ""}"#;
        let made = format!(
            r#"{{"server": "s", "tools": {{"a": {{"examples": ["made"], "notFor": {{"b": "x"}}, {source}}},
                "b": {{"examples": ["made"], {source}}}}}}}"#
        );
        let own = r#"{"server": "s", "tools": {"a": {"examples": ["own"]}, "b": {"rateLimit": 3}}}"#;
        let files = [made.as_str(), own].map(|text| Sidecar::parse(text).expect("metadata"));
        assert_eq!(files[0].problems(), [""; 0]);
        let knowledge = Knowledge::gather(&catalog, None, &files, |_| None);
        let said = |at: usize| knowledge.of(at).phrasings().cloned().collect::<Vec<_>>();
        assert_eq!((said(0), said(1)), (vec!["own".to_owned()], vec!["made".to_owned()]));
        assert_eq!(
            knowledge.of(1).note.as_ref().and_then(|note| note.rate_limit),
            Some(RateLimit::per_minute(3))
        );
    }
}
