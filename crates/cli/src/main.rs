//! One plug for every tool: an MCP hub.

#![forbid(unsafe_code)]

mod common; //      what every command takes
mod args; //        what may be typed
mod output; //      the one place that writes to stdout
mod failure; //     what went wrong, what to do next, which exit code
mod setup; //       from the command line to a running hub
mod learn; //       servers that were never reached, and the wait for them
mod tools; //       one tool as it is shown and named
mod settings; //    the settings file as commands change it
mod reload; //      the settings file as a serving hub watches it
mod welcome; //     `toolyard` alone
mod serve; //       the hub as a server
mod route; //       a request in plain words
mod list; //        every tool
mod find; //        tools by words
mod describe; //    one tool
mod call; //        run a tool
mod chat; //        a conversation with a language model
mod proxy; //       a model server with the hub's tools
mod run; //         run a workflow
mod runs; //        runs of workflows
mod toolset; //     what a conversation is given
mod skills; //      instructions with tools
mod tiers; //       tools by tier
mod domains; //     tools that belong together
mod consolidate; // families of tools as few
mod packs; //       servers that come with the program
mod add; //         one more server
mod remove; //      one server less
mod import; //      servers of other clients
mod connect; //     Toolyard in other clients
mod client; //      who may come in over HTTP
mod login; //       a person's consent
mod logs; //        what a server said on stderr
mod audit; //       what was called
mod audit_names; // old names of tools in a tree of texts
mod status; //      how everything is
mod doctor; //      what is wrong, and what helps
mod diff; //        how tools differ from what was approved
mod approve; //     a person's yes to them
mod metadata; //    what is known of tools, as files
mod enrich; //      what a model writes about tools
mod lint; //        how well tools are documented
mod eval; //        how well requests find their tools
mod recorded; //    a recorded server, for measurements
mod dashboard; //   the page for people
mod routes; //      what was decided
mod feedback; //    what a person says about it
mod learnt; //      what was learnt from that
mod replay; //      what would be decided today
mod completions; // for shells
mod man; //         the manual

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::args::{Args, Command};
use crate::failure::{Failure, Form};

fn main() -> ExitCode {
    // The watchdog is as small as a process can be: no runtime, no parsing.
    let mut words = std::env::args_os().skip(1);
    if let (Some(first), Some(token)) = (words.next(), words.next())
        && first == "watchdog"
    {
        toolyard_hub::process::watch(&token.to_string_lossy(), std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    // A confined server begins as this program, with one thread, and then becomes the server.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|first| first == "sandboxed") {
        return Failure::new(toolyard_hub::process::sandbox::enter(words).to_string()).report(Form::Words);
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return misunderstood(&error),
    };
    let is_serving = matches!(args.command, Some(Command::Serve(_) | Command::ProxyLlm(_)));
    // Single commands tell failures themselves; a serving hub has only its log.
    setup::start_log(if is_serving { tracing::Level::WARN } else { tracing::Level::ERROR }, args.verbose);
    let form = if args.common.json && !is_serving { Form::Json } else { Form::Words };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(form),
    }
}

/// Tells what clap made of the command line: help, the version or an error.
fn misunderstood(error: &clap::Error) -> ExitCode {
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if !is_answer && std::env::args_os().any(|word| word == "--json") {
        let said = error.render().to_string();
        let message = said.trim().strip_prefix("error: ").unwrap_or(&said).trim().to_owned();
        return Failure::usage(message).report(Form::Json);
    }
    // Who closed the pipe does not want to read about it.
    let _ = error.print();
    ExitCode::from(if is_answer { 0 } else { 2 })
}

fn run(args: Args) -> Result<(), Failure> {
    let runtime = runtime(args.command.as_ref())?;
    let outcome = runtime.block_on(dispatch(args));
    // A blocked read of a terminal must not hold the exit up.
    runtime.shutdown_background();
    outcome
}

/// One client at our standard streams is served fastest by one thread: a call passes through several
/// tasks, and waking another thread for each costs more than all the rest. Many clients get several.
fn runtime(command: Option<&Command>) -> std::io::Result<tokio::runtime::Runtime> {
    let is_stdio = matches!(command, Some(Command::Serve(serve)) if serve.http.is_none());
    let mut builder = if is_stdio {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    builder.enable_all().build()
}

async fn dispatch(Args { command, common, .. }: Args) -> Result<(), Failure> {
    match command {
        None => welcome::run(&common).await,
        Some(Command::Serve(asked)) => serve::run(common, asked).await,
        Some(Command::Route(asked)) => route::run(&common, &asked).await,
        Some(Command::List(asked)) => list::run(&common, &asked).await,
        Some(Command::Find(asked)) => find::run(&common, &asked).await,
        Some(Command::Describe(asked)) => describe::run(&common, &asked).await,
        Some(Command::Call(asked)) => call::run(&common, &asked).await,
        Some(Command::Chat(asked)) => chat::run(&common, &asked).await,
        Some(Command::ProxyLlm(asked)) => proxy::run(&common, &asked).await,
        Some(Command::Run(asked)) => run::run(&common, &asked).await,
        Some(Command::Runs(asked)) => runs::run(&common, &asked).await,
        Some(Command::Toolset(asked)) => toolset::run(&common, &asked).await,
        Some(Command::Skills(asked)) => skills::run(&common, &asked).await,
        Some(Command::Tiers(asked)) => tiers::run(&common, &asked).await,
        Some(Command::Domains(asked)) => domains::run(&common, &asked).await,
        Some(Command::Consolidate(asked)) => consolidate::run(&common, &asked).await,
        Some(Command::Packs(_)) => packs::run(&common),
        Some(Command::Add(asked)) => add::run(&common, &asked),
        Some(Command::Remove(asked)) => remove::run(&common, &asked),
        Some(Command::Import(asked)) => import::run(&common, &asked),
        Some(Command::Connect(asked)) => connect::run(&common, &asked),
        Some(Command::Client(asked)) => client::run(&common, &asked),
        Some(Command::Login(asked)) => login::run(&common, &asked).await,
        Some(Command::Logs(asked)) => logs::run(&common, &asked).await,
        Some(Command::Audit(asked)) => audit::run(&common, &asked),
        Some(Command::AuditNames(asked)) => audit_names::run(&common, &asked),
        Some(Command::Status(_)) => status::run(&common).await,
        Some(Command::Doctor(asked)) => doctor::run(&common, &asked).await,
        Some(Command::Diff(asked)) => diff::run(&common, &asked).await,
        Some(Command::Approve(asked)) => approve::run(&common, &asked).await,
        Some(Command::Metadata(asked)) => metadata::run(&common, &asked).await,
        Some(Command::Enrich(asked)) => enrich::run(&common, &asked).await,
        Some(Command::Lint(asked)) => lint::run(&common, &asked).await,
        Some(Command::Eval(asked)) => eval::run(&common, &asked).await,
        Some(Command::Completions(asked)) => completions::run(Args::command(), &asked),
        Some(Command::Man(asked)) => man::run(Args::command(), &asked),
        Some(Command::Recorded(asked)) => recorded::run(&asked),
        Some(Command::Dashboard(asked)) => dashboard::run(&common, &asked).await,
        Some(Command::Routes(asked)) => routes::run(&common, &asked),
        Some(Command::Feedback(asked)) => feedback::run(&common, &asked).await,
        Some(Command::Learnt(asked)) => learnt::run(&common, &asked).await,
        Some(Command::Replay(asked)) => replay::run(&common, &asked).await,
    }
}
