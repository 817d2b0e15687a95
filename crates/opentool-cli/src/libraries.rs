//! How C libraries are opened: the options that only the operator gives.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use opentool::{Toolbox, ToolboxError};
use opentool_dyn::{DynLibrary, Isolation, MemorySize, Permissions, WorkerSharing};

use crate::{
    failure::Failure,
    terminal::{visible, warn},
    time::some_time,
};

/// How long a call may run by default, as in the executor.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// Every option is `None` until it is given, so that the values of a file can be applied after the command line.
#[derive(Debug, Default, Args)]
pub(crate) struct LibraryOptions {
    #[command(flatten)]
    grants: LibraryGrants,
    /// How much memory it may have, such as 512M [default: 2G]
    #[arg(long, value_name = "SIZE", help_heading = "C libraries")]
    memory: Option<MemorySize>,
}

/// What also a command can take that has a memory of its own.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct LibraryGrants {
    /// The C library of an OpenDyn document; with several such documents DOCUMENT=LIB, repeatable
    #[arg(long, value_name = "[DOCUMENT=]LIB", help_heading = "C libraries")]
    library: Vec<String>,
    /// Where its functions run [default: process]
    #[arg(long, value_name = "WHERE", value_enum, help_heading = "C libraries")]
    isolation: Option<IsolationOption>,
    /// How long a call may run, whatever the source, such as 500ms or 2m [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = some_time, help_heading = "Running")]
    timeout: Option<Duration>,
    /// Whose calls run in one process: those of all callers, or those of each API key, session or conversation [default: shared]
    #[arg(long, value_name = "WHOSE", value_enum, help_heading = "C libraries")]
    workers: Option<SharingOption>,
    /// How many threads it may have [default: 1024]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), help_heading = "C libraries")]
    threads: Option<u32>,
    /// How much processor time a call may use, such as 10s; sampled, so that it may be exceeded for a moment
    #[arg(long, value_name = "TIME", value_parser = some_time, help_heading = "C libraries")]
    cpu: Option<Duration>,
    /// What it may do: net, read=PATH, write=PATH, unsafe, which lets it start programs, or unconfined-files, which lets it run as root or
    /// with write=PATH where the system cannot keep it to its files; repeatable
    #[arg(long, value_name = "WHAT", value_parser = grant, help_heading = "C libraries")]
    allow: Vec<String>,
    /// A variable of the environment that it gets, from here or with a value of its own; repeatable
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "C libraries")]
    env: Vec<String>,
}

impl From<&LibraryGrants> for LibraryOptions {
    fn from(grants: &LibraryGrants) -> Self {
        LibraryOptions { grants: grants.clone(), memory: None }
    }
}

/// Where the functions of a library run.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum IsolationOption {
    /// In a process of its own, which it can crash, and nothing else
    Process,
    /// In this process, for a library that is trusted as this program is and whose functions are quick: nothing keeps it
    /// from anything, and nothing ends a call
    None,
}

/// Whose calls run in one process.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SharingOption {
    /// Those of all callers
    Shared,
    /// Those of one API key, MCP session or chat conversation: a crash does not end the handles of others
    PerCaller,
}

