//! What the tests share: a turn in one piece or streamed, and what must hold after every turn.

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatError, ChatEvent, ChatRequest, ChatResponse, ChatStream, Message};
use opentool_core::{ToolEvent, is_tool_name};

/// How a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Blocking,
    Streaming,
}

impl Mode {
    /// Asks, and checks what must hold after every turn.
    pub(crate) async fn ask(self, request: ChatRequest) -> Result<ChatResponse, ChatError> {
        let result = match self {
            Self::Blocking => request.call().await,
            Self::Streaming => watch(request.stream()).await.1,
        };
        check(result)
    }

    /// Asks for an answer.
    pub(crate) async fn answer(self, request: ChatRequest) -> ChatResponse {
        self.ask(request).await.unwrap()
    }

    /// Asks for an error.
    pub(crate) async fn error(self, request: ChatRequest) -> ChatError {
        self.ask(request).await.unwrap_err()
    }
}

pub(crate) fn check(result: Result<ChatResponse, ChatError>) -> Result<ChatResponse, ChatError> {
    let exchange = match &result {
        Ok(response) => response.exchange(),
        Err(error) => error.exchange(),
    };
    assert_sound(&exchange.history);
    result
}

/// Reads a stream to its end and checks that it is one: every call that was requested has one end, and `Done` comes last.
pub(crate) async fn watch(mut stream: ChatStream) -> (Vec<ChatEvent>, Result<ChatResponse, ChatError>) {
    let mut events = Vec::new();
    let mut result = None;
    while let Some(event) = stream.next().await {
        assert!(result.is_none(), "nothing comes after the end");
        match event {
            Ok(ChatEvent::Done(response)) => result = Some(Ok(*response)),
            Ok(event) => events.push(event),
            Err(error) => result = Some(Err(error)),
        }
    }
    let tool = |wanted: fn(&ToolEvent) -> bool| {
        events.iter().filter(|event| matches!(event, ChatEvent::Tool(event) if wanted(event))).count()
    };
    let requested = tool(|event| matches!(event, ToolEvent::Requested(..)));
    let ended =
        tool(|event| matches!(event, ToolEvent::Finished(..) | ToolEvent::Failed(..) | ToolEvent::Suspended(..)));
    assert_eq!(requested, ended, "every call has one end");
    (events, result.expect("a stream ends with `Done` or an error"))
}

/// Says that every call has its answer right behind it, in call order, under its own id, that no id is used twice, and that
/// every name can be sent.
pub(crate) fn assert_sound(history: &[Message]) {
    let mut ids = std::collections::HashSet::new();
    let mut waiting: Vec<_> = Vec::new();
    for message in history {
        let answered: Vec<_> = message.answers().iter().map(|answer| answer.call_id.clone()).collect();
        assert_eq!(waiting, answered, "calls and answers in {history:#?}");
        waiting = message.tool_calls().iter().map(|call| call.id.clone()).collect();
        for id in &waiting {
            assert!(!id.is_empty() && ids.insert(id.clone()), "the id `{id}` is empty or used twice");
        }
        for call in message.tool_calls() {
            assert!(is_tool_name(&call.name), "the name `{}` cannot be sent", call.name);
        }
    }
    assert!(waiting.is_empty(), "calls without an answer at the end of {history:#?}");
}

/// A client of a model that makes one answer with these calls and then says `done`.
pub(crate) fn calling(reply: Reply) -> (ChatClient, ScriptedModel) {
    let model = ScriptedModel::new([reply, Reply::text("done")]);
    (ChatClient::new(model.clone()), model)
}

/// The text of every tool answer that the model got in the second round.
pub(crate) fn tool_texts(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let last = requests.last().unwrap().messages.last().unwrap().clone();
    last.answers().iter().map(|answer| answer.text.to_string()).collect()
}

/// Makes two tests of each function: one asks for an answer in one piece, one has it streamed.
macro_rules! in_both_modes {
    ($($name:ident),+ $(,)?) => {
        $(
            mod $name {
                use crate::support::Mode;

                #[tokio::test]
                async fn blocking() {
                    super::$name(Mode::Blocking).await;
                }

                #[tokio::test]
                async fn streaming() {
                    super::$name(Mode::Streaming).await;
                }
            }
        )+
    };
}
