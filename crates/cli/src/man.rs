//! The manual.

use clap::Command;

use crate::failure::Failure;
use crate::output;

/// Print the manual page of toolyard, or of one command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard man > ~/.local/share/man/man1/toolyard.1
  toolyard man call | man -l -")]
pub(crate) struct Man {
    /// Only this command
    command: Option<String>,
}

pub(crate) fn run(mut whole: Command, asked: &Man) -> Result<(), Failure> {
    // Puts the global options and full names into the commands.
    whole.build();
    let page = match &asked.command {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::usage(format!("there is no command `{name}`")).hint("`toolyard help` shows all commands")
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    Ok(output::text(&String::from_utf8_lossy(&text))?)
}
