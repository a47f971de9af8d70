//! The surface `toolset`: the few tools that a conversation needs.
//!
//! A session's list follows the conversation and says so with list_changed. A modern client's list depends on the
//! profile alone; what its conversation has is kept under a handle that it carries in arguments. Either way every
//! active tool can be called at once through `call_tool`.

mod listing; // what is listed, within its budget

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::session::{FALLBACK, Said, Toolset};
use toolyard_core::tool::{Tool, ToolId};

use listing::definitions;

use super::answer::Request;
use super::route;
use super::{View, apps, era, learning, tools};
use crate::access::Within;
use crate::caller::{Answer, Era};
use crate::config::OwnTool;
use crate::fair::{Holding, expendable};
use crate::hub::{Supply, failed_call};
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;
use crate::routing::{LOCAL, Provisional, Wanted};
use crate::skills;

/// Conversations that are kept; beyond, the longest unused of the client with most goes.
const MOST: usize = 10_000;
/// A conversation that rested this long begins anew.
const REST: Duration = Duration::from_secs(24 * 3600);
/// Characters of a session's handle that are looked at.
const HANDLE_CHARS: usize = 64;
/// What is said to who shows a handle that was made up, or that a restart forgot.
const LOST: &str = "This session is not known here; what it had active is gone.";

/// What conversations have active. Nothing of one is seen by another.
#[derive(Debug, Default)]
pub(crate) struct Toolsets(Mutex<HashMap<String, Kept>>);

#[derive(Debug)]
struct Kept {
    toolset: Toolset,
    /// Groups that it asked for on a surface that keeps them apart.
    asked: BTreeSet<Arc<str>>,
    /// The client whose room it takes.
    owner: String,
    at: Instant,
}

impl Toolsets {
    fn of(&self, conversation: &str) -> Option<Toolset> {
        let kept = self.0.lock();
        kept.get(conversation).filter(|it| it.at.elapsed() < REST).map(|it| it.toolset.clone())
    }

    /// Whether something is kept of a conversation.
    pub(crate) fn knows(&self, conversation: &str) -> bool {
        self.of(conversation).is_some()
    }

    /// Returns the groups that a conversation asked for by name, where they are otherwise kept apart.
    pub(super) fn asked(&self, conversation: &str) -> BTreeSet<Arc<str>> {
        let kept = self.0.lock();
        let kept = kept.get(conversation).filter(|it| it.at.elapsed() < REST);
        kept.map(|it| it.asked.clone()).unwrap_or_default()
    }

    /// Notes that a conversation asked for a group; says whether that is new.
    pub(super) fn ask(&self, conversation: &str, owner: &str, group: Arc<str>) -> bool {
        self.change_kept(conversation, owner, |kept| kept.asked.insert(group))
    }

    /// Changes what a conversation has; nobody sees it half done.
    fn change<T>(&self, conversation: &str, owner: &str, change: impl FnOnce(&mut Toolset) -> T) -> T {
        self.change_kept(conversation, owner, |kept| change(&mut kept.toolset))
    }

    fn change_kept<T>(&self, conversation: &str, owner: &str, change: impl FnOnce(&mut Kept) -> T) -> T {
        let mut kept = self.0.lock();
        if kept.len() >= MOST && !kept.contains_key(conversation) {
            kept.retain(|_, it| it.at.elapsed() < REST);
            let expendable = expendable(kept.iter().map(|(name, it)| Holding {
                key: name,
                owner: &it.owner,
                size: 1,
                since: Some(it.at),
            }));
            if let Some(expendable) = expendable.cloned().filter(|_| kept.len() >= MOST) {
                kept.remove(&expendable);
            }
        }
        let fresh = || Kept {
            toolset: Toolset::default(),
            asked: BTreeSet::new(),
            owner: owner.to_owned(),
            at: Instant::now(),
        };
        let it = kept.entry(conversation.to_owned()).or_insert_with(fresh);
        if it.at.elapsed() >= REST {
            *it = fresh();
        }
        it.at = Instant::now();
        change(it)
    }
}

