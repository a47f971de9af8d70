//! The servers of public registries and the requests that were written for their tools.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use toolyard_core::metadata::Library;

use crate::relate::Pair;

/// Everything to learn from.
pub(crate) struct Data {
    /// Servers, copies of one another left out.
    pub(crate) servers: Vec<Server>,
    /// Requests, by the server they are for.
    pub(crate) requests: Vec<Request>,
    /// Catalogs of public data sets, with requests for their tools.
    pub(crate) sets: Vec<Set>,
    /// Requests with the text of their tool, for each half of the servers, and from other public data.
    pub(crate) pairs: [Vec<Pair>; 3],
    /// Requests that do not say enough.
    pub(crate) vague: Vec<String>,
    /// Requests that no tool can fulfil.
    pub(crate) impossible: Vec<String>,
}

pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) tools: Vec<Box<RawValue>>,
    pub(crate) requests: Vec<usize>,
    /// Requests that no encoder was trained on, whatever it knows of the server.
    pub(crate) fresh: Vec<usize>,
    /// Whether the library knows it.
    pub(crate) is_known: bool,
    /// Whether no encoder was trained on its requests.
    pub(crate) is_held_out: bool,
}

/// A catalog of a public data set, with requests and the ids of the tools that each needs.
pub(crate) struct Set {
    pub(crate) name: String,
    /// Id, name and definition of each tool.
    pub(crate) tools: Vec<(String, String, Server)>,
    /// Those that nothing was learnt from.
    pub(crate) aside: Vec<SetRequest>,
    /// The others: only an encoder that was trained without public sets does not know them.
    pub(crate) learnt: Vec<SetRequest>,
}

/// A request of a public data set, and the ids of the tools that it needs.
pub(crate) type SetRequest = (String, Vec<String>);

impl Set {
    /// Leaves tools out where there are more than anybody has; those that are asked for stay.
    fn thin(&mut self) {
        let needed: HashSet<&str> = self
            .aside
            .iter()
            .chain(&self.learnt)
            .flat_map(|(_, tools)| tools.iter().map(String::as_str))
            .collect();
        let part = self.tools.len().div_ceil(MAX_SET_TOOLS);
        let mut at = 0;
        self.tools.retain(|(id, ..)| {
            at += 1;
            at % part == 0 || needed.contains(id.as_str())
        });
    }
}

pub(crate) struct Request {
    pub(crate) text: String,
    /// The names of the tools that it needs.
    pub(crate) tools: Vec<String>,
    pub(crate) server: usize,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    server: String,
    name: String,
    description: Option<String>,
    input_schema: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Written {
    tool: String,
    /// Other tools that it needs.
    #[serde(default)]
    also: Vec<String>,
    text: String,
}

impl Written {
    /// Returns the names of the tools that it needs.
    fn needed(&self, name_of: &HashMap<String, String>) -> Vec<String> {
        let ids = std::iter::once(&self.tool).chain(&self.also);
        ids.filter_map(|id| name_of.get(id)).cloned().collect()
    }
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

/// Loads everything; `files` of `training/data` hold requests besides those of TRAIN.
pub(crate) fn load(
    (train, catalogs, training): (&Path, &Path, &Path),
    files: &[&str],
    measured: &HashSet<String>,
) -> Data {
    let listed: Vec<Listed> = read(&catalogs.join("mcp_registries.jsonl.gz"));
    let (written, fresh_texts) = written((train, training), files, measured);
    let name_of: HashMap<String, String> =
        listed.iter().map(|tool| (tool.id.clone(), tool.name.clone())).collect();
    let mut by_server: BTreeMap<String, Vec<Listed>> = BTreeMap::new();
    for tool in listed {
        by_server.entry(tool.server.clone()).or_default().push(tool);
    }
    let mut requests_of: HashMap<&str, Vec<&Written>> = HashMap::new();
    for request in &written {
        requests_of.entry(request.tool.as_str()).or_default().push(request);
    }
    // Servers with more requests first, so that of several copies the best covered one stays.
    let mut order: Vec<(usize, String)> = by_server
        .iter()
        .map(|(name, tools)| {
            (
                tools.iter().map(|tool| requests_of.get(tool.id.as_str()).map_or(0, Vec::len)).sum(),
                name.clone(),
            )
        })
        .collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));

