//! Turns in a journal: what is stored to make the same chat again, and how a run that waits goes on.

use std::{
    io,
    path::{Path, PathBuf},
};

use opentool::WaitsFor;
use opentool_chat::run_steps::{END, EndStep, REQUEST, RequestStep};
use opentool_journal::{JournalError, SqliteJournal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{super::model::ModelName, args::Chat};
use crate::{failure::Failure, runtime::block_on, source::shown_url, terminal::visible};

/// What `opentool chat` needs to go on with a run, besides what the run itself has. No keys, and no commands: what a file says
/// starts no program.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::commands) struct RunDetails {
    model: String,
    sources: Vec<String>,
    /// The sources of the steps of workflows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    run_workflows: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    read_only: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    destructive: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    idempotent: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<PathBuf>,
    /// Whether the page of a server kept the conversation, in its own memory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    of_page: bool,
    /// What has to be given again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_stored: Vec<String>,
}

/// What a chat was started with.
pub(in crate::commands) struct StartedWith<'a> {
    pub(in crate::commands) model: &'a ModelName,
    pub(in crate::commands) sources: &'a [String],
    pub(in crate::commands) tools: &'a [String],
    pub(in crate::commands) has_mcp: bool,
    pub(in crate::commands) has_library: bool,
    pub(in crate::commands) read_only: &'a [String],
    pub(in crate::commands) destructive: &'a [String],
    pub(in crate::commands) idempotent: &'a [String],
    /// The configuration file that the user named.
    pub(in crate::commands) config: Option<&'a Path>,
}

impl RunDetails {
    pub(super) fn new(chat: &Chat, words: &[String], model: &ModelName) -> Self {
        let started = StartedWith {
            model,
            sources: words,
            tools: &chat.tools,
            has_mcp: !chat.mcp.is_empty(),
            has_library: chat.libraries.is_given(),
            read_only: &chat.read_only,
            destructive: &chat.destructive,
            idempotent: &chat.idempotent,
            config: chat.config.as_deref(),
        };
        let memory = chat.memory.as_deref().map(absolute);
        RunDetails { run_workflows: chat.run_workflows, memory, ..Self::from_start(&started) }
    }

    /// For a chat on the page of a server.
    pub(in crate::commands) fn for_page(started: &StartedWith<'_>) -> Self {
        RunDetails { of_page: true, ..Self::from_start(started) }
    }

    fn from_start(started: &StartedWith<'_>) -> Self {
        let StartedWith { sources, .. } = *started;
        let mut not_stored = Vec::new();
        if started.has_mcp {
            not_stored.push("--mcp".to_owned());
        }
        if started.has_library {
            not_stored.push("--library".to_owned());
        }
        let plain: Vec<_> = sources.iter().map(|word| storable(word)).collect();
        if plain.iter().zip(sources).any(|(plain, word)| !Path::new(word).is_file() && plain != word) {
            not_stored.push("the whole URL of each source".to_owned());
        }
        RunDetails {
            model: started.model.to_string(),
            sources: plain,
            tools: started.tools.iter().map(|word| storable(word)).collect(),
            read_only: started.read_only.to_vec(),
            destructive: started.destructive.to_vec(),
            idempotent: started.idempotent.to_vec(),
            config: started.config.map(absolute),
            not_stored,
            ..Self::default()
        }
    }

    pub(in crate::commands) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Adds what the command line does not say.
    fn fill(self, chat: &mut Chat) {
        fn or<T>(given: &mut Vec<T>, stored: Vec<T>) {
            if given.is_empty() {
                *given = stored;
            }
        }
        or(&mut chat.words, self.sources);
        or(&mut chat.tools, self.tools);
        or(&mut chat.read_only, self.read_only);
        or(&mut chat.destructive, self.destructive);
        or(&mut chat.idempotent, self.idempotent);
        chat.run_workflows |= self.run_workflows;
        chat.config = chat.config.take().or(self.config);
        chat.memory = chat.memory.take().or(self.memory);
        chat.model.or_stored(&self.model);
    }
}