/// The conversation that a request belongs to.
struct Conversation {
    key: String,
    /// What a modern client shows again.
    handle: Option<String>,
}

impl Conversation {
    /// Returns that of a session, or of a handle that is known here.
    fn known(request: &Request, handle: Option<&str>) -> Option<Self> {
        let handle = handle.filter(|handle| handle.len() <= HANDLE_CHARS);
        match request.caller.era {
            Era::Session => Some(Self { key: route::conversation(&request.caller, None)?, handle: None }),
            Era::Modern => {
                let key = route::conversation(&request.caller, Some(handle?))?;
                let is_known = request.reception.toolsets.knows(&key);
                is_known.then(|| Self { key, handle: handle.map(str::to_owned) })
            }
        }
    }

    /// Whether a request shows a handle under which nothing is kept here.
    fn is_lost(request: &Request, handle: Option<&str>) -> bool {
        let Some(handle) = handle.filter(|handle| !handle.is_empty()) else { return false };
        // A question that waits has a handle, too.
        Self::known(request, Some(handle)).is_none() && !route::is_waiting(request, handle)
    }

    /// Returns that of a request, or begins one.
    fn of(request: &Request, handle: Option<&str>) -> Self {
        Self::known(request, handle).unwrap_or_else(|| {
            let handle = route::fresh_handle();
            let key = route::conversation(&request.caller, Some(&handle)).unwrap_or_default();
            Self { key, handle: Some(handle) }
        })
    }
}

/// Returns the tools that a client sees.
pub(crate) async fn list(request: &Request) -> Vec<Box<RawValue>> {
    let snapshot = request.reception.hub.snapshot();
    let supply = supply(request, &snapshot).await;
    let toolset = match request.caller.era {
        Era::Session => Conversation::known(request, None),
        // The list of this era depends on the profile alone.
        Era::Modern => None,
    };
    let toolset = toolset.and_then(|it| request.reception.toolsets.of(&it.key)).unwrap_or_default();
    let list = definitions(request, &snapshot, &supply, &toolset);
    list.into_iter().map(|(_, definition)| definition).collect()
}

/// Tells a model how to use what it sees.
pub(crate) fn instructions(request: &Request) -> String {
    let hub = &request.reception.hub;
    let (settings, servers) = settings(request);
    let within = Within { servers: &servers, effect: request.view.effect() };
    let (usable, _) = hub.shown_skills(&hub.snapshot(), within);
    let skills = skills::prompt(&usable, settings.caps.max_skills);
    let servers = route::servers(hub, &request.view);
    let session = match request.caller.era {
        Era::Modern => " An answer may have a session: give it to the calls that follow.",
        Era::Session => "",
    };
    let has = |own: OwnTool| settings.own.contains(&own);
    let found = match (has(OwnTool::FindTools), has(OwnTool::SmartRoute)) {
        (true, true) => {
            " What is not listed is found with find_tools or reached with smart_route, and then run with \
                         call_tool."
        }
        (true, false) => " What is not listed is found with find_tools, and then run with call_tool.",
        (false, true) => " What is not listed is reached with smart_route.",
        (false, false) => "",
    };
    format!("These few tools stand for those of these servers: {servers}.{found}{session}\n\n{skills}")
}

