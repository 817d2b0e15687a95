//! `opentool trust`: lets the configuration file of a folder count.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};

use super::serve::settings;
use crate::{
    config_file::ConfigFile,
    exit_status::ExitStatus,
    failure::Failure,
    next_step,
    setting::Setting,
    terminal::{confirm, note, visible, visible_json, warn, write_data},
    trusted::{TrustState, TrustedFiles},
};

const EXAMPLES: &str = "\
Examples:
  opentool trust                 Show what opentool.toml of this folder sets, and ask
  opentool trust --yes           … without asking
  opentool trust ../other        The file of another folder
  opentool trust --remove        Trust it no longer

What a folder's opentool.toml says about sources, libraries, their isolation and permissions, keys, and who may call
counts only once you trust the file. Ports on this machine, limits and times always count.

A file is trusted by its place and its content: changed, it must be trusted again. The libraries and documents that it
names are not part of that; what they are when they are loaded is used. A file that is named with `--config` needs no
trust.

With --json, there is an object {file, trusted, settings}: trusted says whether all settings count (after --remove it is
false), and each of the settings is {setting, line, needs_trust}.

The record is in opentool/trusted in your state folder (XDG_STATE_HOME, or ~/.local/state).

Exit codes: 0 done; 1 you said no; 2 there is no such file, it has errors, or opentool cannot ask and --yes was not given.";

/// Show what a folder's opentool.toml sets, and let it count
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Trust {
    /// The folder, or its file [default: this folder]
    #[arg(value_name = "FOLDER", default_value = ".", hide_default_value = true)]
    path: PathBuf,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Trust the file no longer
    #[arg(long, conflicts_with = "yes")]
    remove: bool,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

impl Trust {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let path = if self.path.is_dir() { ConfigFile::path_in(&self.path) } else { self.path.clone() };
        if self.remove {
            return self.remove(&path);
        }
        let file = ConfigFile::open(&path)?;
        let settings = settings(&file)?;
        let lost = file.lost_since_trusted(&settings)?;
        show(&file, &settings, &lost);
        if !self.yes
            && let Some(state) = nothing_to_ask(&file, &settings, &lost)?
        {
            // A server may wait for it that was started while more stood in the file.
            file.trust(&settings)?;
            note(&format_args!("{}: {state}", visible(&file.name())));
            self.print(&path, true, &settings)?;
            return Ok(ExitStatus::Success);
        }
        if !self.yes && !is_confirmed()? {
            note(&"not trusted");
            self.print(&path, false, &settings)?;
            return Ok(ExitStatus::Errors);
        }
        file.trust(&settings)?;
        self.print(&path, true, &settings)?;
        note(&format_args!("{} is trusted until it changes", visible(&file.name())));
        Ok(ExitStatus::Success)
    }

    fn remove(&self, path: &Path) -> Result<ExitStatus, Failure> {
        let name = path.to_string_lossy();
        let was_trusted = TrustedFiles::for_user()?.remove(path)?;
        let state = if was_trusted { "is no longer trusted" } else { "was not trusted" };
        note(&format_args!("{} {state}", visible(&name)));
        self.print(path, false, &[])?;
        Ok(ExitStatus::Success)
    }

    /// Prints what was decided, for programs.
    fn print(&self, path: &Path, is_trusted: bool, settings: &[Setting]) -> Result<(), Failure> {
        if !self.json {
            return Ok(());
        }
        let setting = |setting: &Setting| json!({ "setting": setting.to_string(), "line": setting.line, "needs_trust": !setting.is_harmless() });
        let settings: Vec<Value> = settings.iter().map(setting).collect();
        let result = json!({ "file": path.to_string_lossy(), "trusted": is_trusted, "settings": settings });
        write_data(&visible_json(&format!("{result:#}\n"))).map_err(Failure::output)
    }
}

/// Prints the settings, those that need trust first, and those that are gone since the file was trusted.
fn show(file: &ConfigFile, settings: &[Setting], lost: &[String]) {
    let name = file.name();
    if !lost.is_empty() {
        note(&"is gone since you trusted the file:");
        for key in lost {
            note(&format_args!("  {}: {}", visible(&name), visible(key)));
        }
    }
    let (harmless, needed): (Vec<_>, Vec<_>) = settings.iter().partition(|setting| setting.is_harmless());
    for (title, settings) in [("needs your trust", needed), ("counts in any case", harmless)] {
        if !settings.is_empty() {
            note(&format_args!("{title}:"));
            for setting in settings {
                note(&format_args!("  {}:{}: {setting}", visible(&name), setting.line));
            }
        }
    }
    if settings.iter().any(|setting| setting.key == "isolation" && !setting.is_harmless()) {
        warn(&"with this isolation the library runs as a part of `opentool serve`, with all that you may do");
    }
}

/// Why the user need not be asked.
fn nothing_to_ask(file: &ConfigFile, settings: &[Setting], lost: &[String]) -> Result<Option<&'static str>, Failure> {
    Ok(match file.trust_state()? {
        TrustState::Given => Some("you trust it already, as it stands"),
        _ if lost.is_empty() && settings.iter().all(Setting::is_harmless) => Some("nothing in it needs your trust"),
        _ => None,
    })
}

fn is_confirmed() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let message = "you cannot be asked here: read the settings above, then give `--yes`";
        return Err(Failure::usage_with(message, next_step::with_flag("--yes")));
    }
    confirm("trust this file? [y/N] ").map_err(|source| Failure::Read { name: "the terminal".to_owned(), source })
}
