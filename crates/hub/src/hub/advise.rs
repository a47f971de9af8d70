//! Arguments that words alone did not give, as a configured language model finds them.
//!
//! It is never needed: where it is away, slow or senseless, a request goes on as if there were none.

use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Advice, Argument, Consultation, Evidence, Filling, Form, Source, Sources};
use toolyard_core::catalog::Catalog;
use toolyard_core::decide::Consult;
use toolyard_core::tool::{Effect, Tool};

use super::{Hub, is_error, text_of};
use crate::chat::{self, Turn};
use crate::clock::now;
use crate::config::LanguageModel;
use crate::jsonrpc::ErrorObject;
use crate::live::Snapshot;

/// The configured model, with the time that one request still gives it.
#[derive(Clone, Debug)]
pub struct Adviser {
    client: reqwest::Client,
    model: LanguageModel,
    left: Duration,
}

/// What errors say that are about arguments.
const ABOUT_ARGUMENTS: [&str; 5] =
    ["-32602", "validation error", "invalid argument", "invalid param", "invalid input"];
/// Answers that are read: the first, and one that mends it.
const ATTEMPTS: usize = 2;

impl Hub {
    /// Returns what may find arguments for one request, where it is configured.
    pub fn adviser(&self) -> Option<Adviser> {
        let model = self.config().routing.adviser.clone()?;
        Some(Adviser { client: self.around.http.clone(), left: model.timeout, model })
    }

    /// Returns what a server said against the arguments of a call. A tool that changes things and says so in its
    /// result may have begun, so there only a refusal by the protocol counts.
    pub fn refusal(
        &self,
        snapshot: &Snapshot,
        tool: &Tool,
        outcome: Result<&RawValue, &ErrorObject>,
    ) -> Option<String> {
        let effect = snapshot.facts(tool).map_or(tool.effect, |facts| facts.effect);
        match outcome {
            Err(error) => (error.code == ErrorObject::INVALID_PARAMS).then(|| error.message.clone()),
            Ok(result) if effect == Effect::Read && is_error(result) => {
                let said = text_of(result);
                let lower = said.to_lowercase();
                ABOUT_ARGUMENTS.iter().any(|words| lower.contains(words)).then_some(said)
            }
            Ok(_) => None,
        }
    }

    /// Asks a model something simple, to see whether it answers as it is asked to.
    pub async fn probe(&self, model: &LanguageModel) -> Result<(), chat::Error> {
        let schema = json!({
            "type": "object", "properties": { "ready": { "type": "boolean" } }, "required": ["ready"],
            "additionalProperties": false,
        });
        let turns = [Turn::Question("Are you ready? Answer with JSON: {\"ready\": true}".to_owned())];
        let said = chat::ask(&self.around.http, model, &turns, (&schema, model.timeout)).await?;
        let is_held = serde_json::from_str::<Value>(&said).is_ok_and(|said| said["ready"].is_boolean());
        if is_held { Ok(()) } else { Err(chat::Error::useless(model, "does not keep to a JSON schema")) }
    }
}

impl Adviser {
    /// Says what a request says about arguments that words left open; nothing where the model does not help.
    pub async fn advise(&mut self, catalog: &Catalog, consult: &Consult) -> Advice {
        let (form, sources) = (catalog.form(consult.position), consult.sources());
        match Consultation::about(form, &sources, &consult.filling) {
            Some(consultation) => self.consult(&consultation, &catalog.tools()[consult.position]).await,
            None => Advice::default(),
        }
    }

    /// Finds other arguments than those that a server did not take: anew all that was found and not given. `None`
    /// where the call would be the same.
    pub async fn amend(
        &mut self,
        tool: &Tool,
        task: &str,
        (given, found): (&Map<String, Value>, &[Argument]),
        refusal: &str,
    ) -> Option<Vec<Argument>> {
        let own = given.iter().map(|(name, value)| {
            let (name, value) = (name.clone(), value.clone());
            Argument { name, value, source: Source::Given, confidence: 1.0, evidence: Evidence::Marked }
        });
        let sent = Filling { arguments: own.chain(found.iter().cloned()).collect(), ..Filling::default() };
        let (form, sources) =
            (Form::of(tool), Sources { task, given, named: None, reading: None, earlier: &[], now: now() });
        let consultation = Consultation::after(&form, &sources, &sent, refusal)?;
        let advice = self.consult(&consultation, tool).await;
        let amended = sent.clone().advised(&form, &advice);
        let is_other = amended.object() != sent.object();
        let found = amended.arguments.into_iter().filter(|it| it.source != Source::Given);
        is_other.then(|| found.collect())
    }

    async fn consult(&mut self, consultation: &Consultation<'_>, tool: &Tool) -> Advice {
        let schema = consultation.schema();
        let mut turns =
            vec![Turn::Rules(consultation.rules().to_owned()), Turn::Question(consultation.data(tool))];
        let mut advice = Advice::default();
        // Who did not help once is not waited for again in the same request.
        for _ in 0..if self.left.is_zero() { 0 } else { ATTEMPTS } {
            let begun = Instant::now();
            let said = chat::ask(&self.client, &self.model, &turns, (&schema, self.left)).await;
            self.left = self.left.saturating_sub(begun.elapsed());
            let said = match said {
                Ok(said) => said,
                Err(err) => {
                    self.give_up(&err.to_string());
                    return advice;
                }
            };
            advice = consultation.read(&said);
            if !advice.invented.is_empty() {
                let invented = advice.invented.join(", ");
                tracing::debug!(tool = tool.id.as_str(), "`{}` made up {invented}", self.model.name);
            }
            if advice.problems.is_empty() {
                return advice;
            }
            let (said, told) = consultation.correction(&said, &advice);
            turns.extend([Turn::Answer(said), Turn::Question(told)]);
        }
        if !advice.problems.is_empty() {
            self.give_up(&format!("`{}` answered twice with what cannot be used", self.model.name));
        }
        advice
    }

    /// What a model said is not part of the log: it may repeat what a person wants to keep.
    fn give_up(&mut self, why: &str) {
        tracing::warn!("arguments come from words alone: {why}");
        self.left = Duration::ZERO;
    }
}
