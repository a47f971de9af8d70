//! One plug for every tool: an MCP hub.

mod args; //    what may be typed
mod failure; // what went wrong, what to do next, which exit code
mod setup; //   from the command line to a running hub
mod serve; //   the hub as a server

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // The watchdog is as small as a process can be: no runtime, no parsing.
    let mut words = std::env::args().skip(1);
    if let (Some("watchdog"), Some(token)) = (words.next().as_deref(), words.next()) {
        toolyard_hub::process::watch(&token, std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    let args = args::Args::parse();
    setup::start_log(args.verbose);
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(args: args::Args) -> Result<(), failure::Failure> {
    let runtime = runtime(&args.command)?;
    let outcome = runtime.block_on(async {
        match args.command {
            args::Command::Serve(serve) => serve::run(&args.common, serve).await,
        }
    });
    // A blocked read of a terminal must not hold the exit up.
    runtime.shutdown_background();
    outcome
}

/// One client at our standard streams is served fastest by one thread: a call passes through several
/// tasks, and waking another thread for each costs more than all the rest. Many clients get several.
fn runtime(command: &args::Command) -> std::io::Result<tokio::runtime::Runtime> {
    let is_stdio = matches!(command, args::Command::Serve(serve) if serve.http.is_none());
    let mut builder = if is_stdio {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    builder.enable_all().build()
}
