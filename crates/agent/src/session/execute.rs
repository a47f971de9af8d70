//! Calls of the model: checked, agreed to, made, and told.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use toolyard_core::arguments::{Sources, unsaid};
use toolyard_core::decide::{Conclusion, Goal};
use toolyard_core::form::Form;
use toolyard_core::tool::Tool;
use toolyard_core::turn::{ACTIVATE_SKILL, CallOutcome, ChatMessage, Offer, ToolCall, TurnEnding};
use toolyard_hub::caller::{Caller, Client};
use toolyard_hub::clock::now;
use toolyard_hub::config::{Binding, Stance};
use toolyard_hub::hub::{migrate, renamed};
use toolyard_hub::jsonrpc::{Fields, raw};
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::Wanted;

use super::{Session, bind};
use crate::host::{Consent, Ended, Event, Host, OpenCall, Why};
use crate::result;

/// How a tool is called through another.
const CALL_TOOL: &str = "call_tool";
/// Arguments by which somebody confirms; only a person does.
const CONFIRMATIONS: [&str; 2] = ["confirm", "toolyard_confirm"];
/// Lines about progress that may wait.
const QUEUE: usize = 64;

/// A call that may be made.
struct Ready {
    tool: String,
    arguments: Map<String, Value>,
    /// What was left out because nobody said it.
    left_out: Vec<String>,
}

impl Session {
    /// Makes the calls of one reply. Questions are asked one after the other, calls are made at once.
    pub(super) async fn make(&mut self, calls: &[ToolCall], host: &mut impl Host) -> Vec<CallOutcome> {
        let snapshot = self.setting.hub.snapshot();
        let mut outcomes: Vec<Option<CallOutcome>> = Vec::with_capacity(calls.len());
        let mut ready: Vec<(usize, Ready)> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let (name, arguments) = through(call, &snapshot);
            outcomes.push(if name == ACTIVATE_SKILL && self.has_real_tools() {
                Some(self.load_skill(&arguments, host).await)
            } else if let Some(tool) = snapshot.catalog.get(&name) {
                match self.admitted(&snapshot, tool, arguments, host).await {
                    Ok(it) => {
                        ready.push((at, it));
                        None
                    }
                    Err(refused) => Some(refused),
                }
            } else {
                Some(self.call_own(call, host).await)
            });
        }
        for (at, it) in &ready {
            let (id, tool, arguments) = (calls[*at].id.clone(), it.tool.clone(), it.arguments.clone());
            host.hear(Event::Call { id, tool, arguments });
        }
        let made = futures_util::future::join_all(ready.iter().map(|(_, it)| self.call(&snapshot, it))).await;
        for ((at, it), (told, ms)) in ready.iter().zip(made) {
            let event = Event::Result {
                id: calls[*at].id.clone(),
                tool: it.tool.clone(),
                text: told.text.clone(),
                is_error: told.is_error,
                ms,
            };
            host.hear(event);
            let mut outcome = told.outcome(&it.tool);
            if !it.left_out.is_empty() {
                outcome.text += &format!("\n(Left out, because nobody said it: {})", it.left_out.join(", "));
            }
            self.setting.hub.note_use(&self.name, &it.tool);
            if let Some(underway) = &mut self.turn {
                underway.has_run = true;
            }
            outcomes[*at] = Some(outcome);
        }
        outcomes.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Makes a call that a person has agreed to, as if the model had made it.
    pub async fn run(&mut self, tool: &str, arguments: Map<String, Value>, host: &mut impl Host) -> String {
        let snapshot = self.setting.hub.snapshot();
        let ready = Ready { tool: tool.to_owned(), arguments, left_out: Vec::new() };
        self.carry_out(&snapshot, ready, host).await.text
    }

