//! Workflows as tools: listed like those of a server, run when they are called.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::alias::Phase;
use toolyard_core::catalog::Catalog;
use toolyard_core::hazard::rounded;
use toolyard_core::plan::Plan;
use toolyard_core::run::{Asked, Call, Confirmation, Ending, Report};
use toolyard_core::tool::{Effect, Tool, ToolId, clean};

use super::{Deprecated, Execution, Hub, Moment, Pause, failed_call, renamed};
use crate::aliases;
use crate::caller::{Caller, Era};
use crate::config::{Config, Mistake};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::live::Snapshot;
use crate::upstream::Listing;
use crate::workflows::{self, SERVER, Template};

/// Returns the workflows that a configuration offers, and what is wrong with the files of others.
pub(super) fn offered(config: &Config) -> (Arc<[Template]>, Arc<[Mistake]>) {
    let (templates, mistakes) = workflows::read(&config.workflows);
    for mistake in &mistakes {
        tracing::warn!("{mistake}");
    }
    if config.servers.contains_key(SERVER) {
        tracing::warn!("a server is called `{SERVER}`, so workflows are not offered as tools");
        return (Arc::new([]), mistakes.into());
    }
    // A step by an old name needs the server of the tool that is called instead.
    let (aliases, nothing) = (aliases::of(config), Catalog::default());
    let new_name = |name: &str| {
        let alias = aliases.resolve(name, &nothing, |_| true);
        alias.map_err(|error| error.to_string()).transpose()
    };
    let is_there = |template: &Template| {
        !workflows::offered(vec![template.clone()], config.servers.keys().map(String::as_str)).is_empty()
    };
    let is_offered =
        |template: &Template| is_there(template) || template.renamed(new_name).is_ok_and(|it| is_there(&it));
    let offered: Vec<Template> = templates.into_iter().filter(is_offered).collect();
    (offered.into(), mistakes.into())
}

/// Lists workflows as the tools of a server that needs no starting.
pub(super) fn listing(templates: &[Template]) -> Listing {
    Listing {
        era: Era::Modern,
        version: String::new(),
        capabilities: Fields::default(),
        info: None,
        instructions: None,
        tools: templates.iter().map(|template| raw(&template.definition())).collect(),
        resources: Vec::new(),
        templates: Vec::new(),
        prompts: Vec::new(),
        skills: Vec::new(),
        problems: Vec::new(),
        fresh_for: None,
    }
}

impl Hub {
    /// Returns the workflows that can be called like tools.
    pub fn templates(&self) -> Arc<[Template]> {
        Arc::clone(&self.settings.read().templates)
    }

    /// Returns what is wrong with files of workflows.
    pub fn workflow_mistakes(&self) -> Arc<[Mistake]> {
        Arc::clone(&self.settings.read().workflow_mistakes)
    }

    pub(super) fn template_of(&self, tool: &Tool) -> Option<Template> {
        let templates = if *tool.server == *SERVER { self.templates() } else { return None };
        templates.iter().find(|template| template.name == tool.name).cloned()
    }

    /// Makes a plan of a workflow on the tools that there are, or says everything that is in the way.
    pub async fn plan_of(
        &self,
        template: &Template,
        values: &Map<String, Value>,
    ) -> Result<Plan, Vec<String>> {
        let current = |snapshot: &Snapshot| template.renamed(|name| renamed(snapshot, name, |_| true));
        self.reach(template.tools()).await;
        if let Ok(current) = current(&self.snapshot()) {
            self.reach(current.tools()).await;
        }
        let snapshot = self.snapshot();
        for name in template.tools().map(ToolId::as_str) {
            if let Some(Ok(alias)) = renamed(&snapshot, name, |_| true)
                && alias.phase == Phase::Warn
            {
                Deprecated::note(name, &alias, &snapshot);
            }
        }
        current(&snapshot)?.plan(&snapshot.catalog, values, |tool| self.estimated_ms(&snapshot, tool))
    }

