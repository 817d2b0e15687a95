//! There are four ways to make a tool: a function, a method, a closure, an entry of a document. Where a document can say what
//! a signature says, all four give the same definition.

use std::collections::HashMap;

use opentool_core::spec::OpenTool;
use opentool_core::{Arguments, DeclaredTools, FnTool, ToolDefinition, Toolbox, tool, toolbox};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::definition;

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

/// Where a person lives.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Address {
    /// With the number.
    street: String,
    country: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    label: String,
    children: Vec<Tree>,
}

/// Writes the first three ways for each signature, so that only the way differs.
macro_rules! three_ways {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident($($(#[$parameter_attribute:meta])* $parameter:ident: $type:ty),* $(,)?) $(-> $result:ty)?
            = $description:literal, $document:expr;
    )+) => {
        struct Methods;

        #[toolbox]
        impl Methods {$(
            #[doc = $description]
            #[tool(output_name = "result")]
            $(#[$attribute])*
            fn $name(&self, $($(#[$parameter_attribute])* $parameter: $type),*) $(-> $result)? {
                $(let _ = $parameter;)*
                unreachable!("only the definition is wanted")
            }
        )+}

        $(
            #[test]
            fn $name() {
                #[doc = $description]
                #[tool(output_name = "result")]
                $(#[$attribute])*
                fn $name($($(#[$parameter_attribute])* $parameter: $type),*) $(-> $result)? {
                    $(let _ = $parameter;)*
                    unreachable!("only the definition is wanted")
                }

                #[derive(Deserialize, JsonSchema)]
                struct Input {
                    $($(#[$parameter_attribute])* $parameter: $type,)*
                }

                let closure = FnTool::new(stringify!($name), |_: Input| ())
                    .description($description)
                    .output_name("result");
                $(let closure = closure.output::<$result>();)?

                let expected = from_document($document);
                assert_eq!(expected.name(), stringify!($name));
                assert_eq!($name::definition().unwrap(), expected, "function");
                let methods = Methods::definitions().unwrap();
                let method = methods.iter().find(|method| method.name() == stringify!($name)).unwrap();
                assert_eq!(method, &expected, "method");
                assert_eq!(definition(closure), expected, "closure");
            }
        )+
    };
}

fn from_document(document: Value) -> ToolDefinition {
    let document: OpenTool = serde_json::from_value(document).unwrap();
    let toolbox = Toolbox::from_document(&document, |definition| {
        FnTool::new("", |_: Arguments| ()).definition(definition).output_name("result")
    });
    toolbox.unwrap().iter().next().unwrap().definition().clone()
}

fn document(function: Value) -> Value {
    json!({
        "opentool": "1.1.0",
        "info": {"title": "Roads", "version": "1.0.0"},
        "functions": [function],
        "schemas": {
            "Address": {
                "type": "object",
                "description": "Where a person lives.",
                "properties": {
                    "street": {"type": "string", "description": "With the number."},
                    "country": {"type": "string"},
                },
                "required": ["street"],
            },
            "Colour": {"type": "string", "enum": ["red", "green"]},
            "Tree": {
                "type": "object",
                "properties": {
                    "label": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/schemas/Tree"}},
                },
                "required": ["label", "children"],
            },
        },
    })
}

three_ways! {
    fn nothing() = "Do nothing.", document(json!({
        "name": "nothing", "description": "Do nothing.", "parameters": [],
    }));

    fn scalars(
        /// Some words.
        text: String,
        number: f64,
        flag: bool,
        /// May be left out.
        maybe: Option<String>,
    ) -> String = "Take scalars.", document(json!({
        "name": "scalars",
        "description": "Take scalars.",
        "parameters": [
            {"name": "text", "description": "Some words.", "schema": {"type": "string"}, "required": true},
            {"name": "number", "schema": {"type": "number"}, "required": true},
            {"name": "flag", "schema": {"type": "boolean"}, "required": true},
            {"name": "maybe", "description": "May be left out.", "schema": {"type": "string"}, "required": false},
        ],
        "return": {"name": "result", "schema": {"type": "string"}},
    }));

    fn lists(words: Vec<String>, grid: Vec<Vec<f64>>, maybe: Option<Vec<bool>>) -> Vec<f64>
        = "Take lists.", document(json!({
            "name": "lists",
            "description": "Take lists.",
            "parameters": [
                {"name": "words", "schema": {"type": "array", "items": {"type": "string"}}, "required": true},
                {
                    "name": "grid",
                    "schema": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                    "required": true,
                },
                {"name": "maybe", "schema": {"type": "array", "items": {"type": "boolean"}}, "required": false},
            ],
            "return": {"name": "result", "schema": {"type": "array", "items": {"type": "number"}}},
        }));

    fn choices(
        colour: Colour,
        /// Another one.
        other: Option<Colour>,
        many: Vec<Colour>,
    ) -> Colour = "Choose.", document(json!({
        "name": "choices",
        "description": "Choose.",
        "parameters": [
            {"name": "colour", "schema": {"$ref": "#/schemas/Colour"}, "required": true},
            {"name": "other", "description": "Another one.", "schema": {"$ref": "#/schemas/Colour"}, "required": false},
            {
                "name": "many",
                "schema": {"type": "array", "items": {"$ref": "#/schemas/Colour"}},
                "required": true,
            },
        ],
        "return": {"name": "result", "schema": {"type": "string", "enum": ["red", "green"]}},
    }));

    fn objects(
        /// Where from.
        from: Address,
        via: Vec<Address>,
        to: Option<Address>,
    ) = "Travel.", document(json!({
        "name": "objects",
        "description": "Travel.",
        "parameters": [
            {"name": "from", "description": "Where from.", "schema": {"$ref": "#/schemas/Address"}, "required": true},
            {"name": "via", "schema": {"type": "array", "items": {"$ref": "#/schemas/Address"}}, "required": true},
            {"name": "to", "schema": {"$ref": "#/schemas/Address"}, "required": false},
        ],
    }));

    fn numbers(small: u8, by_name: HashMap<String, i16>) -> u8 = "Count.", document(json!({
        "name": "numbers",
        "description": "Count.",
        "parameters": [
            {"name": "small", "schema": {"type": "integer", "minimum": 0, "maximum": 255}, "required": true},
            {
                "name": "by_name",
                "schema": {
                    "type": "object",
                    "additionalProperties": {"type": "integer", "minimum": -32768, "maximum": 32767},
                },
                "required": true,
            },
        ],
        "return": {"name": "result", "schema": {"type": "integer", "minimum": 0, "maximum": 255}},
    }));

    fn recursion(tree: Tree) = "Walk a tree.", document(json!({
        "name": "recursion",
        "description": "Walk a tree.",
        "parameters": [{"name": "tree", "schema": {"$ref": "#/schemas/Tree"}, "required": true}],
    }));
}

#[test]
fn what_a_document_cannot_say_is_reported_and_the_rest_comes_back() {
    #[tool]
    fn rich(pair: (u8, String), word: String) {
        let _ = (pair, word);
    }
    let toolbox = Toolbox::from_tools([rich::tool()]).unwrap();
    let written = toolbox.to_document().unwrap();
    let dropped: Vec<_> = written.dropped.iter().map(ToString::to_string).collect();
    assert!(dropped.iter().any(|reason| reason.contains("prefixItems")), "{dropped:?}");
    let back = from_document(serde_json::to_value(&written.document).unwrap());
    assert_eq!(back.input_schema()["required"], json!(["pair", "word"]));
    assert_eq!(back.input_schema()["properties"]["word"], json!({"type": "string"}));
}
