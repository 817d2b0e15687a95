//! Dropping a stream or a call ends the request.

use futures_util::StreamExt;
use opentool_chat::{ChatOptions, Delta, Message, ModelRequest, ToolDefinitions};

use super::server::{Reply, Server, Then};
use super::support::ALL;

#[tokio::test]
async fn dropping_a_slow_stream_closes_the_connection() {
    for wire in ALL {
        let body = wire.streamed("", "Hello there", &[]);
        let begun = Reply::unfinished(wire.media_type(), [&body.as_bytes()[..body.len() / 2]]).then(Then::Hang);
        let server = Server::start([begun]).await;
        let provider = wire.provider(&server.url());
        let (options, tools, messages) = (ChatOptions::new(), ToolDefinitions::default(), [Message::user("Hello?")]);
        let mut stream = provider.stream(ModelRequest::new(&messages, &options, &tools));
        assert!(matches!(stream.next().await, Some(Ok(Delta::Begin { .. }))));
        drop(stream);
        server.wait_for_closed(1).await;
    }
}

#[tokio::test]
async fn dropping_a_call_closes_the_connection() {
    for wire in ALL {
        let server = Server::start([Reply::silence()]).await;
        let provider = wire.provider(&server.url());
        let (options, tools, messages) = (ChatOptions::new(), ToolDefinitions::default(), [Message::user("Hello?")]);
        let call = provider.call(ModelRequest::new(&messages, &options, &tools));
        tokio::select! {
            answered = call => panic!("{answered:?}"),
            () = server.wait_for_requests(1) => {}
        }
        server.wait_for_closed(1).await;
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    for wire in ALL {
        let server = Server::start([wire.whole("Hi")]).await;
        let provider = wire.provider(&server.url());
        let (options, tools, messages) = (ChatOptions::new(), ToolDefinitions::default(), [Message::user("Hello?")]);
        drop(provider.stream(ModelRequest::new(&messages, &options, &tools)));
        drop(provider.call(ModelRequest::new(&messages, &options, &tools)));
        assert_eq!(server.connections(), 0);
    }
}
