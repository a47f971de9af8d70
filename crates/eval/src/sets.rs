//! Sets of requests whose right tools are known, as they lie on disk.
//!
//! A set has `tools.jsonl.gz`, `queries.jsonl.gz` and sometimes `no_tool_fits.jsonl.gz`; a fleet has
//! `catalog.json` and `tasks.jsonl`. Files ending in `.gz` may also lie there unpacked.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Error;

/// Tools, and requests whose right tools are known.
#[derive(Debug)]
pub struct Collection {
    /// Its name.
    pub name: String,
    /// Whether it is a fleet, with requests of several kinds.
    pub is_fleet: bool,
    /// Its tools.
    pub tools: Vec<Listed>,
    /// Its requests.
    pub cases: Vec<Case>,
    /// Requests that none of the tools can serve.
    pub unserved: Vec<Unserved>,
    /// Right tools that are not among the tools.
    pub unknown: usize,
}

/// A tool as it is listed.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The server it belongs to.
    pub server: String,
    /// Its name.
    pub name: String,
    /// The whole definition in the form of the protocol.
    pub definition: Value,
}

/// A request and what is right for it.
#[derive(Debug)]
pub struct Case {
    /// The words of the request.
    pub task: String,
    /// For each needed step the places of the tools that are equally right.
    pub groups: Vec<Vec<usize>>,
    /// What sort of request it is.
    pub kind: Sort,
    /// Whether it is in English.
    pub is_english: bool,
    /// Whether it shares no word with the text of its tools.
    pub is_gap: bool,
    /// The one call that is right, where the set knows its arguments.
    pub call: Option<RightCall>,
    /// What it is called.
    pub id: String,
    /// The calls that are right, in their order, each with the tools that are equally right.
    pub steps: Vec<RightStep>,
    /// The calls that an assistant made of it, which knows no schema; nothing where nobody wrote any.
    pub assisted: Option<Vec<AssistedCall>>,
}

/// A step that is right: the tools that are, and what the request says of the arguments of the first.
#[derive(Clone, Debug)]
pub struct RightStep {
    /// The places of the tools.
    pub tools: Vec<usize>,
    /// What the request determines.
    pub arguments: Map<String, Value>,
}

/// A call of `smart_route` as an assistant makes it.
#[derive(Clone, Debug, Deserialize)]
pub struct AssistedCall {
    /// The action, in a few words.
    pub task: String,
    /// Its values, under names of the assistant's own.
    #[serde(default)]
    pub values: Map<String, Value>,
}

/// A call that is right.
#[derive(Debug)]
pub struct RightCall {
    /// The place of the tool.
    pub tool: usize,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// For each argument every value that is right, where the set lists them; `""` allows none.
    pub acceptable: Option<Map<String, Value>>,
}

/// What sort of request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// For one tool.
    Single,
    /// For several tools.
    Multi,
    /// It says too little.
    Vague,
    /// No tool can serve it.
    Unanswerable,
    /// To destroy something.
    Destructive,
}

/// A request that no tool can serve.
#[derive(Debug)]
pub struct Unserved {
    /// The words of the request.
    pub task: String,
    /// The places of the only tools that are there for it; all when empty.
    pub among: Vec<usize>,
}

/// Finds the sets and fleets that folders hold; a folder may be one, or hold several.
pub fn find(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for folder in folders {
        if is_one(folder) {
            found.push(folder.clone());
            continue;
        }
        let entries = std::fs::read_dir(folder)
            .map_err(|err| Error::new(format!("`{}` cannot be read: {err}", folder.display())))?;
        let mut inner: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        inner.retain(|path| is_one(path));
        inner.sort();
        if inner.is_empty() {
            return Err(Error::new(format!("`{}` holds neither a set nor a fleet", folder.display())).hint(
                "a set has tools.jsonl.gz and queries.jsonl.gz, a fleet catalog.json and tasks.jsonl",
            ));
        }
        found.append(&mut inner);
    }
    Ok(found)
}

fn is_one(folder: &Path) -> bool {
    is_fleet(folder) || packed(folder, "tools").is_some() && packed(folder, "queries").is_some()
}

fn is_fleet(folder: &Path) -> bool {
    folder.join("catalog.json").is_file() && folder.join("tasks.jsonl").is_file()
}

/// Returns where a file of lines is, packed or not.
fn packed(folder: &Path, stem: &str) -> Option<PathBuf> {
    ["jsonl.gz", "jsonl"].iter().map(|end| folder.join(format!("{stem}.{end}"))).find(|path| path.is_file())
}

