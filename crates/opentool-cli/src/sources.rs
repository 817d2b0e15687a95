//! Several sources at once, and the tools of them all: [`Joined`].

use std::collections::{BTreeMap, HashMap, HashSet};

use opentool::ToolMetadata;

use crate::{
    failure::Failure,
    libraries::LibraryOptions,
    limits::ConnectOptions,
    source::{Attached, Source, StepTools, give_to_workflows, open_libraries},
    source_tables::{NamedSources, SourceApproval},
};

/// Sources that were joined.
pub(crate) struct Joined<'a> {
    pub(crate) tools: opentool::Source,
    pub(crate) names: Names<'a>,
    pub(crate) parts: Vec<JoinedPart>,
    /// Whether a tool needs approval by what it says itself.
    pub(crate) needs_approval: bool,
}

/// One of them.
pub(crate) struct JoinedPart {
    pub(crate) tools: opentool::Source,
    /// Who approves its calls, where its table says so.
    pub(crate) approver: Option<SourceApproval>,
    /// What the steps of a workflow call, and who approves that, where the table of the source says so.
    pub(crate) step_sources: Vec<(opentool::Source, Option<SourceApproval>)>,
}

/// Whose each tool of joined sources is.
#[derive(Debug, Default)]
pub(crate) struct Names<'a> {
    owners: HashMap<String, &'a Source>,
    /// The tools of other servers that steps of workflows call.
    steps: HashSet<String>,
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
        self.steps.contains(name) || self.owners.get(name).map_or(self.open, |owner| owner.is_remote())
    }
}

/// What names sources on a command line.
#[derive(Clone, Copy)]
pub(crate) struct SourceWords<'a> {
    pub(crate) sources: &'a [String],
    /// The commands of MCP servers.
    pub(crate) mcp: &'a [String],
    /// The sources of the tools that the steps of workflows call.
    pub(crate) tools: &'a [String],
}

/// Opens sources in their order, the demo tools where there are none, each with the key of its server.
///
/// A key stands by itself where only one source has a server, otherwise after `SOURCE=`. Where there is one such source and no key for
/// it, `otherwise` is asked.
pub(crate) fn open_all<'a>(
    words: SourceWords<'_>,
    named: &NamedSources,
    keys: impl IntoIterator<Item = &'a str>,
    libraries: &LibraryOptions,
    otherwise: impl Fn(&Source) -> Option<String>,
) -> Result<Vec<(Source, Option<String>)>, Failure> {
    let mut sources = Vec::with_capacity(words.sources.len() + words.tools.len());
    let open = |name: &String| {
        let source = Source::open(name, named)?;
        let key = source.own_key().map(|key| key.expose().to_owned());
        Ok::<_, Failure>((source, key))
    };
    for name in words.sources {
        sources.push(open(name)?);
    }
    for command in words.mcp {
        sources.push((Source::mcp_command(command)?, None));
    }
    if sources.is_empty() {
        sources.push((Source::demo(), None));
    }
    let own = sources.len();
    for name in words.tools {
        sources.push(open(name)?);
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
    let mut remote = sources.iter_mut().filter(|(source, _)| source.takes_key());
    if let (Some((source, key @ None)), None) = (remote.next(), remote.next()) {
        *key = otherwise(source);
    }
    let tools = sources.split_off(own);
    give_to_workflows(&mut sources, tools)?;
    Ok(sources)
}

/// Joins sources, each with the key of its server; one name may stand only once.
pub(crate) async fn join<'a>(
    sources: &'a [(Source, Option<String>)],
    known: &BTreeMap<&str, ToolMetadata>,
    connect: &ConnectOptions,
) -> Result<Joined<'a>, Failure> {
    let mut attached = Vec::with_capacity(sources.len());
    for (source, key) in sources {
        attached.push((source, source.attach(key.as_deref(), known, connect).await?));
    }
    combine(attached.iter().map(|(source, attached)| (*source, attached)))
}

/// Joins sources whose tools are known; one name may stand only once.
pub(crate) fn combine<'a, 'b>(
    sources: impl Iterator<Item = (&'a Source, &'b Attached)> + Clone,
) -> Result<Joined<'a>, Failure> {
    let mut names = Names::default();
    let mut parts = Vec::new();
    let mut needs_approval = false;
    for (source, Attached { toolbox, tools, steps, .. }) in sources.clone() {
        for name in toolbox.names() {
            if let Some(first) = names.owners.insert(name.to_owned(), source) {
                return Err(source.duplicate(first, name));
            }
        }
        names.open |= toolbox.is_open();
        let StepTools { toolbox: called, remote, open, sources: called_sources } = steps;
        names.open |= *open;
        names.steps.extend(remote.iter().cloned());
        needs_approval |= toolbox.iter().chain(called.iter()).any(|tool| tool.metadata().needs_approval());
        let (approver, step_sources) = (source.approver(), called_sources.clone());
        parts.push(JoinedPart { tools: tools.clone(), approver, step_sources });
    }
    let all = || sources.clone().map(|(source, _)| source.to_string()).collect::<Vec<_>>().join(", ");
    let tools = opentool::Source::join(parts.iter().map(|part| part.tools.clone()).collect());
    let tools = tools.map_err(|source| Failure::Tools { name: all(), source })?;
    Ok(Joined { tools, names, parts, needs_approval })
}

/// Ends the programs that sources have started.
pub(crate) async fn close(sources: &[(Source, Option<String>)]) {
    for (source, _) in sources {
        source.close().await;
    }
}
