//! Apps of servers: pages with which a host shows what a tool answered (MCP Apps).
//!
//! A page belongs to the server whose tools name it, and passes as it is. Where two servers name the same address, each
//! has an address of its own here. The hub has a page, too, for what `smart_route` and `call_tool` answer; it shows the
//! page of the tool that ran inside of itself.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::tool::Tool;

use super::answer::Request;
use super::tools::SEARCH_TOOLS;
use super::{era, offers, park};
use crate::caller::{Answer, Caller};
use crate::config::OwnTool;
use crate::extensions::{APPS, PAGE};
use crate::hub::failed_call;
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
const SERVER_PAGES: &str = "ui://server.toolyard/";
/// Where a result names the page of the tool that ran.
const APP_KEY: &str = "toolyard/app";
/// Where a result says that it is what the hub itself answers.
const ANSWER_KEY: &str = "toolyard/answer";
/// Tools of a server that its page may call.
const MOST_CALLED: usize = 256;

/// Returns the key that stands for `key` while a result is inside the hub. It is secret, so no server can write it.
fn private_key(key: &str) -> String {
    static SECRET: LazyLock<Arc<str>> = LazyLock::new(era::fresh_principal);
    format!("{key} {}", *SECRET)
}

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
pub(crate) fn is_listed_for_apps(request: &Request, snapshot: &Snapshot, tool: &Tool) -> bool {
    !tool.is_for_models() && app_may_call(request, snapshot, tool)
}

/// Returns the tool that an app calls by the name that it has at its server. A name that could be one of the hub, or that
/// looks like `server__tool`, never counts as such a call.
pub(crate) fn called_by_app<'s>(request: &Request, snapshot: &'s Snapshot, name: &str) -> Option<&'s Tool> {
    let is_taken = name.contains("__") || OwnTool::named(name).is_some() || SEARCH_TOOLS.contains(&name);
    if is_taken || !shows_pages(&request.caller) {
        return None;
    }
    let is_meant = |tool: &&Tool| tool.name == name && app_may_call(request, snapshot, tool);
    let mut named = snapshot.catalog.tools().iter().filter(is_meant);
    named.next().filter(|_| named.next().is_none())
}

/// Whether the page of its server may call a tool.
pub(crate) fn app_may_call(request: &Request, snapshot: &Snapshot, tool: &Tool) -> bool {
    let has_page = || snapshot.catalog.of_server(&tool.server).iter().any(|it| it.app_address().is_some());
    tool.is_for_apps()
        && shows_pages(&request.caller)
        && request.view.shows(&tool.server)
        && request.reception.hub.permits_client(request.view.effect(), snapshot, tool)
        && has_page()
}

/// Gives a definition the address that its page has here.
pub(crate) fn with_page_address(snapshot: &Snapshot, tool: &Tool, definition: String) -> String {
    let Some(address) = tool.app_address().filter(|it| snapshot.contested_pages().contains(*it)) else {
        return definition;
    };
    let Ok(mut fields) = serde_json::from_str::<Fields>(&definition) else { return definition };
    let mut meta = fields.object("_meta");
    let mut ui = meta.object("ui");
    let apart = raw(&unique_address(tool, address));
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
fn unique_address(tool: &Tool, address: &str) -> String {
    let rest = address.strip_prefix(SCHEME).unwrap_or(address);
    format!("{SERVER_PAGES}{}/{rest}", encoded(&tool.server))
}

/// Reads a page at an address that the hub hands out; any other request is given back.
pub(crate) async fn read(mut request: Request, address: &str) -> Result<Answer, Request> {
    if address == OWN_PAGE && request.reception.hub.config().serve.app {
        let page = json!({ "uri": OWN_PAGE, "mimeType": PAGE, "text": HTML, "_meta": { "ui": {} } });
        return Ok(Ok(raw(&json!({ "contents": [page] }))));
    }
    let Some((name, rest)) = address.strip_prefix(SERVER_PAGES).and_then(|it| it.split_once('/')) else {
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
    Ok(answer.map(|result| under_address(&result, &own, address)))
}

/// Returns what was read under the address that was asked for.
fn under_address(result: &RawValue, own: &str, address: &str) -> Box<RawValue> {
    let mut fields = Fields::parse(Some(result)).unwrap_or_default();
    let Some(mut contents) = fields.read::<Vec<Fields>>("contents") else { return result.to_owned() };
    for content in contents.iter_mut().filter(|content| content.text("uri").as_deref() == Some(own)) {
        content.set("uri", raw(&address));
    }
    fields.set("contents", raw(&contents));
    raw(&fields)
}

/// Returns what a result says of the page that shows it, for the hub's own page to open it.
pub(crate) fn app_of(
    caller: &Caller,
    snapshot: &Snapshot,
    tool: &Tool,
    arguments: &RawValue,
) -> Option<Box<RawValue>> {
    let address = tool.app_address().filter(|_| shows_pages(caller))?;
    let own = snapshot.catalog.of_server(&tool.server).iter().filter(|tool| tool.is_for_apps());
    let callable: BTreeMap<&str, &str> =
        own.take(MOST_CALLED).map(|tool| (tool.name.as_str(), tool.id.as_str())).collect();
    Some(raw(&json!({
        "resourceUri": unique_address(tool, address),
        "server": &*tool.server,
        "tool": tool.id.as_str(),
        "arguments": arguments,
        "tools": callable,
    })))
}

/// Puts what [`app_of`] returned into what a result says of itself.
pub(crate) fn put_app(meta: &mut Fields, note: Box<RawValue>) {
    meta.set(&private_key(APP_KEY), note);
}

/// The same for a whole result.
pub(crate) fn with_app(result: Box<RawValue>, note: Option<Box<RawValue>>) -> Box<RawValue> {
    let Some(note) = note else { return result };
    with_meta(result, |meta| put_app(meta, note))
}

/// Says in a result that it is what the hub itself answers.
pub(crate) fn mark_answer(caller: &Caller, result: Box<RawValue>) -> Box<RawValue> {
    if !shows_pages(caller) {
        return result;
    }
    with_meta(result, |meta| meta.set(&private_key(ANSWER_KEY), raw(&true)))
}

fn with_meta(result: Box<RawValue>, change: impl FnOnce(&mut Fields)) -> Box<RawValue> {
    let Ok(mut fields) = Fields::parse(Some(&result)) else { return result };
    let mut meta = fields.object("_meta");
    change(&mut meta);
    fields.set("_meta", raw(&meta));
    raw(&fields)
}

/// Publishes the marks that the hub put into a result for a client with pages, and removes any that a server forged.
pub(crate) fn publish_marks(caller: &Caller, result: Box<RawValue>) -> Box<RawValue> {
    if !shows_pages(caller) {
        return result;
    }
    // The page may be able to read what we cannot.
    let Ok(mut fields) = Fields::parse(Some(&result)) else {
        return failed_call("the server's answer cannot be read");
    };
    if fields.get("_meta").is_none() {
        return result;
    }
    let mut meta = fields.object("_meta");
    let own = [APP_KEY, ANSWER_KEY].map(|key| (key, meta.remove(&private_key(key))));
    for (key, value) in own {
        match value {
            Some(value) => meta.set(key, value),
            None => drop(meta.remove(key)),
        }
    }
    match meta.is_empty() {
        true => drop(fields.remove("_meta")),
        false => fields.set("_meta", raw(&meta)),
    }
    raw(&fields)
}
