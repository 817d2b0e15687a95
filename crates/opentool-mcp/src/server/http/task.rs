//! A call that came over HTTP: [`CallTask`].

use std::sync::Arc;

use http::StatusCode;
use opentool_core::{Cancellation, Host, ToolCall, ToolContext};
use opentool_server::{CountedCall, FrontendRequest, FrontendResponse, RequestBody, TooManyCalls};

use super::lazy_events::LazyEvents;
use super::reply::Answer;
use super::sessions::Session;
use crate::server::answer;
use crate::server::ask::Elicitor;
use crate::server::call::{self, Asking, CallFrame, CallRequest, FinishedCall, ProgressReport};
use crate::server::engine::{Caller, Engine};
use crate::server::error::ProtocolError;
use crate::server::json_text::JsonText;
use crate::server::sink::MessageSink;

/// A call that may run.
pub(super) struct PlannedCall {
    pub(super) id: Box<str>,
    pub(super) request: CallRequest,
    pub(super) caller: Caller,
    pub(super) session: Option<Arc<Session>>,
}

/// A call with everything that it needs, so that it can go on without its connection.
pub(super) struct CallTask {
    engine: Arc<Engine>,
    host: Arc<Host>,
    id: Box<str>,
    /// None once it runs.
    call: Option<ToolCall>,
    progress_token: Option<Box<str>>,
    caller: Caller,
    session: Option<Arc<Session>>,
    context: ToolContext,
    /// Set where the client calls again with answers.
    asking: Option<Box<Asking>>,
    counted: CountedCall,
    cut_off: Cancellation,
    /// Counts against the limit of bytes held while the arguments are there.
    _body: Option<RequestBody>,
}

impl CallTask {
    /// Admits a call, if the limit of calls in flight allows it.
    pub(super) fn new(
        engine: &Arc<Engine>,
        request: &FrontendRequest<'_>,
        mut planned: PlannedCall,
        body: Option<RequestBody>,
    ) -> Result<Self, Answer> {
        let refused = |error: TooManyCalls| {
            let error = ProtocolError::internal(error.to_string());
            Answer::new(StatusCode::SERVICE_UNAVAILABLE, answer::error(Some(JsonText::known(&planned.id)), &error))
        };
        let counted = request.count_call(planned.request.call.name.clone()).map_err(refused)?;
        let mut context = planned.request.context(request.trace());
        if planned.request.call.arguments.is_long() {
            context = context.with_typed(request.memory_budget().clone());
        }
        let session = planned.session.as_ref().map(|session| &session.name);
        if let Some(caller) = session.or(request.key_name()) {
            context = context.with_caller(caller.clone());
        }
        context = planned.request.recorded(context, request.journal(), request.key_name());
        let mut asking = None;
        if planned.caller.revision.is_stateless() {
            let taken_up = planned.request.asking(engine, request.key_name());
            let taken_up =
                taken_up.map_err(|error| Answer::ok(answer::error(Some(JsonText::known(&planned.id)), &error)))?;
            context = context.with_respondent(taken_up.collector.clone());
            asking = Some(Box::new(taken_up));
        }
        let PlannedCall { id, request: CallRequest { call, progress_token, .. }, caller, session } = planned;
        Ok(Self {
            engine: engine.clone(),
            host: request.host().clone(),
            id,
            call: Some(call),
            progress_token,
            caller,
            session,
            context,
            asking,
            counted,
            cut_off: request.cut_off(),
            _body: body,
        })
    }

    /// Runs the call, once, and words its answer.
    pub(super) async fn run(&mut self, sink: Option<&dyn MessageSink>) -> FinishedCall {
        let id = JsonText::known(&self.id);
        let frame = CallFrame { engine: &self.engine, host: &self.host, caller: self.caller, id };
        let Some(call) = self.call.take() else { return call::stopped(frame) };
        let session = self.session.as_ref();
        let _in_flight = session.map(|session| session.calls.enter(id, self.context.cancellation().clone()));
        let progress = match (&self.progress_token, sink) {
            (Some(token), Some(sink)) => Some(ProgressReport { token: JsonText::known(token), sink }),
            _ => None,
        };
        let finished = tokio::select! {
            // The call first: one that is ready at once does not register for the signal.
            biased;
            finished = call::run(frame, call, &self.context, progress, self.asking.as_deref()) => finished,
            () = self.cut_off.cancelled() => call::stopped(frame),
        };
        self.counted.finish(finished.error);
        finished
    }

    /// Puts an answer into a body of its own.
    pub(super) fn respond(&self, FinishedCall { message, is_bad_request, .. }: FinishedCall) -> FrontendResponse {
        let status = if is_bad_request { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        FrontendResponse::json(status, message).with_call(&self.counted)
    }

    /// Runs the call and sends its progress and its answer: as events, or where there is nothing but the answer, as a body.
    pub(super) async fn stream(mut self, sink: LazyEvents, ends_with_client: bool) {
        let sink = Arc::new(sink);
        if let Some(session) = self.session.as_ref().filter(|session| session.can_ask) {
            let elicitor = Elicitor { sink: sink.clone(), questions: session.questions.clone() };
            self.context = std::mem::take(&mut self.context).with_respondent(elicitor);
        }
        let run = async {
            let FinishedCall { message, error, is_bad_request } = self.run(Some(&*sink)).await;
            let respond = |message| self.respond(FinishedCall { message, error, is_bad_request });
            sink.finish(message, respond).await;
        };
        if ends_with_client {
            tokio::select! {
                () = run => {}
                // Dropping the call cancels it.
                () = sink.closed() => {}
            }
        } else {
            run.await;
        }
    }
}
