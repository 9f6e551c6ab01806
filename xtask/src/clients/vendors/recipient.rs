//! Whom the mail of a course is for.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use crate::clients::client::Client;
use crate::clients::home::Home;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recipient {
    /// `bob` in the team `dev`: the client is told who it is.
    Member,
    /// A session without a team and a name, which mail reaches by the name of its folder; a single run, by its id.
    Session,
}

impl Recipient {
    /// An empty home, with what the recipient is in.
    pub(super) fn home(self, atm: &Path, programs: &Path) -> Result<Home> {
        match self {
            Self::Member => Home::new(atm, programs),
            Self::Session => Home::without_team(atm, programs),
        }
    }

    pub(super) fn address(self) -> &'static str {
        match self {
            Self::Member => "bob",
            Self::Session => "work",
        }
    }

    /// The same while its client runs without a terminal: then a session takes only mail that names it.
    pub(super) fn address_of_run(self, home: &Home) -> Result<String> {
        if self == Self::Member {
            return Ok(self.address().to_owned());
        }
        let listed = home.atm_plain(&["sessions"])?;
        let running = listed.as_array().into_iter().flatten().filter_map(|one| one["session"].as_str());
        let [session] = running.collect::<Vec<_>>()[..] else { bail!("not one session runs: {listed}") };
        Ok(session.to_owned())
    }

    /// The team that its inbox is in.
    fn team(self) -> &'static str {
        match self {
            Self::Member => "dev",
            Self::Session => "sessions",
        }
    }

    /// Tells a client who it is, if it is anybody.
    pub(super) fn identify(self, command: &mut Command) {
        if self == Self::Member {
            command.env("ATM_AS", self.address()).env("ATM_TEAM", self.team());
        }
    }

    /// Our own command, as one types it who writes to this recipient: its answer.
    pub(super) fn atm(self, home: &Home, args: &[&str]) -> Result<Value> {
        match self {
            Self::Member => home.atm_in(self.team(), args),
            Self::Session => home.atm_plain(args),
        }
    }

    /// What lies unread in its inbox.
    pub(super) fn unread(self, home: &Home) -> Result<Vec<Value>> {
        let unread = home.atm_in(self.team(), &["inbox", self.address(), "--unread"])?;
        Ok(unread.as_array().cloned().unwrap_or_default())
    }

    /// Whether `atm` says everywhere that it waits for a permission.
    pub(super) fn waits_for_permission(self, home: &Home) -> Result<bool> {
        let waits = |shown: &Value| shown["activity"] == "waiting for permission";
        let status = self.atm(home, &["status", self.address()])?;
        Ok(waits(&status) && (self == Self::Member || waits(&home.atm_plain(&["sessions"])?[0])))
    }

    /// Sees that the one session that is known is in the folder in which its client works; `runs`: and that it is there now.
    pub(super) fn check_known(self, client: Client, home: &Home, runs: bool) -> Result<()> {
        if self == Self::Member {
            return Ok(());
        }
        let listed = home.atm_plain(&["sessions", "--all"])?;
        let [session] = listed.as_array().map_or(&[][..], Vec::as_slice) else {
            bail!("not one session: {listed}")
        };
        let folder = home.work().canonicalize()?;
        let is_here =
            session["name"] == self.address() && session["folder"].as_str().map(Path::new) == Some(&folder);
        ensure!(is_here, "it works in another folder: {listed}");
        let is_it = session["session"].is_string() && session["client"] == client.name;
        ensure!(is_it || !runs, "it is not shown as a session of {}: {listed}", client.name);
        Ok(())
    }
}
