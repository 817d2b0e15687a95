//! One request and its options: [`ChatRequest`].

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use opentool_core::{Cancellation, Decision, IntoToolSource, Respondent, ToolContext};
use serde_json::Value;

use super::chat_client::{ChatClient, ClientParts};
use crate::answer_form::AnswerForm;
use crate::answer_type::AnswerType;
use crate::error::ChatError;
use crate::message::Message;
use crate::model::{ChatModel, Subject, TurnRequest};
use crate::options::ChatOptions;
use crate::prompt::Prompt;
use crate::response::{ChatResponse, RunState};
use crate::stream::ChatStream;
use crate::typed_stream::TypedStream;

impl ChatClient {
    /// Starts a request with what the user says, or with a whole conversation.
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> ChatRequest {
        ChatRequest::new(self, prompt.into().into())
    }

    /// Starts a request that resumes a run which waited for decisions.
    ///
    /// Tools and context that were given with the first request, and not by default, are given again.
    pub fn resume(&self, state: RunState) -> ChatRequest {
        ChatRequest::new(self, TurnRequest::resume(state, ChatOptions::new()))
    }

    /// Starts a request that goes on with a run in the client's [journal](crate::ChatClientBuilder::journal), whichever process began it.
    ///
    /// Answers of the model and outcomes of calls that are recorded are taken from there. A run that is over gives its recorded answer. Tools
    /// and context that were given with the first request, and not by default, are given again; the options are recorded.
    ///
    /// The request fails where there is no such run, or a process that is alive has it. The run of a process that died can be taken over
    /// once the lease of that process has ended.
    ///
    /// ```
    /// use opentool_chat::ChatClient;
    /// # use opentool_chat::testing::{Reply, ScriptedModel};
    /// use opentool_core::FnTool;
    /// use opentool_journal::SqliteJournal;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("runs.sqlite");
    /// # let model = ScriptedModel::new([Reply::call("pay", "{}"), Reply::text("It is paid.")]);
    /// let client = ChatClient::builder(model)
    ///     .default_tools(FnTool::new("pay", || "paid"))
    ///     .journal(SqliteJournal::open(&path).await?)
    ///     .build();
    /// let answer = client.prompt("Pay the bill.").call().await?;
    /// let run = answer.run_id().unwrap_or_default().to_owned();
    ///
    /// // In any process, as often as needed: nothing is asked or paid again.
    /// assert_eq!(client.resume_run(run).call().await?.text(), "It is paid.");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn resume_run(&self, id: impl Into<String>) -> ChatRequest {
        ChatRequest::new(self, TurnRequest::resume_run(id.into()))
    }
}

/// A request to a model, until it is [called](Self::call) or [streamed](Self::stream).
#[must_use = "the model is asked by `call` or `stream`"]
pub struct ChatRequest {
    client: ChatClient,
    request: TurnRequest,
    system: Option<Arc<str>>,
}

impl ChatRequest {
    fn new(client: &ChatClient, request: TurnRequest) -> Self {
        Self { client: client.clone(), request, system: None }
    }

    fn with_options(mut self, change: impl FnOnce(ChatOptions) -> ChatOptions) -> Self {
        self.request.options = change(self.request.options);
        self
    }

    /// Sets the system text, instead of the client's.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Sets the tools, which replace the default ones. An error in them is kept until the call.
    pub fn tools<M>(self, tools: impl IntoToolSource<M>) -> Self {
        self.with_options(|options| options.with_tools(tools))
    }

    /// Adds tools to those that are there by default or were set. An error in them is kept until the call.
    pub fn add_tools<M>(self, tools: impl IntoToolSource<M>) -> Self {
        self.with_options(|options| options.with_added_tools(tools))
    }

