//! What is known of tools beyond what their servers say, as files that a person can edit.

mod check; //  what is wrong with files
mod export; // files from what is known
mod show; //   everything that is known of one tool
mod vectors; // the vectors of tools

use crate::common::Common;
use crate::failure::Failure;

/// Write and check what is known of tools beyond what their servers say
///
/// What a tool is for, what people call it and what they type when they need it is inferred, or comes from the
/// library that is part of the product. Files in the folder `metadata` beside the configuration say it better:
/// they win, field by field.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard metadata export                 write a file for each server
  toolyard metadata export git -o drafts   write drafts/git.json
  toolyard metadata show git__git_log      show everything that is known of a tool
  toolyard metadata check                  say what is wrong with your files")]
pub(crate) struct Metadata {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Show(show::Show),
    Export(export::Export),
    Check(check::Check),
    Vectors(vectors::Vectors),
}

pub(crate) async fn run(common: &Common, asked: &Metadata) -> Result<(), Failure> {
    match &asked.command {
        Command::Show(asked) => show::run(common, asked).await,
        Command::Export(asked) => export::run(common, asked).await,
        Command::Check(asked) => check::run(common, asked).await,
        Command::Vectors(asked) => vectors::run(common, asked).await,
    }
}
