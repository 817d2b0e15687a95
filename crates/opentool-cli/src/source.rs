//! What stands for SOURCE on a command line: where tools come from.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use opentool::{ToolDefinition, ToolMetadata, Toolbox, ToolboxError, Workflow, workflow_faults};
use opentool_client::{Client, ClientError};
use opentool_dyn::DynLibrary;
use opentool_spec::{Document, OpenTool, OpenWorkflow};

use crate::{
    config_value::SecretText,
    demo, document,
    failure::Failure,
    input::Input,
    libraries::{LibraryOptions, OpenLibrary},
    limits::ConnectOptions,
    mcp_servers::McpServers,
    secret::Secret,
    source_tables::{NamedSources, SourceApproval, SourceOrigin, SourceTable, ToolRules},
    telemetry::{self, Export},
    terminal::visible,
};

/// The word for the tools that come with the binary. A file of that name is `./demo`.
const DEMO: &str = "demo";

/// Where tools come from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// As the user named it.
    name: String,
    kind: Kind,
    /// What its table says, where a configuration file describes it.
    table: Option<TableFacts>,
}

/// What the table of a source says, besides where its tools come from.
#[derive(Debug, Clone)]
struct TableFacts {
    key: Option<Secret>,
    rules: ToolRules,
}

#[derive(Debug, Clone)]
enum Kind {
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
struct WorkflowSource {
    document: OpenWorkflow,
    tools: Vec<(Source, Option<String>)>,
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
            && let Some(table) = named.find(name)?
        {
            return Source::from_table(table, named);
        }
        let scheme = name.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        let kind = match scheme.as_deref() {
            Some("http" | "https") => Kind::Url(name.to_owned()),
            Some("mcp+http" | "mcp+https") => {
                Kind::Mcp(McpServers::from_url(name).ok_or_else(|| Failure::Scheme { name: shown_url(name) })?)
            }
            Some(_) => return Err(Failure::Scheme { name: shown_url(name) }),
            None if name == DEMO => Kind::Demo,
            None => read(name).map_err(|failure| match (named.near(name), failure) {
                (Some(near), Failure::Read { .. }) => {
                    Failure::usage(format!("`{name}` is neither a file nor a source; did you mean {near}?"))
                }
                (_, failure) => failure,
            })?,
        };
        Ok(Source::new(name, kind))
    }

