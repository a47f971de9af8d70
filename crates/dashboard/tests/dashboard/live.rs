//! The stream of events.

use serde_json::{Value, json};
use tokio::time::timeout;
use toolyard_history::{Route, route_id};

use crate::yard::{SOON, Yard};

/// A page that watches.
struct Watching {
    response: reqwest::Response,
    read: String,
}

impl Watching {
    async fn begin(yard: &Yard) -> Self {
        let response = yard.ours("GET", "/live").send().await.expect("the dashboard answers");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut watching = Self { response, read: String::new() };
        // From the first numbers on, everything is told.
        watching.next("numbers").await;
        watching
    }

    /// Returns the next event of this name.
    async fn next(&mut self, name: &str) -> Value {
        loop {
            while let Some((event, rest)) = self.read.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.read = rest;
                let line = |start: &str| event.lines().find_map(|line| line.strip_prefix(start));
                if line("event: ") == Some(name) {
                    return serde_json::from_str(line("data: ").expect("an event has data"))
                        .expect("it is JSON");
                }
            }
            let chunk = timeout(SOON, self.response.chunk()).await.expect("something is told");
            let chunk = chunk.expect("the connection holds").expect("the stream goes on");
            self.read += std::str::from_utf8(&chunk).expect("it is text");
        }
    }
}

#[tokio::test]
async fn r15_routes_are_told_as_they_are_recorded_whoever_records_them() {
    let yard = Yard::new().await;
    yard.tried("list my notes").await;
    let mut watching = Watching::begin(&yard).await;
    let hostile = "search my notes for garden\r\n\r\nevent: route\ndata: {}\n\n";
    let tried = yard.tried(hostile).await;
    let told = watching.next("route").await;
    assert_eq!((&told["id"], &told["words"]), (&tried["routeId"], &json!(hostile.trim())));

    let route = yard.history.route(tried["routeId"].as_str().unwrap()).unwrap().unwrap();
    let fed = Route { id: route_id(), client: "cursor".to_owned(), ..route.clone() };
    yard.hub.record(fed.clone(), None);
    assert_eq!(watching.next("route").await["id"], json!(fed.id));

    // Another process writes into the same history and tells nobody.
    let other = Route { id: route_id(), client: "cli".to_owned(), ..route };
    yard.history.record(other.clone());
    yard.history.flush();
    assert_eq!(watching.next("route").await["id"], json!(other.id));
}

#[tokio::test]
async fn r15_servers_that_change_their_state_are_told_and_the_stream_ends_with_the_hub() {
    let yard = Yard::new().await;
    let mut watching = Watching::begin(&yard).await;
    yard.done("/servers/notes/restart", &json!({})).await;
    let mut told = watching.next("server").await;
    while told["state"] != "ready" {
        told = watching.next("server").await;
    }
    assert_eq!(told["name"], json!("notes"));
    yard.closing.send(true).unwrap();
    let rest = async { while watching.response.chunk().await.unwrap().is_some() {} };
    timeout(SOON, rest).await.expect("the stream ends");
}

#[tokio::test]
async fn r15_a_reader_that_falls_behind_is_dropped() {
    let yard = Yard::new().await;
    let tried = yard.tried("list my notes").await;
    let route = yard.history.route(tried["routeId"].as_str().unwrap()).unwrap().unwrap();
    let mut watching = Watching::begin(&yard).await;
    // On one thread the stream cannot read in between.
    for _ in 0..1000 {
        yard.hub.record(Route { id: route_id(), ..route.clone() }, None);
    }
    let rest = async { while watching.response.chunk().await.unwrap().is_some() {} };
    timeout(SOON, rest).await.expect("the stream ends");
}
