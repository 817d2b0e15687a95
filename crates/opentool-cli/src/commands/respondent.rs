//! Answers to the questions of tools, from the user at the terminal.

use std::{future::pending, sync::Arc};

use opentool::{BoxFuture, Question, Respondent, ToolError, UserAnswer};
use serde_json::Map;
use tokio::sync::Mutex;

use super::{
    console::{Console, Line},
    form::Form,
};
use crate::{
    failure::Failure,
    terminal::{WARNING, visible},
};

/// What happens at Ctrl-C, where that ends more than the question.
pub(super) type OnInterrupt = Box<dyn Fn() + Send + Sync>;

/// Answers the questions of tools at a console; where there is no terminal, with an error that says so.
pub(super) fn at(console: &Arc<Console>, on_interrupt: Option<OnInterrupt>) -> impl Respondent {
    TerminalRespondent { console: console.clone(), on_interrupt, open: Mutex::new(()) }
}

/// The user at the terminal.
struct TerminalRespondent {
    console: Arc<Console>,
    on_interrupt: Option<OnInterrupt>,
    /// Held while a question is open, so that the values of two are not mixed.
    open: Mutex<()>,
}

impl Respondent for TerminalRespondent {
    fn respond(&self, question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        Box::pin(async move {
            if !self.console.is_interactive() {
                let message = format!(
                    "the tool asks \"{}\", and there is no terminal at which the user could answer",
                    question.message
                );
                return Err(ToolError::unavailable(message).with_retryable(false));
            }
            let _open = self.open.lock().await;
            let answer = self.ask(&question).await;
            match answer.map_err(|failure| ToolError::unavailable(failure.to_string()))? {
                Some(answer) => Ok(answer),
                None => match &self.on_interrupt {
                    Some(interrupt) => {
                        interrupt();
                        // The call is cancelled with its turn.
                        pending().await
                    }
                    None => Ok(UserAnswer::Dismissed),
                },
            }
        })
    }
}

impl TerminalRespondent {
    /// Asks for each value; none where Ctrl-C was pressed.
    async fn ask(&self, question: &Question) -> Result<Option<UserAnswer>, Failure> {
        let message: Vec<_> = question.message.lines().map(|line| visible(line).into_owned()).collect();
        let mut heading = format!(
            "{WARNING}the tool asks{WARNING:#}: {}\nCtrl-D declines to answer, Ctrl-C cancels",
            message.join("\n  ")
        );
        let form = Form::new(&question.schema);
        if form.fields.is_empty() {
            return self.confirm(heading).await;
        }
        let mut values = Map::new();
        for field in form.fields {
            let mut introduction = field.introduction();
            loop {
                let shown = [std::mem::take(&mut heading), std::mem::take(&mut introduction)];
                let shown: Vec<_> = shown.into_iter().filter(|text| !text.is_empty()).collect();
                match self.console.ask(shown.join("\n"), field.prompt()).await? {
                    Line::Interrupted => return Ok(None),
                    Line::End => return Ok(Some(UserAnswer::Declined)),
                    Line::Text(typed) => match field.read(&typed) {
                        Ok(Some(value)) => {
                            values.insert(field.name.clone(), value);
                            break;
                        }
                        Ok(None) => break,
                        Err(problem) => introduction = problem,
                    },
                }
            }
        }
        Ok(Some(UserAnswer::Accepted(values)))
    }

    /// Asks about a question without values.
    async fn confirm(&self, heading: String) -> Result<Option<UserAnswer>, Failure> {
        Ok(match self.console.ask(heading, "yes or no [N]: ").await? {
            Line::Interrupted => None,
            Line::Text(typed) if matches!(typed.trim().to_lowercase().as_str(), "y" | "yes") => {
                Some(UserAnswer::Accepted(Map::new()))
            }
            Line::Text(_) | Line::End => Some(UserAnswer::Declined),
        })
    }
}
