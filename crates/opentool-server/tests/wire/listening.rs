//! Where a server listens: an address, a host with a port, or a listener that is bound already.

use std::net::{IpAddr, Ipv4Addr};

use opentool_server::{ServeError, Server};

use crate::client::{get, start_at};
use crate::tools::every_way;

#[tokio::test]
async fn a_server_listens_at_text_pairs_and_socket_addresses() {
    let localhost = IpAddr::from(Ipv4Addr::LOCALHOST);
    let servers = [
        start_at(Server::new(every_way()), "127.0.0.1:0").await,
        start_at(Server::new(every_way()), "127.0.0.1:0".to_owned()).await,
        start_at(Server::new(every_way()), ("127.0.0.1", 0)).await,
        start_at(Server::new(every_way()), ("localhost".to_owned(), 0)).await,
        start_at(Server::new(every_way()), (localhost, 0)).await,
        start_at(Server::new(every_way()), std::net::SocketAddr::from((localhost, 0))).await,
    ];
    for server in servers {
        assert_eq!(server.ask(get("/opentool/version")).await.status, 200);
    }
}

#[tokio::test]
async fn a_server_takes_a_listener_that_is_bound_already() {
    let blocking = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = blocking.local_addr().unwrap();
    let server = start_at(Server::new(every_way()), blocking).await;
    assert_eq!(server.addr, addr);
    assert_eq!(server.ask(get("/opentool/version")).await.status, 200);

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let server = start_at(Server::new(every_way()), listener).await;
    assert_eq!(server.addr, addr);
    assert_eq!(server.ask(get("/opentool/version")).await.status, 200);
    // It is a loopback address, so the checks of one apply.
    server.ask(get("/opentool/version").host("evil.example")).await.rpc_error(403, 403);
}

#[tokio::test]
async fn a_public_listener_needs_a_key_like_a_public_address() {
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    match Server::new(every_way()).bind(listener).await {
        Err(ServeError::OpenToAll { addr: refused }) => assert_eq!(refused, addr),
        other => panic!("{other:?}"),
    }
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let open = start_at(Server::new(every_way()).allow_anonymous(true), listener).await;
    assert_eq!(open.ask(get("/opentool/version").host("any.example")).await.status, 200);
}

#[tokio::test]
async fn an_address_that_cannot_be_bound_is_named_in_the_error() {
    for addr in ["no port", "127.0.0.1:99999", "no.such.host.invalid:1"] {
        let error = Server::new(every_way()).bind(addr).await.unwrap_err();
        assert!(matches!(error, ServeError::Bind { .. }) && error.to_string().contains(addr), "{error}");
    }
    let error = Server::new(every_way()).bind(("::1:2:3:4:5:6:7:8:9", 1)).await.unwrap_err().to_string();
    assert!(error.contains("[::1:2:3:4:5:6:7:8:9]:1"), "{error}");
}
