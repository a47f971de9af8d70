//! A conversation with a model that has the tools of a hub.
//!
//! Whatever happens, the conversation stays whole: a turn that is stopped, or whose model fails, leaves what was said
//! until then, and no call without an answer.

mod execute; // calls of the model, made or refused
mod prompt; //  what the model is told about its work

use std::sync::Arc;

use serde_json::{Map, Value};
use toolyard_core::session::{FALLBACK, Said, Toolset};
use toolyard_core::turn::{
    ACTIVATE_SKILL, Ask, AtLimit, Bounds, ChatMessage, Next, Noted, Offer, Shown, ToolCall, Turn, TurnEnding,
};
use toolyard_hub::config::{Agent, Binding, LanguageModel, ToolBudget};
use toolyard_hub::hub::{Hub, Supply};
use toolyard_hub::live::Snapshot;
use toolyard_hub::routing::Wanted;
use toolyard_hub::serve::Reception;
use toolyard_hub::skills;

use crate::bind::{self, Bound};
use crate::host::{Ended, Event, Host, OpenCall};
use crate::link::Link;
use crate::model::{self, Error, ModelRequest, Piece, Usage};

/// What a model says, as it is told to, when it does not know.
const UNKNOWN: &str = "I do not know";
/// An answer of more characters says more than that.
const UNKNOWN_CHARS: usize = 80;

/// Who talks, with what.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What carries questions to the model.
    pub client: reqwest::Client,
    /// The hub whose tools there are.
    pub hub: Arc<Hub>,
    /// The model.
    pub model: LanguageModel,
    /// How it uses the tools.
    pub agent: Agent,
    /// What is sent to the model besides, such as `temperature`.
    pub options: Map<String, Value>,
    /// Tools of somebody else, who makes their calls.
    pub foreign: Vec<Offer>,
    /// Whether a person can be asked.
    pub is_attended: bool,
}

/// A conversation.
#[derive(Debug)]
pub struct Session {
    setting: Setting,
    reception: Arc<Reception>,
    link: Option<Link>,
    active: Toolset,
    messages: Vec<ChatMessage>,
    turn: Option<Underway>,
    /// The tools of servers that were offered last.
    offered: Vec<Arc<str>>,
    /// Why the tools of the last message were offered.
    why: String,
    name: String,
}

/// A turn that is not over.
#[derive(Debug)]
struct Underway {
    turn: Turn,
    /// Messages of the turn that are part of the conversation already.
    kept: usize,
    /// What of a reply has arrived.
    partial: String,
    usage: Usage,
    asked: usize,
    calls: usize,
    draft: Option<OpenCall>,
    /// Whether a call was carried out.
    has_run: bool,
    has_fallen_back: bool,
}

impl Session {
    /// Begins a conversation, or goes on with one.
    pub fn new(setting: Setting, messages: Vec<ChatMessage>) -> Self {
        let reception = Reception::new(Arc::clone(&setting.hub));
        let name = format!("agent-{}", fresh_number());
        Self {
            reception,
            link: None,
            active: Toolset::default(),
            messages,
            turn: None,
            offered: Vec::new(),
            why: String::new(),
            name,
            setting,
        }
    }

    /// Returns what was said so far.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Returns why the tools of the last message were offered.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Returns the model that is talked to.
    pub fn model(&self) -> &LanguageModel {
        &self.setting.model
    }

    /// Talks to another model from now on.
    pub fn change_model(&mut self, model: LanguageModel) {
        self.setting.model = model;
    }

    /// Forgets what was said and what was active.
    pub fn forget(&mut self) {
        self.messages.clear();
        self.active = Toolset::default();
        self.offered.clear();
        self.link = None;
        self.turn = None;
    }

    /// Returns the active skills.
    pub fn skills(&self) -> Vec<String> {
        self.active.skills().iter().map(ToString::to_string).collect()
    }

    /// Returns what conversations can be given now.
    pub async fn supply(&self) -> (Arc<Snapshot>, Arc<Supply>) {
        let hub = &self.setting.hub;
        let (snapshot, config) = (hub.snapshot(), hub.config());
        let supply = hub.supply(&snapshot, &[], &config.toolset).await;
        (snapshot, supply)
    }

