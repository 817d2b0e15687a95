use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use opentool_core::{ErrorKind, ToolContext, ToolOutput, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{call, definition, json, property, required};

#[test]
fn a_parameter_is_described_by_its_comment_or_by_the_attribute() {
    #[tool]
    fn search(
        /// What to look for.
        query: String,
        /// Not this.
        #[param(description = "At most so many.")]
        limit: u8,
        undescribed: bool,
    ) -> (String, u8, bool) {
        (query, limit, undescribed)
    }
    let known = search::definition().unwrap();
    assert_eq!(property(&known, "query")["description"], "What to look for.");
    assert_eq!(property(&known, "limit")["description"], "At most so many.");
    assert_eq!(property(&known, "undescribed"), json!({"type": "boolean"}));
}

#[test]
fn fields_of_a_nested_struct_are_described_and_required() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is wanted")]
    struct Address {
        /// With the number.
        street: String,
        #[schemars(description = "Five digits.")]
        zip: String,
        country: Option<String>,
        #[serde(default)]
        floor: u8,
        #[serde(rename = "careOf")]
        care_of: Option<String>,
    }
    #[tool]
    fn deliver(to: Address) {
        drop(to);
    }
    let known = deliver::definition().unwrap();
    let text = known.input_schema().to_string();
    let address = &known.input_schema()["$defs"]["Address"];
    let address = if address.is_null() { &known.input_schema()["properties"]["to"] } else { address };
    assert_eq!(address["properties"]["street"]["description"], "With the number.", "{text}");
    assert_eq!(address["properties"]["zip"]["description"], "Five digits.");
    assert_eq!(address["required"], json!(["street", "zip"]));
    assert_eq!(address["properties"]["careOf"], json!({"type": "string"}));
}

