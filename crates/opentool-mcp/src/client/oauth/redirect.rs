//! Where the browser comes back to after a login: [`RedirectListener`].

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use opentool_http::Url;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How long a browser may take to send its request.
const REQUEST: Duration = Duration::from_secs(10);

/// How many bytes the head of a request may have.
const MAX_HEAD: usize = 32 << 10;

const PATH: &str = "/callback";

const RECEIVED: &str = "You can close this page and go back to the terminal.";
const NOT_EXPECTED: &str =
    "This is not the answer to the login that is under way. Go back to the terminal for its URL.";
const NOTHING_HERE: &str = "There is nothing here.";

/// A port of this machine that no other machine can reach.
pub(super) struct RedirectListener {
    listener: TcpListener,
    uri: Url,
}

impl RedirectListener {
    /// Opens a port: the given one, otherwise one that is free.
    pub(super) async fn bind(port: Option<u16>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let uri = format!("http://{}{PATH}", listener.local_addr()?);
        Ok(Self { uri: Url::parse(&uri).map_err(io::Error::other)?, listener })
    }

    pub(super) fn uri(&self) -> &str {
        self.uri.as_str()
    }

    /// Waits until a browser comes with the state of the login, and returns the URL that it came with. Others, such as a page
    /// that tries its luck, change nothing.
    pub(super) async fn wait(&self, state: &str) -> io::Result<Url> {
        let (sender, mut came) = mpsc::channel(1);
        let expected = Arc::new(Expected { uri: self.uri.clone(), state: state.to_owned(), sender });
        // Dropping it ends them.
        let mut connections = JoinSet::new();
        let url = loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    connections.spawn(serve(accepted?.0, expected.clone()));
                }
                Some(url) = came.recv() => break url,
                Some(_) = connections.join_next() => {}
            }
        };
        // The page that says so is still on its way.
        let _ = tokio::time::timeout(REQUEST, async { while connections.join_next().await.is_some() {} }).await;
        Ok(url)
    }
}

struct Expected {
    uri: Url,
    state: String,
    sender: mpsc::Sender<Url>,
}

async fn serve(stream: TcpStream, expected: Arc<Expected>) {
    let service = service_fn(|request: Request<Incoming>| {
        let expected = expected.clone();
        async move { Ok::<_, Infallible>(expected.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .max_buf_size(MAX_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A browser that breaks off comes again.
    let _ = connection.await;
}

impl Expected {
    async fn answer(&self, request: &Request<Incoming>) -> Response<String> {
        if request.method() != Method::GET || request.uri().path() != PATH {
            return page(StatusCode::NOT_FOUND, NOTHING_HERE);
        }
        let mut url = self.uri.clone();
        url.set_query(request.uri().query());
        let is_expected = url.query_pairs().any(|(name, value)| name == "state" && value == self.state.as_str());
        if !is_expected || self.sender.try_send(url).is_err() {
            return page(StatusCode::BAD_REQUEST, NOT_EXPECTED);
        }
        page(StatusCode::OK, RECEIVED)
    }
}

fn page(status: StatusCode, text: &str) -> Response<String> {
    let mut response = Response::new(format!("{text}\n"));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    response
}
