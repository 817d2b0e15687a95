//! Conversations with a model, kept while the server runs: [`Chat`], [`Conversations`].

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentool_chat::{ChatClient, ChatClientBuilder, ChatMemory, ChatModel, MemoryError, Message, UserPart, window};
use opentool_core::{BoxFuture, Host, ToolDefinition};

use crate::approval::with_person;
use crate::turns::RunningTurns;

/// How many conversations are kept; a further one replaces the one that was not used for longest.
const MAX_CONVERSATIONS: usize = 64;

/// How many bytes all conversations together have, media included.
const MAX_BYTES: usize = 64 << 20;

/// How many messages of a conversation are sent to the model.
const SENT: usize = 60;

/// What says which model people chat with now.
pub(crate) type CurrentModel = Arc<dyn Fn() -> Option<ChatModel> + Send + Sync>;

/// The model that people chat with, and what they have said.
pub(crate) struct Chat {
    model: CurrentModel,
    system: Option<Arc<str>>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) turns: RunningTurns,
}

impl Chat {
    pub(crate) fn new(model: CurrentModel, system: Option<Arc<str>>) -> Self {
        Self { model, system, conversations: Arc::default(), turns: RunningTurns::default() }
    }

    /// Returns the model that people chat with now; another turn may have another one.
    pub(crate) fn model(&self) -> Option<ChatModel> {
        (self.model)()
    }

    /// Starts a client of a model, with the tools of the server; the person at the page is asked about calls.
    pub(crate) fn client(&self, model: &ChatModel, host: &Host) -> ChatClientBuilder {
        let model = model.with_executor(with_person(host.executor()));
        let client = ChatClient::builder(model).memory(self.conversations.clone()).default_tools(host.source().clone());
        match &self.system {
            Some(system) => client.system(system.clone()),
            None => client,
        }
    }
}

/// Conversations by their id.
#[derive(Default)]
pub(crate) struct Conversations(Mutex<ConversationTable>);

#[derive(Default)]
struct ConversationTable {
    kept: HashMap<String, Conversation>,
    /// Counts the uses, so that the oldest is known.
    uses: u64,
}

#[derive(Default)]
struct Conversation {
    messages: Vec<Message>,
    bytes: usize,
    used: u64,
    /// The tools whose calls the person has approved once for all.
    always: HashSet<ApprovedTool>,
}

/// A tool as it was when the person approved all of its calls: one that its server replaces has to be asked about again.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct ApprovedTool {
    name: String,
    description: String,
    schema: String,
}

impl ApprovedTool {
    pub(crate) fn new(definition: &ToolDefinition) -> Self {
        Self {
            name: definition.name().to_owned(),
            description: definition.description().to_owned(),
            schema: definition.input_schema().to_string(),
        }
    }
}

impl Conversations {
    /// Returns everything that is kept of a conversation.
    pub(crate) fn messages(&self, conversation: &str) -> Vec<Message> {
        self.lock().kept.get(conversation).map(|kept| kept.messages.clone()).unwrap_or_default()
    }

    /// Forgets a conversation; says whether there was one.
    pub(crate) fn forget(&self, conversation: &str) -> bool {
        self.lock().kept.remove(conversation).is_some()
    }

    /// Notes that the calls of a tool are approved for the rest of a conversation.
    pub(crate) fn always_approve(&self, conversation: &str, tool: ApprovedTool) {
        self.lock().touch(conversation).always.insert(tool);
    }

    pub(crate) fn is_always_approved(&self, conversation: &str, tool: &ApprovedTool) -> bool {
        self.lock().kept.get(conversation).is_some_and(|kept| kept.always.contains(tool))
    }

    fn lock(&self) -> MutexGuard<'_, ConversationTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConversationTable {
    fn touch(&mut self, conversation: &str) -> &mut Conversation {
        self.uses += 1;
        let used = self.uses;
        let kept = self.kept.entry(conversation.to_owned()).or_default();
        kept.used = used;
        kept
    }