    /// Runs what the hub is sure of without the model, where the settings allow that.
    pub(super) async fn direct(&mut self, text: &str, host: &mut impl Host) -> Option<Ended> {
        if !self.setting.agent.direct {
            return None;
        }
        let hub = Arc::clone(&self.setting.hub);
        let (snapshot, given) = (hub.snapshot(), Map::new());
        snapshot.indexed().await;
        let wanted = Wanted { conversation: Some(&self.name), ..Wanted::plain(text) };
        let decided = hub.decide(&snapshot, &wanted, Goal::in_words(text, &given)).await;
        let Conclusion::Call(draft) = decided.conclusion else { return None };
        let tool = &snapshot.catalog.tools()[draft.position];
        let arguments: Map<String, Value> =
            draft.settled.found.iter().map(|it| (it.name.clone(), it.value.clone())).collect();
        // A request to remove something makes a change one that has to be confirmed.
        let intent = draft.decision.as_ref().map(|it| &it.intent);
        let ruling = hub.judge(&snapshot, tool, Some(&raw(&arguments)), intent);
        if ruling.stance != Stance::Allow || !draft.not_done.is_empty() {
            return None;
        }
        let ready = Ready { tool: tool.id.as_str().to_owned(), arguments, left_out: Vec::new() };
        let told = self.carry_out(&snapshot, ready, host).await;
        self.keep(ChatMessage::assistant(told.text.clone()), host);
        let ended = Ended {
            text: told.text,
            calls: 1,
            ending: TurnEnding::Answered,
            iterations: 1,
            ..super::nothing()
        };
        host.hear(Event::Answer(Box::new(ended.clone())));
        Some(ended)
    }

    /// Makes a call outside of a turn, and keeps it as part of the conversation.
    async fn carry_out(
        &mut self,
        snapshot: &Snapshot,
        ready: Ready,
        host: &mut impl Host,
    ) -> result::ResultText {
        let id = format!("own_{}", self.messages.len());
        let call = ToolCall { id, name: ready.tool.clone(), arguments: ready.arguments.clone() };
        self.keep(
            ChatMessage::Assistant {
                text: String::new(),
                reasoning: String::new(),
                calls: vec![call.clone()],
            },
            host,
        );
        host.hear(Event::Call { id: call.id.clone(), tool: call.name.clone(), arguments: call.arguments });
        let (told, ms) = self.call(snapshot, &ready).await;
        let (text, is_error) = (told.text.clone(), told.is_error);
        host.hear(Event::Result {
            id: call.id.clone(),
            tool: call.name.clone(),
            text: text.clone(),
            is_error,
            ms,
        });
        self.keep(ChatMessage::Tool { id: call.id, name: call.name, text }, host);
        told
    }

    fn has_real_tools(&self) -> bool {
        match self.budget().binding {
            Binding::Likely | Binding::Toolset | Binding::All => true,
            Binding::Route | Binding::Search => false,
        }
    }

    async fn load_skill(&mut self, arguments: &Map<String, Value>, host: &mut impl Host) -> CallOutcome {
        let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let instructions = match self.activate(&name).await {
            Ok(instructions) => instructions,
            Err(unknown) => return CallOutcome::refused(unknown),
        };
        let (snapshot, supply) = self.supply().await;
        let mut names: Vec<Arc<str>> = match supply.skills.get(&name) {
            Some(skill) => skill.tools.iter().map(|tool| tool.as_str().into()).collect(),
            None => Vec::new(),
        };
        let offered =
            self.turn.iter().flat_map(|it| it.turn.offers()).map(|offer| Arc::from(offer.name.as_str()));
        for offered in offered.collect::<Vec<Arc<str>>>() {
            if !names.contains(&offered) && snapshot.catalog.get(&offered).is_some() {
                names.push(offered);
            }
        }
        let own = self.skill_offer(&supply);
        let (offers, _) = bind::offered(&snapshot, &supply, &names, (own, self.budget()));
        tracing::info!("[AGENT] Refreshed tools: {} tools available", offers.len());
        let tools = offers.iter().map(|offer| offer.name.clone()).collect();
        if let Some(underway) = &mut self.turn {
            underway.turn.rebind(offers);
        }
        host.hear(Event::Refreshed { tools, why: format!("the skill {name} was activated") });
        CallOutcome::of(instructions)
    }

