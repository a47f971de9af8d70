//! What a language model achieves through the hub: a real model, recorded servers, and a ledger of what reached them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolyard_agent::host::{Consent, Elicitation, Event, Host, Why};
use toolyard_agent::session::{Session, Setting};
use toolyard_core::turn::LimitChoice;
use toolyard_eval::assistant::{self, Landed, Played, Tallies, Task};
use toolyard_eval::sets::{self, Sort};
use toolyard_hub::config::{self, Agent, Binding, Config, Folders, LanguageModel};
use toolyard_hub::hub::{Hub, Learning};

use super::Bar;
use crate::chat::{Tools, show_own_tools};
use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::setup;

/// The share of tasks for which something should run, where only some are played.
const SERVED: f64 = 0.62;
/// Tokens that an answer may have. A small model would go on for minutes.
const MOST_ANSWER: u64 = 160;
/// Tokens of a conversation that most local models have room for.
const CONTEXT: usize = 8192;
/// How long the hub may take to understand the recorded tools.
const UNDERSTANDING: std::time::Duration = std::time::Duration::from_secs(300);

/// What is measured.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    /// The address of the model server, and the model.
    pub(super) model: &'a [String],
    pub(super) surfaces: &'a [Tools],
    /// Only these servers; all of the fleet when empty.
    pub(super) servers: &'a [String],
    pub(super) limit: Option<usize>,
    /// Where each task is written down as soon as it was played; those that are there are not played again.
    pub(super) record: Option<&'a Path>,
}

/// One task, played on one surface.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    surface: String,
    id: String,
    task: String,
    landed: Vec<Landed>,
    calls: usize,
    prompt_tokens: u64,
    answer_tokens: u64,
    millis: u64,
    answer: String,
}

/// What a surface achieved.
#[derive(Serialize)]
struct Row {
    surface: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tallies: Option<Tallies>,
}

/// Plays the tasks of a fleet with a model, on one surface after the other.
pub(super) async fn run(common: &Common, fleet: &Path, trial: &Trial<'_>) -> Result<(), Failure> {
    let model = match trial.model {
        [url, name] => LanguageModel::parse(&format!("{url}#{name}"), None, Agent::SILENCE),
        _ => None,
    };
    let model = model.ok_or_else(|| Failure::usage("no such model").hint(LanguageModel::HINT))?;
    let tasks = chosen(fleet, trial)?;
    let played = trial.record.map(read_record).transpose()?.unwrap_or_default();
    let mut record =
        trial.record.map(|path| fs::OpenOptions::new().create(true).append(true).open(path)).transpose()?;
    let mut rows = Vec::new();
    for surface in trial.surfaces {
        let name = surface_name(*surface);
        let bench = Bench::open(fleet, trial, *surface, &model).await?;
        if let Some(note) = bench.does_not_fit() {
            rows.push(Row { surface: name, note: Some(note), tallies: None });
            bench.close().await;
            continue;
        }
        let bar = Bar::new();
        bar.begin(&name, tasks.len());
        let mut lines: Vec<(&Task, Played)> = Vec::new();
        for task in &tasks {
            let key = (name.clone(), task.id.clone());
            let line = match played.get(&key) {
                Some(line) => line.clone(),
                None => {
                    let line = bench.play(task).await?;
                    if let Some(record) = &mut record {
                        let line = Line::new(&name, task, &line);
                        record.write_all(format!("{}\n", json!(line)).as_bytes())?;
                    }
                    line
                }
            };
            lines.push((task, line));
            bar.0.inc(1);
        }
        bench.close().await;
        let tallies = assistant::tally(lines.iter().map(|(task, played)| (*task, played)));
        rows.push(Row { surface: name, note: None, tallies: Some(tallies) });
    }
    report(common, &model.name, &rows)
}

