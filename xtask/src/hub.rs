//! The server between machines, for storms and measurements.

use std::env;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::repo;

/// How long it may take until it listens.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server with a disk of its own.
pub(crate) struct Hub {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
    /// Where it says what it holds.
    monitor: u16,
    child: Option<Child>,
}

/// Messages in streams, and their bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Hub {
    /// A new one, which runs.
    pub(crate) fn start_in(folder: &Path) -> Result<Self> {
        let program = match env::var_os("ATM_TEST_NATS_SERVER") {
            Some(path) => PathBuf::from(path),
            None => repo::target()?.join("test-tools/nats/bin/nats-server"),
        };
        fs::create_dir_all(folder)?;
        let (port, monitor) = (free_port()?, free_port()?);
        let store = folder.join("store");
        // Streams reserve their largest size; the disk here may have less.
        let config = format!(
            "listen: \"127.0.0.1:{port}\"\nhttp: \"127.0.0.1:{monitor}\"\njetstream {{ store_dir: \"{}\", max_file: 64GB }}\n",
            store.display()
        );
        fs::write(folder.join("nats.conf"), config)?;
        let mut hub = Self { program, folder: folder.to_owned(), port, monitor, child: None };
        hub.start()?;
        Ok(hub)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn pid(&self) -> Result<u32> {
        Ok(self.child.as_ref().context("the server does not run")?.id())
    }

    pub(crate) fn start(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.folder.join("nats.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().with_context(|| {
            format!("cannot start {}: `cargo xtask setup` installs it", self.program.display())
        })?;
        self.child = Some(child);
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if begun.elapsed() > PATIENCE {
                bail!("the server does not listen after {} s", PATIENCE.as_secs());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// How many messages all its streams hold.
    pub(crate) fn messages(&self) -> Result<u64> {
        Ok(self.held()?.messages)
    }

    /// What all its streams hold.
    pub(crate) fn held(&self) -> Result<Held> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.monitor))?;
        stream.write_all(b"GET /jsz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("the server gives no answer")?;
        let body: Value = serde_json::from_str(body)?;
        let number =
            |key: &str| body[key].as_u64().with_context(|| format!("the server does not say its {key}"));
        Ok(Held { messages: number("messages")?, bytes: number("bytes")? })
    }

    /// Without any time to put things in order.
    pub(crate) fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Removes its disk, while it does not run.
    pub(crate) fn wipe(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.folder.join("store"))?)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// A port that nobody has now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
