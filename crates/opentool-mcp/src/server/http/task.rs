//! A call that came over HTTP: [`CallTask`].

use std::sync::Arc;

use http::StatusCode;
use opentool_core::{Cancellation, Host, ToolContext};
use opentool_server::{CountedCall, FrontendRequest, FrontendResponse, RequestBody, TooManyCalls};
use serde_json::value::RawValue;

use super::lazy_events::LazyEvents;
use super::reply::Answer;
use super::sessions::Session;
use crate::server::answer;
use crate::server::ask::Elicitor;
use crate::server::call::{self, Asking, CallFrame, CallRequest, FinishedCall, ProgressReport};
use crate::server::engine::{Caller, Engine};
use crate::server::error::ProtocolError;
use crate::server::sink::MessageSink;

/// A call that may run.
pub(super) struct PlannedCall {
    pub(super) id: Box<RawValue>,
    pub(super) request: CallRequest,
    pub(super) caller: Caller,
    pub(super) session: Option<Arc<Session>>,
}

/// A call that has its answer.
pub(super) struct AnsweredCall {
    pub(super) message: Vec<u8>,
    pub(super) is_bad_request: bool,
    pub(super) counted: CountedCall,
}

impl AnsweredCall {
    /// The answer as a body of its own.
    pub(super) fn into_response(self) -> FrontendResponse {
        let Self { message, is_bad_request, counted } = self;
        let status = if is_bad_request { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        FrontendResponse::json(status, message).with_call(&counted)
    }
}

/// A call with everything that it needs, so that it can go on without its connection.
pub(super) struct CallTask {
    engine: Arc<Engine>,
    host: Arc<Host>,
    planned: PlannedCall,
    context: ToolContext,
    /// Set where the client calls again with answers.
    asking: Option<Asking>,
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
            Answer::new(StatusCode::SERVICE_UNAVAILABLE, answer::error(Some(&planned.id), &error))
        };
        let counted = request.count_call(planned.request.call.name.clone()).map_err(refused)?;
        let context = planned.request.context(request.trace());
        let mut context = context.with_typed(request.memory_budget().clone());
        let session = planned.session.as_ref().map(|session| &session.name);
        if let Some(caller) = session.or(request.key_name()) {
            context = context.with_caller(caller.clone());
        }
        context = planned.request.recorded(context, request.journal(), request.key_name());
        let mut asking = None;
        if planned.caller.revision.is_stateless() {
            let taken_up = planned.request.asking(engine, request.key_name());
            let taken_up = taken_up.map_err(|error| Answer::ok(answer::error(Some(&planned.id), &error)))?;
            context = context.with_respondent(taken_up.collector.clone());
            asking = Some(taken_up);
        }
        Ok(Self {
            engine: engine.clone(),
            host: request.host().clone(),
            context,
            asking,
            planned,
            counted,
            cut_off: request.cut_off(),
            _body: body,
        })
    }

    /// Runs the call and returns its answer.
    pub(super) async fn run(self, sink: Option<&dyn MessageSink>) -> AnsweredCall {
        let Self { engine, host, planned, context, asking, mut counted, cut_off, _body } = self;
        let PlannedCall { id, request: CallRequest { call, progress_token, .. }, caller, session } = planned;
        let _in_flight = session.map(|session| session.calls.enter(&id, context.cancellation().clone()));
        let progress = match (&progress_token, sink) {
            (Some(token), Some(sink)) => Some(ProgressReport { token, sink }),
            _ => None,
        };
        let frame = CallFrame { engine: &engine, host: &host, caller, id: &id };
        let FinishedCall { message, error, is_bad_request } = tokio::select! {
            // The call first: one that is ready at once does not register for the signal.
            biased;
            finished = call::run(frame, call, &context, progress, asking) => finished,
            () = cut_off.cancelled() => call::stopped(frame),
        };
        counted.finish(error);
        AnsweredCall { message, is_bad_request, counted }
    }

    /// Runs the call and sends its progress and its answer: as events, or where there is nothing but the answer, as a body.
    pub(super) async fn stream(mut self, sink: LazyEvents, ends_with_client: bool) {
        let sink = Arc::new(sink);
        if let Some(session) = self.planned.session.as_ref().filter(|session| session.can_ask) {
            let elicitor = Elicitor { sink: sink.clone(), questions: session.questions.clone() };
            self.context = std::mem::take(&mut self.context).with_respondent(elicitor);
        }
        let run = async {
            let AnsweredCall { message, is_bad_request, counted } = self.run(Some(&*sink)).await;
            let respond = |message| AnsweredCall { message, is_bad_request, counted }.into_response();
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
