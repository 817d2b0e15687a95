use super::*;
use opentool::chat::provider::Ollama;

mod declared {
    use jiff::{Zoned, civil::DateTime};
    use opentool::prelude::*;

    pub struct DateTimeTools;

    #[toolbox]
    impl DateTimeTools {
        #[tool(description = "Get the current date and time in the user's time zone")]
        fn current_date_time(&self) -> String {
            Zoned::now().to_string()
        }

        /// Set a user alarm for the given time.
        #[tool]
        fn set_alarm(
            &self,
            /// Time in ISO-8601 format.
            time: DateTime,
        ) {
            println!("Alarm set for {time}");
        }
    }
}

mod plain {
    use jiff::Zoned;
    use jiff::civil::DateTime;
    use schemars::JsonSchema;
    use serde::Deserialize;

    pub struct DateTimeTools;

    impl DateTimeTools {
        pub fn current_date_time(&self) -> String {
            Zoned::now().to_string()
        }

        pub fn set_alarm(&self, alarm: Alarm) {
            println!("Alarm set for {}", alarm.time);
        }
    }

    #[derive(Deserialize, JsonSchema)]
    pub struct Alarm {
        /// Time in ISO-8601 format.
        pub time: DateTime,
    }
}

mod associated {
    use jiff::Zoned;

    pub struct DateTimeTools;

    impl DateTimeTools {
        pub fn current_date_time() -> String {
            Zoned::now().to_string()
        }
    }
}

use declared::DateTimeTools;

fn model() -> (ChatModel, ScriptedModel) {
    calling("current_date_time", "{}", "Tomorrow is 2015-10-21.")
}

#[tokio::test]
async fn tools_are_given_to_a_request() -> Tested {
    let (chat_model, script) = model();
    ChatClient::new(chat_model)
        .prompt("What day is tomorrow?")
        .tools(DateTimeTools)
        .call()
        .await?;
    assert_eq!(script.requests()[0].tools, ["current_date_time", "set_alarm"]);

    let date_time_tools: Toolbox = DateTimeTools.into_toolbox()?;
    assert_eq!(date_time_tools.len(), 2);
    Ok(())
}

#[tokio::test]
async fn tools_are_the_default_of_a_client() -> Tested {
    let (chat_model, script) = model();
    let chat_client = ChatClient::builder(chat_model)
        .default_tools(DateTimeTools)
        .build();
    chat_client.prompt("What day is tomorrow?").call().await?;
    assert_eq!(script.requests()[0].tools, ["current_date_time", "set_alarm"]);
    Ok(())
}

#[tokio::test]
async fn tools_are_given_to_a_model() -> Tested {
    let (chat_model, script) = model();
    let options = ChatOptions::new().with_tools(DateTimeTools);
    let prompt = Prompt::new("What day is tomorrow?").with_options(options);
    chat_model.call(prompt).await?;
    assert_eq!(script.requests()[0].tools, ["current_date_time", "set_alarm"]);
    Ok(())
}

#[test]
fn tools_are_the_default_of_a_model() -> Tested {
    let chat_model = ChatModel::builder(Ollama::from_env()?)
        .default_options(ChatOptions::new().with_tools(DateTimeTools))
        .build();
    assert!(chat_model.default_options().tools.is_some());
    Ok(())
}

#[tokio::test]
async fn a_method_becomes_a_tool_at_run_time() -> Tested {
    use plain::{Alarm, DateTimeTools};
    use std::sync::Arc;

    let clock = Arc::new(DateTimeTools);
    let alarm_clock = clock.clone();
    let tools = Toolbox::from_tools([
        FnTool::new("current_date_time", move || clock.current_date_time())
            .description("Get the current date and time in the user's time zone"),
        FnTool::new("set_alarm", move |alarm: Alarm| alarm_clock.set_alarm(alarm))
            .description("Set a user alarm for the given time"),
    ])?;

    let schema = tools.get("set_alarm").unwrap().definition().input_schema();
    assert_eq!(schema["properties"]["time"]["description"], "Time in ISO-8601 format.");
    let (chat_model, script) = model();
    ChatClient::new(chat_model).prompt("What day is tomorrow?").tools(tools).call().await?;
    assert!(tool_text(&script).parse::<jiff::Zoned>().is_ok());
    Ok(())
}

#[tokio::test]
async fn a_function_without_a_receiver_becomes_a_tool() -> Tested {
    use associated::DateTimeTools;
    let tool = FnTool::new("current_date_time", DateTimeTools::current_date_time)
        .description("Get the current date and time in the user's time zone");

    let (chat_model, script) = model();
    ChatClient::new(chat_model)
        .prompt("What day is tomorrow?")
        .tools(tool)
        .call()
        .await?;
    assert!(tool_text(&script).parse::<jiff::Zoned>().is_ok());
    Ok(())
}
