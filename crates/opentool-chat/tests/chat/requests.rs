//! What a provider is given: tool definitions written once per request, and futures that can go to another thread.

use std::sync::{Arc, Mutex};

use opentool_chat::testing::{FunctionModel, Reply};
use opentool_chat::{ChatClient, ModelRequest};
use opentool_core::Toolbox;
use opentool_core::spec::schema::Target;
use opentool_core::testing::FakeTool;

use crate::support::Mode;

async fn a_list_of_a_thousand_tools_is_written_once_per_request(mode: Mode) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let model = FunctionModel::new(move |request: ModelRequest<'_>| {
        let list = request.tools.wire(Target::OpenAi).get();
        let mut seen = log.lock().unwrap();
        // The address of the text: a list that was written again would have another address, since this one still exists.
        seen.push((list.as_ptr() as usize, list.len()));
        let round = seen.len();
        if round < 10 { Reply::call("tool_7", format!(r#"{{"round":{round}}}"#)) } else { Reply::text("done") }
    });
    let tools = Toolbox::from_tools((0..1000).map(|n| FakeTool::new(&format!("tool_{n}")))).unwrap();
    mode.answer(ChatClient::new(model).prompt("hi").tools(tools)).await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 10);
    assert!(seen.iter().all(|list| *list == seen[0]), "{seen:?}");
    assert!(seen[0].1 > 100_000);
}

async fn turns_can_go_to_another_thread(mode: Mode) {
    let model = FunctionModel::new(|_: ModelRequest<'_>| Reply::text("hello"));
    let request = ChatClient::new(model).prompt("hi").tools(FakeTool::new("now"));
    let answer = tokio::spawn(async move { mode.answer(request).await }).await.unwrap();
    assert_eq!(answer.text(), "hello");
}

in_both_modes!(a_list_of_a_thousand_tools_is_written_once_per_request, turns_can_go_to_another_thread);
