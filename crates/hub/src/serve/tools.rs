//! What tools a client sees, and calls to them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolyard_core::arguments::Form;
use toolyard_core::hazard::ambiguous;
use toolyard_core::tool::{Effect, Hints, Tool, ToolId, clean};

use super::answer::Request;
use super::remainder::{self, Fitted, Rest};
use super::{View, apart, apps, learning, park, renamed, route, toolset, unfolded};
use crate::audit::Fate;
use crate::caller::{Answer, Era};
use crate::config::{Callers, Surface};
use crate::hub::{CONFIRMATION, failed_call, listed_consolidated};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::live::Snapshot;
use crate::routing::{Findings, Provisional};
use crate::upstream::Upstream;
use crate::workflows::SERVER;

/// Tools in one answer of `find_tools`, unless asked for more.
const FOUND: usize = 8;
const MOST_FOUND: usize = 50;
/// Characters of a tool's description in one line.
const LINE_CHARS: usize = 110;
/// Characters of a name that nobody has, in what is said about it.
const SHOWN_CHARS: usize = 100;

/// How long after a new configuration a list still waits for servers that were never reached.
const FIRST_LIST: Duration = Duration::from_millis(800);

/// Returns the tools of the client's surface.
pub(crate) async fn list(request: &Request) -> Box<RawValue> {
    let hub = &request.reception.hub;
    if matches!(request.view.surface(hub, &request.caller), Surface::All | Surface::Toolset) {
        // A server that takes long, or never starts, delays only who comes first.
        let patience = FIRST_LIST.saturating_sub(hub.configured_for());
        hub.first_heard(patience, |upstream| request.view.shows(&upstream.name)).await;
    }
    let tools: Vec<Box<RawValue>> = match request.view.surface(hub, &request.caller) {
        Surface::All => {
            let snapshot = hub.snapshot();
            let asked = apart::asked(request);
            let seen = snapshot.catalog.tools().iter().filter(|tool| {
                let is_shown =
                    is_seen(request, &snapshot, tool) || apps::is_listed_for_apps(request, &snapshot, tool);
                is_shown && apart::is_listed(request, tool, &asked)
            });
            let (consolidated, mut shown) =
                (hub.consolidated_up_to(request.view.effect(), &snapshot), BTreeSet::new());
            let one = |tool: &Tool| match consolidated.owner(tool) {
                Some((id, owner)) => {
                    let is_new = shown.insert(id.as_str().to_owned());
                    is_new.then(|| listed_consolidated(&id, owner))
                }
                None => RawValue::from_string(listed(request, &snapshot, tool)).ok(),
            };
            seen.filter_map(one).chain(apart::search_tools(request, &snapshot)).collect()
        }
        Surface::Route | Surface::Auto => {
            let is_compact = hub.config().serve.compact;
            let length = if is_compact { route::Length::Compact } else { route::Length::Full };
            vec![apps::with_own_page(request, route::definition(length, request.view.callers()))]
        }
        Surface::Search => search_tools(request),
        Surface::Toolset => toolset::list(request).await,
    };
    // `json!` would read the definitions and write their numbers anew.
    let mut result = Fields::default();
    result.set("tools", raw(&tools));
    raw(&result)
}

/// Whether a client may use a tool.
pub(super) fn is_seen(request: &Request, snapshot: &Snapshot, tool: &Tool) -> bool {
    let hub = &request.reception.hub;
    request.view.shows(&tool.server) && hub.permits_up_to(request.view.effect(), snapshot, tool)
}

/// Says that there is no such tool, and which of those that the client may see are near.
fn unknown(request: &Request, snapshot: &Snapshot, name: &str) -> ErrorObject {
    let hub = &request.reception.hub;
    hub.unknown_among(snapshot, name, |tool| is_seen(request, snapshot, tool))
}

/// Answers a call of a tool that is not there. That its server is off, or that it waits for a person, is for a model
/// to read.
pub(crate) fn absent(request: &Request, snapshot: &Snapshot, name: &str) -> Answer {
    let hub = &request.reception.hub;
    if let Some(why) = hub.waits(name, |server| request.view.shows(server)) {
        let effect = Effect::infer(name, Hints::default());
        hub.noted(name, effect, &request.params, &request.caller).end(Fate::Denied);
        return Ok(failed_call(&why));
    }
    match request.reception.hub.off(name, |server| request.view.shows(server)) {
        Some(why) => Ok(failed_call(&why)),
        None => Err(unknown(request, snapshot, name)),
    }
}

