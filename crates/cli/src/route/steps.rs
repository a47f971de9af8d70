//! A request of several steps: its plan, and the run of it.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard_core::decide::{Ambiguity, Lack, Prospect};
use toolyard_hub::hub::Hub;
use toolyard_hub::live::Snapshot;

use super::{Route, candidates, explain};
use crate::call::Save;
use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Layout};
use crate::run::{Answering, drive};
use crate::tools;

/// Runs a plan, or shows it.
pub(super) async fn run(
    common: &Common,
    asked: &Route,
    hub: &Arc<Hub>,
    prospect: Prospect,
) -> Result<(), Failure> {
    if asked.dry_run {
        return show(common, asked, &prospect);
    }
    if asked.explain && !common.json {
        anstream::eprintln!("{}{}", prospect.plan.render(), explain::arguments(&prospect.found));
    }
    let answering = if asked.yes { Answering::Yes } else { Answering::Person };
    let execution = hub.begin(prospect.plan).await;
    let execution = execution.map_err(|err| Failure::new(format!("{err}; nothing was done")))?;
    drive(common, hub, execution, (answering, Save::asked(asked.save.as_deref()))).await
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

pub(super) fn unsure(common: &Common, snapshot: &Snapshot, asked: &Ambiguity) -> Result<(), Failure> {
    let (question, among) = (&asked.text, candidates(snapshot, &asked.decision));
    if common.json {
        let named: Vec<Value> = among
            .iter()
            .map(|tool| json!({ "tool": tool.id.as_str(), "summary": tools::summary(tool) }))
            .collect();
        let confidence = explain::round(asked.confidence);
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

pub(super) fn incomplete(common: &Common, snapshot: &Snapshot, lack: &Lack) -> Result<(), Failure> {
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
