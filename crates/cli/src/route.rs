//! A wish in plain words: finds the tool, and runs it when that is sure.

mod explain; // why this tool, and why not the others
pub(crate) mod person; //  questions on a terminal
mod steps; //   wishes of several steps

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolyard_core::fill::{Argument, Form, Missing, Wish, fill};
use toolyard_core::lexicon::Action;
use toolyard_core::route::{Decision, Verdict};
use toolyard_core::tool::{Effect, Parameter, Tool};
use toolyard_hub::caller::Answer;
use toolyard_hub::clock;
use toolyard_hub::config::{Config, Stance};
use toolyard_hub::hub::{Adviser, Hub};
use toolyard_hub::jsonrpc::{Fields, raw};
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::{Provisional, Wanted};

use crate::args::Common;
use crate::call::{self, arguments};
use crate::failure::Failure;
use crate::output::{self, Layout};
use crate::{learn, setup, tools};
use person::Person;

/// Say what you want: finds the tool and runs it, or asks
///
/// Runs the tool that is meant when that is sure enough. Otherwise it asks: on a terminal you choose by number,
/// elsewhere the question is printed. Arguments come from your words, and from a language model where
/// `routing.arguments` names one; those given with `--arg` win. What a tool cannot take back is run only with `--yes` or
/// after you agreed. A wish of several steps becomes a workflow; `--dry-run` shows its plan.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard route search my notes for the garden
  toolyard route --explain --dry-run \"find my notes about the garden\"
  toolyard route \"search notes\" --server notes --arg query=garden
  toolyard route --json \"tag the note Garden\" | jq .question
  toolyard route --dry-run \"find my note about the garden and add the tag home\"

Of several steps every answer is printed, except of a step whose result another one took.
Exit codes: 0 it ran, 1 it failed or no tool fits, 2 it was asked wrongly, 3 a question is open.
With --json: {\"verdict\": \"act\" | \"ask\" | \"abstain\", \"ran\", \"confidence\", \"tool\",
\"arguments\", \"missing\", \"question\", \"alternatives\": [{\"tool\", \"summary\", \"probability\",
\"reasons\"}], \"result\"}; of several steps what `toolyard run` prints; with --explain also
\"argumentSources\", \"intent\", \"judgement\", and \"signals\" of each tool")]
pub(crate) struct Route {
    /// What you want, in your own words
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    /// Say why this tool was chosen and not the others
    #[arg(long)]
    explain: bool,
    /// Choose, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// The server you would rather use
    #[arg(long, value_name = "PREFERENCE")]
    server: Option<String>,
    /// An argument for the tool, as KEY=VALUE; may be repeated
    #[arg(long = "arg", value_name = "KEY=VALUE", conflicts_with = "args")]
    pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    args: Option<String>,
    /// Run also what cannot be taken back
    #[arg(long)]
    yes: bool,
    /// Write pictures, sounds and files that the tool answers with into this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

/// What stands between a decision and a call.
enum Open {
    /// Nothing: the tool can run.
    Nothing,
    /// Which tool is meant.
    Choice(String),
    /// What the tool needs and nobody gave.
    Missing(Vec<String>),
    /// Whether to do what cannot be taken back.
    Consent,
    /// No tool fits.
    NoTool,
}

/// A decision on its way to a call.
struct Way<'a> {
    hub: &'a Hub,
    config: Arc<Config>,
    task: String,
    snapshot: Arc<Snapshot>,
    decision: Arc<Decision>,
    /// The tool that is meant, once that is settled.
    tool: Option<&'a Tool>,
    arguments: Map<String, Value>,
    /// The arguments that words became.
    sources: Vec<Argument>,
    /// What the words leave open.
    missing: Vec<Missing>,
    /// What may find arguments that words did not give.
    adviser: Option<Adviser>,
    open: Open,
}