/// Checks what a command line permits.
fn grant(text: &str) -> Result<String, String> {
    Permissions::new().allow(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

impl LibraryGrants {
    /// Whether a library, or something that it may do, is given.
    pub(crate) fn is_given(&self) -> bool {
        !(self.library.is_empty() && self.allow.is_empty() && self.env.is_empty())
    }

    /// How long a call may run, where that is given.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

impl LibraryOptions {
    /// Whether a library, or something that it may do, is given.
    pub(crate) fn is_given(&self) -> bool {
        self.grants.is_given()
    }

    /// How long a call may run, where that is given.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.grants.timeout
    }

    /// The words of the command line that name the libraries.
    pub(crate) fn words(&self) -> Vec<String> {
        self.grants.library.iter().flat_map(|library| ["--library".to_owned(), library.clone()]).collect()
    }

    /// The libraries that are named by a path, rather than looked up by the system.
    pub(crate) fn library_files(&self) -> impl Iterator<Item = PathBuf> {
        let files =
            self.grants.library.iter().map(|given| given.rsplit_once('=').map_or(given.as_str(), |(_, file)| file));
        files.filter(|file| file.contains('/')).map(PathBuf::from)
    }

    /// Opens the library of each document, in their order.
    pub(crate) fn open_all(&self, documents: &[(&str, &str)]) -> Result<Vec<DynLibrary>, Failure> {
        for given in &self.grants.library {
            let is_named = documents.iter().any(|(name, _)| of_document(given, name).is_some());
            if !is_named && documents.len() != 1 {
                return Err(Failure::usage(match documents.len() {
                    0 => format!("`--library {given}`: no source is an OpenDyn document, which describes a library"),
                    _ => format!("`--library {given}` does not say whose library it is: write DOCUMENT=LIB"),
                }));
            }
        }
        documents.iter().map(|(name, text)| self.open(name, text, |_| true)).collect()
    }

    /// Opens the library of a document, in which functions may have grants of their own in place of those of the library: such
    /// functions run in further processes, one for each set of grants.
    pub(crate) fn open_split(&self, name: &str, text: &str, own: &[(&str, &[String])]) -> Result<OpenLibrary, Failure> {
        let set = |grants: &[String]| grants.iter().cloned().collect::<BTreeSet<_>>();
        let shared = set(&self.grants.allow);
        let mut groups: BTreeMap<BTreeSet<String>, BTreeSet<String>> = BTreeMap::new();
        for (function, grants) in own.iter().filter(|(_, grants)| set(grants) != shared) {
            groups.entry(set(grants)).or_default().insert((*function).to_owned());
        }
        let is_apart = |function: &str| groups.values().any(|group| group.contains(function));
        let rest = self.open(name, text, |function| !is_apart(function))?;
        let of_rest = rest.toolbox().names().filter(|function| !is_apart(function)).map(str::to_owned).collect();
        let mut parts = vec![(rest, of_rest)];
        for (grants, functions) in &groups {
            let grants = LibraryGrants { allow: grants.iter().cloned().collect(), ..self.grants.clone() };
            let options = LibraryOptions { grants, memory: self.memory };
            parts.push((options.open(name, text, |function| functions.contains(function))?, functions.clone()));
        }
        OpenLibrary::join(name, parts)
    }

    /// Opens the library of a document, for some of its functions.
    fn open(&self, name: &str, text: &str, is_own: impl Fn(&str) -> bool) -> Result<DynLibrary, Failure> {
        let named = self.grants.library.iter().find_map(|given| of_document(given, name));
        let Some(library) = named.or_else(|| self.grants.library.first().map(Path::new)) else {
            return Err(Failure::LibraryDocument { name: name.to_owned() });
        };
        let mut builder = DynLibrary::builder().document_text(text).library(library).permissions(self.permissions()?);
        match self.grants.isolation {
            Some(IsolationOption::None) => {
                self.refuse_what_needs_a_worker()?;
                builder = builder.isolation(Isolation::None);
            }
            Some(IsolationOption::Process) | None => builder = builder.timeout(self.grants.timeout.unwrap_or(TIMEOUT)),
        }
        if let Some(SharingOption::PerCaller) = self.grants.workers {
            builder = builder.worker_sharing(WorkerSharing::PerCaller);
        }
        let opened = builder.open().map_err(|error| Failure::library(&error))?;
        for (function, reason) in opened.disabled().filter(|(function, _)| is_own(function)) {
            warn(&format_args!("{}: `{}` cannot be called: {}", visible(name), visible(function), visible(reason)));
        }
        warn_of_marks(name, &opened.marks());
        if let Some(confinement) = opened.confinement() {
            let library = PathBuf::from(library);
            tracing::info!(library = %library.display(), %confinement, "the library runs in a worker process");
            for missing in &confinement.missing {
                warn(&format_args!(
                    "{}: this system does not keep a library from everything: {missing}",
                    visible(name)
                ));
            }
        }
        Ok(opened)
    }

    /// Fails where an option was given that only a worker process can enforce.
    fn refuse_what_needs_a_worker(&self) -> Result<(), Failure> {
        let LibraryGrants { timeout, allow, env, workers, threads, cpu, .. } = &self.grants;
        let given = [
            ("--timeout", timeout.is_some()),
            ("--allow", !allow.is_empty()),
            ("--env", !env.is_empty()),
            ("--memory", self.memory.is_some()),
            ("--workers", workers.is_some()),
            ("--threads", threads.is_some()),
            ("--cpu", cpu.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::usage(format!(
                "`{option}` has no effect with `--isolation none`: in this process nothing limits a library; leave one of them out"
            ))),
            None => Ok(()),
        }
    }

    fn permissions(&self) -> Result<Permissions, Failure> {
        let mut permissions = Permissions::new();
        for grant in &self.grants.allow {
            permissions = permissions.allow(grant).map_err(|error| Failure::usage(error.to_string()))?;
        }
        for variable in &self.grants.env {
            if !variable.contains('=') && std::env::var_os(variable).is_none() {
                warn(&format_args!("`--env {}`: there is no such variable here", visible(variable)));
            }
            permissions = permissions.env(variable);
        }
        if let Some(most) = self.grants.threads {
            permissions = permissions.threads(most);
        }
        if let Some(time) = self.grants.cpu {
            permissions = permissions.cpu(time);
        }
        Ok(match self.memory {
            Some(size) => permissions.memory(size),
            None => permissions,
        })
    }
}

/// A C library whose functions run in one process, or in several where some of them may do something else.
#[derive(Debug, Clone)]
pub(crate) struct OpenLibrary {
    toolbox: Toolbox,
    parts: Vec<DynLibrary>,
}

impl From<DynLibrary> for OpenLibrary {
    fn from(library: DynLibrary) -> Self {
        OpenLibrary { toolbox: library.toolbox().clone(), parts: vec![library] }
    }
}

impl OpenLibrary {
    /// Joins what was opened several times, each time for some of the functions.
    fn join(name: &str, parts: Vec<(DynLibrary, BTreeSet<String>)>) -> Result<Self, Failure> {
        let unusable = |source: ToolboxError| Failure::Tools { name: name.to_owned(), source };
        check_handles(&parts)?;
        let mut toolbox = Toolbox::new();
        for (library, functions) in &parts {
            let functions = functions.clone();
            let own = library.toolbox().clone().filter(move |tool| functions.contains(tool.definition().name()));
            toolbox = toolbox.merge(own).map_err(unusable)?;
        }
        Ok(OpenLibrary { toolbox, parts: parts.into_iter().map(|(library, _)| library).collect() })
    }

    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Where its functions run, for people.
    pub(crate) fn isolation(&self) -> String {
        let mut missing = false;
        for library in &self.parts {
            match library.confinement() {
                None => return "in this process, without isolation".to_owned(),
                Some(confinement) => missing |= !confinement.missing.is_empty(),
            }
        }
        let sandboxed = if missing { "sandboxed in part" } else { "sandboxed" };
        match self.parts.len() {
            1 => format!("a worker process, {sandboxed}"),
            processes => format!("{processes} worker processes, {sandboxed}"),
        }
    }
}

/// Refuses handles that would be made in one process and used in another, where they mean nothing.
fn check_handles(parts: &[(DynLibrary, BTreeSet<String>)]) -> Result<(), Failure> {
    for (index, (library, functions)) in parts.iter().enumerate() {
        for function in functions {
            for handle in library.handle_types(function) {
                let others = parts[index + 1..].iter().flat_map(|(library, functions)| {
                    functions.iter().filter(move |other| library.handle_types(other).any(|theirs| theirs == handle))
                });
                if let Some(other) = others.into_iter().next() {
                    return Err(Failure::usage(format!(
                        "`{function}` and `{other}` share handles of the type `{handle}`, which mean something in one process only, and \
                         an `allow` of their own gives functions another process: give both the same `allow`"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// How many marks of a document are listed.
const MOST_MARKS: usize = 5;

/// Lists what in a document is uncertain and not yet reviewed.
fn warn_of_marks(document: &str, marks: &[String]) {
    if marks.is_empty() {
        return;
    }
    let shown: String = marks.iter().take(MOST_MARKS).map(|mark| format!("\n  {}", visible(mark))).collect();
    let more = match marks.len().saturating_sub(MOST_MARKS) {
        0 => String::new(),
        more => format!("\n  … and {more} more: `opentool check` lists them all"),
    };
    let count = marks.len();
    let noun = if count == 1 { "mark is" } else { "marks are" };
    warn(&format_args!(
        "{}: {count} {noun} not reviewed (`x-review`), so answers may be wrong:{shown}{more}",
        visible(document)
    ));
}

/// The library of `DOCUMENT=LIB`, if that is the document.
fn of_document<'a>(given: &'a str, document: &str) -> Option<&'a Path> {
    given.strip_prefix(document)?.strip_prefix('=').map(Path::new)
}
