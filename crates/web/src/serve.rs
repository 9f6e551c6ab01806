//! Listening: who comes in, how many, for how long, and an orderly end.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use atm_mcp::http::{self as mcp, Carrier, Endpoint};
use atm_office::watch::Wake;
use axum::body::Body;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use axum::{Router, http};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower_service::Service;

use crate::app::App;
use crate::feed::closed;
use crate::finish::{Asked, finish};
use crate::guard::{self, Head, Names, Way};
use crate::limits::{Bucket, READS, STRANGERS, WRITES};
use crate::problem::Problem;
use crate::session::{self, Keys};
use crate::settings::Settings;
use crate::{api, page};

/// Connections at the same time: a stream keeps one.
const CONNECTIONS: u32 = 512;
/// Threads for calls of the office.
const THREADS: usize = 32;
const IDLE_THREAD: Duration = Duration::from_secs(5);
const A_MOMENT: Duration = Duration::from_millis(50);
/// How long the head of a request may take to come, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a handler may take, with the request's body.
const LONGEST: Duration = Duration::from_secs(60);
/// How long what is under way may take when the server ends.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Where one more browser is let in: that changes nothing of mail.
pub(crate) const ENTRANCES: &str = "/api/v1/entrances";

/// What is said to a connection that is one too many.
const TOO_MANY: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\n\
     Connection: close\r\n\r\n{\"type\":\"urn:atm:error:too_many_connections\",\"title\":\"Service Unavailable\",\
     \"status\":503,\"detail\":\"all connections are in use; try again later\",\"code\":\"too_many_connections\"}";

/// Where a server listens, and what lets in.
#[derive(Debug, Clone)]
pub struct Listening {
    /// Its address, without a token.
    pub url: String,
    /// The token that is good once, for a browser.
    pub one_time: String,
    /// The token for programs.
    pub token: String,
    /// The file that has it.
    pub token_file: PathBuf,
}

impl Listening {
    /// The address that lets one browser in, once.
    pub fn entrance(&self) -> String {
        format!("{}?token={}", self.url, self.one_time)
    }
}

/// Serves until the office's waits are ended, then lets what is under way come to its end. Says through `listening` where.
pub fn serve(settings: Settings, listening: impl FnOnce(&Listening)) -> io::Result<()> {
    let (token, token_file) = settings.office.leave_http_token().map_err(io::Error::other)?;
    let seal = settings.office.session_key().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_keep_alive(IDLE_THREAD)
        .build()?;
    let ended = runtime.block_on(async {
        let listener = TcpListener::bind(settings.address).await?;
        let address = listener.local_addr()?;
        let keys = Keys::new(token.clone(), seal);
        let (url, one_time) =
            (format!("http://{}/", as_reached(address)), keys.make_entrance(settings.office.now()));
        listening(&Listening { url: url.clone(), one_time, token, token_file });
        let (close, closing) = watch::channel(false);
        let office = settings.office.clone();
        thread::Builder::new().name("end".to_owned()).spawn(move || {
            while office.watch_teams(&[]).sleep_until(None) != Wake::Over {}
            let _ = close.send(true);
        })?;
        let front = Front::new(settings, address, (keys, url), closing);
        accept(&front, &listener).await;
        Ok(())
    });
    // Calls of the office that are under way were waited for; what is left is not ours.
    runtime.shutdown_timeout(A_MOMENT);
    ended
}

/// An address that a browser on this machine can open.
fn as_reached(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

async fn accept(front: &Front, listener: &TcpListener) {
    let places = Arc::new(Semaphore::new(CONNECTIONS as usize));
    let mut closing = front.app.closing.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closed(&mut closing) => break,
        };
        let Ok((stream, _)) = accepted else {
            // One that is gone already, or no file handle left: others may do better in a moment.
            tokio::time::sleep(A_MOMENT).await;
            continue;
        };
        match places.clone().try_acquire_owned() {
            Ok(place) => serve_connection(front.clone(), stream, place),
            // Whether it hears that or not, it is closed.
            Err(_) => drop(stream.try_write(TOO_MANY.as_bytes())),
        }
    }
    // All places are free again when the last connection has ended.
    let _ = tokio::time::timeout(LAST_ANSWERS, places.acquire_many(CONNECTIONS)).await;
}