    /// Sets the names of tools that the model's resolver finds; they replace the default ones.
    pub fn tool_names<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.with_options(|options| options.with_tool_names(names))
    }

    /// Adds a value to the context, which tools get and the model never sees.
    pub fn context(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.with_options(|options| options.with_context(key, value))
    }

    /// Adds everything in a context to the context of this request.
    pub fn tool_context(self, context: &ToolContext) -> Self {
        self.with_options(|options| options.with_tool_context(context))
    }

    /// Sets what answers the [questions](ToolContext::ask) of tools, instead of the client's.
    pub fn respondent(self, respondent: impl Respondent) -> Self {
        self.with_options(|options| options.with_respondent(respondent))
    }

    /// Adds options to those that are set.
    pub fn options(self, options: ChatOptions) -> Self {
        self.with_options(|own| own.and(&options))
    }

    /// Sets the conversation that the client's memory keeps the turn in.
    pub fn conversation(mut self, id: impl Into<String>) -> Self {
        self.request.conversation = Some(id.into());
        self
    }

    /// Sets the signal that cancels the turn: the model's answer and the calls that run.
    pub fn cancellation(self, cancellation: Cancellation) -> Self {
        self.with_options(|mut options| {
            let context = options.context.take().unwrap_or_default();
            options.context = Some(context.with_cancellation(cancellation));
            options
        })
    }

    /// Decides about a call of a run that is [resumed](ChatClient::resume). A call that does not wait is an error of the call.
    pub fn decide(mut self, call_id: &str, decision: Decision) -> Self {
        self.request.decisions.push((call_id.to_owned(), decision));
        self
    }

    /// Asks the model, runs the calls it makes, and returns its answer.
    ///
    /// # Errors
    ///
    /// Whatever ended the turn without an answer; the error carries what was said until then.
    pub fn call(self) -> BoxFuture<'static, Result<ChatResponse, ChatError>> {
        let (model, request) = self.into_turn();
        model.run(request)
    }

    /// Asks the model, runs the calls it makes, and streams everything as it happens.
    pub fn stream(self) -> ChatStream {
        let (model, request) = self.into_turn();
        model.run_streamed(request)
    }

    /// Sets the form that the answer must have; its text is then JSON that has it.
    pub fn answer_form(mut self, form: AnswerForm) -> Self {
        self.request.form = Some(Arc::new(form));
        self
    }

    /// Asks the model, runs the calls it makes, and returns its answer as a value of a type.
    ///
    /// The model is held to the schema of the type by the best means that its provider [has](crate::Provider::typed_answers). An
    /// answer that does not follow it goes back to the model with what is wrong, at most [three times](AnswerForm::with_tries) in
    /// all. Tools work as ever. For the response beside the value, set the [form](Self::answer_form) and read
    /// [`ChatResponse::answer_as`].
    ///
    /// ```
    /// use opentool_chat::ChatClient;
    /// # use opentool_chat::testing::{Reply, ScriptedModel};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct City {
    ///     name: String,
    ///     /// In thousands.
    ///     inhabitants: u32,
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # let model = ScriptedModel::new([Reply::text(r#"{"name":"Ulm","inhabitants":128}"#)]);
    /// let city: City = ChatClient::new(model).prompt("Where was Einstein born?").call_as().await?;
    /// assert_eq!((&*city.name, city.inhabitants), ("Ulm", 128));
    /// # Ok::<(), opentool_chat::ChatError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Whatever ended the turn without an answer, among it a model that does not keep to the form; the error carries what was
    /// said until then.
    pub fn call_as<T>(self) -> BoxFuture<'static, Result<T, ChatError>>
    where
        T: AnswerType,
    {
        Box::pin(async move { self.with_form_of::<T>()?.call().await?.answer_as() })
    }

    /// Asks the model, runs the calls it makes, and streams its answer as it grows: JSON first, then a value of a type.
    pub fn stream_as<T>(self) -> TypedStream<T>
    where
        T: AnswerType,
    {
        match self.with_form_of::<T>() {
            Err(error) => TypedStream::failed(error),
            Ok(request) => {
                let form = request.request.form.clone();
                form.map_or_else(
                    || TypedStream::failed(ChatError::setup("the request has no form")),
                    |form| TypedStream::new(form, request.stream()),
                )
            }
        }
    }

    /// Sets the form of a type, unless the request has one.
    fn with_form_of<T: AnswerType>(self) -> Result<Self, ChatError> {
        match self.request.form {
            Some(_) => Ok(self),
            None => Ok(self.answer_form(AnswerForm::for_type::<T>()?)),
        }
    }

    /// Adds the client's part: its defaults, its system text and its memory.
    fn into_turn(self) -> (ChatModel, TurnRequest) {
        let ClientParts { model, options, system, memory, save, conversation, journal, run_details } = &*self.client.0;
        let mut request = self.request;
        request.defaults = options.clone();
        (request.journal, request.details) = (journal.clone(), run_details.clone());
        request.memory = memory.clone().map(|memory| (memory, *save));
        request.conversation = request.conversation.or_else(|| conversation.clone());
        if let Subject::Ask { system: own, messages } = &mut request.subject {
            // The system messages of a prompt stand first, and the client's text only where there are none.
            let is_system = |message: &mut Message| matches!(message, Message::System(_));
            own.extend(messages.extract_if(.., is_system));
            let text = self.system.or_else(|| system.clone().filter(|_| own.is_empty()));
            own.splice(0..0, text.map(Message::system));
        }
        (model.clone(), request)
    }
}

impl fmt::Debug for ChatRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatRequest")
            .field("client", &self.client)
            .field("subject", &self.request.subject)
            .field("options", &self.request.options)
            .field("conversation", &self.request.conversation)
            .finish_non_exhaustive()
    }
}