/// Calls a tool. One that is not active answers with how to activate it.
pub(crate) async fn call(request: Request, name: &str) -> Answer {
    let arguments = request.params.object("arguments");
    let is_going_on = arguments.text("more").is_some_and(|handle| !handle.is_empty());
    let given = arguments.text("session");
    let own = OwnTool::named(name);
    let (target, session) = match own {
        Some(OwnTool::CallTool) => (arguments.text("name").unwrap_or_default(), given.as_deref()),
        Some(OwnTool::SmartRoute | OwnTool::ActivateSkill | OwnTool::FindTools) | None => {
            (name.to_owned(), None)
        }
    };
    // Whether a tool is active is known once its server was heard of, and so is what a skill brings.
    let mut snapshot = tools::snapshot_with(&request, &target).await;
    if own == Some(OwnTool::ActivateSkill) {
        for tool in tools_of(&request, &arguments.text("name").unwrap_or_default()) {
            snapshot = tools::snapshot_with(&request, &tool).await;
        }
    }
    let supply = supply(&request, &snapshot).await;
    let of = (&snapshot, &*supply);
    match own {
        Some(OwnTool::ActivateSkill) => Ok(activate(&request, (&snapshot, &supply), &arguments)),
        Some(OwnTool::FindTools) => find(request, of, given.as_deref()).await,
        Some(OwnTool::SmartRoute) => by_words(request, of).await,
        Some(OwnTool::CallTool) if is_going_on => tools::reach(request, name).await,
        Some(OwnTool::CallTool) => match refused(&request, of, (&target, session)) {
            Some(Err(error)) => Ok(failed_call(&error.message)),
            Some(answer) => answer,
            None => tools::reach(request, name).await,
        },
        // What pages call is in nobody's toolset.
        None if is_for_app(&request, &snapshot, name) => tools::reach(request, name).await,
        None => match refused(&request, of, (name, None)) {
            Some(answer) => answer,
            None => tools::reach(request, name).await,
        },
    }
}

fn is_for_app(request: &Request, snapshot: &Snapshot, name: &str) -> bool {
    snapshot.catalog.get(name).is_some_and(|tool| apps::app_may_call(request, snapshot, tool))
}

fn settings(request: &Request) -> (crate::config::Toolset, Vec<String>) {
    let config = request.reception.hub.config();
    match &request.view {
        View::Surface { servers, profile, .. } => {
            (config.toolset_of(profile.as_deref()).clone(), servers.clone())
        }
        View::Transparent { .. } => (config.toolset.clone(), Vec::new()),
    }
}

/// Names the tools of a skill that may be seen here, whether their servers were heard of or not.
fn tools_of(request: &Request, skill: &str) -> Vec<String> {
    let (_, servers) = settings(request);
    let within = Within { servers: &servers, effect: request.view.effect() };
    let hub = &request.reception.hub;
    let (skills, _) = hub.shown_skills(&hub.snapshot(), within);
    skills
        .get(skill.trim())
        .map_or_else(Vec::new, |skill| skill.tools.iter().map(ToString::to_string).collect())
}

async fn supply(request: &Request, snapshot: &Arc<Snapshot>) -> Arc<Supply> {
    let (settings, servers) = settings(request);
    let within = Within { servers: &servers, effect: request.view.effect() };
    request.reception.hub.supply_within(snapshot, within, &settings).await
}

fn activate(
    request: &Request,
    (snapshot, supply): (&Snapshot, &Supply),
    arguments: &Fields,
) -> Box<RawValue> {
    let Some(name) = arguments.text("name").filter(|name| !name.trim().is_empty()) else {
        let known: Vec<&str> = supply.skills.keys().map(String::as_str).collect();
        return failed_call(&format!("activate_skill needs `name`: one of {}", known.join(", ")));
    };
    let (name, stock) = (name.trim(), supply.stock());
    // What fails begins no conversation: it would take the place of somebody else's.
    if let Err(unknown) = Toolset::default().activate(&stock, name) {
        return failed_call(&unknown.to_string());
    }
    let session = arguments.text("session");
    let is_lost = Conversation::is_lost(request, session.as_deref());
    let conversation = Conversation::of(request, session.as_deref());
    let (before, after, activated) =
        request.reception.toolsets.change(&conversation.key, &request.caller.owner(), |toolset| {
            let before = toolset.listed(&stock);
            let activated = toolset.activate(&stock, name);
            (before, toolset.clone(), activated)
        });
    let activation = match activated {
        Ok(activation) => activation,
        Err(unknown) => return failed_call(&unknown.to_string()),
    };
    if let Some(evicted) = &activation.evicted {
        skills::log_eviction(evicted, name);
    }
    announce(request, &before, &after.listed(&stock));
    let Some(skill) = supply.skills.get(name) else { return failed_call("the skill is gone") };
    let usable: Vec<&Tool> = skill.tools.iter().filter_map(|tool| snapshot.catalog.get(tool)).collect();
    let names: Vec<&str> = usable.iter().map(|tool| tool.id.as_str()).collect();
    let mut text = format!("## {name} - Full Instructions\n\n{}", skill.instructions);
    if !usable.is_empty() {
        text += "\n\nTools of this skill:";
        usable.iter().for_each(|tool| text += &format!("\n{}", tools::one_line(snapshot, tool)));
        text += &format!("\n{}", how_to_call(request, (snapshot, supply), &names, &conversation));
    }
    text += &format!("\n{}", activation.reasoning);
    if is_lost {
        text += &format!("\n{LOST}");
    }
    raw(&json!({
        "content": [{ "type": "text", "text": text }],
        "structuredContent": {
            "skill": name,
            "tools": names,
            "active": after.skills().iter().map(|it| &**it).collect::<Vec<&str>>(),
            "evicted": activation.evicted.as_deref(),
            "session": conversation.handle,
        },
    }))
}

