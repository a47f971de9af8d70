//! What clients want to hear about.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::answer::Request;
use super::tasks::{self, shown};
use super::{Reception, View, offers};
use crate::caller::{Answer, Caller, Era};
use crate::config::Surface;
use crate::hub::Hub;
use crate::jsonrpc::{ErrorObject, Fields, Id, raw};
use crate::upstream::link::Link;
use crate::upstream::patience::TimeLimit;
use crate::upstream::{Changes, Failure, News};

/// Something of one server that clients hear about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Watched {
    server: Arc<str>,
    what: Topic,
}

/// What it is, in the words of its server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Topic {
    Resource(String),
    Task(String),
}

impl Watched {
    fn resource(server: Arc<str>, uri: String) -> Self {
        Self { server, what: Topic::Resource(uri) }
    }
}

/// One subscription at a server, shared by all clients that want it.
#[derive(Debug)]
pub(crate) struct Watch {
    clients: usize,
    /// Subscribes again when the server was restarted, and holds the stream of a modern one open.
    listening: JoinHandle<()>,
}

/// What one client watches; given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Watching {
    reception: Weak<Reception>,
    all: Mutex<HashSet<Watched>>,
}

impl Watching {
    pub(crate) fn new(reception: &Arc<Reception>) -> Self {
        Self { reception: Arc::downgrade(reception), all: Mutex::default() }
    }

    /// Adds something; returns when its server has taken the subscription, or with its refusal.
    async fn add(&self, watched: Watched) -> Result<(), ErrorObject> {
        let is_new = self.all.lock().insert(watched.clone());
        let Some(reception) = self.reception.upgrade().filter(|_| is_new) else { return Ok(()) };
        let taken = reception.watch(&watched);
        match taken {
            Some(taken) => match taken.await {
                Ok(Err(failure)) => {
                    self.remove(&watched);
                    Err(failure.to_error())
                }
                // The work ends early only when nobody wants to hear any more.
                Ok(Ok(())) | Err(_) => Ok(()),
            },
            None => Ok(()),
        }
    }

    fn remove(&self, watched: &Watched) {
        let was_there = self.all.lock().remove(watched);
        if let Some(reception) = self.reception.upgrade().filter(|_| was_there) {
            reception.unwatch(watched);
        }
    }

    /// Whether the client wants to know of this change.
    pub(crate) fn wants(&self, server: &Arc<str>, params: &RawValue) -> bool {
        let Some(uri) = Fields::parse(Some(params)).ok().and_then(|fields| fields.text("uri")) else {
            return false;
        };
        // Servers may announce a part of what is watched.
        let is_meant = |it: &Watched| match &it.what {
            Topic::Resource(watched) => it.server == *server && uri.starts_with(watched.as_str()),
            Topic::Task(_) => false,
        };
        self.all.lock().iter().any(is_meant)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(reception) = self.reception.upgrade() {
            for watched in self.all.lock().drain() {
                reception.unwatch(&watched);
            }
        }
    }
}

impl Reception {
    /// Counts a client in; the first one has to wait for the server.
    fn watch(&self, watched: &Watched) -> Option<oneshot::Receiver<Result<(), Failure>>> {
        let mut all = self.watched.lock();
        if let Some(watch) = all.get_mut(watched) {
            watch.clients += 1;
            return None;
        }
        let (taken, answer) = oneshot::channel();
        let listening = tokio::spawn(keep_watching(Arc::clone(&self.hub), watched.clone(), taken));
        all.insert(watched.clone(), Watch { clients: 1, listening });
        Some(answer)
    }

    fn unwatch(&self, watched: &Watched) {
        let mut all = self.watched.lock();
        let Some(watch) = all.get_mut(watched) else { return };
        watch.clients -= 1;
        if watch.clients > 0 {
            return;
        }
        let Some(watch) = all.remove(watched) else { return };
        // The stream of a modern server ends with its request; others are told.
        watch.listening.abort();
        let Topic::Resource(uri) = watched.what.clone() else { return };
        let link = self.hub.upstream(&watched.server).and_then(|upstream| upstream.running());
        let speaks = link.as_ref().and_then(|link| link.peer.get()).map(|peer| peer.era);
        if let (Some(link), Some(Era::Session), Ok(runtime)) =
            (link, speaks, tokio::runtime::Handle::try_current())
        {
            runtime.spawn(async move {
                let mut params = Fields::default();
                params.set("uri", raw(&uri));
                let nobody = Arc::new(Caller::nobody());
                let _ =
                    link.request("resources/unsubscribe", params, &nobody, TimeLimit::fixed(GOODBYE)).await;
            });
        }
    }
}

/// Says whether a server has taken a subscription.
type Taken = oneshot::Sender<Result<(), Failure>>;

