//! Runs of workflows: those that are under way, those that are over, and those that wait for a person.

use std::sync::Arc;

use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};
use toolyard_core::run::{CallId, Ending, Finding, Leaving, Upshot};
use toolyard_hub::config::Times;
use toolyard_hub::hub::{Hub, NotTaken, question};
use toolyard_hub::journal::{self, Kept};

use crate::call::Save;
use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Attribute, Cell, Layout};
use crate::routes::when;
use crate::run::{Answering, drive, steps};
use crate::setup;

/// See, resume and cancel runs of workflows
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard runs                                  the runs, the newest first
  toolyard runs show 3f9a                        every step of one, with its arguments and what became of it
  toolyard runs resume 3f9a                      go on with one that was interrupted or waits for you
  toolyard runs resume 3f9a --happened pay       you looked: the call that was unknown did happen
  toolyard runs cancel 3f9a --undo               stop one, and take back what it did where that is known
  toolyard runs scheduled                        the workflows that run by themselves, with their next times

With --json: {\"runs\": [{\"run\", \"plan\", \"ending\", \"begunMs\", \"changedMs\", \"driven\"}]}, or of one
{\"run\", \"report\", \"plan\", \"question\"}; scheduled: {\"schedules\": [{\"name\", \"workflow\", \"when\", \"next\",
\"problem\"}]}")]
pub(crate) struct Runs {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the runs, the newest first
    List,
    /// Show every step of a run, with its arguments and what became of it
    Show {
        /// The run; the beginning of its name will do
        run: String,
    },
    /// Go on with a run that was interrupted or waits for you
    Resume {
        /// The run; the beginning of its name will do
        run: String,
        /// A step whose call was unknown and did happen, as STEP or STEP[3]; may be repeated
        #[arg(long, value_name = "STEP")]
        happened: Vec<String>,
        /// A step whose call was unknown and did not happen; it may be sent again
        #[arg(long, value_name = "STEP")]
        did_not: Vec<String>,
        /// Agree to everything that would be asked
        #[arg(long)]
        yes: bool,
    },
    /// Stop a run; what it did stays
    Cancel {
        /// The run; the beginning of its name will do
        run: String,
        /// Take back what it did, where that is known
        #[arg(long)]
        undo: bool,
    },
    /// List the workflows that a serving hub runs by itself, with their next times
    Scheduled,
}

pub(crate) async fn run(common: &Common, asked: &Runs) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| match &asked.what {
        None | Some(What::List) => list(common, hub),
        Some(What::Show { run }) => {
            let record = found(hub, run)?;
            tell(common, &record)
        }
        Some(What::Resume { run, happened, did_not, yes }) => {
            let found =
                |steps: &[String], finding| steps.iter().map(|it| (it.clone(), finding)).collect::<Vec<_>>();
            let mut findings = found(happened, Finding::Happened);
            findings.extend(found(did_not, Finding::DidNot));
            let answering = if *yes { Answering::Yes } else { Answering::Person };
            resume(common, hub, run, &findings, answering).await
        }
        Some(What::Cancel { run, undo }) => {
            let leaving = if *undo { Leaving::Nothing } else { Leaving::Everything };
            cancel(common, hub, run, leaving).await
        }
        Some(What::Scheduled) => scheduled(common, hub).await,
    })
    .await
}

async fn resume(
    common: &Common,
    hub: &Arc<Hub>,
    name: &str,
    findings: &[(String, Finding)],
    answering: Answering,
) -> Result<(), Failure> {
    let mut execution = hub.take_up(name).await?;
    let report = execution.run().report();
    for (step, finding) in findings {
        let unknown = report.accounts.iter().filter(|account| account.fate == Upshot::Unknown);
        let mut fitting = unknown.filter(|account| {
            let element = account.element.map(|at| format!("[{at}]")).unwrap_or_default();
            format!("{}{element}", account.step) == *step
        });
        let settled = fitting.next().is_some_and(|account| {
            let (step, element, direction) = (account.step.clone(), account.element, account.direction);
            execution.settle(&CallId { step, element, direction }, *finding)
        });
        if !settled {
            return Err(Failure::usage(format!("the outcome of `{step}` is not unknown"))
                .hint(format!("`toolyard runs show {}` tells what is", execution.id)));
        }
    }
    drive(common, hub, execution, (answering, Save::No)).await
}

async fn cancel(common: &Common, hub: &Arc<Hub>, name: &str, leaving: Leaving) -> Result<(), Failure> {
    match hub.take_up(name).await {
        Ok(mut execution) => {
            execution.cancel(leaving);
            // Nobody needs to agree to stopping, but somebody does to what only names say takes things back.
            drive(common, hub, execution, (Answering::Person, Save::No)).await
        }
        Err(NotTaken::Driven(id)) => {
            hub.journal().ask_to_stop(&id, leaving)?;
            anstream::eprintln!("run {id} is driven by another process, which was told to stop it");
            Ok(())
        }
        Err(other) => Err(other.into()),
    }
}

