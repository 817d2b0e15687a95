//! What only Gemini does.

use opentool_chat::{
    AssistantMessage, ChatOptions, FinishReason, Media, Message, ModelRequest, ReasoningEffort, ToolAnswer,
    ToolDefinitions, ToolMessage,
};
use opentool_core::ToolCall;
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::support::{Wire, ask_both};

const WIRE: Wire = Wire::Gemini;

async fn sent(messages: &[Message], options: &ChatOptions) -> (String, Value) {
    let server = Server::start([WIRE.whole("Hi")]).await;
    let tools = ToolDefinitions::default();
    WIRE.provider(&server.url()).call(ModelRequest::new(messages, options, &tools)).await.unwrap();
    let seen = server.only_request();
    (seen.line().to_owned(), seen.json())
}

#[tokio::test]
async fn the_second_generation_counts_thinking_in_tokens() {
    for (effort, budget) in [
        (ReasoningEffort::None, 0),
        (ReasoningEffort::Minimal, 512),
        (ReasoningEffort::Medium, 8192),
        (ReasoningEffort::Max, 24_576),
    ] {
        let options = ChatOptions::new().with_model("gemini-2.5-flash").with_reasoning_effort(effort);
        let (line, body) = sent(&[Message::user("Hello?")], &options).await;
        assert_eq!(line, "POST /v1beta/models/gemini-2.5-flash:generateContent");
        let expected = json!({ "thinkingBudget": budget, "includeThoughts": budget != 0 });
        assert_eq!(body["generationConfig"]["thinkingConfig"], expected, "{effort}");
    }
}

#[tokio::test]
async fn the_second_generation_gets_media_beside_the_answer_of_a_tool() {
    let call = AssistantMessage::new("").with_tool_calls(vec![ToolCall::new("a", "camera", "{}")]);
    let answer = ToolAnswer::new("a", "camera", "[image/png, 3 bytes]")
        .with_media(vec![Media::from_base64("image/png", "YWJj").unwrap()]);
    let messages = [Message::user("Look."), call.into(), ToolMessage::new(vec![answer]).into()];
    let image = json!({ "inlineData": { "mimeType": "image/png", "data": "YWJj" } });
    let response = json!({ "id": "a", "name": "camera", "response": { "result": "[image/png, 3 bytes]" } });
    let (_, body) = sent(&messages, &ChatOptions::new().with_model("models/gemini-2.0-flash")).await;
    assert_eq!(body["contents"][2]["parts"], json!([{ "functionResponse": response }, image]));
    let (_, body) = sent(&messages, &ChatOptions::new().with_model("gemini-3-pro")).await;
    assert_eq!(body["contents"][2]["parts"][0]["functionResponse"]["parts"], json!([image]));
}

#[tokio::test]
async fn the_user_s_generation_config_is_merged_and_wins() {
    let theirs = json!({ "temperature": 0.9, "topK": 3 });
    let options = ChatOptions::new().with_temperature(0.1).with_max_tokens(7).with_extra("generationConfig", theirs);
    let (_, body) = sent(&[Message::user("Hello?")], &options).await;
    assert_eq!(body["generationConfig"], json!({ "temperature": 0.9, "maxOutputTokens": 7, "topK": 3 }));
}

#[tokio::test]
async fn finish_reasons_are_mapped_and_may_be_missing() {
    for (reason, expected) in [
        (json!("STOP"), FinishReason::Stop),
        (json!("MAX_TOKENS"), FinishReason::Length),
        (json!("SAFETY"), FinishReason::ContentFilter),
        (json!("PROHIBITED_CONTENT"), FinishReason::ContentFilter),
        (json!("MALFORMED_FUNCTION_CALL"), FinishReason::Other("malformed_function_call".to_owned())),
        (Value::Null, FinishReason::Stop),
    ] {
        let answer = json!({ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] }, "finishReason": reason }] });
        let server = Server::start([Reply::json(200, &answer.to_string())]).await;
        for response in ask_both(&*WIRE.provider(&server.url())).await {
            assert_eq!(response.unwrap().finish_reason(), Some(&expected), "{reason}");
        }
    }
}
