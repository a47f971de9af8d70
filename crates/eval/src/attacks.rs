//! How much of what attackers write is noticed, and how often honest tools give a false alarm.
//!
//! Attacks come from the file beside this one and from folders of public sets; honest tools from public registries. A
//! third of the servers, by their names, is for fitting, a third for choosing thresholds, a third for measuring alone.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::screen::{
    Alarm, Excerpt, Means, Neighbours, Screened, ToolNames, excerpts_of_text, excerpts_of_tool, screen,
};
use toolyard_encoder::Embedding;

use crate::model::MeaningModel;
use crate::sets::read_lines;
use crate::{Error, Progress};

/// One text that is screened, and what it is.
#[derive(Clone, Debug)]
pub struct Specimen {
    /// The set it comes from.
    pub source: String,
    /// The kind of attack; for an honest tool, its server.
    pub family: String,
    /// Whether the classifier never saw its kind.
    pub is_held_out: bool,
    /// What it says, sentence by sentence.
    pub excerpts: Vec<Excerpt>,
    /// What it is called.
    pub name: String,
}

/// What a server is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Weights are fitted on it.
    Fit,
    /// Thresholds are chosen on it.
    Choose,
    /// It is only measured on.
    Measure,
}

/// What was noticed of one kind of attack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyScore {
    /// The set it comes from.
    pub source: String,
    /// The kind of attack.
    pub family: String,
    /// Whether the classifier never saw this kind, or nothing of this set.
    pub held_out: bool,
    /// How many texts there are.
    pub attacks: usize,
    /// How many were noticed.
    pub found: usize,
    /// How many the rules notice alone.
    pub by_rules: usize,
    /// How many the classifier notices alone.
    pub by_classifier: usize,
    /// Some that nothing noticed.
    pub missed: Vec<String>,
}

/// What honest tools gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FalseAlarms {
    /// How many tools there are, of servers that nothing was fitted on.
    pub tools: usize,
    /// How many gave an alarm.
    pub alarms: usize,
    /// How many would be taken for an attack.
    pub hostile: usize,
    /// How many the rules alarm of alone.
    pub by_rules: usize,
    /// How many the classifier alarms of alone.
    pub by_classifier: usize,
    /// Some of them, with the reason.
    pub examples: Vec<String>,
}

/// How good the screening is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttackScores {
    /// What was noticed, kind by kind.
    pub families: Vec<FamilyScore>,
    /// What honest tools gave; `None` where no registry was there.
    pub benign: Option<FalseAlarms>,
}

/// Attacks that we wrote ourselves: the kinds marked `held_out` are measured only.
const OWN: &str = include_str!("../data/attacks.jsonl");
/// Honest tools that are measured.
pub const MOST_BENIGN: usize = 5000;
/// Examples that are shown.
const SHOWN: usize = 12;

/// One line of a file with attacks.
#[derive(Debug, Deserialize)]
struct Written {
    family: String,
    place: String,
    text: String,
    #[serde(default)]
    held_out: bool,
}

/// One tool of a set or a registry.
#[derive(Debug, Deserialize)]
struct Registered {
    server: String,
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Value,
    malicious: Option<bool>,
    attack: Option<String>,
}

/// Returns the attacks that we wrote.
pub fn own() -> Vec<Specimen> {
    let lines = OWN.lines().filter(|line| !line.is_empty());
    lines.filter_map(|line| written(&serde_json::from_str(line).ok()?, "own")).collect()
}

