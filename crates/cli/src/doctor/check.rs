//! One server: can it be started, does it answer, what is wrong with its tools.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolyard_hub::caller::Caller;
use toolyard_hub::config::{Off, Transport};
use toolyard_hub::hub::Hub;
use toolyard_hub::jsonrpc::{ErrorObject, Fields};
use toolyard_hub::process::read_log;
use toolyard_hub::upstream::{Failure, Repeat, Upstream, log_path};

use super::{Finding, find_command};
use crate::login;
use crate::output::count;

/// A listing that takes longer than this is felt.
const SLOW: Duration = Duration::from_secs(1);
/// Lines of a server's log that may tell why it failed.
const LAST_WORDS: usize = 3;

/// Problems that are shown one by one.
const SHOWN_PROBLEMS: usize = 10;

/// What was found out about one server.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) findings: Vec<Finding>,
    pub(super) tools: Option<usize>,
    pub(super) start_ms: Option<u64>,
    pub(super) list_ms: Option<u64>,
}

/// Checks a server by starting it; it is stopped again.
pub(super) async fn check(hub: Arc<Hub>, upstream: Arc<Upstream>) -> Checked {
    let name = upstream.name.to_string();
    let mut checked = Checked { name, findings: Vec::new(), tools: None, start_ms: None, list_ms: None };
    if !can_start(&upstream, &mut checked.findings) {
        return checked;
    }
    match start(&upstream).await {
        Ok((started, listed)) => {
            hub.learn(|other| other.name == upstream.name, |_| ()).await;
            describe(&hub, &mut checked, (started, listed));
            checked.findings.extend(login_state(&hub, &upstream).await);
        }
        Err(failure) => {
            let message = with_last_words(&hub, &upstream, &failure);
            checked.findings.push(Finding::bad(message, fix(&upstream, &failure)));
            upstream.stop().await;
        }
    }
    checked
}

/// Says of a server that lacks an environment variable what helps.
pub(super) fn off(name: &str, off: &Off) -> Checked {
    let place = off.mistakes.iter().map(|it| format!("{}:{}:{}", it.path.display(), it.line, it.column));
    let message = format!("it is off: {} ({})", off.reason(), place.collect::<Vec<_>>().join(", "));
    let findings = vec![Finding::bad(message, off.fix())];
    Checked { name: name.to_owned(), findings, tools: None, start_ms: None, list_ms: None }
}

/// Looks at what can be seen before a start.
fn can_start(upstream: &Upstream, findings: &mut Vec<Finding>) -> bool {
    let Transport::Stdio { command, env, cwd, .. } = &upstream.config.transport else { return true };
    let before = findings.len();
    match find_command::find(command, env) {
        Some(path) if path.to_str() == Some(command) => {}
        Some(path) => findings.push(Finding::good(format!("`{command}` is {}", path.display()))),
        None => {
            let message = format!("command `{command}` was not found");
            findings.push(Finding::bad(message, find_command::advice(command)));
        }
    }
    if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        let message = format!("its folder `{}` does not exist", cwd.display());
        findings.push(Finding::bad(message, "make the folder, or correct `cwd` in the configuration"));
    }
    super::is_ok(&findings[before..])
}

/// Starts the server and asks for its tools twice: the second time tells how fast it answers.
async fn start(upstream: &Upstream) -> Result<(Duration, Duration), Failure> {
    let begun = Instant::now();
    ask(upstream).await?;
    let started = begun.elapsed();
    let begun = Instant::now();
    ask(upstream).await?;
    Ok((started, begun.elapsed()))
}

