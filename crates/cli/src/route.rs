//! A request in plain words: finds the tool, and runs it when that is sure.

mod explain; // why this tool, and why not the others
mod kept; //    what is kept of it
pub(crate) mod person; //  questions on a terminal
mod steps; //   requests of several steps

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Argument, Missing};
use toolyard_core::decide::{self, Conclusion, Draft};
use toolyard_core::rank::{Decision, Intent};
use toolyard_core::tool::{Parameter, Tool};
use toolyard_hub::caller::Answer;
use toolyard_hub::config::{Config, Stance};
use toolyard_hub::hub::{Adviser, Decided, Hub};
use toolyard_hub::jsonrpc::{Fields, raw};
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::{Provisional, Wanted};

use crate::call::{self, arguments};
use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Layout};
use crate::{learn, setup, tools};
use person::Person;

/// Say what you want: finds the tool and runs it, or asks
///
/// Runs the tool that is meant when that is sure enough. Otherwise it asks: on a terminal you choose by number,
/// elsewhere the question is printed. Arguments come from your words, and from a language model where
/// `routing.arguments` names one; those given with `--arg` win. What a tool cannot take back is run only with `--yes` or
/// after you agreed. A request of several steps becomes a workflow; `--dry-run` shows its plan.
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
\"arguments\", \"missing\", \"unused\", \"notDone\", \"question\", \"alternatives\": [{\"tool\", \"summary\", \"probability\",
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
    /// A value under a name of your own, as NAME=VALUE; may be repeated
    #[arg(long = "value", value_name = "NAME=VALUE")]
    values: Vec<String>,
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
    /// Whether this call is what was meant.
    Unsure,
    /// No tool fits.
    NoTool,
}

/// A request on its way to a call.
struct Way<'a> {
    hub: &'a Hub,
    asked: &'a Route,
    config: Arc<Config>,
    task: String,
    snapshot: Arc<Snapshot>,
    /// How tools were ranked; nothing where the words are the name of one.
    decision: Option<Arc<Decision>>,
    /// The tool that is meant, by its position, once that is settled.
    tool: Option<usize>,
    confidence: f64,
    arguments: Map<String, Value>,
    /// The arguments that words became.
    sources: Vec<Argument>,
    /// The names of those that are not certain enough to be sent without a question.
    guessed: Vec<String>,
    /// What the words leave open.
    missing: Vec<Missing>,
    /// The named values that have no place.
    unused: Vec<String>,
    /// What of the request is left undone, in its own words.
    not_done: Vec<String>,
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
        let provisional = Provisional::default();
        let given = given(asked)?;
        let values = values(asked)?;
        let request = decide::Goal { values: values.as_ref(), ..decide::Goal::in_words(&task, &given) };
        let wanted = wanted(asked, &task, Some(&provisional));
        let start = Instant::now();
        let Decided { conclusion, adviser } = hub.decide(&snapshot, &wanted, request).await;
        let deciding = start.elapsed();
        learn::note(hub, &provisional);
        let mut way = Way {
            hub,
            asked,
            config: hub.config(),
            decision: conclusion.decision().cloned(),
            confidence: conclusion.decision().map_or(1.0, |it| it.confidence),
            task: task.clone(),
            snapshot,
            tool: None,
            arguments: Map::new(),
            sources: Vec::new(),
            guessed: Vec::new(),
            missing: Vec::new(),
            unused: Vec::new(),
            not_done: Vec::new(),
            adviser,
            open: Open::NoTool,
        };
        kept::keep(&way, &conclusion, deciding, &provisional);
        match conclusion {
            Conclusion::Plan(prospect) => return steps::run(common, asked, hub, prospect).await,
            Conclusion::Incomplete(lack) => return steps::incomplete(common, &way.snapshot, &lack),
            Conclusion::Ask(question) if question.step.is_some() => {
                return steps::unsure(common, &way.snapshot, &question);
            }
            Conclusion::Ask(question) => way.open = Open::Choice(question.text),
            Conclusion::Call(draft) => way.take(draft, true).await?,
            Conclusion::Draft(draft) => way.take(draft, false).await?,
            Conclusion::Decline(_) => {}
        }
        if asked.explain && !common.json {
            output::text(&explain::words(&way))?;
        }
        let is_there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if is_there && !common.json && !asked.dry_run {
            way.settle(&mut Person::here()).await?;
            if !matches!(way.open, Open::Nothing | Open::NoTool) {
                anstream::eprintln!("Nothing was run.");
                return Err(Failure::silent(3));
            }
        }
        way.conclude(common).await
    })
    .await
}

