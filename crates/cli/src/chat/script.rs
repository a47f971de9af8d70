//! A conversation without a person: one message, the lines of a pipe, events for programs.

use std::io::BufRead;

use owo_colors::OwoColorize;
use serde_json::{Map, Value, json};
use toolyard_agent::host::{Consent, Elicitation, Ended, Event, Host, Why};
use toolyard_agent::session::Session;
use toolyard_core::tool::clean;
use toolyard_core::turn::{LimitChoice, TurnEnding};

use super::transcript::Transcript;
use super::typed;
use crate::call;
use crate::common::Common;
use crate::failure::Failure;
use crate::output;

/// A script that follows a conversation.
struct Script {
    is_json: bool,
    /// Whether everything that is asked is agreed to.
    agrees: bool,
    kept: Transcript,
    /// What was not agreed to.
    refused: Option<Consent>,
    /// Whether stdout is closed.
    is_deaf: bool,
}

/// Says one message and prints the answer.
pub(super) async fn once(
    common: &Common,
    mut session: Session,
    (message, agrees): (&str, bool),
    kept: Transcript,
) -> Result<(), Failure> {
    let mut script = Script::new(common, agrees, kept);
    say(&mut session, &mut script, message).await
}

/// Says the lines of stdin, one message each.
pub(super) async fn lines(
    common: &Common,
    mut session: Session,
    agrees: bool,
    kept: Transcript,
) -> Result<(), Failure> {
    let mut script = Script::new(common, agrees, kept);
    loop {
        let mut line = String::new();
        if tokio::task::block_in_place(|| std::io::stdin().lock().read_line(&mut line))? == 0 {
            return Ok(());
        }
        if !line.trim().is_empty() {
            say(&mut session, &mut script, line.trim()).await?;
        }
    }
}

async fn say(session: &mut Session, script: &mut Script, message: &str) -> Result<(), Failure> {
    let outcome = tokio::select! {
        outcome = session.say(message, script) => Some(outcome),
        _ = tokio::signal::ctrl_c() => None,
    };
    let ended = match outcome {
        Some(Ok(ended)) => ended,
        Some(Err(error)) => return Err(Failure::new(error.to_string())),
        None => {
            session.stop(script);
            return Err(Failure::new("stopped"));
        }
    };
    if !script.is_json {
        output::text(&clean(ended.text.trim()))?;
    }
    match (script.refused.take(), &ended) {
        (Some(Consent { tool, arguments, why: Why::Policy(why) }), _) => {
            Err(Failure::open(format!("not run: {why}"))
                .hint(format!("run it with `toolyard call {} --yes`", call::typed(&tool, &arguments))))
        }
        (_, Ended { draft: Some(draft), .. }) => {
            let unsaid = draft.unsaid.join(", ");
            Err(Failure::open(format!("`{}` was not called: nobody said {unsaid}", draft.tool)).hint(
                format!("say it, or run `toolyard call {}`", call::typed(&draft.tool, &draft.arguments)),
            ))
        }
        (_, Ended { ending: TurnEnding::Stopped, .. }) => Err(Failure::new("stopped")),
        (_, Ended { text, .. }) if text.trim().is_empty() => Err(Failure::new("the model did not answer")),
        (Some(_) | None, _) => Ok(()),
    }
}

impl Script {
    fn new(common: &Common, agrees: bool, kept: Transcript) -> Self {
        Self { is_json: common.json, agrees, kept, refused: None, is_deaf: false }
    }

    fn tell(&mut self, event: &Event) {
        match event {
            Event::Call { tool, arguments, .. } => {
                anstream::eprintln!("{}", format!("→ {}", typed(tool, arguments)).dimmed());
            }
            Event::Result { tool, is_error, ms, .. } => {
                let how = if *is_error { "failed" } else { "answered" };
                anstream::eprintln!("{}", format!("← {tool} {how} in {ms} ms").dimmed());
            }
            Event::NotCalled { why } => anstream::eprintln!("{}", clean(why).dimmed()),
            Event::Refreshed { tools, why } => {
                anstream::eprintln!("{}", format!("{} tools: {}", tools.len(), clean(why)).dimmed());
            }
            Event::Bound { .. }
            | Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::Repaired { .. }
            | Event::Refinement { .. }
            | Event::Message { .. }
            | Event::Answer(_) => {}
        }
    }
}

impl Host for Script {
    fn hear(&mut self, event: Event) {
        if let Event::Message { message } = &event {
            self.kept.add(message);
        }
        if self.is_json && !self.is_deaf {
            let line = serde_json::to_value(&event).unwrap_or_else(|_| json!({}));
            self.is_deaf = output::json_line(&line).is_err();
        }
        if !self.is_json {
            self.tell(&event);
        }
    }

    async fn agree(&mut self, consent: Consent) -> bool {
        if !self.agrees {
            self.refused = Some(consent);
        }
        self.agrees
    }

    async fn answer(&mut self, _: Elicitation) -> Option<Map<String, Value>> {
        None
    }

    async fn choose(&mut self) -> LimitChoice {
        LimitChoice::WrapUp
    }
}
