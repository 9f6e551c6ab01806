//! What a settings file may hold, and what of it counts without anybody's trust.

use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_office::chores::retry::Policies;
use atm_office::chores::wake::Ladder;
use atm_upkeep::archive::Upkeep;
use atm_wire::stamp::parse_duration;
use atm_wire::{Address, TeamName};
use serde::Deserialize;

use super::archive::Archive;
use super::bridge::Bridge;
use super::claude::Claude;
use super::daemon::Daemon;
use super::delivery::{Delivery, TakenOut};
use super::notify::{Notifications, Notify};
use super::trouble::Trouble;
use crate::args::ColorChoice;
use crate::output::brief::Budget;

/// How it is said that an untrusted `as` is no reason to take somebody's mail.
pub(super) const TAKE_MAIL: &str = "as (to take mail)";

/// What a settings file may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) root: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
    pub(super) team: Option<String>,
    #[serde(rename = "as")]
    pub(super) who: Option<String>,
    pub(super) color: Option<String>,
    pub(super) delivery: Option<Delivery>,
    pub(super) archive: Option<Archive>,
    pub(super) wake: Option<Wake>,
    pub(super) pending: Option<Pending>,
    pub(super) context: Option<InPrompts>,
    pub(super) daemon: Option<Daemon>,
    pub(super) notify: Option<Notify>,
    pub(super) web: Option<WebService>,
    pub(super) claude: Option<Claude>,
    pub(super) bridge: Option<Bridge>,
}

/// The dashboard, as a daemon serves it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebService {
    /// On which port of this machine; without one it is not served.
    pub(crate) port: Option<NonZeroU16>,
    /// Refuses everything that changes anything.
    #[serde(default)]
    pub(crate) read_only: bool,
}

impl File {
    /// Takes out what only a person may decide, and says which keys those were. What is left can do no harm:
    ///
    /// | key | why |
    /// |---|---|
    /// | `team` | a name, looked up in the user's own tree |
    /// | `as` | the same, to send by and to look; whose mail is taken it does not say ([`TAKE_MAIL`]) |
    /// | `color` | |
    /// | `delivery.retry_after`, if it only lengthens the default | mail is offered again to its own recipient |
    /// | `[archive]` | mail that was read moves into the user's own archive; nothing is removed |
    /// | `[wake]` | when a member is woken for its own mail |
    /// | `[pending]` | what is listed |
    /// | `[context]` | how much of its own mail a member is shown at once |
    ///
    /// and what is taken out:
    ///
    /// | key | why |
    /// |---|---|
    /// | `root` | whose mail is put before the model, and where mail is written |
    /// | `state` | where the texts of all mail are kept, and what is known of it |
    /// | `[daemon]` | what runs without anybody asking |
    /// | `[notify]` | a program is run, and a server learns what happens here |
    /// | `[web]` | a port is opened |
    /// | `[claude]` | others are written into Claude Code's list of agents, and sockets are opened |
    /// | `[bridge]` | mail of teams goes to other machines, and theirs comes in |
    /// | `delivery.escalate_to` | somebody else gets to read the mail |
    /// | `delivery.expire_after` | mail that waits is given up |
    /// | `delivery.retry_after`, if it is shorter or has more steps | how often a member is disturbed |
    pub(super) fn keep_harmless(&mut self) -> Vec<&'static str> {
        let mut taken = TakenOut::default();
        if let Some(delivery) = &mut self.delivery {
            delivery.keep_harmless(&mut taken);
        }
        self.delivery.take_if(|delivery| delivery.is_empty());
        let taken = [
            (self.root.take().is_some(), "root"),
            (self.state.take().is_some(), "state"),
            (self.daemon.take().is_some(), "daemon"),
            (self.notify.take().is_some(), "notify"),
            (self.web.take().is_some(), "web"),
            (self.claude.take().is_some(), "claude"),
            (self.bridge.take().is_some(), "bridge"),
            (self.who.is_some(), TAKE_MAIL),
            (taken.retries, "delivery.retry_after"),
            (taken.escalates, "delivery.escalate_to"),
            (taken.expires, "delivery.expire_after"),
        ];
        taken.into_iter().filter_map(|(is_there, key)| is_there.then_some(key)).collect()
    }

    /// All keys and tables that it has.
    pub(super) fn keys(&self) -> Vec<&'static str> {
        let there = [
            (self.root.is_some(), "root"),
            (self.state.is_some(), "state"),
            (self.team.is_some(), "team"),
            (self.who.is_some(), "as"),
            (self.color.is_some(), "color"),
            (self.delivery.is_some(), "delivery"),
            (self.archive.is_some(), "archive"),
            (self.wake.is_some(), "wake"),
            (self.pending.is_some(), "pending"),
            (self.context.is_some(), "context"),
            (self.daemon.is_some(), "daemon"),
            (self.notify.is_some(), "notify"),
            (self.web.is_some(), "web"),
            (self.claude.is_some(), "claude"),
            (self.bridge.is_some(), "bridge"),
        ];
        there.into_iter().filter_map(|(is_there, key)| is_there.then_some(key)).collect()
    }
}

