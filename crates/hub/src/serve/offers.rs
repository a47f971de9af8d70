//! Resources, prompts and completions of all servers behind one door.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use toolyard_core::tool::{ToolId, is_reserved_page};

use super::answer::Request;
use super::era::RESOURCE_NOT_FOUND;
use super::{apps, park, remainder, skills};
use crate::caller::{Answer, Caller, Era};
use crate::hub::forward;
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::live::Snapshot;
use crate::policy::glob_fits;
use crate::upstream::{Failure, Listing, Repeat};

/// Joins a list of all servers that the view shows.
pub(crate) fn list(
    request: &Request,
    key: &str,
    of: impl Fn(&Listing) -> &Vec<Box<RawValue>>,
) -> Box<RawValue> {
    let snapshot = request.reception.hub.snapshot();
    let shown = snapshot.listings.iter().filter(|(server, _)| request.view.shows(server));
    let items: Vec<&RawValue> =
        shown.flat_map(|(_, listing)| of(listing).iter().map(|item| &**item)).collect();
    let mut result = Fields::default();
    result.set(key, raw(&items));
    raw(&result)
}

/// Lists the resources of all servers that the view shows, and skills as the resources that they are to clients that
/// know nothing of skills.
pub(crate) async fn resources(request: &Request) -> Box<RawValue> {
    let snapshot = request.reception.hub.snapshot();
    let shown = snapshot.listings.iter().filter(|(server, _)| request.view.shows(server));
    let of_server = |(server, listing): (&Arc<str>, &Arc<Listing>)| {
        let skills = snapshot.skills.get(server).map_or(&[][..], Vec::as_slice);
        let is_plain = |item: &RawValue| {
            text_of(item, "uri").is_none_or(|uri| {
                // Who knows skills by their addresses would take these for such that were approved.
                !uri.starts_with(skills::SCHEME)
                    && !is_reserved_page(&uri)
                    && !skills::is_of_skill(skills, &uri)
            })
        };
        listing.resources.iter().filter(|item| is_plain(item)).cloned().collect::<Vec<_>>()
    };
    let mut items: Vec<Box<RawValue>> = shown.flat_map(of_server).collect();
    items.extend(skills::resources(request).await);
    let mut result = Fields::default();
    result.set("resources", raw(&items));
    raw(&result)
}

/// Reads a resource from the server that offers it.
pub(crate) async fn read(request: Request) -> Answer {
    let uri = request
        .params
        .text("uri")
        .ok_or_else(|| ErrorObject::invalid_params("`resources/read` needs a `uri`"))?;
    if uri.starts_with(remainder::SCHEME) {
        let kept = request.reception.remainders.read(&uri, &request.caller.principal);
        return kept.ok_or_else(|| not_found(&uri));
    }
    let request = match apps::read(request, &uri).await {
        Ok(answer) => return answer,
        Err(request) => request,
    };
    if let Some(file) = skills::wanted(&request, &uri).await? {
        return skills::read(request, file).await;
    }
    if uri.starts_with(skills::SCHEME) {
        return Err(not_found(&uri));
    }
    let Some(server) = owner(&request, &uri) else { return Err(not_found(&uri)) };
    park::forwarded(request, &server, Repeat::Safe).await
}

pub(crate) fn not_found(uri: &str) -> ErrorObject {
    ErrorObject {
        data: Some(raw(&json!({ "uri": uri }))),
        ..ErrorObject::new(RESOURCE_NOT_FOUND, "no server offers this resource")
    }
}

/// Returns the server that offers a resource: by its list or its tools, then by its most exact template, then because no
/// other could. What two servers claim alike belongs to neither: one of them may lie.
pub(crate) fn owner(request: &Request, uri: &str) -> Option<Arc<str>> {
    let snapshot = request.reception.hub.snapshot();
    let shown = || snapshot.listings.iter().filter(|(server, _)| request.view.shows(server));
    let has =
        |listing: &Listing| listing.resources.iter().any(|item| text_of(item, "uri").as_deref() == Some(uri));
    // A page that shows a tool's results need not be listed.
    let names =
        |server: &str| snapshot.catalog.of_server(server).iter().any(|tool| tool.app_address() == Some(uri));
    let is_of = |(server, listing): &(&Arc<str>, &Arc<Listing>)| has(listing) || names(server);
    let mut listed = shown().filter(is_of).map(|(server, _)| server);
    if let Some(first) = listed.next() {
        return listed.next().is_none().then(|| Arc::clone(first));
    }
    let exactness = |listing: &Listing| {
        let templates = listing.templates.iter().filter_map(|item| text_of(item, "uriTemplate"));
        templates
            .filter(|template| template_fits(template, uri))
            .map(|template| literal_chars(&template))
            .max()
    };
    let mut fitting: Vec<(usize, &Arc<str>)> =
        shown().filter_map(|(server, listing)| Some((exactness(listing)?, server))).collect();
    fitting.sort_by_key(|(exact, _)| std::cmp::Reverse(*exact));
    match fitting.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, server), ..] => Some(Arc::clone(server)),
        [] => {
            let mut able = shown().filter(|(_, listing)| listing.can("resources"));
            able.next().filter(|_| able.next().is_none()).map(|(server, _)| Arc::clone(server))
        }
    }
}

pub(super) fn text_of(item: &RawValue, key: &str) -> Option<String> {
    Fields::parse(Some(item)).ok()?.text(key)
}