fn serve_connection(front: Front, stream: TcpStream, place: OwnedSemaphorePermit) {
    // An event is small and should not wait for the next one.
    let _ = stream.set_nodelay(true);
    let mut closing = front.app.closing.clone();
    let carrier = Carrier::default();
    let stream = carrier.carry(stream);
    let answer = service_fn(move |request: Request<Incoming>| {
        let (front, carrier) = (front.clone(), carrier.clone());
        async move { Ok::<_, Infallible>(front.answer(request, &carrier).await) }
    });
    tokio::spawn(async move {
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .serve_connection(TokioIo::new(stream), answer);
        let mut connection = pin!(connection);
        tokio::select! {
            // A client that breaks off is its own affair.
            _ = connection.as_mut() => {}
            () = closed(&mut closing) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
        drop(place);
    });
}

/// What stands before the routers: it lets pass who may call, and gives every answer its form.
#[derive(Clone)]
struct Front {
    app: App,
    router: Router,
    names: Arc<Names>,
    reads: Arc<Bucket>,
    writes: Arc<Bucket>,
    strangers: Arc<Bucket>,
    mcp: Option<Endpoint>,
}

impl Front {
    fn new(
        settings: Settings,
        address: SocketAddr,
        keys: (Keys, String),
        closing: watch::Receiver<bool>,
    ) -> Self {
        let names = Names {
            port: address.port(),
            hosts: settings.hosts.clone(),
            by_address: !address.ip().is_loopback(),
        };
        let (calls, openapi) = api::router(&settings.schemas);
        let mcp = settings.mcp.as_ref().map(Endpoint::new);
        let app = App::new(settings, openapi, keys, closing);
        let router = calls
            .merge(page::router())
            .fallback(page::nothing_here)
            .method_not_allowed_fallback(page::not_so)
            .with_state(app.clone());
        Self {
            app,
            router,
            names: Arc::new(names),
            reads: Arc::new(Bucket::new(READS)),
            writes: Arc::new(Bucket::new(WRITES)),
            strangers: Arc::new(Bucket::new(STRANGERS)),
            mcp,
        }
    }

    async fn answer(&self, request: Request<Incoming>, carrier: &Carrier) -> Response<Body> {
        let form = Asked::of(request.method(), request.headers());
        let wants_page = wants_page(request.method(), request.headers());
        let is_mcp = request.uri().path() == mcp::PATH;
        let answer = match self.pass(request, carrier).await {
            // When it was written, its mail is handed over: it stays as it is.
            Ok(response) if is_mcp => return response,
            Ok(response) => response,
            Err(problem) if wants_page => page::problem(&problem),
            Err(problem) => problem.into_response(),
        };
        self.app.metrics.count(answer.status());
        finish(form, answer).await
    }

    async fn pass(&self, request: Request<Incoming>, carrier: &Carrier) -> Result<Response<Body>, Problem> {
        let head = Head { method: request.method(), uri: request.uri(), headers: request.headers() };
        let now = self.app.settings.office.now();
        let way = match guard::check(head, &self.names, &self.app.keys, now) {
            Ok(way) => way,
            Err(refusal) => {
                self.app.metrics.refused.fetch_add(1, Ordering::Relaxed);
                return Err(if self.strangers.take(Instant::now()) { refusal.into() } else { too_many() });
            }
        };
        if way == Way::OneTime {
            return Ok(self.let_in(request.uri()));
        }
        let is_look = matches!(*request.method(), Method::GET | Method::HEAD);
        let bucket = if is_look { &self.reads } else { &self.writes };
        if !bucket.take(Instant::now()) {
            return Err(too_many());
        }
        // A client of agents has the token; a page has no business there.
        if way == Way::Bearer
            && request.uri().path() == mcp::PATH
            && let Some(endpoint) = &self.mcp
        {
            self.app.check_writable()?;
            return Ok(endpoint.answer_on(carrier, request).await.map(Body::new));
        }
        if !is_look && request.uri().path() != ENTRANCES {
            self.app.check_writable()?;
        }
        let mut router = self.router.clone();
        let answered = tokio::time::timeout(LONGEST, router.call(request.map(Body::new))).await;
        match answered {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(never)) => match never {},
            Err(_) => {
                let detail = "the request took too long; it may still be done";
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_slow", detail))
            }
        }
    }

    /// Exchanges the token that was good once for a session.
    fn let_in(&self, uri: &http::Uri) -> Response<Body> {
        let session = self.app.keys.open_session(self.app.settings.office.now());
        let age = session::LASTS / 1_000;
        let cookie =
            format!("{}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}", session::COOKIE);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let to = HeaderValue::from_str(&guard::without_token(uri));
        headers.insert(LOCATION, to.unwrap_or(HeaderValue::from_static("/")));
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            headers.insert(SET_COOKIE, cookie);
        }
        response
    }
}

fn too_many() -> Problem {
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too_many_requests",
        "too many requests; try again in a second",
    )
}

/// Whether a person asks with a browser, and not a program or a script.
fn wants_page(method: &Method, headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    *method == Method::GET && accepts.contains("text/html")
}

/// HTML, as every page is sent.
pub(crate) fn html(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}
