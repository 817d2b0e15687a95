use super::*;
use opentool::chat::provider::Ollama;

mod weather {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Copy)]
    pub struct WeatherService;

    impl WeatherService {
        pub fn current(&self, request: WeatherRequest) -> WeatherResponse {
            let _ = request.location;
            WeatherResponse { temp: 30.0, unit: request.unit }
        }
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    pub enum Unit {
        C,
        F,
    }

    #[derive(Deserialize, JsonSchema)]
    pub struct WeatherRequest {
        /// The name of a city or a country.
        pub location: String,
        pub unit: Unit,
    }

    #[derive(Serialize, JsonSchema)]
    pub struct WeatherResponse {
        pub temp: f64,
        pub unit: Unit,
    }
}

use weather::{WeatherRequest, WeatherService};

fn model() -> (ChatModel, ScriptedModel) {
    calling("current_weather", r#"{"location": "Copenhagen", "unit": "C"}"#, "It is 30 °C in Copenhagen.")
}

#[expect(clippy::let_and_return, reason = "the binding is part of the sample")]
fn tool() -> FnTool {
    let service = WeatherService;
    let tool = FnTool::new("current_weather", move |request: WeatherRequest| service.current(request))
        .description("Get the weather in location");
    tool
}

#[tokio::test]
async fn a_closure_is_a_tool_of_a_request() -> Tested {
    let (chat_model, script) = model();
    let tool = tool();
    ChatClient::new(chat_model)
        .prompt("What's the weather like in Copenhagen?")
        .tools(tool)
        .call()
        .await?;
    assert_eq!(tool_text(&script), r#"{"temp":30.0,"unit":"C"}"#);
    Ok(())
}

#[tokio::test]
async fn a_closure_is_a_default_tool_of_a_client() -> Tested {
    let (chat_model, script) = model();
    let tool = tool();
    let chat_client = ChatClient::builder(chat_model)
        .default_tools(tool)
        .build();
    chat_client.prompt("What's the weather like in Copenhagen?").call().await?;
    assert_eq!(tool_text(&script), r#"{"temp":30.0,"unit":"C"}"#);
    Ok(())
}

#[tokio::test]
async fn a_closure_is_a_tool_of_a_models_request() -> Tested {
    let (chat_model, script) = model();
    let tool = tool();
    let options = ChatOptions::new().with_tools(tool);
    let prompt = Prompt::new("What's the weather like in Copenhagen?").with_options(options);
    chat_model.call(prompt).await?;
    assert_eq!(tool_text(&script), r#"{"temp":30.0,"unit":"C"}"#);
    Ok(())
}

#[test]
fn a_closure_is_a_default_tool_of_a_model() -> Tested {
    let tool = tool();
    let chat_model = ChatModel::builder(Ollama::from_env()?)
        .default_options(ChatOptions::new().with_tools(tool))
        .build();
    assert!(chat_model.default_options().tools.is_some());
    Ok(())
}

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub struct Note {
    pub text: String,
}

#[tokio::test]
async fn closures_have_many_shapes() -> Tested {
    // Supplier, Consumer, BiFunction with the context, and all of them async or fallible.
    let tools = Toolbox::from_tools([
        FnTool::new("version", || "1.0").inline(),
        FnTool::new("log", |note: Note| println!("{}", note.text)),
        FnTool::new("tenant", |context: ToolContext| context.get("tenant").cloned()),
        FnTool::new("shout", |note: Note, _context: ToolContext| async move { note.text.to_uppercase() }),
        FnTool::fallible("size", |note: Note| async move { Ok(std::fs::metadata(note.text)?.len()) }),
    ])?;

    assert_eq!(tools.len(), 5);
    let host = Executor::new().host(tools);
    assert_eq!(host.call("shout", r#"{"text": "hey"}"#).await?.to_text(), "HEY");
    Ok(())
}
