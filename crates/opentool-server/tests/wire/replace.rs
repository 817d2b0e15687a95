//! Other tools and settings while the server runs.

use std::time::Duration;

use opentool_core::{Executor, FnTool, Toolbox};
use opentool_server::{ConfigBuilder, ConfigError, Server};
use serde_json::json;

use crate::client::{call, get, start};

fn tools(answer: &'static str) -> Toolbox {
    let slow = FnTool::new("slow", move || {
        std::thread::sleep(Duration::from_millis(300));
        answer
    });
    Toolbox::new().with(FnTool::new("who", move || answer)).unwrap().with(slow).unwrap()
}

#[tokio::test]
async fn the_next_request_has_the_new_tools_and_settings_and_a_running_one_the_old() {
    let server = start(Server::new(tools("old"))).await;
    let mut kept = server.connect().await;
    let mut slow = server.connect().await;
    kept.send(call("who", "{}").bytes()).await;
    assert_eq!(kept.reply().await.json()["result"], json!({ "result": "old" }));
    slow.send(call("slow", "{}").bytes()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;

    let config = ConfigBuilder::default().version("2.0.0").max_body(1000);
    server.reload.replace(&Executor::new().host(tools("new")), config).unwrap();
    kept.send(call("who", "{}").bytes()).await;
    assert_eq!(kept.reply().await.json()["result"], json!({ "result": "new" }), "on a connection that was open");
    kept.send(get("/opentool/version").bytes()).await;
    assert_eq!(kept.reply().await.json()["version"], "2.0.0");
    assert_eq!(slow.reply().await.json()["result"], json!({ "result": "old" }), "what ran is finished as it began");

    let config = ConfigBuilder::default().api_keys(["s3cret-key"]);
    server.reload.replace(&Executor::new().host(tools("new")), config).unwrap();
    kept.send(call("who", "{}").bytes()).await;
    assert_eq!(kept.reply().await.status, 401);
    let refused =
        server.reload.replace(&Executor::new().host(tools("x")), ConfigBuilder::default().allowed_origin("x"));
    assert!(matches!(refused, Err(ConfigError::Origin { .. })), "{refused:?}");
    kept.send(call("who", "{}").header("authorization", "s3cret-key").bytes()).await;
    assert_eq!(kept.reply().await.json()["result"], json!({ "result": "new" }), "what cannot be used changes nothing");
}

#[tokio::test]
async fn what_other_machines_reach_stays_closed_to_callers_without_a_key() {
    let bound = Server::new(tools("a")).api_keys(["s3cret-key"]).bind("0.0.0.0:0").await.unwrap();
    let refused = bound.reload_handle().replace(&Executor::new().host(tools("b")), ConfigBuilder::default());
    assert!(matches!(refused, Err(ConfigError::NoKeys)), "{refused:?}");
}