/// How long mail waits before each wake for it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wake {
    after: Option<Vec<String>>,
}

impl Wake {
    pub(super) fn ladder(&self) -> Result<Option<Ladder>, String> {
        let span = |text: &String| parse_duration(text).map_err(|error| format!("[wake]: {error}"));
        self.after
            .as_ref()
            .map(|after| after.iter().map(span).collect())
            .transpose()
            .map(|after| after.map(Ladder))
    }
}

/// What counts as pending.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pending {
    unread_after: Option<String>,
}

impl Pending {
    pub(super) fn unread_after(&self) -> Result<Option<Duration>, String> {
        let after = self.unread_after.as_ref().map(|after| parse_duration(after));
        after.transpose().map_err(|error| format!("[pending]: {error}"))
    }
}

/// What goes into a prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InPrompts {
    budget: Option<usize>,
}

impl InPrompts {
    pub(super) fn budget(&self) -> Result<Option<Budget>, String> {
        let budget = self.budget.map(Budget::of).transpose();
        budget.map_err(|why| format!("[context] budget: {why}"))
    }
}

/// What is wrong with the text of a settings file, if anything.
pub(crate) fn trouble_in(text: &str) -> Option<Trouble> {
    parse(text).err()
}

pub(super) fn parse(text: &str) -> Result<File, Trouble> {
    let file: File = toml::from_str(text).map_err(|error| Trouble {
        message: error.to_string().trim_end().to_owned(),
        short: error.message().to_owned(),
        at: error.span().map(|span| span.start),
    })?;
    if let Some(color) = file.color.as_ref().filter(|color| parse_color(color).is_none()) {
        return Err(Trouble::plain(format!("color = {color:?}: must be auto, always or never")));
    }
    if let Some(team) = &file.team {
        team.parse::<TeamName>().map_err(|error| Trouble::plain(format!("team: {error}")))?;
    }
    if let Some(who) = &file.who {
        who.parse::<Address>().map_err(|error| Trouble::plain(format!("as: {error}")))?;
    }
    if let Some(archive) = &file.archive {
        archive.apply(&mut Upkeep::default()).map_err(|why| Trouble::plain(format!("[archive]: {why}")))?;
    }
    if let Some(delivery) = &file.delivery {
        delivery
            .apply_to_all(&mut Policies::default())
            .map_err(|why| Trouble::plain(format!("[delivery]: {why}")))?;
    }
    if let Some(wake) = &file.wake {
        wake.ladder().map_err(Trouble::plain)?;
    }
    if let Some(pending) = &file.pending {
        pending.unread_after().map_err(Trouble::plain)?;
    }
    if let Some(context) = &file.context {
        context.budget().map_err(Trouble::plain)?;
    }
    if let Some(bridge) = &file.bridge {
        bridge.check().map_err(Trouble::plain)?;
    }
    if let Some(notify) = &file.notify {
        let applied = notify.apply(&mut Notifications::default(), Path::new(""));
        applied.map_err(|why| Trouble::plain(format!("[notify]: {why}")))?;
    }
    Ok(file)
}