    let mut data = Data {
        servers: Vec::new(),
        requests: Vec::new(),
        sets: sets(train, measured),
        pairs: [Vec::new(), Vec::new(), public(train, measured)],
        vague: texts(&training.join("data/vague.jsonl")),
        impossible: texts(&training.join("data/impossible.jsonl")),
    };
    let mut seen: HashMap<String, Vec<usize>> = HashMap::new();
    let mut sizes: Vec<usize> = Vec::new();
    for (_, name) in order {
        let tools = &by_server[&name];
        let names: HashSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for at in names.iter().flat_map(|name| seen.get(*name).into_iter().flatten()) {
            *shared.entry(*at).or_default() += 1;
        }
        if shared.iter().any(|(at, shared)| 2 * shared >= names.len().min(sizes[*at]).max(1)) {
            continue;
        }
        let at = data.servers.len();
        for tool in &names {
            seen.entry((*tool).to_owned()).or_default().push(at);
        }
        sizes.push(names.len());
        let (mut requests, mut fresh) = (Vec::new(), Vec::new());
        for tool in tools {
            for request in requests_of.get(tool.id.as_str()).into_iter().flatten() {
                if fresh_texts.contains(&request.text) {
                    fresh.push(data.requests.len());
                } else {
                    let about = lead(tool.description.as_deref().unwrap_or_default());
                    let text = format!("{} {about}", tool.name);
                    data.pairs[at % 2].push(Pair { request: request.text.clone(), tool: text });
                    requests.push(data.requests.len());
                }
                data.requests.push(Request {
                    text: request.text.clone(),
                    tools: request.needed(&name_of),
                    server: at,
                });
            }
        }
        data.servers.push(Server {
            name,
            tools: tools.iter().map(definition).collect(),
            requests,
            fresh,
            is_known: false,
            is_held_out: false,
        });
    }
    mark(&mut data, training);
    data
}

/// Requests written for tools, and the texts of those that no encoder was trained on.
fn written(
    (train, training): (&Path, &Path),
    files: &[&str],
    measured: &HashSet<String>,
) -> (Vec<Written>, HashSet<String>) {
    let mut written: Vec<Written> = read(&train.join("written.jsonl.gz"));
    for file in files {
        written.extend(read::<Written>(&training.join(format!("data/{file}.jsonl"))));
    }
    let fresh: Vec<Written> = read(&training.join("data/fresh.jsonl"));
    let fresh_texts = fresh.iter().map(|request| request.text.clone()).collect();
    written.extend(fresh);
    written.retain(|request| !measured.contains(&plain(&request.text)));
    (written, fresh_texts)
}

/// Marks the servers that encoders do not know, and those that the library knows.
fn mark(data: &mut Data, training: &Path) {
    let held_out = std::fs::read_to_string(training.join("held_out.txt")).unwrap_or_default();
    let held_out: HashSet<&str> = held_out.lines().collect();
    for at in 0..data.servers.len() {
        let catalog = crate::sample::gather(data, &[at]);
        let server = &mut data.servers[at];
        server.is_held_out = held_out.contains(server.name.as_str());
        server.is_known = !server.requests.is_empty() && Library::builtin().about(catalog.tools()).is_some();
    }
}

/// Pairs of public data sets; long conversations and sets of few tools are thinned out.
fn public(train: &Path, measured: &HashSet<String>) -> Vec<Pair> {
    let tools: Vec<PublicTool> = read(&train.join("tools.jsonl.gz"));
    let texts: HashMap<(String, String), String> = tools
        .into_iter()
        .map(|tool| {
            (
                (tool.dataset, tool.id),
                format!("{} {}", tool.name, lead(&tool.description.unwrap_or_default())),
            )
        })
        .collect();
    let mut of_tool: HashMap<String, usize> = HashMap::new();
    let pairs: Vec<PublicPair> = read(&train.join("pairs.jsonl.gz"));
    pairs
        .into_iter()
        .filter_map(|pair| {
            if measured.contains(&plain(&pair.query)) || is_set_aside(&pair.query) {
                return None;
            }
            if MANY_TOOLS.contains(&pair.dataset.as_str()) && is_set_aside(&pair.tool) {
                return None;
            }
            let times = of_tool.entry(pair.tool.clone()).or_default();
            *times += 1;
            let text = texts.get(&(pair.dataset, pair.tool))?;
            (*times <= MAX_PER_TOOL).then(|| Pair { request: lead(&pair.query), tool: text.clone() })
        })
        .collect()
}

