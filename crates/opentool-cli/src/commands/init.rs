//! `opentool init`: writes a configuration file for a folder.

mod findings;
mod text;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};

use self::text::{ConfigText, FindingNote};
use super::serve::settings;
use crate::{
    config_file::ConfigFile,
    exit_status::ExitStatus,
    failure::Failure,
    next_step,
    replace::replace_file,
    terminal::{note, visible, warn, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool init                  Look at this folder, and write its opentool.toml
  opentool init tools            … at another one
  opentool init --print          Print the file, and write nothing
  opentool init --force          Replace the file that is there

It looks for OpenTool, OpenDyn and OpenWorkflow documents, for C libraries with headers, for the files in which agents
list their MCP servers (.mcp.json, mcp.json, .vscode/mcp.json, .cursor/mcp.json) and for .env.example. Nothing is started or
loaded. The programs of MCP servers are written as comments, since they would run with all that you may do; the rest is trusted as
it was written, until the file changes.

With --json, there is an object {file, trusted, found, next}.

Exit codes: 0 written or printed; 2 wrong usage, there is a file already, or it cannot be written.";

/// Write an opentool.toml for what is in a folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Init {
    /// The folder [default: this folder]
    #[arg(value_name = "FOLDER", default_value = ".", hide_default_value = true)]
    folder: PathBuf,
    /// Replace a file that is there
    #[arg(long, conflicts_with = "print")]
    force: bool,
    /// Print the file, and write nothing
    #[arg(long)]
    print: bool,
    /// Print JSON; its shape is described below
    #[arg(long, conflicts_with = "print")]
    json: bool,
}

impl Init {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        if !self.folder.is_dir() {
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(Failure::Read { name: self.folder.to_string_lossy().into_owned(), source });
        }
        let ConfigText { text, port, describe, notes } = ConfigText::new(&findings::look(&self.folder));
        if self.print {
            report(&notes);
            write_data(&text).map_err(Failure::output)?;
            return Ok(ExitStatus::Success);
        }
        let path = ConfigFile::path_in(&self.folder);
        self.write(&path, &text)?;
        let file = ConfigFile::open(&path)?;
        let is_trusted = match settings(&file).and_then(|settings| file.trust(&settings)) {
            Ok(()) => true,
            Err(failure) => {
                warn(&format_args!("{} is not trusted: {failure}", visible(&file.name())));
                false
            }
        };
        let next = next(&self.folder, port, describe);
        if self.json {
            write_data(&as_json(&file.name(), is_trusted, &notes, &next)).map_err(Failure::output)?;
            return Ok(ExitStatus::Success);
        }
        report(&notes);
        let trusted = if is_trusted { ", and is trusted until it changes" } else { "" };
        note(&format_args!("{} is written{trusted}", visible(&file.name())));
        note(&"next:");
        for command in next {
            note(&format_args!("  {}", visible(&command)));
        }
        Ok(ExitStatus::Success)
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        let failed = |source| Failure::Write { name: path.to_string_lossy().into_owned(), source };
        if self.force {
            return replace_file(path, text);
        }
        let created = fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
        match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let name = path.strip_prefix(".").unwrap_or(path).display();
                Err(Failure::usage(format!(
                    "{name} is there already: `opentool init --force` replaces it, `opentool init --print` shows what would be written"
                )))
            }
            written => written.map_err(failed),
        }
    }
}

/// Says what was found.
fn report(notes: &[FindingNote]) {
    if notes.is_empty() {
        note(&"found nothing to serve: the file has the demo tools, and examples to change");
    }
    for FindingNote { file, source, note: what } in notes {
        let source = source.as_ref().map(|source| format!(" → [sources.{source}]")).unwrap_or_default();
        note(&format_args!("found {}{source}: {}", visible(&file.to_string_lossy()), visible(what)));
    }
}

/// What to do with the file; where a library is not described yet, that comes first.
fn next(folder: &Path, port: u16, describe: Vec<String>) -> Vec<String> {
    let mut commands = describe;
    if !commands.is_empty() {
        commands.push("opentool init --force".to_owned());
    }
    commands.push("opentool serve".to_owned());
    commands.push(format!("opentool tools http://127.0.0.1:{port}"));
    commands.push("opentool schema opentool.toml > opentool.toml.schema.json".to_owned());
    if folder != Path::new(".") {
        let folder = folder.display().to_string();
        commands.insert(0, format!("cd {}", next_step::quoted(&folder).unwrap_or(folder.as_str().into())));
    }
    commands
}

fn as_json(file: &str, is_trusted: bool, notes: &[FindingNote], next: &[String]) -> String {
    let found: Vec<Value> = notes
        .iter()
        .map(|FindingNote { file, source, note }| json!({ "file": file, "source": source, "note": note }))
        .collect();
    format!("{:#}\n", json!({ "file": file, "trusted": is_trusted, "found": found, "next": next }))
}
