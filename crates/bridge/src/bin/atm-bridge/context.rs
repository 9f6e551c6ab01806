//! Where things are and who this machine is, from flags, environment and settings.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use atm_bridge::files::Files;
use atm_bridge::house::Share;
use atm_bridge::keys;
use atm_bridge::name::{Machine, Realm};
use atm_bridge::nats::{self, Link, Word};
use atm_bridge::trust::Trust;
use atm_office::Office;
use atm_office::clock::{Clock, SystemClock};
use atm_store::{Root, State};
use atm_wire::Stamp;
use ed25519_dalek::SigningKey;
use etcetera::base_strategy::{BaseStrategy, Xdg};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::args::{Global, Me, Server};
use crate::failure::Failure;
use crate::settings::{self, Settings};

/// The realm, if none is named.
const REALM: &str = "home";

/// What every command works with.
pub(crate) struct Context {
    pub(crate) root: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) settings: Settings,
    settings_file: PathBuf,
    pub(crate) json: bool,
}

impl Context {
    pub(crate) fn new(global: &Global) -> Result<Self, Failure> {
        let xdg =
            Xdg::new().map_err(|_| Failure::new(7, "no_home", "there is no home folder").hint("set HOME"))?;
        let from_environment =
            |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let settings_file = xdg.config_dir().join("atm/config.toml");
        let loaded = settings::load(&settings_file, xdg.home_dir())?;
        let root = global
            .root
            .clone()
            .or_else(|| from_environment("ATM_ROOT"))
            .or(loaded.root)
            .or_else(|| from_environment("CLAUDE_CONFIG_DIR"))
            .unwrap_or_else(|| xdg.home_dir().join(".claude"));
        let state_home = xdg.state_dir().unwrap_or_else(|| xdg.home_dir().join(".local/state"));
        let state = global
            .state
            .clone()
            .or_else(|| from_environment("ATM_STATE"))
            .or(loaded.state)
            .unwrap_or_else(|| state_home.join("atm"));
        Ok(Self { root, state, settings: loaded.bridge, settings_file, json: global.json })
    }

    pub(crate) fn office(&self) -> Office {
        Office::new(Root::new(&self.root), State::new(&self.state))
    }

    pub(crate) fn files(&self) -> Files {
        Files::of(&self.state)
    }

    pub(crate) fn now() -> Stamp {
        SystemClock.now()
    }

    pub(crate) fn key(&self) -> Result<SigningKey, Failure> {
        Ok(keys::load_or_create(&self.files().key())?)
    }

    pub(crate) fn trust(&self) -> Result<Trust, Failure> {
        Ok(Trust::load(&self.files().trust())?)
    }

    pub(crate) fn machine(&self, me: &Me) -> Result<Machine, Failure> {
        let given = me.machine.as_ref().or(self.settings.machine.as_ref());
        if let Some(name) = given {
            return Machine::parse(name).map_err(|error| Failure::usage(error.to_string()));
        }
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Machine::of_host(&host)
            .map_err(|error| Failure::usage(error.to_string()).hint("name this machine: --machine NAME"))
    }

    pub(crate) fn realm(&self, me: &Me) -> Result<Realm, Failure> {
        let name = me.realm.as_deref().or(self.settings.realm.as_deref()).unwrap_or(REALM);
        name.parse().map_err(|error: atm_bridge::name::RealmError| Failure::usage(error.to_string()))
    }

    pub(crate) fn server(&self, server: &Server) -> Result<nats::Options, Failure> {
        let set = &self.settings;
        let servers = if server.nats.is_empty() { set.nats.list() } else { server.nats.clone() };
        if servers.is_empty() {
            return Err(Failure::usage("no server is named")
                .hint("--nats nats://HOST:4222, or bridge.nats in the settings"));
        }
        let certificate = server.tls_cert.clone().or_else(|| set.tls_cert.clone());
        let certificate_key = server.tls_key.clone().or_else(|| set.tls_key.clone());
        // What is named on the command line replaces both of the settings.
        let (creds, nkey) = match (&server.creds, &server.nkey) {
            (None, None) => (set.creds.clone(), set.nkey.clone()),
            (creds, nkey) => (creds.clone(), nkey.clone()),
        };
        if creds.is_some() && nkey.is_some() {
            return Err(Failure::usage("[bridge] has creds and nkey: the server takes one of them"));
        }
        if certificate.is_some() != certificate_key.is_some() {
            return Err(Failure::usage("a certificate and its key go together: tls_cert and tls_key"));
        }
        Ok(nats::Options {
            servers,
            creds,
            nkey,
            tls_ca: server.tls_ca.clone().or_else(|| set.tls_ca.clone()),
            tls_client: certificate.zip(certificate_key),
        })
    }

    pub(crate) fn shares(&self, teams: &[String]) -> Result<Vec<Share>, Failure> {
        let teams = if teams.is_empty() { &self.settings.teams } else { teams };
        if teams.is_empty() {
            return Err(Failure::usage("no team is named")
                .hint("--team NAME for each team to share, or bridge.teams in the settings"));
        }
        Share::parse_all(teams.iter().map(String::as_str)).map_err(|error| Failure::usage(error.to_string()))
    }

    /// The settings file, if it holds a password that others can read.
    pub(crate) fn exposed_settings(&self) -> Option<PathBuf> {
        let holds_password = self.settings.nats.list().iter().any(|server| server.contains('@'));
        let mode = self.settings_file.metadata().map_or(0, |found| found.permissions().mode());
        (holds_password && mode & 0o077 != 0).then(|| self.settings_file.clone())
    }

    /// Connects, or fails: for commands that ask once. The words are what the server says beside its answers.
    pub(crate) async fn link(
        &self,
        server: &Server,
        realm: &Realm,
        machine: &Machine,
    ) -> Result<(Link, UnboundedReceiver<Word>), Failure> {
        let (teller, words) = tokio::sync::mpsc::unbounded_channel();
        let client = nats::connect(&self.server(server)?, realm, machine, false, teller).await?;
        Ok((Link::new(client, realm.clone(), machine.clone()), words))
    }
}
