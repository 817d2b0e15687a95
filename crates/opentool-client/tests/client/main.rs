//! The client against a server that follows a script, over a real socket, byte by byte.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod arguments;
mod documents;
mod outputs;
mod requests;
mod retries;
mod script;
mod secrets;
mod streams;
mod time;
mod tls;
mod tools;
mod watched;

use opentool_client::{Client, ClientError, FunctionCall};
use serde_json::Value;

/// A call of a function `add` with two arguments.
fn add() -> FunctionCall {
    FunctionCall::new("1", "add", object(r#"{"a":1,"b":2}"#))
}

fn object(text: &str) -> serde_json::Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

/// The result of a call that a scripted server answers with this.
async fn call_answered(reply: script::Reply) -> Result<String, ClientError> {
    let server = script::Server::start([reply]).await;
    let returned = Client::new(server.url()).call(add()).await?;
    assert_eq!(returned.id, "1");
    Ok(serde_json::to_string(&returned.result).unwrap())
}

fn json_of(error: &ClientError) -> String {
    serde_json::to_string(error).unwrap()
}