/// Reads attacks: a folder with `tools.jsonl.gz`, or a file with a text in each line. Nothing of them was fitted on.
pub fn read(path: &Path) -> Result<Vec<Specimen>, Error> {
    let source = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    if path.is_dir() {
        let tools = read_lines::<Registered>(&path.join("tools.jsonl.gz"))?;
        let names = own_names(&tools);
        let bad = tools.into_iter().filter(|tool| tool.malicious == Some(true));
        let specimen = |tool: Registered| {
            let family = tool.attack.clone().unwrap_or_default();
            let (name, excerpts) = (tool.name.clone(), listed(&tool, &names[&*tool.server])?);
            Some(Specimen { source: source.clone(), family, is_held_out: true, excerpts, name })
        };
        return Ok(bad.filter_map(specimen).collect());
    }
    let texts = read_lines::<Written>(path)?;
    let specimens = texts.iter().filter_map(|text| written(text, &source));
    Ok(specimens.map(|it| Specimen { is_held_out: true, ..it }).collect())
}

/// Reads the honest tools of a registry whose servers are for one use, evenly at most so many.
pub fn benign(file: &Path, split: Split, most: usize) -> Result<Vec<Specimen>, Error> {
    let mut tools = read_lines::<Registered>(file)?;
    tools.retain(|tool| split_of(&tool.server) == split);
    let (all, names) = (tools.len(), own_names(&tools));
    let is_taken = |at: usize| all <= most || (at + 1) * most / all > at * most / all;
    let specimen = |tool: Registered| {
        let (name, excerpts) =
            (format!("{}/{}", tool.server, tool.name), listed(&tool, &names[&*tool.server])?);
        Some(Specimen {
            source: "registry".to_owned(),
            family: tool.server,
            is_held_out: true,
            excerpts,
            name,
        })
    };
    Ok(tools
        .into_iter()
        .enumerate()
        .filter(|(at, _)| is_taken(*at))
        .filter_map(|(_, tool)| specimen(tool))
        .collect())
}

/// Says what a server is used for, by its name alone.
pub fn split_of(server: &str) -> Split {
    let sum =
        server.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    match (sum >> 8) % 3 {
        0 => Split::Fit,
        1 => Split::Choose,
        _ => Split::Measure,
    }
}

/// Computes the vectors of all sentences that the classifier reads.
pub fn learn(model: &MeaningModel, specimens: &[Specimen], progress: Progress) {
    let read = specimens.iter().flat_map(|it| &it.excerpts).filter(|it| !it.features.is_plain());
    model.learn_texts(
        read.map(|it| it.text.clone()),
        |steps| (progress.begin)("reading", steps),
        progress.advance,
    );
}

/// Screens one text.
pub fn screened(model: &MeaningModel, specimen: &Specimen, means: Means) -> Screened {
    let vector = |excerpt: &Excerpt| -> Option<Embedding> {
        if excerpt.features.is_plain() { None } else { model.vector_of(&excerpt.text) }
    };
    let vectors: Vec<Option<Embedding>> = specimen.excerpts.iter().map(vector).collect();
    screen(&specimen.excerpts, Some(&vectors), means)
}

/// Measures what is noticed of attacks, and how often honest tools give an alarm.
pub fn measure(
    model: &MeaningModel,
    attacks: &[Specimen],
    benign: &[Specimen],
    progress: Progress,
) -> AttackScores {
    learn(model, attacks, progress);
    learn(model, benign, progress);
    let mut families: BTreeMap<(bool, String, String), FamilyScore> = BTreeMap::new();
    let is_alarm = |specimen: &Specimen, means| screened(model, specimen, means).alarm != Alarm::Clean;
    for attack in attacks {
        let key = (!attack.is_held_out, attack.source.clone(), attack.family.clone());
        let score = families.entry(key).or_insert_with(|| FamilyScore {
            source: attack.source.clone(),
            family: attack.family.clone(),
            held_out: attack.is_held_out,
            attacks: 0,
            found: 0,
            by_rules: 0,
            by_classifier: 0,
            missed: Vec::new(),
        });
        let is_found = is_alarm(attack, Means::Both);
        score.attacks += 1;
        score.found += usize::from(is_found);
        score.by_rules += usize::from(is_alarm(attack, Means::Rules));
        score.by_classifier += usize::from(is_alarm(attack, Means::Classifier));
        if !is_found && score.missed.len() < SHOWN {
            score.missed.push(shown(attack));
        }
    }
    let mut alarms = FalseAlarms { tools: benign.len(), ..FalseAlarms::default() };
    for tool in benign {
        let found = screened(model, tool, Means::Both);
        alarms.alarms += usize::from(found.alarm != Alarm::Clean);
        alarms.hostile += usize::from(found.alarm == Alarm::Hostile);
        alarms.by_rules += usize::from(is_alarm(tool, Means::Rules));
        alarms.by_classifier += usize::from(is_alarm(tool, Means::Classifier));
        if found.alarm != Alarm::Clean && alarms.examples.len() < SHOWN {
            alarms.examples.push(format!("{}: {}", tool.name, found.sentence()));
        }
    }
    AttackScores {
        families: families.into_values().collect(),
        benign: (!benign.is_empty()).then_some(alarms),
    }
}

