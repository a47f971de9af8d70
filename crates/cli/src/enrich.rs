//! What a language model writes about tools that nobody wrote about.
//!
//! Every answer is kept as a draft as soon as it was screened, so that neither Ctrl-C nor a crash loses what was paid
//! for. Drafts count when a person has seen them and agrees, or with `--yes`.

mod work; //    asking, batch by batch
mod preview; // what was written, before it counts
pub(crate) mod background; // what a serving hub asks by itself

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolyard_core::tool::clean;
use toolyard_hub::config::{Config, LanguageModel};
use toolyard_hub::enrich::{self, EnrichFile, EnrichSelection, Survey};
use toolyard_hub::hub::Hub;

use crate::common::Common;
use crate::failure::Failure;
use crate::learn::{self, Waiting};
use crate::output::{self, count};
use crate::setup::{self, Source};
use work::{Bounds, Report, Work};

/// Tokens that one run may cost unless somebody says otherwise.
const MOST_TOKENS: usize = 200_000;

/// Let a language model write what people say when they need your tools
///
/// For popular servers the product knows how people ask for each tool. For the others a model of your choice can write
/// it, once: it is sent the names, descriptions and parameters of their tools and nothing else. What it writes is
/// screened, shown, and kept in a file of the folder `metadata` when you agree.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("asking").multiple(true))]
#[command(after_help = "Examples:
  toolyard enrich --dry-run                       what would be asked, and what it would cost
  toolyard enrich --model ollama:qwen3:8b         all tools that nobody wrote about
  toolyard enrich wiki --yes                      those of one server, without asking
  toolyard enrich --undo wiki                     take it back
  toolyard enrich --prompts ask.jsonl             write the questions to a file, ask nobody
  toolyard enrich --answers said.jsonl            take the answers from a file: its lines with \"answer\" added

The model can be set once, as metadata.enrich.model in toolyard.json. Ctrl-C keeps what is done; the same command
goes on from there. Exit code 3: drafts wait for a yes.
With --json: {\"tools\": [{\"server\", \"tool\", \"state\": \"inForce\" | \"draft\" | \"empty\", \"requests\", \"notFor\",
\"leftOut\": [{\"text\", \"why\"}]}], \"failed\": [{\"server\", \"tools\", \"why\"}], \"tokens\", \"files\"}")]
pub(crate) struct Enrich {
    /// Only tools of these servers
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// The model: ollama:NAME, or the address of a service and the model, such as http://127.0.0.1:1234/v1#NAME
    #[arg(short, long, group = "asking")]
    model: Option<String>,
    /// The address of the service, where --model is only the name
    #[arg(long, requires = "model")]
    url: Option<String>,
    /// The key that the service wants to see
    #[arg(long, value_name = "KEY", env = "TOOLYARD_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// Let everything count that is screened, without asking
    #[arg(long, group = "asking")]
    yes: bool,
    /// Say what would be asked, ask nobody and write nothing
    #[arg(long, group = "asking")]
    dry_run: bool,
    /// Tools at most
    #[arg(long, value_name = "N", group = "asking")]
    limit: Option<usize>,
    /// Stop before this many tokens are spent, counted at four bytes each
    #[arg(long, value_name = "N", default_value_t = MOST_TOKENS)]
    max_tokens: usize,
    /// Ask anew about tools that were done before
    #[arg(long, group = "asking")]
    again: bool,
    /// Take back what was written about these servers, or about all
    #[arg(long, conflicts_with = "asking")]
    undo: bool,
    /// Write the questions to this file as lines of JSON, and ask nobody
    #[arg(long, value_name = "FILE", conflicts_with_all = ["answers", "yes"], group = "asking")]
    prompts: Option<PathBuf>,
    /// Take the answers from this file instead of a model
    #[arg(long, value_name = "FILE", conflicts_with = "url", group = "asking")]
    answers: Option<PathBuf>,
}