async fn ask(upstream: &Upstream) -> Result<(), Failure> {
    let nobody = Arc::new(Caller::nobody());
    match upstream.request("tools/list", Fields::default(), &nobody, Repeat::Safe).await {
        Ok(_) => Ok(()),
        // A server may have resources and prompts only.
        Err(Failure::Refused(error)) if error.code == ErrorObject::METHOD_NOT_FOUND => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// Says which tools wait for a person, and what changed of where the server comes from.
fn waiting(hub: &Hub, server: &str) -> Vec<Finding> {
    let snapshot = hub.snapshot();
    let names = snapshot.withheld.iter().filter(|it| *it.server == *server);
    let names: Vec<String> = names.map(|it| format!("{} ({})", it.id, it.why.name())).collect();
    let mut findings = Vec::new();
    if !names.is_empty() {
        let fix = format!("`toolyard diff {server}` shows why, `toolyard approve {server}` accepts");
        findings.push(Finding::note(format!("withheld: {}", names.join(", ")), fix));
    }
    if let Some(moved) = hub.moved(server) {
        let fix = format!("nothing, if you know of it; `toolyard approve {server}` takes the note away");
        findings.push(Finding::note(moved.what, fix));
    }
    findings
}

fn describe(hub: &Hub, checked: &mut Checked, (started, listed): (Duration, Duration)) {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let (start_ms, list_ms) = (millis(started), millis(listed));
    (checked.start_ms, checked.list_ms) = (Some(start_ms), Some(list_ms));
    let status = hub.servers().into_iter().find(|status| status.name == checked.name);
    checked.tools = status.as_ref().and_then(|status| status.tools);
    let tools = count(checked.tools.unwrap_or_default(), "tool");
    checked.findings.push(Finding::good(format!("starts in {start_ms} ms, lists {tools} in {list_ms} ms")));
    if listed > SLOW {
        let fix = "its tools are remembered, so only calls to it are slow";
        checked.findings.push(Finding::note("it answers slowly", fix));
    }
    checked.findings.extend(waiting(hub, &checked.name));
    if checked.tools.is_none() {
        let reason = status.as_ref().and_then(|status| status.reason.clone());
        let reason = reason.unwrap_or_else(|| "it did not say what it offers".to_owned());
        checked.findings.push(Finding::bad(reason, "tell the server's author"));
    }
    let problems = status.map(|status| status.problems).unwrap_or_default();
    if !problems.is_empty() {
        let mut message = format!("{} with what it offers:", count(problems.len(), "problem"));
        for problem in problems.iter().take(SHOWN_PROBLEMS) {
            message += &format!("\n  {problem}");
        }
        if let Some(more) = problems.len().checked_sub(SHOWN_PROBLEMS).filter(|more| *more > 0) {
            message += &format!("\n  and {more} more (`toolyard status --json` has all)");
        }
        let fix = "the rest works; the server's author can correct these";
        checked.findings.push(Finding::note(message, fix));
    }
}

async fn login_state(hub: &Hub, upstream: &Upstream) -> Option<Finding> {
    let authority = login::authority(&hub.config(), &upstream.name).ok()??;
    Some(match authority.bearer().await {
        Some(_) => Finding::good("you are logged in"),
        None => Finding::good("it needs no login"),
    })
}

fn with_last_words(hub: &Hub, upstream: &Upstream, failure: &Failure) -> String {
    let mut message = failure.to_string();
    if let Transport::Stdio { .. } = &upstream.config.transport {
        let log = log_path(&hub.config().store.folder.join("logs"), &upstream.name);
        let last = read_log(&log, LAST_WORDS).unwrap_or_default();
        if !last.is_empty() {
            message += "\nthe end of its log:";
            for line in last {
                message += &format!("\n  {}", line.trim_end());
            }
        }
    }
    message
}

fn fix(upstream: &Upstream, failure: &Failure) -> String {
    let name = &upstream.name;
    let is_local = matches!(upstream.config.transport, Transport::Stdio { .. });
    match failure {
        Failure::LoginNeeded { .. } => format!("toolyard login {name}"),
        Failure::NotStarted { reason, .. } if reason.contains("startMs") => {
            format!(
                "if it needs longer, raise `limits.startMs` of `{name}`; else run its command by hand to see what it waits for"
            )
        }
        Failure::NotStarted { .. } | Failure::Closed { .. } if is_local => {
            format!("`toolyard logs {name}` has all it wrote; run its command by hand to see why it ends")
        }
        Failure::NotStarted { .. } | Failure::Closed { .. } => {
            "check that the address is right and that the server runs".to_owned()
        }
        Failure::Late { setting, .. } => format!("raise `{setting}` of `{name}` if it needs longer"),
        Failure::Excess { .. } => {
            format!("raise `limits.messageBytes` or `limits.nesting` of `{name}` if you trust it")
        }
        Failure::Http { status: 401 | 403, .. } => {
            format!("check its `headers` in the configuration, or run `toolyard login {name}`")
        }
        Failure::Http { status: 404 | 405, .. } => {
            "check the path of its `url` in the configuration".to_owned()
        }
        Failure::Http { .. } | Failure::Senseless { .. } | Failure::Refused(_) if is_local => {
            "check that the command starts an MCP server; if it does, tell its author".to_owned()
        }
        Failure::Http { .. } | Failure::Senseless { .. } | Failure::Refused(_) => {
            "check that an MCP server is at its `url`; if one is, try again later".to_owned()
        }
    }
}