/// Shows a tool as it can be called: one that is asked about takes the confirmation as an argument.
pub(crate) fn listed(request: &Request, snapshot: &Snapshot, tool: &Tool) -> String {
    let definition = match request.reception.hub.asks_before(snapshot, tool) {
        true if !has_own_confirmation(request, tool) => {
            tool.listed_with(request.reception.hub.confirmation(tool), CONFIRMATION)
        }
        true | false => tool.listed(),
    };
    apps::with_page_address(snapshot, tool, definition)
}

/// Whether the argument that confirms a call is one that the tool lists itself.
pub(crate) fn has_own_confirmation(request: &Request, tool: &Tool) -> bool {
    let confirmation = request.reception.hub.confirmation(tool);
    tool.parameters.iter().any(|parameter| parameter.name == confirmation)
}

/// Tells a model how to use what it sees.
pub(crate) fn instructions(request: &Request) -> String {
    match request.view.surface(&request.reception.hub, &request.caller) {
        Surface::All => {
            let apart = apart::instructions(request);
            format!("Tools of many servers behind one plug; each is named server__tool.{apart}")
        }
        Surface::Toolset => toolset::instructions(request),
        Surface::Search => {
            "Many tools stand behind these three. Find one with find_tools, read its parameters with describe_tool \
             if the line is not enough, run it with call_tool."
                .to_owned()
        }
        Surface::Route | Surface::Auto => {
            let servers = route::servers(&request.reception.hub, &request.view);
            let how = match request.view.callers() {
                Callers::Strong => {
                    "Say in task one action in a few words, and in values every value that is known, under any name."
                }
                Callers::Small => "Say in task what is wanted, in the person's own words.",
            };
            format!(
                "smart_route reaches the tools of these servers: {servers}. {how} When it asks, answer with \
                 context.session."
            )
        }
    }
}

/// The tools of the surface `search`, and of `all` where groups are kept apart.
pub(super) const SEARCH_TOOLS: [&str; 3] = ["find_tools", "describe_tool", "call_tool"];

/// Returns the tools with which others are found and called.
pub(super) fn search_tools(request: &Request) -> Vec<Box<RawValue>> {
    SEARCH_TOOLS.iter().map(|name| search_tool(request, name, None)).collect()
}

/// Returns the definition of a tool with which others are found and called; with a parameter for the conversation
/// where it needs one.
pub(crate) fn search_tool(request: &Request, tool: &str, session: Option<Value>) -> Box<RawValue> {
    let name = json!({ "type": "string", "description": "server__tool, as find_tools shows it" });
    let mut definition = match tool {
        "find_tools" => json!({
            "name": "find_tools",
            "description": "Finds tools by what you want to do. Answers one line per tool: name(parameters; ? optional) - what it does.",
            "inputSchema": { "type": "object", "properties": {
                "query": { "type": "string", "description": "What you want to do, e.g. \"create a GitHub issue\"" },
                "server": { "type": "string", "description": "Only this server; without query: all its tools" },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST_FOUND },
            }},
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        }),
        "describe_tool" => json!({
            "name": "describe_tool",
            "description": "Shows a tool's full description and input schema.",
            "inputSchema": { "type": "object", "properties": { "name": name }, "required": ["name"] },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        }),
        _ => json!({
            "name": "call_tool",
            "description": "Runs a tool and returns its result.",
            "inputSchema": { "type": "object", "properties": {
                "name": name,
                "arguments": { "type": "object", "description": "As the tool's input schema says" },
                "confirm": { "type": "boolean", "description": "true for what removes something or cannot be undone" },
                "more": { "type": "string", "description": "The handle with which a long result goes on" },
            }, "required": ["name"] },
        }),
    };
    if let Some(session) = session {
        definition["inputSchema"]["properties"]["session"] = session;
    }
    match tool {
        "call_tool" => apps::with_own_page(request, raw(&definition)),
        _ => raw(&definition),
    }
}

