//! Why a command could not do its work.

use std::{io, path::Path};

use opentool::{ToolError, ToolboxError};
use opentool_chat::{Cause, ChatError};
use opentool_client::ClientError;
use opentool_describe::DescribeError;
use opentool_dyn::{ExportsError, FindError, OpenError};
use opentool_journal::JournalError;
use opentool_mcp::McpError;

use crate::{
    exit_status::ExitStatus,
    next_step,
    setting::{CONFIG_FILE, DEFAULT_PORT},
    system_library,
    terminal::visible,
};

/// What went wrong, and with what.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot read {}: {}", visible(name), reason(source))]
    Read { name: String, source: io::Error },
    #[error("cannot write to standard output: {}", reason(source))]
    Output { source: io::Error },
    #[error("cannot write {}: {}", visible(name), reason(source))]
    Write { name: String, source: io::Error },
    #[error("{} is a folder: give one file", visible(name))]
    Folder { name: String },
    #[error("{} is not UTF-8 from byte {at} on: save the file as UTF-8", visible(name))]
    NotText { name: String, at: usize },
    #[error("standard input cannot be written back: use `-o FILE`, or `-o -` for standard output")]
    WriteBackToStandardInput,
    #[error("{} is no http:// or https:// URL", visible(name))]
    Scheme { name: String },
    #[error("{} says nothing about where its functions can be called: add `\"server\": {{\"url\": …}}`", visible(name))]
    NoServer { name: String },
    #[error(
        "{} describes a C library: `serve`, `tools`, `call` and `chat` take it with `--library LIB`",
        visible(name)
    )]
    LibraryDocument { name: String },
    #[error("{} is an MCP server: `serve`, `mcp`, `tools`, `call`, `load` and `chat` take it", visible(name))]
    McpServer { name: String },
    #[error("{} cannot be used: {}", visible(name), visible(reason))]
    Document { name: String, reason: String },
    #[error("the tools of {} cannot be used: {}", visible(name), visible(&source.to_string()))]
    Tools { name: String, source: ToolboxError },
    #[error("two sources have a tool named `{}`: {first} and {second}", visible(name))]
    Duplicate { name: String, first: String, second: String },
    #[error("{}", visible(&source.to_string()))]
    Client { source: Box<ClientError> },
    #[error("{name} {}", if *has_key {
        "refused the API key that it was given"
    } else {
        "wants an API key, and none was given"
    })]
    Unauthorized { name: String, has_key: bool },
    #[error(
        "{} {problem}, so {}. What needs your trust:\n  {}\nRead the file, then run `opentool trust`; or name \
         it: `opentool {command} --config {}`",
        visible(name),
        unused,
        settings.join("\n  "), visible(name)
    )]
    Untrusted {
        name: String,
        problem: &'static str,
        unused: &'static str,
        settings: Vec<String>,
        command: &'static str,
    },
    #[error("{message}")]
    Config { message: String, next: Option<String> },
    #[error("{}", visible(&source.to_string()))]
    Mcp { source: Box<McpError> },
    #[error("{}", visible(message))]
    Usage { message: String, next: Option<String> },
    #[error("{message}")]
    Serve { message: String, next: Option<String> },
    #[error("{message}")]
    Setup { message: &'static str },
    #[error("{}", visible(&source.to_string()))]
    Chat { source: Box<ChatError> },
    #[error("{message}")]
    Library { message: String, next: Option<String> },
    #[error("{}", visible(&journal_problem(source)))]
    Journal { source: Box<JournalError> },
    #[error("cannot start: {}", reason(source))]
    Runtime { source: io::Error },
}

impl Failure {
    /// A failure to write what a command has to say.
    pub(crate) fn output(source: io::Error) -> Self {
        Failure::Output { source }
    }

    /// A request to a server that failed.
    pub(crate) fn client(source: ClientError) -> Self {
        Failure::Client { source: Box::new(source) }
    }

    /// An MCP server that gave no answer.
    pub(crate) fn mcp(source: McpError) -> Self {
        Failure::Mcp { source: Box::new(source) }
    }

    /// A library that cannot be used; what others wrote in the message keeps its lines.
    pub(crate) fn library(error: &(dyn std::error::Error + 'static)) -> Self {
        let message = error.to_string();
        let message = message.lines().map(|line| visible(line)).collect::<Vec<_>>().join("\n");
        let next = find_error(error)
            .map(other_library)
            .or_else(|| library_of_script(error))
            .or_else(|| missing_library(error))
            .or_else(|| missing_header(error));
        Failure::Library { message, next }
    }

    /// A journal that cannot be used, or does not do what was asked.
    pub(crate) fn journal(source: JournalError) -> Self {
        Failure::Journal { source: Box::new(source) }
    }

    /// A command line that asks for something that cannot be.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::Usage { message: message.into(), next: None }
    }

    /// The same, with what to try.
    pub(crate) fn usage_with(message: impl Into<String>, next: Option<String>) -> Self {
        Failure::Usage { message: message.into(), next }
    }

