use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use opentool_core::{DeclaredTools, Executor, FnTool, IntoToolSource, ToolContext, ToolOutput, tool, toolbox};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{call, json};

#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
}

#[toolbox(title = "Notes", version = "1.2.0")]
impl Notes {
    const LIMIT: usize = 3;

    /// Write a line down.
    #[tool]
    fn add(
        &self,
        /// One line.
        line: String,
    ) -> Result<usize, String> {
        let mut lines = self.lines.lock().unwrap();
        if lines.len() == Self::LIMIT {
            return Err(Self::full());
        }
        lines.push(line);
        Ok(lines.len())
    }

    /// Read all lines.
    #[tool(read_only)]
    async fn all(&self, context: &ToolContext) -> Vec<String> {
        let _ = context;
        tokio::task::yield_now().await;
        self.lines.lock().unwrap().clone()
    }

    #[tool]
    fn limit() -> usize {
        Self::LIMIT
    }

    #[tool]
    fn title(&self) -> &str {
        "notes"
    }

    fn full() -> String {
        "no room".to_owned()
    }
}

#[tokio::test]
async fn methods_share_the_value_they_are_called_on() {
    let host = Executor::new().host(Notes::default());
    for expected in 1..=3 {
        let count = host.call("add", json!({"line": format!("line {expected}")})).await.unwrap();
        assert_eq!(json(count), expected);
    }
    assert_eq!(host.call("add", json!({"line": "x"})).await.unwrap_err().message(), "no room");
    assert_eq!(json(host.call("all", json!({})).await.unwrap()), json!(["line 1", "line 2", "line 3"]));
    assert_eq!(json(host.call("limit", json!({})).await.unwrap()), 3);
    assert_eq!(host.call("title", json!({})).await.unwrap(), ToolOutput::text("notes"));
}

#[test]
fn a_toolbox_has_the_methods_in_their_order_with_title_and_version() {
    let toolbox = Notes::default().into_toolbox().unwrap();
    assert_eq!(toolbox.names().collect::<Vec<_>>(), ["add", "all", "limit", "title"]);
    assert_eq!((toolbox.title(), toolbox.version()), (Some("Notes"), Some("1.2.0")));
    assert!(toolbox.get("all").unwrap().metadata().is_read_only());
}

#[test]
fn definitions_are_had_without_a_value() {
    let definitions = Notes::definitions().unwrap();
    let toolbox = Notes::default().into_toolbox().unwrap();
    let built: Vec<_> = toolbox.iter().map(|tool| tool.definition().clone()).collect();
    assert_eq!(definitions, built);
    assert_eq!(definitions[0].description(), "Write a line down.");
}

#[test]
fn methods_stay_methods() {
    let notes = Notes::default();
    assert_eq!(notes.add("x".to_owned()), Ok(1));
    assert_eq!(Notes::limit(), 3);
    assert_eq!(notes.title(), "notes");
}

struct Store<T, const N: usize> {
    items: Mutex<Vec<T>>,
    calls: AtomicU32,
}

#[toolbox]
impl<T, const N: usize> Store<T, N>
where
    T: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static,
{
    #[tool]
    fn put(&self, items: Vec<T>, label: &str) -> u32 {
        let _ = label;
        self.items.lock().unwrap().extend(items.into_iter().take(N));
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    #[tool]
    async fn get(&self, index: usize) -> Option<T> {
        self.items.lock().unwrap().get(index).cloned()
    }
}

#[tokio::test]
async fn an_impl_may_be_generic() {
    let store = Store::<String, 2> { items: Mutex::default(), calls: AtomicU32::new(0) };
    let definitions = Store::<String, 2>::definitions().unwrap();
    assert_eq!(definitions[0].input_schema()["properties"]["items"]["items"]["type"], "string");
    let others = Store::<bool, 1>::definitions().unwrap();
    assert_eq!(others[0].input_schema()["properties"]["items"]["items"]["type"], "boolean");

    let host = Executor::new().host(store);
    assert_eq!(json(host.call("put", json!({"items": ["a", "b", "c"], "label": "x"})).await.unwrap()), 1);
    assert_eq!(host.call("get", json!({"index": 1})).await.unwrap(), ToolOutput::text("b"));
    assert_eq!(host.call("get", json!({"index": 2})).await.unwrap(), ToolOutput::Empty);
}

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Debug)]
struct Point {
    x: i32,
    y: i32,
}

#[toolbox]
impl Point {
    /// Mirror a point.
    #[tool]
    fn mirror(point: Self) -> Self {
        Self { x: point.y, y: point.x }
    }

