//! What happens, as it happens: routes, servers that change their state, and numbers.
//!
//! A reader has a bounded backlog and is dropped when it falls behind; what it missed is in history. Nothing runs for a
//! stream but the stream itself, so it ends with its connection.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};
use toolyard_history::{Route, RouteSearch};
use toolyard_hub::clock::now_ms;

use crate::Shared;
use crate::failure::{ApiError, blocking};

/// How often the states of servers are looked at.
const GLANCE: Duration = Duration::from_millis(500);
/// Numbers, and routes of other processes, are looked at each time that many glances are over.
const GLANCES: u32 = 4;
/// How far back routes of other processes are looked for, because they reach the disk a moment after they were made.
const BACK_MS: i64 = 15_000;
/// Routes of other processes that are shown at once.
const MOST_FOUND: usize = 50;
/// Routes that are known to have been shown.
const MOST_SHOWN: usize = 1024;
/// How often a stream that has nothing to say shows that it is alive.
const ALIVE: Duration = Duration::from_secs(15);

/// Opens a stream of events.
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let Ok(place) = Arc::clone(&shared.readers).try_acquire_owned() else {
        let message = "too many pages watch this hub";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message, "close one of them"));
    };
    // Who listens first and looks then misses nothing in between.
    let routes = shared.hub.routes();
    let mut ticks = interval(GLANCE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reader = Reader {
        closing: shared.closing.clone(),
        routes,
        ticks,
        glances: 0,
        states: states(&shared),
        numbers: Value::Null,
        shown: Shown::default(),
        pending: VecDeque::new(),
        shared,
        _place: place,
    };
    for route in reader.found().await {
        reader.shown.note(&route.id);
    }
    let events = unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)))
}

/// One page that watches.
struct Reader {
    shared: Arc<Shared>,
    closing: watch::Receiver<bool>,
    routes: broadcast::Receiver<Route>,
    ticks: Interval,
    glances: u32,
    /// The states of servers as they were told.
    states: BTreeMap<String, String>,
    numbers: Value,
    shown: Shown,
    pending: VecDeque<Event>,
    _place: OwnedSemaphorePermit,
}

/// What woke a reader.
enum Waking {
    Route(Box<Route>),
    Glance,
    End,
}

impl Reader {
    /// Returns the next event; `None` when there will be none.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            match self.woken().await {
                Waking::Route(route) => self.tell_route(&route),
                Waking::Glance => self.glance().await,
                Waking::End => return None,
            }
        }
    }

    async fn woken(&mut self) -> Waking {
        let ended = async {
            // Without anybody who could say so, the hub does not end before the connection.
            if self.closing.wait_for(|closing| *closing).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = ended => Waking::End,
            route = self.routes.recv() => match route {
                Ok(route) => Waking::Route(Box::new(route)),
                Err(broadcast::error::RecvError::Lagged(_) | broadcast::error::RecvError::Closed) => Waking::End,
            },
            _ = self.ticks.tick() => Waking::Glance,
        }
    }

    fn tell_route(&mut self, route: &Route) {
        if self.shown.note(&route.id) {
            self.pending.extend(event("route", route));
        }
    }

    async fn glance(&mut self) {
        let now = states(&self.shared);
        for (name, state) in &now {
            if self.states.get(name) != Some(state) {
                self.pending.extend(event("server", &json!({ "name": name, "state": state })));
            }
        }
        for name in self.states.keys().filter(|name| !now.contains_key(*name)) {
            self.pending.extend(event("server", &json!({ "name": name, "state": "removed" })));
        }
        self.states = now;
        let is_due = self.glances.is_multiple_of(GLANCES);
        self.glances = self.glances.wrapping_add(1);
        if !is_due {
            return;
        }
        let numbers = json!(self.shared.hub.metrics().snapshot());
        if numbers != self.numbers {
            self.pending.extend(event("numbers", &numbers));
            self.numbers = numbers;
        }
        for route in self.found().await {
            self.tell_route(&route);
        }
    }

    /// Returns the routes of the last moments that are on the disk, the oldest first.
    async fn found(&self) -> Vec<Route> {
        let history = self.shared.history.clone();
        let since = Some(now_ms().saturating_sub(BACK_MS));
        let search = RouteSearch { since, limit: MOST_FOUND, ..RouteSearch::default() };
        match blocking(move || history.routes(&search)).await {
            Ok(page) => page.items.into_iter().rev().collect(),
            Err(err) => {
                tracing::debug!("{}", err.message);
                Vec::new()
            }
        }
    }
}

/// The latest routes that were shown.
#[derive(Debug, Default)]
struct Shown {
    known: HashSet<String>,
    order: VecDeque<String>,
}

impl Shown {
    /// Notes a route; `false` when it was noted before.
    fn note(&mut self, id: &str) -> bool {
        if !self.known.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > MOST_SHOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

fn states(shared: &Shared) -> BTreeMap<String, String> {
    let upstreams = shared.hub.upstreams();
    upstreams.iter().map(|it| (it.name.to_string(), it.state().to_string())).collect()
}

fn event(name: &str, what: &impl Serialize) -> Option<Event> {
    // JSON has no line breaks of its own, so it is one line of the stream whatever it says.
    Event::default().event(name).json_data(what).inspect_err(|err| tracing::debug!("{err}")).ok()
}