    /// Lets a call through, or says why not in a way that the model can act on.
    async fn admitted(
        &mut self,
        snapshot: &Snapshot,
        tool: &Tool,
        mut arguments: Map<String, Value>,
        host: &mut impl Host,
    ) -> Result<Ready, CallOutcome> {
        let name = tool.id.as_str().to_owned();
        let form = Form::of(tool);
        // That a call is meant is for a person to say, not for the model.
        for key in CONFIRMATIONS.iter().filter(|key| !form.has(key)) {
            arguments.remove(*key);
        }
        let mut left_out = Vec::new();
        if self.setting.agent.checks_values {
            let said = self.said();
            let given = Map::new();
            let sources =
                Sources { task: &said, given: &given, named: None, reading: None, earlier: &[], now: now() };
            let mut open = unsaid(&form, &sources, &arguments);
            let required: Vec<&str> = form.required().collect();
            open.retain(|(place, _)| {
                let parameter = place.split('.').next().unwrap_or(place);
                let is_needed = required.contains(&parameter) || place.contains('.');
                if !is_needed && arguments.remove(parameter).is_some() {
                    left_out.push(parameter.to_owned());
                }
                is_needed
            });
            if !open.is_empty() {
                let consent = Consent {
                    tool: name.clone(),
                    arguments: arguments.clone(),
                    why: Why::Unsaid(open.clone()),
                };
                if !host.agree(consent).await {
                    return Err(self.unsaid(&name, arguments, &open, host));
                }
            }
        }
        let ruling = self.setting.hub.judge(snapshot, tool, Some(&raw(&arguments)), None);
        if ruling.stance == Stance::Ask {
            let why = Why::Policy(ruling.reason(tool));
            if !host.agree(Consent { tool: name.clone(), arguments: arguments.clone(), why }).await {
                let why = format!("{name} was not called: the person did not agree. {}", ruling.reason(tool));
                host.hear(Event::NotCalled { why: why.clone() });
                return Err(CallOutcome::refused(why));
            }
        }
        Ok(Ready { tool: name, arguments, left_out })
    }

    /// Refuses a call with values that nobody said, and keeps it for the person to finish.
    fn unsaid(
        &mut self,
        name: &str,
        arguments: Map<String, Value>,
        open: &[(String, Value)],
        host: &mut impl Host,
    ) -> CallOutcome {
        let listed: Vec<String> = open.iter().map(|(place, value)| format!("{place} = {value}")).collect();
        let why = format!(
            "{name} was not called, because nobody said {}. Use a value from the conversation, or ask the user for it.",
            listed.join(", ")
        );
        host.hear(Event::NotCalled { why: why.clone() });
        let unsaid = open.iter().map(|(place, _)| place.clone()).collect();
        if let Some(underway) = &mut self.turn {
            underway.draft = Some(OpenCall { tool: name.to_owned(), arguments, unsaid });
        }
        CallOutcome::refused(why)
    }

    /// Returns what values may come from: the words of the person, and what tools returned.
    fn said(&self) -> String {
        let is_source = |it: &&ChatMessage| matches!(it, ChatMessage::User { .. } | ChatMessage::Tool { .. });
        let texts: Vec<&str> = self.messages.iter().filter(is_source).map(ChatMessage::text).collect();
        let most = self.setting.agent.context_tokens.saturating_mul(bind::TOKEN_BYTES);
        let mut bytes = 0;
        let kept = texts.iter().rev().take_while(|text| {
            bytes += text.len();
            bytes <= most
        });
        let mut kept: Vec<&str> = kept.copied().collect();
        kept.reverse();
        kept.join("\n")
    }

