//! How well everyday requests find their tools on the desk of the seed, counted through the front door.
//!
//! The requests are data beside the tools; `toolyard eval crates/testkit/seed` measures the same in more detail.

use std::fmt::Write;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::seed::{self, Task};

use crate::desk::{Desk, understood};
use crate::shelf::route;

/// What came of all requests that a tool can serve.
#[derive(Debug, Default)]
struct Count {
    requests: usize,
    /// The first tool was a right one.
    right: usize,
    /// A question was asked that is no confirmation.
    asked: usize,
    /// A right tool ran in the end, after one question at most.
    served: usize,
    /// A line for each request that went wrong.
    wrong: String,
}

impl Count {
    fn share(&self, of: usize) -> f64 {
        of as f64 / self.requests as f64
    }
}

/// Routes a request with its arguments; a question is answered with the right tool where that is offered.
async fn serve(client: &Client, task: &Task, count: &mut Count) {
    let is_right = |tool: &Value| task.gold[0].iter().any(|id| tool == id.as_str());
    let context = json!({"arguments": task.arguments});
    let asked = json!({"task": task.task, "context": context, "options": {"explain": true}});
    let answer = route(client, asked).await;
    let first = &answer["explanation"]["candidates"][0]["tool"];
    let is_question = answer["needsClarification"] == true && answer.get("confirm").is_none();
    let offered = answer["alternatives"].as_array().into_iter().flatten().find(|it| is_right(&it["tool"]));
    let last = match offered.filter(|_| is_question) {
        Some(offered) => {
            let context = json!({"session": answer["session"], "arguments": task.arguments});
            route(client, json!({"task": offered["tool"], "context": context})).await
        }
        None => answer.clone(),
    };
    let last = match last.get("confirm") {
        Some(handle) => {
            assert_eq!(last["executedTools"], json!([]), "{last}");
            let context = json!({"confirm": handle, "arguments": task.arguments});
            route(client, json!({"task": "yes", "context": context})).await
        }
        None => last,
    };
    let is_served = is_right(&last["executedTools"][0]);
    count.requests += 1;
    count.right += usize::from(is_right(first));
    count.asked += usize::from(is_question);
    count.served += usize::from(is_served);
    if !is_right(first) || is_question || !is_served {
        let wanted = &task.gold[0][0];
        let how = if is_question { "asks" } else { "acts" };
        let _ = writeln!(count.wrong, "{how}, {first} for {wanted}, served {is_served}: {}", task.task);
    }
}

async fn all(client: &Client) -> Count {
    let mut count = Count::default();
    for task in seed::tasks().iter().filter(|task| !task.gold.is_empty()) {
        serve(client, task, &mut count).await;
    }
    count
}

#[tokio::test]
async fn r19_vague_requests_are_asked_about_and_nothing_is_destroyed_unasked() {
    let desk = Desk::new().await;
    let client = desk.modern();
    for task in seed::tasks().iter().filter(|task| task.kind != "single") {
        let context = json!({"arguments": task.arguments});
        let answer = route(&client, json!({"task": task.task, "context": context})).await;
        let ran = answer["executedTools"].as_array().expect("a list of tools");
        if task.kind == "vague" {
            assert!(ran.is_empty() && answer["needsClarification"] == true, "{answer}");
        }
        let is_meant = |tool: &Value| task.gold.iter().flatten().any(|gold| tool == gold.as_str());
        assert!(task.kind != "destructive" || !ran.iter().any(is_meant), "{answer}");
    }
    for call in seed::desk().iter().flat_map(|part| desk.calls(&part.server)) {
        let name = call["name"].as_str().unwrap_or_default();
        assert!(!["delete", "remove", "drop", "clear"].iter().any(|verb| name.contains(verb)), "{call}");
    }
}

#[tokio::test]
async fn r19_everyday_requests_find_their_tools() {
    let (right, _, served, report) = judged().await;
    assert!(right > 0.9 && served > 0.95, "{report}");
}

#[tokio::test]
async fn r19_few_everyday_requests_are_asked_about() {
    let (_, asked, _, report) = judged().await;
    assert!(asked < 0.2, "{report}");
}

async fn judged() -> (f64, f64, f64, String) {
    let desk = Desk::new().await;
    let client = desk.modern();
    understood(&client).await;
    let count = all(&client).await;
    let (right, asked, served) =
        (count.share(count.right), count.share(count.asked), count.share(count.served));
    let report = format!("right {right:.3}, asked {asked:.3}, served {served:.3}\n{}", count.wrong);
    (right, asked, served, report)
}