/// Chooses the tasks that the servers can serve, and those for which nothing should run.
fn chosen(fleet: &Path, trial: &Trial<'_>) -> Result<Vec<Task>, Failure> {
    let tasks = assistant::tasks(&sets::read(fleet, None)?);
    let tasks = match trial.servers {
        [] => tasks,
        servers => assistant::servable(tasks, servers),
    };
    let (mut served, others): (Vec<Task>, Vec<Task>) = tasks.into_iter().partition(|task| match task.kind {
        Sort::Single | Sort::Multi | Sort::Destructive => true,
        Sort::Vague | Sort::Unanswerable => false,
    });
    let Some(most) = trial.limit else {
        served.extend(others);
        return Ok(served);
    };
    let wanted = (most as f64 * SERVED).floor() as usize;
    let served = evenly(&served, wanted);
    let others = evenly(&others, most - served.len());
    Ok(served.into_iter().chain(others).collect())
}

/// Takes some of a list, from all of its parts.
fn evenly(tasks: &[Task], most: usize) -> Vec<Task> {
    let taken = most.min(tasks.len());
    (0..taken).map(|at| tasks[at * tasks.len() / taken.max(1)].clone()).collect()
}

fn read_record(path: &Path) -> Result<BTreeMap<(String, String), Played>, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::usage(format!("`{}` cannot be read: {error}", path.display()))),
    };
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    Ok(lines.map(|line| ((line.surface.clone(), line.id.clone()), line.played())).collect())
}

impl Line {
    fn new(surface: &str, task: &Task, played: &Played) -> Self {
        let Played { landed, calls, prompt_tokens, answer_tokens, millis, answer } = played.clone();
        let (surface, id, task) = (surface.to_owned(), task.id.clone(), task.text.clone());
        Self { surface, id, task, landed, calls, prompt_tokens, answer_tokens, millis, answer }
    }

    fn played(self) -> Played {
        let Self { landed, calls, prompt_tokens, answer_tokens, millis, answer, .. } = self;
        Played { landed, calls, prompt_tokens, answer_tokens, millis, answer }
    }
}

/// A hub with recorded servers behind it and a model before it.
struct Bench {
    hub: Arc<Hub>,
    agent: Agent,
    model: LanguageModel,
    client: toolyard_agent::model::Client,
    folder: PathBuf,
    binding: Binding,
}

impl Bench {
    async fn open(
        fleet: &Path,
        trial: &Trial<'_>,
        surface: Tools,
        model: &LanguageModel,
    ) -> Result<Self, Failure> {
        let name = format!("toolyard-assistant-{}-{}", std::process::id(), surface_name(surface));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        let binding = Binding::from(surface);
        let mut config = config_of(fleet, trial.servers, &folder)?;
        show_own_tools(&mut config, binding);
        let mut agent = config.agent.clone();
        agent.budget.binding = binding;
        if surface == Tools::All {
            agent.budget.tools = usize::MAX;
            agent.budget.tokens = CONTEXT / 2;
        }
        let hub = setup::hub(config, Learning::OnDemand);
        hub.learn(|_| true, |_| ()).await;
        hub.understand(&hub.snapshot(), UNDERSTANDING).await;
        Ok(Self {
            hub,
            agent,
            model: model.clone(),
            client: toolyard_agent::model::client(),
            folder,
            binding,
        })
    }

    /// Says why this surface cannot be tried.
    fn does_not_fit(&self) -> Option<String> {
        if self.binding != Binding::All {
            return None;
        }
        let snapshot = self.hub.snapshot();
        let names = snapshot.catalog.tools().iter().map(|tool| tool.id.as_str());
        let tokens = crate::toolset::tokens(&snapshot, names);
        (tokens > CONTEXT).then(|| format!("{tokens} tokens of tools do not fit into {CONTEXT}"))
    }

