//! What every answer must look like: one test per item of the list that real clients wrote.

use opentool_core::spec::{self, Function, Info, OpenTool, Parameter, Schema};
use opentool_core::testing::FakeTool;
use opentool_core::{FnTool, Toolbox};
use opentool_server::Server;
use serde_json::{Value, json};

use crate::client::{Running, call, get, post, request, start};
use crate::tools::{Echo, every_way};

async fn serving() -> Running {
    start(Server::new(every_way())).await
}

async fn ask(server: &Running, body: &str) -> Value {
    let reply = server.ask(post("/opentool/call").body(body)).await;
    assert_eq!(reply.status, 200, "{body}: {reply:?}");
    reply.json()
}

// 1
#[tokio::test]
async fn only_bodies_that_are_no_json_object_get_400_or_413() {
    let server = start(Server::new(every_way()).configure(|config| config.max_body(1000))).await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"fails","params":{},"id":"1"}"#,
        r#"{"jsonrpc":"2.0","method":"no_such","params":{},"id":"1"}"#,
        r#"{"jsonrpc":"2.0","method":"add","params":{"a":"x"},"id":"1"}"#,
        r#"{"jsonrpc":"1.0","method":"add","params":{},"id":"1"}"#,
        r#"{"method":7,"id":"1"}"#,
        "{}",
    ] {
        let reply = server.ask(post("/opentool/call").body(body)).await;
        let code = reply.json()["error"]["code"].as_i64().unwrap();
        reply.rpc_error(200, code);
    }
    for body in ["", "{", "not json", "{\"a\":1}x", "{\"a\":\"\u{1}\"}"] {
        let reply = server.ask(post("/opentool/call").body(body)).await;
        reply.rpc_error(400, -32700);
    }
    let reply = server.ask(post("/opentool/call").body(format!("{{\"x\":\"{}\"}}", "y".repeat(1000)))).await;
    reply.rpc_error(413, 413);
}

