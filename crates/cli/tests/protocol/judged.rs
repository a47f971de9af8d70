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

/// Routes a request with the arguments that its caller knows; a question is answered with the right tool where that is offered, and a draft is
/// finished.
async fn serve(client: &Client, task: &Task, count: &mut Count) {
    let is_right = |tool: &Value| task.gold[0].iter().any(|id| tool == id.as_str());
    let context = json!({"arguments": task.first_arguments()});
    let asked = json!({"task": task.task, "context": context, "options": {"explain": true}});
    let answer = route(client, asked).await;
    let first = &answer["explanation"]["candidates"][0]["tool"];
    let is_question = answer["needsClarification"] == true && answer.get("confirm").is_none();
    let offered = answer["alternatives"].as_array().into_iter().flatten().find(|it| is_right(&it["tool"]));
    let last = match offered.filter(|_| is_question) {
        Some(offered) => {
            let context = json!({"session": answer["session"], "arguments": task.first_arguments()});
            route(client, json!({"task": offered["tool"], "context": context})).await
        }
        None => answer.clone(),
    };
    let last = match last.get("draft") {
        Some(_) => route(client, json!({"task": "run it", "context": {"session": last["session"]}})).await,
        None => last,
    };
    let last = match last.get("confirm") {
        Some(handle) => {
            assert_eq!(last["executedTools"], json!([]), "{last}");
            let context = json!({"confirm": handle, "arguments": task.first_arguments()});
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
        let _ =
            writeln!(count.wrong, "{how}, {first} for {wanted}, served {is_served}: {}: {last}", task.task);
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
        let context = json!({"arguments": task.first_arguments()});
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
async fn r19_requests_whose_arguments_an_assistant_knows_find_their_tools_and_are_served() {
    let (right, _, served, report) = judged().await;
    assert!(right > 0.9 && served > 0.95, "{report}");
}

#[tokio::test]
async fn r19_requests_whose_arguments_an_assistant_knows_are_rarely_asked_about() {
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

#[tokio::test]
async fn r19_everyday_requests_find_their_tools_from_words_alone() {
    let desk = Desk::new().await;
    let client = desk.modern();
    understood(&client).await;
    let (mut requests, mut wrong) = (0, Vec::new());
    for task in seed::tasks().iter().filter(|task| !task.gold.is_empty()) {
        let asked = json!({"task": task.task, "options": {"explain": true, "dryRun": true}});
        let answer = route(&client, asked).await;
        let first = &answer["explanation"]["candidates"][0]["tool"];
        requests += 1;
        if !task.gold[0].iter().any(|id| first == id.as_str()) {
            wrong.push(format!("{}: {first}", task.task));
        }
    }
    assert!(wrong.len() * 10 < requests, "{} of {requests} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What became of the everyday requests, from their words alone.
#[derive(Debug, Default)]
struct FromWords {
    requests: usize,
    /// A right tool ran or was drafted, or was shown to be confirmed.
    right: usize,
    asked: usize,
    ran: usize,
    /// Something ran that is not what was asked.
    wrong: Vec<String>,
}

#[tokio::test]
async fn r19a_everyday_requests_from_words_alone_run_or_are_drafted_and_nothing_is_silently_wrong() {
    let desk = Desk::new().await;
    let client = desk.modern();
    understood(&client).await;
    let mut count = FromWords::default();
    for task in seed::tasks().iter().filter(|task| task.kind == "single") {
        let before: usize = seed::desk().iter().map(|part| desk.calls(&part.server).len()).sum();
        let answer = route(&client, json!({"task": task.task})).await;
        let is_right = |tool: &Value| task.gold[0].iter().any(|id| tool == id.as_str());
        let ran = &answer["executedTools"][0];
        let meant = [ran, &answer["draft"]["tool"], &answer["tool"]].into_iter().find(|it| it.is_string());
        count.requests += 1;
        count.right += usize::from(meant.is_some_and(is_right));
        count.asked += usize::from(answer["needsClarification"] == true && answer.get("confirm").is_none());
        let calls: Vec<Value> =
            seed::desk().iter().flat_map(|part| desk.calls(&part.server)).skip(before).collect();
        if ran.is_string() {
            count.ran += 1;
            if !is_right(ran) || calls.len() > 1 {
                count.wrong.push(format!("{}: {answer}", task.task));
            }
        }
    }
    let share = |of: usize| of as f64 / count.requests as f64;
    let report = format!("right {:.3}, asked {:.3}, {count:#?}", share(count.right), share(count.asked));
    assert!(share(count.right) > 0.7 && share(count.asked) < 0.3, "{report}");
    assert!(count.wrong.len() * 20 <= count.ran, "{report}");
}
