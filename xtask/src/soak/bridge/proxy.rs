//! A way to the server that takes time, and can be cut.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Pieces that are on their way in one direction; whoever sends more waits.
const ON_THE_WAY: usize = 256;
const LARGEST_PIECE: usize = 64 * 1024;

/// A piece and when it arrives.
type Piece = (Instant, Vec<u8>);

/// A listener whose connections go on to a server of this machine.
pub(super) struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_cut: AtomicBool,
    delay_ms: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Listens at this address, on a port that nobody has.
    pub(super) fn listen(at: Ipv4Addr, server: u16) -> Result<Self> {
        let listener = TcpListener::bind((at, 0)).with_context(|| format!("cannot listen at {at}"))?;
        let port = listener.local_addr()?.port();
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        // It ends with the process.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A connection that fails is one that its client tries again.
                let _ = shared.join(client, server);
            }
        });
        Ok(Self { port, state })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// How long each piece takes from now on, each way.
    pub(super) fn delay(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.state.delay_ms.store(millis, Ordering::Relaxed);
    }

    /// Ends every connection, and takes no new one until it is mended.
    pub(super) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for stream in self.state.open().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn mend(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn open(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(self: &Arc<Self>, client: TcpStream, server: u16) -> std::io::Result<()> {
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server))?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
        }
        self.open().extend([client.try_clone()?, server.try_clone()?]);
        if self.is_cut.load(Ordering::SeqCst) {
            self.cut_open();
            return Ok(());
        }
        self.carry(client.try_clone()?, server.try_clone()?);
        self.carry(server, client);
        Ok(())
    }

    fn cut_open(&self) {
        for stream in self.open().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Carries what comes from one to the other, in its order.
    fn carry(self: &Arc<Self>, from: TcpStream, to: TcpStream) {
        let (pieces, arriving) = mpsc::sync_channel(ON_THE_WAY);
        let state = Arc::clone(self);
        thread::spawn(move || take(from, &state, &pieces));
        thread::spawn(move || give(to, &arriving));
    }
}

fn take(mut from: TcpStream, state: &State, pieces: &SyncSender<Piece>) {
    let mut buffer = vec![0; LARGEST_PIECE];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let delay = Duration::from_millis(state.delay_ms.load(Ordering::Relaxed));
        if pieces.send((Instant::now() + delay, buffer[..length].to_vec())).is_err() {
            return;
        }
    }
}

fn give(mut to: TcpStream, pieces: &Receiver<Piece>) {
    for (at, piece) in pieces {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
