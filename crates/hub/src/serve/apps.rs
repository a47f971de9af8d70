//! Apps of servers: pages with which a host shows what a tool answered (MCP Apps).
//!
//! A page belongs to the server whose tools name it, and passes as it is. Where two servers name the same address, each
//! has an address of its own here. The hub has a page, too, for what `smart_route` and `call_tool` answer; it shows the
//! page of the tool that ran inside of itself.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolyard_core::tool::{Tool, ToolId};

use super::answer::Request;
use super::{offers, park};
use crate::caller::{Answer, Caller};
use crate::extensions::{APPS, PAGE};
use crate::jsonrpc::{Fields, raw};
use crate::live::Snapshot;
use crate::skills::encoded;
use crate::upstream::Repeat;

/// The scheme of pages.
const SCHEME: &str = "ui://";
/// The address of the hub's own page.
const OWN_PAGE: &str = "ui://toolyard/app.html";
const HTML: &str = include_str!("app.html");
/// Begins the address of a page that two servers claim; the server and the rest of its own address follow.
const APART: &str = "ui://server.toolyard/";
/// Where a result names the page of the tool that ran.
pub(crate) const NOTE: &str = "toolyard/app";

/// Names the hub's own page in the definition of a tool of the hub, unless that is turned off.
pub(crate) fn with_own_page(request: &Request, definition: Box<RawValue>) -> Box<RawValue> {
    if !request.reception.hub.config().serve.app {
        return definition;
    }
    let mut fields = Fields::parse(Some(&definition)).unwrap_or_default();
    let mut meta = fields.object("_meta");
    meta.set("ui", raw(&json!({ "resourceUri": OWN_PAGE })));
    fields.set("_meta", raw(&meta));
    raw(&fields)
}

/// Whether a client shows pages.
fn shows_pages(caller: &Caller) -> bool {
    let extensions = caller.capabilities.object("extensions");
    let kinds: Option<Vec<String>> = extensions.object(APPS).read("mimeTypes");
    extensions.get(APPS).is_some() && kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind == PAGE))
}

/// Whether a tool is listed for the apps of its server alone: by its host, which keeps it from the model.
pub(crate) fn is_listed(request: &Request, snapshot: &Snapshot, tool: &Tool) -> bool {
    let hub = &request.reception.hub;
    !tool.is_for_models()
        && tool.is_for_apps()
        && shows_pages(&request.caller)
        && request.view.shows(&tool.server)
        && hub.permits_anyone(request.view.effect(), snapshot, tool)
}

/// Returns the tool that an app means: it knows those of its server by the names that they have there.
pub(crate) fn meant<'s>(request: &Request, snapshot: &'s Snapshot, name: &str) -> Option<&'s Tool> {
    if !shows_pages(&request.caller) || snapshot.catalog.get(name).is_some() {
        return None;
    }
    let has_page =
        |tool: &&Tool| snapshot.catalog.of_server(&tool.server).iter().any(|it| it.app_address().is_some());
    let is_meant = |tool: &&Tool| tool.name == name && tool.is_for_apps() && request.view.shows(&tool.server);
    let mut named = snapshot.catalog.tools().iter().filter(is_meant).filter(has_page);
    named.next().filter(|_| named.next().is_none())
}

/// Gives a definition the address that its page has here.
pub(crate) fn readdressed(snapshot: &Snapshot, tool: &Tool, definition: String) -> String {
    let Some(address) = tool.app_address().filter(|it| snapshot.contested_pages().contains(*it)) else {
        return definition;
    };
    let Ok(mut fields) = serde_json::from_str::<Fields>(&definition) else { return definition };
    let mut meta = fields.object("_meta");
    let mut ui = meta.object("ui");
    let apart = raw(&apart(tool, address));
    if meta.get(OLD_KEY).is_some() {
        meta.set(OLD_KEY, apart.clone());
    }
    ui.set("resourceUri", apart);
    meta.set("ui", raw(&ui));
    fields.set("_meta", raw(&meta));
    raw(&fields).get().to_owned()
}

/// How definitions named their page before the extension was final.
const OLD_KEY: &str = "ui/resourceUri";

/// Returns an address that no other server can claim.
fn apart(tool: &Tool, address: &str) -> String {
    let rest = address.strip_prefix(SCHEME).unwrap_or(address);
    format!("{APART}{}/{rest}", encoded(&tool.server))
}

/// Reads a page at an address of the hub's own; `None` where it is none.
pub(crate) async fn read(mut request: Request, address: &str) -> Result<Answer, Request> {
    if address == OWN_PAGE && request.reception.hub.config().serve.app {
        let page = json!({ "uri": OWN_PAGE, "mimeType": PAGE, "text": HTML, "_meta": { "ui": {} } });
        return Ok(Ok(raw(&json!({ "contents": [page] }))));
    }
    let Some((name, rest)) = address.strip_prefix(APART).and_then(|it| it.split_once('/')) else {
        return Err(request);
    };
    let snapshot = request.reception.hub.snapshot();
    let is_meant = |server: &&Arc<str>| request.view.shows(server) && encoded(server) == name;
    let Some(server) = snapshot.listings.keys().find(is_meant).cloned() else {
        return Ok(Err(offers::not_found(address)));
    };
    let own = format!("{SCHEME}{rest}");
    request.params.set("uri", raw(&own));
    let answer = park::forwarded(request, &server, Repeat::Safe).await;
    Ok(answer.map(|result| renamed(&result, &own, address)))
}

/// Returns what was read under the address that was asked for.
fn renamed(result: &RawValue, own: &str, address: &str) -> Box<RawValue> {
    let mut fields = Fields::parse(Some(result)).unwrap_or_default();
    let Some(mut contents) = fields.read::<Vec<Fields>>("contents") else { return result.to_owned() };
    for content in contents.iter_mut().filter(|content| content.text("uri").as_deref() == Some(own)) {
        content.set("uri", raw(&address));
    }
    fields.set("contents", raw(&contents));
    raw(&fields)
}

/// Says in a result which page shows it, for the hub's own page to open it.
pub(crate) fn note(caller: &Caller, tool: &Tool, arguments: &RawValue) -> Option<Value> {
    let address = tool.app_address().filter(|_| shows_pages(caller))?;
    Some(json!({
        "resourceUri": apart(tool, address),
        "server": &*ToolId::server_prefix(&tool.server),
        "tool": tool.id.as_str(),
        "arguments": arguments,
    }))
}

/// Puts the note into a result, in the place of any that a server wrote there itself.
pub(crate) fn noted(result: Box<RawValue>, note: Option<Value>) -> Box<RawValue> {
    if note.is_none() && !result.get().contains(NOTE) {
        return result;
    }
    let mut fields = Fields::parse(Some(&result)).unwrap_or_default();
    let mut meta = fields.object("_meta");
    match note {
        Some(note) => meta.set(NOTE, raw(&note)),
        None => drop(meta.remove(NOTE)),
    }
    match meta.is_empty() {
        true => drop(fields.remove("_meta")),
        false => fields.set("_meta", raw(&meta)),
    }
    raw(&fields)
}
