use serde_json::json;

use crate::schema::{Target, document_tool_list};
use crate::{Function, Info, OpenTool, Parameter, Return, Schema};

fn document() -> OpenTool {
    OpenTool::new(Info::new("Weather", "1.0.0"))
        .schema("Place", Schema::object().property("city", Schema::string()))
        .function(
            Function::new("forecast", "Tell the weather.")
                .parameter(Parameter::new("place", Schema::reference("#/schemas/Place")).described("Where."))
                .parameter(Parameter::new("days", Schema::integer()).optional())
                .returning(Return::new("sentences", Schema::array(Schema::string()))),
        )
        .function(
            Function::new("remember", "Remember anything.")
                .parameter(Parameter::new("facts", Schema::object()))
                .returning(Return::new("place", Schema::reference("#/schemas/Place"))),
        )
        .function(Function::new("reset", "Forget everything."))
}

#[test]
fn every_target_gets_the_list_it_takes() {
    for target in Target::ALL {
        let list = document_tool_list(&document(), target).unwrap();
        insta::assert_json_snapshot!(format!("list_for_{target}"), list.tools);
        let reported: Vec<_> =
            list.reports.iter().map(|report| (report.name.as_str(), report.obstacles.len())).collect();
        // The properties of `facts` are empty, which no target gets.
        let obstacles = usize::from(target == Target::OpenAiStrict);
        assert_eq!(reported, [("remember", obstacles)], "{target}");
    }
}

#[test]
fn a_function_that_cannot_be_converted_is_named() {
    let document = document()
        .function(Function::new("broken", "d").parameter(Parameter::new("x", Schema::reference("#/schemas/Gone"))));
    let error = document_tool_list(&document, Target::Mcp).unwrap_err();
    assert_eq!(
        error.to_string(),
        r##"function "broken" cannot be converted: schema refers to "#/schemas/Gone", which it does not have"##
    );
}

#[test]
fn targets_are_known_by_their_names() {
    for target in Target::ALL {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
    assert_eq!(
        "cohere".parse::<Target>().unwrap_err().to_string(),
        r#"unknown target "cohere"; it is one of openai, openai-strict, anthropic, gemini, ollama, mcp, json-schema"#
    );
}

#[test]
fn an_mcp_result_that_is_not_an_object_is_wrapped() {
    let list = document_tool_list(&document(), Target::Mcp).unwrap();
    assert_eq!(
        list.tools[0]["outputSchema"],
        json!({ "type": "object", "properties": { "sentences": { "type": "array", "items": { "type": "string" } } }, "required": ["sentences"] })
    );
    assert_eq!(list.tools[1]["outputSchema"]["properties"], json!({ "city": { "type": "string" } }));
    assert_eq!(list.tools[2].get("outputSchema"), None);
}