    /// Runs a workflow because its tool was called. Boxed, because its steps are calls as well.
    pub(super) fn call_template<'a>(
        &'a self,
        template: &'a Template,
        params: &'a Fields,
        caller: &'a Arc<Caller>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, ErrorObject>> {
        Box::pin(async move {
            if let Some(ambiguity) = params.get("arguments").and_then(|given| rounded(given.get())) {
                return Err(ErrorObject::invalid_params(ambiguity.to_string()));
            }
            let values: Map<String, Value> = params.read("arguments").unwrap_or_default();
            let plan = self.plan_of(template, &values).await;
            let plan = plan.map_err(|problems| ErrorObject::invalid_params(problems.join("; ")))?;
            // Whoever calls a workflow that destroys was asked about exactly this call before.
            let is_agreed = plan.effect() == Effect::Destroy && self.judged(plan.clone()) == plan;
            let agreed = is_agreed.then(|| plan.digest());
            let started = self.begin_for(plan, caller).await;
            let execution = match started {
                Ok(execution) => execution,
                Err(err) => return Ok(failed_call(&format!("{err}; nothing was done"))),
            };
            let token = params.object("_meta").get("progressToken").map(ToOwned::to_owned);
            // A question or a task of one step is no answer of the workflow.
            let caller = &Arc::new((**caller).clone().asked_within());
            Ok(self.carried_out(execution, caller, token.as_deref(), agreed).await)
        })
    }

    /// Drives a run for a client; what is asked on the way is asked of the client where it can be. The
    /// question with the digest `agreed` was answered before.
    pub(crate) async fn carried_out(
        &self,
        mut execution: Execution,
        caller: &Arc<Caller>,
        progress_token: Option<&RawValue>,
        agreed: Option<String>,
    ) -> Box<RawValue> {
        let mut came = 0_u32;
        let mut tell = |moment: Moment<'_>| {
            if let (Moment::Came(id, _), Some(token)) = (moment, progress_token) {
                came += 1;
                let params = json!({ "progressToken": token, "progress": came, "message": id.step });
                caller.notify("notifications/progress", Some(&raw(&params)));
            }
        };
        loop {
            match execution.drive(self, caller, &mut tell).await {
                Ok(Pause::Over(report)) => return run_result(&execution.id, &report),
                Ok(Pause::Asked(asked)) => {
                    let agrees = match agreed.as_ref() == Some(&asked.digest) {
                        true => Some(true),
                        false => ask(caller, &asked).await,
                    };
                    let answered = match agrees {
                        Some(true) => execution.agree(&asked.digest),
                        Some(false) => execution.decline(&asked.digest),
                        None => return waiting(&execution.id, &asked),
                    };
                    answered.expect("the question was just asked");
                }
                Err(halted) => return failed_call(&format!("{halted}\n{}", halted.report.words())),
            }
        }
    }
}

/// Asks the client; `None` when it cannot be asked.
async fn ask(caller: &Caller, asked: &Confirmation) -> Option<bool> {
    let params = json!({
        "message": question(asked),
        "requestedSchema": {
            "type": "object",
            "properties": { "confirm": { "type": "boolean", "title": "Go ahead" } },
            "required": ["confirm"],
        },
    });
    let answer = caller.ask(SERVER, "elicitation/create", Some(raw(&params))).await.ok()?;
    let fields = Fields::parse(Some(&answer)).ok()?;
    let accepts = fields.text("action").as_deref() == Some("accept");
    Some(accepts && fields.object("content").read::<bool>("confirm") == Some(true))
}

/// Says in words what a person is asked to agree to.
pub fn question(asked: &Confirmation) -> String {
    let shown = |calls: &[Call]| {
        let lines = calls.iter().map(|call| {
            let arguments = Value::Object(call.arguments.clone()).to_string();
            format!("\n  {} {}", call.tool, clean(&arguments))
        });
        lines.collect::<String>()
    };
    match &asked.asked {
        Asked::Plan => "This workflow does something that cannot be taken back. Run it?".to_owned(),
        Asked::Calls(calls) if calls.iter().any(|call| call.effect == Effect::Destroy) => {
            format!("This cannot be taken back:{}\nDo it?", shown(calls))
        }
        Asked::Calls(calls) => format!("This may not be what you mean:{}\nDo it?", shown(calls)),
        Asked::Undo(calls) => {
            format!("A step failed. What was done before can be taken back with:{}\nDo it?", shown(calls))
        }
    }
}

fn run_result(id: &str, report: &Report) -> Box<RawValue> {
    raw(&json!({
        "content": [{ "type": "text", "text": format!("{}\n  run: {id}", report.words()) }],
        "structuredContent": { "run": id, "report": report },
        "isError": report.ending != Ending::Completed,
    }))
}

fn waiting(id: &str, asked: &Confirmation) -> Box<RawValue> {
    failed_call(&format!(
        "The workflow waits for a person. {}\nAnswer with `toolyard runs resume {id}`.",
        question(asked)
    ))
}
