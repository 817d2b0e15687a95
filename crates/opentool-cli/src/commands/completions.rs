//! `opentool completions`: what a shell needs to complete a command line.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::{exit_status::ExitStatus, failure::Failure, terminal::write_data};

const EXAMPLES: &str = "\
Examples:
  opentool completions bash > ~/.local/share/bash-completion/completions/opentool
  opentool completions zsh > ~/.zfunc/_opentool           (a folder of your $fpath)
  opentool completions fish > ~/.config/fish/completions/opentool.fish
  opentool completions powershell >> $PROFILE

Exit codes: 0 printed; 2 wrong usage.";

/// Print the completions of this command line for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Writes the script for a command line.
    pub(super) fn run(&self, mut command: Command) -> Result<ExitStatus, Failure> {
        // The generator panics where it cannot write, so it writes into memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "opentool", &mut script);
        write_data(&String::from_utf8_lossy(&script)).map_err(Failure::output)?;
        Ok(ExitStatus::Success)
    }
}