/// Returns how much of a template is fixed.
fn literal_chars(template: &str) -> usize {
    let expressions: usize =
        template.split('{').skip(1).filter_map(|rest| rest.find('}')).map(|length| length + 2).sum();
    template.len().saturating_sub(expressions)
}

/// Whether an address may come from a template; the server itself decides in the end. A template without a
/// scheme of its own would claim everything.
fn template_fits(template: &str, uri: &str) -> bool {
    if !template.split('{').next().is_some_and(|literal| literal.contains(':')) {
        return false;
    }
    let mut glob = String::new();
    let mut rest = template;
    while let Some((literal, tail)) = rest.split_once('{') {
        glob.push_str(literal);
        glob.push('*');
        rest = tail.split_once('}').map_or("", |(_, after)| after);
    }
    glob.push_str(rest);
    glob_fits(&glob, uri)
}

/// Lists the prompts of all servers under names that tell the servers apart.
pub(crate) fn prompts(request: &Request) -> Box<RawValue> {
    let snapshot = request.reception.hub.snapshot();
    let mut prompts = Vec::new();
    for (id, _, item) in named_prompts(request, &snapshot) {
        let Ok(mut fields) = Fields::parse(Some(item)) else { continue };
        fields.set("name", raw(&id));
        prompts.push(fields);
    }
    let mut result = Fields::default();
    result.set("prompts", raw(&prompts));
    raw(&result)
}

fn named_prompts<'a>(
    request: &'a Request,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = (ToolId, &'a Arc<str>, &'a RawValue)> {
    let shown = snapshot.listings.iter().filter(|(server, _)| request.view.shows(server));
    shown.flat_map(|(server, listing)| {
        let named = listing.prompts.iter().filter_map(|item| Some((text_of(item, "name")?, &**item)));
        named.map(move |(name, item)| (ToolId::new(server, &name), server, item))
    })
}

/// Finds a prompt by its name here; returns its server and its name there.
fn prompt_named(request: &Request, name: &str) -> Option<(Arc<str>, String)> {
    let snapshot = request.reception.hub.snapshot();
    let mut prompts = named_prompts(request, &snapshot);
    let (_, server, item) = prompts.find(|(id, _, _)| id.as_str() == name)?;
    Some((Arc::clone(server), text_of(item, "name")?))
}

/// Gets a prompt from its server.
pub(crate) async fn prompt(mut request: Request) -> Answer {
    let name = request.params.text("name").unwrap_or_default();
    let Some((server, own)) = prompt_named(&request, &name) else {
        return Err(ErrorObject::invalid_params(format!(
            "there is no prompt `{name}`; `prompts/list` shows all"
        )));
    };
    request.params.set("name", raw(&own));
    park::forwarded(request, &server, Repeat::Safe).await
}

/// Completes an argument at the server that owns the prompt or template.
pub(crate) async fn complete(mut request: Request) -> Answer {
    let mut reference = request.params.object("ref");
    let server = match reference.text("type").as_deref() {
        Some("ref/prompt") => {
            let found = prompt_named(&request, &reference.text("name").unwrap_or_default());
            found.map(|(server, own)| {
                reference.set("name", raw(&own));
                server
            })
        }
        Some("ref/resource") => {
            let uri = reference.text("uri").unwrap_or_default();
            let snapshot = request.reception.hub.snapshot();
            let offers = |listing: &Listing| {
                listing.templates.iter().any(|item| text_of(item, "uriTemplate").as_deref() == Some(&uri))
            };
            let found = snapshot
                .listings
                .iter()
                .find(|(server, listing)| request.view.shows(server) && offers(listing));
            found.map(|(server, _)| Arc::clone(server)).or_else(|| owner(&request, &uri))
        }
        _ => None,
    };
    let server = server.ok_or_else(|| {
        ErrorObject::invalid_params("`ref` names no prompt or resource template of any server")
    })?;
    request.params.set("ref", raw(&reference));
    park::forwarded(request, &server, Repeat::Safe).await
}

/// Tells the running servers of the session era which log messages are wanted.
pub(crate) async fn set_level(request: &Request) -> Answer {
    let nobody = Arc::new(Caller::nobody());
    let snapshot = request.reception.hub.snapshot();
    for upstream in request.reception.hub.upstreams() {
        let logs = snapshot
            .listings
            .get(&upstream.name)
            .is_some_and(|it| it.can("logging") && it.era == Era::Session);
        let is_running = upstream.state() == crate::upstream::State::Ready;
        if logs && is_running && request.view.shows(&upstream.name) {
            let told: Result<_, Failure> =
                forward(&upstream, "logging/setLevel", request.params.clone(), &nobody, Repeat::Safe).await;
            if let Err(failure) = told {
                tracing::debug!(server = %upstream.name, "{failure}");
            }
        }
    }
    Ok(raw(&json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_fit_their_templates() {
        assert!(template_fits("file:///{+path}", "file:///a/b.md"));
        assert!(template_fits("test://template/{id}/data", "test://template/7/data"));
        assert!(!template_fits("test://template/{id}/data", "test://template/7"));
        assert!(template_fits("x://{", "x://anything"));
        assert!(!template_fits("{+all}", "file:///a"), "a template without a scheme claims nothing");
        assert!(literal_chars("file:///{+path}") < literal_chars("file:///home/{+path}"));
    }
}
