//! `opentool check`: everything that is wrong with documents.

use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use opentool::{Arguments, FnTool, Toolbox, workflow_faults};
use opentool_dyn::{Exports, document_faults, uncallable};
use opentool_spec::{Code, Document, DocumentKind, ExternalFinding, Report};

use super::access::environment_key_for;
use crate::{
    exit_status::ExitStatus,
    exports,
    failure::Failure,
    input::{Input, looks_like_a_document, walk},
    libraries::LibraryOptions,
    limits::ConnectOptions,
    report::{Checked, Format, MAX_FINDINGS, Reporter, Totals},
    runtime::block_on,
    source::Source,
    source_tables::NamedSources,
    terminal,
};

const EXAMPLES: &str = "\
Examples:
  opentool check                               Every document below this folder
  opentool check api.json docs/                A file, and the documents of a folder
  curl -s http://127.0.0.1:9627/opentool/load | opentool check -
  opentool check --strict --format github .    In a GitHub workflow
  opentool check libm.opendyn.json --library libm.so.6
  opentool check flow.openworkflow.json --tools demo

Which spec a document follows (OpenTool 1.0 or 1.1, OpenDyn 1.0, OpenWorkflow 1.0) is seen by its shape, and so is a document of another \
format (OpenAPI, a provider's list of tools, a JSON Schema …), which is named and not judged. `fix:` marks what `opentool \
fix` does by itself, `help:` what is left to you.

In a folder, those *.json files are checked that are OpenTool, OpenDyn or OpenWorkflow documents, or are broken and mention one of \
them; hidden files and folders, `target` and `node_modules` are left out. A file you name is always checked.

A function whose keys and types do not go together, so that no library could be called by it, is an error too. Marks of \
`dyn describe` that are left (`x-review`) are warnings.

With --quiet, warnings, notes and the summary are left out.

With --library, every function of an OpenDyn document is looked for in that library, which is read and not loaded. With \
--tools, every function of an OpenWorkflow document is looked for there, and its results are compared.

Of each document at most 200 findings are shown, errors before warnings before notes; all are counted.

With --json, or --format json, there is one array of {file, code, severity, message, pointer, line, column, help, fix} over all \
files, where `fix` is null or {automatic, edits: [{start, end, text}]}, counted in bytes.

Exit codes: 0 no errors; 1 errors; 2 wrong usage, or an unreadable file (the others are checked all the same).";

/// Find everything that is wrong with documents, and say what to do about it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    /// Files, folders, or `-` for standard input
    #[arg(value_name = "FILE", default_value = ".")]
    inputs: Vec<PathBuf>,
    /// Take warnings for errors
    #[arg(long)]
    strict: bool,
    /// The library that the OpenDyn documents describe: a path, or a name that the system's loader finds
    #[arg(long, value_name = "LIB")]
    library: Option<String>,
    /// Where the functions come from that the steps of an OpenWorkflow document call; repeatable
    #[arg(long, value_name = "SOURCE")]
    tools: Vec<String>,
    /// How to write the findings
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Print JSON; its shape is described below
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Show at most this many findings of each document, the most serious ones; 0 shows all
    #[arg(long, value_name = "N", default_value_t = MAX_FINDINGS)]
    max_findings: usize,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

impl Check {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let out = BufWriter::new(anstream::stdout().lock());
        let exports = self.library.as_deref().map(exports::read).transpose()?;
        let mut run = Run {
            strict: self.strict,
            library: exports.map(|exports| LibraryCheck { exports, used: false }),
            tools: ToolsCheck::new(&self.tools)?,
            reporter: Reporter::new(
                if self.json { Format::Json } else { self.format },
                out,
                self.max_findings,
                self.quiet,
            ),
            quiet: self.quiet,
            totals: Totals::default(),
            next: None,
        };
        for path in &self.inputs {
            match Input::from(path) {
                Input::Path(path) if path.is_dir() => run.folder(&path)?,
                input => run.input(&input)?,
            }
        }
        run.finish()
    }
}

/// A check under way.
struct Run<W: Write> {
    strict: bool,
    library: Option<LibraryCheck>,
    tools: Option<ToolsCheck>,
    reporter: Reporter<W>,
    quiet: bool,
    totals: Totals,
    /// What to try about the first input that could not be read.
    next: Option<String>,
}

/// The library that documents are checked against.
struct LibraryCheck {
    exports: Exports,
    /// Whether a document about a library was there.
    used: bool,
}

impl LibraryCheck {
    /// Adds what the library cannot call to a report.
    fn check(&mut self, text: &str, report: Report) -> Report {
        if report.kind != Some(DocumentKind::OpenDyn) {
            return report;
        }
        self.used = true;
        let findings = uncallable(text, &self.exports).into_iter().map(|found| ExternalFinding {
            pointer: found.pointer,
            code: Code::NotInLibrary,
            message: found.reason,
            help: None,
        });
        report.with_external_findings(text, findings)
    }
}