pub(crate) async fn run(common: &Common, asked: &Enrich) -> Result<(), Failure> {
    let config = Source::find(common)?.load()?;
    let folder = config.enrich.folder.clone().ok_or_else(|| {
        Failure::usage("`metadata` in the settings names only files")
            .hint("name a folder as well: what is written goes there")
    })?;
    for name in &asked.servers {
        if !config.servers.contains_key(name) && !asked.undo {
            return Err(setup::no_server(&config, name));
        }
    }
    if asked.undo {
        return undo(common, asked, (&config, &folder));
    }
    setup::with_config(config, async |hub| enrich_tools(common, asked, hub, &folder).await).await
}

async fn enrich_tools(common: &Common, asked: &Enrich, hub: &Hub, folder: &Path) -> Result<(), Failure> {
    match asked.servers.as_slice() {
        [] => learn::learn_all(hub).await,
        some => {
            for name in some {
                learn::learn(hub, Some(name)).await;
            }
        }
    }
    let (snapshot, config) = (hub.snapshot(), hub.config());
    let selection = EnrichSelection {
        servers: asked.servers.clone(),
        again: asked.again,
        limit: asked.limit,
        ..EnrichSelection::default()
    };
    let survey = enrich::survey(&snapshot, &config, folder, &selection)?;
    if let Some(file) = &asked.prompts {
        return write_prompts(common, &survey, file);
    }
    if asked.dry_run {
        return plan(common, &survey);
    }
    let _turn = own_turn(&config)?;
    let mut work = Work::new(snapshot, &config, folder);
    if let Some(file) = &asked.answers {
        let text = std::fs::read_to_string(file)
            .map_err(|err| Failure::usage(format!("`{}` cannot be read: {err}", file.display())))?;
        let lines =
            enrich::answers(&text).map_err(|err| Failure::usage(format!("`{}` {err}", file.display())))?;
        work.take(&survey, &lines, asked.model.as_deref()).await?;
    } else if !survey.batches.is_empty() {
        let model = model(asked, &config)?;
        if !common.json {
            anstream::eprintln!("{}; asking {}", estimate(&survey), clean(&model.name));
        }
        let waiting = Waiting::begin("");
        let stop = async { drop(tokio::signal::ctrl_c().await) };
        let bounds = Bounds { tokens: asked.max_tokens, stop, progress: &|said| waiting.say(said) };
        work.ask(&survey, &model, bounds).await?;
    }
    work.report.add_drafts(&survey, folder)?;
    finish(common, asked, &survey, &work.report)
}

/// Shows what was written, and lets it count if that is wanted.
fn finish(common: &Common, asked: &Enrich, survey: &Survey, report: &Report) -> Result<(), Failure> {
    if !common.json {
        output::text(&preview::text(survey, report))?;
    }
    let has_drafts = !report.files.is_empty();
    let agrees = has_drafts && (asked.yes || (!common.json && consents()));
    if agrees {
        report.take_over()?;
    }
    if common.json {
        output::json(&preview::json(report, agrees))?;
    } else if agrees {
        let paths: Vec<String> =
            report.files.iter().map(|file| format!("wrote {}\n", file.path.display())).collect();
        output::text(&paths.concat())?;
    }
    if has_drafts && !agrees {
        return match common.json {
            true => Err(Failure::silent(3)),
            false => Err(Failure::open("nothing counts yet: what was written is kept as drafts")
                .hint("the same command with --yes lets it count, `toolyard enrich --undo` deletes it")),
        };
    }
    match report.failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::silent(1)),
    }
}

fn plan(common: &Common, survey: &Survey) -> Result<(), Failure> {
    if common.json {
        let batch = |batch: &enrich::Batch| json!({ "server": *batch.server, "tools": batch.tools.keys().collect::<Vec<_>>(), "tokens": batch.tokens() });
        let batches: Vec<Value> = survey.batches.iter().map(batch).collect();
        let drafts: usize = survey.drafts.values().map(|drafts| drafts.len()).sum();
        return Ok(output::json(&json!({
            "batches": batches, "tools": survey.tools(), "tokens": survey.tokens(), "known": survey.known,
            "done": survey.done, "drafts": drafts, "beyond": survey.beyond,
        }))?);
    }
    let mut text = String::new();
    for batch in &survey.batches {
        let tools: Vec<String> = batch.tools.keys().map(|tool| clean(tool).into_owned()).collect();
        text +=
            &format!("{}: {} (about {} tokens)\n", clean(&batch.server), tools.join(", "), batch.tokens());
    }
    text += &preview::counts(survey);
    Ok(output::text(&format!("{text}{}. Nothing was asked.", estimate(survey)))?)
}