/// Reads a set or a fleet; of its requests at most `limit`, taken evenly.
pub fn read(folder: &Path, limit: Option<usize>) -> Result<Collection, Error> {
    let mut collection = if is_fleet(folder) { fleet(folder)? } else { set(folder)? };
    let named =
        folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    collection.name = named.unwrap_or_else(|| folder.display().to_string());
    if let Some(limit) = limit {
        collection.cases = evenly(collection.cases, limit);
        collection.unserved = evenly(collection.unserved, limit);
    }
    Ok(collection)
}

/// Takes at most `limit` items, from all parts of the list.
fn evenly<T>(items: Vec<T>, limit: usize) -> Vec<T> {
    let count = items.len();
    let taken = |at: usize| at * limit / count != (at + 1) * limit / count;
    if limit >= count {
        items
    } else {
        items.into_iter().enumerate().filter(|(at, _)| taken(*at)).map(|(_, it)| it).collect()
    }
}

#[derive(Deserialize)]
struct ToolLine {
    id: String,
    #[serde(default)]
    server: String,
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Value,
}

#[derive(Deserialize)]
struct QueryLine {
    text: String,
    #[serde(default)]
    relevant: Vec<String>,
    #[serde(default)]
    groups: Vec<Vec<String>>,
    #[serde(default)]
    calls: Vec<CallLine>,
}

#[derive(Deserialize)]
struct CallLine {
    tool: String,
    /// An object, or the text of one.
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    acceptable: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct UnservedLine {
    text: String,
    #[serde(default)]
    candidates: Vec<String>,
}

fn set(folder: &Path) -> Result<Collection, Error> {
    let file = |stem: &str| packed(folder, stem).unwrap_or_else(|| folder.join(format!("{stem}.jsonl.gz")));
    let lines: Vec<ToolLine> = read_lines(&file("tools"))?;
    let places = Places::new(lines.iter().map(|tool| tool.id.clone()));
    let listed = |line: ToolLine| {
        // Some sources have tools without any parameters as an empty object.
        let is_there = line.input_schema.as_object().is_some_and(|schema| !schema.is_empty());
        let schema = if is_there { line.input_schema } else { serde_json::json!({ "type": "object" }) };
        let definition = serde_json::json!({
            "name": line.name, "description": line.description.unwrap_or_default(), "inputSchema": schema,
        });
        Listed { server: line.server, name: line.name, definition }
    };
    let tools = lines.into_iter().map(listed).collect();

    let mut unknown = 0;
    let mut cases = Vec::new();
    for query in read_lines::<QueryLine>(&file("queries"))? {
        let groups = match query.groups.is_empty() {
            true => query.relevant.into_iter().map(|id| vec![id]).collect(),
            false => query.groups,
        };
        cases.push(Case {
            task: query.text,
            groups: places.groups(&groups, &mut unknown),
            kind: Sort::Single,
            is_english: true,
            is_gap: false,
            call: only(query.calls).and_then(|line| {
                let tool = places.get(&line.tool)?;
                Some(RightCall { tool, arguments: object(line.arguments)?, acceptable: line.acceptable })
            }),
            id: String::new(),
            steps: Vec::new(),
            assisted: None,
        });
    }
    let mut unserved = Vec::new();
    if let Some(path) = packed(folder, "no_tool_fits") {
        for UnservedLine { text, candidates } in read_lines(&path)? {
            unserved.push(Unserved { task: text, among: places.of(&candidates, &mut unknown) });
        }
    }
    Ok(Collection { name: String::new(), is_fleet: false, tools, cases, unserved, unknown })
}

#[derive(Deserialize)]
struct ServerEntry {
    server: String,
    tools: Vec<Value>,
}

#[derive(Deserialize)]
struct TaskLine {
    #[serde(default)]
    id: String,
    task: String,
    kind: Sort,
    #[serde(default)]
    lang: Option<String>,
    #[serde(default)]
    gold: Vec<Vec<String>>,
    #[serde(default)]
    gap: bool,
    /// For each step what the text determines.
    #[serde(default)]
    arguments: Vec<Value>,
}

#[derive(Deserialize)]
struct ValuesLine {
    id: String,
    calls: Vec<AssistedCall>,
}

fn fleet(folder: &Path) -> Result<Collection, Error> {
    let path = folder.join("catalog.json");
    let text = std::fs::read_to_string(&path).map_err(|err| unreadable(&path, &err.to_string()))?;
    let servers: Vec<ServerEntry> =
        serde_json::from_str(&text).map_err(|err| unreadable(&path, &err.to_string()))?;
    let mut tools = Vec::new();
    for ServerEntry { server, tools: definitions } in servers {
        for definition in definitions {
            let name = definition["name"].as_str().unwrap_or_default().to_owned();
            tools.push(Listed { server: server.clone(), name, definition });
        }
    }
    let places = Places::new(tools.iter().map(|tool| format!("{}__{}", tool.server, tool.name)));
    let mut unknown = 0;
    let mut cases = Vec::new();
    let mut assisted: HashMap<String, Vec<AssistedCall>> = match packed(folder, "values") {
        Some(path) => read_lines(&path)?.into_iter().map(|line: ValuesLine| (line.id, line.calls)).collect(),
        None => HashMap::new(),
    };
    for line in read_lines::<TaskLine>(&folder.join("tasks.jsonl"))? {
        // The arguments are those of the first tool that is right.
        let first = only(line.gold.clone()).and_then(|group| places.get(group.first()?));
        let mut given = line.arguments.iter().cloned().map(|it| object(it).unwrap_or_default());
        let step = |group: &Vec<String>| RightStep {
            tools: group.iter().filter_map(|id| places.get(id)).collect(),
            arguments: given.next().unwrap_or_default(),
        };
        let steps = line.gold.iter().map(step).collect();
        let call = first.filter(|_| matches!(line.kind, Sort::Single | Sort::Destructive)).and_then(|tool| {
            Some(RightCall { tool, arguments: object(only(line.arguments)?)?, acceptable: None })
        });
        cases.push(Case {
            call,
            task: line.task,
            groups: places.groups(&line.gold, &mut unknown),
            kind: line.kind,
            is_english: line.lang.is_none_or(|lang| lang == "en"),
            is_gap: line.gap,
            steps,
            assisted: assisted.remove(&line.id),
            id: line.id,
        });
    }
    Ok(Collection { name: String::new(), is_fleet: true, tools, cases, unserved: Vec::new(), unknown })
}

/// Returns the item of a list that has one.
fn only<T>(items: Vec<T>) -> Option<T> {
    let mut items = items.into_iter();
    items.next().filter(|_| items.len() == 0)
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members),
        Value::String(text) => serde_json::from_str(&text).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// Where the tool with an id is; of several with one id the first.
struct Places(HashMap<String, usize>);

impl Places {
    fn new(ids: impl Iterator<Item = String>) -> Self {
        let mut places = HashMap::new();
        for (at, id) in ids.enumerate() {
            places.entry(id).or_insert(at);
        }
        Self(places)
    }