/// Says how tools are called that the client may not list.
fn how_to_call(
    request: &Request,
    (snapshot, supply): (&Snapshot, &Supply),
    names: &[&str],
    conversation: &Conversation,
) -> String {
    if let Some(handle) = &conversation.handle {
        return format!(
            "Call them at once with call_tool {{\"name\": …, \"arguments\": {{…}}, \"session\": \"{handle}\"}}."
        );
    }
    let heeds = era::known_client(request.caller.info.as_deref()).is_some_and(|it| it.heeds_list_changed);
    if !heeds {
        return "Call them at once with call_tool {\"name\": …, \"arguments\": {…}}, or say to smart_route what is \
                wanted; your list of tools may not show them."
            .to_owned();
    }
    let toolset = request.reception.toolsets.of(&conversation.key).unwrap_or_default();
    let listed = definitions(request, snapshot, supply, &toolset);
    let is_listed = |name: &str| listed.iter().any(|(other, _)| **other == *name);
    let left_out: Vec<&str> = names.iter().copied().filter(|name| !is_listed(name)).collect();
    match left_out.as_slice() {
        [] => "They are listed now; call them by name, or with call_tool.".to_owned(),
        all if all.len() == names.len() => {
            "The list has no room for them: call them with call_tool {\"name\": …, \"arguments\": {…}}."
                .to_owned()
        }
        some => format!(
            "They are listed now, except those that the list has no room for: {}. Call these with call_tool \
             {{\"name\": …, \"arguments\": {{…}}}}, and the others by name.",
            some.join(", ")
        ),
    }
}

/// Tells a session's client that its list changed, when it did.
fn announce(request: &Request, before: &[Arc<str>], after: &[Arc<str>]) {
    if request.caller.era == Era::Session && before != after {
        request.caller.notify("notifications/tools/list_changed", None);
    }
}

/// What a message changed.
struct Change {
    /// In words.
    why: String,
    /// The tools that are listed since.
    new: Vec<Arc<str>>,
}

/// What a conversation hears.
struct Message<'a> {
    words: &'a str,
    /// The tools that a search found for it.
    found: &'a [Arc<str>],
}

/// Takes a message in; returns what changed.
async fn hear(
    request: &Request,
    Message { words, found }: Message<'_>,
    (snapshot, supply): (&Arc<Snapshot>, &Supply),
    conversation: &Conversation,
) -> Option<Change> {
    let hub = &request.reception.hub;
    let servers = match &request.view {
        View::Surface { servers, .. } => servers.as_slice(),
        View::Transparent { .. } => &[],
    };
    let wanted = Wanted {
        servers,
        effect: request.view.effect(),
        person: request.caller.grant.name().unwrap_or(LOCAL),
        conversation: Some(&conversation.key),
        ..Wanted::plain(words)
    };
    let mut heard = hub.hear(snapshot, supply, &wanted).await;
    if !found.is_empty() {
        heard.bound = found.to_vec();
    }
    let stock = supply.stock();
    let (before, after, activated, why) =
        request.reception.toolsets.change(&conversation.key, &request.caller.owner(), |toolset| {
            let before = toolset.listed(&stock);
            let skill =
                heard.skill.as_deref().filter(|skill| !toolset.skills().iter().any(|it| **it == **skill));
            let activated = skill.and_then(|skill| toolset.activate(&stock, skill).ok());
            let message = Said { domains: &heard.domains, ranked: &heard.ranked, bound: &heard.bound };
            let selection = toolset.select(&stock, &message);
            (before, selection.tool_names, skill.zip(activated), selection.reasoning)
        });
    announce(request, &before, &after);
    if before == after && activated.is_none() {
        return None;
    }
    let mut told: Vec<String> = Vec::new();
    if let Some((skill, activation)) = activated {
        told.push(activation.reasoning);
        told.push(format!("activate_skill {{\"name\": \"{skill}\"}} shows its instructions."));
    }
    told.extend(Some(why).filter(|_| before != after));
    let new: Vec<Arc<str>> = after.into_iter().filter(|name| !before.contains(name)).collect();
    if !new.is_empty() {
        told.push(format!("New: {}.", new.join(", ")));
    }
    Some(Change { why: told.join(" "), new })
}

