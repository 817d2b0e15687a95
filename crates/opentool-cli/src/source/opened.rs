//! Where tools come from: [`Source`].

use std::{
    fmt,
    path::{Path, PathBuf},
};

use opentool_client::{Client, ClientError};
use opentool_dyn::DynLibrary;
use opentool_spec::{Document, OpenTool, OpenWorkflow, json::near};

use super::word::{DEMO, looks_like_source, shown_url};
use crate::{
    config_value::SecretText,
    demo, document,
    failure::Failure,
    input::Input,
    libraries::{LibraryOptions, OpenLibrary},
    mcp_servers::McpServers,
    next_step,
    secret::Secret,
    source_tables::{NamedSources, SourceApproval, SourceOrigin, SourceTable, TablePlace, ToolRules},
    terminal::visible,
};

/// Where tools come from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// As the user named it.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// What its table says, where a configuration file describes it.
    pub(super) table: Option<TableFacts>,
}

/// What the table of a source says, besides where its tools come from.
#[derive(Debug, Clone)]
pub(super) struct TableFacts {
    key: Option<Secret>,
    pub(super) rules: ToolRules,
    pub(super) place: TablePlace,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// The tools that come with the binary.
    Demo,
    /// The base URL of a server.
    Url(String),
    /// A document, whose functions can be called where it names a server.
    Document(Box<OpenTool>),
    /// The text of a document that describes a C library, which is not open yet.
    Described(String),
    /// A C library.
    Library(Box<OpenLibrary>),
    /// MCP servers.
    Mcp(McpServers),
    /// A workflow, and the tools that its steps call.
    Workflow(Box<WorkflowSource>),
}

/// A workflow, and where the tools of its steps come from, each with the key of its server.
#[derive(Debug, Clone)]
pub(super) struct WorkflowSource {
    pub(super) document: OpenWorkflow,
    pub(super) tools: Vec<(Source, Option<String>)>,
}

impl Source {
    fn new(name: &str, kind: Kind) -> Self {
        Source { name: name.to_owned(), kind, table: None }
    }

    /// The tools that come with the binary.
    pub(crate) fn demo() -> Self {
        Source::new(DEMO, Kind::Demo)
    }

    /// The C library that comes with every system, for the demo: its calls run in a sandboxed process. None where it is not there.
    pub(crate) fn demo_library() -> Option<Self> {
        let library = DynLibrary::builder().document_text(demo::LIBM_DOCUMENT).library(demo::LIBM).open().ok()?;
        Some(Source::new("libm", Kind::Library(Box::new(library.into()))))
    }

    /// The command of an MCP server, as it stands after `--mcp`.
    pub(crate) fn mcp_command(command: &str) -> Result<Self, Failure> {
        let name = command.split_whitespace().next().unwrap_or_default();
        Ok(Source::new(name, Kind::Mcp(McpServers::from_command(command)?)))
    }

    /// Takes what the user wrote: `demo`, a base URL, the name of a source in a configuration file, or a file.
    pub(crate) fn open(name: &str, named: &NamedSources) -> Result<Self, Failure> {
        if name != DEMO
            && let Some((table, place)) = named.find_with_place(name)?
        {
            return Source::from_table(table, place, named);
        }
        let scheme = name.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        let kind = match scheme.as_deref() {
            Some("http" | "https") => Kind::Url(name.to_owned()),
            Some("mcp+http" | "mcp+https") => {
                Kind::Mcp(McpServers::from_url(name).ok_or_else(|| Failure::Scheme { name: shown_url(name) })?)
            }
            Some(_) => return Err(Failure::Scheme { name: shown_url(name) }),
            None if name == DEMO => Kind::Demo,
            None => read(name).map_err(|failure| match failure {
                Failure::Read { .. } => match named.near(name) {
                    Some(near) => Failure::usage(no_source(name, &near)),
                    None if is_like_demo(name) => {
                        let next = next_step::with_word(name, DEMO);
                        Failure::usage_with(no_source(name, "`demo`"), next)
                    }
                    None => failure,
                },
                failure => failure,
            })?,
        };
        Ok(Source::new(name, kind))
    }

