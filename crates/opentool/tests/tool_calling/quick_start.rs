use super::*;

mod information {
    use jiff::Zoned;
    use opentool::prelude::*;

    pub struct DateTimeTools;

    #[toolbox]
    impl DateTimeTools {
        /// Get the current date and time in the user's time zone.
        #[tool]
        fn current_date_time(&self) -> String {
            Zoned::now().to_string()
        }
    }
}

mod action {
    use jiff::{Zoned, civil::DateTime};
    use opentool::prelude::*;

    pub struct DateTimeTools;

    #[toolbox]
    impl DateTimeTools {
        /// Get the current date and time in the user's time zone.
        #[tool]
        fn current_date_time(&self) -> String {
            Zoned::now().to_string()
        }

        /// Set a user alarm for the given time, provided in ISO-8601 format.
        #[tool]
        fn set_alarm(&self, time: DateTime) {
            println!("Alarm set for {time}");
        }
    }
}

#[tokio::test]
async fn a_model_retrieves_information() -> Tested {
    use information::DateTimeTools;
    let (model, script) = calling("current_date_time", "{}", "Tomorrow is 2015-10-21.");

    let response = ChatClient::new(model)
        .prompt("What day is tomorrow?")
        .tools(DateTimeTools)
        .call()
        .await?;

    println!("{response}");

    assert_eq!(response.text(), "Tomorrow is 2015-10-21.");
    assert!(tool_text(&script).parse::<jiff::Zoned>().is_ok());
    Ok(())
}

#[tokio::test]
async fn a_model_takes_action() -> Tested {
    use action::DateTimeTools;
    let script = ScriptedModel::new([
        Reply::call("current_date_time", "{}"),
        Reply::call("set_alarm", r#"{"time": "2015-10-20T10:10:00"}"#),
        Reply::text("The alarm is set."),
    ]);
    let model = ChatModel::new(script.clone());

    let response = ChatClient::new(model)
        .prompt("Can you set an alarm 10 minutes from now?")
        .tools(DateTimeTools)
        .call()
        .await?;

    assert_eq!(response.text(), "The alarm is set.");
    assert_eq!(&*script.requests()[2].messages[4].answers()[0].text, "Done");
    Ok(())
}
