//! Why a command could not do its work.

use std::io;

use opentool::{ToolError, ToolboxError};
use opentool_chat::{Cause, ChatError};
use opentool_client::ClientError;
use opentool_journal::JournalError;
use opentool_mcp::McpError;

use crate::terminal::visible;

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
        "wants an API key, and none was given: set OPENTOOL_API_KEY, or for a source of `serve` or `chat` use --source-api-key-env"
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
    Config { message: String },
    #[error("{}", visible(&source.to_string()))]
    Mcp { source: Box<McpError> },
    #[error("{}", visible(message))]
    Usage { message: String },
    #[error("{message}")]
    Serve { message: String },
    #[error("{message}")]
    Setup { message: &'static str },
    #[error("{}", visible(&source.to_string()))]
    Chat { source: Box<ChatError> },
    #[error("{message}")]
    Library { message: String },
    #[error("{}", visible(&source.to_string()))]
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
    pub(crate) fn library(error: &dyn std::error::Error) -> Self {
        let message = error.to_string();
        Failure::Library { message: message.lines().map(|line| visible(line)).collect::<Vec<_>>().join("\n") }
    }

    /// A journal that cannot be used, or does not do what was asked.
    pub(crate) fn journal(source: JournalError) -> Self {
        Failure::Journal { source: Box::new(source) }
    }

    /// A command line that asks for something that cannot be.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::Usage { message: message.into() }
    }

    /// The exit code: 1 a tool, server or model answered with an error, 2 usage or input, 3 not reachable, 4 unauthorised.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Client { source } => match **source {
                ClientError::Unauthorized => 4,
                ClientError::Call { .. } => 1,
                ClientError::InvalidUrl { .. } | ClientError::Setup { .. } => 2,
                // A server that answers something else is no OpenTool server.
                _ => 3,
            },
            Failure::Unauthorized { .. } => 4,
            Failure::Mcp { source } => match **source {
                McpError::Unauthorized { .. } | McpError::LoginRequired { .. } | McpError::Login { .. } => 4,
                McpError::Refused { .. } | McpError::InputRequired => 1,
                McpError::Setup { .. } => 2,
                _ => 3,
            },
            Failure::Chat { source } => match source.cause() {
                Cause::Refused { status: Some(401 | 403), .. } => 4,
                Cause::Refused { .. }
                | Cause::Tool { .. }
                | Cause::Limit(_)
                | Cause::Form { .. }
                | Cause::Deadline { .. } => 1,
                // A server that answers something else is no such provider.
                Cause::Unreachable { .. } | Cause::Interrupted { .. } | Cause::Unreadable { .. } => 3,
                _ => 2,
            },
            _ => 2,
        }
    }
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

/// The system's message without its error number.
fn reason(error: &io::Error) -> String {
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