fn found(hub: &Hub, name: &str) -> Result<Kept, Failure> {
    let record = hub.journal().find(name)?;
    record.ok_or_else(|| NotTaken::Missing(name.to_owned()).into())
}

fn list(common: &Common, hub: &Hub) -> Result<(), Failure> {
    let records = hub.journal().list()?;
    // Taking the lease is the only way to know; it is given back at once.
    let is_driven = |record: &Kept| {
        record.ending() == Ending::Open && matches!(hub.journal().lease(&record.id), Ok(None))
    };
    if common.json {
        let listed: Vec<Value> = records
            .iter()
            .map(|record| {
                json!({
                    "run": record.id, "plan": record.name, "ending": record.ending(), "begunMs": record.begun_ms,
                    "changedMs": record.changed_ms, "driven": is_driven(record),
                })
            })
            .collect();
        return Ok(output::json(&json!({ "runs": listed }))?);
    }
    if records.is_empty() {
        anstream::eprintln!("no workflow was run yet; `toolyard run` lists those that there are");
        return Ok(());
    }
    let rows = records.iter().map(|record| {
        let state = match (record.ending(), is_driven(record)) {
            (Ending::Open, true) => "running",
            (Ending::Open, false) if record.run.asked().is_some() => "waits for you",
            (Ending::Open, false) => "interrupted",
            (Ending::Completed, _) => "completed",
            (Ending::Undone, _) => "rolled back",
            (Ending::Failed, _) => "failed",
            (Ending::Cancelled, _) => "cancelled",
            (Ending::Unknown, _) => "unknown",
        };
        let begun = i64::try_from(record.begun_ms).map(when).unwrap_or_default();
        vec![
            Cell::new(&record.id).add_attribute(Attribute::Bold),
            Cell::new(begun),
            Cell::new(state),
            Cell::new(&record.name),
        ]
    });
    let layout = Layout { header: &["run", "begun", "state", "workflow"], ..Layout::default() };
    Ok(output::text(&output::grid(layout, rows.collect()))?)
}

async fn scheduled(common: &Common, hub: &Hub) -> Result<(), Failure> {
    let (config, problems) = (hub.config(), hub.schedule_problems().await);
    let problem = |name: &String| problems.iter().find(|(it, _)| it == name).map(|(_, why)| why.as_str());
    let next =
        |name: &String, times: &Times| times.next(Timestamp::now()).filter(|_| problem(name).is_none());
    if common.json {
        let told = config.schedules.iter().map(|(name, it)| {
            json!({
                "name": name, "workflow": it.workflow, "when": it.times.to_string(), "next": next(name, &it.times),
                "problem": problem(name),
            })
        });
        return Ok(output::json(&json!({ "schedules": told.collect::<Vec<_>>() }))?);
    }
    if config.schedules.is_empty() {
        anstream::eprintln!("no workflow runs by itself; `schedules` in toolyard.json says which do");
        return Ok(());
    }
    let rows = config.schedules.iter().map(|(name, it)| {
        let next = next(name, &it.times).map(|at| at.to_zoned(it.times.zone()));
        let next = next.map(|at| at.strftime("%a %F %T %Z").to_string());
        vec![
            Cell::new(name).add_attribute(Attribute::Bold),
            Cell::new(&it.workflow),
            Cell::new(&it.times),
            Cell::new(
                problem(name).map_or_else(|| next.unwrap_or_default(), |why| format!("cannot run: {why}")),
            ),
        ]
    });
    let layout = Layout { header: &["schedule", "workflow", "when", "next"], ..Layout::default() };
    Ok(output::text(&output::grid(layout, rows.collect()))?)
}

/// Tells what became of a run, with the arguments of every step and the question that is open.
fn tell(common: &Common, record: &Kept) -> Result<(), Failure> {
    let Kept { id, run, .. } = record;
    let asked = run.asked().map(question);
    if common.json {
        let said = json!({ "run": id, "report": run.report(), "plan": run.plan(), "question": asked });
        return Ok(output::json(&said)?);
    }
    let mut text = steps(id, run);
    if let Some(asked) = asked {
        text += &format!("\n{asked}\nanswer with `toolyard runs resume {id}`");
    }
    Ok(output::text(&text)?)
}

impl From<NotTaken> for Failure {
    fn from(why: NotTaken) -> Self {
        match why {
            NotTaken::Missing(_) => Self::usage(why.to_string()).hint("`toolyard runs` lists them"),
            NotTaken::Driven(ref id) => Self::new(why.to_string())
                .hint(format!("`toolyard runs cancel {id}` tells that process to stop it")),
            NotTaken::Journal(err) => err.into(),
        }
    }
}

impl From<journal::Error> for Failure {
    fn from(err: journal::Error) -> Self {
        Self::new(err.to_string()).hint("look at the folder in `store.folder` of the configuration")
    }
}
