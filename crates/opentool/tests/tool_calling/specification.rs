use super::*;
use opentool::{BoxFuture, Invocation, input_schema};
use serde_json::json;

pub struct Ping {
    definition: ToolDefinition,
    metadata: ToolMetadata,
}

impl Tool for Ping {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(ToolOutput::text(format!("pong for {}", invocation.context.tool_name()))) })
    }
}

#[tokio::test]
async fn a_tool_can_be_written_from_scratch() -> Tested {
    let ping = Ping { definition: ToolDefinition::builder("ping").build()?, metadata: ToolMetadata::default() };
    assert_eq!(Executor::new().host(ping).call("ping", "").await?.to_text(), "pong for ping");
    Ok(())
}

#[test]
fn a_definition_can_be_built() -> Tested {
    let definition = ToolDefinition::builder("current_weather")
        .description("Get the weather in location")
        .input_schema(json!({
            "type": "object",
            "properties": {
                "location": { "type": "string" },
                "unit": { "type": "string", "enum": ["C", "F"] }
            },
            "required": ["location", "unit"]
        }))
        .build()?;
    assert_eq!(definition.name(), "current_weather");
    Ok(())
}

mod declared {
    use jiff::{Zoned, civil::DateTime};
    use opentool::prelude::*;

    /// Get the current date and time in the user's time zone.
    #[tool]
    pub fn current_date_time() -> String {
        Zoned::now().to_string()
    }

    /// Set a user alarm for the given time.
    #[tool]
    pub fn set_alarm(
        /// Time in ISO-8601 format.
        time: DateTime,
    ) {
        println!("Alarm set for {time}");
    }

    /// Update customer information.
    #[tool]
    pub fn update_customer_info(id: u64, name: &str, email: Option<&str>) {
        println!("Updated info for customer with id: {id} ({name}, {email:?})");
    }
}

#[test]
fn the_definition_of_a_function_is_there_without_a_call() -> Tested {
    use declared::current_date_time;
    let definition = current_date_time::definition()?;
    assert_eq!(definition.description(), "Get the current date and time in the user's time zone.");
    Ok(())
}

#[test]
fn a_definition_can_be_changed() -> Tested {
    use declared::set_alarm;
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Alarm {
        time: jiff::civil::DateTime,
    }

    let tool = set_alarm::tool()
        .name("alarm")
        .description("Ring at a given time")
        .input_schema(input_schema::<Alarm>()?);

    let tool = tool.build()?;
    assert_eq!((tool.definition().name(), tool.definition().description()), ("alarm", "Ring at a given time"));
    Ok(())
}

#[test]
fn parameters_are_described_and_required_unless_they_are_optional() -> Tested {
    let schema = declared::set_alarm::definition()?.input_schema().clone();
    assert_eq!(schema["properties"]["time"]["description"], "Time in ISO-8601 format.");
    let schema = declared::update_customer_info::definition()?.input_schema().clone();
    assert_eq!(schema["required"], json!(["id", "name"]));
    Ok(())
}

mod customers {
    use opentool::prelude::*;
    use schemars::JsonSchema;
    use serde::Serialize;

    use super::Shouting;

    #[derive(Serialize, JsonSchema)]
    pub struct Customer {
        pub id: u64,
        pub name: String,
    }

    pub struct CustomerTools;

    #[toolbox]
    impl CustomerTools {
        /// Retrieve customer information.
        #[tool(converter = Shouting)]
        fn customer_info(&self, id: u64) -> Customer {
            Customer { id, name: "Ann".to_owned() }
        }

        /// Retrieve customer information for the user to read.
        #[tool(return_direct)]
        fn show_customer(&self, id: u64) -> Customer {
            Customer { id, name: "Ann".to_owned() }
        }
    }
}

pub struct Shouting;

impl ResultConverter for Shouting {
    fn convert(&self, output: ToolOutput) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(output.to_text().to_uppercase()))
    }
}

#[tokio::test]
async fn a_result_is_converted_for_the_model() -> Tested {
    use customers::CustomerTools;
    let host = Executor::new().host(CustomerTools);
    assert_eq!(host.call("customer_info", r#"{"id": 42}"#).await?.to_text(), r#"{"ID":42,"NAME":"ANN"}"#);

    let tool = FnTool::new("version", || "v1").converter(Shouting);
    assert_eq!(Executor::new().host(tool).call("version", "").await?.to_text(), "V1");
    let executor = Executor::builder().converter(Shouting).build();
    assert_eq!(executor.host(FnTool::new("version", || "v1")).call("version", "").await?.to_text(), "V1");
    Ok(())
}

#[tokio::test]
async fn a_result_goes_to_the_caller_instead_of_the_model() -> Tested {
    use customers::CustomerTools;
    let script = ScriptedModel::new([Reply::call("show_customer", r#"{"id": 42}"#)]);
    let response = ChatClient::new(script.clone()).prompt("Show me customer 42").tools(CustomerTools).call().await?;
    assert_eq!(response.text(), r#"{"id":42,"name":"Ann"}"#);
    assert_eq!(script.requests().len(), 1);

    let metadata = ToolMetadata::default().with_return_direct(true);
    let tool = FnTool::new("version", || "v1").metadata(metadata);
    assert!(tool.build()?.metadata().is_return_direct());
    Ok(())
}