    fn get(&self, id: &str) -> Option<usize> {
        self.0.get(id).copied()
    }

    fn of(&self, ids: &[String], unknown: &mut usize) -> Vec<usize> {
        let places: Vec<usize> = ids.iter().filter_map(|id| self.0.get(id).copied()).collect();
        *unknown += ids.len() - places.len();
        places
    }

    /// A step that is needed twice is found once.
    fn groups(&self, groups: &[Vec<String>], unknown: &mut usize) -> Vec<Vec<usize>> {
        let mut known: Vec<Vec<usize>> = Vec::new();
        for group in groups {
            let mut places = self.of(group, unknown);
            places.sort_unstable();
            places.dedup();
            if !known.contains(&places) {
                known.push(places);
            }
        }
        known
    }
}

/// Reads a file with one value on each line.
pub(crate) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Error> {
    let file = File::open(path).map_err(|err| unreadable(path, &err.to_string()))?;
    let is_packed = path.extension().is_some_and(|end| end == "gz");
    let bytes: Box<dyn Read> = if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut values = Vec::new();
    for (at, line) in BufReader::new(bytes).lines().enumerate() {
        let line = line.map_err(|err| unreadable(path, &err.to_string()))?;
        if !line.trim().is_empty() {
            let value = serde_json::from_str(&line).map_err(|err| {
                // Each line is a text of its own, so its own line number says nothing.
                let said = err.to_string();
                let why = said.split(" at line ").next().unwrap_or_default();
                unreadable(path, &format!("line {}, column {}: {why}", at + 1, err.column()))
            })?;
            values.push(value);
        }
    }
    Ok(values)
}

fn unreadable(path: &Path, why: &str) -> Error {
    Error::new(format!("`{}` cannot be read: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::evenly;

    #[test]
    fn a_limit_takes_from_all_parts() {
        assert_eq!(evenly((0..10).collect(), 3), [3, 6, 9]);
        assert_eq!(evenly((0..4).collect(), 9), [0, 1, 2, 3]);
        assert_eq!(evenly((0..4).collect(), 0), [0; 0]);
    }
}
