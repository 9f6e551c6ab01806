//! A real nats-server, and a proxy before it that can be cut.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use atm_support::wait_until;
use rustix::process::{Pid, Signal, WaitOptions};
use tempfile::TempDir;

/// The server that `cargo xtask setup` installs.
pub(crate) fn program() -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("test-tools");
    std::env::var_os("ATM_TEST_NATS_SERVER").map_or_else(|| tools.join("nats/bin/nats-server"), PathBuf::from)
}

/// A port that nobody has now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server with a disk of its own.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Server {
    /// One that runs, with these lines in its configuration.
    pub(crate) fn start_with(more: &str) -> Self {
        let mut server = Self::configured(more);
        server.start();
        server
    }

    /// Three that are one cluster, and run. They are called `s0`, `s1`, `s2`.
    pub(crate) fn cluster() -> [Self; 3] {
        let ports = [(); 3].map(|()| free_port());
        let routes = ports.map(|port| format!("nats://127.0.0.1:{port}")).join(", ");
        let mut number = 0;
        let mut servers = ports.map(|port| {
            let cluster = format!("cluster {{ name: c, listen: \"127.0.0.1:{port}\", routes: [{routes}] }}");
            number += 1;
            Self::configured(&format!("server_name: s{}\n{cluster}", number - 1))
        });
        servers.iter_mut().for_each(Self::start);
        servers
    }

    fn configured(more: &str) -> Self {
        let server = Self { folder: tempfile::tempdir().unwrap(), port: free_port(), child: None };
        let store = server.folder.path().join("store");
        let config = format!(
            // Streams reserve their largest size; a test machine's disk may have less.
            "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"{}\", max_file: 64GB }}\n{more}\n",
            server.port,
            store.display()
        );
        fs::write(server.folder.path().join("nats.conf"), config).unwrap();
        server
    }

    pub(crate) fn new() -> Self {
        Self::start_with("")
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The same by the host's name, as a certificate has it.
    pub(crate) fn tls_url(&self) -> String {
        format!("tls://localhost:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn start(&mut self) {
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        let child = Command::new(program())
            .arg("-c")
            .arg(self.folder.path().join("nats.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("nats-server: `cargo xtask setup` installs it");
        self.child = Some(child);
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }

    /// Without any time to put things in order.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Keeps its disk as it is.
    pub(crate) fn keep_disk(&mut self) {
        self.kill();
        copy_folder(&self.folder.path().join("store"), &self.folder.path().join("kept"));
        self.start();
    }

    /// It comes back with the disk that was kept: what was not synced since is lost.
    pub(crate) fn roll_back(&mut self) {
        self.kill();
        fs::remove_dir_all(self.folder.path().join("store")).unwrap();
        fs::rename(self.folder.path().join("kept"), self.folder.path().join("store")).unwrap();
        self.start();
    }

    /// It is there and answers nothing.
    pub(crate) fn hang(&self) {
        let pid = Pid::from_child(self.child.as_ref().unwrap());
        rustix::process::kill_process(pid, Signal::STOP).unwrap();
        // The signal alone leaves it the time for an answer.
        rustix::process::waitpid(Some(pid), WaitOptions::UNTRACED).unwrap();
    }

    /// Its disk is lost, and it comes back empty.
    pub(crate) fn lose_disk(&mut self) {
        self.kill();
        fs::remove_dir_all(self.folder.path().join("store")).unwrap();
        self.start();
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A way to a server that can be cut, and can be slow.
pub(crate) struct Proxy {
    port: u16,
    is_cut: Arc<AtomicBool>,
    /// Bytes a second on the way to the server; 0: as many as there are.
    rate: Arc<AtomicU64>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_cut, open) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (cut, streams) = (Arc::clone(&is_cut), Arc::clone(&open));
        let rate = Arc::new(AtomicU64::new(0));
        let slow = Arc::clone(&rate);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(there) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                streams.lock().unwrap().extend([client.try_clone().unwrap(), there.try_clone().unwrap()]);
                copy(client.try_clone().unwrap(), there.try_clone().unwrap(), Some(Arc::clone(&slow)));
                copy(there, client, None);
            }
        });
        Self { port, is_cut, rate, open }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// From now on so many bytes a second go to the server; 0: as many as there are.
    pub(crate) fn slow_down(&self, rate: u64) {
        self.rate.store(rate, Ordering::SeqCst);
    }

    pub(crate) fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, rate: Option<Arc<AtomicU64>>) {
    thread::spawn(move || {
        let _ = match rate {
            None => io::copy(&mut from, &mut to).map(drop),
            Some(rate) => copy_slowly(&mut from, &mut to, &rate),
        };
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn copy_slowly(from: &mut TcpStream, to: &mut TcpStream, rate: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; 8 << 10];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        let millis = (count as u64 * 1_000).checked_div(rate.load(Ordering::SeqCst)).unwrap_or(0);
        thread::sleep(Duration::from_millis(millis));
        to.write_all(&buffer[..count])?;
    }
}
