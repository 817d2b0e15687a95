//! The schemas of Rust signatures, as published and in every dialect.
//!
//! The golden files are in `snapshots/`. `INSTA_UPDATE=always cargo test -p opentool-core --test declaring` updates them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::num::NonZeroU8;
use std::path::PathBuf;
use std::time::Duration;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use opentool_core::spec::schema::{Adapted, Dialect};
use opentool_core::{Arguments, FnTool, Text, ToolContext, ToolDefinition, Toolbox, ToolboxDocument, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The definition and what each provider is sent, as one text.
fn golden(definition: &ToolDefinition) -> String {
    let mut text = format!("# {}\n{:#}\n", definition.description(), definition.input_schema());
    if let Some(output) = definition.output_schema() {
        text.push_str(&format!("\n# result\n{output:#}\n"));
    }
    for (name, dialect) in
        [("OpenAI", Dialect::OpenAi), ("OpenAI strict", Dialect::OpenAiStrict), ("Anthropic", Dialect::Anthropic)]
    {
        let Adapted { schema, strict, dropped, obstacles, .. } = dialect.adapt(definition.input_schema());
        text.push_str(&format!("\n# {name}{}\n", if strict { " (strict)" } else { "" }));
        for dropped in dropped {
            text.push_str(&format!("dropped: {dropped}\n"));
        }
        for obstacle in obstacles {
            text.push_str(&format!("not strict: {obstacle}\n"));
        }
        if &schema == definition.input_schema() {
            text.push_str("as published\n");
        } else {
            text.push_str(&format!("{schema:#}\n"));
        }
    }
    text.push_str(&through_a_document(definition));
    text
}

/// What becomes of the tool in an OpenTool document: it comes back as it was, unless the document cannot say something.
fn through_a_document(definition: &ToolDefinition) -> String {
    let blank = || FnTool::new("blank", |_: Arguments| ());
    let toolbox = Toolbox::from_tools([blank().definition(definition.clone())]).unwrap();
    let ToolboxDocument { document, dropped, .. } = toolbox.to_document().unwrap();
    if dropped.is_empty() {
        let back = Toolbox::from_document(&document, |definition| blank().definition(definition)).unwrap();
        let back = back.iter().next().unwrap().definition().clone();
        assert_eq!(back.input_schema(), definition.input_schema());
        assert_eq!(back.output_schema(), definition.output_schema());
    }
    let dropped = dropped.iter().map(|dropped| format!("dropped: {dropped}\n"));
    let body = if dropped.len() == 0 { "as published\n".to_owned() } else { dropped.collect() };
    format!("\n# OpenTool document\n{body}")
}

/// A test and a golden file for each signature.
macro_rules! signatures {
    ($($(#[$attribute:meta])* $visibility:vis fn $name:ident($($parameters:tt)*) $(-> $result:ty)?;)+) => {$(
        #[test]
        fn $name() {
            $(#[$attribute])*
            #[tool]
            #[allow(unused_variables, clippy::boxed_local)]
            fn $name($($parameters)*) $(-> $result)? {
                unreachable!("only the schema is wanted")
            }
            insta::assert_snapshot!(golden(&$name::definition().unwrap()));
        }
    )+};
}

#[derive(Deserialize, Serialize, JsonSchema)]
enum Colour {
    Red,
    Green,
}

/// How urgent it is.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Urgency {
    /// Today.
    VeryHigh,
    /// Some day.
    Low,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Shape {
    /// Round.
    Circle {
        radius: f64,
    },
    Rectangle {
        width: f64,
        height: Option<f64>,
    },
}

#[derive(Deserialize, JsonSchema)]
enum Command {
    Stop,
    Go(u8),
    Turn { degrees: i16 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Id {
    Number(u32),
    Name(String),
}

/// Where a person lives.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Address {
    /// With the number.
    street: String,
    city: String,
    country: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Person {
    name: String,
    home: Address,
    work: Option<Address>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    label: String,
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
struct Page<T> {
    items: Vec<T>,
    next: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    dark_mode: bool,
    #[serde(default)]
    font_size: u8,
    #[serde(alias = "lang", skip_serializing_if = "Option::is_none")]
    ui_language: Option<String>,
    #[serde(skip)]
    cached: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Paging {
    offset: u32,
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    text: String,
    #[serde(flatten)]
    paging: Paging,
}

/// An e-mail address.
#[derive(Deserialize, JsonSchema)]
struct Email(#[schemars(email)] String);

mod other {
    /// Another address.
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    pub struct Address {
        pub host: String,
        pub port: u16,
    }
}

signatures! {
    fn no_parameters();
    /// Add two numbers.
    fn integers(a: i64, b: i64) -> i64;
    fn small_integers(a: u8, b: i8, c: u16, d: i16, e: u32, f: i32);
    fn large_integers(a: u64, b: u128, c: i128, d: usize, e: isize);
    fn special_integers(count: NonZeroU8);
    fn floats(a: f32, b: f64) -> f64;
    fn flags_and_characters(flag: bool, letter: char) -> bool;
    fn text(borrowed: &str, owned: String, maybe: Option<&str>, boxed: Box<str>) -> String;
    /// Describe every parameter.
    fn described(
        /// One line.
        first: String,
        /// Several lines,
        /// and a paragraph.
        ///
        /// The end.
        second: String,
        #[param(description = "By the attribute.")] third: String,
    );
    fn options(number: Option<i32>, list: Option<Vec<String>>, object: Option<Address>, choice: Option<Colour>);
    fn required_options(#[param(required)] number: Option<i32>, #[schemars(required)] text: Option<String>);
    fn defaults(
        #[param(default = 10)] limit: u8,
        #[param(default = "en")] language: &str,
        #[param(required = false)] tags: Vec<String>,
        #[serde(default)] flag: bool,
    );
    fn lists(words: Vec<String>, set: HashSet<u8>, point: [f64; 3], nested: Vec<Vec<bool>>) -> Vec<String>;
    fn nullable_items(items: Vec<Option<i32>>, named: HashMap<String, Option<bool>>);
    fn tuples(pair: (u8, String));
    fn maps(counts: HashMap<String, u32>, groups: BTreeMap<String, Vec<bool>>, people: HashMap<String, Address>);
    fn free_json(anything: Value, object: Map<String, Value>, maybe: Option<Value>) -> Value;
    fn plain_enum(colour: Colour) -> Colour;
    fn documented_enum(
        /// When to do it.
        urgency: Urgency,
        maybe: Option<Urgency>,
    );
    fn tagged_enum(shape: Shape);
    fn enum_with_data(command: Command);
    fn untagged_enum(id: Id);
    fn nested_struct(
        /// Who it is.
        person: Person,
    ) -> Address;
    fn shared_struct(from: Address, to: Address, via: Vec<Address>);
    fn colliding_names(postal: Address, network: other::Address);
    fn recursive_struct(tree: Tree) -> Tree;
    fn generic_structs(numbers: Page<u8>, people: Page<Person>);
    fn serde_attributes(settings: Settings, #[serde(rename = "userId")] user_id: u32, #[param(name = "type")] kind: String);
    fn flattened_struct(query: Query);
    fn constrained(
        #[schemars(range(min = 1, max = 100))] size: u32,
        #[schemars(length(min = 1, max = 8), regex(pattern = "^[a-z]+$"))] tag: String,
        #[schemars(length(max = 3))] few: Vec<u8>,
    );
    fn newtypes(email: Email, maybe: Option<Email>);
    fn dates_and_durations(
        at: Timestamp,
        day: Date,
        precise: SignedDuration,
        /// How long.
        wait: Duration,
        pause: Option<Duration>,
    ) -> Duration;
    fn addresses_and_paths(ip: IpAddr, file: PathBuf);
    fn context_is_absent(context: &ToolContext, word: &str) -> Text<u8>;
    fn results(word: &str) -> Result<Option<Tree>, std::io::Error>;
}
