//! The server on a local port, for clients that cannot start a program.
//!
//! Any process that can connect could call, and a page could make a browser do so: it listens on this machine's own address
//! alone, every request needs the token that is printed at the start, and `Host` and `Origin` are checked. Sessions,
//! connections and bodies are bounded.

mod delivery;
mod guard;
mod sessions;
mod strangers;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::handover::Slot;
use crate::server::Server;
pub use delivery::Reporting;
use delivery::{Outbox, Receipt};
use guard::Refusal;
use sessions::{Room, Sessions, Use};
use strangers::{Stranger, Strangers};

/// Where the server is found.
pub const PATH: &str = "/mcp";
/// Pages of this machine, whatever port they are from.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
/// What names a session in requests and answers.
const SESSION: &str = "mcp-session-id";
/// Threads for all clients together.
const THREADS: usize = 64;
const IDLE_THREAD: Duration = Duration::from_secs(1);
const A_MOMENT: Duration = Duration::from_millis(50);
/// Connections at the same time.
const CONNECTIONS: usize = 256;
/// The largest body of a request; the largest message is smaller.
const LARGEST_BODY: usize = 4 * 1024 * 1024;
/// How long the head of a request may take to come, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);
/// A session that nobody uses for so long ends.
const IDLE_SESSION: Duration = Duration::from_secs(30 * 60);

/// What is said to a connection that is one too many.
const TOO_MANY: &str = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\
     {\"error\":{\"code\":\"too_many_connections\",\"message\":\"all connections are in use; try again later\"}}";

/// Serves clients that have the token on `address`, which must be this machine's own, for as long as the process lives.
/// Says through `listening` which port it got.
pub fn serve(
    server: &Server,
    address: SocketAddr,
    token: &str,
    listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
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
        let front = Front { endpoint: Endpoint::new(server), token: token.into() };
        accept(&front, &listener).await
    })
}

async fn accept(front: &Front, listener: &TcpListener) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let strangers: Arc<Strangers> = Arc::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // One that is gone already, or no file handle left: others may do better in a moment.
            tokio::time::sleep(A_MOMENT).await;
            continue;
        };
        let mut place = places.clone().try_acquire_owned().ok();
        if place.is_none() && strangers.evict_oldest() {
            // Nobody closes it.
            place = places.clone().acquire_owned().await.ok();
        }
        match place {
            Some(place) => serve_connection(front.clone(), stream, place, Arc::new(strangers.enter())),
            // Whether it hears that or not, it is closed.
            None => drop(stream.try_write(TOO_MANY.as_bytes())),
        }
    }
}