async fn find(request: Request, of: (&Arc<Snapshot>, &Supply), session: Option<&str>) -> Answer {
    let (snapshot, supply) = of;
    let arguments = request.params.object("arguments");
    let provisional = Provisional::default();
    let mut found = tools::found(&request, (snapshot, &provisional), &arguments).await;
    if let Some(tools::FoundTools { tools: found, .. }) = &mut found {
        let tier = |tool: &Tool| supply.registry.tier(tool.id.as_str());
        let first = found.first().copied();
        // A last resort is offered where it comes first, or where it is asked for by name.
        let is_wanted = |tool: &Tool| first.is_some_and(|first| first.server == tool.server);
        found.retain(|tool| tier(tool).is_some_and(|tier| tier < FALLBACK) || is_wanted(tool));
    }
    let answer = tools::search_result(&request, snapshot, &arguments, found.as_ref());
    let answer = learning::noted(&request.reception.hub, &provisional, answer);
    let names = found.iter().flat_map(|it| &it.tools).map(|tool| Arc::from(tool.id.as_str()));
    let names: Vec<Arc<str>> = names.collect();
    let known = Conversation::known(&request, session);
    let is_kept = known.is_some_and(|it| request.reception.toolsets.knows(&it.key));
    let lost = if Conversation::is_lost(&request, session) { LOST } else { "" };
    if names.is_empty() && !is_kept {
        return Ok(tools::with_line(&answer, lost));
    }
    let conversation = Conversation::of(&request, session);
    let query = arguments.text("query").unwrap_or_default();
    let why = hear(&request, Message { words: &query, found: &names }, of, &conversation)
        .await
        .map(|change| change.why);
    let how = match names.as_slice() {
        [] => String::new(),
        names => {
            let names: Vec<&str> = names.iter().map(|name| &**name).collect();
            how_to_call(&request, (snapshot, supply), &names, &conversation)
        }
    };
    Ok(tools::with_line(&answer, &format!("{lost} {how} {}", why.unwrap_or_default())))
}

/// Routes words; what they are about becomes active.
async fn by_words(request: Request, of: (&Arc<Snapshot>, &Supply)) -> Answer {
    let arguments = request.params.object("arguments");
    let (task, context) = (arguments.text("task").unwrap_or_default(), arguments.object("context"));
    let session = context.text("session");
    let conversation = Conversation::known(&request, session.as_deref());
    // An answer to a question, a confirmation and the rest of a result are about what was said before.
    let goes_on = ["confirm", "more"].iter().any(|key| context.text(key).is_some())
        || session.is_some_and(|handle| route::is_waiting(&request, &handle));
    let mut line = String::new();
    if let Some(conversation) = conversation.filter(|_| !goes_on && !task.trim().is_empty())
        && let Some(Change { why, new }) =
            hear(&request, Message { words: &task, found: &[] }, of, &conversation).await
    {
        let new: Vec<&str> = new.iter().map(|name| &**name).collect();
        let how = match new.as_slice() {
            [] => String::new(),
            new => format!(" {}", how_to_call(&request, (of.0, of.1), new, &conversation)),
        };
        line = format!("[{why}{how}]");
    }
    let answer = Box::pin(route::call(request)).await?;
    Ok(tools::with_line(&answer, &line))
}

