//! Runs a workflow: shows its plan, asks what must be asked, and tells how it goes.

mod answer; // what steps answered
mod person; // questions on a terminal, and what is shown meanwhile
mod steps; //  every step with its arguments, and what became of it

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolyard_core::plan::Plan;
use toolyard_core::run::{Ending, Leaving, Report};
use toolyard_hub::caller::{Caller, Client};
use toolyard_hub::hub::{Execution, Hub, Pause};
use toolyard_hub::jsonrpc::{Fields, raw};
use toolyard_hub::workflows::{self, Template};

use crate::call::{Save, arguments};
use crate::common::Common;
use crate::failure::Failure;
use crate::{output, setup};
pub(crate) use person::Answering;
use person::Screen;
pub(crate) use steps::steps;

/// Run a workflow from a file or by its name
///
/// Everything is written down before it is done: a run that is killed goes on with `toolyard runs resume`. Each step's
/// answer is printed, except of steps whose result another step took.
/// What cannot be taken back is done only with `--yes` or after you agreed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard run standup-note --set repository=. --set note=Standup.md
  toolyard run ./backup.yaml --dry-run
  toolyard run commit-all --input '{\"repository\": \".\", \"message\": \"Fix the fence\"}'
  toolyard run forget-topic --set topic=Berlin --yes --json

Without a name it lists the workflows that there are.
Exit codes: 0 it completed, 1 it did not, 2 it was asked wrongly, 3 a question is open.
With --json: {\"run\", \"report\": {\"plan\", \"ending\", \"why\", \"accounts\": [{\"step\", \"element\", \"tool\",
\"fate\", \"why\"}], \"outputs\", \"advice\"}}; with --dry-run {\"plan\", \"digest\", \"estimateMs\"}")]
pub(crate) struct RunWorkflow {
    /// A file, or the name of a workflow
    #[arg(value_name = "FILE|NAME")]
    workflow: Option<String>,
    /// A parameter as KEY=VALUE; may be repeated
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "input")]
    set: Vec<String>,
    /// All parameters as one JSON object
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    input: Option<String>,
    /// Show the plan, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Agree to everything that would be asked
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(common: &Common, asked: &RunWorkflow) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        let Some(name) = &asked.workflow else { return list(common, hub) };
        let template = find(hub, name)?;
        let values = values(asked, &template)?;
        let plan = hub.plan_of(&template, &values).await.map_err(|problems| {
            let message = match problems.as_slice() {
                [one] => one.clone(),
                several => format!("{} problems\n{}", several.len(), several.join("\n")),
            };
            Failure::usage(format!("`{}` cannot run: {message}", template.name)).hint(takes(&template))
        })?;
        if asked.dry_run {
            return show_plan(common, &plan);
        }
        let execution = hub.begin(plan).await.map_err(|err| {
            Failure::new(format!("{err}; nothing was done")).hint("free some space, or set `store.folder`")
        })?;
        let answering = if asked.yes { Answering::Yes } else { Answering::Person };
        drive(common, hub, execution, (answering, Save::No)).await
    })
    .await
}

/// Drives a run to its end, or to a question that nobody answers.
pub(crate) async fn drive(
    common: &Common,
    hub: &Arc<Hub>,
    mut execution: Execution,
    (answering, save): (Answering, Save<'_>),
) -> Result<(), Failure> {
    let client = Client {
        info: Some(raw(&json!({ "name": "toolyard-cli", "version": env!("CARGO_PKG_VERSION") }))),
        capabilities: Fields::default(),
        principal: "cli".into(),
        log_level: None,
    };
    let (lines, _heard) = tokio::sync::mpsc::channel(64);
    let caller = Arc::new(Caller::session(&client, lines, Arc::default()));
    let mut screen = Screen::new(&execution.id, common.json);
    let stopper = execution.stopper();
    // The first Ctrl-C stops after what is in flight; the second ends at once, and the run can be resumed.
    let interrupted = tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if stopper.send_replace(Some(Leaving::Everything)).is_some() {
                std::process::exit(130);
            }
        }
    });
    let outcome = loop {
        let pause = execution.drive(hub, &caller, &mut |moment| screen.tell(moment, save)).await;
        match pause {
            Ok(Pause::Over(report)) => break over(common, &execution, &report, screen),
            Ok(Pause::Asked(asked)) => {
                let agrees = screen.ask(&execution, &asked, answering)?;
                let answered = match agrees {
                    Some(true) => execution.agree(&asked.digest),
                    Some(false) => execution.decline(&asked.digest),
                    None => break Err(open(common, &execution, &asked)),
                };
                answered.map_err(|stale| Failure::new(stale.to_string()))?;
            }
            Err(halted) => {
                let told = halted.report.words();
                break Err(Failure::new(format!("{halted}\n{told}"))
                    .hint(format!("make room on the disk, then `toolyard runs resume {}`", execution.id)));
            }
        }
    };
    interrupted.abort();
    outcome
}

