//! Everything that converts to a source of tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use futures_executor::block_on;
use futures_util::StreamExt;
use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{
    BoxFuture, ChangeSignal, ErrorKind, Executor, Source, Tool, ToolCall, ToolChanges, ToolContext, ToolError,
    ToolEvent, ToolHandler, ToolOutput, ToolSource, Toolbox, ToolboxError, tool,
};
use opentool_spec::{Function, Info, Map, OpenTool, Parameter, Return, Schema, ServerObject};
use serde_json::{Value, json};

use super::toolbox;

/// A source that offers one more tool each time it is asked.
#[derive(Default)]
struct Growing(AtomicUsize);

impl ToolSource for Growing {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async move {
            let count = self.0.fetch_add(1, SeqCst) + 1;
            Ok(toolbox((0..count).map(|n| FakeTool::new(&format!("tool_{n}")).answers("x"))))
        })
    }

    fn changes(&self) -> Option<ToolChanges> {
        None
    }
}

/// Never answers.
struct Hanging;

impl ToolSource for Hanging {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(std::future::pending())
    }

    fn changes(&self) -> Option<ToolChanges> {
        None
    }
}

struct Echo;

impl ToolHandler for Echo {
    async fn call(&self, name: &str, arguments: Option<Map>) -> Result<Map, ToolError> {
        match name {
            "fail" => Err(ToolError::failed("as asked").with_code(418)),
            "nothing" => Ok(Map::new()),
            _ => Ok(Map::from_iter([(name.to_owned(), json!(arguments))])),
        }
    }

    fn load(&self) -> Option<OpenTool> {
        None
    }
}

struct Declared;

#[opentool_core::toolbox]
impl Declared {
    #[tool]
    fn declared(&self) -> &str {
        "x"
    }
}

#[tokio::test]
async fn a_source_is_asked_per_request() {
    let host = Executor::new().host(Growing::default());
    assert_eq!(host.call("tool_1", "").await.unwrap_err().kind(), ErrorKind::UnknownTool);
    assert_eq!(host.call("tool_1", "").await.unwrap().to_text(), "x");
    assert_eq!(host.toolbox().await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_source_that_cannot_be_reached_is_the_outcome_of_the_call() {
    struct Gone;
    impl ToolSource for Gone {
        fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
            Box::pin(async { Err(ToolError::unavailable("the server is gone")) })
        }

        fn changes(&self) -> Option<ToolChanges> {
            None
        }
    }
    let answer = Probe::new(Gone).call("a", "").await;
    answer.assert_error(ErrorKind::Unavailable).assert_message("the server is gone");

    // The error policies get it on every path.
    let policy = |_: &str, error: ToolError| error.with_message("try later");
    let (host, context) = (Executor::builder().errors(policy).build().host(Gone), ToolContext::new());
    let call = || ToolCall::new("1", "a", "");
    let watched = host.watch(call(), &context).await.finish().await;
    assert_eq!((&*watched[0].call_id, &*watched[0].tool), ("1", "a"));
    for outcome in [host.run(call(), &context).await, watched[0].clone()] {
        assert_eq!(outcome.error().unwrap().message(), "try later");
        assert!(outcome.definition.is_none());
    }
    let events: Vec<_> = host.watch(call(), &context).await.collect().await;
    assert!(matches!(events[..], [ToolEvent::Requested(..), ToolEvent::Failed(..)]), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_waits_no_longer_for_the_source_than_it_said() {
    let (host, context) = (Executor::new().host(Hanging), ToolContext::new().with_time_limit(Duration::from_secs(2)));
    let begun = tokio::time::Instant::now();
    let outcome = host.run(ToolCall::new("1", "a", ""), &context).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Timeout);
    assert_eq!(begun.elapsed().as_secs(), 2);
}

#[test]
fn a_source_that_waits_where_there_is_no_timer_is_an_error_that_says_so() {
    let without_timer = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let host = Executor::new().host(Hanging);
    for error in [without_timer.block_on(host.call("a", "")), block_on(host.call("a", ""))].map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.detail().unwrap().contains("tokio runtime"), "{error:?}");
    }
    let growing = Executor::new().host(Growing(0.into()));
    assert!(without_timer.block_on(growing.call("tool_0", "")).is_ok(), "a source that answers at once needs no timer");
}

