//! MCP servers as a source: a URL, a command, or a file in which an agent lists its servers.

use std::{
    collections::BTreeMap,
    env,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use opentool::{ToolMetadata, Toolbox};
use opentool_mcp::{McpClient, ServerCommand, ServerUrl};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    config_value::SecretText,
    failure::Failure,
    limits::ConnectOptions,
    logins::with_login,
    secret::Secret,
    source_tables::{McpOrigin, TablePlace, ToolRules},
};

/// What the URL of an MCP server begins with, before that of HTTP.
const SCHEME: &str = "mcp+";

/// One or several MCP servers.
#[derive(Debug, Clone)]
pub(crate) struct McpServers {
    servers: Vec<McpServer>,
    /// Those that were asked for their tools, which may run.
    open: Arc<Mutex<Vec<McpClient>>>,
}

#[derive(Debug, Clone)]
struct McpServer {
    /// What it is called in its file.
    name: Option<String>,
    /// What the names of its tools begin with.
    prefix: String,
    timeout: Option<Duration>,
    /// Whether a key can be given for it on the command line.
    takes_key: bool,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Command(ServerCommand),
    Url(ServerUrl),
}

impl McpServers {
    fn new(servers: Vec<McpServer>) -> Self {
        McpServers { servers, open: Arc::default() }
    }

    /// Takes `mcp+http://…` and `mcp+https://…`.
    pub(crate) fn from_url(text: &str) -> Option<Self> {
        let url = text.get(SCHEME.len()..).filter(|_| text[..SCHEME.len()].eq_ignore_ascii_case(SCHEME))?;
        Some(Self::new(vec![McpServer::new(None, Place::Url(ServerUrl::new(url)))]))
    }

    /// Takes a program and its arguments, quoted as in a shell.
    pub(crate) fn from_command(text: &str) -> Result<Self, Failure> {
        let words = shlex::split(text).ok_or_else(|| Failure::usage("`--mcp`: a quote or backslash has no end"))?;
        let Some((program, arguments)) = words.split_first() else {
            return Err(Failure::usage("`--mcp` needs a command, such as `--mcp 'npx -y some-server'`"));
        };
        let command = ServerCommand::new(program).args(arguments);
        Ok(Self::new(vec![McpServer::new(None, Place::Command(command))]))
    }

    /// Takes the server that a table of a configuration file describes, and the key that it names.
    pub(crate) fn from_table(
        table: &TablePlace,
        origin: &McpOrigin,
        rules: &ToolRules,
    ) -> Result<(Self, Option<Secret>), Failure> {
        let read = |key: &str, value: &SecretText| value.read().map_err(|failure| table.locate(key, failure));
        let (place, key) = match origin {
            McpOrigin::Command { program, arguments, environment, folder } => {
                let mut command = ServerCommand::new(program).args(arguments);
                for (name, value) in environment {
                    command = command.env(name, read("env", value)?);
                }
                if !folder.as_os_str().is_empty() {
                    command = command.current_dir(folder);
                }
                (Place::Command(command), None)
            }
            McpOrigin::Url { url, key, headers } => {
                let mut url = ServerUrl::new(url);
                for (name, value) in headers {
                    url = url.header(name, read("headers", value)?);
                }
                (Place::Url(url), key.as_ref().map(|key| read("key", key)).transpose()?)
            }
        };
        let takes_key = matches!(place, Place::Url(_));
        let server = McpServer {
            prefix: rules.prefix.clone(),
            timeout: rules.timeout,
            takes_key,
            ..McpServer::new(Some(table.name.clone()), place)
        };
        Ok((Self::new(vec![server]), key.map(Secret::new)))
    }

    /// Takes the file of an agent, if the text is one.
    pub(crate) fn from_file(text: &str) -> Option<Result<Self, String>> {
        let Ok(Value::Object(root)) = serde_json::from_str(text) else { return None };
        let Some(Value::Object(listed)) = root.get("mcpServers").or_else(|| root.get("servers")) else { return None };
        Some(read_servers(listed).map(Self::new))
    }