pub(crate) async fn run(common: &Common, asked: &Route) -> Result<(), Failure> {
    let task = asked.words.join(" ");
    setup::with_hub(common, async |hub| {
        if let Some(server) = &asked.server {
            setup::server(hub, server)?;
        }
        learn::learn(hub, None).await;
        let snapshot = hub.snapshot();
        learn::understand(hub, &snapshot).await;
        let (server, provisional) = (asked.server.as_deref(), Provisional::default());
        let wanted =
            Wanted { preferred_server: server, provisional: Some(&provisional), ..Wanted::plain(&task) };
        if let Some(done) = steps::run(common, asked, hub, (&snapshot, wanted)).await {
            learn::note(hub, &provisional);
            return done;
        }
        let decision = hub.decide(&snapshot, &wanted).await;
        learn::note(hub, &provisional);
        let shown = Arc::clone(&snapshot);
        let mut way = Way {
            hub,
            config: hub.config(),
            task,
            snapshot,
            decision,
            tool: None,
            arguments: Map::new(),
            sources: Vec::new(),
            missing: Vec::new(),
            adviser: hub.adviser(),
            open: Open::Nothing,
        };
        begin(&shown, asked, &mut way).await?;
        if asked.explain && !common.json {
            output::text(&explain::words(&way))?;
        }
        let is_there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if is_there && !common.json && !asked.dry_run {
            settle(&shown, asked, &mut way, &mut Person::here()).await?;
            if !matches!(way.open, Open::Nothing | Open::NoTool) {
                anstream::eprintln!("Nothing was run.");
                return Err(Failure::silent(3));
            }
        }
        conclude(common, asked, hub, &mut way).await
    })
    .await
}

/// Takes a decision as far as it goes without asking anybody.
async fn begin<'s>(snapshot: &'s Snapshot, asked: &Route, way: &mut Way<'s>) -> Result<(), Failure> {
    let first = way.decision.candidates.first().map(|first| &snapshot.catalog.tools()[first.position]);
    match (&way.decision.verdict, first) {
        (Verdict::Act, Some(tool)) => take(snapshot, asked, way, tool).await?,
        (Verdict::Ask(question), _) => way.open = Open::Choice(question.text.clone()),
        (Verdict::Act | Verdict::Abstain, _) => way.open = Open::NoTool,
    }
    Ok(())
}

/// Settles which tool it is, and finds what is open then.
async fn take<'s>(
    snapshot: &'s Snapshot,
    asked: &Route,
    way: &mut Way<'s>,
    tool: &'s Tool,
) -> Result<(), Failure> {
    way.tool = Some(tool);
    let given = match &asked.args {
        Some(text) => arguments::read_object(text)?,
        None => arguments::given(tool, &asked.pairs)?,
    };
    let wish = Wish { task: &way.task, given: &given, earlier: &[], now: clock::now() };
    let form = Form::of(tool);
    let mut filled = fill(&form, &wish);
    if let Some(adviser) = &mut way.adviser {
        filled = adviser.complete((tool, &form), &wish, filled).await;
    }
    let (effect, action) = known(snapshot, tool);
    let settled = filled.settle(&form, &wish, effect, action);
    way.sources = settled.found;
    way.missing = settled.missing;
    way.arguments = given;
    for argument in &way.sources {
        way.arguments.insert(argument.name.clone(), argument.value.clone());
    }
    let missing: Vec<String> = needed(tool, way).map(arguments::described).collect();
    way.open = match missing.is_empty() {
        false => Open::Missing(missing),
        true if is_asked_about(snapshot, way, tool) && !asked.yes => Open::Consent,
        true => Open::Nothing,
    };
    Ok(())
}

/// Returns what is still needed.
fn needed<'t>(tool: &'t Tool, way: &Way<'_>) -> impl Iterator<Item = &'t Parameter> + use<'t> {
    let is_asked = |it: &&Parameter| {
        let is_its = |missing: &Missing| missing.name.split('.').next() == Some(it.name.as_str());
        !way.arguments.contains_key(&it.name) && way.missing.iter().any(is_its)
    };
    let mut needed = arguments::needed(tool, &way.arguments);
    for parameter in tool.parameters.iter().filter(is_asked) {
        if !needed.iter().any(|it| it.name == parameter.name) {
            needed.push(parameter);
        }
    }
    needed.into_iter()
}

/// Returns what a tool does to the world, and what it does.
fn known(snapshot: &Snapshot, tool: &Tool) -> (Effect, Action) {
    let position = snapshot.catalog.position(tool.id.as_str());
    let knowledge = position.map(|position| snapshot.index().knowledge.of(position));
    knowledge.map_or((Effect::Destroy, Action::Unknown), |it| (it.effect, it.action))
}

