//! Requests beside tools that can serve them, and beside tools of the same server that cannot.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::Value;
use toolyard_core::text::terms;

use crate::data::{HeldOut, Tools, lines, server, text};

/// A request beside a tool.
pub(crate) struct Pair<'a> {
    pub(crate) text: String,
    pub(crate) tool: &'a Value,
    pub(crate) fits: bool,
    pub(crate) source: &'static str,
    pub(crate) is_held_out: bool,
}

/// How many tools of its server a request that none of them can serve is shown beside.
const BESIDE: usize = 5;
const MOST_TERMS: usize = 100;

/// The tools of each server, by its name.
type Servers<'a> = BTreeMap<&'a str, Vec<(&'a str, &'a Value)>>;

/// Reads requests for one tool, and requests that no tool of a server can serve (`data/unserved.jsonl`).
pub(crate) fn load<'a>(tools: &'a Tools, train: &Path, training: &Path) -> Vec<Pair<'a>> {
    let mut servers = Servers::new();
    for (id, tool) in tools {
        if let Some(id) = id.strip_prefix("written:") {
            servers.entry(server(id)).or_default().push((id, tool));
        }
    }
    servers.values_mut().for_each(|own| own.sort_by_key(|(id, _)| *id));
    let held = HeldOut::read(training);
    let mut pairs = Vec::new();
    let data = |name: &str| training.join("data").join(name);
    let served =
        [train.join("written.jsonl.gz"), data("requests.jsonl"), data("tasks.jsonl"), data("calls.jsonl")];
    for line in served.iter().flat_map(|path| lines(path)) {
        pairs.extend(beside_its_tool(&line, tools, &servers, &held));
    }
    for line in lines(&data("unserved.jsonl")) {
        let Some(own) = servers.get(text(&line["server"])) else { continue };
        let said = text(&line["text"]);
        let is_held_out = held.has(text(&line["server"]));
        for (_, tool) in nearest(said, own).into_iter().take(BESIDE) {
            pairs.push(Pair { text: said.to_owned(), tool, fits: false, source: "unserved", is_held_out });
        }
    }
    pairs
}

/// Shows a request beside its tool, and beside another one of the same server: the nearest by its words or any.
fn beside_its_tool<'a>(
    line: &Value,
    tools: &'a Tools,
    servers: &Servers<'a>,
    held: &HeldOut,
) -> Vec<Pair<'a>> {
    let (id, said) = (text(&line["tool"]), text(&line["text"]));
    let Some(tool) = tools.get(&format!("written:{id}")) else { return Vec::new() };
    let is_held_out = held.has(id);
    let pair = |tool, fits, source| Pair { text: said.to_owned(), tool, fits, source, is_held_out };
    // The arguments of calls are learnt elsewhere, beside the same tool.
    let mut pairs = if line.get("arguments").is_some() { vec![] } else { vec![pair(tool, true, "asked")] };
    let mut right: HashSet<&str> = line["also"].as_array().into_iter().flatten().map(text).collect();
    right.insert(id);
    let own = servers.get(server(id)).map(Vec::as_slice).unwrap_or_default();
    let others: Vec<_> = own.iter().copied().filter(|(id, _)| !right.contains(id)).collect();
    let place = said.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
    let other = if place % 2 == 0 { nearest(said, &others).first().copied() } else { None };
    let any = others.get(place.checked_rem(others.len()).unwrap_or_default()).copied();
    pairs.extend(other.or(any).map(|(_, tool)| pair(tool, false, "other")));
    pairs
}

/// Orders tools by how many of the request's words they have, the most first.
fn nearest<'a>(said: &str, tools: &[(&'a str, &'a Value)]) -> Vec<(&'a str, &'a Value)> {
    let said: HashSet<String> = terms(said, MOST_TERMS).into_iter().collect();
    let shared = |tool: &Value| {
        let own = format!("{} {}", text(&tool["name"]), text(&tool["description"]));
        let own: HashSet<String> = terms(&own, MOST_TERMS).into_iter().collect();
        own.intersection(&said).count()
    };
    let mut ordered: Vec<_> = tools.iter().map(|(id, tool)| (shared(tool), (*id, *tool))).collect();
    ordered.sort_by(|(a, (left, _)), (b, (right, _))| b.cmp(a).then(left.cmp(right)));
    ordered.into_iter().map(|(_, it)| it).collect()
}
