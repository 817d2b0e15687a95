//! A question to the user, in the middle of a call.

use opentool::{ToolContext, ToolError, UserAnswer, tool};
use serde_json::{Value, json};

/// Ask the user a question and return the answer.
#[tool(read_only, output_name = "answer")]
pub(super) async fn ask_user(
    /// The question.
    #[schemars(length(min = 1, max = 2_000))]
    question: String,
    /// The answers to choose from; any text will do where there are none.
    choices: Option<Vec<String>>,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let answer = match choices.filter(|choices| !choices.is_empty()) {
        Some(choices) => json!({ "type": "string", "title": "Answer", "enum": choices }),
        None => json!({ "type": "string", "title": "Answer", "minLength": 1 }),
    };
    let schema = json!({ "type": "object", "properties": { "answer": answer }, "required": ["answer"] });
    match context.ask(question, schema).await? {
        UserAnswer::Accepted(mut values) => match values.remove("answer") {
            Some(Value::String(text)) => Ok(text),
            _ => Err(ToolError::failed("the answer has no text")),
        },
        UserAnswer::Declined => Err(ToolError::failed("the user declined to answer")),
        _ => Err(ToolError::failed("the user closed the question without an answer")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use opentool::{Executor, Question, ToolCall};

    use super::*;

    /// What the tool answers where the user does.
    async fn asked(arguments: Value, answer: UserAnswer) -> (String, Value) {
        let schema = std::sync::Arc::new(std::sync::Mutex::new(Value::Null));
        let seen = schema.clone();
        let context = ToolContext::new().with_respondent(move |question: Question| {
            *seen.lock().unwrap() = question.schema;
            let answer = answer.clone();
            async move { Ok::<_, ToolError>(answer) }
        });
        let call = ToolCall::new("1", "ask_user", arguments.to_string());
        let outcome = Executor::new().host(ask_user::tool()).run(call, &context).await;
        let text = outcome.result.map_or_else(|error| error.message().to_owned(), |output| output.to_text());
        let schema = schema.lock().unwrap()["properties"]["answer"].clone();
        (text, schema)
    }

    #[tokio::test]
    async fn the_user_answers_freely_or_chooses() {
        let answer = |text: &str| UserAnswer::Accepted(json!({ "answer": text }).as_object().cloned().unwrap());
        let (text, schema) = asked(json!({ "question": "Who?" }), answer("Ann")).await;
        assert_eq!((text.as_str(), &schema["minLength"]), ("Ann", &json!(1)));
        let (text, schema) = asked(json!({ "question": "Which?", "choices": ["a", "b"] }), answer("b")).await;
        assert_eq!((text.as_str(), &schema["enum"]), ("b", &json!(["a", "b"])));
        let (text, _) = asked(json!({ "question": "Which?", "choices": ["a", "b"] }), answer("c")).await;
        assert!(text.contains("the answer cannot be used"), "{text}");
        let (text, _) = asked(json!({ "question": "Who?" }), UserAnswer::Declined).await;
        assert_eq!(text, "the user declined to answer");
    }
}
