//! A chat: a model with its tools, its memory and the console.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use opentool::{Executor, ToolContext, WorkflowRunner};
use opentool_chat::{
    AnswerForm, Cause, ChatClient, ChatError, ChatModel, ChatModelBuilder, ChatOptions, ChatRequest, Media, PriceTable,
    TurnEnd,
};
use opentool_journal::SqliteJournal;
use serde::de::DeserializeOwned;

use super::{
    super::{ExitStatus, access::environment_key_for, console::Console, known, model::ModelName, respondent},
    approval::{Approval, Approve},
    args::Chat,
    attach,
    interrupt::Interrupt,
    memory::Memory,
    recorded::{self, RunDetails},
    turn::{self, TurnOutput, TurnResult},
};
use crate::{
    failure::{Failure, server_failure},
    limits::{ConnectOptions, executor},
    report::counted,
    secret::Secret,
    source::Source,
    source_tables::NamedSources,
    sources::{self, Joined, SourceWords},
    terminal::{complain, visible},
};

/// A model with its tools, its memory and the console.
pub(super) struct Session {
    client: ChatClient,
    interrupt: Arc<Interrupt>,
    pub(super) console: Arc<Console>,
    pub(super) memory: Memory,
    pub(super) model: ModelName,
    /// The names of the tools.
    pub(super) tools: Vec<String>,
    /// The files that go with the first prompt.
    attached: Mutex<Vec<Media>>,
    /// Which of them run without a question.
    unasked: Vec<String>,
    /// The form that answers must have.
    form: Option<AnswerForm>,
    /// Where turns are recorded.
    journal: Option<SqliteJournal>,
}