/// Calls a tool. Every tool stays reachable by its own name, whatever the surface lists.
pub(crate) async fn call(mut request: Request) -> Answer {
    let Some(mut name) = request.params.text("name") else {
        return Err(ErrorObject::invalid_params("`tools/call` needs the tool's `name`"));
    };
    let deprecated = match renamed::current(&mut request, &name).await {
        Ok(deprecated) => deprecated,
        Err(answer) => return Ok(answer),
    };
    if deprecated.is_some() {
        name = request.params.text("name").unwrap_or(name);
    }
    let name = match unfolded::original(&mut request, name).await {
        Ok(name) => name,
        Err(answer) => return answer,
    };
    let name = match apps::called_by_app(&request, &request.reception.hub.snapshot(), &name) {
        Some(tool) if deprecated.is_none() => tool.id.as_str().to_owned(),
        Some(_) | None => name,
    };
    let answer = match request.view.surface(&request.reception.hub, &request.caller) {
        Surface::Toolset => toolset::call(request, &name).await,
        Surface::All | Surface::Search | Surface::Route | Surface::Auto => reach(request, &name).await,
    };
    match deprecated {
        Some(deprecated) => answer.map(|result| deprecated.noted(result)),
        None => answer,
    }
}

/// Calls a tool that may be called.
pub(crate) async fn reach(mut request: Request, name: &str) -> Answer {
    let snapshot = snapshot_with(&request, name).await;
    let surface = request.view.surface(&request.reception.hub, &request.caller);
    let is_offered = surface != Surface::All
        || SEARCH_TOOLS.contains(&name) && !apart::groups(&request, &snapshot).is_empty();
    let is_own = is_offered && snapshot.catalog.get(name).is_none();
    if !is_own {
        return call_by_name(request, &snapshot, name).await;
    }
    let arguments = request.params.object("arguments");
    match name {
        // Few calls are so large that all others should not be as large.
        route::NAME => Box::pin(route::call(request)).await,
        "find_tools" => {
            let provisional = Provisional::default();
            let found = found(&request, (&snapshot, &provisional), &arguments).await;
            let answer = search_result(&request, &snapshot, &arguments, found.as_ref());
            let answer = learning::noted(&request.reception.hub, &provisional, answer);
            Ok(with_line(&answer, apart::ask(&request, &snapshot, &arguments).unwrap_or_default()))
        }
        "describe_tool" => Ok(describe(&request, &snapshot, &arguments)),
        "call_tool" => {
            let Some(target) = arguments.text("name") else {
                return Ok(failed_call("call_tool needs `name`: a tool as find_tools shows it"));
            };
            if let Some(handle) = arguments.text("more").filter(|handle| !handle.is_empty()) {
                return Ok(more(&request, &target, &handle));
            }
            let snapshot = snapshot_with(&request, &target).await;
            let inner = match inner_arguments(&arguments) {
                Ok(inner) => {
                    let tool = snapshot.catalog.get(&target);
                    let confirmation = tool.map(|tool| request.reception.hub.confirmation(tool));
                    confirmed(inner, &arguments, confirmation)
                }
                Err(why) => return Ok(failed_call(&why)),
            };
            request.params.set("arguments", inner);
            // What waits for an answer is bound to the tool, not to the way it was called.
            request.params.set("name", raw(&target));
            let (reception, caller) = (Arc::clone(&request.reception), Arc::clone(&request.caller));
            let note = snapshot
                .catalog
                .get(&target)
                .and_then(|tool| apps::app_of(&caller, &snapshot, tool, request.params.get("arguments")?));
            let answer = call_by_name(request, &snapshot, &target).await;
            let result = answer.or_else(|error| match error.code {
                // A model reads results; an error of the protocol may never reach it.
                ErrorObject::INVALID_PARAMS => Ok(failed_call(&error.message)),
                _ => Err(error),
            })?;
            let budget = reception.hub.config().serve.result_bytes;
            let Fitted { result, rest } = reception.remainders.fit(result, budget, &caller);
            let result = apps::with_app(result, note);
            Ok(match rest {
                Some(rest) => remainder::going_on(&result, &going_on(&target, &rest)),
                None => result,
            })
        }
        _ => absent(&request, &snapshot, name),
    }
}

/// Answers with the next page of a long result.
fn more(request: &Request, tool: &str, handle: &str) -> Box<RawValue> {
    let budget = request.reception.hub.config().serve.result_bytes;
    let page = request.reception.remainders.page(handle, budget, &request.caller.principal);
    let Some(page) = page else {
        return failed_call("this result is not kept here, or its time is over; call the tool again");
    };
    let result = raw(&json!({ "content": [{ "type": "text", "text": page.text }] }));
    match page.rest {
        Some(rest) => remainder::going_on(&result, &going_on(tool, &rest)),
        None => result,
    }
}

fn going_on(tool: &str, rest: &Rest) -> String {
    let Rest { handle, bytes } = rest;
    format!("[{bytes} bytes more: call_tool {{\"name\": \"{tool}\", \"more\": \"{handle}\"}}]")
}

