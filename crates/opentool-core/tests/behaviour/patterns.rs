//! Patterns of schemas that come from elsewhere cannot keep a processor busy.

use opentool_core::*;
use opentool_spec::{Function, Info, OpenTool, Parameter, Schema};
use serde_json::{Value, json};

fn definition(schema: Value) -> Result<ToolDefinition, DefinitionError> {
    ToolDefinition::builder("f").input_schema(schema).build()
}

fn refusal(schema: Value) -> String {
    definition(schema).unwrap_err().to_string()
}

#[test]
fn a_pattern_that_needs_backtracking_is_refused_with_its_pointer() {
    let backtracks = r"^(?=(a+)+$)\w+$";
    for (schema, pointer) in [
        (
            json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": backtracks } } }),
            "/properties/a/pattern",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "items": { "anyOf": [{}, { "pattern": r"(a)\1" }] } } } }),
            "/properties/a/items/anyOf/1/pattern",
        ),
        (json!({ "type": "object", "propertyNames": { "pattern": backtracks } }), "/propertyNames/pattern"),
    ] {
        let refusal = refusal(schema);
        assert!(
            refusal.starts_with(&format!("input schema of tool `f`: invalid input schema at {pointer}: the pattern")),
            "{refusal}"
        );
        assert!(refusal.contains("has look-around or a back reference"), "{refusal}");
    }
    let names = json!({ "type": "object", "patternProperties": { backtracks: {} } });
    let refusal = refusal(names);
    assert!(refusal.contains("invalid input schema at /patternProperties/"), "{refusal}");
}

#[test]
fn a_document_with_a_pattern_that_needs_backtracking_is_refused() {
    let mut schema = Schema::string();
    schema.extra.insert("pattern".to_owned(), json!("^(?!.*no).*$"));
    let document = OpenTool::new(Info::new("Evil", "1.0.0"))
        .function(Function::new("look", "Look.").parameter(Parameter::new("name", schema)));
    let error = ToolDefinition::from_function(&document, &document.functions[0]).unwrap_err().to_string();
    assert!(error.contains("/properties/name/pattern") && error.contains("look-around"), "{error}");
}

#[test]
fn a_pattern_takes_bounded_work_whatever_the_text() {
    let schema = json!({
        "type": "object",
        "properties": {
            "nested": { "type": "string", "pattern": "^(a+)+$" },
            "many_states": { "type": "array", "items": { "type": "string", "pattern": "[ab]*a[ab]{500}c" } },
        },
    });
    let checker = ArgumentChecker::compile(&schema).unwrap();
    let check = |arguments: Value| checker.check(&arguments.to_string(), Strictness::Lenient).map(|_| ());
    let nested = check(json!({ "nested": format!("{}b", "a".repeat(32 << 10)) })).unwrap_err();
    assert!(nested.to_string().starts_with("/nested: expected text that matches the pattern ^(a+)+$"), "{nested}");
    assert!(check(json!({ "nested": "a".repeat(32 << 10) })).is_ok());

    let mut state = 1_u64;
    let letters = (0..32 << 10).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 63 == 0 { 'a' } else { 'b' }
    });
    let text: String = letters.collect();
    let hard = check(json!({ "many_states": [text] })).unwrap_err().to_string();
    let expected = "/many_states/0: matching the pattern [ab]*a[ab]{500}c takes too much work; expected a shorter text, got string";
    assert!(hard.starts_with(expected), "{hard}");
    // A call that comes after it has a budget of its own.
    assert!(check(json!({ "many_states": ["ab"] })).unwrap_err().to_string().contains("expected text that matches"));
}

#[tokio::test]
async fn a_pattern_of_the_program_itself_may_look_around() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Login {
        #[schemars(regex(pattern = r"^(?=.*[0-9])(?=.*[a-z]).+$"))]
        password: String,
    }
    let tools = Toolbox::new().with(FnTool::new("log_in", |login: Login| login.password)).unwrap();
    let host = Executor::builder().assert_formats(true).build().host(tools);
    assert!(host.call("log_in", r#"{"password":"abc1"}"#).await.is_ok());
    assert!(host.call("log_in", r#"{"password":"abc"}"#).await.is_err());

    let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(?!no)" } } });
    let own = ToolDefinition::builder("f").input_schema(schema).backtracking_patterns(true).build().unwrap();
    assert!(own.checker().check(r#"{"a":"no"}"#, Strictness::Lenient).is_err());
    assert!(own.checker().check(r#"{"a":"yes"}"#, Strictness::Lenient).is_ok());
    assert!(own.to_builder().name("g").build().is_ok());
}

#[test]
fn the_patterns_of_results_are_bounded_too() {
    let schema = json!({ "type": "string", "pattern": "(?=a)" });
    let builder = || ToolDefinition::builder("f").output_schema(schema.clone()).check_results(true);
    let error = builder().build().unwrap_err().to_string();
    assert!(error.contains("look-around"), "{error}");
    assert!(builder().backtracking_patterns(true).build().is_ok());
}
