//! The form of a turn's answer, as its requests need it: [`TypedTurn`].

use std::borrow::Cow;

use opentool_core::ToolCall;

use crate::answer_form::{ANSWER_TOOL, SharedForm};
use crate::message::Message;
use crate::options::{ChatOptions, ToolChoice};
use crate::response_format::TypedAnswers;

/// The form of a turn's answer, and by which means the model is held to it.
pub(super) struct TypedTurn {
    pub(super) form: SharedForm,
    pub(super) means: TypedAnswers,
    /// How many answers were checked.
    pub(super) tries: u32,
    /// The call by which the model gave the answer that is checked.
    pub(super) call: Option<ToolCall>,
    /// Whether the request has other tools.
    pub(super) has_tools: bool,
}

impl TypedTurn {
    pub(super) fn new(form: SharedForm) -> Self {
        Self { form, means: TypedAnswers::Prompt, tries: 0, call: None, has_tools: false }
    }

    /// The options of the next request, with what holds the model to the form.
    pub(super) fn options<'a>(typed: Option<&Self>, options: &'a ChatOptions) -> Cow<'a, ChatOptions> {
        let Some(typed) = typed else { return Cow::Borrowed(options) };
        let mut options = options.clone();
        match typed.means {
            TypedAnswers::Native => options.response_format = Some(typed.form.format().clone()),
            TypedAnswers::ForcedTool => {
                options.tool_choice = Some(match options.tool_choice {
                    // It may call nothing else: because of a limit, or because the application says so.
                    Some(ToolChoice::None) if typed.has_tools => ToolChoice::Named(ANSWER_TOOL.to_owned()),
                    Some(ToolChoice::Named(name)) => ToolChoice::Named(name),
                    // Also where the answer is the only tool, since not every server takes a tool by its name.
                    _ => ToolChoice::Required,
                });
            }
            TypedAnswers::Prompt => {}
        }
        Cow::Owned(options)
    }

    /// The messages of the next request, with the form in words where there is no other means.
    pub(super) fn messages<'a>(typed: Option<&Self>, messages: &'a [Message]) -> Cow<'a, [Message]> {
        match typed {
            Some(typed) if typed.means == TypedAnswers::Prompt => {
                let system = messages.iter().take_while(|message| matches!(message, Message::System(_))).count();
                let mut messages = messages.to_vec();
                messages.insert(system, Message::system(typed.form.instruction()));
                Cow::Owned(messages)
            }
            _ => Cow::Borrowed(messages),
        }
    }
}