    /// Says what to try, where nothing better is known.
    pub(crate) fn or_try(self, step: impl FnOnce() -> Option<String>) -> Self {
        match self {
            Failure::Usage { message, next: None } => Failure::Usage { message, next: step() },
            other => other,
        }
    }

    /// What the user can do about it: a command line that begins with `opentool`, or words.
    pub(crate) fn next_step(&self) -> Option<String> {
        match self {
            Failure::Read { name, source } if source.kind() == io::ErrorKind::NotFound => {
                next_step::with_near_file(name).or_else(|| without_file(name))
            }
            Failure::Folder { .. } => next_step::command_line(["check"]),
            Failure::Document { name, .. } => next_step::command_line(["check", name]),
            Failure::NoServer { name } => next_step::command_line(["tools", name]),
            Failure::Scheme { .. } => Some(next_step::help()),
            Failure::Client { source } => match &**source {
                ClientError::NoAccess { url, reached: false, .. } => Some(start_server(url)),
                ClientError::NoAccess { .. } => {
                    Some("the base URL of an OpenTool server; that of an MCP server is written mcp+http://…".to_owned())
                }
                _ => None,
            },
            Failure::Unauthorized { .. } => Some(OTHER_KEY.to_owned()),
            Failure::Mcp { source } => match &**source {
                McpError::Unauthorized { .. } => Some(OTHER_KEY.to_owned()),
                McpError::KeyRequired { url, .. } => {
                    let login = next_step::command_line(["mcp", "login", url])?;
                    Some(format!("{OTHER_KEY}; where it wants OAuth, `{login}`"))
                }
                McpError::LoginRequired { url, .. } => next_step::command_line(["mcp", "login", url]),
                McpError::Login { .. } => Some(format!("where it takes no login but a key: {OTHER_KEY}")),
                McpError::Unreachable { server, .. } if server.contains("://") => Some(start_server(server)),
                McpError::Start { .. } => Some("install the program, or give the path of its file, with a `/` in it".to_owned()),
                McpError::Closed { .. } => Some(
                    "run the server's command by itself: it must wait for input, and say on standard error what it needs"
                        .to_owned(),
                ),
                McpError::Protocol { server, .. } => next_step::with_mcp_url(&format!("mcp+{server}")),
                _ => None,
            },
            Failure::LibraryDocument { .. } => Some(
                "`--library LIB`, with the path of the library or a name that the system's loader finds, such as libm.so.6"
                    .to_owned(),
            ),
            Failure::Setup { .. } => Some(next_step::help_of("models")),
            Failure::Chat { source } => model_step(source.cause()).map(str::to_owned),
            Failure::Usage { next, .. } => next.clone().or_else(|| Some(next_step::help())),
            Failure::Serve { next, .. } | Failure::Library { next, .. } | Failure::Config { next, .. } => next.clone(),
            Failure::Duplicate { .. } => {
                Some("give one of them a `prefix` in its `[sources.NAME]` of opentool.toml".to_owned())
            }
            _ => None,
        }
    }

    /// How a command ends that could not do its work.
    pub(crate) fn exit_status(&self) -> ExitStatus {
        use ExitStatus::{Errors, Unauthorized, Unreachable, Unusable};
        match self {
            Failure::Client { source } => match **source {
                ClientError::Unauthorized => Unauthorized,
                ClientError::Call { .. } => Errors,
                ClientError::InvalidUrl { .. } | ClientError::Setup { .. } => Unusable,
                // A server that answers something else is no OpenTool server.
                _ => Unreachable,
            },
            Failure::Unauthorized { .. } => Unauthorized,
            Failure::Mcp { source } => match **source {
                McpError::Unauthorized { .. }
                | McpError::KeyRequired { .. }
                | McpError::LoginRequired { .. }
                | McpError::Login { .. } => Unauthorized,
                McpError::Refused { .. } | McpError::InputRequired => Errors,
                McpError::Setup { .. } => Unusable,
                _ => Unreachable,
            },
            Failure::Chat { source } => match source.cause() {
                Cause::Refused { status: Some(401 | 403), .. } => Unauthorized,
                Cause::Refused { .. }
                | Cause::Tool { .. }
                | Cause::Limit(_)
                | Cause::Form { .. }
                | Cause::Deadline { .. } => Errors,
                // A server that answers something else is no such provider.
                Cause::Unreachable { .. } | Cause::Interrupted { .. } | Cause::Unreadable { .. } => Unreachable,
                _ => Unusable,
            },
            _ => Unusable,
        }
    }
}

/// What to do where a key is missing or wrong.
const OTHER_KEY: &str = "a key that the server takes, in a file with `--source-api-key-file FILE`, or for a URL in the environment \
                         variable OPENTOOL_API_KEY";

/// What to do about a model that gives no answer.
fn model_step(cause: &Cause) -> Option<&'static str> {
    match cause {
        Cause::Refused { status: Some(401 | 403), .. } => {
            Some("a key that the provider takes; `opentool help models` lists the variables for it")
        }
        Cause::Unreachable { .. } => {
            Some("start the model's server, or set its address; `opentool help models` lists the variables for it")
        }
        _ => None,
    }
}

