//! What `/call` and `/version` may answer.

use opentool_client::{Client, ClientError};
use serde_json::json as value;

use crate::script::{self, Server, Step, html, json, reply, result};
use crate::{add, call_answered, json_of};

#[tokio::test]
async fn a_result_that_is_an_object_is_returned() {
    assert_eq!(call_answered(result(r#"{"sum":3}"#)).await.unwrap(), r#"{"sum":3}"#);
}

#[tokio::test]
async fn a_json_rpc_error_is_read_whatever_the_status() {
    for status in [200, 201, 400, 403, 404, 405, 413, 500, 502, 503] {
        let body = r#"{"jsonrpc":"2.0","result":{},"error":{"code":17,"message":"no","data":[1]},"id":"1"}"#;
        let error = call_answered(json(status, body)).await.unwrap_err();
        let ClientError::Call { message, code, data, .. } = &error else { panic!("{status}: {error:?}") };
        assert_eq!((message.as_str(), *code, data), ("no", Some(17), &Some(value!([1]))), "{status}");
        assert_eq!(json_of(&error), r#"{"message":"no"}"#);
    }
}

#[tokio::test]
async fn the_content_type_of_a_json_rpc_body_does_not_matter() {
    let body = r#"{"result":{"sum":3}}"#;
    assert_eq!(call_answered(reply(200, "text/plain", body)).await.unwrap(), r#"{"sum":3}"#);
    assert_eq!(call_answered(reply(200, "text/html", &format!("\u{feff} {body}\n"))).await.unwrap(), r#"{"sum":3}"#);
}

#[tokio::test]
async fn an_absent_result_is_no_value() {
    assert_eq!(call_answered(json(200, r#"{"jsonrpc":"2.0","error":null,"id":"1"}"#)).await.unwrap(), "{}");
    assert_eq!(call_answered(json(200, "{}")).await.unwrap(), "{}");
}

#[tokio::test]
async fn a_null_result_is_no_value() {
    assert_eq!(call_answered(result("null")).await.unwrap(), "{}");
}

#[tokio::test]
async fn a_scalar_result_is_put_into_an_object() {
    for scalar in ["3", "\"three\"", "true", "1.5"] {
        assert_eq!(call_answered(result(scalar)).await.unwrap(), format!(r#"{{"result":{scalar}}}"#));
    }
}

#[tokio::test]
async fn an_array_result_is_put_into_an_object() {
    assert_eq!(call_answered(result("[1,2]")).await.unwrap(), r#"{"result":[1,2]}"#);
}

#[tokio::test]
async fn an_absent_error_is_none() {
    assert_eq!(
        call_answered(json(200, r#"{"jsonrpc":"2.0","result":{"sum":3},"id":"1"}"#)).await.unwrap(),
        r#"{"sum":3}"#
    );
}

#[tokio::test]
async fn the_id_of_an_answer_may_be_anything() {
    for id in [r#""""#, "null", "7", r#""another""#, "[1]"] {
        let body = format!(r#"{{"jsonrpc":"2.0","result":{{"sum":3}},"error":null,"id":{id}}}"#);
        assert_eq!(call_answered(json(200, &body)).await.unwrap(), r#"{"sum":3}"#, "{id}");
    }
}

#[tokio::test]
async fn the_protocol_version_of_an_answer_may_be_anything() {
    for version in [r#""2.0.0""#, r#""1.0""#, "2", "null"] {
        let body = format!(r#"{{"jsonrpc":{version},"result":{{"sum":3}},"id":"1"}}"#);
        assert_eq!(call_answered(json(200, &body)).await.unwrap(), r#"{"sum":3}"#, "{version}");
    }
}

#[tokio::test]
async fn an_error_message_that_is_the_json_of_an_error_is_unwrapped() {
    let error = call_answered(script::error(500, r#"{"code":404,"message":"no such city"}"#)).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Call { message, code: Some(404), .. } if message == "no such city"),
        "{error:?}"
    );
    // The data of the inner error goes before that of the outer one.
    for (inner, data) in [("", r#"{"outer":1}"#), (r#","data":{"inner":2}"#, r#"{"inner":2}"#)] {
        let message = serde_json::Value::from(format!(r#"{{"code":404,"message":"m"{inner}}}"#));
        let body = format!(r#"{{"result":{{}},"error":{{"code":500,"message":{message},"data":{{"outer":1}}}}}}"#);
        let error = call_answered(json(200, &body)).await.unwrap_err();
        let ClientError::Call { data: Some(given), code: Some(404), .. } = &error else { panic!("{error:?}") };
        assert_eq!(given.to_string(), data);
    }
    for plain in [r#"{"code":"x","message":"m"}"#, r#"{"message":"m"}"#, r#"{"code":1}"#, "[1]", "{"] {
        let error = call_answered(script::error(500, plain)).await.unwrap_err();
        assert!(matches!(&error, ClientError::Call { message, code: Some(500), .. } if message == plain), "{error:?}");
    }
}

#[tokio::test]
async fn an_error_of_any_shape_is_an_error() {
    for (shape, message, code) in [
        (r#""plain text""#, "plain text", None),
        (r#"{"message":"m"}"#, "m", None),
        (r#"{"code":"404","message":"m"}"#, "m", Some(404)),
        (r#"{"code":404.0,"message":"m"}"#, "m", Some(404)),
        (r#"{"code":99999999999,"message":"m"}"#, "m", None),
        (r#"{"code":1,"message":{"why":"x"}}"#, r#"{"why":"x"}"#, Some(1)),
        (r#"{"code":1}"#, "the server gave no reason", Some(1)),
        ("true", "true", None),
    ] {
        let error = call_answered(json(200, &format!(r#"{{"result":{{}},"error":{shape}}}"#))).await.unwrap_err();
        let ClientError::Call { message: said, code: with, .. } = &error else { panic!("{error:?}") };
        assert_eq!((said.as_str(), *with), (message, code), "{shape}");
    }
}

#[tokio::test]
async fn a_result_of_only_code_and_message_is_an_error_by_default() {
    let disguised = r#"{"code":405,"message":"Function Not Supported: add"}"#;
    let error = call_answered(result(disguised)).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Call { message, code: Some(405), .. } if message == "Function Not Supported: add")
    );

    let server = Server::start([result(disguised)]).await;
    let returned = Client::new(server.url()).errors_in_results(false).call(add()).await.unwrap();
    assert_eq!(serde_json::to_string(&returned.result).unwrap(), disguised);
}

#[tokio::test]
async fn a_result_with_more_or_other_than_code_and_message_is_a_result() {
    for plain in [
        r#"{"code":399,"message":"m"}"#,
        r#"{"code":"405","message":"m"}"#,
        r#"{"code":405,"message":1}"#,
        r#"{"code":405}"#,
        r#"{"code":405,"message":"m","more":1}"#,
    ] {
        assert_eq!(call_answered(result(plain)).await.unwrap(), plain);
    }
    assert_eq!(call_answered(result(r#"[405,"m"]"#)).await.unwrap(), r#"{"result":[405,"m"]}"#);
}

#[tokio::test]
async fn a_good_status_with_nothing_to_read_is_response_null() {
    for body in ["", "  ", "null", "3", "[]", "<html>", "{", "{\"result\":"] {
        let error = call_answered(json(202, body)).await.unwrap_err();
        assert!(matches!(error, ClientError::ResponseNull { status: 202 }), "{body}: {error:?}");
        assert_eq!(json_of(&error), r#"{"code":202,"message":"Response is null"}"#);
    }
}

#[tokio::test]
async fn a_bad_status_with_an_object_that_has_no_error_is_error_null() {
    for body in ["{}", r#"{"jsonrpc":"2.0","result":{"sum":3},"error":null,"id":"1"}"#, r#"{"detail":"x"}"#] {
        let error = call_answered(json(500, body)).await.unwrap_err();
        assert!(matches!(error, ClientError::ErrorNull { status: 500 }), "{body}: {error:?}");
        assert_eq!(json_of(&error), r#"{"code":500,"message":"Error is null"}"#);
    }
}

#[tokio::test]
async fn a_refused_key_is_unauthorized_whatever_the_body() {
    let body = r#"{"jsonrpc":"2.0","result":{},"error":{"code":401,"message":"Unauthorized"},"id":null}"#;
    for reply in [json(401, body), json(401, "{}"), json(401, ""), html(401)] {
        let server = Server::start([reply]).await;
        let client = Client::new(server.url()).api_key("wrong");
        let errors = [
            client.call(add()).await.unwrap_err(),
            client.version().await.unwrap_err(),
            client.load().await.unwrap_err(),
            client.stop().await.unwrap_err(),
            client.toolbox().await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, ClientError::Unauthorized), "{error:?}");
            assert_eq!(json_of(&error), r#"{"code":401,"message":"Please check API Key is VALID or NOT"}"#);
        }
    }
}

#[tokio::test]
async fn any_other_status_without_a_json_rpc_body_is_no_access() {
    for status in [302, 400, 403, 404, 500, 502] {
        let error = call_answered(html(status)).await.unwrap_err();
        assert!(matches!(error, ClientError::NoAccess { status: Some(s), .. } if s == status), "{error:?}");
        assert_eq!(json_of(&error), r#"{"code":404,"message":"Please check OpenTool Server is RUNNING or NOT"}"#);
        assert!(error.to_string().contains(&format!("HTTP {status}")), "{error}");
    }
}

#[tokio::test]
async fn a_missing_server_is_no_access() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("http://{unused}"), "http://no-such-host.invalid:9627".to_owned()] {
        let error = Client::new(&url).retries(0).call(add()).await.unwrap_err();
        assert!(matches!(error, ClientError::NoAccess { status: None, .. }), "{error:?}");
        assert!(
            error.to_string().starts_with(&format!("no OpenTool server could be reached at {url}/opentool: ")),
            "{error}"
        );
        assert_eq!(json_of(&error), r#"{"code":404,"message":"Please check OpenTool Server is RUNNING or NOT"}"#);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_no_access() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"result\"";
    for steps in [vec![Step::Close], vec![Step::Write(half.into()), Step::Close]] {
        let error = call_answered(steps).await.unwrap_err();
        assert!(matches!(error, ClientError::NoAccess { status: None, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_past_the_limit_is_not_read_to_its_end() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    let endless = vec![Step::Write(head.into()), Step::Write(chunk.repeat(4).into()), Step::Hang];
    let server = Server::start([endless]).await;
    let error = Client::new(server.url()).max_response_size(10_000).call(add()).await.unwrap_err();
    assert!(matches!(error, ClientError::TooLarge { limit: 10_000 }), "{error:?}");
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn a_version_is_read_under_either_name_and_in_any_form() {
    for (body, version) in [
        (r#"{"version":"1.2.3"}"#, "1.2.3"),
        (r#"{"versionNumber":"1.2.3"}"#, "1.2.3"),
        (r#"{"version":"main","build":7}"#, "main"),
        (r#"{"version":2}"#, "2"),
    ] {
        let server = Server::start([json(200, body)]).await;
        assert_eq!(Client::new(server.url()).version().await.unwrap().version, version);
        assert_eq!(server.only_request().line(), "GET /opentool/version");
    }
}

#[tokio::test]
async fn no_version_is_response_null() {
    for body in ["", "null", "3", "[]", "{}", r#"{"version":null}"#, "<html>"] {
        let server = Server::start([json(200, body)]).await;
        let error = Client::new(server.url()).version().await.unwrap_err();
        assert!(matches!(error, ClientError::ResponseNull { status: 200 }), "{body}: {error:?}");
    }
}

#[tokio::test]
async fn stopping_takes_a_good_status_for_an_answer() {
    for body in [r#"{"status":"stopped"}"#, ""] {
        let server = Server::start([json(200, body)]).await;
        Client::new(server.url()).stop().await.unwrap();
        assert_eq!(server.only_request().line(), "POST /opentool/stop");
    }
    let server = Server::start([json(404, r#"{"error":{"code":404,"message":"Not Found"}}"#)]).await;
    let error = Client::new(server.url()).stop().await.unwrap_err();
    assert!(matches!(error, ClientError::Call { code: Some(404), .. }), "{error:?}");
}