/// The data sets that have more than a few tools, each as one catalog, with the requests that were set aside.
fn sets(train: &Path, measured: &HashSet<String>) -> Vec<Set> {
    let tools: Vec<SetTool> = read(&train.join("tools.jsonl.gz"));
    let pairs: Vec<PublicPair> = read(&train.join("pairs.jsonl.gz"));
    let mut sets: BTreeMap<String, Set> = BTreeMap::new();
    for tool in tools {
        let name = tool.dataset.clone();
        let set = sets.entry(name.clone()).or_insert_with(|| Set {
            name,
            tools: Vec::new(),
            aside: Vec::new(),
            learnt: Vec::new(),
        });
        let listed = tool.listed();
        let server = Server {
            name: listed.server.clone(),
            tools: vec![definition(&listed)],
            requests: Vec::new(),
            fresh: Vec::new(),
            is_known: false,
            is_held_out: false,
        };
        set.tools.push((listed.id, listed.name, server));
    }
    let mut needed: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for pair in pairs.into_iter().filter(|pair| !measured.contains(&plain(&pair.query))) {
        needed.entry((pair.dataset, pair.query)).or_default().push(pair.tool);
    }
    for ((dataset, query), tools) in needed {
        let is_new_tool = MANY_TOOLS.contains(&dataset.as_str()) && tools.iter().all(|it| is_set_aside(it));
        let Some(set) = sets.get_mut(&dataset) else { continue };
        let requests = if is_new_tool || is_set_aside(&query) { &mut set.aside } else { &mut set.learnt };
        requests.push((query, tools));
    }
    // Its requests do not tell hundreds of models apart; whoever learnt from them would learn to guess.
    sets.remove("apibench");
    let mut sets: Vec<Set> =
        sets.into_values().filter(|set| set.tools.len() > 40 && set.aside.len() > 20).collect();
    sets.iter_mut().for_each(Set::thin);
    sets
}

/// Requests that are measured with, by their letters alone: none of them may be learnt from.
pub(crate) fn measured(folders: &[std::path::PathBuf]) -> HashSet<String> {
    let mut texts = HashSet::new();
    let files = ["queries.jsonl.gz", "no_tool_fits.jsonl.gz", "incomplete.jsonl.gz", "tasks.jsonl"];
    for folder in folders {
        let inner = std::fs::read_dir(folder).unwrap_or_else(|err| panic!("{}: {err}", folder.display()));
        let folders = inner.filter_map(|it| it.ok().map(|it| it.path())).filter(|it| it.is_dir());
        for path in folders
            .chain([folder.clone()])
            .flat_map(|it| files.map(|file| it.join(file)))
            .filter(|it| it.exists())
        {
            for line in read::<serde_json::Value>(&path) {
                let text = ["text", "task", "query"].iter().find_map(|key| line[*key].as_str());
                texts.extend(text.map(plain));
            }
        }
    }
    texts
}

/// The public sets with many tools: of these, tools are held out besides requests.
const MANY_TOOLS: [&str; 6] =
    ["seal_tools", "api_bank_train", "apibench", "hammerbench", "bfcl", "toolbench_g1_10k"];

/// One text in ten, by the sum of its bytes: `training/text.py` chooses the same ones.
fn is_set_aside(text: &str) -> bool {
    let sum: u32 = text.bytes().filter(|it| !b" \t\n\x0b\x0c\r".contains(it)).map(u32::from).sum();
    sum % 10 == 3
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

const MAX_PER_TOOL: usize = 15;
const MAX_SET_TOOLS: usize = 3_300;

fn lead(text: &str) -> String {
    text.chars().take(300).collect()
}

#[derive(Deserialize)]
struct PublicTool {
    dataset: String,
    id: String,
    name: String,
    description: Option<String>,
}

#[derive(Deserialize)]
struct SetTool {
    dataset: String,
    id: String,
    server: String,
    name: String,
    description: Option<String>,
    input_schema: Option<Box<RawValue>>,
}

impl SetTool {
    fn listed(self) -> Listed {
        let Self { id, server, name, description, input_schema, .. } = self;
        Listed { id, server, name, description, input_schema }
    }
}

#[derive(Deserialize)]
struct PublicPair {
    dataset: String,
    query: String,
    tool: String,
}

fn definition(tool: &Listed) -> Box<RawValue> {
    let empty = RawValue::from_string("{}".to_owned()).expect("JSON");
    let schema = tool.input_schema.as_ref().unwrap_or(&empty);
    let head = serde_json::json!({ "name": tool.name, "description": tool.description }).to_string();
    let text = format!("{},\"inputSchema\":{}}}", &head[..head.len() - 1], schema.get());
    RawValue::from_string(text).expect("made of JSON")
}

fn texts(path: &Path) -> Vec<String> {
    if !path.exists() {
        return Vec::new();
    }
    read::<Text>(path).into_iter().map(|it| it.text).collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let bytes = std::fs::read(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("a compressed text");
    } else {
        text = String::from_utf8(bytes).expect("a text");
    }
    let parse = |line: &str| {
        serde_json::from_str(line).unwrap_or_else(|err| panic!("{}: {err}: {line}", path.display()))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}
