//! What `opentool serve` prints once it can be called.

use std::{io::Write as _, net::SocketAddr};

use opentool_server::BoundServer;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::{
    super::{access::API_KEY_VARIABLE, model::ModelName},
    address::reachable,
    options::Options,
    page,
    tool_set::ToolSet,
};
use crate::{
    programs,
    report::counted,
    source::Source,
    terminal::{visible, visible_json},
};

/// What there is to say about a server that listens.
pub(super) struct Banner<'a> {
    pub(super) options: &'a Options,
    pub(super) bound: &'a BoundServer,
    pub(super) set: &'a ToolSet,
    pub(super) model: Option<&'a ModelName>,
    /// Whether there is a configuration file.
    pub(super) has_file: bool,
    /// Whether the web page is served.
    pub(super) has_page: bool,
}

impl Banner<'_> {
    /// Prints what is served, where, and how to call it, for people or as JSON.
    pub(super) fn print(&self, json: bool) {
        let Ok(address) = self.bound.local_addr() else { return };
        let address = reachable(address);
        let text = if json {
            visible_json(&self.as_json(address).to_string()).into_owned() + "\n"
        } else {
            self.as_text(address)
        };
        // A closed standard output is no reason not to serve.
        let mut stdout = anstream::stdout().lock();
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }

    /// What `--json` prints. The page is without its token, which lets its reader in.
    fn as_json(&self, address: SocketAddr) -> Value {
        let base = format!("{}://{address}", self.scheme());
        let sources = self.set.sources().map(|(source, toolbox)| {
            json!({ "source": source.to_string(), "tools": toolbox.len(), "isolation": source.isolation() })
        });
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "url": self.url(address),
            "mcp": self.options.mcp_path().map(|path| format!("{base}{path}")),
            "page": self.has_page.then(|| format!("{base}{}", page::PATH)),
            "operation": self.bound.admin_addr().map_or(base, |admin| format!("http://{admin}")),
            "needs_key": self.options.has_keys(),
            "model": self.model.map(ModelName::to_string),
            "sources": sources.collect::<Vec<_>>(),
        })
    }

    /// At most a screen.
    fn as_text(&self, address: SocketAddr) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let (addresses, example, next) = (self.addresses(address), self.example(address), self.next(address));
        format!("opentool {version}\n\n{}\n{addresses}{}{example}\n{next}", self.sources(), self.auth())
    }

    /// The sources with the number of their tools, and where their calls run.
    fn sources(&self) -> String {
        /// How many fit on a screen with the rest.
        const SHOWN: usize = 8;
        let all: Vec<_> = self.set.sources().collect();
        let name = |source: &Source| visible(&source.to_string()).into_owned();
        let width = all.iter().take(SHOWN).map(|(source, _)| name(source).width()).max().unwrap_or_default().min(40);
        let mut text = String::new();
        for (source, toolbox) in all.iter().take(SHOWN) {
            let (name, tools) = (name(source), counted(toolbox.len(), "tool"));
            let padding = " ".repeat(width.saturating_sub(name.width()));
            text.push_str(&format!("  {name}{padding}  {tools:>9}  {}\n", source.isolation()));
        }
        match all.len().saturating_sub(SHOWN) {
            0 => text,
            more => format!("{text}  … and {}\n", counted(more, "other source")),
        }
    }

    /// Where the server is called, a line each. What is mounted has its line here.
    fn addresses(&self, address: SocketAddr) -> String {
        let mut lines = vec![format!("listening on {}", self.url(address))];
        if let Some(path) = self.options.mcp_path() {
            lines.push(format!("MCP clients:  {}://{address}{}", self.scheme(), visible(&path)));
        }
        lines.extend(self.bound.admin_addr().map(|admin| format!("operator's routes on http://{admin}")));
        lines.extend(self.model.map(|model| format!("model:  {}", visible(&model.to_string()))));
        lines.into_iter().map(|line| line + "\n").collect()
    }

    /// Whether callers need a key.
    fn auth(&self) -> String {
        let who = match (self.options.has_keys(), self.options.insecure_no_auth == Some(true)) {
            (true, _) => "callers need an API key".to_owned(),
            (false, true) => "callers need no key".to_owned(),
            (false, false) => {
                format!("callers need no key, since only this machine reaches it; {API_KEY_VARIABLE} sets one")
            }
        };
        format!("access:  {who}\n")
    }

    /// A command that works as it stands.
    fn example(&self, address: SocketAddr) -> String {
        let (first, key) = match self.options.has_keys() {
            // The terminal in which it is called is another one.
            true => (
                format!("first:   put a key in {API_KEY_VARIABLE}, where you call from\n"),
                format!(" -H \"Authorization: Bearer ${API_KEY_VARIABLE}\""),
            ),
            false => (String::new(), String::new()),
        };
        let what = if self.set.has_demo_tool("add") {
            r#"/call --json '{"jsonrpc":"2.0","id":"1","method":"add","params":{"a":1,"b":2}}'"#
        } else {
            "/load"
        };
        format!("{first}try it:  curl{key} {}{what}\n", self.url(address))
    }

    /// What one may want to do next: commands that work as they stand.
    fn next(&self, address: SocketAddr) -> String {
        let server = match self.options.prefix {
            // Where there is no path, clients take the usual one.
            None => format!("{}://{address}", self.scheme()),
            Some(_) => self.url(address),
        };
        let call = match self.callable() {
            Some(call) => (format!("call {server} {call}"), "call a tool"),
            None => ("call --help".to_owned(), "how to call one"),
        };
        let last = match self.has_file {
            true => ("doctor", "what is here, what is missing and what to do"),
            false => ("init", "write an opentool.toml, to serve tools of your own"),
        };
        let program = programs::own_command();
        let commands = [(format!("tools {server}"), "what can be called"), call, (last.0.to_owned(), last.1)];
        let commands = commands.map(|(command, what)| (format!("{program} {command}"), what));
        let width = commands.iter().map(|(command, _)| command.width()).max().unwrap_or_default();
        let lines = commands.map(|(command, what)| format!("  {command:width$}  {what}\n"));
        format!("next:\n{}", lines.concat())
    }

    /// A tool that can be called without knowing more about it, with its arguments.
    fn callable(&self) -> Option<String> {
        if self.set.has_demo_tool("add") {
            return Some("add a=1 b=2".to_owned());
        }
        let mut tools = self.set.sources().flat_map(|(_, toolbox)| toolbox.iter());
        let tool = tools.find(|tool| {
            let required = tool.definition().input_schema().get("required").and_then(Value::as_array);
            let is_plain = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
            let name = tool.definition().name();
            tool.metadata().is_read_only()
                && required.is_none_or(Vec::is_empty)
                && name.starts_with(|char: char| char.is_ascii_alphanumeric())
                && name.chars().all(is_plain)
        });
        tool.map(|tool| tool.definition().name().to_owned())
    }

    fn scheme(&self) -> &'static str {
        if self.options.tls_cert.is_some() { "https" } else { "http" }
    }

    /// The base of the OpenTool routes.
    fn url(&self, address: SocketAddr) -> String {
        let prefix = self.options.prefix.as_deref().unwrap_or("/opentool").trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        visible(&format!("{}://{address}{prefix}", self.scheme())).into_owned()
    }
}
