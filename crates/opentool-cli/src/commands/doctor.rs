//! `opentool doctor`: what is here, what is missing, and what to do about it.

mod configured;
mod diagnosis;
mod machine;
mod sandbox;

use std::{fmt::Write as _, io::Write as _, path::PathBuf};

use anstyle::Style;
use clap::Args;
use serde_json::json;

use self::diagnosis::{Diagnosis, Health};
use crate::{
    build_info::LONG_VERSION,
    exit_status::ExitStatus,
    failure::Failure,
    terminal::{ERROR, GOOD, WARNING, visible, visible_json, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool doctor                             Look at this machine and this folder
  opentool doctor --start                     … and start or ask every source of opentool.toml
  opentool doctor --json | jq '.findings[] | select(.state != \"ok\")'

What is looked at: the sandbox of C libraries, which is tried and not believed: a worker process tries to read and write a
file, to open a socket, to start a process, to make a file in memory and to take more memory than it may; the C compiler and
pkg-config, for `opentool dyn describe`; the folders in which something is kept, and SQLite in them; the port of
`opentool serve`; opentool.toml, whether it is trusted, what it names, and whether a
server can be bound with its keys, certificates and address; the model of `opentool chat`.

Each line says ok, missing (something optional, which nothing here needs), or FAILED (what is configured here does not
work), and what to do. Programs and servers of opentool.toml are looked for, and started or asked only with --start.
The model of `opentool chat` is that of OPENTOOL_MODEL, otherwise of [model] in opentool.toml, if it is trusted; its provider is
asked for its list of models.

With --json, there is an object {version, system, ok, findings}, and each of the findings is {area, name, state, text, next},
where `state` is ok, missing or failed, and `next` is null or what to do.

Exit codes: 0 all that is configured works; 1 something that is configured does not; 2 wrong usage.";

/// Say what is here, what is missing and what to do; try what the sandbox enforces
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {
    /// Start or ask every source of opentool.toml, if it is trusted
    #[arg(long)]
    start: bool,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
    /// The configuration file [default: opentool.toml, where there is one]
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    config: Option<PathBuf>,
}

impl Doctor {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let mut all = sandbox::try_all()?;
        all.extend(machine::compilers());
        let (config, configured) = configured::look(self.config.as_deref(), self.start)?;
        all.extend(machine::folders(config.journal.as_deref())?);
        all.push(machine::port(&config.host, config.port)?);
        all.extend(configured);
        all.push(configured::model(self.config.as_deref())?);
        let is_ok = all.iter().all(|diagnosis| diagnosis.health != Health::Failed);
        if self.json {
            let result = json!({ "version": LONG_VERSION, "system": system(), "ok": is_ok, "findings": all });
            write_data(&visible_json(&format!("{result:#}\n"))).map_err(Failure::output)?;
        } else {
            anstream::stdout().lock().write_all(as_text(&all).as_bytes()).map_err(Failure::output)?;
        }
        Ok(if is_ok { ExitStatus::Success } else { ExitStatus::Errors })
    }
}

/// The system that this program runs on.
fn system() -> String {
    let mut text = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    // There is one on Linux.
    if let Ok(release) = std::fs::read_to_string("/proc/sys/kernel/osrelease") {
        // Writing to a string does not fail.
        let _ = write!(text, ", kernel {}", release.trim());
    }
    if is_root() {
        text.push_str(", as root");
    }
    text
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

fn as_text(all: &[Diagnosis]) -> String {
    const AREA: Style = Style::new().bold();
    let mut text = format!("opentool {LONG_VERSION}\n{}\n", system());
    let mut area = "";
    for diagnosis in all {
        if diagnosis.area != area {
            area = diagnosis.area;
            let _ = writeln!(text, "\n{AREA}{area}{AREA:#}");
        }
        let (style, word) = match diagnosis.health {
            Health::Ok => (GOOD, "ok"),
            Health::Missing => (WARNING, "missing"),
            Health::Failed => (ERROR, "FAILED"),
        };
        let mut lines = diagnosis.text.lines();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "  {style}{word:7}{style:#}  {:14}  {}", visible(&diagnosis.name), visible(first));
        for line in lines {
            let _ = writeln!(text, "{:27}{}", "", visible(line));
        }
        if let Some(next) = &diagnosis.next {
            let _ = writeln!(text, "{:27}try: {}", "", visible(next));
        }
    }
    let count = |health| all.iter().filter(|diagnosis| diagnosis.health == health).count();
    let (ok, missing, failed) = (count(Health::Ok), count(Health::Missing), count(Health::Failed));
    let _ = writeln!(text, "\n{ok} ok, {missing} missing, {failed} failed");
    text
}