/// What can be tried where a file is not there.
fn without_file(name: &str) -> Option<String> {
    let path = Path::new(name);
    if path.file_name().is_some_and(|file| file == CONFIG_FILE) {
        let folder = path.parent().and_then(Path::to_str).filter(|folder| !folder.is_empty());
        return next_step::command_line(["init"].into_iter().chain(folder));
    }
    if path.extension().is_some_and(|extension| extension == "toml") {
        let words = match Path::new(CONFIG_FILE).exists() {
            true => "leave `--config` out: opentool.toml of this folder is read without it",
            false => "`opentool init` writes an opentool.toml, which is read without `--config`",
        };
        return Some(words.to_owned());
    }
    match next_step::command().split(' ').next().unwrap_or_default() {
        "serve" | "tools" | "call" | "chat" | "load" | "version" | "mcp" => next_step::command_line(["tools", "demo"]),
        "check" | "fix" | "convert" | "import" => next_step::command_line(["check"]),
        _ => Some(next_step::help()),
    }
}

/// How a server comes to be where none is. At our own port it is most likely ours; what should be at another one is not known.
fn start_server(url: &str) -> String {
    let authority =
        url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    let is_here = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
    match port.parse::<u16>() {
        Ok(DEFAULT_PORT) if is_here => "opentool serve".to_owned(),
        _ => "start the server that should be there, or check the address".to_owned(),
    }
}

/// A library that was not found, if that is what an error is about.
fn find_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a FindError> {
    match error.downcast_ref() {
        Some(OpenError::Find(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

/// The same command with the first library that a script for the linker names, if that is what an error is about.
fn library_of_script(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let error = match error.downcast_ref() {
        Some(OpenError::Exports(error)) => error,
        _ => error.downcast_ref()?,
    };
    let ExportsError::LinkerScript { path, libraries } = error else { return None };
    let library = libraries.first()?;
    let name = path.file_name()?.to_str()?;
    next_step::with_word(name, library).or_else(|| next_step::with_word(path.to_str()?, library))
}

/// What to try where a library is named by a path that has none.
fn missing_library(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let error = match error.downcast_ref() {
        Some(OpenError::Exports(error)) => error,
        _ => error.downcast_ref()?,
    };
    let ExportsError::Missing { path } = error else { return None };
    let near = next_step::with_near_file(&path.to_string_lossy());
    near.or_else(|| {
        Some("check the path; a name without a `/` is looked up by the system, such as libm.so.6".to_owned())
    })
}

/// What to try where the C compiler cannot read the headers.
fn missing_header(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    match error.downcast_ref()? {
        DescribeError::Preprocessor { .. } => Some(
            "the path of a header that is there, the folder that has it with `-I DIR`, or its package with `--pkg NAME`"
                .to_owned(),
        ),
        _ => None,
    }
}

/// What to try where there is no such library.
fn other_library(error: &FindError) -> String {
    let near = error
        .near()
        .iter()
        .find(|name| system_library::can_read(name))
        .and_then(|near| next_step::with_word(error.name(), near));
    near.unwrap_or_else(|| "install the library, or give the path of its file, with a `/` in it".to_owned())
}

/// The failure of the server behind a tool that made a call fail, if it was one; not what the tool or its server answered.
pub(crate) fn server_failure(error: &ToolError) -> Option<Failure> {
    if let Some(error) = cause::<ClientError>(error).filter(|error| !matches!(error, ClientError::Call { .. })) {
        return Some(Failure::client(error.clone()));
    }
    let error = cause::<McpError>(error)?;
    let is_answer = matches!(error, McpError::Refused { .. } | McpError::InputRequired);
    (!is_answer).then(|| Failure::mcp(error.clone()))
}

fn cause<T: std::error::Error + 'static>(error: &ToolError) -> Option<&T> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        cause = error.source();
    }
    None
}

fn journal_problem(error: &JournalError) -> String {
    match error {
        JournalError::Open { path, source } => {
            format!("the journal {} cannot be opened: {}", path.display(), reason(source))
        }
        error => error.to_string(),
    }
}

/// The system's message without its error number.
fn reason(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        // One that was not made by the system has other words for it.
        return "no such file or directory".to_owned();
    }
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = plain.chars();
    match chars.next() {
        // An acronym keeps its case.
        Some(first) if chars.clone().next().is_none_or(char::is_lowercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_at_our_own_port_a_server_of_ours_is_started() {
        for url in ["http://127.0.0.1:9627", "http://localhost:9627/opentool", "http://[::1]:9627/mcp"] {
            assert_eq!(start_server(url), "opentool serve", "{url}");
        }
        for url in ["http://127.0.0.1:21998", "http://10.0.0.7:9627", "https://tools.example"] {
            assert_eq!(start_server(url), "start the server that should be there, or check the address", "{url}");
        }
    }
}
