//! Tools that go on after they answered.

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, ClientCapabilities, CreateTaskResult, Task};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::content::said;
use crate::fixture::{Fixture, complete, finished, typed};
use crate::rounds;

/// Says whether a tool is one of these.
pub(crate) fn is_one(name: &str) -> bool {
    let names =
        ["greet", "slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input"];
    names.contains(&name) || name == "test_tool_with_task"
}

/// Runs one of these tools; in the background only for clients that follow tasks.
pub(crate) async fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = json!(request.arguments);
    let follows = context.client_capabilities().is_some_and(|it| it.supports_tasks());
    let time = Duration::from_secs_f64(arguments["seconds"].as_f64().unwrap_or(0.0).clamp(0.0, 60.0));
    match (request.name.as_ref(), follows) {
        ("greet", _) => {
            let name = arguments["name"].as_str().unwrap_or("stranger");
            Ok(complete(said(&format!("Hello, {name}!"))))
        }
        ("slow_compute", false) => {
            sleep(time).await;
            Ok(complete(said("The computation is done")))
        }
        (_, false) => {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            Err(ErrorData::missing_required_client_capability(needed))
        }
        ("test_tool_with_task", true) => {
            match rounds::name_in(request.input_responses.as_ref(), "user_name")? {
                Some(name) => Ok(begin(fixture, Job::Greet(name))),
                None => Ok(rounds::one_question()),
            }
        }
        ("slow_compute", true) => Ok(begin(fixture, Job::Compute(time))),
        ("failing_job", true) => Ok(begin(fixture, Job::Fail)),
        ("protocol_error_job", true) => Ok(begin(fixture, Job::Break)),
        ("confirm_delete", true) => {
            let file = arguments["filename"].as_str().unwrap_or("the file").to_owned();
            Ok(begin(fixture, Job::Confirm(file)))
        }
        (_, true) => Ok(begin(fixture, Job::AskTwice)),
    }
}

/// What is done in the background.
enum Job {
    Greet(String),
    Compute(Duration),
    Fail,
    Break,
    Confirm(String),
    AskTwice,
}

fn begin(fixture: &Fixture, job: Job) -> CallToolResponse {
    let options = TaskOptions::new().with_poll_interval_ms(100);
    let task: Task = fixture
        .tasks()
        .spawn(options, |context| Box::pin(async move { work(job, context).await.map(finished) }));
    CallToolResponse::Task(CreateTaskResult::new(task))
}

async fn work(job: Job, context: TaskContext) -> Result<Value, TaskExit> {
    match job {
        Job::Greet(name) => Ok(said(&format!("Hello, {name}!"))),
        Job::Compute(time) => tokio::select! {
            () = sleep(time) => Ok(said("The computation is done")),
            () = context.cancelled() => Err(TaskExit::Cancelled),
        },
        Job::Fail => {
            sleep(Duration::from_secs(1)).await;
            let mut result = said("This job always fails");
            result["isError"] = json!(true);
            Ok(result)
        }
        Job::Break => Err(ErrorData::internal_error("This job always breaks", None).into()),
        Job::Confirm(file) => {
            let question = rounds::elicitation(&format!("Delete {file}?"), "confirm", "boolean");
            let answer = context.request_input("confirm", typed(question)).await?;
            Ok(said(&format!("{file}: {}", answer["content"]["confirm"])))
        }
        Job::AskTwice => {
            let first = typed(rounds::elicitation("What is your name?", "name", "string"));
            let second = typed(rounds::elicitation("What is your age?", "age", "integer"));
            let (name, age) =
                tokio::try_join!(context.request_input("name", first), context.request_input("age", second))?;
            Ok(said(&format!("{} {}", name["content"], age["content"])))
        }
    }
}
