//! `opentool completions`: what a shell needs to complete a command line.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::{Cli, Verdict};
use crate::{failure::Failure, terminal::write_data};

const EXAMPLES: &str = "\
Examples:
  opentool completions bash > ~/.local/share/bash-completion/completions/opentool
  opentool completions zsh > ~/.zfunc/_opentool           (a folder of your $fpath)
  opentool completions fish > ~/.config/fish/completions/opentool.fish
  opentool completions powershell >> $PROFILE";

/// Print the completions of this command line for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<Verdict, Failure> {
        // The generator panics where it cannot write, so it writes into memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "opentool", &mut script);
        write_data(&String::from_utf8_lossy(&script)).map_err(Failure::output)?;
        Ok(Verdict::Clean)
    }
}