    /// Whether a key can be given for it: for a URL. A file has the headers of each of its servers in it.
    pub(crate) fn take_key(&self) -> bool {
        self.servers.iter().any(|server| server.takes_key)
    }

    /// Where the servers are, for people.
    pub(crate) fn places(&self) -> String {
        let children = self.servers.iter().filter(|server| matches!(server.place, Place::Command(_))).count();
        match (children, self.servers.len() - children) {
            (1, 0) => "an MCP server, a child process".to_owned(),
            (0, 1) => "an MCP server, remote".to_owned(),
            (children, 0) => format!("{children} MCP servers, child processes"),
            (0, remote) => format!("{remote} MCP servers, remote"),
            (children, remote) => format!("MCP servers, {children} of them child processes and {remote} remote"),
        }
    }

    /// The URLs of those that have one.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().filter_map(|server| match &server.place {
            Place::Url(url) => Some(url.as_str()),
            Place::Command(_) => None,
        })
    }

    /// Starts or connects to the servers and returns their tools.
    pub(crate) async fn attach(
        &self,
        key: Option<&str>,
        known: &BTreeMap<&str, ToolMetadata>,
        connect: &ConnectOptions,
    ) -> Result<(Toolbox, opentool::Source), Failure> {
        let (mut tools, mut joined) = (Toolbox::new(), Vec::with_capacity(self.servers.len()));
        for server in &self.servers {
            let client = server.client(key, connect);
            let client = known.iter().fold(client, |client, (tool, known)| client.metadata(*tool, known.clone()));
            self.open.lock().unwrap_or_else(PoisonError::into_inner).push(client.clone());
            let toolbox = client.toolbox().await.map_err(Failure::mcp)?;
            let unusable = |source| Failure::Tools {
                name: server.name.clone().unwrap_or_else(|| "the MCP server".into()),
                source,
            };
            tools = match (self.servers.len(), tools.is_empty()) {
                // It keeps its title and version.
                (1, _) => toolbox,
                _ => tools.merge(toolbox).map_err(unusable)?,
            };
            joined.push(opentool::Source::new(client));
        }
        let unusable = |source| Failure::Tools { name: "the MCP servers".to_owned(), source };
        Ok((tools, opentool::Source::join(joined).map_err(unusable)?))
    }

    /// Whether one of the servers was there when it was last asked.
    pub(crate) fn are_up(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_empty() || open.iter().map(McpClient::is_up).fold(false, |any, is_up| any | (is_up != Some(false)))
    }

    /// Ends the programs that were started.
    pub(crate) async fn close(&self) {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        for client in open {
            client.close().await;
        }
    }
}

impl McpServer {
    fn new(name: Option<String>, place: Place) -> Self {
        let takes_key = name.is_none() && matches!(place, Place::Url(_));
        McpServer { name, prefix: String::new(), timeout: None, takes_key, place }
    }

    fn client(&self, key: Option<&str>, connect: &ConnectOptions) -> McpClient {
        let client = match (&self.place, key.filter(|_| self.takes_key)) {
            (Place::Command(command), _) => McpClient::from_command(command.clone()),
            (Place::Url(url), Some(key)) => McpClient::from_url(connect.mcp_url(url.clone().api_key(key))),
            (Place::Url(url), None) => McpClient::from_url(with_login(connect.mcp_url(url.clone()))),
        };
        let mut client = connect.mcp(client).prefix(self.prefix.as_str());
        if let Some(timeout) = self.timeout {
            client = client.timeout(timeout);
        }
        match &self.name {
            Some(name) => client.name(name.as_str()),
            None => client,
        }
    }
}

/// A server as agents write it.
#[derive(Deserialize)]
struct Entry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

