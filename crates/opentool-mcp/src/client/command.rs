//! How a server is started: [`ServerCommand`].

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The variables that every server gets, where they are set: what programs need to find themselves and their files.
const INHERITED: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "PATHEXT",
    "COMSPEC",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
];

/// A program that is an MCP server, and how it is started.
///
/// It gets a few variables of the environment (`PATH`, `HOME`, the language and the like) and those that are named here, no
/// others, so that it does not learn the keys of other services.
///
/// ```
/// use opentool_mcp::ServerCommand;
///
/// let command = ServerCommand::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .env("LOG_LEVEL", "debug")
///     .inherit_env("GITHUB_TOKEN");
/// ```
#[derive(Clone)]
#[must_use = "it is started by a client"]
pub struct ServerCommand {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    inherited: Vec<OsString>,
    directory: Option<PathBuf>,
}

impl ServerCommand {
    /// Takes a program: a path, or a name that is looked up in `PATH`.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { program: program.into(), args: Vec::new(), env: Vec::new(), inherited: Vec::new(), directory: None }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the program's environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Passes on a variable of this process's environment, where it is set when the program is started.
    pub fn inherit_env(mut self, name: impl Into<OsString>) -> Self {
        self.inherited.push(name.into());
        self
    }

    /// Sets the folder in which the program runs: that of this process.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// What the server is called in messages. Arguments may be secret, so they have no place in it.
    pub(crate) fn name(&self) -> String {
        let file_name = Path::new(&self.program).file_name();
        file_name.unwrap_or(&self.program).to_string_lossy().into_owned()
    }

    pub(crate) fn program(&self) -> &OsStr {
        &self.program
    }

    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.args
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The whole environment of the program.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (OsString, OsString)> {
        let names = INHERITED.iter().map(OsString::from).chain(self.inherited.iter().cloned());
        names.filter_map(|name| env::var_os(&name).map(|value| (name, value))).chain(self.env.iter().cloned())
    }
}

impl fmt::Debug for ServerCommand {
    /// Shows no argument and no value of a variable, since any of them may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("inherited", &self.inherited)
            .field("directory", &self.directory)
            .finish()
    }
}