/// Tells what was answered and how a run ended.
fn over(common: &Common, execution: &Execution, report: &Report, screen: Screen) -> Result<(), Failure> {
    let id = &execution.id;
    let completed = || if report.ending == Ending::Completed { Ok(()) } else { Err(Failure::silent(1)) };
    if common.json {
        output::json(&json!({ "run": id, "report": report }))?;
        return completed();
    }
    let mut answers = screen.answers();
    let told = format!("{}\n  run: {id}", summary(id, report));
    // Where there are answers, they are the result; what became of the run is said beside them.
    if answers.show(execution.run().plan(), report)? && report.ending == Ending::Completed {
        anstream::eprintln!("{told}");
    } else {
        output::text(&told)?;
    }
    completed()
}

/// Returns a report in words, with the commands that help.
fn summary(id: &str, report: &Report) -> String {
    let words = report.words();
    if report.ending != Ending::Unknown {
        return words;
    }
    format!("{words}\n  next: {}", settling(id))
}

/// Says how a call whose outcome is unknown is settled.
fn settling(id: &str) -> String {
    format!("`toolyard runs resume {id} --happened STEP` or `--did-not STEP`")
}

fn open(common: &Common, execution: &Execution, asked: &toolyard_core::run::Confirmation) -> Failure {
    let question = toolyard_hub::hub::question(asked);
    let id = &execution.id;
    if common.json {
        let plan = execution.run().plan();
        let said = json!({ "run": id, "question": question, "digest": asked.digest, "plan": plan });
        if let Err(err) = output::json(&said) {
            return err.into();
        }
    } else {
        let before = steps::before(execution.run(), asked);
        anstream::eprintln!("{before}\n{question}\nanswer with `toolyard runs resume {id}`, or with `--yes`");
    }
    Failure::silent(3)
}

fn find(hub: &Hub, name: &str) -> Result<Template, Failure> {
    let is_file = workflows::is_written(Path::new(name)) || name.contains('/');
    if is_file {
        return Ok(workflows::load(Path::new(name))?);
    }
    let templates = hub.templates();
    if let Some(template) = templates.iter().find(|template| template.name == name) {
        return Ok(template.clone());
    }
    let names: Vec<&str> = templates.iter().map(|template| template.name.as_str()).collect();
    let hint = match names.is_empty() {
        true => "none fits the configured servers; give a file".to_owned(),
        false => format!("there are {}; or give a file that ends in .json, .yaml or .yml", names.join(", ")),
    };
    Err(Failure::usage(format!("there is no workflow `{name}` for the configured servers")).hint(hint))
}

fn values(asked: &RunWorkflow, template: &Template) -> Result<Map<String, Value>, Failure> {
    match &asked.input {
        Some(text) => arguments::read_object(text),
        None => arguments::typed(&template.definition()["inputSchema"], &asked.set)
            .map_err(|why| Failure::usage(why).hint(takes(template))),
    }
}

fn takes(template: &Template) -> String {
    let definition = template.definition();
    let schema = &definition["inputSchema"];
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let names = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    let shown = names.map(|name| match required.contains(&name.as_str()) {
        true => format!("--set {name}=…"),
        false => format!("[--set {name}=…]"),
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() {
        "it takes no parameters".to_owned()
    } else {
        format!("it takes {}", shown.join(" "))
    }
}

fn show_plan(common: &Common, plan: &Plan) -> Result<(), Failure> {
    if common.json {
        let (digest, estimate) = (plan.digest(), plan.estimate_ms());
        return Ok(output::json(&json!({ "plan": plan, "digest": digest, "estimateMs": estimate }))?);
    }
    Ok(output::text(&plan.render())?)
}

fn list(common: &Common, hub: &Hub) -> Result<(), Failure> {
    let templates = hub.templates();
    let mistakes = hub.workflow_mistakes();
    if common.json {
        let listed: Vec<Value> = templates.iter().map(Template::definition).collect();
        return Ok(output::json(&json!({ "workflows": listed }))?);
    }
    for mistake in mistakes.iter() {
        anstream::eprintln!("{mistake}");
    }
    let rows = templates.iter().map(|template| {
        let definition = template.definition();
        let about = definition["description"].as_str().unwrap_or_default().to_owned();
        let name = output::Cell::new(&template.name).add_attribute(output::Attribute::Bold);
        vec![name, output::Cell::new(about)]
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Err(Failure::new("there is no workflow for the configured servers")
            .hint("write one in the folder `workflows` beside your configuration"));
    }
    Ok(output::text(&output::grid(output::Layout::default(), rows))?)
}