    /// Activates a skill; returns its instructions.
    pub async fn activate(&mut self, skill: &str) -> Result<String, String> {
        let (snapshot, supply) = self.supply().await;
        let activation =
            self.active.activate(&supply.stock(), skill).map_err(|unknown| unknown.to_string())?;
        if let Some(evicted) = &activation.evicted {
            skills::log_eviction(evicted, skill);
        }
        let instructions = supply.skills.get(skill).map_or("", |it| it.instructions.as_str());
        let known = |name: &&String| snapshot.catalog.get(name).is_some();
        let tools =
            supply.skills.get(skill).map(|it| it.tools.iter().filter(known).cloned().collect::<Vec<_>>());
        let tools = tools.unwrap_or_default().join(", ");
        Ok(format!(
            "## {skill} - Full Instructions\n\n{instructions}\n\nTools of this skill: {tools}\n{}",
            activation.reasoning
        ))
    }

    /// Says something to the model and sees the turn through.
    ///
    /// Dropping the future stops the turn; [`Session::stop`] then puts the conversation in order.
    pub async fn say(&mut self, text: &str, host: &mut impl Host) -> Result<Ended, Error> {
        self.stop(host);
        self.keep(ChatMessage::user(text), host);
        match self.direct(text, host).await {
            Some(ended) => Ok(ended),
            None => self.resume(host).await,
        }
    }

    /// Lets the model go on with the conversation as it is: after a message of the person, or after a result.
    pub async fn resume(&mut self, host: &mut impl Host) -> Result<Ended, Error> {
        self.stop(host);
        let asked = self.messages.iter().rev().find(|it| matches!(it, ChatMessage::User { .. }));
        let text = asked.map(|it| it.text().to_owned()).unwrap_or_default();
        let bound = self.bind(&text).await;
        host.hear(Event::Bound { tools: bound.names(), tokens: bound.tokens, why: bound.why.clone() });
        self.why.clone_from(&bound.why);
        let bounds = Bounds {
            at_limit: if self.setting.is_attended { AtLimit::Choose } else { AtLimit::Answer },
            ..self.setting.agent.bounds.clone()
        };
        let messages = self.sent().await;
        self.turn = Some(Underway {
            turn: Turn::new(bounds, messages, bound.offers),
            kept: 0,
            partial: String::new(),
            usage: Usage::default(),
            asked: 0,
            calls: 0,
            draft: None,
            has_run: false,
            has_fallen_back: false,
        });
        let outcome = self.go_on(host).await;
        if outcome.is_err() {
            self.stop(host);
        }
        outcome
    }

    /// Ends a turn that was not seen through, and keeps what was said in it.
    pub fn stop(&mut self, host: &mut impl Host) {
        let Some(mut underway) = self.turn.take() else { return };
        underway.turn.interrupt();
        let partial = std::mem::take(&mut underway.partial);
        self.turn = Some(underway);
        self.keep_added(host);
        self.turn = None;
        if !partial.trim().is_empty() {
            self.keep(ChatMessage::assistant(format!("{} …", partial.trim())), host);
        }
    }

    async fn go_on(&mut self, host: &mut impl Host) -> Result<Ended, Error> {
        loop {
            let Some(underway) = &mut self.turn else { return Ok(nothing()) };
            match underway.turn.next() {
                Next::Ask(ask) => {
                    let noted = self.ask(ask, host).await?;
                    self.note(&noted, host);
                    self.fall_back(host).await;
                }
                Next::Call(calls)
                    if calls.iter().any(|call| is_foreign(&self.setting.foreign, &call.name)) =>
                {
                    let ended = self.handed_over(calls);
                    host.hear(Event::Answer(Box::new(ended.clone())));
                    return Ok(ended);
                }
                Next::Call(calls) => {
                    underway.calls += calls.len();
                    self.keep_added(host);
                    let outcomes = self.make(&calls, host).await;
                    if let Some(underway) = &mut self.turn {
                        underway.turn.called(outcomes);
                    }
                }
                Next::Choose => {
                    let choice = host.choose().await;
                    if let Some(underway) = &mut self.turn {
                        underway.turn.chose(choice);
                    }
                }
                Next::Done(ending) => {
                    self.keep_added(host);
                    let ended = self.ended(ending);
                    self.turn = None;
                    host.hear(Event::Answer(Box::new(ended.clone())));
                    return Ok(ended);
                }
            }
            self.keep_added(host);
        }
    }

