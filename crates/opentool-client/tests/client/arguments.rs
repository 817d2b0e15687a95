//! Arguments that a narrowed schema would refuse or change.

use opentool_client::Client;
use opentool_core::{ErrorKind, Executor};

use crate::script::{Server, json, result};

/// The ways in which a document can say that a field may be null.
const FIELDS: [&str; 4] = [
    r#"{"type":"string","x-nullable":true}"#,
    r#"{"type":["string","null"]}"#,
    r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
    r#"{"type":"string","nullable":true}"#,
];

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
async fn null_reaches_a_remote_tool_that_allows_it() {
    for field in FIELDS {
        assert_eq!(sent(field, r#"{"field": null}"#).await.as_deref(), Ok(r#"{"field": null}"#), "{field}");
        assert_eq!(sent(field, r#"{"field": 7}"#).await, Err(ErrorKind::InvalidArguments), "{field}");
    }
}

#[tokio::test]
async fn integers_reach_a_remote_tool_as_the_text_sent() {
    for arguments in [r#"{"count": 1.0}"#, r#"{"count": 1e3}"#, r#"{"count":12345678901234567890123}"#] {
        assert_eq!(sent(FIELDS[0], arguments).await.as_deref(), Ok(arguments));
    }
    assert_eq!(sent(FIELDS[0], r#"{"count": 1.5}"#).await, Err(ErrorKind::InvalidArguments));
}