/// Subscribes at the server, and again whenever it was started anew. The first time it says how that went.
async fn keep_watching(hub: Arc<Hub>, watched: Watched, taken: Taken) {
    let mut taken = Some(taken);
    // A server whose configuration changes is another one of the same name, so it is looked up each time.
    while let Some(upstream) = hub.upstream(&watched.server) {
        let mut changes = upstream.changes();
        let first = taken.take();
        // The first time it is worth starting the server; later whoever needs it does.
        let link = match &first {
            Some(_) => upstream.link().await.map(Some),
            None => Ok(upstream.running()),
        };
        let limit = TimeLimit::of(&upstream.config.limits);
        drop(upstream);
        match (link, first) {
            (Ok(Some(link)), first) => {
                let _watching = WatchedLink::new(&link);
                let is_first = first.is_some();
                if !subscribe(&link, &watched.what, limit, first).await && is_first {
                    return;
                }
                link.closed().await;
            }
            (Err(failure), Some(first)) => return drop(first.send(Err(failure))),
            (Ok(None) | Err(_), _) if changes.changed().await.is_ok() => {}
            (Ok(None) | Err(_), _) => tokio::time::sleep(GOODBYE).await,
        }
    }
}

/// Subscribes in the way of the server's era; returns whether the server took it. At a modern server the
/// subscription lasts as long as this does.
async fn subscribe(link: &Arc<Link>, what: &Topic, limit: TimeLimit, taken: Option<Taken>) -> bool {
    let nobody = Arc::new(match what {
        Topic::Resource(_) => Caller::nobody(),
        Topic::Task(_) => Caller::nobody().with_tasks_followed(),
    });
    let tell = |outcome: Result<(), Failure>| {
        let is_taken = outcome.is_ok();
        if let Some(taken) = taken {
            let _ = taken.send(outcome);
        }
        is_taken
    };
    let is_session = link.peer.get().is_some_and(|peer| peer.era == Era::Session);
    let wanted = match what {
        Topic::Resource(uri) if is_session => {
            let mut params = Fields::default();
            params.set("uri", raw(uri));
            return tell(link.request("resources/subscribe", params, &nobody, limit).await.map(drop));
        }
        // It tells of its tasks unasked.
        Topic::Task(_) if is_session => return tell(Ok(())),
        Topic::Resource(uri) => json!({ "resourceSubscriptions": [uri] }),
        Topic::Task(id) => json!({ "taskIds": [id] }),
    };
    let params = raw(&json!({ "notifications": wanted }));
    let params = Fields::parse(Some(&params)).unwrap_or_default();
    let listening = link.request("subscriptions/listen", params, &nobody, FOR_EVER);
    let mut listening = std::pin::pin!(listening);
    let first = tokio::select! {
        ended = &mut listening => Some(ended.map(drop)),
        () = link.acknowledged.notified() => None,
        // A server that does not say so may listen all the same.
        () = tokio::time::sleep(limit.answer.min(ACKNOWLEDGING)) => None,
    };
    match first {
        Some(outcome) => tell(outcome),
        None => {
            tell(Ok(()));
            let _ = listening.await;
            true
        }
    }
}

/// Keeps a server from being idle while something of it is watched.
struct WatchedLink(Arc<Link>);

impl WatchedLink {
    fn new(link: &Arc<Link>) -> Self {
        link.watchers.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(link))
    }
}