fn is_asked_about(snapshot: &Snapshot, way: &Way<'_>, tool: &Tool) -> bool {
    let arguments = raw(&way.arguments);
    way.hub.judge(snapshot, tool, Some(&arguments), Some(&way.decision.intent)).stance == Stance::Ask
}

/// Asks the person at the terminal for what is open.
async fn settle<'s>(
    snapshot: &'s Snapshot,
    asked: &Route,
    way: &mut Way<'s>,
    person: &mut Person<'_>,
) -> Result<(), Failure> {
    if let Open::Choice(question) = &way.open {
        let tools: Vec<&Tool> = candidates(snapshot, &way.decision).collect();
        let Some(at) = person.choose(question, &tools)? else { return Ok(()) };
        take(snapshot, asked, way, tools[at]).await?;
    }
    let Some(tool) = way.tool else { return Ok(()) };
    if let Open::Missing(_) = way.open {
        let mut pairs = asked.pairs.clone();
        for parameter in needed(tool, way) {
            let Some(text) = person.fill(tool, parameter)? else { return Ok(()) };
            pairs.push(format!("{}={text}", parameter.name));
        }
        let filled = arguments::given(tool, &pairs)?;
        // What is known already stays as it is.
        for (key, value) in filled {
            way.arguments.entry(key).or_insert(value);
        }
        way.open =
            if is_asked_about(snapshot, way, tool) && !asked.yes { Open::Consent } else { Open::Nothing };
    }
    if let Open::Consent = way.open
        && person.agrees(tool, &way.arguments)?
    {
        way.open = Open::Nothing;
    }
    Ok(())
}

fn candidates<'s>(snapshot: &'s Snapshot, decision: &Decision) -> impl Iterator<Item = &'s Tool> {
    decision.candidates.iter().map(|candidate| &snapshot.catalog.tools()[candidate.position])
}

/// Runs the tool, or tells what is open.
async fn conclude(common: &Common, asked: &Route, hub: &Hub, way: &mut Way<'_>) -> Result<(), Failure> {
    let can_run = matches!(way.open, Open::Nothing) && !asked.dry_run;
    let Some(tool) = way.tool.filter(|_| can_run) else {
        return if common.json { open_json(asked, way) } else { open_words(asked, way) };
    };
    if !common.json {
        anstream::eprintln!("Running {}", said(tool, &way.arguments));
    }
    let mut answer = call::ask(hub, &way.snapshot, tool, raw(&way.arguments)).await;
    if amended(way, tool, &answer).await {
        // It is another call, so it is confirmed for itself.
        if is_asked_about(&way.snapshot, way, tool) && !asked.yes {
            way.open = Open::Consent;
            return if common.json { open_json(asked, way) } else { open_words(asked, way) };
        }
        if !common.json {
            anstream::eprintln!("Running {}", said(tool, &way.arguments));
        }
        answer = call::ask(hub, &way.snapshot, tool, raw(&way.arguments)).await;
    }
    let result = answer.map_err(|error| Failure::new(error.message))?;
    if !common.json {
        return call::show(common, asked.save.as_deref(), tool, &result);
    }
    let failed =
        Fields::parse(Some(&result)).is_ok_and(|fields| fields.read::<bool>("isError") == Some(true));
    let mut report = Fields::parse(Some(&raw(&report(asked, way)))).unwrap_or_default();
    report.set("ran", raw(&true));
    // The result stays as the server wrote it.
    report.set("result", result);
    output::raw_json(raw(&report).get())?;
    if failed { Err(Failure::silent(1)) } else { Ok(()) }
}

/// Finds other arguments where a server did not take those of a call; what was given stays.
async fn amended(way: &mut Way<'_>, tool: &Tool, answer: &Answer) -> bool {
    let told = answer.as_ref().map(|result| &**result);
    let Some(refusal) = way.hub.refusal(&way.snapshot, tool, told) else { return false };
    // The hub itself refuses what the configuration denies.
    let ruling = way.hub.judge(&way.snapshot, tool, Some(&raw(&way.arguments)), None);
    let Some(adviser) = way.adviser.as_mut().filter(|_| ruling.stance != Stance::Deny) else { return false };
    let mut given = way.arguments.clone();
    given.retain(|name, _| !way.sources.iter().any(|it| it.name == *name));
    let found = adviser.amend(tool, &way.task, (&given, &way.sources), &refusal).await;
    let Some(found) = found else { return false };
    for argument in &found {
        way.arguments.insert(argument.name.clone(), argument.value.clone());
    }
    way.sources = found;
    true
}

