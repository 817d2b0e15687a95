//! How a tool asks the person on whose behalf it was called: [`ToolContext::ask`].

use std::sync::Arc;

use serde_json::Value;

use crate::call_clock::now;
use crate::patterns::PatternEngine;
use crate::question::AttachedRespondent;
use crate::result_check::ResultChecker;
use crate::{Question, Respondent, ToolContext, ToolError, ToolOutput, UserAnswer};

impl ToolContext {
    /// Sets what answers the [questions](Self::ask) of the tools that are called with this context.
    #[must_use]
    pub fn with_respondent(mut self, respondent: impl Respondent) -> Self {
        self.set_respondent(AttachedRespondent::new(Arc::new(respondent)));
        self
    }

    /// Returns this context for calls after which the call that makes them must not start again: questions that would need that
    /// are refused.
    pub(crate) fn never_restarted(self) -> Self {
        if !self.respondent().is_some_and(AttachedRespondent::restarts_call) {
            return self;
        }
        self.with_respondent(|_| async {
            let message =
                "for the answer the caller would have to call again, and what has run so far must not run twice";
            Err(ToolError::failed(message))
        })
    }

    /// Asks the person on whose behalf the tool was called, and waits for the answer, which counts against no deadline.
    ///
    /// The schema is that of an object. Some callers get the question as the answer to their call and call again with the
    /// answer, so that the tool runs from its start: ask before anything that has an effect, and ask the same questions in the
    /// same order. See [`Respondent`].
    ///
    /// # Errors
    ///
    /// Where there is no way to ask anybody, and where the answer does not fit the schema.
    pub async fn ask(&self, message: impl Into<String>, schema: Value) -> Result<UserAnswer, ToolError> {
        self.ask_question(Question::new(message, schema)).await
    }

    /// Asks a question that has a name: [`ask`](Self::ask).
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask).
    pub async fn ask_question(&self, question: Question) -> Result<UserAnswer, ToolError> {
        let Some(respondent) = self.respondent() else {
            let message = "the tool has a question, and this caller has no way to answer it";
            return Err(ToolError::unavailable(message).with_retryable(false));
        };
        let checker = ResultChecker::compile(&question.schema, PatternEngine::Bounded).map_err(|reason| {
            ToolError::failed("the tool's question cannot be asked").with_detail(format!("its schema: {reason}"))
        })?;
        let answer = respondent.ask(question, now).await?;
        if let UserAnswer::Accepted(content) = &answer {
            checker
                .check(&ToolOutput::json(content)?)
                .map_err(|error| ToolError::failed(format!("the answer cannot be used: {error}")))?;
        }
        Ok(answer)
    }
}
