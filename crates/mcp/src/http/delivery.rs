//! Whether an answer was written: the mail that it has is marked as read then, and stays unread if the client is gone.

use std::io::{self, IoSlice};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::handover::{Handed, Slot};

/// How long a client may read nothing of what is written to it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The mail of answers that are complete and may still be in the connection's buffer.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox(Arc<Mutex<Vec<Handed>>>);

impl Outbox {
    fn mail(&self) -> MutexGuard<'_, Vec<Handed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that was buffered has been written.
    fn confirm(&self) {
        for handed in mem::take(&mut *self.mail()) {
            tokio::spawn(handed.confirm());
        }
    }

    fn clear(&self) {
        self.mail().clear();
    }
}

/// What becomes of the answer to one request. Dropped before the answer's end, it abandons the call.
#[derive(Debug)]
pub(super) struct Receipt {
    slot: Slot,
    outbox: Outbox,
}

impl Receipt {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self { slot: Slot::default(), outbox }
    }

    pub(super) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// The whole answer is with the connection.
    pub(super) fn end(self) {
        self.outbox.mail().extend(self.slot.close());
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.slot.abandon();
    }
}

/// A connection that reports when what was buffered for it has been written.
#[derive(Debug)]
pub struct Reporting {
    stream: TcpStream,
    outbox: Outbox,
    /// Until when a client may leave unread what waits for it.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Reporting {
    pub(super) fn new(stream: TcpStream, outbox: Outbox) -> Self {
        Self { stream, outbox, stalled: None }
    }

    /// Gives up a client that reads nothing: its mail holds the reader's turn.
    fn bounded(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Drop for Reporting {
    /// What has not been written by now never will be.
    fn drop(&mut self) {
        self.outbox.clear();
    }
}

impl AsyncRead for Reporting {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Reporting {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(written, context)
    }

    /// The HTTP layer flushes the stream only behind the last byte of its own buffer.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.outbox.confirm();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.bounded(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