#[tokio::test]
async fn an_option_is_not_required_and_null_is_as_if_absent() {
    #[tool]
    fn greet(name: Option<String>, title: Option<&str>) -> String {
        format!("{name:?} {title:?}")
    }
    let known = greet::definition().unwrap();
    assert_eq!(required(&known), [""; 0]);
    assert_eq!(property(&known, "name"), json!({"type": "string"}), "no union with null");
    assert_eq!(property(&known, "title"), json!({"type": "string"}));

    for arguments in [json!({}), json!({"name": null}), json!({"name": null, "title": null}), json!(null)] {
        assert_eq!(call(greet::tool(), arguments).await.unwrap(), ToolOutput::text("None None"));
    }
    let both = call(greet::tool(), json!({"name": "Ada", "title": "Dr \"A\""})).await.unwrap();
    assert_eq!(both, ToolOutput::text(r#"Some("Ada") Some("Dr \"A\"")"#));
}

#[tokio::test]
async fn required_follows_attribute_default_schemars_and_option() {
    #[tool]
    #[expect(clippy::too_many_arguments, reason = "one of each")]
    fn many(
        plain: u8,
        option: Option<u8>,
        #[param(required)] option_required: Option<u8>,
        #[param(required = true)] plain_required: u8,
        #[param(required = false)] plain_optional: u8,
        #[param(default = 7)] with_default: u8,
        #[serde(default)] serde_default: Vec<u8>,
        #[schemars(required)] schemars_required: Option<u8>,
    ) -> Value {
        json!([
            plain,
            option,
            option_required,
            plain_required,
            plain_optional,
            with_default,
            serde_default,
            schemars_required
        ])
    }
    let known = many::definition().unwrap();
    assert_eq!(required(&known), ["plain", "option_required", "plain_required", "schemars_required"]);
    assert_eq!(property(&known, "option_required")["type"], "integer", "a required option has a value");
    assert_eq!(property(&known, "with_default")["default"], 7);

    let arguments = json!({"plain": 1, "option_required": 4, "plain_required": 2, "schemars_required": 3});
    let output = call(many::tool(), arguments).await.unwrap();
    assert_eq!(json(output), json!([1, null, 4, 2, 0, 7, [], 3]));

    for missing in [
        json!({"plain": 1, "plain_required": 2, "schemars_required": 3}),
        json!({"plain": 1, "option_required": null, "plain_required": 2, "schemars_required": 3}),
    ] {
        let error = call(many::tool(), missing).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    }
}

#[tokio::test]
async fn a_default_is_published_and_used_when_left_out() {
    fn far() -> f64 {
        1e3
    }
    #[tool]
    fn near(
        #[param(default = "here")] place: &str,
        #[param(default = "km")] unit: String,
        #[param(default = far())] radius: f64,
        #[param(default = Some(3))] limit: Option<u8>,
    ) -> String {
        format!("{place} {radius}{unit} {limit:?}")
    }
    let known = near::definition().unwrap();
    assert_eq!(required(&known), [""; 0]);
    assert_eq!(property(&known, "place")["default"], "here");
    assert_eq!(property(&known, "unit")["default"], "km");
    assert_eq!(property(&known, "radius")["default"], 1000.0);
    assert_eq!(call(near::tool(), json!({})).await.unwrap(), ToolOutput::text("here 1000km Some(3)"));
    let given = json!({"place": "there", "unit": "m", "radius": 5, "limit": 1});
    assert_eq!(call(near::tool(), given).await.unwrap(), ToolOutput::text("there 5m Some(1)"));
}

#[tokio::test]
async fn parameters_take_what_serde_and_schemars_offer_for_fields() {
    #[tool]
    fn page(
        #[param(name = "pageNumber")] page_number: u32,
        #[serde(rename = "pageSize")]
        #[schemars(range(min = 1, max = 100))]
        page_size: u32,
        #[schemars(length(max = 5), regex(pattern = "^[a-z]+$"))] tag: String,
        r#type: bool,
    ) -> Value {
        json!([page_number, page_size, tag, r#type])
    }
    let known = page::definition().unwrap();
    assert_eq!(required(&known), ["pageNumber", "pageSize", "tag", "type"]);
    assert_eq!(property(&known, "pageSize")["maximum"], 100);
    assert_eq!(property(&known, "tag")["maxLength"], 5);
    let good = json!({"pageNumber": 1, "pageSize": 2, "tag": "ab", "type": true});
    assert_eq!(json(call(page::tool(), good).await.unwrap()), json!([1, 2, "ab", true]));
    let bad = json!({"pageNumber": 1, "pageSize": 101, "tag": "ab", "type": true});
    let error = call(page::tool(), bad).await.unwrap_err();
    assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/pageSize");
}

#[tokio::test]
async fn what_the_compile_errors_of_borrowed_parameters_advise_is_accepted() {
    #[tool]
    fn owned(
        path: PathBuf,
        other: Option<PathBuf>,
        words: Vec<String>,
        pairs: Vec<(String, u8)>,
        map: HashMap<String, Vec<String>>,
        context: &ToolContext,
    ) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Ok(json!([path, other, words, pairs, map, context.tool_name()]))
    }
    let given = json!({"path": "a/b", "other": "c", "words": ["d"], "pairs": [["e", 1]], "map": {"f": ["g"]}});
    let output = json(call(owned::tool(), given).await.unwrap());
    assert_eq!(output, json!(["a/b", "c", ["d"], [["e", 1]], {"f": ["g"]}, "owned"]));
}

#[tokio::test]
async fn attributes_of_serde_apply_to_a_parameter() {
    fn seven() -> u8 {
        7
    }
    mod hex {
        use serde::{Deserialize, Deserializer, de::Error};

        pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
            u32::from_str_radix(&String::deserialize(deserializer)?, 16).map_err(Error::custom)
        }
    }
    fn loud<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        Ok(String::deserialize(deserializer)?.to_uppercase().into())
    }
    #[tool]
    fn read(
        #[serde(rename(deserialize = "sortBy"))] sort_by: String,
        #[serde(default = "seven")] left_out: u8,
        #[serde(skip)] skipped: u8,
        #[serde(skip_deserializing, default = "seven")] never_read: u8,
        #[serde(with = "hex")]
        #[schemars(with = "String")]
        mask: u32,
        #[serde(deserialize_with = "loud")] word: &str,
    ) -> Value {
        json!([sort_by, left_out, skipped, never_read, mask, word])
    }
    let known = read::definition().unwrap();
    assert_eq!(required(&known), ["sortBy", "mask", "word"]);
    assert_eq!(property(&known, "left_out")["default"], 7);
    assert_eq!(property(&known, "mask"), json!({"type": "string"}));
    assert_eq!(known.input_schema()["properties"].as_object().unwrap().len(), 4, "a model sees no skipped ones");

    let given = json!({"sortBy": "x", "skipped": 1, "never_read": 1, "mask": "ff", "word": "psst"});
    let output = json(call(read::tool(), given).await.unwrap());
    assert_eq!(output, json!(["x", 7, 0, 7, 255, "PSST"]));
}

#[tokio::test]
async fn the_fields_of_a_flattened_parameter_are_arguments_of_their_own() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Page {
        /// The first one.
        from: u32,
        size: Option<u32>,
    }
    #[tool]
    fn list(tag: &str, #[serde(flatten)] page: Page) -> Value {
        json!([tag, page])
    }
    #[tool]
    fn rest(tag: &str, #[serde(flatten)] rest: BTreeMap<String, u8>) -> Value {
        json!([tag, rest])
    }
    let known = list::definition().unwrap();
    assert_eq!(required(&known), ["tag", "from"]);
    assert_eq!(property(&known, "from")["description"], "The first one.");
    let output = json(call(list::tool(), json!({"tag": "a", "from": 1, "size": 2, "other": 3})).await.unwrap());
    assert_eq!(output, json!(["a", {"from": 1, "size": 2}]));
    let error = call(list::tool(), json!({"tag": "a", "from": "b"})).await.unwrap_err();
    assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/from");

    let output = json(call(rest::tool(), json!({"tag": "a", "b": 1, "c": 2})).await.unwrap());
    assert_eq!(output, json!(["a", {"b": 1, "c": 2}]), "a map takes what no other parameter does");
}

