//! Stored listings of tools, in the shapes in which people keep them.
//!
//! Nothing is started for them. What cannot be read is said with what was expected.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_core::catalog::{Advertised, Bounds, Catalog, Problem};

use crate::failure::Failure;

/// A stored listing, read.
pub(crate) struct StoredListing {
    pub(crate) catalog: Catalog,
    /// What could not be taken as it was.
    pub(crate) problems: Vec<Problem>,
    /// Where each tool begins in the file, by server and name.
    pub(crate) lines: HashMap<(String, String), usize>,
}

/// What a file may hold.
const SHAPES: &str = "it is a list of {\"server\", \"tools\"}, an object of servers with their tools, an answer to \
                      `tools/list`, or a line of JSON for each tool with its \"server\"";
/// A stored listing is taken as it is.
const BOUNDS: Bounds = Bounds { tools: usize::MAX, name_chars: 128, description_chars: 65_536, nesting: 127 };

/// Reads a file, or stdin for `-`.
pub(crate) fn read(path: &Path) -> Result<StoredListing, Failure> {
    let unreadable = |why: String| Failure::usage(format!("`{}` cannot be read: {why}", path.display()));
    let failed = |why: String| unreadable(why).hint(SHAPES);
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map_err(|err| unreadable(err.to_string()))?;
    } else {
        text = std::fs::read_to_string(path).map_err(|err| unreadable(err.to_string()))?;
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let own_name = stem.filter(|stem| stem != "-").unwrap_or_else(|| "stdin".to_owned());
    let servers = servers(&text, &own_name).map_err(failed)?;
    let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let mut lines = HashMap::new();
    for (server, tools) in &servers {
        for tool in tools {
            if let Ok(Named { name, .. }) = serde_json::from_str(tool.get()) {
                // What was read without a copy lies in the text itself.
                let offset = (tool.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
                let line = breaks.partition_point(|at| *at < offset) + 1;
                lines.entry((server.clone(), name)).or_insert(line);
            }
        }
    }
    let advertised = servers.into_iter().map(|(server, tools)| {
        let tools = tools.into_iter().map(definition).collect();
        (Advertised { server: Arc::from(server), tools }, BOUNDS)
    });
    let (catalog, problems) = Catalog::gather(advertised);
    if catalog.is_empty() {
        return Err(failed("it holds no tool".to_owned()));
    }
    Ok(StoredListing { catalog, problems, lines })
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    server: Option<String>,
}

/// One server as it stands in a list or as an answer of it.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(default, borrow)]
    server: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

type Servers<'a> = Vec<(String, Vec<&'a RawValue>)>;

fn servers<'a>(text: &'a str, own_name: &str) -> Result<Servers<'a>, String> {
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().as_bytes().first() {
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|err| err.to_string())?;
            items_of(&items, own_name)
        }
        Some(b'{') => match serde_json::from_str::<&RawValue>(text) {
            Ok(_) => object(text, own_name),
            // Several values, one on each line.
            Err(whole) => rows(text).map_err(|_| whole.to_string()),
        },
        _ => Err("it is no JSON".to_owned()),
    }
}

/// Reads a list of servers, or a bare list of tools.
fn items_of<'a>(items: &[&'a RawValue], own_name: &str) -> Result<Servers<'a>, String> {
    let mut servers = Servers::new();
    for item in items {
        match serde_json::from_str::<Answer<'a>>(item.get()) {
            Ok(Answer { server, tools }) => {
                let server = server.map_or_else(|| own_name.to_owned(), std::borrow::Cow::into_owned);
                servers.push((server, tools));
            }
            Err(_) => add_tool(&mut servers, item, own_name)?,
        }
    }
    Ok(servers)
}

fn object<'a>(text: &'a str, own_name: &str) -> Result<Servers<'a>, String> {
    if let Ok(Answer { server, tools }) = serde_json::from_str::<Answer<'a>>(text) {
        return Ok(vec![(server.map_or_else(|| own_name.to_owned(), std::borrow::Cow::into_owned), tools)]);
    }
    let members: HashMap<String, &'a RawValue> = serde_json::from_str(text).map_err(|err| err.to_string())?;
    // The whole answer of JSON-RPC.
    if let Some(result) = members.get("result").filter(|_| members.contains_key("jsonrpc")) {
        return object(result.get(), own_name);
    }
    if members.contains_key("name") {
        return rows(text);
    }
    let mut servers = Servers::new();
    for (server, value) in members {
        let answer = serde_json::from_str::<Answer<'a>>(value.get()).map(|answer| answer.tools);
        let tools = answer.or_else(|_| serde_json::from_str::<Vec<&'a RawValue>>(value.get()));
        let tools = tools.map_err(|_| format!("`{server}` has no list of tools"))?;
        servers.push((server, tools));
    }
    servers.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(servers)
}

/// Reads one tool on each line.
fn rows(text: &str) -> Result<Servers<'_>, String> {
    let mut servers = Servers::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: &RawValue = serde_json::from_str(line).map_err(|err| err.to_string())?;
        add_tool(&mut servers, row, "")?;
    }
    Ok(servers)
}

fn add_tool<'a>(servers: &mut Servers<'a>, tool: &'a RawValue, own_name: &str) -> Result<(), String> {
    let named: Result<Named, _> = serde_json::from_str(tool.get());
    let named =
        named.map_err(|_| "an entry is neither a server with `tools` nor a tool with a `name`".to_owned())?;
    let server = named.server.or_else(|| Some(own_name.to_owned()).filter(|name| !name.is_empty()));
    let server = server.ok_or_else(|| format!("tool `{}` names no `server`", named.name))?;
    match servers.iter_mut().find(|(known, _)| *known == server) {
        Some((_, tools)) => tools.push(tool),
        None => servers.push((server, vec![tool])),
    }
    Ok(())
}

/// Returns a definition as the protocol writes it; collections of tools often say `input_schema`.
fn definition(tool: &RawValue) -> Box<RawValue> {
    let mut members: serde_json::Map<String, serde_json::Value> = match serde_json::from_str(tool.get()) {
        Ok(members) => members,
        Err(_) => return tool.to_owned(),
    };
    match members.remove("input_schema") {
        Some(schema) if !members.contains_key("inputSchema") => {
            members.insert("inputSchema".to_owned(), schema);
            serde_json::value::to_raw_value(&members).unwrap_or_else(|_| tool.to_owned())
        }
        Some(_) | None => tool.to_owned(),
    }
}