    /// Takes what a table of a configuration file describes.
    fn from_table(table: &SourceTable, place: TablePlace, named: &NamedSources) -> Result<Self, Failure> {
        let at = |key: &'static str| {
            let place = &place;
            move |failure| place.locate(key, failure)
        };
        let read_document = |document: &Path| read(&document.to_string_lossy()).map_err(at("document"));
        let wrong_document = |document: &Path, problem: &str| {
            place.fault("document", &format!("{} {problem}", document.display()), None)
        };
        let read_key = |key: &Option<SecretText>| key.as_ref().map(SecretText::read).transpose().map_err(at("key"));
        let (kind, key) = match &table.origin {
            SourceOrigin::Demo => (Kind::Demo, None),
            SourceOrigin::Url { url, key } => (Kind::Url(url.clone()), read_key(key)?.map(Secret::new)),
            SourceOrigin::Document { document, key } => match read_document(document)? {
                kind @ Kind::Document(_) => (kind, read_key(key)?.map(Secret::new)),
                _ => return Err(wrong_document(document, "is no OpenTool document")),
            },
            SourceOrigin::Library { document, options } => {
                let Kind::Described(text) = read_document(document)? else {
                    return Err(wrong_document(document, "does not describe a C library"));
                };
                let library = options.open_split(&document.to_string_lossy(), &text, &table.rules.own_grants());
                let library = library.map_err(|failure| place.locate(library_key(&failure), failure))?;
                (Kind::Library(Box::new(library)), None)
            }
            SourceOrigin::Workflow { document, tools } => {
                let Kind::Workflow(mut workflow) = read_document(document)? else {
                    return Err(wrong_document(document, "is no OpenWorkflow document"));
                };
                for tool in tools {
                    if *tool == table.name {
                        return Err(place.fault("tools", "a workflow cannot be a tool of its own steps", None));
                    }
                    workflow.tools.push(Source::open_step(tool, named).map_err(at("tools"))?);
                }
                (Kind::Workflow(workflow), None)
            }
            SourceOrigin::Mcp(origin) => {
                let (servers, key) = McpServers::from_table(&place, origin, &table.rules)?;
                (Kind::Mcp(servers), key)
            }
        };
        let facts = TableFacts { key, rules: table.rules.clone(), place };
        Ok(Source { name: table.name.clone(), kind, table: Some(facts) })
    }

    /// Opens a source of the tools that the steps of a workflow call.
    fn open_step(name: &str, named: &NamedSources) -> Result<(Self, Option<String>), Failure> {
        let source = Source::open(name, named)?;
        if source.is_workflow() {
            let message =
                format!("{source} is a workflow, whose own tools cannot be named here: serve it, and give its URL");
            return Err(Failure::usage(message));
        }
        if source.described().is_some() {
            let message =
                format!("{source} describes a C library: make it a source of its own, with `kind = \"library\"`");
            return Err(Failure::usage(message));
        }
        let key = source.own_key().map(|key| key.expose().to_owned());
        Ok((source, key))
    }

    /// The key that its table names.
    pub(crate) fn own_key(&self) -> Option<&Secret> {
        self.table.as_ref()?.key.as_ref()
    }

    /// Whether a word of the command line stands for a source, rather than for something to say to a model.
    ///
    /// A misspelt file name counts too, so that it is not sent to a model as a prompt.
    pub(crate) fn is_named_by(word: &str, named: &NamedSources) -> Result<bool, Failure> {
        Ok(looks_like_source(word) || named.contains(word)?)
    }

    /// Takes what the user wrote, and opens the library where it is a document that describes one. The tools are those of a
    /// workflow.
    pub(crate) fn open_with(
        name: &str,
        tools: &[String],
        named: &NamedSources,
        libraries: &LibraryOptions,
    ) -> Result<Self, Failure> {
        let mut sources = vec![(Source::open(name, named)?, None)];
        for tool in tools {
            let tool = Source::open(tool, named)?;
            let key = tool.own_key().map(|key| key.expose().to_owned());
            sources.push((tool, key));
        }
        open_libraries(&mut sources, libraries)?;
        let tools = sources.split_off(1);
        give_to_workflows(&mut sources, tools)?;
        sources.pop().map(|(source, _)| source).ok_or_else(|| Failure::usage("there is no source"))
    }

    /// Whether it is a workflow, which is one tool without arguments.
    pub(crate) fn is_workflow(&self) -> bool {
        matches!(self.kind, Kind::Workflow(_))
    }

    /// The sources of the tools that the steps of a workflow call, each with the key of its server; none for others.
    pub(crate) fn step_sources(&self) -> &[(Source, Option<String>)] {
        match &self.kind {
            Kind::Workflow(workflow) => &workflow.tools,
            _ => &[],
        }
    }

    /// The same, for their keys to be set.
    pub(crate) fn step_sources_mut(&mut self) -> &mut [(Source, Option<String>)] {
        match &mut self.kind {
            Kind::Workflow(workflow) => &mut workflow.tools,
            _ => &mut [],
        }
    }

    /// Who approves its calls, where its table says so.
    pub(crate) fn approver(&self) -> Option<SourceApproval> {
        self.table.as_ref()?.rules.source_approval()
    }

    /// The name and the text of a document whose library is not open yet.
    fn described(&self) -> Option<(&str, &str)> {
        match &self.kind {
            Kind::Described(text) => Some((&self.name, text)),
            _ => None,
        }
    }

    /// What to say where another source has a tool of the same name: at the table of one of them, where they have one.
    pub(crate) fn duplicate(&self, first: &Source, name: &str) -> Failure {
        let (own, other) = match (&self.table, &first.table) {
            (Some(facts), _) => (facts, first),
            (None, Some(facts)) => (facts, self),
            (None, None) => {
                let (first, second) = (first.to_string(), self.to_string());
                return Failure::Duplicate { name: name.to_owned(), first, second };
            }
        };
        let other = match &other.table {
            Some(_) => format!("the source `{other}`"),
            None => other.to_string(),
        };
        let problem = format!("it has a tool named `{name}`, and so has {other}");
        let help = format!(
            "give one of them a `prefix`, such as `prefix = \"{}_\"`, which the names of its tools begin with",
            own.place.name
        );
        own.place.fault_with_help("prefix", &problem, &help)
    }

    /// The name as the user wrote it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in words.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Demo => "demo tools",
            Kind::Url(_) | Kind::Document(_) => "OpenTool server",
            Kind::Described(_) | Kind::Library(_) => "C library",
            Kind::Workflow(_) => "workflow",
            Kind::Mcp(_) => "MCP server",
        }
    }

    /// Whether calls leave this machine's process.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.kind, Kind::Url(_) | Kind::Document(_) | Kind::Mcp(_))
            || self.step_sources().iter().any(|(source, _)| source.is_remote())
    }

    /// Whether it has a server that a key can be given for.
    pub(crate) fn takes_key(&self) -> bool {
        match &self.kind {
            Kind::Url(_) | Kind::Document(_) => true,
            Kind::Mcp(servers) => servers.take_key(),
            _ => false,
        }
    }

    /// The MCP servers that answer its calls; none where something else does.
    pub(crate) fn mcp_servers(&self) -> Option<&McpServers> {
        match &self.kind {
            Kind::Mcp(servers) => Some(servers),
            _ => None,
        }
    }

    /// Whether its tools come with the binary.
    pub(crate) fn is_demo(&self) -> bool {
        matches!(self.kind, Kind::Demo)
    }

    /// Whether a configuration file describes it.
    pub(crate) fn is_of_table(&self) -> bool {
        self.table.is_some()
    }

    /// Where its calls run, for people.
    pub(crate) fn isolation(&self) -> String {
        match &self.kind {
            Kind::Demo => "in this process".to_owned(),
            Kind::Workflow(_) => "a workflow: its steps are calls of other tools".to_owned(),
            Kind::Library(library) => library.isolation(),
            Kind::Described(_) => "a C library that is not open".to_owned(),
            Kind::Url(url) => format!("remote, {}", visible(&shown_url(url))),
            Kind::Document(_) => format!("remote, {}", self.named_server().unwrap_or_default()),
            Kind::Mcp(servers) => servers.places(),
        }
    }

    /// Ends the programs that were started.
    pub(crate) async fn close(&self) {
        if let Kind::Mcp(servers) = &self.kind {
            servers.close().await;
        }
        for (source, _) in self.step_sources() {
            Box::pin(source.close()).await;
        }
    }

    /// Whether the user gave the URL of the server.
    pub(crate) fn is_given_by_url(&self) -> bool {
        match &self.kind {
            _ if self.table.is_some() => false,
            Kind::Url(_) => true,
            Kind::Mcp(servers) => servers.take_key(),
            _ => false,
        }
    }

    /// The server that a document names, as it may be shown.
    pub(crate) fn named_server(&self) -> Option<String> {
        match &self.kind {
            Kind::Document(document) => {
                document.server.as_ref().map(|server| visible(&shown_url(&server.url)).into_owned())
            }
            _ => None,
        }
    }

    /// The URLs of the servers that answer its calls, and of those that answer the steps of a workflow.
    pub(crate) fn server_urls(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Url(url) => vec![url],
            Kind::Document(document) => document.server.iter().map(|server| server.url.as_str()).collect(),
            Kind::Mcp(servers) => servers.urls().collect(),
            Kind::Workflow(workflow) => workflow.tools.iter().flat_map(|(source, _)| source.server_urls()).collect(),
            Kind::Demo | Kind::Described(_) | Kind::Library(_) => Vec::new(),
        }
    }

    /// The client of the server that has the functions; none for the tools that come with the binary.
    pub(crate) fn client(&self, key: Option<&str>) -> Result<Option<Client>, Failure> {
        let url = match &self.kind {
            Kind::Demo | Kind::Library(_) | Kind::Workflow(_) => return Ok(None),
            Kind::Mcp(_) => return Err(Failure::McpServer { name: self.name.clone() }),
            Kind::Described(_) => return Err(Failure::LibraryDocument { name: self.name.clone() }),
            Kind::Url(url) => url,
            Kind::Document(document) => match &document.server {
                Some(server) => &server.url,
                None => return Err(Failure::NoServer { name: self.name.clone() }),
            },
        };
        let client = Client::new(url);
        Ok(Some(match key {
            Some(key) => client.api_key(key),
            None => client,
        }))
    }

    /// A request to the server of this source that failed; says whose server it is where that is the question.
    pub(crate) fn failure(&self, has_key: bool, error: ClientError) -> Failure {
        match error {
            ClientError::Unauthorized => Failure::Unauthorized { name: self.to_string(), has_key },
            error => Failure::client(error),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            _ if self.table.is_some() => f.write_str(&visible(&self.name)),
            Kind::Demo => f.write_str("the demo tools"),
            Kind::Url(url) => f.write_str(&visible(&shown_url(url))),
            Kind::Document(_) | Kind::Described(_) | Kind::Library(_) | Kind::Workflow(_) => {
                f.write_str(&visible(&self.name))
            }
            Kind::Mcp(_) => f.write_str(&visible(&shown_url(&self.name))),
        }
    }
}