impl Drop for WatchedLink {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Time for a server to take note that nobody watches any more.
const GOODBYE: Duration = Duration::from_secs(5);
/// Time for a server to say that it took note.
const ACKNOWLEDGING: Duration = Duration::from_secs(5);
/// Tasks of one stream of changes.
const MOST_TASKS: usize = 256;
const FOR_EVER: TimeLimit = TimeLimit::fixed(Duration::from_secs(365 * 24 * 3600));

fn owner(request: &Request, uri: &str) -> Option<Arc<str>> {
    match &request.view {
        View::Transparent { server, .. } => Some(Arc::clone(server)),
        View::Surface { .. } => offers::owner(request, uri),
    }
}

/// Starts or ends a session's interest in a resource.
pub(crate) async fn change(request: &Request) -> Answer {
    let uri = request.params.text("uri").ok_or_else(|| ErrorObject::invalid_params("a `uri` is needed"))?;
    let Some(server) = owner(request, &uri) else {
        return Err(offers::not_found(&uri));
    };
    let Some(watching) = &request.watching else { return Err(ErrorObject::unknown_method(&request.method)) };
    let watched = Watched::resource(server, uri);
    if request.method == "resources/subscribe" {
        watching.add(watched).await?;
    } else {
        watching.remove(&watched);
    }
    Ok(raw(&json!({})))
}

/// Serves one stream of changes until it is cancelled.
pub(crate) async fn listen(request: Request) -> Answer {
    let mut news = request.reception.hub.news();
    let wanted = request.params.object("notifications");
    let wants = |key: &str| wanted.read::<bool>(key) == Some(true);
    let resources: Vec<String> = wanted.read("resourceSubscriptions").unwrap_or_default();
    let watching = Watching::new(&request.reception);
    let mut granted = Fields::default();
    for key in ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] {
        if wants(key) {
            granted.set(key, raw(&true));
        }
    }
    let mut watched: Vec<&String> = Vec::new();
    for uri in &resources {
        if let Some(server) = owner(&request, uri)
            && watching.add(Watched::resource(server, uri.clone())).await.is_ok()
        {
            watched.push(uri);
        }
    }
    if !watched.is_empty() {
        granted.set("resourceSubscriptions", raw(&watched));
    }
    let tasks = watched_tasks(&request, &watching).await?;
    if !tasks.is_empty() {
        granted.set("taskIds", raw(&tasks.values().collect::<Vec<_>>()));
    }
    let tell = |method: &str, mut params: Fields| {
        params.set("_meta", subscription(&request.id));
        request.caller.notify(method, Some(&raw(&params)));
    };
    let mut acknowledged = Fields::default();
    acknowledged.set("notifications", raw(&granted));
    tell("notifications/subscriptions/acknowledged", acknowledged);
    loop {
        match news.recv().await {
            Ok(News::Resource { server, params }) => {
                if watching.wants(&server, &params) {
                    tell("notifications/resources/updated", Fields::parse(Some(&params)).unwrap_or_default());
                }
            }
            Ok(News::Task { server, id, params }) => {
                let watched = Watched { server, what: Topic::Task(id) };
                if let Some(name) = tasks.get(&watched) {
                    tell("notifications/tasks", shown(&request, &watched.server, name, params).await);
                }
            }
            Err(RecvError::Closed) => return Ok(raw(&json!({}))),
            lists => {
                let changes = changed(lists, &request.view);
                let tools_follow =
                    lists_follow_the_catalog(&request.reception, &request.view, &request.caller);
                for (wish, method) in changes.into_iter().flat_map(|it| announcements(it, tools_follow)) {
                    if wants(wish) {
                        tell(method, Fields::default());
                    }
                }
            }
        }
    }
}

/// Watches the tasks that a client names, and returns those that it hears of with their names.
async fn watched_tasks(
    request: &Request,
    watching: &Watching,
) -> Result<BTreeMap<Watched, String>, ErrorObject> {
    let names: Vec<String> = request.params.object("notifications").read("taskIds").unwrap_or_default();
    if !names.is_empty() && !request.caller.follows_tasks() {
        return Err(tasks::undeclared());
    }
    let known = names.into_iter().take(MOST_TASKS).filter_map(|name| {
        let (server, id) = tasks::meant(request, &name)?;
        Some((Watched { server, what: Topic::Task(id) }, name))
    });
    // A server that takes long delays none of the others.
    let taken = known.map(|(watched, name)| async move {
        let is_taken = watching.add(watched.clone()).await.is_ok();
        is_taken.then_some((watched, name))
    });
    Ok(join_all(taken).await.into_iter().flatten().collect())
}

/// Returns which lists of a view changed. A server that is passed through is believed at its word;
/// elsewhere what counts is what was found.
pub(crate) fn changed(news: Result<News, RecvError>, view: &View) -> Option<Changes> {
    match (news, view) {
        (Ok(News::Catalog(changes)), View::Surface { .. }) => Some(changes),
        (Ok(News::Announced { server, changes }), View::Transparent { server: only, .. })
            if server == *only =>
        {
            Some(changes)
        }
        (Err(RecvError::Lagged(_)), _) => Some(Changes::ALL),
        _ => None,
    }
}

/// Returns the announcements that changes call for, each with the name of the wish to hear it.
pub(crate) fn announcements(
    changes: Changes,
    tools_follow: bool,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [
        (changes.tools && tools_follow, "toolsListChanged", "notifications/tools/list_changed"),
        (changes.prompts, "promptsListChanged", "notifications/prompts/list_changed"),
        (changes.resources, "resourcesListChanged", "notifications/resources/list_changed"),
    ];
    all.into_iter().filter(|(is_due, _, _)| *is_due).map(|(_, wish, method)| (wish, method))
}

/// Whether the tools that a client sees change with the catalog.
pub(crate) fn lists_follow_the_catalog(reception: &Reception, view: &View, caller: &Caller) -> bool {
    matches!(view.surface(&reception.hub, caller), Surface::All | Surface::Toolset)
}

fn subscription(id: &Id) -> Box<RawValue> {
    let id = RawValue::from_string(id.as_json().to_owned()).unwrap_or_else(|_| raw(&()));
    raw(&json!({ "io.modelcontextprotocol/subscriptionId": id }))
}