fn serve_connection(front: Front, stream: TcpStream, place: OwnedSemaphorePermit, stranger: Arc<Stranger>) {
    let outbox = Outbox::default();
    let stream = Reporting::new(stream, outbox.clone());
    let caller = stranger.clone();
    let answer = service_fn(move |request: Request<Incoming>| {
        let (front, caller, receipt) = (front.clone(), caller.clone(), Receipt::new(outbox.clone()));
        async move {
            let answer = front.answer(request, &caller, receipt).await;
            Ok::<_, Infallible>(answer.unwrap_or_else(refused))
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), answer);
    tokio::spawn(async move {
        tokio::select! {
            // A client that breaks off is its own affair.
            _ = connection => {}
            () = stranger.evicted() => {}
        }
        drop(place);
    });
}

/// What stands before the service: it lets pass who may call.
#[derive(Clone)]
struct Front {
    endpoint: Endpoint,
    token: Arc<str>,
}

impl Front {
    async fn answer(
        &self,
        request: Request<Incoming>,
        caller: &Stranger,
        receipt: Receipt,
    ) -> Result<Response<Answer>, Refusal> {
        guard::check(request.uri(), request.headers(), &self.token)?;
        caller.become_known();
        if request.uri().path() != PATH {
            return Err(Refusal::Path);
        }
        self.endpoint.answer(request, receipt).await
    }
}

/// The service for requests that may pass, with a count of the sessions. Clones are the same one.
#[derive(Clone)]
pub struct Endpoint {
    service: StreamableHttpService<Server, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    sessions: Arc<Sessions>,
}

/// A connection of another server that has this service at [`PATH`].
#[derive(Debug, Clone, Default)]
pub struct Carrier(Outbox);

impl Carrier {
    /// The connection's stream, which reports what was written: mail counts as handed over then.
    pub fn carry(&self, stream: TcpStream) -> Reporting {
        Reporting::new(stream, self.0.clone())
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Answers a request on a connection of another server, which has let its caller pass.
    pub async fn answer_on(&self, carrier: &Carrier, request: Request<Incoming>) -> Response<Answer> {
        self.answer(request, Receipt::new(carrier.0.clone())).await.unwrap_or_else(refused)
    }

    /// A service of this server.
    pub fn new(server: &Server) -> Self {
        let server = server.clone();
        let config = StreamableHttpServerConfig::default()
            .with_allowed_origins(ORIGINS)
            .with_max_request_body_bytes(LARGEST_BODY);
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE_SESSION);
        let manager = Arc::new(manager);
        let service = StreamableHttpService::new(move || Ok(server.session()), manager.clone(), config);
        Self { service, manager, sessions: Arc::default() }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        receipt: Receipt,
    ) -> Result<Response<Answer>, Refusal> {
        let named = request.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let ends = request.method() == Method::DELETE;
        // One that ended by itself is not known any more, and so is not counted.
        let mut in_use = None;
        let mut place = None;
        match &named {
            Some(id) if self.sessions.has(id) => in_use = Some(self.sessions.begin(id)),
            Some(_) => {}
            None => place = Some(self.make_room().await?),
        }
        let (mut head, body) = request.into_parts();
        head.extensions.insert(receipt.slot().clone());
        let body = tokio::time::timeout(BODY_TIME, Limited::new(body, LARGEST_BODY).collect());
        let body = match body.await {
            Ok(Ok(body)) => Full::new(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(Refusal::Body),
            Ok(Err(_)) => Full::default(),
            Err(_) => return Err(Refusal::Slow),
        };
        let response = self.service.handle(Request::from_parts(head, body)).await;
        if let Some(id) = named.filter(|_| ends || response.status().as_u16() == 404) {
            self.sessions.end(&id);
        } else if in_use.is_none() {
            let new = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
            in_use = new.map(|id| self.sessions.begin(id));
        }
        drop(place);
        Ok(response.map(|inner| Answer { inner, receipt: Some(receipt), _in_use: in_use }))
    }

    /// Makes room for a session that may begin with this request.
    async fn make_room(&self) -> Result<Use, Refusal> {
        let Room { place, in_place_of } = self.sessions.make_room().ok_or(Refusal::Sessions)?;
        if let Some(oldest) = in_place_of {
            // If it has ended by itself, so much the better.
            let _ = self.manager.close_session(&oldest).await;
        }
        Ok(place)
    }
}

/// The slot that came with a request, for the mail of its answer.
pub(crate) fn slot(extensions: &Extensions) -> Option<Slot> {
    extensions.get::<Parts>()?.extensions.get::<Slot>().cloned()
}

/// A body that keeps its session in use until its end, and knows whether it came to it.
pub struct Answer {
    inner: BoxBody<Bytes, Infallible>,
    /// Dropped before the end, it reports that the client is gone.
    receipt: Option<Receipt>,
    _in_use: Option<Use>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        // One that knows its length is not asked again behind its last frame.
        if matches!(frame, Poll::Ready(None)) || (frame.is_ready() && self.inner.is_end_stream()) {
            self.receipt.take().into_iter().for_each(Receipt::end);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn refused(refusal: Refusal) -> Response<Answer> {
    let body = json!({ "error": { "code": refusal.code(), "message": refusal.words() } });
    let inner = Full::new(Bytes::from(body.to_string())).boxed();
    let mut response = Response::new(Answer { inner, receipt: None, _in_use: None });
    *response.status_mut() = refusal.status();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if refusal == Refusal::Token {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