/// Writes a call as it would be typed.
pub(crate) fn said(tool: &Tool, arguments: &Map<String, Value>) -> String {
    call::typed(tool.id.as_str(), arguments)
}

fn open_words(asked: &Route, way: &Way<'_>) -> Result<(), Failure> {
    let sure = format!("{:.0}% sure", way.decision.confidence * 100.0);
    match (&way.open, way.tool) {
        (Open::Nothing, Some(tool)) => {
            output::text(&format!("Would run {} ({sure}).", said(tool, &way.arguments)))?;
            Ok(())
        }
        (Open::Choice(question), _) => {
            let rows = candidates(&way.snapshot, &way.decision).map(tools::row).collect();
            let layout = Layout { indent: 2, cut: true, ..Layout::default() };
            output::text(&format!("{question}\n{}", output::grid(layout, rows)))?;
            if !asked.dry_run {
                let next = "say more, or run one of them with `toolyard call TOOL KEY=VALUE…`";
                anstream::eprintln!("Nothing was run: {next}.");
            }
            Err(Failure::silent(3))
        }
        (Open::Missing(missing), Some(tool)) => {
            let more: Vec<String> = needed(tool, way).map(|it| format!(" --arg {}=…", it.name)).collect();
            output::text(&format!("{} ({sure}) needs {}.", tool.id, missing.join(", ")))?;
            if !asked.dry_run {
                anstream::eprintln!("Nothing was run: say the same again with{}.", more.concat());
            }
            Err(Failure::silent(3))
        }
        (Open::Consent, Some(tool)) => {
            let call = said(tool, &way.arguments);
            output::text(&format!("Would run {call} ({sure}), which cannot be taken back."))?;
            if !asked.dry_run {
                anstream::eprintln!("Nothing was run: say the same again with --yes.");
            }
            Err(Failure::silent(3))
        }
        (Open::NoTool | Open::Nothing | Open::Missing(_) | Open::Consent, _) => {
            Err(Failure::new("no tool fits this wish")
                .hint("say it in other words; `toolyard list` shows every tool, `--explain` the nearest"))
        }
    }
}

fn open_json(asked: &Route, way: &Way<'_>) -> Result<(), Failure> {
    output::json(&report(asked, way))?;
    match way.open {
        Open::Nothing => Ok(()),
        Open::Choice(_) | Open::Missing(_) | Open::Consent => Err(Failure::silent(3)),
        Open::NoTool => Err(Failure::silent(1)),
    }
}

/// Returns everything but the result as programs read it.
fn report(asked: &Route, way: &Way<'_>) -> Value {
    let question = match (&way.open, way.tool) {
        (Open::Choice(question), _) => Some(question.clone()),
        (Open::Missing(missing), _) => Some(format!("What is {}?", missing.join(", "))),
        (Open::Consent, Some(tool)) => Some(format!("Run {}? It cannot be taken back.", tool.id)),
        (Open::Nothing | Open::NoTool | Open::Consent, _) => None,
    };
    let missing: Vec<&str> = way
        .tool
        .map_or_else(Vec::new, |tool| needed(tool, way).map(|parameter| parameter.name.as_str()).collect());
    let verdict = match (&way.decision.verdict, &way.open) {
        (Verdict::Act, Open::Nothing) => "act",
        (Verdict::Abstain, _) | (_, Open::NoTool) => "abstain",
        (Verdict::Act | Verdict::Ask(_), _) => "ask",
    };
    let mut report = json!({
        "verdict": verdict,
        "ran": false,
        "confidence": explain::round(way.decision.confidence),
        "tool": way.tool.map(|tool| tool.id.as_str()),
        "arguments": way.arguments,
        "missing": missing,
        "question": question,
        "alternatives": explain::alternatives(way, asked.explain),
    });
    if asked.explain {
        report["argumentSources"] = json!(way.sources);
        report["intent"] = json!(way.decision.intent);
        report["judgement"] = json!(way.decision.judgement);
    }
    report
}
