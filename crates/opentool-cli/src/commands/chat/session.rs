//! A chat: a model with its tools, its memory and the console.

use std::sync::{Arc, Mutex, PoisonError};

use opentool::WorkflowRunner;
use opentool_chat::{Cause, ChatClient, ChatError, ChatModel, ChatOptions, Media, Message};

use super::{
    super::{ExitStatus, access::environment_key_for, console::Console, known, respondent},
    approval,
    args::Chat,
    attach,
    interrupt::Interrupt,
    memory::Memory,
    model::ModelName,
    turn::{self, TurnResult},
};
use crate::{
    failure::{Failure, server_failure},
    limits::{ConnectOptions, executor},
    secret::Secret,
    source::Source,
    source_tables::NamedSources,
    sources::{self, Joined, SourceWords},
    terminal::{complain, visible, warn},
};

/// What is kept in place of the answer of a turn that has none.
const CANCELLED: &str = "(the turn was cancelled)";
const FAILED: &str = "(the turn failed)";

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
}

impl Session {
    pub(super) async fn open(
        chat: &Chat,
        sources: &[(Source, Option<String>)],
        model: &ModelName,
        is_conversation: bool,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Self, Failure> {
        let provider = model.provider().map_err(of_chat)?;
        let attached = Mutex::new(attach::read(&chat.attach)?);
        let known = known::metadata(&[], &chat.destructive, &[], &[]);
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
        let approval = match (chat.yes, console.is_interactive()) {
            (true, _) => approval::yes(),
            (false, true) => approval::user(&console, interrupt),
            (false, false) => approval::no(),
        };
        let options = ChatOptions::new().with_model(&model.name).with_tools(joined);
        let executor = executor(timeout, chat.max_result).approval(approval).build();
        let asked = ChatModel::builder(provider).default_options(options).executor(executor).build();
        let memory = Memory::open(chat, is_conversation).await?;
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
        let (client, interrupt) = (client.build(), interrupt.clone());
        Ok(Session { client, interrupt, console, memory, model: model.clone(), tools, attached })
    }

    /// Answers one prompt.
    pub(super) async fn answer(&self, prompt: &str, json: bool) -> Result<ExitStatus, Failure> {
        let result = self.turn(prompt, json).await?;
        if json {
            result.print(self.memory.kept())?;
        }
        match result.error {
            _ if result.was_cancelled() => Ok(ExitStatus::Interrupted),
            Some(error) => Err(of_chat(error)),
            None => Ok(ExitStatus::Success),
        }
    }

    /// Runs a turn of a conversation; its failure is printed and does not end the conversation.
    pub(super) async fn converse(&self, prompt: &str) -> Result<(), Failure> {
        self.interrupt.forget();
        let result = self.turn(prompt, false).await?;
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
        let mut result = turn::run(&self.client, prompt, &self.console, &self.interrupt, quiet).await?;
        self.keep_unfinished(&result).await;
        // Only now: a turn is kept even if it could not be written.
        match result.unwritten.take() {
            Some(failure) => Err(failure),
            None => Ok(result),
        }
    }

    /// Saves what tools did in a turn without an answer, so that the model sees it in the next one.
    async fn keep_unfinished(&self, result: &TurnResult) {
        let (Some(memory), Some(conversation)) = (&self.memory.shared, &self.memory.conversation) else { return };
        if result.error.is_none() {
            return;
        }
        let Some(said) = unfinished(result.exchange().messages(), result.was_cancelled()) else { return };
        tokio::select! {
            kept = memory.add(conversation, &said) => if let Err(error) = kept {
                warn(&visible(&error.to_string()));
            },
            () = self.interrupt.given() => warn(&turn::NOT_KEPT),
        }
    }
}

/// The tools, and one that runs workflows of them.
fn with_runner(tools: opentool::Source) -> Result<opentool::Source, Failure> {
    let runner = WorkflowRunner::new(tools.clone()).map_err(|error| Failure::usage(error.to_string()))?;
    let joined = opentool::Source::join(vec![tools, opentool::Source::new(runner)]);
    joined.map_err(|source| Failure::Tools { name: "the chat".to_owned(), source })
}

/// What is kept of a turn without an answer: everything if tools ran in it, otherwise nothing.
fn unfinished(said: &[Message], was_cancelled: bool) -> Option<Vec<Message>> {
    let mut said = said.iter().any(|message| matches!(message, Message::Tool(_))).then(|| said.to_vec())?;
    // The next message is the user's, and some servers require an assistant message before it. A turn that failed only
    // because it could not be saved has one.
    if matches!(said.last(), Some(Message::Tool(_))) {
        said.push(Message::assistant(if was_cancelled { CANCELLED } else { FAILED }));
    }
    Some(said)
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

#[cfg(test)]
mod tests {
    use opentool_chat::ToolMessage;

    use super::*;

    #[test]
    fn a_failed_turn_with_tools_is_kept_with_an_assistant_message() {
        let (asked, tools) = (Message::user("hi"), Message::from(ToolMessage::default()));
        assert_eq!(unfinished(std::slice::from_ref(&asked), true), None);
        let acted = [asked.clone(), tools.clone()];
        for (was_cancelled, word) in [(true, CANCELLED), (false, FAILED)] {
            let kept = [asked.clone(), tools.clone(), Message::assistant(word)];
            assert_eq!(unfinished(&acted, was_cancelled).as_deref(), Some(&kept[..]));
        }
        let answered = [asked, tools, Message::assistant("Hello.")];
        assert_eq!(unfinished(&answered, false).as_deref(), Some(&answered[..]), "an answer is the last message");
    }
}