/// The tools that workflows are checked with.
struct ToolsCheck {
    toolbox: Toolbox,
    /// Whether there are no others.
    complete: bool,
    /// Whether a workflow was there.
    used: bool,
}

impl ToolsCheck {
    /// Asks the sources what they have; none where none are named.
    fn new(names: &[String]) -> Result<Option<Self>, Failure> {
        if names.is_empty() {
            return Ok(None);
        }
        let named = NamedSources::new(None, "check");
        let (mut toolbox, mut complete) = (Toolbox::new(), true);
        for name in names {
            let source = Source::open_with(name, &[], &named, &LibraryOptions::default())?;
            let key = source.own_key().map(|key| key.expose().to_owned()).or_else(|| environment_key_for(&source));
            let listing = block_on(async {
                let listing = source.definitions(key.as_deref(), &ConnectOptions::default()).await;
                source.close().await;
                listing
            })?;
            complete &= listing.complete;
            for definition in listing.definitions {
                // Never called: a check looks at definitions.
                let tool = FnTool::new("described", |_: Arguments| "").definition(definition);
                toolbox.add(tool).map_err(|error| Failure::Tools { name: source.to_string(), source: error })?;
            }
        }
        Ok(Some(ToolsCheck { toolbox, complete, used: false }))
    }

    /// Adds what a workflow calls and the tools do not have to a report.
    fn check(&mut self, text: &str, report: Report) -> Report {
        let Some(Document::OpenWorkflow(document)) = Document::read(text).document else { return report };
        self.used = true;
        let complete = self.complete;
        let faults = workflow_faults(&document, &self.toolbox).into_iter();
        report.with_external_findings(text, faults.filter(|fault| complete || fault.code != Code::UnknownFunction))
    }
}

/// Adds what keeps the functions of an OpenDyn document from being called in any library.
fn with_plan_faults(text: &str, report: Report) -> Report {
    if report.kind != Some(DocumentKind::OpenDyn) {
        return report;
    }
    let findings = document_faults(text).into_iter().map(|found| ExternalFinding {
        pointer: found.pointer,
        code: Code::KeysConflict,
        message: format!("`{}` cannot be called: {}", found.function, found.reason),
        help: Some(
            "correct the keys and types that the message names; the others of the document can be used".to_owned(),
        ),
    });
    report.with_external_findings(text, findings)
}

impl<W: Write> Run<W> {
    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let before = self.totals.documents + self.totals.unreadable;
        for input in walk(folder) {
            match input.and_then(|input| Ok((input.read()?, input))) {
                Ok((bytes, Input::Path(path))) if !looks_like_a_document(&path, &bytes) => self.totals.skipped += 1,
                Ok((bytes, input)) => self.bytes(&input.name(), &bytes)?,
                Err(failure) => self.unreadable(&failure),
            }
        }
        if self.totals.documents + self.totals.unreadable == before && !self.quiet {
            let folder = folder.to_string_lossy();
            terminal::warn(&format_args!(
                "no OpenTool, OpenDyn or OpenWorkflow document in {}",
                terminal::visible(&folder)
            ));
        }
        Ok(())
    }

    fn input(&mut self, input: &Input) -> Result<(), Failure> {
        match input.read() {
            Ok(bytes) => self.bytes(&input.name(), &bytes)?,
            Err(failure) => self.unreadable(&failure),
        }
        Ok(())
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let mut report = opentool_spec::check_bytes(bytes);
        let text = String::from_utf8_lossy(bytes);
        report = with_plan_faults(&text, report);
        if let Some(library) = &mut self.library {
            report = library.check(&text, report);
        }
        if let Some(tools) = &mut self.tools {
            report = tools.check(&text, report);
        }
        if self.strict {
            report = report.warnings_as_errors();
        }
        self.totals.add(name, &text, &report);
        self.reporter.document(&Checked { name, text: &text, report: &report }).map_err(Failure::output)
    }

    fn unreadable(&mut self, failure: &Failure) {
        self.totals.unreadable += 1;
        terminal::complain(failure);
        self.next = self.next.take().or_else(|| failure.next_step());
    }

    fn finish(self) -> Result<ExitStatus, Failure> {
        if self.library.as_ref().is_some_and(|library| !library.used) && !self.quiet {
            terminal::warn(&"no OpenDyn document was checked, so that --library had no effect");
        }
        if self.tools.as_ref().is_some_and(|tools| !tools.used) && !self.quiet {
            terminal::warn(&"no OpenWorkflow document was checked, so that --tools had no effect");
        }
        self.reporter.finish(&self.totals).map_err(Failure::output)?;
        if let Some(step) = &self.next {
            terminal::advise(step);
        }
        Ok(if self.totals.unreadable > 0 {
            ExitStatus::Unusable
        } else if self.totals.has_errors() {
            ExitStatus::Errors
        } else {
            ExitStatus::Success
        })
    }
}
