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
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(async {
        match args.command {
            args::Command::Serve(serve) => serve::run(&args.common, serve).await,
        }
    });
    // A blocked read of a terminal must not hold the exit up.
    runtime.shutdown_background();
    outcome
}
