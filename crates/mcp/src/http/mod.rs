//! The server on a local port, for clients that cannot start a program.
//!
//! Whoever can connect can call: so it listens on this machine's own address alone, and refuses requests that a web
//! page could make a browser send, by their `Host` and `Origin`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use crate::server::Server;

/// Where the server is found.
pub const PATH: &str = "/mcp";
/// Pages of this machine, whatever port they are from.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
/// Threads for all clients together.
const THREADS: usize = 64;
const IDLE_THREAD: Duration = Duration::from_secs(1);
const A_MOMENT: Duration = Duration::from_millis(50);

/// Serves whoever connects to `address`, which must be this machine's own, for as long as the process lives. Says
/// through `listening` which port it got.
pub fn serve(server: &Server, address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    if !address.ip().is_loopback() {
        let why = format!("{address} can be reached from other machines; 127.0.0.1 or [::1] cannot");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(IDLE_THREAD)
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        listening(listener.local_addr()?);
        accept(server, &listener).await
    })
}

async fn accept(server: &Server, listener: &TcpListener) -> io::Result<()> {
    let server = server.clone();
    let config = StreamableHttpServerConfig::default().with_allowed_origins(ORIGINS);
    let sessions: Arc<LocalSessionManager> = Arc::default();
    let service = StreamableHttpService::new(move || Ok(server.session()), sessions, config);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // One that is gone already, or no file handle left: others may do better in a moment.
            tokio::time::sleep(A_MOMENT).await;
            continue;
        };
        let service = service.clone();
        let answer = service_fn(move |request: Request<Incoming>| {
            let service = service.clone();
            async move {
                if request.uri().path() == PATH {
                    return Ok::<_, Infallible>(service.handle(request).await.map(Either::Left));
                }
                let mut nothing = Response::new(Either::Right(Full::new(Bytes::from_static(b"not found\n"))));
                *nothing.status_mut() = StatusCode::NOT_FOUND;
                Ok(nothing)
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), answer);
        // A client that breaks off is its own affair.
        tokio::spawn(async move { drop(connection.await) });
    }
}
