//! What `/streamCall` may answer.

use futures_util::StreamExt;
use opentool_client::{Client, ClientError};

use crate::add;
use crate::script::{Reply, Server, Step, events, html, json};
use crate::time::SHORT;

/// The results as JSON, and the error that ended them.
async fn streamed(reply: Reply) -> (Vec<String>, Option<ClientError>) {
    let server = Server::start([reply]).await;
    let mut results = Vec::new();
    let mut stream = Client::new(server.url()).stream_call(add());
    while let Some(item) = stream.next().await {
        match item {
            Ok(returned) => {
                assert_eq!(returned.id, "1");
                results.push(serde_json::to_string(&returned.result).unwrap());
            }
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the last item");
                return (results, Some(error));
            }
        }
    }
    (results, None)
}

const WHOLE: &str = "event:start\ndata:{\"start\":\"add\"}\n\n\
    event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"n\":1},\"error\":null,\"id\":\"1\"}\n\n\
    event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"n\":2},\"error\":null,\"id\":\"1\"}\n\n\
    event:done\ndata:{\"done\":\"add\"}\n\n";

async fn gives_two_results(reply: Reply) {
    let (results, error) = streamed(reply).await;
    assert_eq!(results, [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn results_come_until_the_server_is_done() {
    let server = Server::start([events([WHOLE, "event:data\ndata:{\"result\":{\"n\":3}}\n\n"])]).await;
    let results: Vec<_> = Client::new(server.url()).api_key("k").stream_call(add()).collect().await;
    assert_eq!(results.len(), 2, "what comes after `done` does not count");
    let seen = server.only_request();
    assert_eq!((seen.line(), seen.header("authorization")), ("POST /opentool/streamCall", Some("Bearer k")));
    assert_eq!(seen.body, r#"{"jsonrpc":"2.0","method":"add","params":{"a":1,"b":2},"id":"1"}"#);
}

#[tokio::test]
async fn a_result_comes_before_the_next_one_is_ready() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let first = "event:data\ndata:{\"result\":{\"n\":1}}\n\n";
    let server = Server::start([vec![Step::Write(head.into()), Step::Write(first.into()), Step::Hang]]).await;
    let mut stream = Client::new(server.url()).stream_call(add());
    assert_eq!(stream.next().await.unwrap().unwrap().result["n"], 1);
    drop(stream);
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn frames_may_be_split_across_chunks() {
    let pieces = WHOLE.as_bytes().chunks(7).map(|piece| std::str::from_utf8(piece).unwrap());
    gives_two_results(events(pieces)).await;
}

#[tokio::test]
async fn frames_may_come_in_chunked_encoding() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream;charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunked = format!("{:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n", 50, &WHOLE[..50], WHOLE.len() - 50, &WHOLE[50..]);
    gives_two_results(vec![Step::Write(head.into()), Step::Write(chunked.into())]).await;
}

#[tokio::test]
async fn there_may_be_a_space_after_the_colon() {
    gives_two_results(events([WHOLE.replace("event:", "event: ").replace("\ndata:", "\ndata: ").as_str()])).await;
}

#[tokio::test]
async fn lines_may_end_with_crlf() {
    gives_two_results(events([WHOLE.replace('\n', "\r\n").as_str()])).await;
}

#[tokio::test]
async fn event_names_may_be_in_any_case() {
    gives_two_results(events([WHOLE.replace("event:data", "event:DATA").replace("event:done", "event:Done").as_str()]))
        .await;
}

#[tokio::test]
async fn the_end_of_the_stream_without_done_is_done() {
    gives_two_results(events([WHOLE.split("event:done").next().unwrap()])).await;
    gives_two_results(events([WHOLE.split("\n\nevent:done").next().unwrap()])).await;
    assert!(matches!(streamed(events([])).await, (results, None) if results.is_empty()));
}

#[tokio::test]
async fn error_data_may_be_a_json_rpc_body() {
    let frames = "event:data\ndata:{\"result\":{\"n\":1}}\n\n\
        event:error\ndata:{\"jsonrpc\":\"2.0\",\"result\":{},\"error\":{\"code\":17,\"message\":\"no\"},\"id\":\"1\"}\n\n";
    let (results, error) = streamed(events([frames])).await;
    assert_eq!(results, [r#"{"n":1}"#]);
    assert!(matches!(error, Some(ClientError::Call { code: Some(17), message, .. }) if message == "no"));
}

#[tokio::test]
async fn error_data_may_be_a_bare_code_and_message() {
    let frames = "event:ERROR\ndata:{\"code\":17,\"message\":\"no\",\"id\":\"1\"}\n\n";
    let (_, error) = streamed(events([frames])).await;
    assert!(matches!(error, Some(ClientError::Call { code: Some(17), message, .. }) if message == "no"));
}

#[tokio::test]
async fn error_data_may_be_a_text() {
    let (_, error) = streamed(events(["event:error\ndata:no\n\n"])).await;
    assert!(matches!(error, Some(ClientError::Call { code: None, message, .. }) if message == "no"));
}

#[tokio::test]
async fn an_error_in_a_data_frame_is_an_error() {
    let (_, error) = streamed(events(["event:data\ndata:{\"error\":{\"code\":17,\"message\":\"no\"}}\n\n"])).await;
    assert!(matches!(error, Some(ClientError::Call { code: Some(17), .. })), "{error:?}");
}

#[tokio::test]
async fn data_that_is_no_json_rpc_body_is_the_result_itself() {
    let frames = "data:{\"n\":1}\n\ndata:[1]\n\ndata:null\n\n";
    let (results, error) = streamed(events([frames])).await;
    assert_eq!(results, [r#"{"n":1}"#, r#"{"result":[1]}"#, "{}"]);
    assert!(error.is_none());
    let (_, error) = streamed(events(["event:data\ndata:{oops\n\n"])).await;
    assert!(matches!(error, Some(ClientError::ResponseNull { .. })), "{error:?}");
}

#[tokio::test]
async fn an_event_past_the_limit_is_refused() {
    let (small, large) = ("data:{\"n\":1}\n\n", format!("data:\"{}\"", "x".repeat(100)));
    for rest in [large.clone(), format!("{large}\n\n")] {
        for frames in [format!("{small}{rest}"), format!("{small}event:data\n{rest}")] {
            for reply in [events([frames.as_str()]), events([small, &frames[small.len()..]])] {
                let server = Server::start([reply]).await;
                let client = Client::new(server.url()).max_response_size(100);
                let results: Vec<_> = client.stream_call(add()).collect().await;
                assert_eq!(results[0].as_ref().unwrap().result["n"], 1);
                assert!(matches!(&results[1..], [Err(ClientError::TooLarge { limit: 100 })]), "{results:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_plain_answer_is_the_only_result() {
    let (results, error) = streamed(json(200, r#"{"result":{"n":1}}"#)).await;
    assert_eq!(results, [r#"{"n":1}"#]);
    assert!(error.is_none());
}

#[tokio::test]
async fn a_refusal_is_an_error() {
    let body = r#"{"error":{"code":405,"message":"Function Not Supported: add"}}"#;
    for (reply, expected) in [
        (json(200, body), r#"{"message":"Function Not Supported: add"}"#),
        (json(401, "{}"), r#"{"code":401,"message":"Please check API Key is VALID or NOT"}"#),
        (html(404), r#"{"code":404,"message":"Please check OpenTool Server is RUNNING or NOT"}"#),
        (html(200), r#"{"code":200,"message":"Response is null"}"#),
    ] {
        let (results, error) = streamed(reply).await;
        assert!(results.is_empty());
        assert_eq!(crate::json_of(&error.unwrap()), expected);
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_a_timeout() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let server = Server::start([vec![Step::Write(head.into()), Step::Hang]]).await;
    let mut stream = Client::new(server.url()).timeout(SHORT).stream_call(add());
    assert!(matches!(stream.next().await, Some(Err(ClientError::Timeout { .. }))));
    server.wait_for_closed(1).await;
}