fn no_source(name: &str, near: &str) -> String {
    format!("`{name}` is neither a file nor a source; did you mean {near}?")
}

/// Whether a word that is no file is a misspelt `demo`, and no misspelt name of a file.
fn is_like_demo(word: &str) -> bool {
    !near::names(word, [DEMO], 1).is_empty() && next_step::with_near_file(word).is_none()
}

/// The key of a table that made a library fail, where it is certain.
fn library_key(failure: &Failure) -> &'static str {
    match failure {
        Failure::Usage { .. } => "allow",
        // There is another name for what was not found.
        Failure::Library { next: Some(_), .. } => "library",
        _ => "",
    }
}

/// Opens the libraries that documents describe.
pub(crate) fn open_libraries(
    sources: &mut [(Source, Option<String>)],
    libraries: &LibraryOptions,
) -> Result<(), Failure> {
    let documents: Vec<_> = sources.iter().filter_map(|(source, _)| source.described()).collect();
    let mut opened = libraries.open_all(&documents)?.into_iter();
    for (source, _) in sources.iter_mut().filter(|(source, _)| source.described().is_some()) {
        if let Some(library) = opened.next() {
            source.kind = Kind::Library(Box::new(library.into()));
        }
    }
    Ok(())
}

/// Gives every workflow among the sources the tools that its steps call.
pub(crate) fn give_to_workflows(
    sources: &mut [(Source, Option<String>)],
    tools: Vec<(Source, Option<String>)>,
) -> Result<(), Failure> {
    if let Some((nested, _)) = tools.iter().find(|(tool, _)| tool.is_workflow()) {
        let message =
            format!("{nested} is a workflow, whose own tools cannot be named here: serve it, and give its URL");
        return Err(Failure::usage(message));
    }
    let mut is_used = tools.is_empty();
    for (source, _) in sources {
        // One of a table has its own.
        if let (Kind::Workflow(workflow), None) = (&mut source.kind, &source.table) {
            workflow.tools.clone_from(&tools);
            is_used = true;
        }
    }
    if is_used {
        return Ok(());
    }
    Err(Failure::usage("`--tools` names the tools of a workflow, and no source is an OpenWorkflow document"))
}