    async fn ask(&mut self, ask: Ask, host: &mut impl Host) -> Result<Noted, Error> {
        let Some(underway) = &mut self.turn else { return Ok(Noted::default()) };
        let messages = underway.turn.sent(ask);
        let tools: Vec<Value> = match ask.has_tools {
            true => underway.turn.definitions(),
            false => Vec::new(),
        };
        let question = ModelRequest { messages: &messages, tools: &tools, options: &self.setting.options };
        underway.asked += 1;
        underway.partial.clear();
        let (mut shown, partial) = (Shown::default(), &mut underway.partial);
        let mut heard = |piece: Piece| match piece {
            Piece::Text(text) => {
                partial.push_str(&text);
                let text = shown.add(&text);
                if !text.is_empty() {
                    host.hear(Event::Text { text });
                }
            }
            Piece::Reasoning(text) => host.hear(Event::Reasoning { text }),
        };
        let answered = model::ask(&self.setting.client, &self.setting.model, &question, &mut heard).await?;
        underway.partial.clear();
        underway.usage += answered.usage;
        let noted = underway.turn.replied(answered.reply);
        if matches!(underway.turn.next(), Next::Done(_)) {
            let rest = shown.rest(underway.turn.answer());
            if !rest.is_empty() {
                host.hear(Event::Text { text: rest });
            }
        }
        Ok(noted)
    }

    fn note(&self, noted: &Noted, host: &mut impl Host) {
        for it in &noted.refinements {
            tracing::info!(iteration = it.iteration, tool = %it.tool, "Model requesting refinement search");
            host.hear(Event::Refinement { iteration: it.iteration, tool: it.tool.clone() });
        }
        for what in &noted.repairs {
            tracing::debug!("{what}");
            host.hear(Event::Repaired { what: what.clone() });
        }
        for why in &noted.refusals {
            host.hear(Event::NotCalled { why: why.clone() });
        }
    }

    /// Offers the tools of the last resort where the model has answered that it does not know.
    async fn fall_back(&mut self, host: &mut impl Host) {
        let Some(underway) = &self.turn else { return };
        let is_unknown = matches!(underway.turn.next(), Next::Done(TurnEnding::Answered))
            && underway.turn.iterations() == 0
            && says_unknown(underway.turn.answer());
        if !is_unknown || underway.has_fallen_back || !self.setting.agent.web_fallback {
            return;
        }
        let (snapshot, supply) = self.supply().await;
        let names = self.setting.hub.web_fallback(&snapshot, &supply);
        let (offers, _) = bind::offered(&snapshot, &supply, &names, (Vec::new(), self.budget()));
        let is_offered = |offer: &Offer| underway.turn.offers().iter().any(|it| it.name == offer.name);
        if offers.is_empty() || offers.iter().all(is_offered) {
            return;
        }
        let tools: Vec<String> = offers.iter().map(|offer| offer.name.clone()).collect();
        if let Some(underway) = &mut self.turn {
            underway.has_fallen_back = true;
            underway.turn.retry_with(offers);
        }
        host.hear(Event::Refreshed {
            tools,
            why: "the model does not know, so it may search the web".to_owned(),
        });
    }

    fn budget(&self) -> &ToolBudget {
        bind::budget(&self.setting.agent, &self.setting.model.name)
    }

    /// Chooses the tools for a message. Of two with the same name, that of somebody else counts.
    async fn bind(&mut self, text: &str) -> Bound {
        let mut bound = self.bind_ours(text).await;
        let foreign = self.setting.foreign.clone();
        bound.offers.retain(|offer| !is_foreign(&foreign, &offer.name));
        bound.offers.extend(foreign);
        bound
    }

    async fn bind_ours(&mut self, text: &str) -> Bound {
        let budget = self.budget().clone();
        match budget.binding {
            Binding::Route | Binding::Search => {
                let mut offers = self.own_tools().await;
                let tokens = bind::tokens(&offers);
                // A model that reads of a tool calls it by its name, whatever it was told.
                let likely = ToolBudget { binding: Binding::Likely, ..budget };
                let hidden = self.bind_real(text, &likely).await.offers.into_iter();
                offers.extend(hidden.map(|offer| Offer { is_shown: false, ..offer }));
                Bound { offers, tokens, why: "the hub's own tools reach all others".to_owned() }
            }
            Binding::Likely | Binding::Toolset | Binding::All => self.bind_real(text, &budget).await,
        }
    }

