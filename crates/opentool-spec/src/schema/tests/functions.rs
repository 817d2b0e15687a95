//! Functions of documents to JSON Schema and back.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use indexmap::IndexMap;
use proptest::prelude::*;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use super::{any_schema, normalised};
use crate::schema::{Imported, NormaliseError, SchemaTool, functions_from_schemas, normalise_output};
use crate::{Function, Info, OpenTool, Parameter, Return, Schema, SchemaType, Severity};

fn document(value: Value) -> OpenTool {
    serde_json::from_value(value).unwrap()
}

fn input_schema(function: &Function, schemas: Option<&IndexMap<String, Schema>>) -> Result<Value, NormaliseError> {
    document_of(function, schemas).input_schema(function)
}

fn output_schema(
    function: &Function,
    schemas: Option<&IndexMap<String, Schema>>,
) -> Result<Option<Value>, NormaliseError> {
    document_of(function, schemas).output_schema(function)
}

fn document_of(function: &Function, schemas: Option<&IndexMap<String, Schema>>) -> OpenTool {
    let mut document = OpenTool::new(Info::new("t", "1")).function(function.clone());
    document.schemas = schemas.cloned();
    document
}

fn imported(input: &Value) -> Imported {
    functions_from_schemas([SchemaTool::new("f", "Does it.", input)]).unwrap()
}

fn back(imported: &Imported) -> Value {
    input_schema(&imported.functions[0], Some(&imported.schemas)).unwrap()
}

fn lines(imported: &Imported) -> Vec<String> {
    imported.dropped.iter().map(ToString::to_string).collect()
}

#[test]
fn a_function_schema_has_only_the_definitions_it_uses() {
    let document = document(json!({
        "opentool": "1.1.0",
        "info": { "title": "t", "version": "1" },
        "functions": [{
            "name": "order",
            "description": "Order something.",
            "parameters": [
                { "name": "what", "description": "The thing.", "schema": { "$ref": "#/schemas/Thing" }, "required": true },
                { "name": "size", "schema": { "type": "integer", "enum": ["1", "2", 3, "x"], "description": "How big." }, "required": false },
                { "name": "share", "description": "wins", "schema": { "type": "number", "description": "loses", "minimum": 0, "maximum": 1, "default": 0.5, "format": null } },
                { "name": "gift", "schema": { "type": "boolean", "enum": ["true"] }, "required": true },
                { "name": "tags", "schema": { "type": "object", "properties": {}, "additionalProperties": { "$ref": "#/components/schemas/a~1b" } }, "required": true },
                { "name": "deep", "schema": { "$ref": "#/schemas/Thing/properties/parts/items" }, "required": true },
            ],
            "return": { "name": "price", "description": "In cents.", "schema": { "$ref": "#/definitions/Money" } },
        }],
        "schemas": {
            "Unused": { "type": "string" },
            "Money": { "type": "integer", "minimum": 0 },
            "a/b": { "type": "string" },
            "Thing": { "type": "object", "properties": { "parts": { "type": "array", "items": { "$ref": "#/schemas/Thing" } }, "price": { "$ref": "#/schemas/Money" } }, "required": ["price"] },
        },
    }));
    let function = &document.functions[0];
    insta::assert_json_snapshot!(input_schema(function, document.schemas.as_ref()).unwrap());
    assert_eq!(
        output_schema(function, document.schemas.as_ref()).unwrap().unwrap(),
        json!({ "type": "integer", "description": "In cents.", "minimum": 0 })
    );
}

#[test]
fn a_bare_function_has_an_empty_input_and_no_output() {
    let function = Function::new("f", "d");
    let empty = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    assert_eq!(input_schema(&function, None).unwrap(), empty);
    assert_eq!(output_schema(&function, None).unwrap(), None);
}

