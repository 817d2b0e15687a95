//! What stands for SOURCE on a command line: where tools come from.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::{Path, PathBuf},
};

use opentool::{ToolDefinition, ToolMetadata, Toolbox};
use opentool_client::{Client, ClientError};
use opentool_dyn::DynLibrary;
use opentool_spec::{Document, OpenTool};

use crate::{
    demo, document,
    failure::Failure,
    input::Input,
    libraries::LibraryOptions,
    mcp_servers::McpServers,
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
    Library(Box<DynLibrary>),
    /// MCP servers.
    Mcp(McpServers),
}

impl Source {
    /// The tools that come with the binary.
    pub(crate) fn demo() -> Self {
        Source { name: DEMO.to_owned(), kind: Kind::Demo }
    }

    /// The command of an MCP server, as it stands after `--mcp`.
    pub(crate) fn mcp_command(command: &str) -> Result<Self, Failure> {
        let name = command.split_whitespace().next().unwrap_or_default();
        Ok(Source { name: name.to_owned(), kind: Kind::Mcp(McpServers::from_command(command)?) })
    }

    /// Takes what the user wrote: `demo`, a base URL, or a file.
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        let scheme = name.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        let kind = match scheme.as_deref() {
            Some("http" | "https") => Kind::Url(name.to_owned()),
            Some("mcp+http" | "mcp+https") => {
                Kind::Mcp(McpServers::from_url(name).ok_or_else(|| Failure::Scheme { name: shown_url(name) })?)
            }
            Some(_) => return Err(Failure::Scheme { name: shown_url(name) }),
            None if name == DEMO => Kind::Demo,
            None => read(name)?,
        };
        Ok(Source { name: name.to_owned(), kind })
    }

    /// Whether a word of the command line stands for a source, rather than for something to say to a model.
    ///
    /// A misspelt file name counts too, so that it is not sent to a model as a prompt.
    pub(crate) fn is_named_by(word: &str) -> bool {
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

    /// Takes what the user wrote, and opens the library where it is a document that describes one.
    pub(crate) fn open_with(name: &str, libraries: &LibraryOptions) -> Result<Self, Failure> {
        let mut sources = [(Source::open(name)?, None)];
        open_libraries(&mut sources, libraries)?;
        let [(source, _)] = sources;
        Ok(source)
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

    /// Whether calls leave this machine's process.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.kind, Kind::Url(_) | Kind::Document(_) | Kind::Mcp(_))
    }

    /// Whether it has a server that a key can be given for.
    pub(crate) fn takes_key(&self) -> bool {
        match &self.kind {
            Kind::Url(_) | Kind::Document(_) => true,
            Kind::Mcp(servers) => servers.take_key(),
            _ => false,
        }
    }

    /// Whether an OpenTool server answers its calls.
    pub(crate) fn has_client(&self) -> bool {
        matches!(self.kind, Kind::Url(_) | Kind::Document(_))
    }

    /// The MCP servers that answer its calls; none where something else does.
    pub(crate) fn mcp_servers(&self) -> Option<&McpServers> {
        match &self.kind {
            Kind::Mcp(servers) => Some(servers),
            _ => None,
        }
    }

    /// Ends the programs that were started.
    pub(crate) async fn close(&self) {
        if let Kind::Mcp(servers) = &self.kind {
            servers.close().await;
        }
    }

    /// Whether the user gave the URL of the server.
    pub(crate) fn is_given_by_url(&self) -> bool {
        match &self.kind {
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
            Kind::Demo | Kind::Library(_) => return Ok(None),
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
        prepare: impl Fn(Client) -> Client,
    ) -> Result<(Toolbox, opentool::Source), Failure> {
        if let Kind::Mcp(servers) = &self.kind {
            return servers.attach(key, known).await;
        }
        let prepare = |client: Client| {
            let client =
                if Export::active().is_some() { client.trace_context(telemetry::current_trace) } else { client };
            prepare(known.iter().fold(client, |client, (tool, metadata)| client.metadata(*tool, metadata.clone())))
        };
        let unusable = |source| Failure::Tools { name: self.to_string(), source };
        let toolbox = match (&self.kind, self.client(key)?.map(prepare)) {
            (Kind::Url(_), Some(client)) => {
                let toolbox = client.toolbox().await.map_err(|error| self.failure(key.is_some(), error))?;
                return Ok((toolbox, opentool::Source::new(client)));
            }
            (Kind::Document(document), Some(client)) => client.toolbox_from_document(document).map_err(unusable)?,
            (Kind::Library(library), _) => library.toolbox().clone(),
            _ => demo::toolbox().map_err(unusable)?,
        };
        Ok((toolbox.clone(), toolbox.into()))
    }

    /// What the functions are, whether or not they can be called; none where a server does not say.
    pub(crate) async fn definitions(
        &self,
        key: Option<&str>,
        prepare: impl Fn(Client) -> Client,
    ) -> Result<Listing, Failure> {
        if let Kind::Document(document) = &self.kind {
            let definitions = document.functions.iter().map(|function| {
                ToolDefinition::from_function(document, function)
                    .map_err(|error| Failure::Document { name: self.to_string(), reason: error.to_string() })
            });
            let definitions = definitions.collect::<Result<_, _>>()?;
            let title = Some(format!("{} {}", document.info.title, document.info.version));
            return Ok(Listing { title, definitions, complete: true });
        }
        let (toolbox, _) = self.attach(key, &BTreeMap::new(), prepare).await?;
        let title = toolbox.title().map(|title| format!("{title} {}", toolbox.version().unwrap_or_default()));
        let definitions = toolbox.iter().map(|tool| tool.definition().clone()).collect();
        Ok(Listing { title, definitions, complete: !toolbox.is_open() })
    }

    /// The document that describes the functions, as the server gives it; none where it has none.
    pub(crate) async fn document(
        &self,
        key: Option<&str>,
        prepare: impl Fn(Client) -> Client,
    ) -> Result<Option<OpenTool>, Failure> {
        let client = if matches!(self.kind, Kind::Mcp(_)) { None } else { self.client(key)? };
        match client.map(&prepare) {
            Some(client) => client.load().await.map_err(|error| self.failure(key.is_some(), error)),
            None => {
                let (toolbox, _) = self.attach(key, &BTreeMap::new(), prepare).await?;
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
            Kind::Demo => f.write_str("the demo tools"),
            Kind::Url(url) => f.write_str(&visible(&shown_url(url))),
            Kind::Document(_) | Kind::Described(_) | Kind::Library(_) => f.write_str(&visible(&self.name)),
            Kind::Mcp(_) => f.write_str(&visible(&shown_url(&self.name))),
        }
    }
}

/// What a source says about its functions.
pub(crate) struct Listing {
    /// The title and version of them all.
    pub(crate) title: Option<String>,
    pub(crate) definitions: Vec<ToolDefinition>,
    /// Whether there are no others.
    pub(crate) complete: bool,
}

/// Whose each tool of joined sources is.
#[derive(Debug, Default)]
pub(crate) struct Names<'a> {
    owners: HashMap<String, &'a Source>,
    /// Whether a server takes calls of tools that it does not list.
    open: bool,
}

impl Names<'_> {
    /// The names that the sources list, sorted.
    pub(crate) fn listed(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.owners.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Whether a tool is, or may be, that of another server.
    pub(crate) fn may_be_remote(&self, name: &str) -> bool {
        self.owners.get(name).map_or(self.open, |owner| owner.is_remote())
    }
}

/// Opens sources in their order, the demo tools where there are none, each with the key of its server.
///
/// A key stands by itself where only one source has a server, otherwise after `SOURCE=`.
pub(crate) fn open_all<'a>(
    names: &[String],
    mcp: &[String],
    keys: impl IntoIterator<Item = &'a str>,
    libraries: &LibraryOptions,
) -> Result<Vec<(Source, Option<String>)>, Failure> {
    let mut sources = Vec::with_capacity(names.len());
    for name in names {
        sources.push((Source::open(name)?, None));
    }
    for command in mcp {
        sources.push((Source::mcp_command(command)?, None));
    }
    if sources.is_empty() {
        sources.push((Source::demo(), None));
    }
    open_libraries(&mut sources, libraries)?;
    let remote = sources.iter().filter(|(source, _)| source.takes_key()).count();
    for key in keys {
        let of_name = sources.iter_mut().filter(|(source, _)| source.takes_key()).find_map(|(source, slot)| {
            let key = key.strip_prefix(source.name())?.strip_prefix('=')?;
            Some((slot, key))
        });
        match of_name {
            Some((slot, key)) => *slot = Some(key.to_owned()),
            None if remote == 1 => {
                for (_, slot) in sources.iter_mut().filter(|(source, _)| source.takes_key()) {
                    *slot = Some(key.to_owned());
                }
            }
            None => {
                let message =
                    "`--source-api-key` does not say whose key it is: write SOURCE=KEY, with SOURCE as it is given";
                return Err(Failure::usage(message));
            }
        }
    }
    Ok(sources)
}