    async fn call(&self, snapshot: &Snapshot, ready: &Ready) -> (result::ResultText, u64) {
        let client = Client {
            info: Some(raw(
                &serde_json::json!({ "name": "toolyard-agent", "version": env!("CARGO_PKG_VERSION") }),
            )),
            capabilities: Fields::default(),
            principal: "agent".into(),
            log_level: None,
        };
        // Nobody reads what servers say meanwhile.
        let (lines, _) = mpsc::channel(QUEUE);
        let caller = Arc::new(Caller::session(&client, lines, Arc::default()));
        let mut params = Fields::default();
        params.set("arguments", raw(&ready.arguments));
        let (hub, begun) = (&self.setting.hub, Instant::now());
        let answer = match snapshot.catalog.get(&ready.tool) {
            Some(tool) => hub.call_confirmed(snapshot, tool, params, &caller).await,
            None => Err(hub.unknown_tool(snapshot, &ready.tool)),
        };
        let most = self.setting.agent.result_chars;
        let told = match answer {
            Ok(result) => result::read(&result, most),
            Err(error) => result::failed(&error.message, most),
        };
        (told, begun.elapsed().as_millis() as u64)
    }

    /// Calls one of the hub's own tools.
    async fn call_own(&mut self, call: &ToolCall, host: &mut impl Host) -> CallOutcome {
        let (id, tool, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
        host.hear(Event::Call { id: id.clone(), tool: tool.clone(), arguments });
        let (begun, most) = (Instant::now(), self.setting.agent.result_chars);
        let answer = match self.link().await {
            Ok(link) => link.call(&call.name, &call.arguments, host).await,
            Err(error) => Err(error),
        };
        let told = match answer {
            Ok(result) => result::read(&result, most),
            Err(error) => {
                self.link = None;
                result::failed(&error.to_string(), most)
            }
        };
        let ms = begun.elapsed().as_millis() as u64;
        let event = Event::Result { id, tool, text: told.text.clone(), is_error: told.is_error, ms };
        host.hear(event);
        if let Some(tool) = told.drafted() {
            self.show(tool).await;
        }
        told.outcome(&call.name)
    }

    /// Shows the model a tool from now on. Who reads the draft of a call can make the call itself.
    async fn show(&mut self, tool: &str) {
        let (snapshot, supply) = self.supply().await;
        let budget = self.budget().clone();
        let Some(underway) = &mut self.turn else { return };
        let others = underway.turn.offers().iter().filter(|offer| offer.name != tool).cloned();
        let (shown, hidden): (Vec<Offer>, Vec<Offer>) = others.partition(|offer| offer.is_shown);
        let (mut offers, _) = bind::offered(&snapshot, &supply, &[tool.into()], (shown, &budget));
        offers.extend(hidden);
        underway.turn.rebind(offers);
    }
}

/// Looks through a call of `call_tool`: what counts is the tool behind it.
fn through(call: &ToolCall, snapshot: &Snapshot) -> (String, Map<String, Value>) {
    let inner = call.arguments.get("name").and_then(Value::as_str);
    let is_known =
        |name: &str| snapshot.catalog.get(name).is_some() || renamed(snapshot, name, |_| true).is_some();
    let (name, arguments) = match inner.filter(|name| call.name == CALL_TOOL && is_known(name)) {
        Some(name) => {
            let arguments = call.arguments.get("arguments").and_then(Value::as_object);
            (name.to_owned(), arguments.cloned().unwrap_or_default())
        }
        None => (call.name.clone(), call.arguments.clone()),
    };
    // An old name is checked and confirmed as the tool that it stands for.
    if let Some(Ok(alias)) = renamed(snapshot, &name, |_| true)
        && let Ok(migrated) = migrate(snapshot, &name, &alias, Some(&raw(&arguments)))
        && let Ok(arguments) = serde_json::from_str(migrated.arguments.get())
    {
        return (migrated.tool, arguments);
    }
    (name, arguments)
}
