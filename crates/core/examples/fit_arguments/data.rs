//! Requests whose calls are known.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value};
use toolyard_core::arguments::Form;

use crate::invent;

/// A request, the form of its tool, and the right arguments.
pub(crate) struct Case {
    pub(crate) text: String,
    /// The id and the name of its tool.
    pub(crate) id: String,
    pub(crate) name: String,
    /// What its tool says about itself.
    pub(crate) about: String,
    pub(crate) form: Form,
    pub(crate) gold: Map<String, Value>,
    pub(crate) source: &'static str,
    pub(crate) is_held_out: bool,
}

/// Dialogues about the same few tools are enough in this number.
const MOST_DIALOGUES: usize = 2500;

/// Tools, by where they come from and their names there.
pub(crate) type Tools = HashMap<String, Value>;

pub(crate) fn tools(train: &Path, catalogs: &Path) -> Tools {
    let mut tools = Tools::new();
    for tool in lines(&catalogs.join("mcp_registries.jsonl.gz")) {
        tools.insert(format!("written:{}", text(&tool["id"])), tool);
    }
    for tool in lines(&train.join("tools.jsonl.gz")) {
        tools.insert(format!("{}:{}", text(&tool["dataset"]), text(&tool["id"])), tool);
    }
    tools
}

pub(crate) fn load(tools: &Tools, train: &Path, training: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut catalog: Vec<&String> = tools.keys().filter(|id| id.starts_with("written:")).collect();
    catalog.sort();
    let written = [train.join("written_calls.jsonl.gz"), training.join("data/calls.jsonl")];
    for line in written.iter().flat_map(|path| lines(path)) {
        cases.extend(case(tools, "written", text(&line["tool"]), (&line["text"], &line["arguments"])));
    }
    let mut dialogues = 0;
    for line in lines(&train.join("calls.jsonl.gz")) {
        let Some([call]) = line["calls"].as_array().map(Vec::as_slice) else { continue };
        let source = match text(&line["dataset"]) {
            "sgd" => "sgd",
            "hammerbench" => "hammerbench",
            _ => "api_bank_train",
        };
        let case = case(tools, source, text(&call["tool"]), (&line["text"], &call["arguments"]));
        // Much of a dialogue is said by the other side, which is not here.
        let is_told = case.as_ref().is_some_and(|case| case.is_told());
        if source == "sgd" && (dialogues >= MOST_DIALOGUES || !is_told) {
            continue;
        }
        dialogues += usize::from(source == "sgd");
        cases.extend(case);
    }
    let held = HeldOut::read(training);
    for case in &mut cases {
        case.is_held_out = match case.source {
            "written" => held.has(&case.id),
            _ => quarter(&case.id) == 0,
        };
    }
    let pool = invent::Pool::of(cases.iter().filter(|case| !case.is_held_out));
    let invented = invent::requests(&pool, catalog.into_iter().map(|id| &tools[id]));
    cases.extend(invented);
    cases
}

impl Case {
    /// Whether every text of the arguments stands in the request.
    fn is_told(&self) -> bool {
        let said = self.text.to_lowercase();
        let texts = self
            .gold
            .values()
            .filter_map(Value::as_str)
            .filter(|it| it.len() > 2 && !it.contains('-') && !it.contains(':'));
        texts.filter(|it| !matches!(*it, "True" | "False")).all(|it| said.contains(&it.to_lowercase()))
    }
}

fn case(tools: &Tools, source: &'static str, id: &str, (said, arguments): (&Value, &Value)) -> Option<Case> {
    let tool = tools.get(&format!("{source}:{id}"))?;
    let about = (text(&tool["name"]), text(&tool["description"]));
    let form = Form::new(about, tool["input_schema"].clone());
    let form = if source == "written" { form.of_server(server(id)) } else { form };
    let gold = arguments.as_object()?.clone();
    let is_known = gold.keys().all(|name| form.has(name));
    is_known.then(|| Case {
        text: text(said).to_owned(),
        id: id.to_owned(),
        name: about.0.to_owned(),
        about: about.1.to_owned(),
        form,
        gold,
        source,
        is_held_out: false,
    })
}

/// The servers that nothing is learnt from before it is measured.
pub(crate) struct HeldOut(HashSet<String>);

impl HeldOut {
    pub(crate) fn read(training: &Path) -> Self {
        let text =
            std::fs::read_to_string(training.join("held_out.txt")).expect("the servers that are held out");
        Self(text.lines().map(str::to_owned).collect())
    }

    /// Whether a tool belongs to one of them.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.contains(server(id))
    }
}

/// The server of a tool, by the tool's id; other sets have none.
pub(crate) fn server(id: &str) -> &str {
    id.split_once("::").map_or(id, |(server, _)| server)
}

/// Which quarter of the servers a tool belongs to.
pub(crate) fn quarter(id: &str) -> u32 {
    server(id).bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 4
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn lines(path: &Path) -> impl Iterator<Item = Value> + use<> {
    let file = std::fs::File::open(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    let is_packed = path.extension().is_some_and(|it| it == "gz");
    let read: Box<dyn Read> = if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    BufReader::new(read)
        .lines()
        .map(|line| serde_json::from_str(&line.expect("readable data")).expect("JSON on each line"))
}