#[test]
fn the_type_of_an_untyped_schema_follows_from_its_members() {
    let schema = |value: Value| {
        let parameter = Parameter::new("x", serde_json::from_value(value).unwrap());
        input_schema(&Function::new("f", "d").parameter(parameter), None).unwrap()["properties"]["x"].take()
    };
    assert_eq!(schema(json!({ "properties": { "a": { "type": "string" } } }))["type"], "object");
    assert_eq!(schema(json!({ "items": { "type": "string" } }))["type"], "array");
    assert_eq!(schema(json!({})), json!({}));
}

#[test]
fn a_reference_may_lead_into_another_function() {
    let document = OpenTool::new(Info::new("t", "1"))
        .function(Function::new("f", "d").parameter(Parameter::new("x", Schema::array(Schema::string()))))
        .function(
            Function::new("g", "d")
                .parameter(Parameter::new("y", Schema::reference("#/functions/0/parameters/0/schema/items"))),
        );
    let schema = document.input_schema(&document.functions[1]).unwrap();
    assert_eq!(schema["$defs"], json!({ "functions_0_parameters_0_schema_items": { "type": "string" } }));
    assert_eq!(schema["properties"]["y"], json!({ "$ref": "#/$defs/functions_0_parameters_0_schema_items" }));
}

#[test]
fn a_document_of_imported_functions_needs_no_fixing() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        /// Where.
        point: Point,
        colour: Option<Plain>,
        tree: Tree,
        labels: HashMap<String, Point>,
        waits: Vec<Duration>,
    }
    let (input, output) = (schema_for!(Arguments).to_value(), schema_for!(Vec<Tree>).to_value());
    let imported = functions_from_schemas([SchemaTool::new("f", "d", &input).output("trees", &output)]).unwrap();
    let text = serde_json::to_string_pretty(&imported.into_document(Info::new("t", "1"))).unwrap();
    let report = crate::check(&text);
    let grave: Vec<_> = report.findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
    assert!(grave.is_empty(), "{grave:#?}\n{text}");
}

#[test]
fn a_reference_out_of_the_document_is_refused() {
    for reference in ["#/schemas/Missing", "https://example.com/x", "#/info", "Missing"] {
        let function = Function::new("f", "d").parameter(Parameter::new("x", Schema::reference(reference)));
        let error = input_schema(&function, Some(&IndexMap::new())).unwrap_err();
        assert_eq!(error, NormaliseError::Unresolved { reference: reference.to_owned() });
    }
}

#[test]
fn definitions_of_a_doubling_chain_are_written_once_each() {
    let mut schemas = IndexMap::new();
    for step in 0..50 {
        let next = Schema::reference(format!("#/schemas/S{}", step + 1));
        schemas.insert(format!("S{step}"), Schema::object().property("a", next.clone()).property("b", next));
    }
    schemas.insert("S50".to_owned(), Schema::string());
    let function = Function::new("f", "d").parameter(Parameter::new("x", Schema::reference("#/schemas/S0")));
    let schema = input_schema(&function, Some(&schemas)).unwrap();
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 51);
    assert!(schema.to_string().len() < 10_000);
}

#[derive(JsonSchema)]
#[allow(dead_code)]
enum Plain {
    Red,
    Green,
}

/// With words.
#[derive(JsonSchema)]
#[allow(dead_code)]
enum Documented {
    /// The first.
    One,
    /// The second.
    Two,
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Point {
    /// Across.
    x: f64,
    y: f64,
    label: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code)]
