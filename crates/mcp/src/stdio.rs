//! The server on standard input and output.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use atm_store::watch::Stop;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage,
    ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio_pipes};
use rmcp::{RoleServer, ServiceExt};

use crate::calls::{WAITERS, WORKERS};
use crate::handover::Handover;
use crate::server::Server;

/// Threads that have nothing to do end after this.
const IDLE_THREAD: Duration = Duration::from_secs(1);
/// Room for marking mail as read, and for standard streams that are no pipes.
const OTHER_THREADS: usize = 4;

/// Serves one client on standard input and output, until it closes them.
pub fn serve(server: Server) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(WORKERS + WAITERS + OTHER_THREADS)
        .thread_keep_alive(IDLE_THREAD)
        .build()?;
    let desk = server.desk.clone();
    let pushing = push(&server);
    let ended = runtime.block_on(async {
        let (read, write) = stdio_pipes();
        serve_on(server, AsyncRwTransport::new_server(read, write)).await
    });
    desk.pages().settle();
    if let Some((stop, thread)) = pushing {
        stop.stop();
        // It clears up after itself; a thread that failed has nothing to clear.
        let _ = thread.join();
    }
    // A thread that still reads a standard stream cannot be waited for.
    runtime.shutdown_background();
    ended
}

/// Pushes mail into the session that the server was handed, in a thread of its own.
fn push(server: &Server) -> Option<(Stop, JoinHandle<()>)> {
    let (office, push) = (server.desk.office().clone(), server.desk.settings.push.clone()?);
    let stop = Stop::default();
    let ends = stop.clone();
    // Without a thread there is no push, and mail comes by the hooks.
    let thread =
        thread::Builder::new().name("push".to_owned()).spawn(move || push.run(&office, &ends)).ok()?;
    Some((stop, thread))
}

async fn serve_on(server: Server, transport: impl Transport<RoleServer> + 'static) -> io::Result<()> {
    let handover = Handover::default();
    let server = server.with_handover(handover.clone());
    let gate = Gate { inner: transport, greeted: false, handover, server: server.clone() };
    match server.serve(gate).await {
        Ok(running) => {
            running.waiting().await.map_err(io::Error::other)?;
            Ok(())
        }
        // It went before it had said anything: nothing was asked, nothing is missing.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// What passes between the client and the service.
///
/// Before the client has said `initialize`, everything else is answered here: an unknown method is not found, and
/// nothing that comes too early closes the connection. Behind an answer, the mail that it has is marked as read.
struct Gate<T> {
    inner: T,
    greeted: bool,
    handover: Handover,
    server: Server,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Gate<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let handed = match &item {
            JsonRpcMessage::Response(response) => self.handover.take(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref().and_then(|id| self.handover.take(id)),
            _ => None,
        };
        let sending = self.inner.send(item);
        async move {
            sending.await?;
            if let Some(handed) = handed {
                handed.confirm().await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.server.close();
                return None;
            };
            if let JsonRpcMessage::Notification(notification) = &message
                && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                self.handover.take(id);
            }
            match self.judge(&message) {
                Verdict::Pass => return Some(message),
                Verdict::Answer(answer) => {
                    if self.inner.send(*answer).await.is_err() {
                        self.server.close();
                        return None;
                    }
                }
                Verdict::Ignore => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// What becomes of a message from the client.
enum Verdict {
    /// The service gets it.
    Pass,
    /// This is said instead.
    Answer(Box<ServerJsonRpcMessage>),
    /// Nothing.
    Ignore,
}

impl<T> Gate<T> {
    fn judge(&mut self, message: &ClientJsonRpcMessage) -> Verdict {
        let JsonRpcMessage::Request(request) = message else {
            return if self.greeted { Verdict::Pass } else { Verdict::Ignore };
        };
        let error = match &request.request {
            ClientRequest::InitializeRequest(_) => {
                self.greeted = true;
                return Verdict::Pass;
            }
            // A later protocol's way to begin, which we do not speak; its clients know the old one too.
            ClientRequest::DiscoverRequest(_) => not_found("server/discover"),
            ClientRequest::CustomRequest(unknown) => not_found(&unknown.method),
            ClientRequest::PingRequest(_) => return Verdict::Pass,
            _ if self.greeted => return Verdict::Pass,
            _ => ErrorData::invalid_request("say initialize first", None),
        };
        Verdict::Answer(Box::new(ServerJsonRpcMessage::error(error, Some(request.id.clone()))))
    }
}

fn not_found(method: &str) -> ErrorData {
    let method: String = method.chars().take(80).collect();
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("method not found: {}", atm_wire::visible::line(&method)),
        None,
    )
}