#[tokio::test]
async fn every_kind_of_type_goes_in_and_comes_out() {
    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Colour {
        /// Like blood.
        Red,
        DarkBlue,
    }
    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: f64 },
    }
    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    struct Tree {
        value: i32,
        children: Vec<Tree>,
    }
    #[tool]
    #[expect(clippy::too_many_arguments, reason = "one of each")]
    fn everything(
        integer: i128,
        float: f32,
        character: char,
        list: Vec<Option<u8>>,
        array: [u8; 2],
        tuple: (u8, String),
        map: HashMap<String, i32>,
        ordered: BTreeMap<String, Colour>,
        colour: Colour,
        shape: Shape,
        tree: Tree,
        free: Value,
        time: jiff::Timestamp,
    ) -> Value {
        json!([integer as i64, float, character, list, array, tuple, map, ordered, colour, shape, tree, free, time])
    }
    let known = everything::definition().unwrap();
    assert_eq!(required(&known).len(), 13);
    assert_eq!(property(&known, "free"), json!({}));
    assert_eq!(property(&known, "time")["type"], "string");

    let arguments = json!({
        "integer": -5, "float": 0.5, "character": "c", "list": [1, null], "array": [1, 2], "tuple": [1, "x"],
        "map": {"a": 1}, "ordered": {"k": "red"}, "colour": "dark-blue", "shape": {"kind": "Square", "side": 2.0},
        "tree": {"value": 1, "children": [{"value": 2, "children": []}]}, "free": {"any": [null]},
        "time": "2026-01-01T00:00:00Z",
    });
    let output = json(call(everything::tool(), arguments.clone()).await.unwrap());
    let given: Vec<Value> = arguments.as_object().unwrap().values().cloned().collect();
    assert_eq!(output, Value::Array(given));
}