    async fn play(&self, task: &Task) -> Result<Played, Failure> {
        let ledger = self.folder.join("ledger.jsonl");
        let _ = fs::remove_file(&ledger);
        let options = Map::from_iter([
            ("temperature".to_owned(), json!(0)),
            ("max_tokens".to_owned(), json!(MOST_ANSWER)),
        ]);
        let setting = Setting {
            client: self.client.clone(),
            hub: Arc::clone(&self.hub),
            model: self.model.clone(),
            agent: self.agent.clone(),
            options,
            foreign: Vec::new(),
            is_attended: false,
        };
        let begun = Instant::now();
        let mut session = Session::new(setting, Vec::new());
        let ended = session.say(&task.text, &mut Writer).await;
        let ended = ended.map_err(|error| Failure::new(error.to_string()))?;
        let text = fs::read_to_string(&ledger).unwrap_or_default();
        Ok(Played {
            landed: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            calls: ended.calls,
            prompt_tokens: ended.usage.prompt_tokens,
            answer_tokens: ended.usage.answer_tokens,
            millis: begun.elapsed().as_millis() as u64,
            answer: ended.text,
        })
    }

    async fn close(self) {
        self.hub.close().await;
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Makes a configuration in which every server is replayed.
fn config_of(fleet: &Path, servers: &[String], folder: &Path) -> Result<Config, Failure> {
    let catalog = fs::canonicalize(fleet.join("catalog.json"))?;
    let recorded: Vec<Value> = serde_json::from_slice(&fs::read(&catalog)?)
        .map_err(|error| Failure::usage(format!("`{}` is no catalog: {error}", catalog.display())))?;
    let program = std::env::current_exe()?;
    let ledger = folder.join("ledger.jsonl");
    let names = recorded.iter().filter_map(|server| server["server"].as_str());
    let server = |name: &str| {
        let args = [json!("recorded"), json!(catalog), json!(name), json!(ledger)];
        (name.to_owned(), json!({ "command": program, "args": args }))
    };
    let is_meant = |name: &&str| servers.is_empty() || servers.iter().any(|it| it == name);
    let written: Map<String, Value> = names.filter(is_meant).map(server).collect();
    let written = json!({ "mcpServers": written, "store": { "folder": folder.join("store") } }).to_string();
    let folders = Folders { home: folder.to_owned(), config: folder.to_owned(), data: folder.to_owned() };
    Ok(config::parse(&written, &folder.join("toolyard.json"), &|_| None, &folders)?)
}

/// The writer of a task: agrees to what it asks for, and to nothing that it does not say.
struct Writer;

impl Host for Writer {
    fn hear(&mut self, _: Event) {}

    async fn agree(&mut self, consent: Consent) -> bool {
        match consent.why {
            Why::Policy(_) => true,
            Why::Unsaid(_) => false,
        }
    }

    async fn answer(&mut self, _: Elicitation) -> Option<Map<String, Value>> {
        None
    }

    async fn choose(&mut self) -> LimitChoice {
        LimitChoice::WrapUp
    }
}

fn surface_name(surface: Tools) -> String {
    use clap::ValueEnum;
    surface.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default()
}

fn report(common: &Common, model: &str, rows: &[Row]) -> Result<(), Failure> {
    if common.json {
        return Ok(output::json(&json!({ "model": model, "surfaces": rows }))?);
    }
    let mut cells: Vec<Vec<Cell>> = Vec::new();
    for row in rows {
        if let Some(note) = &row.note {
            cells.push(vec![Cell::new(&row.surface), Cell::new(note)]);
        }
        for (kind, tally) in row.tallies.iter().flat_map(Tallies::named) {
            let Some(per) = tally.per_task() else { continue };
            let share = |share: f64| Cell::new(format!("{share:.2}"));
            let tokens = per.prompt_tokens + per.answer_tokens;
            cells.push(vec![
                Cell::new(&row.surface),
                Cell::new(kind),
                Cell::new(tally.n),
                share(per.tools),
                share(per.exact),
                share(per.wrong),
                Cell::new(format!("{:.1}", per.calls)),
                Cell::new(format!("{tokens:.0}")),
                Cell::new(format!("{:.1}", per.millis / 1000.0)),
            ]);
        }
    }
    let header = &["offered", "kind", "requests", "right", "exact", "wrong", "calls", "tokens", "s"];
    output::text(&format!(
        "{model}\n{}",
        output::grid(Layout { header, indent: 2, ..Layout::default() }, cells)
    ))?;
    Ok(())
}