fn shown(specimen: &Specimen) -> String {
    let text: Vec<&str> = specimen.excerpts.iter().map(|it| it.text.as_str()).collect();
    format!("{}: {}", specimen.name, text.join(" ")).chars().take(200).collect()
}

/// Puts a text where it stands: in a definition, or in a result.
fn written(text: &Written, source: &str) -> Option<Specimen> {
    let Written { family, place, text, held_out } = text;
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let number = json!({"type": "number"});
    let definition = |description: &str, properties: Value| json!({"name": "add", "description": description, "inputSchema": object(properties)});
    let alone = |definition: &Value| excerpts(definition, &Neighbours::default());
    let excerpts = match place.as_str() {
        "description" => {
            let description = format!("Adds two numbers and returns the sum.\n\n{text}");
            alone(&definition(
                &description,
                json!({"a": number, "b": number, "sidenote": {"type": "string"}}),
            ))?
        }
        "parameter" => {
            let noted = json!({"type": "string", "description": text});
            alone(&definition("Adds two numbers.", json!({"a": number, "b": number, "sidenote": noted})))?
        }
        "enum" => {
            let choice =
                json!({"type": "string", "enum": ["plain", text], "description": "How it is written"});
            alone(&definition("Adds two numbers.", json!({"a": number, "format": choice})))?
        }
        _ => excerpts_of_text(text, &Neighbours::default()),
    };
    let name = text.chars().take(60).collect();
    Some(Specimen {
        source: source.to_owned(),
        family: family.clone(),
        is_held_out: *held_out,
        excerpts,
        name,
    })
}

/// Returns what each server calls its tools. Those of the others stay unknown: nobody has them all in one hub.
fn own_names(tools: &[Registered]) -> HashMap<Arc<str>, Neighbours> {
    let mut names: HashMap<Arc<str>, Vec<&str>> = HashMap::new();
    for tool in tools {
        names.entry(tool.server.as_str().into()).or_default().push(&tool.name);
    }
    let beside = |(server, own): (Arc<str>, Vec<&str>)| {
        let neighbours = ToolNames::new(own.iter().map(|name| (*name, &server))).beside(&server);
        (server, neighbours)
    };
    names.into_iter().map(beside).collect()
}

fn listed(tool: &Registered, neighbours: &Neighbours) -> Option<Vec<Excerpt>> {
    let schema =
        if tool.input_schema.is_object() { tool.input_schema.clone() } else { json!({"type": "object"}) };
    excerpts(
        &json!({"name": tool.name, "description": tool.description.as_deref().unwrap_or_default(), "inputSchema": schema}),
        neighbours,
    )
}

fn excerpts(definition: &Value, neighbours: &Neighbours) -> Option<Vec<Excerpt>> {
    let bounds = Bounds { tools: 1, name_chars: 512, description_chars: 100_000, nesting: 100 };
    let tools = vec![serde_json::value::to_raw_value(definition).ok()?];
    let (catalog, _) = Catalog::gather([(Advertised { server: "s".into(), tools }, bounds)]);
    catalog.tools().first().map(|tool| excerpts_of_tool(tool, neighbours))
}