struct Closed {
    a: u8,
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Tree {
    value: Option<i32>,
    children: Vec<Tree>,
}

macro_rules! signatures {
    ($($name:ident { $($(#[$meta:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        #[test]
        fn $name() {
            #[derive(JsonSchema)]
            #[allow(dead_code)]
            struct Arguments { $($(#[$meta])* $field: $type),* }
            let schema = normalised(schema_for!(Arguments).to_value());
            let imported = imported(&schema);
            assert_eq!(lines(&imported), [] as [String; 0]);
            assert_eq!(back(&imported).to_string(), schema.to_string());
            let text = serde_json::to_string(&imported.functions[0]).unwrap();
            let read: Function = serde_json::from_str(&text).unwrap();
            assert_eq!(input_schema(&read, Some(&imported.schemas)).unwrap().to_string(), schema.to_string());
        }
    )*};
}

mod these_arguments_survive_a_document_exactly {
    use super::*;

    signatures! {
        none {}
        scalars { a: bool, b: String, c: f64, d: f32, e: char }
        integers { a: i8, b: u8, c: i32, d: u32, e: i64, f: u64, g: usize, h: isize, i: u128 }
        bounded { #[schemars(range(min = 1, max = 10))] a: i32, #[schemars(length(min = 1, max = 5))] b: String }
        optionals { a: Option<i32>, b: Option<String>, c: Option<Plain>, d: Option<Point>, e: Option<Vec<u8>> }
        defaults { #[serde(default)] a: u8, #[serde(default)] b: String, #[serde(default)] c: Option<u8> }
        descriptions {
            /// The first.
            a: i32,
            /// The second.
            b: Option<Point>,
        }
        plain_enum { a: Plain }
        documented_enum { a: Documented, b: Option<Documented> }
        nested_struct { a: Point, b: Closed }
        lists { a: Vec<String>, b: Vec<Vec<u8>>, c: Vec<Point>, d: [u8; 3], e: std::collections::BTreeSet<String> }
        maps { a: HashMap<String, i32>, b: BTreeMap<String, Point>, c: HashMap<String, Vec<Plain>>, d: HashMap<String, Value> }
        recursive { a: Tree, b: Option<Box<Tree>> }
        duration { a: Duration, b: Option<Duration> }
        awkward_names { r#type: String, title: String, required: bool, items: Vec<u8>, properties: Point }
        pattern_and_format { #[schemars(regex(pattern = "^a"))] a: String, #[schemars(email)] b: String }
    }
}

#[test]
fn a_recursive_root_survives_a_document_exactly() {
    let schema = normalised(schema_for!(Tree).to_value());
    assert_eq!(back(&imported(&schema)).to_string(), schema.to_string());
}

#[test]
fn an_output_survives_a_document_exactly() {
    for output in [
        schema_for!(Vec<Point>).to_value(),
        schema_for!(Documented).to_value(),
        schema_for!(Tree).to_value(),
        schema_for!(String).to_value(),
    ] {
        let mut output = output;
        normalise_output(&mut output).unwrap();
        let input = json!({});
        let imported = functions_from_schemas([SchemaTool::new("f", "d", &input).output("result", &output)]).unwrap();
        assert_eq!(lines(&imported), [] as [String; 0]);
        assert_eq!(imported.functions[0].returns.as_ref().unwrap().name, "result");
        let again = output_schema(&imported.functions[0], Some(&imported.schemas)).unwrap().unwrap();
        assert_eq!(again.to_string(), output.to_string());
    }
}

#[test]
fn no_value_is_no_return() {
    let (input, output) = (json!({}), schema_for!(()).to_value());
    let imported = functions_from_schemas([SchemaTool::new("f", "d", &input).output("result", &output)]).unwrap();
    assert_eq!(imported.functions[0].returns, None);
}

#[test]
fn what_a_document_cannot_express_is_dropped_and_reported() {
    let input = normalised(json!({
        "type": "object",
        "properties": {
            "union": { "oneOf": [{ "type": "string" }, { "type": "integer" }] },
            "objects": { "oneOf": [{ "type": "object", "required": ["a"] }, { "type": "object", "required": ["b"] }] },
            "nullable": { "anyOf": [{ "type": "string", "maxLength": 3 }, { "type": "null" }], "description": "kept" },
            "types": { "type": ["null", "integer", "string"] },
            "free": {},
            "nothing": { "type": "null" },
            "list": { "type": "array" },
            "pair": { "type": "array", "prefixItems": [{ "type": "string" }] },
            "not": { "type": "string", "not": { "enum": ["x"] } },
            "choice": { "type": ["string", "null"], "enum": ["a", null] },
            "remote": { "$ref": "https://example.com/x" },
            "never": false,
            "vendor": { "type": "string", "markdown": "x", "x-kept": [1] },
            "map": { "type": "object", "patternProperties": { "^a": { "type": "string" } } },
        },
        "required": ["union", "objects", "nullable", "types", "free", "nothing", "list", "pair", "not", "choice", "remote", "never", "vendor", "map"],
        "minProperties": 1,
    }));
    let imported = imported(&input);
    insta::assert_json_snapshot!("dropped_functions", imported.functions);
    insta::assert_json_snapshot!("dropped_report", lines(&imported));
    let again = back(&imported);
    assert_eq!(lines(&super::functions::imported(&again)), [] as [String; 0]);
}

#[test]
fn functions_share_equal_schemas_and_number_the_others() {
    let part = |kind: &str| {
        normalised(json!({ "properties": { "x": { "$ref": "#/$defs/T" } }, "$defs": { "T": { "type": kind } } }))
    };
    let (a, b, c) = (part("string"), part("string"), part("integer"));
    let imported = functions_from_schemas([
        SchemaTool::new("a", "d", &a),
        SchemaTool::new("b", "d", &b),
        SchemaTool::new("c", "d", &c),
    ])
    .unwrap();
    let references: Vec<_> =
        imported.functions.iter().map(|function| function.parameters[0].schema.reference.clone().unwrap()).collect();
    assert_eq!(references, ["#/schemas/T", "#/schemas/T", "#/schemas/T2"]);
    assert_eq!(imported.schemas.keys().collect::<Vec<_>>(), ["T", "T2"]);
    assert_eq!(imported.schemas["T2"], Schema::integer());
}

#[test]
fn sharing_definitions_of_ten_thousand_tools_is_not_quadratic() {
    let start = std::time::Instant::now();
    let input = |index: usize| {
        let own = json!({ "type": "string", "maxLength": index });
        let tree = json!({ "type": "object", "properties": { "left": { "$ref": "#/$defs/Tree" } } });
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/Tree" }, "b": { "$ref": "#/$defs/Own" } }, "$defs": { "Own": own, "Tree": tree } })
    };
    let inputs: Vec<_> = (0..10_000).map(input).collect();
    let imported = functions_from_schemas(inputs.iter().map(|input| SchemaTool::new("f", "d", input))).unwrap();
    assert_eq!(imported.functions.len(), 10_000);
    assert_eq!(imported.schemas.len(), 10_001);
    assert!(imported.schemas.contains_key("Own10000"));
    assert!(start.elapsed().as_secs() < 20, "took {:?}", start.elapsed());
}

#[test]
fn an_input_that_is_no_object_is_refused() {
    let input = json!({ "type": "string" });
    let error = functions_from_schemas([SchemaTool::new("f", "d", &input)]).unwrap_err();
    assert_eq!(error.to_string(), "schema root is not an object but of type string");
}

/// Every schema of the strict form has a type or a reference, an object its properties, an array its items.
fn assert_complete(schema: &Schema) {
    assert!(schema.schema_type.is_some() || schema.reference.is_some(), "{schema:?}");
    assert_eq!(schema.schema_type == Some(SchemaType::Array), schema.items.is_some(), "{schema:?}");
    assert!(schema.schema_type != Some(SchemaType::Object) || schema.properties.is_some(), "{schema:?}");
    schema.properties.iter().flatten().for_each(|(_, property)| assert_complete(property));
    schema.items.iter().for_each(|items| assert_complete(items));
}

fn document_schema() -> impl Strategy<Value = Schema> {
    let leaf = prop_oneof![
        prop::sample::select(SchemaType::ALL.to_vec()).prop_map(Schema::new),
        prop::sample::select(vec!["A", "B", "B/properties/x"])
            .prop_map(|name| Schema::reference(format!("#/schemas/{name}"))),
        Just(Schema::integer().one_of(["1", "2"])),
        Just(Schema::default()),
        prop::sample::select(vec![
            json!({ "type": "number", "minimum": 1, "default": null }),
            json!({ "type": "string", "anyOf": [{ "$ref": "#/schemas/A" }] }),
            json!({ "type": "object", "additionalProperties": { "$ref": "#/schemas/B" } })
        ])
        .prop_map(|value| serde_json::from_value(value).unwrap()),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(Schema::array),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| Schema::object().property("x", a).optional_property("y", b)),
            inner.prop_map(|schema| schema.described("some words")),
        ]
    })
}

proptest! {
    #[test]
    fn function_to_schema_to_function_to_schema_is_stable(
        parameters in prop::collection::vec((document_schema(), any::<bool>()), 0..4),
        returned in prop::option::of(document_schema()),
        a in document_schema(),
        x in document_schema(),
    ) {
        let schemas = IndexMap::from([("A".to_owned(), a), ("B".to_owned(), Schema::object().property("x", x))]);
        let mut function = Function::new("f", "d");
        for (index, (schema, required)) in parameters.into_iter().enumerate() {
            let mut parameter = Parameter::new(format!("p{index}"), schema);
            parameter.required = required;
            function = function.parameter(parameter);
        }
        function.returns = returned.map(|schema| Return::new("result", schema));

        let input = input_schema(&function, Some(&schemas)).unwrap();
        let output = output_schema(&function, Some(&schemas)).unwrap();
        let mut tool = SchemaTool::new("f", "d", &input);
        tool.output = output.as_ref().map(|output| ("result", output));
        let once = functions_from_schemas([tool]).unwrap();
        once.functions[0].parameters.iter().for_each(|parameter| assert_complete(&parameter.schema));
        once.schemas.values().for_each(assert_complete);

        let input = input_schema(&once.functions[0], Some(&once.schemas)).unwrap();
        let output = output_schema(&once.functions[0], Some(&once.schemas)).unwrap();
        let mut tool = SchemaTool::new("f", "d", &input);
        tool.output = output.as_ref().map(|output| ("result", output));
        let twice = functions_from_schemas([tool]).unwrap();
        prop_assert_eq!(&twice.functions, &once.functions);
        prop_assert_eq!(&twice.schemas, &once.schemas);
        prop_assert_eq!(lines(&twice), Vec::<String>::new());
        prop_assert_eq!(input_schema(&twice.functions[0], Some(&twice.schemas)).unwrap().to_string(), input.to_string());
    }

    #[test]
    fn any_schema_becomes_a_complete_function_whose_schema_is_stable(input in any_schema::schema()) {
        if let Ok(once) = functions_from_schemas([SchemaTool::new("f", "d", &input)]) {
            once.functions[0].parameters.iter().for_each(|parameter| assert_complete(&parameter.schema));
            once.schemas.values().for_each(assert_complete);
            let schema = back(&once);
            let again = back(&imported(&schema));
            prop_assert_eq!(again.to_string(), schema.to_string());
        }
    }
}

#[test]
fn a_union_with_null_is_carried_as_x_nullable_and_comes_back() {
    let input = json!({
        "type": "object",
        "properties": {
            "field": { "type": ["string", "null"] },
            "choice": { "type": ["string", "null"], "enum": ["a", null] },
            "any": { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }], "description": "kept" },
            "shared": { "anyOf": [{ "$ref": "#/$defs/Part" }, { "type": "null" }] },
            "again": { "$ref": "#/$defs/Part" },
            "list": { "type": "array", "items": { "type": ["string", "null"] } },
            "openapi": { "type": "string", "nullable": true },
            "strict": { "type": "string" },
        },
        "required": ["choice"],
        "additionalProperties": false,
        "$defs": { "Part": { "type": "object", "properties": { "a": { "type": ["integer", "null"] } } } },
    });
    let imported = functions_from_schemas([SchemaTool::new("patch", "Change it.", &input)]).unwrap();
    assert_eq!(imported.dropped, []);
    let document = imported.into_document(Info::new("Records", "1.0.0"));
    let nullable = |name: &str| {
        let parameter = document.functions[0].parameters.iter().find(|parameter| parameter.name == name);
        parameter.unwrap().schema.extra.get(Schema::NULLABLE) == Some(&json!(true))
    };
    for (name, expected) in
        [("field", true), ("choice", true), ("any", true), ("shared", true), ("openapi", true), ("strict", false)]
    {
        assert_eq!(nullable(name), expected, "{name}");
    }
    let back = document.input_schema(&document.functions[0]).unwrap();
    let properties = &back["properties"];
    assert_eq!(properties["field"], json!({ "type": ["string", "null"] }));
    assert_eq!(properties["choice"], json!({ "type": ["string", "null"], "enum": ["a", null] }));
    assert_eq!(properties["any"], json!({ "type": ["integer", "null"], "description": "kept", "minimum": 1 }));
    assert_eq!(properties["shared"], json!({ "anyOf": [{ "$ref": "#/$defs/Part" }, { "type": "null" }] }));
    assert_eq!(properties["list"]["items"], json!({ "type": ["string", "null"] }));
    assert_eq!(properties["openapi"], json!({ "type": ["string", "null"] }));
    assert_eq!(properties["strict"], json!({ "type": "string" }));
    assert_eq!(back["$defs"]["Part"]["properties"]["a"], json!({ "type": ["integer", "null"] }));

    let strict = document.to_strict().document;
    let shared = &strict.input_schema(&strict.functions[0]).unwrap()["properties"]["shared"];
    assert_eq!(shared["type"], json!(["object", "null"]), "an inlined reference stays nullable");
}

#[test]
fn null_is_not_added_where_the_schema_does_not_admit_it() {
    let input = json!({
        "type": "object",
        "properties": {
            "narrow": { "type": ["string", "null"], "enum": ["a"] },
            "other": { "type": "string", "x-nullable": false },
            "not_null": { "type": "string", "nullable": false },
        },
    });
    let imported = functions_from_schemas([SchemaTool::new("f", "d", &input)]).unwrap();
    for parameter in &imported.functions[0].parameters {
        assert_ne!(parameter.schema.extra.get(Schema::NULLABLE), Some(&json!(true)), "{}", parameter.name);
    }
}

#[test]
fn a_list_of_types_in_a_document_keeps_its_null() {
    let text = r#"{"opentool":"1.1.0","info":{"title":"Records","version":"1.0.0"},"functions":[
        {"name":"patch","description":"Change it.","parameters":[
            {"name":"field","schema":{"type":["null","string"]},"required":false},
            {"name":"other","schema":{"type":["integer","string"],"description":"no null"},"required":false}]}]}"#;
    let document = OpenTool::read(text).document.unwrap();
    let schema = document.input_schema(&document.functions[0]).unwrap();
    assert_eq!(schema["properties"]["field"], json!({ "type": ["string", "null"] }));
    assert_eq!(schema["properties"]["other"]["type"], "integer");
}

#[test]
fn null_is_added_once_to_a_list_of_types() {
    for kinds in [json!(["string", "integer", "null"]), json!(["string", "integer"])] {
        let mut schema = json!({ "type": kinds, "enum": ["a", 1], "x-nullable": true });
        crate::schema::nullable::unmark(&mut schema);
        assert_eq!(schema, json!({ "type": ["string", "integer", "null"], "enum": ["a", 1, null] }));
    }
}