fn wanted<'a>(asked: &'a Route, task: &'a str, provisional: Option<&'a Provisional>) -> Wanted<'a> {
    Wanted { preferred_server: asked.server.as_deref(), provisional, ..Wanted::plain(task) }
}

/// Reads arguments before it is known whose they are: what reads as JSON is JSON.
fn given(asked: &Route) -> Result<Map<String, Value>, Failure> {
    if let Some(text) = &asked.args {
        return arguments::read_object(text);
    }
    let pairs = asked.pairs.iter().filter_map(|pair| pair.split_once('='));
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    Ok(pairs.map(|(key, text)| (key.to_owned(), value(text))).collect())
}

/// Reads values under names of the caller's own; none where nobody named any.
fn values(asked: &Route) -> Result<Option<Map<String, Value>>, Failure> {
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let read = |pair: &String| match pair.split_once('=') {
        Some((name, text)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value(text))),
        _ => Err(Failure::usage(format!("`{pair}` is not NAME=VALUE"))
            .hint("write a short name of your own before the value, like --value file=notes.md")),
    };
    let values: Map<String, Value> = asked.values.iter().map(read).collect::<Result<_, _>>()?;
    Ok(Some(values).filter(|it| !it.is_empty()))
}

impl Way<'_> {
    fn tool(&self) -> Option<&Tool> {
        self.tool.map(|position| &self.snapshot.catalog.tools()[position])
    }

    /// Takes a tool that somebody chose.
    async fn choose(&mut self, position: usize) -> Result<(), Failure> {
        let tool = &self.snapshot.catalog.tools()[position];
        let given = match &self.asked.args {
            Some(text) => arguments::read_object(text)?,
            None => arguments::given(tool, &self.asked.pairs)?,
        };
        let values = values(self.asked)?;
        let goal = decide::Goal::in_words(&self.task, &given);
        let request = decide::Goal { tool: Some(position), values: values.as_ref(), ..goal };
        let decided = self.hub.decide(&self.snapshot, &wanted(self.asked, &self.task, None), request).await;
        self.adviser = decided.adviser;
        self.arguments = given;
        match decided.conclusion {
            Conclusion::Call(draft) => self.draft(draft, true),
            Conclusion::Draft(draft) => self.draft(draft, false),
            Conclusion::Plan(_) | Conclusion::Incomplete(_) | Conclusion::Ask(_) | Conclusion::Decline(_) => {
            }
        }
        Ok(())
    }

    /// Takes the tool that is meant. Arguments that were typed are read by its schema, which may change what is open.
    async fn take(&mut self, draft: Draft, is_sure: bool) -> Result<(), Failure> {
        if self.asked.pairs.is_empty() {
            self.arguments = given(self.asked)?;
            self.draft(draft, is_sure);
            return Ok(());
        }
        self.choose(draft.position).await
    }

    /// Finds what is open about a tool.
    fn draft(&mut self, draft: Draft, is_sure: bool) {
        let Draft { position, settled, not_done, .. } = draft;
        self.not_done = not_done;
        self.tool = Some(position);
        self.guessed = settled.guesses.iter().map(|it| it.name.clone()).collect();
        self.sources = settled.found;
        self.sources.extend(settled.guesses);
        self.missing = settled.missing;
        self.unused = settled.unused;
        for argument in &self.sources {
            self.arguments.insert(argument.name.clone(), argument.value.clone());
        }
        let missing: Vec<String> = self.needed().into_iter().map(arguments::described).collect();
        self.open = if missing.is_empty() { self.unconfirmed(is_sure) } else { Open::Missing(missing) };
    }

    /// Returns what a person has to agree to before a call runs that has all it needs.
    fn unconfirmed(&self, is_sure: bool) -> Open {
        if self.asked.yes {
            Open::Nothing
        } else if self.is_asked_about() {
            Open::Consent
        } else if is_sure {
            Open::Nothing
        } else {
            Open::Unsure
        }
    }

    /// Returns what is still needed.
    fn needed(&self) -> Vec<&Parameter> {
        let Some(tool) = self.tool() else { return Vec::new() };
        let is_asked = |it: &&Parameter| {
            let is_its = |missing: &Missing| missing.name.split('.').next() == Some(it.name.as_str());
            !self.arguments.contains_key(&it.name) && self.missing.iter().any(is_its)
        };
        let mut needed = arguments::needed(tool, &self.arguments);
        for parameter in tool.parameters.iter().filter(is_asked) {
            if !needed.iter().any(|it| it.name == parameter.name) {
                needed.push(parameter);
            }
        }
        needed
    }

    fn is_asked_about(&self) -> bool {
        let Some(tool) = self.tool() else { return false };
        let (arguments, intent) = (raw(&self.arguments), Intent::of(&self.task));
        self.hub.judge(&self.snapshot, tool, Some(&arguments), Some(&intent)).stance == Stance::Ask
    }

    fn candidates(&self) -> Vec<&Tool> {
        self.decision.as_deref().map_or_else(Vec::new, |decision| candidates(&self.snapshot, decision))
    }

    /// Asks the person at the terminal for what is open.
    async fn settle(&mut self, person: &mut Person<'_>) -> Result<(), Failure> {
        if let Open::Choice(question) = &self.open {
            let Some(at) = person.choose(question, &self.candidates())? else { return Ok(()) };
            let position = self.decision.as_deref().map(|it| it.candidates[at].position);
            if let Some(position) = position {
                self.choose(position).await?;
            }
        }
        let Some(tool) = self.tool() else { return Ok(()) };
        if let Open::Missing(_) = self.open {
            let mut pairs = self.asked.pairs.clone();
            for parameter in self.needed() {
                let Some(text) = person.fill(tool, parameter)? else { return Ok(()) };
                pairs.push(format!("{}={text}", parameter.name));
            }
            let filled = arguments::given(tool, &pairs)?;
            // What is known already stays as it is.
            for (key, value) in filled {
                self.arguments.entry(key).or_insert(value);
            }
            self.open = self.unconfirmed(self.guessed.is_empty());
        }
        if let (Open::Consent | Open::Unsure, Some(tool)) = (&self.open, self.tool())
            && person.agrees(tool, &self.arguments, matches!(self.open, Open::Consent))?
        {
            self.open = Open::Nothing;
        }
        Ok(())
    }

    /// Runs the tool, or tells what is open.
    async fn conclude(&mut self, common: &Common) -> Result<(), Failure> {
        let can_run = matches!(self.open, Open::Nothing) && !self.asked.dry_run;
        let snapshot = Arc::clone(&self.snapshot);
        let Some(tool) = self.tool.filter(|_| can_run).map(|at| &snapshot.catalog.tools()[at]) else {
            return self.show_open(common);
        };
        if !common.json {
            anstream::eprintln!("Running {}", said(tool, &self.arguments));
        }
        let mut answer = call::ask(self.hub, &snapshot, tool, raw(&self.arguments)).await;
        if self.amended(tool, &answer).await {
            // It is another call, so it is confirmed for itself.
            if self.is_asked_about() && !self.asked.yes {
                self.open = Open::Consent;
                return self.show_open(common);
            }
            if !common.json {
                anstream::eprintln!("Running {}", said(tool, &self.arguments));
            }
            answer = call::ask(self.hub, &snapshot, tool, raw(&self.arguments)).await;
        }
        let result = answer.map_err(|error| Failure::new(error.message))?;
        if !common.json {
            call::show(common, self.asked.save.as_deref(), tool, &result)?;
            for words in &self.not_done {
                anstream::eprintln!("Not done: {words}");
            }
            return Ok(());
        }
        let failed =
            Fields::parse(Some(&result)).is_ok_and(|fields| fields.read::<bool>("isError") == Some(true));
        let mut report = Fields::parse(Some(&raw(&self.report()))).unwrap_or_default();
        report.set("ran", raw(&true));
        // The result stays as the server wrote it.
        report.set("result", result);
        output::raw_json(raw(&report).get())?;
        if failed { Err(Failure::silent(1)) } else { Ok(()) }
    }

    /// Finds other arguments where a server did not take those of a call; what was given stays.
    async fn amended(&mut self, tool: &Tool, answer: &Answer) -> bool {
        let answered = answer.as_ref().map(|result| &**result);
        let Some(refusal) = self.hub.refusal(&self.snapshot, tool, answered) else { return false };
        // The hub itself refuses what the configuration denies.
        let ruling = self.hub.judge(&self.snapshot, tool, Some(&raw(&self.arguments)), None);
        let Some(adviser) = self.adviser.as_mut().filter(|_| ruling.stance != Stance::Deny) else {
            return false;
        };
        let mut given = self.arguments.clone();
        given.retain(|name, _| !self.sources.iter().any(|it| it.name == *name));
        let found = adviser.amend(tool, &self.task, (&given, &self.sources), &refusal).await;
        let Some(found) = found else { return false };
        for argument in &found {
            self.arguments.insert(argument.name.clone(), argument.value.clone());
        }
        self.sources = found;
        true
    }

    fn show_open(&self, common: &Common) -> Result<(), Failure> {
        if common.json {
            return self.open_json();
        }
        let shown = self.open_words();
        for words in &self.not_done {
            output::text(&format!("Not done: {words}"))?;
        }
        shown
    }

    fn open_words(&self) -> Result<(), Failure> {
        let sure = format!("{:.0}% sure", self.confidence * 100.0);
        match (&self.open, self.tool()) {
            (Open::Nothing, Some(tool)) => {
                output::text(&format!("Would run {} ({sure}).", said(tool, &self.arguments)))?;
                Ok(())
            }
            (Open::Choice(question), _) => {
                let rows = self.candidates().into_iter().map(tools::row).collect();
                let layout = Layout { indent: 2, cut: true, ..Layout::default() };
                output::text(&format!("{question}\n{}", output::grid(layout, rows)))?;
                self.hint("say more, or run one of them with `toolyard call TOOL KEY=VALUE…`")
            }
            (Open::Missing(missing), Some(tool)) => {
                let more: Vec<String> =
                    self.needed().iter().map(|it| format!(" --arg {}=…", it.name)).collect();
                let call = said(tool, &self.arguments);
                output::text(&format!("{call} ({sure}) needs {}.", missing.join(", ")))?;
                self.hint(&format!("say the same again with{}", more.concat()))
            }
            (Open::Consent, Some(tool)) => {
                let call = said(tool, &self.arguments);
                output::text(&format!("Would run {call} ({sure}), which cannot be taken back."))?;
                self.hint("say the same again with --yes")
            }
            (Open::Unsure, Some(tool)) => {
                let unused = match self.unused.as_slice() {
                    [] => String::new(),
                    names => format!(" No place was found for {}.", names.join(", ")),
                };
                output::text(&format!("Draft: {}.{unused}", said(tool, &self.arguments)))?;
                self.hint(
                    "if this is meant, say the same again with --yes; else correct it with --arg KEY=VALUE",
                )
            }
            (Open::NoTool | Open::Nothing | Open::Missing(_) | Open::Consent | Open::Unsure, _) => {
                Err(Failure::new("no tool fits this request")
                    .hint("say it in other words; `toolyard list` shows every tool, `--explain` the nearest"))
            }
        }
    }

    /// Says what to do next, where something was to run.
    fn hint(&self, next: &str) -> Result<(), Failure> {
        if !self.asked.dry_run {
            anstream::eprintln!("Nothing was run: {next}.");
        }
        Err(Failure::silent(3))
    }

    fn open_json(&self) -> Result<(), Failure> {
        output::json(&self.report())?;
        match self.open {
            Open::Nothing => Ok(()),
            Open::Choice(_) | Open::Missing(_) | Open::Consent | Open::Unsure => Err(Failure::silent(3)),
            Open::NoTool => Err(Failure::silent(1)),
        }
    }

    /// Returns everything but the result as programs read it.
    fn report(&self) -> Value {
        let question = match (&self.open, self.tool()) {
            (Open::Choice(question), _) => Some(question.clone()),
            (Open::Missing(missing), _) => Some(format!("What is {}?", missing.join(", "))),
            (Open::Consent, Some(tool)) => Some(format!("Run {}? It cannot be taken back.", tool.id)),
            (Open::Unsure, Some(tool)) => {
                Some(format!("Is this what you mean: {}?", said(tool, &self.arguments)))
            }
            (Open::Nothing | Open::NoTool | Open::Consent | Open::Unsure, _) => None,
        };
        let missing: Vec<&str> = self.needed().iter().map(|it| it.name.as_str()).collect();
        let verdict = match &self.open {
            Open::Nothing => "act",
            Open::NoTool => "abstain",
            Open::Choice(_) | Open::Missing(_) | Open::Consent | Open::Unsure => "ask",
        };
        let mut report = json!({
            "verdict": verdict,
            "ran": false,
            "confidence": explain::round(self.confidence),
            "tool": self.tool().map(|tool| tool.id.as_str()),
            "arguments": self.arguments,
            "missing": missing,
            "unsure": self.guessed,
            "unused": self.unused,
            "notDone": self.not_done,
            "question": question,
            "alternatives": explain::alternatives(self, self.asked.explain),
        });
        if self.asked.explain {
            report["argumentSources"] = json!(self.sources);
            report["intent"] = json!(self.decision.as_deref().map(|it| &it.intent));
            report["judgement"] = json!(self.decision.as_deref().map(|it| it.judgement));
        }
        report
    }
}

fn candidates<'s>(snapshot: &'s Snapshot, decision: &Decision) -> Vec<&'s Tool> {
    decision.candidates.iter().map(|candidate| &snapshot.catalog.tools()[candidate.position]).collect()
}

/// Writes a call as it would be typed.
pub(crate) fn said(tool: &Tool, arguments: &Map<String, Value>) -> String {
    call::typed(tool.id.as_str(), arguments)
}