#[tokio::test]
async fn large_integers_arrive_exactly() {
    #[tool]
    fn same(number: u64) -> u64 {
        number
    }
    let text = format!(r#"{{"number":{}}}"#, u64::MAX);
    let host = opentool_core::Executor::new().host(same::tool());
    assert_eq!(host.call("same", text).await.unwrap().to_text(), u64::MAX.to_string());
    let error = host.call("same", r#"{"number":-1}"#).await.unwrap_err();
    assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/number");
}

#[tokio::test]
async fn only_the_duration_of_std_is_published_as_text() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Stamp {
        secs: u64,
        nanos: u32,
    }
    mod own {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        pub(super) struct Duration {
            pub(super) secs: u64,
            pub(super) nanos: u32,
        }
    }
    #[tool]
    fn stamp(at: Stamp, length: own::Duration, wait: Duration) -> Stamp {
        Stamp { secs: at.secs + length.secs + wait.as_secs(), nanos: at.nanos + length.nanos }
    }
    let definition = definition(stamp::tool());
    let definitions = &definition.input_schema()["$defs"];
    for (parameter, expected) in [("at", "object"), ("length", "object"), ("wait", "string")] {
        let schema = property(&definition, parameter);
        let name = schema["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap();
        assert_eq!(definitions[name]["type"], expected, "{parameter}");
    }
    assert_eq!(definition.output_schema().unwrap()["required"], json!(["secs", "nanos"]));
    let arguments = json!({ "at": { "secs": 1, "nanos": 2 }, "length": { "secs": 3, "nanos": 4 }, "wait": "PT5S" });
    assert_eq!(json(call(stamp::tool(), arguments).await.unwrap()), json!({ "secs": 9, "nanos": 6 }));
}

#[tokio::test]
async fn a_duration_is_published_and_read_as_text() {
    #[derive(Deserialize, JsonSchema)]
    struct Retry {
        every: Duration,
        at_most: Option<Duration>,
    }
    #[tool]
    fn wait(first: Duration, retries: Vec<Retry>, label: &str) -> String {
        let all: Duration = retries.iter().map(|retry| retry.every + retry.at_most.unwrap_or_default()).sum();
        format!("{label} {:?}", first + all)
    }
    assert!(!wait::definition().unwrap().input_schema().to_string().contains("secs"));
    let arguments = json!({
        "first": "PT1M", "retries": [{"every": "PT1.5S"}, {"every": "PT2S", "at_most": "P1D"}], "label": "x",
    });
    assert_eq!(call(wait::tool(), arguments).await.unwrap(), ToolOutput::text("x 86463.5s"));

    let soon = json!({"first": "PT1M", "retries": [{"every": "soon"}], "label": "x"});
    let error = call(wait::tool(), soon).await.unwrap_err();
    assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/retries/0/every", "{error}");
}

#[tokio::test]
async fn an_integer_may_be_written_with_a_fraction_or_an_exponent() {
    #[tool]
    fn double(number: i64) -> i64 {
        number * 2
    }
    let host = opentool_core::Executor::new().host(double::tool());
    for (text, result) in
        [(r#"{"number": 1.0}"#, "2"), (r#"{"number": 1e3}"#, "2000"), (r#"{"number": -1.50e1}"#, "-30")]
    {
        assert_eq!(host.call("double", text).await.unwrap().to_text(), result);
    }
    // The schema accepts it, but the type does not hold it.
    let error = host.call("double", r#"{"number": 1e30}"#).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/number", "{error}");
}

#[test]
fn a_tool_without_parameters_has_an_empty_object_as_its_schema() {
    #[tool]
    fn nothing() {}
    assert_eq!(
        nothing::definition().unwrap().input_schema().to_string(),
        r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#
    );
}