/// Returns the catalog, after a server that was never reached but that the name belongs to was heard of.
pub(crate) async fn snapshot_with(request: &Request, tool: &str) -> Arc<Snapshot> {
    let hub = &request.reception.hub;
    let snapshot = hub.snapshot();
    if snapshot.catalog.get(tool).is_some() {
        return snapshot;
    }
    // A workflow is a tool as soon as the tools that it uses are known.
    let templates = hub.templates();
    let workflow = templates.iter().find(|it| ToolId::new(SERVER, &it.name).as_str() == tool);
    let workflow = workflow.filter(|_| request.view.shows(SERVER));
    let used: Vec<&str> = workflow.into_iter().flat_map(|it| it.tools().map(ToolId::as_str)).collect();
    let is_of = |tool: &str, upstream: &Upstream| {
        let rest = tool.strip_prefix(&*ToolId::server_prefix(&upstream.name));
        rest.is_some_and(|rest| rest.starts_with("__"))
    };
    let owns = |upstream: &Upstream| {
        let is_meant = is_of(tool, upstream) && request.view.shows(&upstream.name);
        (is_meant || used.iter().any(|tool| is_of(tool, upstream)))
            && !snapshot.listings.contains_key(&upstream.name)
    };
    let patience = hub.upstreams().into_iter().filter(|it| owns(it)).map(|it| it.config.limits.start).max();
    if let Some(patience) = patience {
        hub.first_heard(patience, owns).await;
    }
    hub.snapshot()
}

/// Puts a confirmation beside the arguments among them, where a call by name has it.
fn confirmed(inner: Box<RawValue>, given: &Fields, confirmation: Option<&str>) -> Box<RawValue> {
    let (Some(given), Some(confirmation)) = (given.get("confirm"), confirmation) else { return inner };
    let mut fields = Fields::parse(Some(&inner)).unwrap_or_default();
    if fields.get(confirmation).is_none() {
        fields.set(confirmation, given.to_owned());
    }
    raw(&fields)
}

/// Models write the arguments as an object, as JSON text, or leave them out.
pub(crate) fn inner_arguments(arguments: &Fields) -> Result<Box<RawValue>, String> {
    let Some(given) = arguments.get("arguments") else { return Ok(raw(&json!({}))) };
    if given.get().starts_with('{') {
        return Ok(given.to_owned());
    }
    let wrong = || "call_tool needs `arguments` as an object, e.g. {\"path\": \"a.txt\"}".to_owned();
    let text = serde_json::from_str::<Option<String>>(given.get()).map_err(|_| wrong())?.unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(raw(&json!({})));
    }
    let parsed = RawValue::from_string(text.trim().to_owned()).ok();
    let parsed = parsed.filter(|parsed| parsed.get().starts_with('{')).ok_or_else(wrong)?;
    match ambiguous(parsed.get()) {
        Some(ambiguity) => Err(ambiguity.to_string()),
        None => Ok(parsed),
    }
}

async fn call_by_name(request: Request, snapshot: &Snapshot, name: &str) -> Answer {
    let hub = &request.reception.hub;
    // One that the configuration forbids is refused by name, so that nobody looks for a slip of the pen.
    let Some(tool) = snapshot.catalog.get(name).filter(|tool| request.view.shows(&tool.server)) else {
        return absent(&request, snapshot, name);
    };
    if let Some(conversation) = route::conversation(&request.caller, None) {
        hub.note_use(&conversation, name);
    }
    let (reception, caller) = (Arc::clone(&request.reception), Arc::clone(&request.caller));
    let result = match caller.era {
        Era::Modern => park::call(request, tool.clone()).await?,
        Era::Session => hub.call(snapshot, name, request.params, &caller).await?,
    };
    Ok(reception.tasks.named(&reception.hub, &tool.server, &caller, result))
}

/// Adds a line of text to a result.
pub(super) fn with_line(result: &RawValue, line: &str) -> Box<RawValue> {
    let mut fields = Fields::parse(Some(result)).unwrap_or_default();
    let mut content: Vec<Box<RawValue>> = fields.read("content").unwrap_or_default();
    // A question of a modern server is no result yet.
    if content.is_empty() || line.trim().is_empty() {
        return result.to_owned();
    }
    content.push(raw(&json!({ "type": "text", "text": line.trim() })));
    fields.set("content", raw(&content));
    raw(&fields)
}

