//! What a definition and a toolbox say besides names and schemas, and that nothing loses it.

use opentool_core::testing::FakeTool;
use opentool_core::{Arguments, FnTool, ToolDefinition, ToolMetadata, Toolbox};
use serde_json::json;

fn definition() -> ToolDefinition {
    ToolDefinition::builder("weather")
        .title("Weather report")
        .description("Tell the weather.")
        .extension("x-icons", json!([{ "src": "sun.png" }]))
        .extension("vendor", 7)
        .output_name("report")
        .output_schema(json!({ "type": "string" }))
        .check_results(true)
        .build()
        .unwrap()
}

#[test]
fn a_definition_made_of_another_says_the_same() {
    let original = definition();
    assert_eq!(original.to_builder().build().unwrap(), original);
    let renamed = original.to_builder().name("forecast").build().unwrap();
    assert_eq!((renamed.name(), renamed.title()), ("forecast", Some("Weather report")));
    assert_eq!(renamed.extension("vendor"), Some(&json!(7)));
    assert!(renamed.checks_results());
    assert_ne!(original.to_builder().title("Other").build().unwrap(), original);
    assert_ne!(original.to_builder().extension("vendor", 8).build().unwrap(), original);
    assert_eq!(original.extension("vendor"), Some(&json!(7)), "the original is as it was");
}

#[test]
fn renamed_and_prefixed_tools_keep_title_and_extensions() {
    let toolbox = Toolbox::new().with(FakeTool::new("weather").with_definition(definition())).unwrap();
    let toolbox = toolbox.rename("weather", "forecast").unwrap().prefix("my_").unwrap();
    let definition = toolbox.get("my_forecast").unwrap().definition();
    assert_eq!(definition.title(), Some("Weather report"));
    assert_eq!(definition.extensions().map(|(key, _)| key).collect::<Vec<_>>(), ["x-icons", "vendor"]);
    assert!(definition.checks_results());
}

#[test]
fn a_document_carries_title_description_and_x_extensions() {
    let toolbox = Toolbox::new()
        .with(
            FakeTool::new("weather")
                .with_definition(definition().to_builder().extension("x-owner", "Ann").build().unwrap()),
        )
        .unwrap()
        .with_title("Sky")
        .with_description("Ask for the weather first.");
    let made = toolbox.to_document().unwrap();
    let function = &made.document.functions[0];
    assert_eq!(function.extra["x-title"], "Weather report");
    assert!(function.extra.contains_key("x-icons") && !function.extra.contains_key("vendor"));
    assert_eq!(made.document.info.description.as_deref(), Some("Ask for the weather first."));

    let strict = made.document.to_strict().document;
    let read = Toolbox::from_document(&strict, |definition| {
        FnTool::new("", |arguments: Arguments| arguments.to_string()).definition(definition)
    })
    .unwrap();
    assert_eq!(read.description(), Some("Ask for the weather first."));
    let definition = read.get("weather").unwrap().definition();
    assert_eq!(definition.title(), Some("Weather report"));
    assert_eq!(definition.extension("x-icons"), Some(&json!([{ "src": "sun.png" }])));
    assert_eq!(definition.extension("x-owner"), Some(&json!("Ann")), "a text is no title");
    assert_eq!(definition.extensions().count(), 2, "the title is no extension");
}

#[test]
fn a_joined_toolbox_takes_a_description_where_it_has_none() {
    let described = || Toolbox::new().with_description("first");
    assert_eq!(Toolbox::new().merge(described()).unwrap().description(), Some("first"));
    let both = described().merge(Toolbox::new().with_description("second")).unwrap();
    assert_eq!(both.description(), Some("first"));
    assert_eq!(described().prefix("a_").unwrap().description(), Some("first"));
}

#[test]
fn hints_have_three_values_and_not_said_is_the_careful_case() {
    let said = ToolMetadata::new();
    assert_eq!((said.read_only(), said.destructive(), said.idempotent(), said.open_world()), (None, None, None, None));
    assert!(!said.is_read_only() && said.is_destructive() && !said.is_idempotent() && said.is_open_world());
    assert!(!said.is_repeatable());

    let no = said.clone().with_read_only(false).with_destructive(false).with_idempotent(false).with_open_world(false);
    assert!(!no.is_read_only() && !no.is_destructive() && !no.is_idempotent() && !no.is_open_world());
    assert_eq!((no.read_only(), no.open_world()), (Some(false), Some(false)));

    let read_only = said.clone().with_read_only(true);
    assert!(!read_only.is_destructive(), "what changes nothing destroys nothing");
    assert!(read_only.is_repeatable() && said.clone().with_idempotent(true).is_repeatable());
    assert!(read_only.with_destructive(true).is_destructive(), "what is said counts");
    assert_eq!(no.with_destructive(None).destructive(), None);
    assert_eq!(said.with_open_world(true).open_world(), Some(true));
}
