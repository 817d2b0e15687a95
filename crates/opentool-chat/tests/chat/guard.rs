//! The guard that forbids real requests holds for the whole process, so it is tried in one of its own.

use std::process::Command;

use opentool_chat::provider::{OpenAi, permit_request};
use opentool_chat::testing::{Reply, ScriptedModel, forbid_requests};
use opentool_chat::{Cause, ChatClient};

#[test]
fn the_guard_forbids_real_models_only() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "guard::child", "--ignored", "--test-threads=1"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && printed.contains("1 passed"), "{printed}");
}

#[tokio::test]
#[ignore = "run by the test above, in a process of its own"]
async fn child() {
    assert!(permit_request("openai").is_ok());
    let (first, second) = (forbid_requests(), forbid_requests());
    drop(first);
    let refused = permit_request("openai").unwrap_err();
    assert!(matches!(refused.cause(), Cause::Forbidden { provider } if provider == "openai"));
    let real = ChatClient::new(OpenAi::new("tiny").base_url("http://127.0.0.1:9"));
    for asked in [real.prompt("hi").call().await, real.prompt("hi").stream().finish().await] {
        assert!(matches!(asked.unwrap_err().cause(), Cause::Forbidden { .. }));
    }
    let answer = ChatClient::new(ScriptedModel::new([Reply::text("hello")])).prompt("hi").call().await.unwrap();
    assert_eq!(answer.text(), "hello");
    drop(second);
    assert!(permit_request("openai").is_ok());
}
