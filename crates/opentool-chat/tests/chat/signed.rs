//! A run that waits where others can write: what they change is refused.

use std::time::Duration;

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatModel, RunState};
use opentool_core::{Ask, Decision, Executor, FnTool, SignedStateError, StateSigner, Turn};

const BOUND_TO: &str = "ann/conversation-7/step-1";

fn client() -> ChatClient {
    let model = ScriptedModel::new([Reply::call("pay", r#"{"amount":10}"#), Reply::text("paid")]);
    let executor = Executor::builder().approval(Ask::later().for_destructive(true)).build();
    ChatClient::builder(ChatModel::builder(model).executor(executor).build())
        .default_tools(FnTool::new("pay", || "paid").destructive())
        .build()
}

#[tokio::test]
async fn a_signed_run_is_resumed_only_as_it_was_stored() {
    let (client, signer) = (client(), StateSigner::new([7; 32]).unwrap());
    let waiting = client.prompt("Pay.").call().await.unwrap();
    let stored = signer.sign(waiting.run_state().unwrap(), BOUND_TO, Duration::from_secs(60)).unwrap();

    let approved = stored.replace(r#"{"pending":null}"#, r#"{"pending":"approve"}"#);
    let dearer = stored.replace("10", "99");
    assert!(approved != stored && dearer != stored, "{stored}");
    for changed in [&approved, &dearer] {
        let refused = signer.verify::<RunState>(changed, BOUND_TO).unwrap_err();
        assert!(matches!(refused, SignedStateError::Forged), "{refused}");
    }
    assert!(signer.verify::<RunState>(&stored, "bob/conversation-7/step-1").is_err());
    assert!(signer.verify::<RunState>(&stored, "ann/conversation-7/step-2").is_err(), "nor at a later step");
    assert!(signer.verify::<Turn>(&stored, BOUND_TO).is_err(), "a run is no turn");

    let state: RunState = signer.verify(&stored, BOUND_TO).unwrap();
    let call = state.pending().next().unwrap().id.clone();
    let answer = client.resume(state).decide(&call, Decision::Approve).call().await.unwrap();
    assert_eq!(answer.text(), "paid");
}