    /// Takes what a table of a configuration file describes.
    fn from_table(table: &SourceTable, named: &NamedSources) -> Result<Self, Failure> {
        let of_table = |failure: Failure| match failure {
            Failure::Usage { message, next } => {
                Failure::usage_with(format!("the source `{}`: {message}", table.name), next)
            }
            failure => failure,
        };
        let read_key = |key: &Option<SecretText>| key.as_ref().map(SecretText::read).transpose().map_err(of_table);
        let (kind, key) = match &table.origin {
            SourceOrigin::Demo => (Kind::Demo, None),
            SourceOrigin::Url { url, key } => (Kind::Url(url.clone()), read_key(key)?.map(Secret::new)),
            SourceOrigin::Document { document, key } => match read(&document.to_string_lossy())? {
                kind @ Kind::Document(_) => (kind, read_key(key)?.map(Secret::new)),
                _ => {
                    let message = format!("{} is no OpenTool document", document.display());
                    return Err(of_table(Failure::usage(message)));
                }
            },
            SourceOrigin::Library { document, options } => {
                let name = document.to_string_lossy();
                let Kind::Described(text) = read(&name)? else {
                    return Err(of_table(Failure::usage(format!("{name} does not describe a C library"))));
                };
                let library = options.open_split(&name, &text, &table.rules.own_grants()).map_err(of_table)?;
                (Kind::Library(Box::new(library)), None)
            }
            SourceOrigin::Workflow { document, tools } => {
                let name = document.to_string_lossy();
                let Kind::Workflow(mut workflow) = read(&name)? else {
                    return Err(of_table(Failure::usage(format!("{name} is no OpenWorkflow document"))));
                };
                for tool in tools {
                    if *tool == table.name {
                        return Err(of_table(Failure::usage("a workflow cannot be a tool of its own steps")));
                    }
                    workflow.tools.push(Source::open_step(tool, named).map_err(of_table)?);
                }
                (Kind::Workflow(workflow), None)
            }
            SourceOrigin::Mcp(origin) => {
                let (servers, key) = McpServers::from_table(&table.name, origin, &table.rules).map_err(of_table)?;
                (Kind::Mcp(servers), key)
            }
        };
        let facts = TableFacts { key, rules: table.rules.clone() };
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

    /// The tools of this moment, and what to ask for those of later moments.
    ///
    /// A document has its tools in it, so that its server need not be asked.
    pub(crate) async fn attach(
        &self,
        key: Option<&str>,
        known: &BTreeMap<&str, ToolMetadata>,
        connect: &ConnectOptions,
    ) -> Result<Attached, Failure> {
        let Some(TableFacts { rules, .. }) = &self.table else {
            return self.attach_all(key, known, connect, None).await;
        };
        // Those of an MCP server have their prefix from its client, which also shortens names.
        let prefix = if matches!(self.kind, Kind::Mcp(_)) { rules.prefix.clone() } else { String::new() };
        let own = ToolRules { prefix: prefix.clone(), ..rules.clone() }.metadata();
        // The command line says the names that the tools have in the end.
        let added = if prefix.is_empty() { rules.prefix.as_str() } else { "" };
        let mut all: BTreeMap<&str, ToolMetadata> = BTreeMap::new();
        for (tool, metadata) in known {
            all.insert(tool.strip_prefix(added).unwrap_or(tool), metadata.clone());
        }
        for (tool, metadata) in &own {
            all.entry(tool).or_insert_with(|| metadata.clone());
        }
        let connect = connect.clone().with_result_of(rules.largest_result());
        let Attached { toolbox, tools, client, steps } = self.attach_all(key, &all, &connect, Some(rules)).await?;
        let problem = |problem| Failure::usage(format!("the source `{}`: {problem}", self.name));
        rules.check(&toolbox, &prefix).map_err(problem)?;
        let unusable = |source| Failure::Tools { name: self.to_string(), source };
        let toolbox = rules.apply(toolbox, &prefix).map_err(unusable)?;
        let rules = rules.clone();
        Ok(Attached { toolbox, tools: tools.map(move |toolbox| rules.apply(toolbox, &prefix)), client, steps })
    }

    /// Makes the tool of a workflow, over the tools that its steps call.
    async fn attach_workflow(
        &self,
        workflow: &WorkflowSource,
        known: &BTreeMap<&str, ToolMetadata>,
        connect: &ConnectOptions,
    ) -> Result<Attached, Failure> {
        let unusable = |source| Failure::Tools { name: self.to_string(), source };
        let document = |reason| Failure::Document { name: self.to_string(), reason };
        let mut steps = StepTools::default();
        let mut parts = Vec::with_capacity(workflow.tools.len());
        for (source, key) in &workflow.tools {
            let attached = Box::pin(source.attach(key.as_deref(), known, connect)).await?;
            if source.is_remote() {
                steps.remote.extend(attached.toolbox.names().map(str::to_owned));
            }
            steps.approvers.extend(source.approver().map(|approver| (attached.tools.clone(), approver)));
            steps.open |= source.is_remote() && attached.toolbox.is_open();
            steps.toolbox = steps.toolbox.merge(attached.toolbox).map_err(unusable)?;
            parts.push(attached.tools);
        }
        if let Some(fault) = workflow_faults(&workflow.document, &steps.toolbox).first() {
            let help = fault.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
            return Err(document(format!(
                "{}{help}: name what has the functions of its steps with `--tools SOURCE`",
                fault.message
            )));
        }
        let tools = opentool::Source::join(parts).map_err(unusable)?;
        let tool = Workflow::new(&workflow.document, tools).map_err(|error| document(error.to_string()))?;
        let toolbox = workflow_toolbox(&workflow.document, tool).map_err(unusable)?;
        Ok(Attached { toolbox: toolbox.clone(), tools: toolbox.into(), client: None, steps })
    }

    async fn attach_all(
        &self,
        key: Option<&str>,
        known: &BTreeMap<&str, ToolMetadata>,
        connect: &ConnectOptions,
        rules: Option<&ToolRules>,
    ) -> Result<Attached, Failure> {
        if let Kind::Mcp(servers) = &self.kind {
            let (toolbox, tools) = servers.attach(key, known, connect).await?;
            return Ok(Attached { toolbox, tools, client: None, steps: StepTools::default() });
        }
        if let Kind::Workflow(workflow) = &self.kind {
            return self.attach_workflow(workflow, known, connect).await;
        }
        let prepare = |client: Client| {
            let client =
                if Export::active().is_some() { client.trace_context(telemetry::current_trace) } else { client };
            let client = connect.client(client);
            let client = match rules.and_then(|rules| rules.timeout) {
                Some(timeout) => client.timeout(timeout),
                None => client,
            };
            known.iter().fold(client, |client, (tool, metadata)| client.metadata(*tool, metadata.clone()))
        };
        let unusable = |source| Failure::Tools { name: self.to_string(), source };
        let client = self.client(key)?.map(prepare);
        let toolbox = match (&self.kind, &client) {
            (Kind::Url(_), Some(client)) => {
                let toolbox = client.toolbox().await.map_err(|error| self.failure(key.is_some(), error))?;
                let tools = opentool::Source::new(client.clone());
                return Ok(Attached { toolbox, tools, client: Some(client.clone()), steps: StepTools::default() });
            }
            (Kind::Document(document), Some(client)) => client.toolbox_from_document(document).map_err(unusable)?,
            (Kind::Library(library), _) => library.toolbox().clone(),
            _ => demo::toolbox().map_err(unusable)?,
        };
        Ok(Attached { toolbox: toolbox.clone(), tools: toolbox.into(), client, steps: StepTools::default() })
    }

    /// A workflow that is only described: its steps have no tools.
    fn described_workflow(&self) -> Result<Option<Toolbox>, Failure> {
        let Kind::Workflow(workflow) = &self.kind else { return Ok(None) };
        let made = Workflow::new(&workflow.document, Toolbox::new());
        let tool = made.map_err(|error| Failure::Document { name: self.to_string(), reason: error.to_string() })?;
        let toolbox = workflow_toolbox(&workflow.document, tool);
        toolbox.map(Some).map_err(|source| Failure::Tools { name: self.to_string(), source })
    }

    /// What the functions are, whether or not they can be called; none where a server does not say.
    pub(crate) async fn definitions(&self, key: Option<&str>, connect: &ConnectOptions) -> Result<Listing, Failure> {
        if let (Kind::Document(document), None) = (&self.kind, &self.table) {
            let definitions = document.functions.iter().map(|function| {
                ToolDefinition::from_function(document, function)
                    .map_err(|error| Failure::Document { name: self.to_string(), reason: error.to_string() })
            });
            let definitions = definitions.collect::<Result<_, _>>()?;
            let title = Some(format!("{} {}", document.info.title, document.info.version));
            return Ok(Listing { title, definitions, complete: true });
        }
        let toolbox = match self.described_workflow()? {
            Some(toolbox) => toolbox,
            None => self.attach(key, &BTreeMap::new(), connect).await?.toolbox,
        };
        let title = toolbox.title().map(|title| format!("{title} {}", toolbox.version().unwrap_or_default()));
        let definitions = toolbox.iter().map(|tool| tool.definition().clone()).collect();
        Ok(Listing { title, definitions, complete: !toolbox.is_open() })
    }

    /// The document that describes the functions, as the server gives it; none where it has none.
    pub(crate) async fn document(
        &self,
        key: Option<&str>,
        connect: &ConnectOptions,
    ) -> Result<Option<OpenTool>, Failure> {
        // The rules of a table change what the server has.
        let is_changed = matches!(self.kind, Kind::Mcp(_)) || self.table.is_some();
        let client = if is_changed { None } else { self.client(key)? };
        match client.map(|client| connect.client(client)) {
            Some(client) => client.load().await.map_err(|error| self.failure(key.is_some(), error)),
            None => {
                let toolbox = match self.described_workflow()? {
                    Some(toolbox) => toolbox,
                    None => self.attach(key, &BTreeMap::new(), connect).await?.toolbox,
                };
                let made = toolbox
                    .to_document()
                    .map_err(|error| Failure::Document { name: self.to_string(), reason: error.to_string() })?;
                Ok(Some(made.document.to_strict().document))
            }
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

/// The tools of a source.
#[derive(Clone)]
pub(crate) struct Attached {
    /// Those of this moment.
    pub(crate) toolbox: Toolbox,
    /// What is asked for those of later moments.
    pub(crate) tools: opentool::Source,
    /// The client of the OpenTool server that has them.
    pub(crate) client: Option<Client>,
    /// What the steps of a workflow call.
    pub(crate) steps: StepTools,
}

/// The tools that the steps of a workflow call.
#[derive(Clone, Default)]
pub(crate) struct StepTools {
    pub(crate) toolbox: Toolbox,
    /// The names of those that are of other servers.
    pub(crate) remote: Vec<String>,
    /// Whether a server takes calls of tools that it does not list.
    pub(crate) open: bool,
    /// Who approves the calls of a source, where its table says so.
    pub(crate) approvers: Vec<(opentool::Source, SourceApproval)>,
}

/// What a source says about its functions.
pub(crate) struct Listing {
    /// The title and version of them all.
    pub(crate) title: Option<String>,
    pub(crate) definitions: Vec<ToolDefinition>,
    /// Whether there are no others.
    pub(crate) complete: bool,
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

/// A toolbox with the tool of a workflow, named as the document is.
fn workflow_toolbox(document: &OpenWorkflow, tool: Workflow) -> Result<Toolbox, ToolboxError> {
    let info = &document.info;
    let toolbox = Toolbox::new().with(tool)?.with_title(&info.title).with_version(&info.version);
    Ok(match &info.description {
        Some(description) => toolbox.with_description(description),
        None => toolbox,
    })
}

/// Whether a word is `demo`, a URL, or a file.
fn looks_like_source(word: &str) -> bool {
    if word.contains(char::is_whitespace) {
        return Path::new(word).is_file();
    }
    let is_scheme = |scheme: &str| {
        let scheme = scheme.strip_prefix("mcp+").unwrap_or(scheme);
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let has_scheme = word.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    let is_document = word.to_ascii_lowercase().ends_with(".json");
    word == DEMO || has_scheme || is_document || Path::new(word).is_file()
}

/// A URL without what may be secret in it.
pub(crate) fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{authority}{path}")
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
    fn a_url_is_shown_without_what_may_be_secret() {
        assert_eq!(shown_url("http://me:pw@tools.example:81/a?key=x#y"), "http://tools.example:81/a");
        assert_eq!(shown_url("https://tools.example?key=x"), "https://tools.example");
        assert_eq!(shown_url("clock.json"), "clock.json");
    }

    #[test]
    fn a_word_for_a_source_is_distinguished_from_something_to_say() {
        for source in [
            "demo",
            "http://a",
            "HTTPS://a?b=c",
            "mcp+https://a",
            "ftp://a",
            "weather.json",
            "no/such/Weather.JSON",
            "Cargo.toml",
        ] {
            assert!(looks_like_source(source), "{source}");
        }
        for prompt in
            ["", "hello", "What is in a.json", "see http://a", "http://a what is it", "://", "demo tools", "-"]
        {
            assert!(!looks_like_source(prompt), "{prompt}");
        }
    }

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
