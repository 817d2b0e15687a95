//! Arguments that a narrowed schema would refuse or change.

use opentool_client::Client;
use opentool_core::{ErrorKind, Executor};

use crate::script::{Server, json, result};

const FIELD: &str = r#"{"type":"string"}"#;

fn document(field: &str) -> String {
    format!(
        r#"{{"opentool":"1.1.0","info":{{"title":"T","version":"1"}},"functions":[{{"name":"patch","description":"Patch.",
        "parameters":[{{"name":"field","schema":{field},"required":false}},
        {{"name":"count","schema":{{"type":"integer"}},"required":false}}]}}]}}"#
    )
}

/// The params that reach the server; none if the call is refused before it is sent.
async fn sent(field: &str, arguments: &str) -> Result<String, ErrorKind> {
    let server = Server::start([json(200, &document(field)), result("{}")]).await;
    let host = Executor::new().host(Client::new(server.url()));
    host.call("patch", arguments).await.map_err(|error| error.kind())?;
    let body = server.seen()[1].body.clone();
    let params = body.split_once(r#""params":"#).unwrap().1;
    Ok(params.rsplit_once(r#","id""#).unwrap().0.to_owned())
}

#[tokio::test]
async fn integers_reach_a_remote_tool_as_the_text_sent() {
    for arguments in [r#"{"count": 1.0}"#, r#"{"count": 1e3}"#, r#"{"count":12345678901234567890123}"#] {
        assert_eq!(sent(FIELD, arguments).await.as_deref(), Ok(arguments));
    }
    assert_eq!(sent(FIELD, r#"{"count": 1.5}"#).await, Err(ErrorKind::InvalidArguments));
}