    #[tool]
    fn all(&self, others: Vec<Self>) -> usize {
        others.iter().filter(|other| *other == self).count()
    }
}

#[tokio::test]
async fn a_method_may_take_and_return_self_as_a_type() {
    let host = Executor::new().host(Point { x: 1, y: 2 });
    let mirrored = host.call("mirror", json!({"point": {"x": 1, "y": 2}})).await.unwrap();
    assert_eq!(json(mirrored), json!({"x": 2, "y": 1}));
    let count = host.call("all", json!({"others": [{"x": 1, "y": 2}, {"x": 2, "y": 2}]})).await.unwrap();
    assert_eq!(json(count), 1);
}

#[test]
fn sources_of_all_kinds_combine_and_a_collision_names_both() {
    let together = (Notes::default(), FnTool::new("ping", || "pong")).into_tool_source().unwrap();
    assert_eq!(together.fixed().unwrap().names().count(), 5);
    let collision = (Notes::default(), FnTool::new("add", || ()).description("Another.")).into_tool_source();
    let message = collision.unwrap_err().to_string();
    assert!(message.contains("Write a line down.") && message.contains("Another."), "{message}");
}

#[tokio::test]
async fn a_tool_behind_a_condition_exists_only_under_it() {
    struct Conditional;
    #[toolbox]
    impl Conditional {
        #[tool]
        #[cfg(not(any()))]
        fn there(&self) {}

        #[tool]
        #[cfg(any())]
        fn absent(&self, nothing: NoSuchType) {}
    }
    assert_eq!(Conditional.into_toolbox().unwrap().names().collect::<Vec<_>>(), ["there"]);
    assert_eq!(call(Conditional, json!({})).await.unwrap(), ToolOutput::Empty);
}

#[tokio::test]
async fn two_methods_under_opposite_conditions_may_share_a_name() {
    struct Paths;
    #[toolbox]
    impl Paths {
        #[cfg(unix)]
        #[tool]
        fn separator(&self) -> &str {
            "/"
        }

        #[cfg(not(unix))]
        #[tool]
        fn separator(&self) -> &str {
            "\\"
        }
    }
    assert_eq!(call(Paths, json!({})).await.unwrap(), ToolOutput::text(std::path::MAIN_SEPARATOR_STR));
}

#[tokio::test]
async fn a_default_may_come_from_the_type_of_the_impl() {
    struct Pages;
    #[toolbox]
    impl Pages {
        const SIZE: usize = 7;

        #[tool]
        fn size(
            &self,
            #[param(default = Self::SIZE)] size: usize,
            #[param(default = vec![Self::SIZE])] more: Vec<usize>,
        ) -> usize {
            size + more.len()
        }
    }
    assert_eq!(json(call(Pages, json!({})).await.unwrap()), 8);
    assert_eq!(Pages::definitions().unwrap()[0].input_schema()["properties"]["size"]["default"], 7);
}

#[tokio::test]
async fn a_default_may_depend_on_the_parameters_of_the_impl() {
    struct Cell<T>(T);
    #[toolbox]
    impl<T> Cell<T>
    where
        T: DeserializeOwned + Serialize + JsonSchema + Default + Clone + Send + Sync + 'static,
    {
        fn other() -> T {
            T::default()
        }

        #[tool]
        fn pair(
            &self,
            #[param(required = false)] left: T,
            #[param(default = Self::other())] right: T,
            label: &str,
        ) -> (T, T, T, String) {
            (left, right, self.0.clone(), label.to_owned())
        }
    }
    let answer = call(Cell(3_u8), json!({ "label": "x" })).await.unwrap();
    assert_eq!(json(answer), json!([0, 0, 3, "x"]));
    let answer = call(Cell(String::from("a")), json!({ "label": "x", "left": "b" })).await.unwrap();
    assert_eq!(json(answer), json!(["b", "", "a", "x"]));
}

#[tokio::test]
async fn an_array_may_be_as_long_as_the_type_says() {
    struct Grid;
    #[toolbox]
    impl Grid {
        const SIZE: usize = 2;

        #[tool]
        fn sum(&self, numbers: [u32; Self::SIZE]) -> u32 {
            numbers.iter().sum()
        }
    }
    let host = Executor::new().host(Grid);
    assert_eq!(host.call("sum", r#"{"numbers": [1, 2]}"#).await.unwrap().to_text(), "3");
    assert!(host.call("sum", r#"{"numbers": [1, 2, 3]}"#).await.is_err());
}
