//! A scriptable MCP server over stdio; `testkit::fault` says what it can do.

use std::io::{self, Write};
use std::process::ExitCode;

use testkit::fault::{self, Fault, Options, Wish};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(Wish::Serve(options)) => fault::serve(options),
        Ok(Wish::ListFaults) => {
            let names: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
            say(&mut io::stdout(), &serde_json::json!(names).to_string())
        }
        Err(error) => {
            say(&mut io::stderr(), &format!("fault-server: {error}"));
            ExitCode::from(2)
        }
    }
}

fn say(out: &mut impl Write, line: &str) -> ExitCode {
    match writeln!(out, "{line}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
