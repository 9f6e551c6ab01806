//! The table `[bridge]`: `atm-bridge` reads it itself. Here it is known, shown, and says whether the daemon keeps one running.

use std::path::PathBuf;

use atm_wire::MachineName;
use serde::Deserialize;

/// One text or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    fn all(&self) -> Vec<&str> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many.iter().map(String::as_str).collect(),
        }
    }
}

/// The table `[bridge]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bridge {
    /// The servers.
    nats: Option<Texts>,
    /// The file with this machine's rights there.
    creds: Option<PathBuf>,
    /// The file with this machine's nkey seed, instead.
    nkey: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    /// The name that all machines of these teams share.
    realm: Option<String>,
    /// This machine's name; the host's, without one.
    machine: Option<String>,
    /// The teams that are shared: `LOCAL` or `LOCAL=SHARED`.
    teams: Option<Vec<String>>,
    /// Whether bodies are sealed, so that the server cannot read them.
    seal: Option<bool>,
}

impl Bridge {
    /// Whether a daemon is to keep a bridge running.
    pub(crate) fn is_wanted(&self) -> bool {
        self.nats.as_ref().is_some_and(|nats| !nats.all().is_empty())
    }

    /// What is wrong with it, if anything.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(machine) = &self.machine {
            MachineName::parse(machine).map_err(|error| format!("[bridge]: {error}"))?;
        }
        match &self.nats {
            Some(nats) if nats.all().iter().any(|server| server.trim().is_empty()) => {
                Err("[bridge] nats: must name a server, like nats://hub.example.org:4222".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// What is set, by key.
    pub(crate) fn lines(&self) -> Vec<(&'static str, Option<String>)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        vec![
            ("bridge.nats", self.nats.as_ref().map(|nats| without_passwords(&nats.all()))),
            ("bridge.creds", path(&self.creds)),
            ("bridge.nkey", path(&self.nkey)),
            ("bridge.tls_ca", path(&self.tls_ca)),
            ("bridge.tls_cert", path(&self.tls_cert)),
            ("bridge.tls_key", path(&self.tls_key)),
            ("bridge.realm", self.realm.clone()),
            ("bridge.machine", self.machine.clone()),
            ("bridge.teams", self.teams.as_ref().map(|teams| teams.join(", "))),
            ("bridge.seal", self.seal.map(|seal| seal.to_string())),
        ]
    }
}

/// Addresses as they may be shown: what stands before `@` is nobody's business.
fn without_passwords(servers: &[&str]) -> String {
    let hidden = servers.iter().map(|server| match (server.split_once("://"), server.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        (None, Some((_, host))) => format!("…@{host}"),
        _ => (*server).to_owned(),
    });
    hidden.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let bridge: Bridge = toml::from_str("nats = [\"tls://ann:secret@hub:4222\", \"nats://b\"]").unwrap();
        let shown = bridge.lines().into_iter().find(|(key, _)| *key == "bridge.nats").unwrap().1.unwrap();
        assert_eq!(shown, "tls://…@hub:4222, nats://b");
    }
}
