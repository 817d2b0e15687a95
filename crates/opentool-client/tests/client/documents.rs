//! What `/load` may answer.

use opentool_client::{Client, ClientError, OpenTool};

use crate::script::{Reply, Server, html, json, reply};

async fn loaded(reply: Reply) -> Result<Option<OpenTool>, ClientError> {
    let server = Server::start([reply]).await;
    Client::new(server.url()).retries(0).load().await
}

#[tokio::test]
async fn a_document_is_read() {
    let document = r#"{"opentool":"1.1.0","info":{"title":"T","version":"1"},"functions":
        [{"name":"now","description":"The time.","parameters":[]}]}"#;
    let server = Server::start([json(200, document)]).await;
    let loaded = Client::new(server.url()).load().await.unwrap().unwrap();
    assert_eq!(loaded.functions[0].name, "now");
    assert_eq!(server.only_request().line(), "GET /opentool/load");
}

#[tokio::test]
async fn an_empty_object_is_no_document() {
    assert!(loaded(json(200, "{}")).await.unwrap().is_none());
}

#[tokio::test]
async fn an_empty_body_is_no_document() {
    assert!(loaded(json(200, "")).await.unwrap().is_none());
    assert!(
        loaded(vec![crate::script::Step::Write("HTTP/1.1 204 No Content\r\n\r\n".into())]).await.unwrap().is_none()
    );
}

#[tokio::test]
async fn null_is_no_document() {
    assert!(loaded(json(200, "null")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_code_of_404_is_no_document() {
    for status in [200, 404] {
        assert!(loaded(json(status, r#"{"code":404,"message":"Not Found"}"#)).await.unwrap().is_none(), "{status}");
    }
    let body = r#"{"jsonrpc":"2.0","result":{},"error":{"code":404,"message":"Not Found"},"id":null}"#;
    assert!(loaded(json(404, body)).await.unwrap().is_none());
}

#[tokio::test]
async fn html_is_no_document() {
    for status in [200, 404, 405] {
        assert!(loaded(html(status)).await.unwrap().is_none(), "{status}");
    }
}

#[tokio::test]
async fn a_failing_server_is_not_one_without_a_document() {
    assert!(matches!(loaded(html(502)).await, Err(ClientError::NoAccess { status: Some(502), .. })));
    assert!(matches!(loaded(html(403)).await, Err(ClientError::NoAccess { status: Some(403), .. })));
    assert!(matches!(loaded(json(500, "{}")).await, Err(ClientError::ErrorNull { status: 500 })));
    let refusal = loaded(json(200, r#"{"code":500,"message":"broken"}"#)).await;
    assert!(matches!(refusal, Err(ClientError::Call { code: Some(500), .. })), "{refusal:?}");
}

#[tokio::test]
async fn an_object_that_is_no_document_is_an_error() {
    let error = loaded(json(200, r#"{"hello":"world"}"#)).await.unwrap_err();
    assert_eq!(error.to_string(), "the server's document cannot be read: it has neither `opentool` nor `functions`");
    let error = loaded(json(200, r#"{"opendyn":"1.0.0","functions":[]}"#)).await.unwrap_err();
    assert!(matches!(error, ClientError::InvalidDocument { .. }), "{error:?}");
}

#[tokio::test]
async fn a_document_with_nulls_for_absent_fields_is_read() {
    let document = r#"{"opentool":"1.0.0","info":{"title":"T","description":null,"version":"1"},"server":null,"schemas":null,
        "functions":[{"name":"f","description":"d","return":null,"parameters":[{"name":"a","description":null,
        "required":true,"schema":{"type":"string","description":null,"properties":null,"items":null,"enum":null,"required":null,
        "$ref":null}}]}]}"#;
    let function = &loaded(json(200, document)).await.unwrap().unwrap().functions[0];
    assert!(function.returns.is_none() && function.parameters[0].schema.values.is_none());
}

#[tokio::test]
async fn a_document_with_schemas_without_a_type_is_read() {
    let document = r#"{"opentool":"1.0.0","info":{"title":"T","version":"1"},"functions":[{"name":"f","description":"d",
        "parameters":[{"name":"a","schema":{},"required":true},{"name":"b","schema":{"description":"x"},"required":false}]}]}"#;
    assert_eq!(loaded(json(200, document)).await.unwrap().unwrap().functions[0].parameters.len(), 2);
}

#[tokio::test]
async fn a_document_with_enums_as_strings_on_an_integer_is_read() {
    let document = r#"{"opentool":"1.0.0","info":{"title":"T","version":"1"},"functions":[{"name":"f","description":"d",
        "parameters":[{"name":"a","schema":{"type":"integer","enum":["1","2"]},"required":true}]}]}"#;
    let server = Server::start([json(200, document)]).await;
    let toolbox = Client::new(server.url()).toolbox().await.unwrap();
    let schema = toolbox.get("f").unwrap().definition().input_schema();
    assert_eq!(schema["properties"]["a"]["enum"], serde_json::json!([1, 2]));
}

#[tokio::test]
async fn a_document_of_an_older_generation_is_read() {
    let document = r#"{"opentool":"1.0.0","info":{"title":"T","version":"1"},"functions":[{"name":"half","description":"d",
        "parameters":{"type":"object","properties":{"x":{"type":"double","required":true}}}}]}"#;
    let function = &loaded(reply(200, "text/plain", document)).await.unwrap().unwrap().functions[0];
    assert!(function.parameters[0].required);
}