/// Answers for a tool that is not active or not known; `None` where it is active, or refused by who calls it.
fn refused(
    request: &Request,
    (snapshot, supply): (&Arc<Snapshot>, &Supply),
    (tool, session): (&str, Option<&str>),
) -> Option<Answer> {
    let Some(entry) = supply.registry.get(tool) else {
        // Its server may come to have it between this look and the call, and nobody would have activated it.
        let may_come = tool.parse::<ToolId>().is_ok() && snapshot.catalog.get(tool).is_none();
        return may_come.then(|| tools::absent(request, snapshot, tool));
    };
    let conversation = Conversation::known(request, session);
    let toolset = conversation.as_ref().and_then(|it| request.reception.toolsets.of(&it.key));
    if toolset.unwrap_or_default().is_active(&supply.stock(), tool) {
        return None;
    }
    let skills = supply.skills_with(tool);
    let way = match skills.first() {
        Some(skill) => {
            format!("It belongs to the skill `{skill}`: call activate_skill {{\"name\": \"{skill}\"}} first.")
        }
        None => {
            let (_, words) = entry.name.split_once("__").unwrap_or_default();
            let words = words.replace(['_', '-'], " ");
            format!("Call find_tools {{\"query\": \"{words}\"}} first, or say to smart_route what is wanted.")
        }
    };
    let then = match (request.caller.era, &conversation) {
        (Era::Modern, None) => " Its answer has a `session`: give it to call_tool.",
        (Era::Modern | Era::Session, _) => "",
    };
    let lost = if Conversation::is_lost(request, session) { LOST } else { "" };
    let text = format!("{lost} `{tool}` is not active in this conversation; nothing was done. {way}{then}");
    Some(Ok(failed_call(text.trim_start())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use toolyard_core::session::{Caps, Registry, Stock};

    use super::*;

    #[test]
    fn s5_a_thousand_conversations_at_once_keep_their_own_skills() {
        let (toolsets, registry) = (Toolsets::default(), Registry::default());
        let skills: BTreeMap<Arc<str>, Vec<Arc<str>>> =
            (0..1000).map(|at| (format!("s{at}").into(), vec![format!("t{at}").into()])).collect();
        let stock =
            Stock { registry: &registry, core: &[], tier: None, skills: &skills, caps: Caps::STANDARD };
        std::thread::scope(|scope| {
            for first in 0..8 {
                let (toolsets, stock) = (&toolsets, &stock);
                scope.spawn(move || {
                    for turn in 0..3 {
                        for number in (first..1000).step_by(8) {
                            let skill = format!("s{}", (number + turn) % 1000);
                            let activate = |toolset: &mut Toolset| toolset.activate(stock, &skill).map(drop);
                            toolsets.change(&number.to_string(), "ana", activate).expect("the skill exists");
                        }
                    }
                });
            }
        });
        for number in 0..1000 {
            let own: Vec<String> = (0..3).map(|turn| format!("t{}", (number + turn) % 1000)).collect();
            let listed = toolsets.of(&number.to_string()).expect("it is kept").listed(&stock);
            assert_eq!(listed.iter().map(ToString::to_string).collect::<Vec<_>>(), own);
        }
    }

    #[test]
    fn t27_thousands_of_conversations_of_one_client_displace_none_of_another() {
        let toolsets = Toolsets::default();
        toolsets.change("bob", "bob", |_| ());
        for number in 0..MOST + 5 {
            toolsets.change(&number.to_string(), "ana", |_| ());
        }
        assert!(toolsets.knows("bob") && !toolsets.knows("0") && toolsets.knows(&MOST.to_string()));
    }

    #[test]
    fn s9_conversations_are_bounded_and_apart() {
        let toolsets = Toolsets::default();
        for number in 0..MOST + 5 {
            toolsets.change(&number.to_string(), "ana", |_| ());
        }
        assert_eq!(toolsets.0.lock().len(), MOST);
        assert!(!toolsets.knows("0") && toolsets.knows(&MOST.to_string()));
    }
}