/// Tells what a search found; `None` where it asked for nothing.
pub(crate) fn search_result(
    request: &Request,
    snapshot: &Snapshot,
    arguments: &Fields,
    found: Option<&FoundTools<'_>>,
) -> Box<RawValue> {
    let Some(FoundTools { tools: found, is_close }) = found else {
        let servers = servers(request, snapshot);
        return failed_call(&format!("find_tools needs `query`, or `server`: one of {servers}"));
    };
    let server = arguments.text("server");
    let mut text = if *is_close { String::new() } else { "No close match. The nearest:\n".to_owned() };
    for tool in found {
        let _ = writeln!(text, "{}", one_line(snapshot, tool));
    }
    if found.is_empty() {
        text = match &server {
            Some(server) if snapshot.catalog.of_server(server).is_empty() => {
                let shown: String =
                    clean(server).chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect();
                format!("There is no server `{shown}` with tools. Servers: {}", servers(request, snapshot))
            }
            _ => format!("No tool fits these words. Servers: {}", servers(request, snapshot)),
        };
    }
    raw(&json!({ "content": [{ "type": "text", "text": text.trim_end() }] }))
}

/// What a search shows.
pub(crate) struct FoundTools<'s> {
    pub(crate) tools: Vec<&'s Tool>,
    /// Whether something among them may be what is wanted.
    is_close: bool,
}

/// Returns the tools that a search asks for; `None` where it asks for nothing.
pub(crate) async fn found<'s>(
    request: &Request,
    (snapshot, provisional): (&'s Snapshot, &Provisional),
    arguments: &Fields,
) -> Option<FoundTools<'s>> {
    let query = arguments.text("query").unwrap_or_default();
    let server = arguments.text("server");
    let limit = arguments.read::<usize>("limit").unwrap_or(FOUND).clamp(1, MOST_FOUND);
    let fits = |tool: &Tool| {
        is_seen(request, snapshot, tool) && server.as_deref().is_none_or(|only| *tool.server == *only)
    };
    if query.trim().is_empty() {
        let tools = snapshot.catalog.of_server(&server?).iter();
        let tools = tools.filter(|tool| is_seen(request, snapshot, tool)).collect();
        return Some(FoundTools { tools, is_close: true });
    }
    // A filter by server is applied after ranking, so more are ranked than shown.
    let is_filtered = server.is_some()
        || request.view.effect() < Effect::Destroy
        || !matches!(&request.view, View::Surface { servers, .. } if servers.is_empty());
    let most = if is_filtered { 500 } else { limit };
    let Findings { tools, is_close } = request.reception.hub.find(snapshot, &query, most, provisional).await;
    let ranked = tools.into_iter().map(|(at, _)| &snapshot.catalog.tools()[at]);
    Some(FoundTools { tools: ranked.filter(|tool| fits(tool)).take(limit).collect(), is_close })
}

fn servers(request: &Request, snapshot: &Snapshot) -> String {
    let names = snapshot.catalog.servers().filter(|(name, _)| request.view.shows(name));
    names.map(|(name, tools)| format!("{name} ({tools})")).collect::<Vec<_>>().join(", ")
}

/// Writes a tool as one line: its name, what it takes, what it does.
pub(crate) fn one_line(snapshot: &Snapshot, tool: &Tool) -> String {
    line(snapshot, tool, |form| form.signature(&[]))
}

/// The same with the names alone of what may be left out.
pub(crate) fn brief_line(snapshot: &Snapshot, tool: &Tool) -> String {
    line(snapshot, tool, |form| form.brief_signature(&[]))
}

fn line(snapshot: &Snapshot, tool: &Tool, signed: impl Fn(&Form) -> String) -> String {
    let position = snapshot.catalog.position(tool.id.as_str());
    let takes = position.map(|it| signed(snapshot.catalog.form(it))).unwrap_or_default();
    let description = tool.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = description.split_inclusive(". ").next().unwrap_or_default().trim();
    let short: String = if sentence.chars().count() > LINE_CHARS {
        sentence.chars().take(LINE_CHARS).chain(['…']).collect()
    } else {
        sentence.to_owned()
    };
    format!("{}{takes} - {short}", tool.id.as_str())
}

fn describe(request: &Request, snapshot: &Snapshot, arguments: &Fields) -> Box<RawValue> {
    let name = arguments.text("name").unwrap_or_default();
    match snapshot.catalog.get(&name).filter(|tool| is_seen(request, snapshot, tool)) {
        Some(tool) => {
            raw(&json!({ "content": [{ "type": "text", "text": listed(request, snapshot, tool) }] }))
        }
        None => absent(request, snapshot, &name).unwrap_or_else(|error| failed_call(&error.message)),
    }
}
