//! The crates together, through the facade only.
#![cfg(all(feature = "client", feature = "macros", feature = "server"))]
#![allow(clippy::unwrap_used)]

use opentool::prelude::*;

struct Clock;

#[toolbox]
impl Clock {
    /// Get the current date and time in the user's time zone.
    #[tool]
    fn current_date_time(&self) -> String {
        "2026-11-15T12:00:00+01:00".to_owned()
    }
}

#[tokio::test]
async fn tools_that_one_program_serves_are_tools_of_another() {
    let server = Server::new(Clock).api_keys(["s3cret"]).bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let stop = server.shutdown_handle();
    let serving = tokio::spawn(server.serve());

    let remote = Client::new(&url).api_key("s3cret").toolbox().await.unwrap();
    let host = Executor::new().host((remote, FnTool::new("ping", || "pong")));
    assert_eq!(host.call("current_date_time", "{}").await.unwrap().to_text(), "2026-11-15T12:00:00+01:00");
    assert_eq!(host.call("ping", "{}").await.unwrap().to_text(), "pong");
    assert!(matches!(Client::new(&url).toolbox().await, Err(ClientError::Unauthorized)));

    stop.shutdown();
    serving.await.unwrap();
}