    /// Makes room: the conversations that were not used for longest go first, then the oldest turns of the last one.
    fn shrink(&mut self) {
        loop {
            let bytes: usize = self.kept.values().map(|kept| kept.bytes).sum();
            if self.kept.len() <= MAX_CONVERSATIONS && bytes <= MAX_BYTES {
                return;
            }
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { return };
            if self.kept.len() > 1 {
                self.kept.remove(&oldest);
            } else if !self.kept.get_mut(&oldest).is_some_and(Conversation::drop_oldest_turn) {
                return;
            }
        }
    }
}

impl Conversation {
    /// Drops what comes before the second message of the user; says whether there was one.
    fn drop_oldest_turn(&mut self) -> bool {
        let mut questions = self.messages.iter().enumerate().filter(|(_, message)| matches!(message, Message::User(_)));
        let Some((second, _)) = questions.nth(1) else { return false };
        self.messages.drain(..second);
        self.bytes = self.messages.iter().map(size).sum();
        true
    }
}

/// About how many bytes a message takes.
fn size(message: &Message) -> usize {
    const EACH: usize = 128;
    let media = |media: &opentool_chat::Media| media.base64().map_or(0, str::len);
    EACH + match message {
        Message::User(user) => {
            let parts = user.parts.iter().map(|part| match part {
                UserPart::Text(text) => text.len(),
                UserPart::Media(part) => media(part),
                _ => 0,
            });
            user.text.len() + parts.sum::<usize>()
        }
        Message::Assistant(assistant) => {
            let calls = assistant.tool_calls.iter().map(|call| EACH + call.arguments.as_str().len());
            assistant.text.len() + assistant.reasoning.len() + calls.sum::<usize>()
        }
        Message::Tool(tool) => tool
            .answers
            .iter()
            .map(|answer| EACH + answer.text.len() + answer.media.iter().map(media).sum::<usize>())
            .sum(),
        other => other.text().len(),
    }
}

impl ChatMemory for Conversations {
    fn add<'a>(&'a self, conversation: &'a str, messages: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            let mut table = self.lock();
            let kept = table.touch(conversation);
            kept.messages.extend_from_slice(messages);
            kept.bytes += messages.iter().map(size).sum::<usize>();
            table.shrink();
            Ok(())
        })
    }

    fn get<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(async move { Ok(window(self.messages(conversation), SENT)) })
    }

    fn clear<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            self.forget(conversation);
            Ok(())
        })
    }
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations").field("kept", &self.lock().kept.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn conversations_are_bounded_in_number_and_bytes() {
        let conversations = Conversations::default();
        for number in 0..MAX_CONVERSATIONS + 3 {
            conversations.add(&number.to_string(), &[Message::user("hello")]).await.unwrap();
        }
        assert!(conversations.messages("2").is_empty() && !conversations.messages("3").is_empty());

        let long = "x".repeat(MAX_BYTES / 3);
        for _ in 0..5 {
            conversations.add("long", &[Message::user(long.as_str()), Message::assistant("yes")]).await.unwrap();
        }
        assert_eq!(conversations.messages("long").len(), 4, "the latest turns that have room");
        assert!(conversations.messages("4").is_empty());
    }

    #[tokio::test]
    async fn an_approval_for_all_calls_ends_with_its_conversation() {
        let conversations = Conversations::default();
        let definition = ToolDefinition::builder("send").build().unwrap();
        conversations.always_approve("a", ApprovedTool::new(&definition));
        assert!(conversations.is_always_approved("a", &ApprovedTool::new(&definition)));
        let other = definition.to_builder().description("Send money.").build().unwrap();
        assert!(!conversations.is_always_approved("a", &ApprovedTool::new(&other)));
        assert!(!conversations.is_always_approved("b", &ApprovedTool::new(&definition)));
        assert!(conversations.forget("a"));
        assert!(!conversations.is_always_approved("a", &ApprovedTool::new(&definition)));
    }
}