    async fn bind_real(&mut self, text: &str, budget: &ToolBudget) -> Bound {
        let (snapshot, supply) = self.supply().await;
        let hub = Arc::clone(&self.setting.hub);
        let wanted = Wanted { conversation: Some(&self.name), ..Wanted::plain(text) };
        let heard = hub.hear(&snapshot, &supply, &wanted).await;
        if let Some(skill) = &heard.skill {
            let _ = self.active.activate(&supply.stock(), skill);
        }
        let said = Said { domains: &heard.domains, ranked: &heard.ranked, bound: &heard.bound };
        let selection = self.active.select(&supply.stock(), &said);
        let (names, why) = match budget.binding {
            Binding::Toolset | Binding::Route | Binding::Search => {
                (self.active.listed(&supply.stock()), selection.reasoning)
            }
            Binding::All => {
                let all = supply.registry.tools_up_to_tier(u8::MAX);
                (all.into_iter().map(|tool| Arc::clone(&tool.name)).collect(), "all tools".to_owned())
            }
            Binding::Likely => self.likeliest(&snapshot, &supply, (&heard, &wanted)).await,
        };
        let own = self.skill_offer(&supply);
        let (offers, tokens) = bind::offered(&snapshot, &supply, &names, (own, budget));
        // What helped out once is not offered again.
        let lasting = |name: &Arc<str>| supply.registry.tier(name) != Some(FALLBACK);
        if names.iter().any(lasting) {
            self.offered = names.into_iter().filter(lasting).take(budget.tools).collect();
        }
        Bound { offers, tokens, why }
    }

