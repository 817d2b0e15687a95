//! Results through a chain of two servers: program, client, server, client, server, tool.
#![cfg(all(feature = "client", feature = "server", feature = "testing"))]
#![allow(clippy::unwrap_used)]

use opentool::prelude::*;
use opentool::server::ShutdownHandle;
use opentool::testing::FakeTool;
use opentool::{Annotations, Link, Part, Resource, RichOutput};
use serde_json::value::RawValue;

fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Serves tools and returns the URL.
async fn serve(tools: Toolbox) -> (String, ShutdownHandle) {
    let server = Server::new(tools).bind("127.0.0.1:0").await.unwrap();
    let (url, stop) = (format!("http://{}", server.local_addr().unwrap()), server.shutdown_handle());
    tokio::spawn(server.serve());
    (url, stop)
}

/// Calls the tool `f` behind two servers.
async fn through_two_servers(result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
    let tool = match result {
        Ok(output) => FakeTool::new("f").answers(output),
        Err(error) => FakeTool::new("f").fails(error),
    };
    let (inner, stop_inner) = serve(Toolbox::from_tools([tool]).unwrap()).await;
    let (outer, stop_outer) = serve(Client::new(&inner).toolbox().await.unwrap()).await;
    let remote = Client::new(&outer).toolbox().await.unwrap();
    let answered = Executor::new().host(remote).call("f", "{}").await;
    stop_outer.shutdown();
    stop_inner.shutdown();
    answered
}

fn parts() -> Vec<Part> {
    let link = Link::new("file:///report.pdf").with_name("report").with_title("Report").with_size(2048);
    vec![
        Part::text("12 to 14 degrees").with_annotations(Annotations::new().with_audience(["user"]).with_priority(0.8)),
        Part::raw_json(json(r#"{"n": 12345678901234567890123, "x": 1.50}"#)),
        Part::media("image/png", "aGk="),
        Part::from(link),
        Part::from(Resource::blob("file:///b", "aGk=").with_meta(json(r#"{"etag":"7"}"#))),
        Part::text("t").with_meta(json(r#"{"k": 1}"#)),
    ]
}

#[tokio::test]
async fn rich_output_is_the_same_behind_two_servers() {
    let rich = RichOutput::new().with_structured(json(r#"{"low": 12, "high": 14.0}"#)).with_meta(json(r#"{"m": [1]}"#));
    let rich = parts().into_iter().fold(rich, RichOutput::with_part);
    for output in [ToolOutput::from(rich), ToolOutput::Parts(parts()), ToolOutput::from(RichOutput::new())] {
        assert_eq!(through_two_servers(Ok(output.clone())).await.unwrap(), output);
    }
}

#[tokio::test]
async fn the_output_of_an_error_is_the_same_behind_two_servers() {
    let error = ToolError::failed("no such city").with_output(ToolOutput::Parts(parts()));
    let found = through_two_servers(Err(error.clone())).await.unwrap_err();
    assert_eq!((found.message(), found.output()), (error.message(), error.output()));
}