/// Opens the libraries that documents describe.
fn open_libraries(sources: &mut [(Source, Option<String>)], libraries: &LibraryOptions) -> Result<(), Failure> {
    let documents: Vec<_> = sources.iter().filter_map(|(source, _)| source.described()).collect();
    let mut opened = libraries.open_all(&documents)?.into_iter();
    for (source, _) in sources.iter_mut().filter(|(source, _)| source.described().is_some()) {
        if let Some(library) = opened.next() {
            source.kind = Kind::Library(Box::new(library));
        }
    }
    Ok(())
}

/// Joins sources, each with the key of its server; one name may stand only once.
pub(crate) async fn join<'a>(
    sources: &'a [(Source, Option<String>)],
    known: &BTreeMap<&str, ToolMetadata>,
    prepare: impl Fn(Client) -> Client,
) -> Result<(opentool::Source, Names<'a>), Failure> {
    let mut names = Names::default();
    let mut joined = Vec::with_capacity(sources.len());
    for (source, key) in sources {
        let (toolbox, asked) = source.attach(key.as_deref(), known, &prepare).await?;
        for name in toolbox.names() {
            if let Some(first) = names.owners.insert(name.to_owned(), source) {
                let (first, second) = (first.to_string(), source.to_string());
                return Err(Failure::Duplicate { name: name.to_owned(), first, second });
            }
        }
        names.open |= toolbox.is_open();
        joined.push(asked);
    }
    let all = || sources.iter().map(|(source, _)| source.to_string()).collect::<Vec<_>>().join(", ");
    let joined = opentool::Source::join(joined).map_err(|source| Failure::Tools { name: all(), source })?;
    Ok((joined, names))
}

/// Ends the programs that sources have started.
pub(crate) async fn close(sources: &[(Source, Option<String>)]) {
    for (source, _) in sources {
        source.close().await;
    }
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
            assert!(Source::is_named_by(source), "{source}");
        }
        for prompt in
            ["", "hello", "What is in a.json", "see http://a", "http://a what is it", "://", "demo tools", "-"]
        {
            assert!(!Source::is_named_by(prompt), "{prompt}");
        }
    }

    #[test]
    fn a_source_is_the_word_demo_or_a_url_or_a_file() {
        assert!(matches!(Source::open("demo"), Ok(Source { kind: Kind::Demo, .. })));
        assert!(matches!(Source::open("HTTP://a"), Ok(Source { kind: Kind::Url(_), .. })));
        assert!(matches!(Source::open("mcp+http://a/mcp"), Ok(Source { kind: Kind::Mcp(_), .. })));
        assert!(matches!(Source::open("ftp://a"), Err(Failure::Scheme { .. })));
        assert!(matches!(Source::open("no/such/file.json"), Err(Failure::Read { .. })));
    }
}
