use super::*;
use opentool::chat::provider::Ollama;
use opentool::chat::testing::ScriptedModel;

mod weather {
    use std::sync::Arc;

    use opentool::prelude::*;
    use schemars::JsonSchema;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    pub struct WeatherRequest {
        /// The name of a city or a country.
        pub location: String,
    }

    pub const CURRENT_WEATHER_TOOL: &str = "current_weather";

    pub fn find_tool(name: &str) -> Option<Arc<dyn Tool>> {
        let tool = match name {
            CURRENT_WEATHER_TOOL => FnTool::new(name, |request: WeatherRequest| format!("30 °C in {}", request.location))
                .description("Get the weather in location"),
            _ => return None,
        };
        tool.build().ok()
    }
}

use weather::{CURRENT_WEATHER_TOOL, find_tool};

fn script() -> ScriptedModel {
    calling("current_weather", r#"{"location": "Copenhagen"}"#, "It is warm in Copenhagen.").1
}

#[tokio::test]
async fn a_request_names_its_tools() -> Tested {
    let script = script();
    let provider = script.clone();
    let chat_model = ChatModel::builder(provider).resolver(find_tool).build();

    ChatClient::new(chat_model)
        .prompt("What's the weather like in Copenhagen?")
        .tool_names([CURRENT_WEATHER_TOOL])
        .call()
        .await?;

    assert_eq!(tool_text(&script), "30 °C in Copenhagen");
    Ok(())
}

#[tokio::test]
async fn a_client_names_its_default_tools() -> Tested {
    let script = script();
    let chat_model = ChatModel::builder(script.clone()).resolver(find_tool).build();

    let chat_client = ChatClient::builder(chat_model)
        .default_tool_names([CURRENT_WEATHER_TOOL])
        .build();

    chat_client.prompt("What's the weather like in Copenhagen?").call().await?;
    assert_eq!(tool_text(&script), "30 °C in Copenhagen");
    Ok(())
}

#[tokio::test]
async fn a_request_of_a_model_names_its_tools() -> Tested {
    let script = script();
    let chat_model = ChatModel::builder(script.clone()).resolver(find_tool).build();

    let options = ChatOptions::new().with_tool_names([CURRENT_WEATHER_TOOL]);
    let prompt = Prompt::new("What's the weather like in Copenhagen?").with_options(options);
    chat_model.call(prompt).await?;

    assert_eq!(tool_text(&script), "30 °C in Copenhagen");
    Ok(())
}

#[test]
fn a_model_names_its_default_tools() -> Tested {
    let chat_model = ChatModel::builder(Ollama::from_env()?)
        .resolver(find_tool)
        .default_options(ChatOptions::new().with_tool_names([CURRENT_WEATHER_TOOL]))
        .build();
    assert_eq!(chat_model.default_options().tool_names.as_deref(), Some(&[CURRENT_WEATHER_TOOL.to_owned()][..]));
    Ok(())
}

#[tokio::test]
async fn resolvers_are_asked_in_order() -> Tested {

    let script = script();
    let provider = script.clone();
    let tools = Toolbox::from_tools([FnTool::new("ping", || "pong")])?;

    let resolver = Chain::new().then(tools).then(find_tool);
    let chat_model = ChatModel::builder(provider).resolver(resolver).build();

    ChatClient::new(chat_model.clone()).prompt("Weather?").tool_names(["ping", CURRENT_WEATHER_TOOL]).call().await?;
    assert_eq!(script.requests()[0].tools, ["ping", CURRENT_WEATHER_TOOL]);
    let error = ChatClient::new(chat_model).prompt("Weather?").tool_names(["pong"]).call().await.unwrap_err();
    assert!(error.to_string().contains("`pong`"), "{error}");
    assert_eq!(script.requests().len(), 2, "the model was not asked");
    Ok(())
}