    /// Returns the tools that a message needs likeliest; none where no tool fits, unless the web may help.
    async fn likeliest(
        &self,
        snapshot: &Arc<Snapshot>,
        supply: &Supply,
        (heard, wanted): (&toolyard_hub::hub::Heard, &Wanted<'_>),
    ) -> (Vec<Arc<str>>, String) {
        let of_skills = self.active.skills().iter().filter_map(|skill| supply.skills.get(&**skill));
        let of_skills: Vec<Arc<str>> =
            of_skills.flat_map(|skill| &skill.tools).map(|tool| tool.as_str().into()).collect();
        let decision = self.setting.hub.rank(snapshot, wanted).await;
        let is_going_on = decision.judgement.is_vague() && !self.offered.is_empty();
        let (found, why) = if is_going_on {
            (self.offered.clone(), "the tools of the message before".to_owned())
        } else if decision.judgement.needs_no_tools() {
            let web = match self.setting.agent.web_fallback && !decision.judgement.is_vague() {
                true => self.setting.hub.web_fallback(snapshot, supply),
                false => Vec::new(),
            };
            let why = match (decision.judgement.is_vague(), web.is_empty()) {
                (true, true) => "the message does not say what is wanted",
                (false, true) => "no tool fits",
                (_, false) => "no tool fits, so the web may help",
            };
            (web, why.to_owned())
        } else {
            let names: Vec<Arc<str>> = heard.bound.iter().chain(&heard.ranked).cloned().collect();
            (names, "the likeliest tools for these words".to_owned())
        };
        let mut names: Vec<Arc<str>> = Vec::new();
        for name in of_skills.into_iter().chain(found) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        (names, why)
    }

    /// Offers the tool that activates skills, where there are any.
    fn skill_offer(&self, supply: &Supply) -> Vec<Offer> {
        if supply.skills.is_empty() {
            return Vec::new();
        }
        let names: Vec<&str> = supply.skills.keys().map(String::as_str).collect();
        let definition = serde_json::json!({
            "name": ACTIVATE_SKILL,
            "description": "Activates a skill: returns its instructions and loads its tools.",
            "inputSchema": {
                "type": "object", "properties": { "name": { "type": "string", "enum": names } }, "required": ["name"],
            },
        });
        vec![Offer::new(definition, true)]
    }

    async fn own_tools(&mut self) -> Vec<Offer> {
        let listed = match self.link().await {
            Ok(link) => link.list().await,
            Err(error) => Err(error),
        };
        let listed = listed.unwrap_or_else(|error| {
            tracing::warn!("the hub's own tools cannot be listed: {error}");
            Vec::new()
        });
        let offer = |tool: &Value| {
            let whole = Offer::new(tool.clone(), true);
            Offer { definition: bind::brief(tool), ..whole }
        };
        listed.iter().map(offer).collect()
    }

    async fn link(&mut self) -> std::io::Result<&mut Link> {
        if self.link.is_none() {
            let link = Link::open(Arc::clone(&self.reception), self.setting.is_attended).await?;
            self.link = Some(link);
        }
        Ok(self.link.as_mut().expect("it was opened"))
    }

    /// Returns what the model is sent: what it is told about its work, and the latest messages that there is room for.
    async fn sent(&self) -> Vec<ChatMessage> {
        let (snapshot, supply) = self.supply().await;
        let has_fallback =
            self.setting.agent.web_fallback && !self.setting.hub.web_fallback(&snapshot, &supply).is_empty();
        let system = prompt::system(&self.setting, &supply, has_fallback);
        let most = self.setting.agent.context_tokens.saturating_mul(bind::TOKEN_BYTES);
        let (theirs, said): (Vec<ChatMessage>, Vec<ChatMessage>) =
            self.messages.iter().cloned().partition(|it| matches!(it, ChatMessage::System { .. }));
        let told: Vec<&str> =
            std::iter::once(system.as_str()).chain(theirs.iter().map(ChatMessage::text)).collect();
        let mut sent = vec![ChatMessage::System { text: told.join("\n\n") }];
        sent.extend(prompt::latest(&said, most).iter().cloned());
        sent
    }

    /// Ends a turn with calls that somebody else makes. Calls of ours in the same reply are not made: their results
    /// would have nobody to keep them.
    fn handed_over(&mut self, calls: Vec<ToolCall>) -> Ended {
        let said = self.turn.as_ref().and_then(|it| it.turn.added().last()).map(|it| it.text().to_owned());
        let ended = self.ended(TurnEnding::Stopped);
        self.turn = None;
        let theirs = calls.into_iter().filter(|call| is_foreign(&self.setting.foreign, &call.name)).collect();
        Ended { text: said.unwrap_or_default(), ending: TurnEnding::Answered, foreign: theirs, ..ended }
    }

    fn ended(&self, ending: TurnEnding) -> Ended {
        let Some(underway) = &self.turn else { return nothing() };
        let turn = &underway.turn;
        let text = match (turn.answer(), turn.last_result()) {
            ("", Some(result)) if ending == TurnEnding::Unanswered => result.to_owned(),
            (answer, _) => answer.to_owned(),
        };
        Ended {
            text,
            ending,
            iterations: turn.iterations(),
            asked: underway.asked,
            calls: underway.calls,
            usage: underway.usage,
            draft: underway.draft.clone().filter(|_| !underway.has_run),
            foreign: Vec::new(),
            pending: turn.pending().clone(),
        }
    }

    /// Adds what a turn has said to the conversation.
    fn keep_added(&mut self, host: &mut impl Host) {
        let Some(underway) = &mut self.turn else { return };
        let fresh: Vec<ChatMessage> = underway.turn.added()[underway.kept..].to_vec();
        underway.kept += fresh.len();
        fresh.into_iter().for_each(|message| self.keep(message, host));
    }

    fn keep(&mut self, message: ChatMessage, host: &mut impl Host) {
        host.hear(Event::Message { message: message.clone() });
        self.messages.push(message);
    }
}

fn says_unknown(answer: &str) -> bool {
    let plain = answer.replace('\u{2019}', "'").to_lowercase().replace("don't", "do not");
    plain.chars().count() <= UNKNOWN_CHARS && plain.contains(&UNKNOWN.to_lowercase())
}

fn nothing() -> Ended {
    Ended {
        text: String::new(),
        ending: TurnEnding::Stopped,
        iterations: 0,
        asked: 0,
        calls: 0,
        usage: Usage::default(),
        draft: None,
        foreign: Vec::new(),
        pending: Default::default(),
    }
}

fn is_foreign(foreign: &[Offer], name: &str) -> bool {
    foreign.iter().any(|offer| offer.name == name)
}

fn fresh_number() -> u64 {
    getrandom::u64().unwrap_or_default()
}