// 2
#[tokio::test]
async fn all_four_members_are_always_written_in_this_order() {
    let server = serving().await;
    let reply = server.ask(call("add", r#"{"a":1,"b":2}"#)).await;
    assert_eq!(reply.text(), r#"{"jsonrpc":"2.0","result":{"result":3},"error":null,"id":"1"}"#);
    let reply = server.ask(call("codes", "{}")).await;
    let expected =
        r#"{"jsonrpc":"2.0","result":{},"error":{"code":423,"message":"locked","data":{"by":"ann"}},"id":"1"}"#;
    assert_eq!(reply.text(), expected);
}

// 3
#[tokio::test]
async fn a_result_is_always_an_object() {
    let server = serving().await;
    for (method, expected) in [
        ("object", json!({"x": 1})),
        ("scalar", json!({"result": 7})),
        ("array", json!({"result": [1, 2]})),
        ("text", json!({"result": "plain \"text\""})),
        ("named", json!({"degrees": 21.5})),
        ("nothing", json!({})),
        ("null", json!({})),
    ] {
        assert_eq!(server.call(method, "{}").await["result"], expected, "{method}");
    }
}

// 4
#[tokio::test]
async fn an_id_comes_back_with_its_json_type_and_text() {
    let server = serving().await;
    for id in [r#""7""#, "7", r#""""#, r#""a\"\u00e9""#, "12345678901234567890123", "-1.5e3"] {
        let reply = server.ask(post("/opentool/call").body(format!(r#"{{"method":"nothing","id":{id}}}"#))).await;
        assert!(reply.text().ends_with(&format!(r#""error":null,"id":{id}}}"#)), "{}", reply.text());
        let reply = server.ask(post("/opentool/call").body(format!(r#"{{"method":"fails","id":{id}}}"#))).await;
        assert!(reply.text().ends_with(&format!(r#","id":{id}}}"#)), "{}", reply.text());
    }
    assert_eq!(server.ask(post("/opentool/call").body("{")).await.json()["id"], Value::Null);
}

// 5
#[tokio::test]
async fn requests_are_read_as_leniently_as_clients_write_them() {
    let server = serving().await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"object","params":{},"id":"1"}"#,
        r#"{"jsonrpc":"2.0.0","method":"object","params":{},"id":"1"}"#,
        r#"{"method":"object","params":{},"id":"1"}"#,
        r#"{"method":"object","id":"1"}"#,
        r#"{"method":"object","params":null,"id":1}"#,
        r#"{"id":1,"params":{"extra":[{}]},"unknown":{"a":[]},"method":"obj\u0065ct"}"#,
    ] {
        assert_eq!(ask(&server, body).await["result"], json!({"x": 1}), "{body}");
    }
}

// 5
#[tokio::test]
async fn an_unclear_request_runs_nothing() {
    let tool = FakeTool::new("f");
    let log = tool.log();
    let server = start(Server::new(tool)).await;
    for (body, code, id) in [
        (r#"{"jsonrpc":"1.0","method":"f","id":"1"}"#, -32600, json!("1")),
        (r#"{"jsonrpc":2.0,"method":"f","id":"1"}"#, -32600, json!("1")),
        (r#"{"jsonrpc":"2.0","method":"f","params":[],"id":"1"}"#, -32602, json!("1")),
        (r#"{"jsonrpc":"2.0","method":"f","params":"x","id":1}"#, -32602, json!(1)),
        (r#"{"jsonrpc":"2.0","method":"f"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","method":"f","id":null}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","method":"f","id":{}}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":"1"}"#, -32600, json!("1")),
        (r#"{"jsonrpc":"2.0","method":"f","method":"f","id":"1"}"#, -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","method":"f","id":"1"}]"#, -32600, Value::Null),
        ("[]", -32600, Value::Null),
        ("7", -32600, Value::Null),
        ("null", -32600, Value::Null),
    ] {
        let answer = ask(&server, body).await;
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{body}");
    }
    assert_eq!(log.count(), 0);
}

// 6
#[tokio::test]
async fn each_cause_has_its_code_and_no_internals_leak() {
    let server = serving().await;
    for (method, params, code, message) in [
        ("fails", "{}", 500, "the oven is cold"),
        ("codes", "{}", 423, "locked"),
        ("no_such", "{}", 405, "Function Not Supported: no_such"),
        ("add", r#"{"a":1}"#, 400, "Invalid Arguments: "),
        ("slow", "{}", 504, "the tool did not answer within 50ms"),
        ("denied", "{}", 403, "not you"),
        ("approved", "{}", 403, "the tool needs approval"),
        ("limited", "{}", 429, "enough"),
        ("cancelled", "{}", 499, "the call was cancelled"),
        ("panics", "{}", 500, "the tool failed with an internal error"),
    ] {
        let reply = server.ask(call(method, params)).await;
        let found = reply.rpc_error(200, code);
        assert!(found.starts_with(message), "{method}: {found}");
        assert!(!reply.text().contains("src/secret.rs") && !reply.text().contains("operators only"), "{reply:?}");
    }
    let wrong = server.call("add", r#"{"a":1,"b":"x"}"#).await;
    assert_eq!(wrong["error"]["data"]["problems"][0]["pointer"], "/b", "{wrong}");
    let near = server.call("ad", "{}").await;
    assert_eq!(near["error"]["data"]["near"], json!(["add"]), "{near}");
}

// 6
#[tokio::test]
async fn wrong_method_and_unknown_path_get_a_json_rpc_body() {
    let server = serving().await;
    for (method, path, allowed) in [
        ("GET", "/opentool/call", "POST"),
        ("PUT", "/opentool/streamCall", "POST"),
        ("POST", "/opentool/version", "GET, HEAD"),
        ("DELETE", "/opentool/load", "GET, HEAD"),
        ("OPTIONS", "/opentool/call", "POST"),
        ("POST", "/healthz", "GET, HEAD"),
    ] {
        let reply = server.ask(request(method, path)).await;
        reply.rpc_error(405, 405);
        assert_eq!(reply.header("allow"), Some(allowed), "{path}");
    }
    for path in [
        "/",
        "/opentool",
        "/opentool/",
        "/opentool/Call",
        "/opentool/call/x",
        "/opentoolx/call",
        "/call",
        "/opentool/stop",
    ] {
        server.ask(post(path).body("{}")).await.rpc_error(404, 404);
    }
}

// 7
#[tokio::test]
async fn json_content_types_and_a_byte_order_mark_are_accepted() {
    let server = serving().await;
    for path in ["/opentool/version", "/opentool/load", "/healthz", "/readyz"] {
        assert_eq!(server.ask(get(path)).await.header("content-type"), Some("application/json"), "{path}");
    }
    let body = r#"{"method":"object","id":"1"}"#;
    for accepted in ["application/json", "application/json; charset=utf-8", "text/JSON", "application/vnd.x+json"] {
        let reply = server.ask(post("/opentool/call").header("Content-Type", accepted).body(body)).await;
        assert_eq!(reply.json()["result"], json!({"x": 1}), "{accepted}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    for refused in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let reply = server.ask(post("/opentool/call").header("Content-Type", refused).body(body)).await;
        reply.rpc_error(200, -32600);
        assert_eq!(reply.json()["id"], "1");
    }
    assert_eq!(ask(&server, &format!("\u{feff}{body}")).await["result"], json!({"x": 1}));
}

// 8
#[tokio::test]
async fn a_body_may_have_16_mib_and_not_one_byte_more() {
    let server = start(Server::new(FakeTool::new("f").answers("ok"))).await;
    let frame = r#"{"method":"f","id":"1","x":""}"#.len();
    let body = |length: usize| format!(r#"{{"method":"f","id":"1","x":"{}"}}"#, "x".repeat(length - frame));
    let reply = server.ask(post("/opentool/call").body(body(16 << 20))).await;
    assert_eq!(reply.json()["result"], json!({"result": "ok"}));
    let reply = server.ask(post("/opentool/call").body(body((16 << 20) + 1))).await;
    assert_eq!(reply.rpc_error(413, 413), "the body is larger than the 16777216 bytes allowed");
}

// 9: see `access`.

// 10
#[tokio::test]
async fn load_is_a_strict_document() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Tree {
        label: Option<String>,
        children: Vec<Tree>,
        anything: Value,
    }
    let tools = Toolbox::new().with(FnTool::new("plant", |_: Tree| ())).unwrap().with_title("Forest");
    let server =
        start(Server::new(tools).configure(|config| config.public_url("https://tools.example/opentool"))).await;
    let reply = server.ask(get("/opentool/load")).await;
    assert_eq!(reply.status, 200);
    let document = reply.json();
    assert!(!reply.text().contains("$ref"), "{document}");
    assert_eq!(document["opentool"], "1.1.0");
    assert_eq!(document["info"], json!({"title": "Forest", "version": "1.0.0"}));
    assert_eq!(document["server"]["url"], "https://tools.example/opentool");
    let function = &document["functions"][0];
    assert_eq!(function["name"], "plant");
    assert!(function.get("return").is_none(), "{function}");
    for parameter in function["parameters"].as_array().unwrap() {
        assert!(parameter["required"].is_boolean(), "{parameter}");
        strict(&parameter["schema"]);
    }
    // The same again: the document is written once and kept.
    assert_eq!(server.ask(get("/opentool/load")).await.body, reply.body);
}

// 10
#[tokio::test]
async fn load_names_the_public_url_or_the_documents_server() {
    let document = OpenTool::new(Info::new("Clock", "1.0.0")).function(Function::new("now", "The time."));
    let of = |url: &str| {
        let mut document = document.clone();
        document.server = Some(spec::ServerObject::new(url).described("main"));
        Toolbox::from_document(&document, |definition| FakeTool::new("now").with_definition(definition)).unwrap()
    };
    let server_of =
        |server: Server| async { start(server).await.ask(get("/opentool/load")).await.json()["server"].clone() };
    let named = of("https://clock.example/opentool");
    let expected = json!({"url": "https://clock.example/opentool", "description": "main"});
    assert_eq!(server_of(Server::new(named.clone())).await, expected);
    let configured = Server::new(named.clone()).configure(|config| config.public_url("https://tools.example"));
    assert_eq!(server_of(configured).await, json!({"url": "https://tools.example"}));
    let both = (named.prefix("a_").unwrap(), of("https://clock.example/opentool"));
    assert_eq!(server_of(Server::new(both)).await, Value::Null, "that server has not all of these");
    assert_eq!(server_of(Server::new(FakeTool::new("now"))).await, Value::Null);
}

fn strict(schema: &Value) {
    match schema["type"].as_str().unwrap_or_else(|| panic!("no type: {schema}")) {
        "object" => {
            let properties = schema["properties"].as_object().unwrap_or_else(|| panic!("no properties: {schema}"));
            properties.values().for_each(strict);
        }
        "array" => strict(&schema["items"]),
        _ => {}
    }
}

// 10
#[tokio::test]
async fn load_of_a_handler_without_a_document_is_empty() {
    let server = start(Server::new(Echo)).await;
    assert_eq!(server.ask(get("/opentool/load")).await.text(), "{}");
    assert_eq!(server.call("anything", r#"{"a":[1]}"#).await["result"], json!({"a": [1]}));
    assert_eq!(server.call("missing", "{}").await["error"]["message"], "Function Not Supported: missing");
}

// 11
#[tokio::test]
async fn the_prefix_may_be_doubled_changed_or_end_in_a_slash() {
    let server = serving().await;
    for path in ["/opentool/version", "/opentool/version/", "/opentool/opentool/version", "/opentool/version?x=1"] {
        let reply = server.ask(get(path)).await;
        assert_eq!((reply.status, reply.text()), (200, r#"{"version":"0.1.0"}"#), "{path}");
    }
    for path in ["/opentool/call/", "/opentool/opentool/call", "/opentool/opentool/call/"] {
        let reply = server.ask(post(path).body(r#"{"method":"scalar","id":"1"}"#)).await;
        assert_eq!(reply.json()["result"], json!({"result": 7}), "{path}");
    }
    for (prefix, path) in [("/my/tools/", "/my/tools/version"), ("", "/version"), ("/", "/version/")] {
        let server = start(Server::new(every_way()).configure(|config| config.prefix(prefix).version("7.8.9"))).await;
        assert_eq!(server.ask(get(path)).await.text(), r#"{"version":"7.8.9"}"#, "{path}");
        server.ask(get("/opentool/version")).await.rpc_error(404, 404);
        assert_eq!(server.ask(get("/healthz")).await.status, 200);
    }
}

// 11
#[tokio::test]
async fn a_public_address_needs_a_key_or_allow_anonymous() {
    let server = || Server::new(every_way());
    let refusal = server().bind("0.0.0.0:0").await.unwrap_err().to_string();
    assert!(refusal.contains("0.0.0.0:0") && refusal.contains("--insecure-no-auth"), "{refusal}");
    let refusal =
        server().configure(|config| config.admin_addr("0.0.0.0:0")).bind("127.0.0.1:0").await.unwrap_err().to_string();
    assert!(refusal.contains("0.0.0.0:0"), "{refusal}");
    drop(server().api_keys(["k"]).bind("0.0.0.0:0").await.unwrap());
    drop(server().allow_anonymous(true).bind("0.0.0.0:0").await.unwrap());
    drop(server().bind("127.0.0.1:0").await.unwrap());
}

#[tokio::test]
async fn binding_returns_what_is_wrong_with_the_settings() {
    let twice = Server::new((FakeTool::new("f"), FakeTool::new("f")));
    assert!(twice.bind("127.0.0.1:0").await.unwrap_err().to_string().contains("two tools are named `f`"));
    let taken = start(Server::new(Echo)).await;
    let refusal = Server::new(Echo).bind(taken.addr).await.unwrap_err().to_string();
    assert!(refusal.contains(&taken.addr.to_string()), "{refusal}");
    for (server, problem) in [
        (Server::new(Echo).api_keys(["planted secret"]), "API key `key-1` has a character"),
        (Server::new(Echo).api_keys([""]), "API key `key-1` is empty"),
        (Server::new(Echo).api_keys(["k"]).allow_anonymous(true), "`allow_anonymous`"),
        (Server::new(Echo).configure(|config| config.enable_stop(true)), "`enable_stop` needs an API key"),
        (Server::new(Echo).configure(|config| config.api_keys_file("/no/such/file")), "/no/such/file"),
    ] {
        let message = server.bind("127.0.0.1:0").await.unwrap_err().to_string();
        assert!(message.contains(problem) && !message.contains("planted"), "{message}");
    }
}

// 12: see `streams`. 14 belongs to the command line.

// 13
#[tokio::test]
async fn stop_is_off_unless_enabled_and_then_ends_the_server() {
    let server = start(Server::new(Echo).api_keys(["k"])).await;
    server.ask(post("/opentool/stop").key("k")).await.rpc_error(404, 404);

    let (sender, mut ran) = tokio::sync::mpsc::channel(1);
    let on_stop = move || {
        let sender = sender.clone();
        async move { sender.send(()).await.unwrap() }
    };
    let server =
        start(Server::new(Echo).api_keys(["k"]).configure(|config| config.enable_stop(true).on_stop(on_stop))).await;
    server.ask(post("/opentool/stop")).await.rpc_error(401, 401);
    assert!(!server.handle.is_draining());
    server.ask(get("/opentool/stop").key("k")).await.rpc_error(405, 405);
    let reply = server.ask(post("/opentool/stop").key("k")).await;
    assert_eq!((reply.status, reply.text()), (200, r#"{"status":"stopped"}"#));
    ran.try_recv().expect("the shutdown of the tools ran before the answer");
    server.ended().await;
}

// 15
#[tokio::test(start_paused = true)]
async fn the_default_deadline_is_below_the_timeout_of_clients() {
    let host = opentool_core::Executor::new().host(FakeTool::new("f").hangs());
    let before = tokio::time::Instant::now();
    let error = host.call("f", "{}").await.unwrap_err();
    assert_eq!(error.kind(), opentool_core::ErrorKind::Timeout);
    assert!(before.elapsed().as_secs() < 60);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = serving().await;
    let mut wire = server.connect().await;
    let both = [call("add", r#"{"a":1,"b":2}"#).bytes(), get("/opentool/version").bytes(), call("fails", "{}").bytes()];
    wire.send(both.concat()).await;
    assert_eq!(wire.reply().await.json()["result"], json!({"result": 3}));
    assert_eq!(wire.reply().await.text(), r#"{"version":"0.1.0"}"#);
    wire.reply().await.rpc_error(200, 500);
}

#[tokio::test]
async fn load_returns_the_functions_of_the_document() {
    let document = opentool_core::spec::OpenTool::new(Info::new("Calculator", "2.1.0"))
        .function(Function::new("add", "Add.").parameter(Parameter::new("a", Schema::integer()).described("First.")));
    let tools =
        Toolbox::from_document(&document, |definition| FakeTool::new("add").with_definition(definition)).unwrap();
    let server = start(Server::new(tools)).await;
    let loaded = server.ask(get("/opentool/load")).await.json();
    assert_eq!(loaded["functions"], serde_json::to_value(&document.functions).unwrap());
    assert_eq!(loaded["info"], json!({"title": "Calculator", "version": "2.1.0"}));
}
