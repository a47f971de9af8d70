//! The command line of the server.

use std::path::PathBuf;
use std::time::Duration;

use super::kind::{Fault, UnknownFault};

/// The protocol eras that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` only.
    Legacy,
    /// `server/discover` only.
    Modern,
    /// Whichever the client begins with.
    Both,
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Wish {
    /// Be a server.
    Serve(Options),
    /// Print the names of all faults as a JSON array.
    ListFaults,
}

/// How the server is to behave.
#[derive(Debug)]
pub struct Options {
    /// `--modern`, `--both`, or neither.
    pub era: Era,
    /// `--fault KIND`.
    pub fault: Option<Fault>,
    /// `--name NAME`: the name it gives itself.
    pub name: String,
    /// `--state FILE`: where each call of `count` leaves a line.
    pub state: Option<PathBuf>,
    /// `--delay-ms N`: how long a slow start takes.
    pub delay: Duration,
    /// `--page-size N`: tools per page of a listing.
    pub page_size: Option<usize>,
    /// `--many N`: the number of tools that `many-tools` has.
    pub many: usize,
}

/// Says what is wrong with the command line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A fault of this name does not exist.
    #[error(transparent)]
    Fault(#[from] UnknownFault),
    /// The flag does not exist.
    #[error("unknown argument `{0}`")]
    Unknown(String),
    /// The flag stands last and needs a value.
    #[error("`{0}` needs a value")]
    NoValue(String),
    /// The value is no number.
    #[error("`{flag}` needs a number, not `{value}`")]
    NotANumber {
        /// The flag.
        flag: String,
        /// What was given for it.
        value: String,
    },
}

impl Options {
    /// Reads the arguments that follow the program's name.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Wish, Error> {
        let mut options = Self {
            era: Era::Legacy,
            fault: None,
            name: "fault-server".to_owned(),
            state: None,
            delay: Duration::from_secs(20),
            page_size: None,
            many: 20_000,
        };
        let mut arguments = arguments;
        while let Some(flag) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| Error::NoValue(flag.clone()));
            match flag.as_str() {
                "--list-faults" => return Ok(Wish::ListFaults),
                "--modern" => options.era = Era::Modern,
                "--both" => options.era = Era::Both,
                "--fault" => options.fault = Some(value()?.parse()?),
                "--name" => options.name = value()?,
                "--state" => options.state = Some(value()?.into()),
                "--delay-ms" => options.delay = Duration::from_millis(number(&flag, value()?)?),
                "--page-size" => options.page_size = Some(number(&flag, value()?)?),
                "--many" => options.many = number(&flag, value()?)?,
                _ => return Err(Error::Unknown(flag)),
            }
        }
        Ok(Wish::Serve(options))
    }
}

fn number<T: std::str::FromStr>(flag: &str, value: String) -> Result<T, Error> {
    value.parse().map_err(|_| Error::NotANumber { flag: flag.to_owned(), value })
}