fn estimate(survey: &Survey) -> String {
    let (tools, questions) = (count(survey.tools(), "tool"), count(survey.batches.len(), "question"));
    format!("{tools} in {questions}, about {} tokens", survey.tokens())
}

fn write_prompts(common: &Common, survey: &Survey, file: &Path) -> Result<(), Failure> {
    let lines: Vec<String> =
        survey.batches.iter().map(|batch| enrich::prompt(batch).to_string() + "\n").collect();
    std::fs::write(file, lines.concat())
        .map_err(|err| Failure::new(format!("`{}` cannot be written: {err}", file.display())))?;
    if common.json {
        let prompts = json!({ "file": file, "prompts": lines.len(), "tools": survey.tools() });
        return Ok(output::json(&prompts)?);
    }
    let (questions, tools) = (count(lines.len(), "question"), count(survey.tools(), "tool"));
    Ok(output::text(&format!(
        "wrote {}, {questions} about {tools}\nNext: add \"answer\" to each line, then `toolyard enrich --answers FILE`.",
        file.display()
    ))?)
}

/// Takes the turn to write, which a hub that asks by itself may have; `None` where nothing can be locked.
fn own_turn(config: &Config) -> Result<Option<std::fs::File>, Failure> {
    match background::turn(&config.store.folder) {
        Ok(Some(turn)) => Ok(Some(turn)),
        Err(_) => Ok(None),
        Ok(None) => Err(Failure::open("a hub that runs is asking about tools just now")
            .hint("what it writes is kept as drafts: the same command shows them a little later")),
    }
}

fn undo(common: &Common, asked: &Enrich, (config, folder): (&Config, &Path)) -> Result<(), Failure> {
    let _turn = own_turn(config)?;
    let servers: Vec<&String> = match asked.servers.is_empty() {
        true => config.servers.keys().chain(config.off.keys()).collect(),
        false => asked.servers.iter().collect(),
    };
    let (mut text, mut undone) = (String::new(), Vec::new());
    for server in servers {
        let file = EnrichFile::of(folder, server)?;
        let tools = file.undo()?;
        if tools > 0 {
            text +=
                &format!("took back what was written about {} of {}\n", count(tools, "tool"), clean(server));
            undone.push(json!({ "server": server, "tools": tools }));
        }
    }
    if common.json {
        return Ok(output::json(&json!({ "undone": undone }))?);
    }
    if undone.is_empty() {
        text += "There was nothing to take back.";
    }
    Ok(output::text(&text)?)
}

/// Returns the model that the command line names, else that of the settings.
fn model(asked: &Enrich, config: &Config) -> Result<LanguageModel, Failure> {
    let own = config.enrich.model.as_ref();
    let timeout = own.map_or(toolyard_hub::config::Enrich::PATIENCE, |own| own.timeout);
    let written = match (&asked.url, &asked.model) {
        (Some(url), Some(name)) => Some(format!("{url}#{name}")),
        (_, name) => name.clone(),
    };
    match (written, own) {
        (Some(written), _) => {
            LanguageModel::parse(&written, asked.api_key.clone(), timeout).ok_or_else(|| {
                Failure::usage(format!("`{written}` does not name a model")).hint(LanguageModel::HINT)
            })
        }
        (None, Some(own)) => {
            Ok(LanguageModel { key: asked.api_key.clone().or_else(|| own.key.clone()), ..own.clone() })
        }
        (None, None) => Err(Failure::usage("no model is named").hint(
            "give one with --model, or set metadata.enrich.model; --dry-run says what it would be asked",
        )),
    }
}

/// Asks the person at the terminal; nobody there means no.
fn consents() -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    anstream::eprint!("Let this count? [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

impl From<enrich::Error> for Failure {
    fn from(error: enrich::Error) -> Self {
        Self::new(error.to_string())
    }
}