/// A source without what may be secret in it, and a file wherever the next process is.
fn storable(word: &str) -> String {
    if word.contains("://") {
        return shown_url(word);
    }
    match Path::new(word) {
        path if path.is_file() => absolute(path).to_string_lossy().into_owned(),
        _ => word.to_owned(),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A chat that goes on with a run: what the command line does not say is taken from the run.
pub(super) fn filled(chat: &Chat, run: &str) -> Result<Chat, Failure> {
    let Some(path) = &chat.journal else { return Err(Failure::usage("to go on with a run, give `--journal FILE`")) };
    if !path.exists() {
        let source = io::Error::from(io::ErrorKind::NotFound);
        return Err(Failure::Read { name: path.display().to_string(), source });
    }
    let (request, is_over) = block_on(async {
        let journal = SqliteJournal::open(path).await.map_err(Failure::journal)?;
        let request = request(&journal, run).await;
        journal.close().await;
        request
    })?;
    let mut chat = chat.clone();
    if is_over {
        // Its answer is in the journal: neither sources nor a memory are needed for it.
        if chat.words.is_empty() {
            chat.words = vec!["demo".to_owned()];
        }
        chat.model.or_stored(&details_of(&request).model);
        return Ok(chat);
    }
    let details = details_of(&request);
    let needs: Vec<_> = details.not_stored.iter().filter(|option| !is_given(&chat, option)).cloned().collect();
    if !needs.is_empty() {
        return Err(Failure::usage(format!(
            "run {run} was started with something that a journal does not hold: give {} again",
            needs.join(" and ")
        )));
    }
    chat.is_typed_run = request.form.is_some();
    // That of a page was kept by its server, and by no one else.
    chat.conversation = request.conversation.filter(|_| !details.of_page);
    details.fill(&mut chat);
    Ok(chat)
}

fn details_of(request: &RequestStep) -> RunDetails {
    let details = request.details.clone().map(serde_json::from_value).and_then(Result::ok);
    details.unwrap_or_default()
}

fn is_given(chat: &Chat, option: &str) -> bool {
    match option {
        "--mcp" => !chat.mcp.is_empty(),
        "--library" => chat.libraries.is_given(),
        _ => !chat.words.is_empty(),
    }
}

/// What was asked in a run, and whether it has its answer.
async fn request(journal: &SqliteJournal, run: &str) -> Result<(RequestStep, bool), Failure> {
    let record = journal.run(run).await.map_err(Failure::journal)?;
    if record.summary.kind != "chat" {
        let kind = visible(&record.summary.kind).into_owned();
        return Err(Failure::usage(format!("run {run} is a {kind}: only a chat goes on by itself")));
    }
    let step = record.steps.iter().find(|step| step.kind == REQUEST);
    let request = step.map(|step| serde_json::from_str(step.body.get())).transpose();
    let request = request.map_err(|source| Failure::journal(JournalError::Json { source }))?;
    let request = request.ok_or_else(|| {
        let message = format!("run {run} ended before anything was asked: ask again");
        Failure::usage(message)
    })?;
    let last = record.steps.last().filter(|step| step.kind == END);
    let end = last.and_then(|step| serde_json::from_str::<EndStep>(step.body.get()).ok());
    Ok((request, end.is_some_and(|end| end.response.is_some())))
}

/// The command that goes on with a run.
pub(super) fn resume_command(journal: &Path, run: &str) -> String {
    format!("to go on: opentool runs --journal {} resume {run}", journal.display())
}

/// What a run waits for, and the commands that decide about it.
pub(super) async fn waiting(journal: &SqliteJournal, run: &str) -> Result<Vec<String>, Failure> {
    let record = journal.run(run).await.map_err(Failure::journal)?;
    let path = journal.path().display();
    let mut lines = Vec::new();
    for call in record.waiting() {
        let (why, how) = match call.waits_for {
            WaitsFor::Approval => ("waits for approval", "--approve (or --deny REASON)"),
            _ => ("was interrupted, and may have had its effect", "--happened RESULT (or --again, --give-up REASON)"),
        };
        let (place, tool) = (&call.place, &call.tool);
        lines.push(format!("call {place}, {tool} {}, {why}:", call.arguments.as_str()));
        lines.push(format!("  opentool runs --journal {path} decide {run} '{place}' {how}"));
    }
    lines.push(resume_command(journal.path(), run));
    Ok(lines)
}
