//! What is sent, per provider and option.

use opentool_chat::provider::OpenAi;
use opentool_chat::{
    AssistantMessage, ChatOptions, Message, ModelRequest, Provider, ToolAnswer, ToolChoice, ToolDefinitions,
    ToolMessage,
};
use opentool_core::{ErrorKind, FnTool, ToolCall, Toolbox};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::server::Server;
use super::support::{ALL, Wire};

/// Where to look.
#[derive(Deserialize, JsonSchema)]
struct Place {
    /// A city.
    #[expect(dead_code, reason = "only its schema matters here")]
    city: String,
    #[expect(dead_code, reason = "only its schema matters here")]
    days: Option<u8>,
}

fn tools() -> ToolDefinitions {
    let weather = FnTool::new("weather", |_: Place| "sunny").description("What the sky looks like.");
    let now = FnTool::new("now", || "noon").description("What time it is.");
    ToolDefinitions::from_toolbox(Toolbox::new().with(weather).unwrap().with(now).unwrap())
}

/// A conversation with everything in it.
fn conversation() -> Vec<Message> {
    vec![
        Message::system("Be terse."),
        Message::user("Weather in Zürich and Rome?"),
        AssistantMessage::new("Let me see.")
            .with_reasoning("Two calls.")
            .with_provider_data(
                "openai",
                json!({ "reasoning_field": "reasoning_content",
                    "thinking": [{ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vj" }] }),
            )
            .with_provider_data(
                "anthropic",
                json!({ "thinking": [{ "type": "thinking", "thinking": "Two calls.", "signature": "c2ln" }] }),
            )
            .with_provider_data("gcp.gemini", json!({ "call_signatures": { "0": "c2ln" }, "text_signature": "dGV4dA" }))
            .with_tool_calls(vec![
                ToolCall::new("functions.weather:0", "weather", r#"{"city": "Zürich", "days": 3}"#),
                ToolCall::new("b2", "weather", r#"{"city": "Ro"#),
            ])
            .into(),
        ToolMessage::new(vec![
            ToolAnswer::new("functions.weather:0", "weather", "sunny"),
            ToolAnswer::new("b2", "weather", "invalid arguments").with_error(ErrorKind::InvalidArguments),
        ])
        .into(),
        Message::system("Metric units."),
        Message::user("And Rome?"),
        AssistantMessage::new("").with_tool_calls(vec![ToolCall::new("c3", "now", "")]).into(),
        ToolMessage::new(vec![ToolAnswer::new("c3", "now", "noon")]).into(),
    ]
}

/// The head without what differs from run to run, and the body, of the request that this makes.
async fn sent(
    wire: Wire,
    messages: &[Message],
    options: &ChatOptions,
    tools: &ToolDefinitions,
    stream: bool,
) -> (String, Value) {
    let server = Server::start([wire.whole("Hi")]).await;
    let provider = wire.provider(&server.url());
    send(&*provider, ModelRequest::new(messages, options, tools), stream).await;
    let seen = server.seen().remove(0);
    (seen.line().to_owned(), seen.json())
}

async fn send(provider: &dyn Provider, request: ModelRequest<'_>, stream: bool) {
    use futures_util::StreamExt;
    if stream {
        for delta in provider.stream(request).collect::<Vec<_>>().await {
            delta.unwrap();
        }
    } else {
        provider.call(request).await.unwrap();
    }
}

#[tokio::test]
async fn a_conversation_with_everything_in_it() {
    for wire in ALL {
        let (line, body) = sent(wire, &conversation(), &ChatOptions::new(), &tools(), true).await;
        insta::assert_json_snapshot!(format!("conversation_{wire:?}"), json!({ "line": line, "body": body }));
    }
}

#[tokio::test]
async fn a_placeholder_stands_for_a_missing_answer_before_a_question() {
    let call = || AssistantMessage::new("").with_tool_calls(vec![ToolCall::new("a", "now", "{}")]);
    let answer = || Message::from(ToolMessage::new(vec![ToolAnswer::new("a", "now", "noon")]));
    let roles = |messages: Vec<Message>| async move {
        let (_, body) = sent(Wire::OpenAi, &messages, &ChatOptions::new(), &ToolDefinitions::default(), false).await;
        let sent = body["messages"].as_array().unwrap().clone();
        assert!(sent.iter().all(|message| message["role"] != "assistant" || message["content"] != ""), "{body}");
        sent.into_iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let asked = || Message::user("And now?");
    // Strict servers refuse a question right after the answer of a tool.
    let unanswered = roles(vec![Message::user("Time?"), call().into(), answer(), asked()]).await;
    assert_eq!(unanswered, ["user", "assistant", "tool", "assistant", "user"]);
    let answered = roles(vec![Message::user("Time?"), call().into(), answer(), Message::assistant("Noon."), asked()]);
    assert_eq!(answered.await, ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(roles(vec![Message::user("Time?"), call().into(), answer()]).await, ["user", "assistant", "tool"]);
}

#[tokio::test]
async fn large_numbers_in_arguments_go_back_as_they_came() {
    let arguments = r#"{"a": 12345678901234567890123, "b": 1.0}"#;
    let call = AssistantMessage::new("").with_tool_calls(vec![ToolCall::new("a", "add", arguments)]);
    let messages =
        [Message::user("Hello?"), call.into(), ToolMessage::new(vec![ToolAnswer::new("a", "add", "1")]).into()];
    for wire in ALL {
        let server = Server::start([wire.whole("Hi")]).await;
        let (options, tools) = (ChatOptions::new(), ToolDefinitions::default());
        send(&*wire.provider(&server.url()), ModelRequest::new(&messages, &options, &tools), false).await;
        let body = server.seen().remove(0).body;
        assert!(body.replace('\\', "").contains(arguments), "{body}");
    }
}

#[tokio::test]
async fn every_option() {
    let options = ChatOptions::new()
        .with_model("other")
        .with_temperature(0.0)
        .with_max_tokens(99)
        .with_stop(["END"])
        .with_tool_choice(ToolChoice::Required)
        .with_parallel_tool_calls(false)
        .with_extra("seed", 7)
        .with_extra("stream", "nonsense")
        .with_extra("options", json!({ "num_ctx": 8192, "temperature": 0.5 }));
    for wire in ALL {
        let (_, body) = sent(wire, &[Message::user("Hello?")], &options, &tools(), false).await;
        insta::assert_json_snapshot!(format!("options_{wire:?}"), body);
    }
}

#[tokio::test]
async fn every_tool_choice() {
    for wire in ALL {
        let mut choices = Vec::new();
        for choice in [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, ToolChoice::Named("now".to_owned())] {
            let options = ChatOptions::new().with_tool_choice(choice.clone());
            let (_, body) = sent(wire, &[Message::user("Hello?")], &options, &tools(), false).await;
            let declared = body.pointer("/tools/0/functionDeclarations").unwrap_or(&body["tools"]);
            let offered: Vec<_> = declared.as_array().into_iter().flatten().collect();
            let names: Vec<_> =
                offered.iter().map(|tool| tool.pointer("/function/name").unwrap_or(&tool["name"])).collect();
            let sent = body.get("tool_choice").or(body.get("toolConfig"));
            choices.push(json!({ "asked": choice, "sent": sent, "offered": names }));
        }
        insta::assert_json_snapshot!(format!("choices_{wire:?}"), choices);
    }
}

#[tokio::test]
async fn unset_options_and_missing_tools_are_not_sent() {
    let options = ChatOptions::new().with_tool_choice(ToolChoice::Required).with_parallel_tool_calls(true);
    for wire in ALL {
        let (_, body) = sent(wire, &[Message::user("Hello?")], &options, &ToolDefinitions::default(), false).await;
        insta::assert_json_snapshot!(format!("plain_{wire:?}"), body);
    }
}

#[tokio::test]
async fn the_user_s_extra_members_win() {
    let options = ChatOptions::new().with_temperature(0.1).with_extra("temperature", 0.9).with_extra("model", "mine");
    let (_, body) = sent(Wire::OpenAi, &[Message::user("Hello?")], &options, &ToolDefinitions::default(), false).await;
    assert_eq!((&body["temperature"], &body["model"]), (&json!(0.9), &json!("mine")));
}

#[tokio::test]
async fn strict_tools_are_sent_on_request() {
    let server = Server::start([Wire::OpenAi.whole("Hi")]).await;
    let provider = OpenAi::new("tiny").base_url(server.url()).strict(true);
    let (options, messages) = (ChatOptions::new(), [Message::user("Hello?")]);
    send(&provider, ModelRequest::new(&messages, &options, &tools()), false).await;
    let body = server.seen().remove(0).json();
    assert_eq!(body["tools"][0]["function"]["strict"], true);
    assert_eq!(body["tools"][0]["function"]["parameters"]["required"], json!(["city", "days"]));
}

#[tokio::test]
async fn addresses_are_read_leniently() {
    let server = Server::start([Wire::OpenAi.whole("Hi")]).await;
    for (path, line) in [
        ("", "POST /v1/chat/completions"),
        ("/", "POST /v1/chat/completions"),
        ("/v1/", "POST /v1/chat/completions"),
        ("/api/v3", "POST /api/v3/chat/completions"),
    ] {
        let provider = OpenAi::new("tiny").base_url(format!("{}{path}", server.url()));
        super::support::ask(&provider).await.unwrap();
        let seen = server.seen().pop().unwrap();
        assert_eq!((seen.line(), seen.header("authorization")), (line, None));
    }
}
