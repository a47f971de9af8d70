//! Completions for shells.

use clap::Command;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard completions bash > ~/.local/share/bash-completion/completions/toolyard
  toolyard completions zsh > ~/.zfunc/_toolyard
  toolyard completions fish > ~/.config/fish/completions/toolyard.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(mut program: Command, asked: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut program, "toolyard", &mut script);
    Ok(output::text(&String::from_utf8_lossy(&script))?)
}