fn read_servers(listed: &Map<String, Value>) -> Result<Vec<McpServer>, String> {
    let mut servers = Vec::new();
    for (name, entry) in listed {
        let of_server = |problem: String| format!("the MCP server `{name}`: {problem}");
        let entry = Entry::deserialize(entry).map_err(|error| of_server(error.to_string()))?;
        if entry.disabled {
            continue;
        }
        let place = entry.place().map_err(of_server)?;
        servers.push(McpServer { prefix: format!("{name}_"), ..McpServer::new(Some(name.clone()), place) });
    }
    if servers.is_empty() { Err("it lists no MCP server".to_owned()) } else { Ok(servers) }
}

impl Entry {
    fn place(self) -> Result<Place, String> {
        match (self.command, self.url) {
            (Some(command), None) => {
                let mut server = ServerCommand::new(expand(&command)?);
                for argument in &self.args {
                    server = server.arg(expand(argument)?);
                }
                for (name, value) in &self.env {
                    server = server.env(name, expand(value)?);
                }
                if let Some(folder) = &self.cwd {
                    server = server.current_dir(expand(folder)?);
                }
                Ok(Place::Command(server))
            }
            (None, Some(url)) => {
                let mut server = ServerUrl::new(expand(&url)?);
                for (name, value) in &self.headers {
                    server = server.header(name, expand(value)?);
                }
                Ok(Place::Url(server))
            }
            _ => Err("it needs either `command` or `url`".to_owned()),
        }
    }
}

/// Replaces `${NAME}` and `${NAME:-DEFAULT}` by variables of the environment, as agents do.
fn expand(text: &str) -> Result<String, String> {
    let (mut expanded, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (reference, after) = after.split_once('}').ok_or("a `${` has no `}`")?;
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (reference, None),
        };
        let value = env::var(name).ok().or(default);
        let value = value.ok_or_else(|| format!("the variable `{name}` of the environment is not set"))?;
        expanded.extend([before, &value]);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Result<usize, String> {
        McpServers::from_file(text)
            .unwrap_or_else(|| Err("no such file".to_owned()))
            .map(|servers| servers.servers.len())
    }

    #[test]
    fn a_file_of_an_agent_is_recognised() {
        assert_eq!(file(r#"{"opentool": "1.0.0", "functions": []}"#), Err("no such file".to_owned()));
        assert_eq!(file(r#"{"mcpServers": {"a": {"command": "x", "args": ["y"]}, "b": {"url": "http://c"}}}"#), Ok(2));
        assert_eq!(file(r#"{"servers": {"a": {"type": "stdio", "command": "x"}}}"#), Ok(1));
        assert_eq!(
            file(r#"{"mcpServers": {"a": {"type": "http"}}}"#),
            Err("the MCP server `a`: it needs either `command` or `url`".to_owned())
        );
        assert_eq!(file(r#"{"mcpServers": {}}"#), Err("it lists no MCP server".to_owned()));
    }

    #[test]
    fn variables_are_replaced_and_a_missing_one_is_named() {
        assert_eq!(expand("a ${OPENTOOL_NO_SUCH:-b c} d"), Ok("a b c d".to_owned()));
        assert_eq!(expand("no variables"), Ok("no variables".to_owned()));
        assert_eq!(
            expand("${OPENTOOL_NO_SUCH}"),
            Err("the variable `OPENTOOL_NO_SUCH` of the environment is not set".to_owned())
        );
        assert!(expand("${PATH").is_err());
    }

    #[test]
    fn a_command_is_split_as_a_shell_does() {
        assert!(McpServers::from_command("npx -y 'a b'").is_ok());
        assert!(McpServers::from_command("npx 'a").is_err());
        assert!(McpServers::from_command("  ").is_err());
        assert!(McpServers::from_url("MCP+https://a.example/mcp").is_some_and(|servers| servers.take_key()));
        assert!(McpServers::from_url("https://a.example/mcp").is_none());
    }
}
