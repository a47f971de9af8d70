//! What servers are called, and which of them a request names.

use crate::catalog::Catalog;
use crate::lexicon::{Categories, Lexicon};
use crate::metadata::Knowledge;
use crate::text::terms;
use crate::thresholds::thresholds;
use crate::tool::vocabulary::vocabulary;

/// What the servers of a catalog are called.
#[derive(Clone, Debug, Default)]
pub struct Names {
    servers: Vec<Server>,
    /// The server of each tool.
    of_tool: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Server {
    /// Each name as its terms, with how surely it means the server.
    names: Vec<(Vec<String>, f32)>,
    tools: usize,
}

/// From here on a name says nothing about which tool is meant.
const MANY_TOOLS: usize = 8;

impl Names {
    /// Reads the names of every server of a catalog.
    pub fn new(catalog: &Catalog, knowledge: &Knowledge) -> Self {
        let mut names = Self::default();
        for (server, tools) in catalog.servers() {
            let at = u32::try_from(names.servers.len()).expect("there are fewer servers than tools");
            names.of_tool.extend(std::iter::repeat_n(at, tools));
            let mut known: Vec<(Vec<String>, f32)> = Vec::new();
            let aliases = knowledge.aliases(server).iter().map(String::as_str);
            for name in std::iter::once(&**server).chain(aliases).flat_map(spellings) {
                if !known.iter().any(|(it, _)| *it == name) {
                    let sureness = sureness(&name);
                    known.push((name, sureness));
                }
            }
            names.servers.push(Server { names: known, tools });
        }
        names
    }

    /// Returns which server a tool belongs to, by position.
    pub(crate) fn server_of(&self, tool: usize) -> usize {
        self.of_tool[tool] as usize
    }

    /// Returns how many servers there are.
    pub(crate) fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether a term is a part of the name of a server that the terms name for sure.
    pub(crate) fn is_naming(&self, term: &str, query: &[String]) -> bool {
        // The name of a server with few tools says which tool is meant.
        let large = self.servers.iter().filter(|server| server.tools >= MANY_TOOLS);
        let names = large.flat_map(|server| &server.names);
        let mut sure = names.filter(|(name, sureness)| *sureness >= 1.0 && name.iter().any(|it| it == term));
        sure.any(|(name, _)| name.iter().all(|it| query.contains(it)))
    }

    /// Returns for each server how surely the terms name it, from 0 to 1.
    pub(crate) fn named(&self, query: &[String]) -> Vec<f32> {
        let says = |name: &[String]| {
            let mut places = name.iter().map(|term| query.iter().position(|it| it == term));
            places.all(|place| place.is_some())
        };
        let sureness = |server: &Server| {
            let said = server.names.iter().filter(|(name, _)| says(name)).map(|(_, sureness)| *sureness);
            said.fold(0.0, f32::max)
        };
        self.servers.iter().map(sureness).collect()
    }
}

/// The terms of a name, as separate words and as one: `home-assistant` is also `homeassistant`.
fn spellings(name: &str) -> Vec<Vec<String>> {
    let name = name.to_lowercase();
    let parts = name.split(|c: char| !c.is_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty() && !is_noise(part)).collect();
    let apart: Vec<String> = parts.iter().flat_map(|part| terms(part, 8)).collect();
    let together = terms(&parts.concat(), 1);
    let mut spellings = vec![apart];
    if parts.len() > 1 {
        spellings.push(together);
    }
    spellings.retain(|spelling| !spelling.is_empty());
    spellings
}

fn is_noise(term: &str) -> bool {
    vocabulary().servers.noise.contains(term) || term.bytes().all(|byte| byte.is_ascii_digit())
}

fn sureness(name: &[String]) -> f32 {
    let (categories, lexicon) = (Categories::builtin(), Lexicon::builtin());
    let is_common = |term: &String| match categories.noun(term) {
        Some(noun) => !noun.is_product,
        None => lexicon.verb(term).is_some(),
    };
    if name.iter().all(is_common) { thresholds().index.common_name as f32 } else { 1.0 }
}