pub(super) fn parse_color(text: &str) -> Option<ColorChoice> {
    clap::ValueEnum::from_str(text, true).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "root = \"~/x\"\nteam = \"dev\"\nas = \"alice\"\ncolor = \"never\"\n[delivery]\nretry_after = [\"5m\"]\n\
                        expire_after = \"7d\"\n[delivery.high]\nescalate_to = [\"lead\"]\n";

    #[test]
    fn no_settings_make_the_reader_panic() {
        assert!(trouble_in(REAL).is_none());
        bolero::check!().with_iterations(2000).with_type::<(Vec<(u16, u8)>, u16)>().for_each(
            |(changes, cut)| {
                let mut bytes = REAL.as_bytes().to_vec();
                for (at, byte) in changes {
                    let at = usize::from(*at) % bytes.len();
                    bytes[at] = *byte;
                }
                bytes.truncate(usize::from(*cut).max(1));
                let text = String::from_utf8_lossy(&bytes);
                if let Some(trouble) = trouble_in(&text) {
                    assert!(!trouble.short.is_empty());
                    assert!(trouble.at.is_none_or(|at| at <= text.len()), "{text:?}");
                }
            },
        );
    }

    #[test]
    fn without_trust_only_harmless_keys_are_left() {
        let mut file = parse(
            "root = \"a\"\nstate = \"b\"\nteam = \"dev\"\nas = \"alice\"\ncolor = \"never\"\n[delivery]\n\
             retry_after = [\"5m\"]\n[delivery.high]\nescalate_to = [\"eve\"]\n[delivery.low]\nexpire_after = \"1s\"\nretry_after = [\"1h\"]\n\
             [archive]\nkeep = 0\n[wake]\nafter = [\"1m\"]\n[pending]\nunread_after = \"1h\"\n\
             [notify]\ncommand = [\"rm\", \"-rf\", \"/\"]\n[claude]\nnative_peers = true\n",
        )
        .unwrap();
        let ignored = file.keep_harmless();
        assert_eq!(
            ignored,
            [
                "root",
                "state",
                "notify",
                "claude",
                "as (to take mail)",
                "delivery.retry_after",
                "delivery.escalate_to",
                "delivery.expire_after"
            ]
        );
        assert_eq!(file.keep_harmless(), [TAKE_MAIL]);
        assert_eq!(file.keys(), ["team", "as", "color", "delivery", "archive", "wake", "pending"]);
        let mut policies = Policies::default();
        file.delivery.unwrap().apply_to_all(&mut policies).unwrap();
        assert_eq!(policies, Policies { low: policies.low.clone(), ..Policies::default() });
        assert_eq!(policies.low.retry_after.len(), 1);
        assert_eq!(policies.low.expire_after, Policies::default().low.expire_after);
    }

    #[test]
    fn names_are_names_and_trouble_can_be_told_without_the_source() {
        for bad in [
            "team = \"a/b\"",
            "team = \"dev\\u200b\"",
            "as = \"../x\"",
            "as = \"bob@a\\nb\"",
            "[archive]\nolder_than = \"x\"",
            "[archive]\nrotate_over = \"big\"",
            "[pending]\nunread_after = \"x\"",
            "[context]\nbudget = 3",
            "[notify]\ncommand = []",
            "[notify]\ncommand = \"say it\"",
            "[notify]\ncommand = [\"sh\", \"-c\", \"echo {text}\"]",
            "[notify]\ncommand = [\"/bin/bash\", \"-c\", \"{text}\"]",
            "[notify]\nwebhook = \"example.org\"",
            "[notify]\nwebhook_secret = \"x\"",
            "[notify]\ntmux = \"beep\"",
            "[notify]\non = [\"everything\"]",
            "[notify]\nquiet_hours = \"at night\"",
            "[notify]\ndisk_below = \"little\"",
            "[claude]\nnative_peers = \"yes\"",
            "[claude]\npeers = true",
            "[bridge]\nmachine = \"My Laptop\"",
            "[bridge]\nnats = [\"\"]",
            "[bridge]\nserver = \"x\"",
        ] {
            assert!(trouble_in(bad).is_some(), "{bad}");
        }
        let harmless = "[notify]\ncommand = [\"sh\", \"-c\", \"f() { echo $1; }; f $1\", \"sh\", \"{text}\"]";
        assert!(trouble_in(harmless).is_none());
        let netrc = "# mine\nmachine example.org login me password hunter2\n";
        let trouble = trouble_in(netrc).unwrap();
        assert!(trouble.message.contains("hunter2"), "this is why: {}", trouble.message);
        let told = trouble.without_source(netrc);
        assert!(told.starts_with("line 2, column ") && !told.contains("hunter2"), "{told}");
    }
}
