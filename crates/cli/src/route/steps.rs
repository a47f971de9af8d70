//! A wish of several steps: its plan, and the run of it.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolyard_core::plan::Splitting;
use toolyard_hub::hub::{Doubt, Errand, Hub, Lack, Planned, Prospect};
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::Wanted;

use super::{Route, candidates, explain};
use crate::args::Common;
use crate::call::{Save, arguments};
use crate::failure::Failure;
use crate::output::{self, Layout};
use crate::run::{Answering, drive};
use crate::tools;

/// Does a wish that has several steps; `None` where it has one.
pub(super) async fn run(
    common: &Common,
    asked: &Route,
    hub: &Arc<Hub>,
    (snapshot, wanted): (&Snapshot, Wanted<'_>),
) -> Option<Result<(), Failure>> {
    let given = match given(asked) {
        Ok(given) => given,
        Err(failure) => return Some(Err(failure)),
    };
    let errand = Errand { wanted, splitting: Splitting::Careful, given: &given, previous: None };
    match hub.plan(snapshot, &errand).await {
        Planned::Whole => None,
        Planned::Unsure(doubt) => Some(unsure(common, snapshot, &doubt)),
        Planned::Incomplete(lack) => Some(incomplete(common, snapshot, &lack)),
        Planned::Ready(prospect) if asked.dry_run => Some(show(common, asked, &prospect)),
        Planned::Ready(prospect) => {
            if asked.explain && !common.json {
                anstream::eprintln!("{}{}", prospect.plan.render(), explain::arguments(&prospect.found));
            }
            let answering = if asked.yes { Answering::Yes } else { Answering::Person };
            match hub.begin(prospect.plan).await {
                Ok(execution) => {
                    let manner = (answering, Save::asked(asked.save.as_deref()));
                    Some(drive(common, hub, execution, manner).await)
                }
                Err(err) => Some(Err(Failure::new(format!("{err}; nothing was done")))),
            }
        }
    }
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

fn show(common: &Common, asked: &Route, prospect: &Prospect) -> Result<(), Failure> {
    let Prospect { plan, confidence, found, .. } = prospect;
    if common.json {
        let confidence = explain::round(*confidence);
        let steps = plan.steps().len();
        let mut shown = json!({
            "verdict": "act", "ran": false, "confidence": confidence, "workflowSteps": steps,
            "estimateMs": plan.estimate_ms(), "plan": plan,
        });
        if asked.explain {
            shown["argumentSources"] = json!(found);
        }
        return Ok(output::json(&shown)?);
    }
    let sources = if asked.explain { explain::arguments(found) } else { String::new() };
    Ok(output::text(&format!("{}{sources}({:.0}% sure)", plan.render(), confidence * 100.0))?)
}

fn unsure(common: &Common, snapshot: &Snapshot, doubt: &Doubt) -> Result<(), Failure> {
    let question = format!("Which tool is meant by the step “{}”?", doubt.words);
    let among: Vec<_> = candidates(snapshot, &doubt.decision).collect();
    if common.json {
        let named: Vec<Value> = among
            .iter()
            .map(|tool| json!({ "tool": tool.id.as_str(), "summary": tools::summary(tool) }))
            .collect();
        let confidence = explain::round(doubt.confidence);
        output::json(&json!({
            "verdict": "ask", "ran": false, "confidence": confidence, "question": question, "alternatives": named,
        }))?;
        return Err(Failure::silent(3));
    }
    let rows = among.into_iter().map(tools::row).collect();
    output::text(&format!(
        "{question}\n{}",
        output::grid(Layout { indent: 2, cut: true, ..Layout::default() }, rows)
    ))?;
    anstream::eprintln!("Nothing was run: say more about this step.");
    Err(Failure::silent(3))
}

fn incomplete(common: &Common, snapshot: &Snapshot, lack: &Lack) -> Result<(), Failure> {
    let tool = &snapshot.catalog.tools()[lack.position];
    let names: Vec<&str> = lack.missing.iter().map(|it| it.name.as_str()).collect();
    let question = format!("{} needs {} for the step “{}”.", tool.id, names.join(", "), lack.words);
    if common.json {
        let confidence = explain::round(lack.confidence);
        output::json(&json!({
            "verdict": "ask", "ran": false, "confidence": confidence, "tool": tool.id.as_str(),
            "missing": names, "question": question,
        }))?;
        return Err(Failure::silent(3));
    }
    output::text(&question)?;
    let more: Vec<String> = names.iter().map(|name| format!(" --arg {name}=…")).collect();
    anstream::eprintln!("Nothing was run: say the same again with{}.", more.concat());
    Err(Failure::silent(3))
}