fn read(name: &str) -> Result<Kind, Failure> {
    let input = Input::from(&PathBuf::from(name));
    let text = input.read_text()?;
    let name = input.name();
    if let Some(servers) = McpServers::from_file(&text) {
        return servers.map(Kind::Mcp).map_err(|reason| Failure::Document { name, reason });
    }
    match document::read(&name, &text) {
        Ok(Document::OpenTool(document)) => Ok(Kind::Document(Box::new(document))),
        Ok(Document::OpenWorkflow(document)) => {
            Ok(Kind::Workflow(Box::new(WorkflowSource { document, tools: Vec::new() })))
        }
        Ok(_) => Ok(Kind::Described(text)),
        Err(errors) => Err(Failure::Document { name, reason: format!("it {errors}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_the_word_demo_or_a_url_or_a_file() {
        assert!(matches!(Source::open("demo", &NamedSources::none()), Ok(Source { kind: Kind::Demo, .. })));
        assert!(matches!(Source::open("HTTP://a", &NamedSources::none()), Ok(Source { kind: Kind::Url(_), .. })));
        assert!(matches!(
            Source::open("mcp+http://a/mcp", &NamedSources::none()),
            Ok(Source { kind: Kind::Mcp(_), .. })
        ));
        assert!(matches!(Source::open("ftp://a", &NamedSources::none()), Err(Failure::Scheme { .. })));
        assert!(matches!(Source::open("no/such/file.json", &NamedSources::none()), Err(Failure::Read { .. })));
    }
}
