//! One server of a made-up desk over stdio; `testkit::seed` says what it can do.

use std::io::{self, Write};
use std::process::ExitCode;

use testkit::seed::{self, Options};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) => seed::serve(&options),
        Err(error) => {
            // There is nobody to tell when stderr is closed.
            drop(writeln!(io::stderr(), "seed-server: {error}"));
            ExitCode::from(2)
        }
    }
}
