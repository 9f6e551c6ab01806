//! The network between the machines and the server: a network namespace for each machine where they can be made, so that a
//! partition is silence; else a proxy for each, which can only end connections. Delays are the proxy's in both.

use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::proxy::Proxy;
use crate::repo;

/// One machine's way to the server.
pub(super) struct Way {
    proxy: Proxy,
    address: Ipv4Addr,
    namespace: Option<Namespace>,
}

impl Way {
    /// The way of this machine, by its number. `is_own` says that this process has a network of its own, in which it may make links.
    pub(super) fn new(number: u8, server: u16, is_own: bool) -> Result<Self> {
        let namespace = is_own.then(|| Namespace::new(number)).transpose()?;
        let address = if is_own { Ipv4Addr::new(10, 77, number, 1) } else { Ipv4Addr::LOCALHOST };
        Ok(Self { proxy: Proxy::listen(address, server)?, address, namespace })
    }

    pub(super) fn url(&self) -> String {
        format!("nats://{}:{}", self.address, self.proxy.port())
    }

    /// The program that runs another one on this machine's network.
    pub(super) fn before(&self) -> Vec<String> {
        self.namespace.as_ref().map(Namespace::enter).unwrap_or_default()
    }

    pub(super) fn cut(&self) -> Result<()> {
        if let Some(namespace) = &self.namespace {
            return namespace.link("down");
        }
        self.proxy.cut();
        Ok(())
    }

    pub(super) fn mend(&self) -> Result<()> {
        if let Some(namespace) = &self.namespace {
            return namespace.link("up");
        }
        self.proxy.mend();
        Ok(())
    }

    pub(super) fn delay(&self, time: Duration) {
        self.proxy.delay(time);
    }
}

/// A network namespace with one link to ours. It lives as long as its keeper, a process that waits for the end of its input,
/// so that none is left behind, however this program ends.
struct Namespace {
    keeper: Child,
    link: String,
}

impl Namespace {
    fn new(number: u8) -> Result<Self> {
        let mut keeper = Command::new("unshare");
        keeper.args(["--net", "sh", "-c", "echo; exec cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = keeper.spawn().context("cannot make a network namespace")?;
        // It has said something: it is in its namespace.
        let mut byte = [0];
        let said = keeper.stdout.as_mut().map(|out| std::io::Read::read(out, &mut byte));
        ensure!(matches!(said, Some(Ok(1))), "a network namespace cannot be made here");
        let namespace = Self { keeper, link: format!("machine{number}") };
        let (pid, link) = (namespace.keeper.id().to_string(), namespace.link.clone());
        ip(&["link", "add", "name", &link, "type", "veth", "peer", "name", "up0", "netns", &pid])?;
        ip(&["address", "add", &format!("10.77.{number}.1/24"), "dev", &link])?;
        namespace.link("up")?;
        for words in [
            &["link", "set", "lo", "up"][..],
            &["address", "add", &format!("10.77.{number}.2/24"), "dev", "up0"],
            &["link", "set", "up0", "up"],
        ] {
            let enter = namespace.enter();
            repo::run(Command::new(&enter[0]).args(&enter[1..]).arg("ip").args(words))?;
        }
        Ok(namespace)
    }

    fn enter(&self) -> Vec<String> {
        vec!["nsenter".to_owned(), format!("--net=/proc/{}/ns/net", self.keeper.id())]
    }

    fn link(&self, state: &str) -> Result<()> {
        ip(&["link", "set", &self.link, state])
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn ip(words: &[&str]) -> Result<()> {
    repo::run(Command::new("ip").args(words))
}

/// Whether a program under `unshare` with this flag can have a network of its own, with namespaces of machines below it.
pub(in crate::soak) fn can_separate(flags: &str) -> bool {
    let script = "ip link set lo up && ip link add name a type veth peer name b && unshare --net true";
    let mut probe = Command::new("unshare");
    probe.args([flags, "--net", "sh", "-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
    repo::has_program("nsenter") && probe.status().is_ok_and(|status| status.success())
}

/// Makes this process's own network usable.
pub(super) fn begin() -> Result<()> {
    ip(&["link", "set", "lo", "up"])
}
