//! How well requests find their tools, measured on sets whose right tools are known.

mod attacks; // what screening notices
mod assistant; // a language model in the loop
mod report; // numbers for people and programs

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use toolyard_core::rank::{Signal, Weights};
use toolyard_eval::{
    Error, Experiment, MeaningModel, Progress, arguments, calls, corrections, hijack, measure, sets,
};
use toolyard_hub::config::Folders;

use crate::chat::Tools;
use crate::common::Common;
use crate::failure::Failure;
use crate::{output, setup};
use toolyard_core::thresholds::thresholds;

/// Measure how well requests find their tools
///
/// Runs requests whose right tools are known against the tools of a set, decides about each as
/// `smart_route` would, and compares that with plain BM25 in the same run. Nothing is started or called.
///
/// A FOLDER is a set (tools.jsonl.gz, queries.jsonl.gz and perhaps no_tool_fits.jsonl.gz), a fleet
/// (catalog.json and tasks.jsonl), or holds several of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard eval
  toolyard eval sets/metatool --limit 200
  toolyard eval --without phrase,phrase-share --json | jq .macro
  toolyard eval --no-library --profile seed
  toolyard eval --model none
  toolyard eval --arguments
  toolyard eval --attacks --json | jq .benign

top-1: the first tool is right. recall@5: the share of the needed steps with a right tool among the
first five. nDCG@10: how early the right tools come. What is acted on depends on the threshold.
toolset: of a fleet's requests for one tool, the share for which a conversation that begins with it is given a
right tool, and the tokens of such a list beside those of all tools.
With --json: {\"sets\": [{\"name\", \"tools\", \"queries\", \"top1\", \"recall5\", \"ndcg10\", \"bm25\",
\"route_us_p50\", \"acted\", \"asked_on_answerable\", \"alternatives\", \"ece\", \"curve\", …}], \"macro\"}

--arguments fills in the tool of each request that has one right call. exact: every argument of that call
is right and nothing else is sent. invented: of everything sent, what the call does not have and is no
default. repeated: requests that would become several calls. An argument is right when case, space, and the form of numbers
and dates alone are different, or when the set lists it. Dates in words are read as on Tuesday 2026-11-17. With --json each set has
\"arguments\": {\"calls\", \"valid\", \"exact\", \"argument_recall\", \"argument_precision\", \"invented\",
\"repeated\"}

--attacks screens texts of attackers and the tools of public registries. noticed: the share that gives an alarm; a
false alarm is one of an honest tool. With --json: {\"families\": [{\"source\", \"family\", \"held_out\", \"attacks\",
\"found\", \"by_rules\", \"by_classifier\", \"missed\"}], \"benign\": {\"tools\", \"alarms\", \"hostile\", …}}

--assistant has a model play the tasks of a fleet, with tools offered in several ways. Every server is a recording
that writes down what reaches it. right: the tools that the task needs ran; for a vague or impossible task nothing
did. exact: with every argument that the task determines. wrong: something else ran, too.
  toolyard eval ../shared/fleet --assistant http://127.0.0.1:8080/v1 qwen --servers git,time --limit 60")]
pub(crate) struct Eval {
    /// Sets and fleets [default: ../shared/eval ../shared/fleet]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Requests of each set at most, taken evenly
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Without the metadata that comes with the product
    #[arg(long)]
    no_library: bool,
    /// What compares meanings: the model inside, one from a folder, or none
    #[arg(long, value_name = "builtin|none|FOLDER", default_value = "builtin")]
    model: String,
    /// How tools are ranked
    #[arg(long, value_enum, default_value_t = Ranker::Fitted)]
    profile: Ranker,
    /// Asks instead of acting below this confidence
    #[arg(long, value_name = "X", default_value_t = thresholds().decision.confidence)]
    threshold: f64,
    /// Without these signals, to see what they are worth
    #[arg(long, value_name = "SIGNAL", value_delimiter = ',')]
    without: Vec<String>,
    /// Measure how right arguments are when the tool is given, instead of which tool is found
    #[arg(long)]
    arguments: bool,
    /// Measure what becomes of whole calls of `smart_route`, from words and from an assistant's calls
    #[arg(long, conflicts_with = "arguments")]
    calls: bool,
    /// Measure what a language model achieves: its tasks run through the hub, against recorded servers
    #[arg(long, num_args = 2, value_names = ["URL", "MODEL"], conflicts_with_all = ["arguments", "calls"])]
    assistant: Vec<String>,
    /// Measure what corrections bring: half of the requests are corrected where they go wrong, N at most, and the others are
    /// asked again
    #[arg(long, num_args = 0..=1, value_name = "N", conflicts_with_all = ["arguments", "calls", "assistant"])]
    corrections: Option<Option<usize>>,
    /// Measure how often a hostile server takes requests from the right tools, by copying them and boasting
    #[arg(long, conflicts_with_all = ["arguments", "calls", "assistant", "corrections"])]
    hijack: bool,
    /// Measure what the screening of texts notices of attacks: our own, and those of a folder or file [default: ../shared/attacks]
    #[arg(long, num_args = 0..=1, value_name = "PATH", conflicts_with_all = ["arguments", "calls", "assistant", "corrections"])]
    attacks: Option<Option<PathBuf>>,
    /// With --attacks: honest tools that should give no alarm [default: ../shared/catalogs/mcp_registries.jsonl.gz]
    #[arg(long, value_name = "FILE", requires = "attacks")]
    benign: Option<PathBuf>,
    /// With files or folders that say more about tools, as `metadata` in the settings does
    #[arg(long, value_name = "PATH")]
    metadata: Vec<PathBuf>,
    /// With --assistant: which tools the model is offered, one after the other
    #[arg(long, value_enum, value_delimiter = ',', default_value = "likely,toolset,route,search,all")]
    surfaces: Vec<Tools>,
    /// With --assistant: only these servers of the fleet, and the tasks that they can serve
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    servers: Vec<String>,
    /// With --assistant: write each task down here as soon as it was played, and go on from there
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// How tools are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Ranker {
    /// By all signals, with fitted weights
    Fitted,
    /// By category, keywords, use case and availability: 40, 30, 20 and 10
    Seed,
}

/// Where sets lie beside a checkout.
const USUAL: [&str; 2] = ["../shared/eval", "../shared/fleet"];

pub(crate) async fn run(common: &Common, asked: &Eval) -> Result<(), Failure> {
    if let Some(given) = &asked.attacks {
        return attacks::run(common, given.as_deref(), asked.benign.as_deref(), &asked.model);
    }
    let found = sets::find(&folders(asked)?)?;
    if !asked.assistant.is_empty() {
        let fleet = found.iter().find(|folder| folder.join("tasks.jsonl").is_file());
        let fleet = fleet.ok_or_else(|| Failure::usage("none of these folders is a fleet"))?;
        let trial = assistant::Trial {
            model: &asked.assistant,
            surfaces: &asked.surfaces,
            servers: &asked.servers,
            limit: asked.limit,
            record: asked.record.as_deref(),
        };
        return assistant::run(common, fleet, &trial).await;
    }
    if asked.arguments {
        let all = found.iter().map(|folder| arguments::measure(folder, asked.limit));
        let all: Vec<_> = all.collect::<Result<_, Error>>()?;
        return report::arguments(common, &all);
    }
    let settings = settings(asked)?;
    if asked.calls {
        let mut all = Vec::new();
        for folder in found.iter().filter(|folder| folder.join("tasks.jsonl").is_file()) {
            let bar = Bar::new();
            let begin = |part: &str, steps: usize| bar.begin(part, steps);
            let progress = Progress { begin: &begin, advance: &|steps| bar.0.inc(steps as u64) };
            all.push(calls::measure(folder, asked.limit, &settings, progress)?);
        }
        return report::calls(common, &all);
    }
    if let Some(most) = asked.corrections {
        let mut all = Vec::new();
        for folder in &found {
            let bar = Bar::new();
            let begin = |part: &str, steps: usize| bar.begin(part, steps);
            let progress = Progress { begin: &begin, advance: &|steps| bar.0.inc(steps as u64) };
            all.push(corrections::corrected(folder, most, &settings, progress)?);
        }
        return report::corrections(common, &all);
    }
    if asked.hijack {
        let mut all = Vec::new();
        for folder in &found {
            let bar = Bar::new();
            let begin = |part: &str, steps: usize| bar.begin(part, steps);
            let progress = Progress { begin: &begin, advance: &|steps| bar.0.inc(steps as u64) };
            all.push(hijack::measure(folder, asked.limit, &settings, progress)?);
        }
        return report::hijack(common, &all);
    }
    let mut all = Vec::with_capacity(found.len());
    for (at, folder) in found.iter().enumerate() {
        let (bar, set) = (Bar::new(), format!("{} of {}", at + 1, found.len()));
        let begin = |part: &str, steps: usize| bar.begin(&format!("{set}: {part}"), steps);
        let progress = Progress { begin: &begin, advance: &|steps| bar.0.inc(steps as u64) };
        all.push(measure(folder, asked.limit, &settings, progress)?);
    }
    if common.json {
        return Ok(output::json(&report::json(&all))?);
    }
    Ok(output::text(&report::words(&all))?)
}

fn folders(asked: &Eval) -> Result<Vec<PathBuf>, Failure> {
    if !asked.folders.is_empty() {
        return Ok(asked.folders.clone());
    }
    let there: Vec<PathBuf> = USUAL.iter().map(PathBuf::from).filter(|path| path.is_dir()).collect();
    if there.is_empty() {
        return Err(Failure::usage(format!("there is no folder `{}` or `{}` here", USUAL[0], USUAL[1]))
            .hint(
                "name folders with sets: toolyard eval FOLDER… (`toolyard eval --help` says what a set is)",
            ));
    }
    Ok(there)
}

fn settings(asked: &Eval) -> Result<Experiment, Failure> {
    if !(0.0..=1.0).contains(&asked.threshold) {
        return Err(Failure::usage(format!("a threshold is from 0 to 1, and {} is not", asked.threshold)));
    }
    let without = asked.without.iter().map(|name| signal(name)).collect::<Result<Vec<_>, _>>()?;
    let weights = match asked.profile {
        Ranker::Fitted => Some(Weights::builtin().without(&without)),
        Ranker::Seed if without.is_empty() => None,
        Ranker::Seed => {
            return Err(Failure::usage("the profile `seed` has no signals to leave out")
                .hint("use `--without` with the profile `fitted`"));
        }
    };
    let vectors = Folders::of_user(&setup::env).map(|folders| folders.data.join("eval")).unwrap_or_default();
    let model = MeaningModel::named(&asked.model, &vectors)?;
    let (metadata, problems) = toolyard_hub::sidecars::read(&asked.metadata);
    if let Some(problem) = problems.into_iter().next() {
        return Err(Failure::usage(problem));
    }
    Ok(Experiment { weights, threshold: asked.threshold, has_library: !asked.no_library, metadata, model })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::usage(error.message);
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

fn signal(name: &str) -> Result<Signal, Failure> {
    Signal::ALL.into_iter().find(|signal| signal.name() == name).ok_or_else(|| {
        let names = Signal::ALL.map(Signal::name).join(", ");
        Failure::usage(format!("there is no signal `{name}`")).hint(format!("there are {names}"))
    })
}

/// How far a measurement is, on stderr; nothing at all when that is no terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let style = ProgressStyle::with_template("{msg}  {wide_bar} {pos} of {len}  {eta}");
        Self(ProgressBar::new(0).with_style(style.expect("the template is valid")))
    }

    fn begin(&self, message: &str, steps: usize) {
        self.0.set_message(message.to_owned());
        self.0.set_length(steps as u64);
        self.0.reset();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
