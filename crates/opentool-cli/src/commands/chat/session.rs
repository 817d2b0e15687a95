//! What the turns of a chat have in common.

use std::{env, sync::Arc};

use opentool::Executor;
use opentool_chat::{Cause, ChatClient, ChatError, ChatModel, ChatOptions, Message};

use super::{
    super::{
        ExitStatus,
        access::{API_KEY_VARIABLE, Secret},
        known,
    },
    Chat, approval,
    console::Console,
    interrupt::Interrupt,
    memory::Memory,
    model::ModelName,
    turn::{self, Told},
};
use crate::{
    failure::{Failure, client_error},
    source::{self, Source},
    telemetry::{self, Export},
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
        let known = known::metadata(&[], &chat.destructive, &[]);
        let exports = Export::active().is_some();
        let joined = source::join(sources, |client| {
            let client = if exports { client.trace_context(telemetry::current_trace) } else { client };
            known.iter().fold(client, |client, (tool, metadata)| client.metadata(*tool, metadata.clone()))
        });
        let (joined, names) = joined.await?;
        known::check(&known, &names)?;
        let tools = names.listed().into_iter().map(str::to_owned).collect();

        let console = Console::new(!chat.json)?;
        let approval = match (chat.yes, console.is_manned()) {
            (true, _) => approval::yes(),
            (false, true) => approval::user(&console, interrupt),
            (false, false) => approval::nobody(),
        };
        let options = ChatOptions::new().with_model(&model.name).with_tools(joined);
        let executor = Executor::builder().approval(approval).build();
        let asked = ChatModel::builder(provider).default_options(options).executor(executor).build();
        let memory = Memory::open(chat, is_conversation).await?;
        let mut client = ChatClient::builder(asked);
        if let Some(system) = &chat.system {
            client = client.system(system.as_str());
        }
        if let (Some(shared), Some(conversation)) = (&memory.shared, &memory.conversation) {
            client = client.memory(shared.clone()).conversation(conversation);
        }
        let (client, interrupt) = (client.build(), interrupt.clone());
        Ok(Session { client, interrupt, console, memory, model: model.clone(), tools })
    }

    /// Answers one prompt.
    pub(super) async fn answer(&self, prompt: &str, json: bool) -> Result<ExitStatus, Failure> {
        let told = self.turn(prompt, json).await?;
        if json {
            told.print(self.memory.kept())?;
        }
        match told.error {
            _ if told.was_cancelled() => Ok(ExitStatus::Interrupted),
            Some(error) => Err(of_chat(error)),
            None => Ok(ExitStatus::Success),
        }
    }

    /// Runs a turn of a conversation, whose failure is told and ends nothing but itself.
    pub(super) async fn converse(&self, prompt: &str) -> Result<(), Failure> {
        self.interrupt.forget();
        let told = self.turn(prompt, false).await?;
        if told.was_cancelled() {
            self.console.note("cancelled")?;
        } else if let Some(error) = told.error {
            complain(&of_chat(error));
        }
        Ok(())
    }

    async fn turn(&self, prompt: &str, quiet: bool) -> Result<Told, Failure> {
        let mut told = turn::run(&self.client, prompt, &self.console, &self.interrupt, quiet).await?;
        self.keep_unfinished(&told).await;
        // Only now, since what happened is to be kept whether or not anybody reads of it.
        match told.unheard.take() {
            Some(failure) => Err(failure),
            None => Ok(told),
        }
    }

    /// Keeps what tools did in a turn that has no answer: the model should know of it in the next one.
    async fn keep_unfinished(&self, told: &Told) {
        let (Some(memory), Some(conversation)) = (&self.memory.shared, &self.memory.conversation) else { return };
        if told.error.is_none() {
            return;
        }
        let Some(said) = unfinished(told.exchange().messages(), told.was_cancelled()) else { return };
        tokio::select! {
            kept = memory.add(conversation, &said) => if let Err(error) = kept {
                warn(&visible(&error.to_string()));
            },
            () = self.interrupt.given() => warn(&turn::NOT_KEPT),
        }
    }
}

/// What is worth keeping of a turn that has no answer: everything where tools acted in it, otherwise nothing.
fn unfinished(said: &[Message], was_cancelled: bool) -> Option<Vec<Message>> {
    let mut said = said.iter().any(|message| matches!(message, Message::Tool(_))).then(|| said.to_vec())?;
    // Who speaks next is the user, and some servers want the model to have had the word before. Where the turn failed only
    // because it could not be kept, it has.
    if matches!(said.last(), Some(Message::Tool(_))) {
        said.push(Message::assistant(if was_cancelled { CANCELLED } else { FAILED }));
    }
    Some(said)
}

/// The sources with the keys of the command line, otherwise with that of the environment, which goes to no more than one
/// server.
pub(super) fn open_sources(chat: &Chat, names: &[String]) -> Result<Vec<(Source, Option<String>)>, Failure> {
    let mut sources =
        source::open_all(names, chat.source_api_key.iter().map(Secret::expose), &(&chat.libraries).into())?;
    let mut remote = sources.iter_mut().filter(|(source, _)| source.is_remote());
    if let (Some((_, slot @ None)), None) = (remote.next(), remote.next()) {
        *slot = env::var(API_KEY_VARIABLE).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
    }
    Ok(sources)
}

/// What a failure to chat means to somebody at a command line.
fn of_chat(error: ChatError) -> Failure {
    if let Cause::Tools(cause) | Cause::Tool { error: cause, .. } = error.cause()
        && let Some(client) = client_error(cause)
    {
        return Failure::client(client.clone());
    }
    Failure::Chat { source: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use opentool_chat::ToolMessage;

    use super::*;

    #[test]
    fn what_is_kept_of_a_turn_in_which_tools_acted_ends_with_the_models_word() {
        let (asked, tools) = (Message::user("hi"), Message::from(ToolMessage::default()));
        assert_eq!(unfinished(std::slice::from_ref(&asked), true), None);
        let acted = [asked.clone(), tools.clone()];
        for (was_cancelled, word) in [(true, CANCELLED), (false, FAILED)] {
            let kept = [asked.clone(), tools.clone(), Message::assistant(word)];
            assert_eq!(unfinished(&acted, was_cancelled).as_deref(), Some(&kept[..]));
        }
        let answered = [asked, tools, Message::assistant("Hello.")];
        assert_eq!(unfinished(&answered, false).as_deref(), Some(&answered[..]), "an answer is the last word");
    }
}