#[tokio::test]
async fn tools_toolboxes_handlers_sources_and_tuples_of_them_convert() {
    let shared: Arc<dyn Tool> = Arc::new(FakeTool::new("shared").answers("x"));
    let all = (
        FakeTool::new("tool").answers("x"),
        shared,
        toolbox([FakeTool::new("boxed").answers("x")]),
        Declared,
        vec![FakeTool::new("one").answers("x"), FakeTool::new("two").answers("x")],
        Growing::default(),
    );
    let host = Executor::new().host(all);
    let names: Vec<_> = host.toolbox().await.unwrap().names().map(str::to_owned).collect();
    assert_eq!(names, ["tool", "shared", "boxed", "declared", "one", "two", "tool_0"]);
    for name in names {
        assert_eq!(host.call(&name, "").await.unwrap().to_text(), "x");
    }
}

#[tokio::test]
async fn duplicate_names_between_sources_that_are_asked_are_found_when_they_are() {
    let host = Executor::new().host((Growing::default(), FakeTool::new("tool_0")));
    let error = host.call("tool_0", "").await.unwrap_err();
    assert_eq!((error.message(), error.is_fatal()), ("two tools are named `tool_0`: `tool_0` and `tool_0`", true));
}

#[tokio::test]
async fn a_handler_without_a_document_gets_every_call_unchecked() {
    let probe = Probe::new(Echo);
    probe.call("any-name", r#"{"x":[null]}"#).await.assert_json(json!({ "any-name": { "x": [null] } }));
    probe.call("none", "").await.assert_json(json!({ "none": null }));
    probe.call("nothing", "").await.assert_empty();
    let answer = probe.call("fail", "").await;
    assert_eq!(answer.outcome().error().unwrap().code(), Some(418));
    probe.call("not a name", "").await.assert_error(ErrorKind::UnknownTool);
    probe.call("broken", "{").await.assert_error(ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn two_handlers_without_documents_cannot_be_merged() {
    let open = || Toolbox::from_handler(Echo).unwrap();
    assert!(open().is_open());
    let tools = open().prefix("echo_").unwrap().merge(toolbox([FakeTool::new("a").answers("x")])).unwrap();
    let probe = Probe::new(tools);
    probe.call("a", "").await.assert_text("x");
    probe.call("echo_b", "").await.assert_json(json!({ "b": null }));
    probe.call("b", "").await.assert_error(ErrorKind::UnknownTool);
    assert!(matches!(open().merge(open()), Err(ToolboxError::Open)));
}

/// A handler with a document of one function.
struct Calculator;

impl ToolHandler for Calculator {
    async fn call(&self, name: &str, arguments: Option<Map>) -> Result<Map, ToolError> {
        let number = |key| arguments.as_ref().and_then(|map| map.get(key)).and_then(Value::as_i64).unwrap_or_default();
        Ok(Map::from_iter([(name.to_owned(), json!(number("a") + number("b")))]))
    }

    fn load(&self) -> Option<OpenTool> {
        let document = OpenTool::new(Info::new("Calculator", "2.1.0"));
        Some(
            document
                .function(
                    Function::new("add", "Add two integers.")
                        .parameter(Parameter::new("a", Schema::reference("#/schemas/Number")).described("The first."))
                        .parameter(Parameter::new("b", Schema::integer()).optional())
                        .returning(Return::new("sum", Schema::integer())),
                )
                .schema("Number", Schema::integer()),
        )
    }
}

#[tokio::test]
async fn a_handler_with_a_document_is_checked_against_it() {
    let tools = Toolbox::from_handler(Calculator).unwrap();
    assert_eq!((tools.title(), tools.version(), tools.is_open()), (Some("Calculator"), Some("2.1.0"), false));
    let probe = Probe::new(tools);
    probe.call("add", r#"{"a":1,"b":2}"#).await.assert_json(json!({ "add": 3 }));
    probe.call("add", r#"{"a":1,"b":null,"c":9}"#).await.assert_json(json!({ "add": 1 }));
    probe.call("add", r#"{"b":2}"#).await.assert_error(ErrorKind::InvalidArguments);
    probe.call("subtract", "").await.assert_error(ErrorKind::UnknownTool);
}

#[test]
fn a_toolbox_comes_from_a_document_and_goes_back_to_one() {
    let document = Calculator.load().unwrap();
    let tools = Toolbox::from_handler(Calculator).unwrap();
    let definition = tools.get("add").unwrap().definition();
    assert_eq!((definition.description(), definition.output_name()), ("Add two integers.", Some("sum")));
    assert_eq!(definition.output_schema(), Some(&json!({ "type": "integer" })));
    assert_eq!(definition.input_schema()["properties"]["a"]["description"], "The first.");

    let written = tools.to_document().unwrap();
    assert!(written.dropped.is_empty(), "{:?}", written.dropped);
    assert_eq!(written.document.info, document.info);
    let again = Toolbox::from_document(&written.document, |definition| {
        FakeTool::new(definition.name()).with_definition(definition)
    });
    assert_eq!(again.unwrap().get("add").unwrap().definition(), definition, "nothing is lost on the way");
}

#[test]
fn a_toolbox_keeps_the_spec_version_of_its_one_document() {
    let tools = |version: &str, name: &str| {
        let mut document = OpenTool::new(Info::new("x", "1")).function(Function::new(name, "Does it."));
        document.opentool = version.to_owned();
        let fake = |definition: opentool_core::ToolDefinition| FakeTool::new(name).with_definition(definition);
        Toolbox::from_document(&document, fake).unwrap()
    };
    let written = |toolbox: &Toolbox| toolbox.to_document().unwrap().document.opentool;
    let old = tools("1.0.0", "a");
    assert_eq!((old.spec_version(), written(&old).as_str()), (Some("1.0.0"), "1.0.0"));
    assert_eq!(written(&Toolbox::new().merge(old.clone()).unwrap()), "1.0.0");
    assert_eq!(written(&old.clone().prefix("x_").unwrap()), "1.0.0");
    assert_eq!(written(&old.clone().with_server(ServerObject::new("https://a.example"))), "1.1.0");
    assert_eq!(written(&old.clone().merge(tools("1.0.0", "b")).unwrap()), "1.1.0", "tools of two documents");
    assert_eq!(written(&toolbox([FakeTool::new("c")])), "1.1.0");
}

#[test]
fn a_toolbox_keeps_the_server_that_has_all_its_tools() {
    let server = ServerObject::new("https://clock.example");
    let mut document = OpenTool::new(Info::new("x", "1")).function(Function::new("a", "Does it."));
    document.server = Some(server.clone());
    let fake = |definition: opentool_core::ToolDefinition| FakeTool::new("a").with_definition(definition);
    let tools = Toolbox::from_document(&document, fake).unwrap();
    let kept = |toolbox: &Toolbox| toolbox.to_document().unwrap().document.server.is_some();
    assert_eq!((tools.server(), kept(&tools)), (Some(&server), true));
    assert!(kept(&tools.clone().filter(|_| true)));
    assert!(kept(&Toolbox::new().merge(tools.clone()).unwrap()));
    assert!(kept(&tools.clone().merge(Toolbox::new()).unwrap()));

    let other = toolbox([FakeTool::new("b")]);
    assert!(!kept(&tools.clone().merge(other.clone()).unwrap()));
    assert!(!kept(&other.clone().merge(tools.clone()).unwrap()));
    assert!(kept(&tools.clone().merge(other.clone().with_server(server)).unwrap()));
    assert!(!kept(&tools.clone().merge(other.with_server(ServerObject::new("https://b.example"))).unwrap()));
    assert!(!kept(&tools.clone().rename("a", "c").unwrap()));
    assert!(!kept(&tools.prefix("p_").unwrap()));
}

#[test]
fn what_a_document_cannot_say_is_reported() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": ["integer", "string"] } } });
    let written = toolbox([FakeTool::new("a").with_schema(schema)]).to_document().unwrap();
    assert_eq!(written.document.info, Info::new("Tools", "1.0.0"));
    assert_eq!(written.dropped.len(), 1);
}

#[test]
fn a_document_whose_functions_cannot_be_tools_is_an_error() {
    let fake = |definition: opentool_core::ToolDefinition| FakeTool::new("a").with_definition(definition);
    let document = |names: [&str; 2]| {
        let start = OpenTool::new(Info::new("x", "1"));
        names.iter().fold(start, |document, name| document.function(Function::new(*name, "Does it.")))
    };
    let twice = Toolbox::from_document(&document(["a", "a"]), fake).unwrap_err();
    assert_eq!(twice.to_string(), "two tools are named `a`: `a` (Does it.) and `a` (Does it.)");
    let wrong = Toolbox::from_document(&document(["a", "not a name"]), fake).unwrap_err();
    assert!(matches!(wrong, ToolboxError::Definition(_)));
    let dangling = OpenTool::new(Info::new("x", "1"))
        .function(Function::new("a", "Does it.").parameter(Parameter::new("p", Schema::reference("#/schemas/Gone"))));
    let dangling = Toolbox::from_document(&dangling, fake).unwrap_err();
    assert!(dangling.to_string().contains("`a`") && dangling.to_string().contains("Gone"), "{dangling}");
}

/// A source that says when its tools change.
struct Changing(ChangeSignal);

impl ToolSource for Changing {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async { Ok(Toolbox::new()) })
    }

    fn changes(&self) -> Option<ToolChanges> {
        Some(self.0.changes())
    }
}

#[tokio::test]
async fn joined_sources_forward_the_changes_of_each_part() {
    let (first, second) = (ChangeSignal::new(), ChangeSignal::new());
    let parts = (Changing(first.clone()), (Toolbox::new(), Growing::default()), [Changing(second.clone())]);
    let joined = Source::new(parts);
    let mut changes = joined.changes().unwrap();
    for signal in [&first, &second] {
        signal.send();
        assert!(changes.changed().await);
    }
    first.send();
    first.send();
    assert!(changes.changed().await, "changes between two waits count as one");
    drop((joined, first));
    second.send();
    assert!(changes.changed().await, "one source is left");
    drop(second);
    assert!(!changes.changed().await, "none is left");
}

#[test]
fn tools_that_cannot_change_have_no_signal() {
    assert!(Source::new(Toolbox::new()).changes().is_none());
    assert!(Source::new((Toolbox::new(), Growing::default())).changes().is_none());
    assert!(Source::new([FakeTool::new("a"), FakeTool::new("a")]).changes().is_none());
}

#[tokio::test]
async fn null_reaches_a_tool_of_a_document_that_admits_it() {
    let document = OpenTool::new(Info::new("Records", "1.0.0")).function(
        Function::new("patch", "Change a record.")
            .parameter(Parameter::new("field", Schema::string().nullable()).optional())
            .parameter(Parameter::new("note", Schema::string()).optional()),
    );
    let made = |document: &OpenTool| {
        Toolbox::from_document(document, |definition| {
            FakeTool::new("patch")
                .with_definition(definition)
                .acts(|arguments, _| async move { Ok(ToolOutput::text(arguments.as_str())) })
        })
        .unwrap()
    };
    // As it was written, and after a server has sent it on.
    let written = made(&document);
    let served = made(&written.to_document().unwrap().document.to_strict().document);
    for toolbox in [written, served] {
        let probe = Probe::new(toolbox);
        let answer = probe.call("patch", r#"{"field":null,"note":null}"#).await;
        answer.assert_text(r#"{"field":null}"#);
        probe.assert_schema("patch", json!({ "properties": { "field": { "type": ["string", "null"] } } }));
    }
}

#[tokio::test]
async fn a_source_is_changed_each_time_its_tools_are_new() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let mapped = Source::new(Growing::default()).map(move |tools| {
        count.fetch_add(1, SeqCst);
        tools.filter(|tool| tool.definition().name() != "tool_0").prefix("my_")
    });
    assert!(mapped.toolbox().await.unwrap().is_empty());
    assert_eq!(mapped.toolbox().await.unwrap().names().collect::<Vec<_>>(), ["my_tool_1"]);
    assert_eq!(seen.load(SeqCst), 2);

    /// Gives the same toolbox whenever it is asked.
    struct Same(Toolbox);
    impl ToolSource for Same {
        fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
            Box::pin(async { Ok(self.0.clone()) })
        }
        fn changes(&self) -> Option<ToolChanges> {
            None
        }
    }
    let count = seen.clone();
    let mapped = Source::new(Same(toolbox([FakeTool::new("a").answers("x")]))).map(move |tools| {
        count.fetch_add(1, SeqCst);
        tools.prefix("my_")
    });
    for _ in 0..3 {
        assert!(mapped.toolbox().await.unwrap().contains("my_a"));
    }
    assert_eq!(seen.load(SeqCst), 3, "what was not changed is not changed again");
}

#[tokio::test]
async fn a_change_that_fails_is_the_error_of_the_source() {
    let tools = || toolbox([FakeTool::new("a").answers("x")]);
    let fixed = Source::from(tools()).map(|tools| tools.prefix("no good "));
    assert!(fixed.toolbox().await.is_err());
    let asked = Source::new(Growing::default()).map(|tools| tools.prefix("no good "));
    assert!(asked.toolbox().await.is_err());
}