impl Session {
    pub(super) async fn open(
        chat: &Chat,
        sources: &[(Source, Option<String>)],
        words: &[String],
        model: &ModelName,
        is_conversation: bool,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Self, Failure> {
        let provider = model.provider().map_err(of_chat)?;
        let attached = Mutex::new(attach::read(&chat.attach)?);
        let known = known::metadata(&chat.read_only, &chat.destructive, &chat.idempotent, &[]);
        let (timeout, max_result) = (chat.libraries.timeout(), chat.max_result);
        let connect = ConnectOptions { certificates: chat.certificates.read()?, timeout, max_result };
        let Joined { tools: joined, names, .. } = sources::join(sources, &known, &connect).await?;
        known::check(&known, &names)?;
        let mut tools: Vec<_> = names.listed().into_iter().map(str::to_owned).collect();
        let joined = if chat.run_workflows {
            tools.push(WorkflowRunner::NAME.to_owned());
            with_runner(joined)?
        } else {
            joined
        };

        let console = Console::new(!chat.json)?;
        let approve = if chat.yes { Approve::None } else { chat.approve.unwrap_or_default() };
        let approval = Approval::new(approve, &console, interrupt, chat.journal.is_some());
        let executor = executor(timeout, chat.max_result).approval(approval).build();
        let unasked = unasked(&executor, &joined, approve).await;
        let form = chat.schema.as_deref().map(answer_form).transpose()?;
        let prices = chat.prices.as_deref().map(prices).transpose()?;
        let options = ChatOptions::new().with_model(&model.name).with_tools(joined);
        let asked = ChatModel::builder(provider).default_options(options).executor(executor);
        let asked = prices.into_iter().fold(asked, ChatModelBuilder::prices).build();
        let memory = Memory::open(chat, is_conversation && chat.resume.is_none()).await?;
        let interrupted = {
            let interrupt = interrupt.clone();
            move || interrupt.give()
        };
        let mut client = ChatClient::builder(asked).respondent(respondent::at(&console, Some(Box::new(interrupted))));
        if let Some(system) = &chat.system {
            client = client.system(system.as_str());
        }
        if let (Some(shared), Some(conversation)) = (&memory.shared, &memory.conversation) {
            client = client.memory(shared.clone()).conversation(conversation);
        }
        let journal = match &chat.journal {
            Some(path) => Some(SqliteJournal::open(path).await.map_err(Failure::journal)?),
            None => None,
        };
        if let Some(journal) = &journal {
            let details = RunDetails::new(chat, words, model).to_value();
            client = client.journal(journal.clone()).run_details(details);
        }
        let (client, interrupt) = (client.build(), interrupt.clone());
        let model = model.clone();
        let session = Session { client, interrupt, console, memory, model, tools, attached, unasked, form, journal };
        session.announce(is_conversation && chat.resume.is_none())?;
        Ok(session)
    }

    /// Says which tools the model may call, and which of them run unasked.
    fn announce(&self, is_conversation: bool) -> Result<(), Failure> {
        if !self.console.is_interactive() {
            return Ok(());
        }
        if is_conversation {
            let tools = counted(self.tools.len(), "tool");
            let model = visible(&self.model.to_string()).into_owned();
            self.console.note(format!("{model} with {tools}; /help lists the commands, Ctrl-D ends"))?;
        }
        self.console.note(visible(&announcement(&self.tools, &self.unasked)).into_owned())
    }

    /// Answers one prompt.
    pub(super) async fn answer(&self, prompt: &str, json: bool) -> Result<ExitStatus, Failure> {
        let result = self.turn(prompt, json).await?;
        self.report(result, json).await
    }

    /// Goes on with a run.
    pub(super) async fn resume(&self, run: &str, json: bool, is_typed: bool) -> Result<ExitStatus, Failure> {
        // The model of the command line counts, and otherwise it is the recorded one.
        let request = self.client.resume_run(run).options(ChatOptions::new().with_model(&self.model.name));
        let result = self.run_turn(request, json, is_typed).await?;
        self.report(result, json).await
    }

    pub(super) async fn close_journal(&self) {
        if let Some(journal) = &self.journal {
            journal.close().await;
        }
    }

    /// Says what a recorded turn waits for, or how it can go on.
    async fn point_to_run(&self, result: &TurnResult) -> Result<(), Failure> {
        let (Some(journal), Some(run)) = (&self.journal, &result.run) else { return Ok(()) };
        let lines = match result.end {
            TurnEnd::Suspended => recorded::waiting(journal, run).await?,
            _ if result.error.as_ref().is_some_and(|error| !matches!(error.cause(), Cause::Run(_))) => {
                vec![recorded::resume_command(journal.path(), run)]
            }
            _ => return Ok(()),
        };
        lines.into_iter().try_for_each(|line| self.console.note(visible(&line).into_owned()))
    }

    async fn report(&self, result: TurnResult, json: bool) -> Result<ExitStatus, Failure> {
        self.point_to_run(&result).await?;
        if json {
            result.print(self.memory.kept())?;
        }
        match result.error {
            _ if result.was_cancelled() => Ok(ExitStatus::Interrupted),
            Some(error) => Err(of_chat(error)),
            None => Ok(match result.end {
                TurnEnd::CutOff | TurnEnd::Paused => ExitStatus::CutOff,
                TurnEnd::Filtered | TurnEnd::Refused => ExitStatus::Withheld,
                TurnEnd::Suspended => ExitStatus::Waiting,
                _ => ExitStatus::Success,
            }),
        }
    }

    /// Runs a turn of a conversation; its failure is printed and does not end the conversation.
    pub(super) async fn converse(&self, prompt: &str) -> Result<(), Failure> {
        self.interrupt.forget();
        let result = self.turn(prompt, false).await?;
        self.point_to_run(&result).await?;
        if result.was_cancelled() {
            self.console.note("cancelled")?;
        } else if let Some(error) = result.error {
            complain(&of_chat(error));
        }
        Ok(())
    }

    async fn turn(&self, prompt: &str, quiet: bool) -> Result<TurnResult, Failure> {
        let files = std::mem::take(&mut *self.attached.lock().unwrap_or_else(PoisonError::into_inner));
        let prompt = attach::message(prompt, files);
        let request = self.client.prompt(prompt);
        let (request, is_typed) = match &self.form {
            Some(form) => (request.answer_form(form.clone()), true),
            None => (request, false),
        };
        self.run_turn(request, quiet, is_typed).await
    }

    async fn run_turn(&self, request: ChatRequest, quiet: bool, is_typed: bool) -> Result<TurnResult, Failure> {
        let output = TurnOutput { console: &self.console, quiet, is_typed };
        let mut result = turn::run(request, output, &self.interrupt).await?;
        // A turn is kept even if it could not be written.
        match result.unwritten.take() {
            Some(failure) => Err(failure),
            None => Ok(result),
        }
    }
}

/// The tools that run without a question, in the order of their source.
async fn unasked(executor: &Executor, tools: &opentool::Source, approve: Approve) -> Vec<String> {
    // A source that does not answer now is reported when the model is asked.
    let toolbox = executor.toolbox(tools, &ToolContext::new()).await.unwrap_or_default();
    let unasked = toolbox.iter().filter(|tool| !approve.asks_about(&***tool));
    unasked.map(|tool| tool.definition().name().to_owned()).collect()
}

/// `unasked run: add, subtract (and 3 more); you are asked about 2 tools`.
fn announcement(tools: &[String], unasked: &[String]) -> String {
    const NAMED: usize = 12;
    let asked = tools.len().saturating_sub(unasked.len());
    let named = unasked.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match unasked.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match (unasked.is_empty(), asked) {
        (true, 0) => "there are no tools".to_owned(),
        (true, _) => "no tool runs unasked".to_owned(),
        (false, 0) => "every tool runs unasked".to_owned(),
        (false, asked) => format!("unasked run: {named}{more}; you are asked about {}", counted(asked, "other tool")),
    }
}

/// The tools, and one that runs workflows of them.
fn with_runner(tools: opentool::Source) -> Result<opentool::Source, Failure> {
    let runner = WorkflowRunner::new(tools.clone()).map_err(|error| Failure::usage(error.to_string()))?;
    let joined = opentool::Source::join(vec![tools, opentool::Source::new(runner)]);
    joined.map_err(|source| Failure::Tools { name: "the chat".to_owned(), source })
}

/// The form of an answer, from the file of its schema.
fn answer_form(path: &Path) -> Result<AnswerForm, Failure> {
    let name = path.file_stem().map_or_else(|| "answer".to_owned(), |name| name.to_string_lossy().into_owned());
    let schema = read_json(path)?;
    AnswerForm::from_schema(&name, schema).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

fn prices(path: &Path) -> Result<PriceTable, Failure> {
    read_json(path)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let name = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| Failure::Read { name: name(), source })?;
    serde_json::from_str(&text).map_err(|error| Failure::usage(format!("{}: {error}", name())))
}

/// The sources with the keys of the command line, otherwise with that of the environment, which goes to no more than one
/// server, and to none that a document names.
pub(super) fn open_sources(
    chat: &Chat,
    names: &[String],
    named: &NamedSources,
) -> Result<Vec<(Source, Option<String>)>, Failure> {
    let read_keys = chat.source_keys.read()?;
    let keys = chat.source_api_key.iter().chain(&read_keys).map(Secret::expose);
    let words = SourceWords { sources: names, mcp: &chat.mcp, tools: &chat.tools };
    sources::open_all(words, named, keys, &(&chat.libraries).into(), environment_key_for)
}

/// The failure of the command for a failed chat.
fn of_chat(error: ChatError) -> Failure {
    if let Cause::Tools(cause) | Cause::Tool { error: cause, .. } = error.cause()
        && let Some(failure) = server_failure(cause)
    {
        return failure;
    }
    Failure::Chat { source: Box::new(error) }
}
