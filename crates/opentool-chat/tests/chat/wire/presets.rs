//! Servers with OpenAI's interface, by name.

use opentool_chat::provider::{AzureOpenAi, OpenAi, Preset};
use opentool_chat::{ChatOptions, Message, ModelRequest, Provider, ReasoningEffort, ToolDefinitions, TypedAnswers};
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::support::{KEY, Wire, ask, ask_both};

#[tokio::test]
async fn a_preset_is_asked_and_named_in_its_errors() {
    for preset in Preset::ALL {
        let server = Server::start([Wire::OpenAi.whole("Hi"), Reply::json(401, r#"{"error":"who are you?"}"#)]).await;
        let provider = OpenAi::preset(preset, "tiny").base_url(server.url()).api_key(KEY);
        assert_eq!(ask(&provider).await.unwrap().text(), "Hi");
        let error = ask(&provider).await.unwrap_err().to_string();
        assert_eq!(error, format!("{} answered 401: who are you?", provider.name()));
        assert_eq!(server.seen()[0].header("authorization"), Some("Bearer sk-s3cret"));
        assert_eq!(preset.to_string().parse(), Ok(preset));
    }
    let unknown = "acme".parse::<Preset>().unwrap_err().to_string();
    assert!(unknown.starts_with("unknown preset \"acme\"; it is one of groq, openrouter, "), "{unknown}");
}

#[test]
fn the_addresses_and_variables_of_presets() {
    let table: Vec<Value> = Preset::ALL
        .into_iter()
        .map(|preset| {
            let provider = OpenAi::preset(preset, "x");
            let typed: Vec<String> =
                [false, true].map(|with_tools| format!("{:?}", provider.typed_answers(with_tools))).into();
            json!({ "name": preset.as_str(), "provider": provider.name(), "url": preset.base_url(), "server": provider.server(),
                "variables": [preset.key_variable(), preset.url_variable(), preset.model_variable()],
                "typed_answers": typed, "local": preset.is_local() })
        })
        .collect();
    insta::assert_json_snapshot!("presets", table);
}

#[tokio::test]
async fn openrouter_has_its_own_words_for_reasoning() {
    for (options, expected) in [
        (ChatOptions::new().with_reasoning_effort(ReasoningEffort::High), json!({ "effort": "high" })),
        (ChatOptions::new().with_reasoning_budget(900), json!({ "max_tokens": 900 })),
        (ChatOptions::new().with_reasoning_budget(0), json!({ "enabled": false })),
    ] {
        let server = Server::start([Wire::OpenAi.whole("Hi")]).await;
        let provider = OpenAi::preset(Preset::OpenRouter, "tiny").base_url(server.url());
        let tools = ToolDefinitions::default();
        provider.call(ModelRequest::new(&[Message::user("Hello?")], &options, &tools)).await.unwrap();
        let body = server.only_request().json();
        assert_eq!((&body["reasoning"], body.get("reasoning_effort")), (&expected, None));
    }
    assert_eq!(OpenAi::preset(Preset::OpenRouter, "x").typed_answers(true), TypedAnswers::Native);
}

#[tokio::test]
async fn azure_with_a_version_has_the_deployment_in_the_address() {
    let server = Server::start([Wire::Azure.whole("Hi")]).await;
    let azure = AzureOpenAi::new("my dep").base_url(server.url()).api_key(KEY);
    for asked in ask_both(&azure.clone().api_version("2024-10-21")).await {
        assert_eq!(asked.unwrap().text(), "Hi");
    }
    ask(&azure).await.unwrap();
    let seen = server.seen();
    let versioned = "POST /openai/deployments/my%20dep/chat/completions?api-version=2024-10-21";
    let lines: Vec<&str> = seen.iter().map(|request| request.line()).collect();
    assert_eq!(lines, [versioned, versioned, "POST /openai/v1/chat/completions"]);
    assert_eq!(seen[2].json()["model"], "my dep");
    let unset = ask(&AzureOpenAi::new("dep")).await.unwrap_err().to_string();
    assert!(unset.contains("set AZURE_OPENAI_ENDPOINT"), "{unset}");
}

#[tokio::test]
async fn prompt_caching_has_a_switch() {
    use opentool_chat::provider::Anthropic;
    use opentool_core::{FnTool, Toolbox};
    let tools = Toolbox::from_tools([FnTool::new("now", || "noon"), FnTool::new("later", || "six")]).unwrap();
    let tools = ToolDefinitions::from_toolbox(tools);
    let mark = json!({ "type": "ephemeral" });
    for is_on in [true, false] {
        let server = Server::start([Wire::Anthropic.whole("Hi")]).await;
        let provider = Anthropic::new("tiny").base_url(server.url()).prompt_caching(is_on);
        let (options, messages) = (ChatOptions::new(), [Message::system("Be terse."), Message::user("Hello?")]);
        provider.call(ModelRequest::new(&messages, &options, &tools)).await.unwrap();
        let body = server.only_request().json();
        assert_eq!(body["tools"][0].get("cache_control"), None);
        assert_eq!(body["tools"][1].get("cache_control"), is_on.then_some(&mark));
        assert_eq!(body["system"][0].get("cache_control"), is_on.then_some(&mark));
        assert_eq!(body["system"][0]["text"], "Be terse.");
    }
}
