//! What the bridge says of itself, for `atm bridge status`.

mod clock;

use std::collections::BTreeMap;
use std::time::Duration;

use atm_office::machines::Refusal;
use atm_store::files::{read_small, replace_own};
use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use crate::engine::Tally;
use crate::files::Files;
use crate::house::Neighbour;
use crate::name::{Machine, Realm};
use crate::protocol::StreamView;
use crate::protocol::homes::Refused;
use crate::protocol::outbox::{Backlog, Lane};

pub(crate) use clock::ClockOffset;

/// The largest status that is read.
const LARGEST: u64 = 8 << 20;
/// For so long the server's words explain requests that time out: longer than a request's patience.
const EXPLAINS: Duration = Duration::from_secs(30);
/// Troubles are shown in one line.
const LONGEST_TROUBLE: usize = 300;
/// Names that are refused are whatever other machines say.
const LONGEST_NAME: usize = 80;
/// Members without a place that are shown.
const MOST_UNPLACED: usize = 20;

/// What the bridge says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// This machine.
    pub machine: Machine,
    /// The realm.
    pub realm: Realm,
    /// The servers, without passwords.
    pub nats: String,
    /// The process.
    pub pid: u32,
    /// Since when it runs.
    pub since: Stamp,
    /// Whether it is connected.
    pub connected: bool,
    /// The stream, if it can be reached.
    pub stream: Option<StreamStatus>,
    /// Letters that wait for their confirmation, by machine.
    pub outbox: BTreeMap<Machine, usize>,
    /// How far these letters came.
    #[serde(default)]
    pub outbound: BTreeMap<Machine, Backlog>,
    /// Messages for this machine that the server has not delivered yet.
    pub lag: u64,
    /// When the server said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_at: Option<Stamp>,
    /// Letters that came before the one they follow.
    pub held: usize,
    /// Publications that the server has not answered yet.
    pub under_way: usize,
    /// By how many milliseconds this machine's clock is ahead of the server's, at most; none if nothing came for ten minutes.
    pub clock_offset_ms: Option<i64>,
    /// The other machines.
    pub machines: BTreeMap<Machine, MachineStatus>,
    /// How full the bucket of tasks is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_bytes: Option<Fill>,
    /// What was counted.
    pub tally: Tally,
    /// What went wrong last.
    pub last_error: Option<Trouble>,
    /// The shared teams.
    pub teams: Vec<String>,
    /// Letters that wait because the machine that they were sent to does not have their recipient.
    #[serde(default)]
    pub absent: Vec<Absent>,
    /// Members of this machine whose names another machine holds.
    #[serde(default)]
    pub held_elsewhere: Vec<HeldElsewhere>,
    /// Members of other machines that have no place here.
    #[serde(default)]
    pub unplaced: Vec<Unplaced>,
    /// Since when another bridge speaks under this machine's name: nothing is carried meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namesake_since: Option<Stamp>,
}

/// A member that the machine does not have to which letters for it were sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Absent {
    /// The team, by its shared name.
    pub team: String,
    /// The member.
    pub name: String,
    /// The machine that does not have it.
    pub machine: Machine,
    /// How many letters wait for it.
    pub letters: usize,
}

/// A member of this machine whose name another machine holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldElsewhere {
    /// The team, by its shared name.
    pub team: String,
    /// The member.
    pub name: String,
    /// The machine that holds the name.
    pub machine: Machine,
}

/// A member of another machine that has no place here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unplaced {
    /// The team, by its shared name.
    pub team: String,
    /// The member, as it is called at home.
    pub name: String,
    /// Its home.
    pub machine: Machine,
    /// Why.
    pub why: String,
}

/// The stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamStatus {
    /// When the server made it, in nanoseconds.
    pub made: String,
    /// Its oldest message.
    pub first: u64,
    /// Its newest.
    pub last: u64,
}

/// Another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// Whether it is there.
    pub present: bool,
    /// When it was last heard from.
    pub seen_at: Stamp,
    /// How many members it shares.
    pub members: usize,
}

/// How full something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// What it has, in bytes.
    pub used: u64,
    /// What it may have; 0: there is no bound.
    pub most: u64,
}

impl Fill {
    /// In percent, if that is so much that people should know.
    pub fn alarming(self) -> Option<u64> {
        let percent = self.used.saturating_mul(100).checked_div(self.most)?;
        (percent >= 80).then_some(percent)
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What.
    pub what: String,
    /// When.
    pub at: Stamp,
}

impl Status {
    /// That of a bridge that starts now.
    pub fn new(machine: Machine, realm: Realm, nats: String, teams: Vec<String>, since: Stamp) -> Self {
        Self {
            machine,
            realm,
            nats,
            pid: std::process::id(),
            since,
            connected: false,
            stream: None,
            outbox: BTreeMap::new(),
            outbound: BTreeMap::new(),
            lag: 0,
            lag_at: None,
            held: 0,
            under_way: 0,
            clock_offset_ms: None,
            machines: BTreeMap::new(),
            task_bytes: None,
            tally: Tally::default(),
            last_error: None,
            teams,
            absent: Vec::new(),
            held_elsewhere: Vec::new(),
            unplaced: Vec::new(),
            namesake_since: None,
        }
    }

    /// What the last bridge wrote, if there was one.
    pub fn load(files: &Files) -> Option<Self> {
        let file = read_small(&files.status(), LARGEST).ok().flatten()?;
        serde_json::from_slice(&file.bytes).ok()
    }

    pub(crate) fn save(&self, files: &Files) {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        // It is for people, and the next one comes soon.
        let _ = replace_own(&files.status(), &(text + "\n"));
    }

    /// Says whether that is news.
    pub(crate) fn set_stream(&mut self, view: Option<&StreamView>) -> bool {
        let status = |view: &StreamView| StreamStatus {
            made: view.stream.clone(),
            first: view.first,
            last: view.last,
        };
        let stream = view.map(status);
        let connected = self.connected || view.is_some();
        let is_news = stream != self.stream || connected != self.connected;
        (self.stream, self.connected) = (stream, connected);
        is_news
    }

    /// The server says that so many messages for this machine are not delivered. Says whether that is news: the same is once a minute.
    pub(crate) fn set_lag(&mut self, count: u64, at: Stamp) -> bool {
        let minute = |at: Option<Stamp>| at.map(to_the_minute);
        let is_news = self.lag != count || minute(self.lag_at) != minute(Some(at));
        if is_news {
            (self.lag, self.lag_at) = (count, Some(at));
        }
        is_news
    }

    pub(crate) fn set_absent(&mut self, absent: BTreeMap<Lane, usize>) {
        let status = |(Lane { machine, team, to }, letters)| Absent { team, name: to, machine, letters };
        self.absent = absent.into_iter().map(status).collect();
    }

    pub(crate) fn set_refused(&mut self, refused: Vec<Refused>) {
        let held = |Refused { key, machine, .. }| HeldElsewhere { team: key.team, name: key.name, machine };
        self.held_elsewhere = refused.into_iter().map(held).collect();
    }

    pub(crate) fn set_unplaced(&mut self, unplaced: &[(String, Refusal)]) {
        let status = |(team, Refusal { name, machine, why }): &(String, Refusal)| Unplaced {
            team: team.clone(),
            name: name.chars().take(LONGEST_NAME).collect(),
            machine: machine.clone(),
            why: why.chars().take(LONGEST_TROUBLE).collect(),
        };
        self.unplaced = unplaced.iter().take(MOST_UNPLACED).map(status).collect();
    }

    /// A request that timed out does not take the place of what the server said a moment ago: that is why.
    pub(crate) fn set_trouble(&mut self, what: &str, at: Stamp) {
        let is_explained =
            |known: &Trouble| known.what.starts_with("the server says") && at.since(known.at) < EXPLAINS;
        if what.contains("timed out") && self.last_error.as_ref().is_some_and(is_explained) {
            return;
        }
        let what = what.chars().filter(|c| !c.is_control()).take(LONGEST_TROUBLE).collect();
        self.last_error = Some(Trouble { what, at });
    }

    pub(crate) fn set_machines(&mut self, neighbours: &BTreeMap<Machine, Neighbour>) {
        let status = |neighbour: &Neighbour| MachineStatus {
            present: neighbour.is_present,
            seen_at: if neighbour.is_present { to_the_minute(neighbour.seen_at) } else { neighbour.seen_at },
            members: neighbour.teams.iter().map(|team| team.members.len()).sum(),
        };
        self.machines =
            neighbours.iter().map(|(name, neighbour)| (name.clone(), status(neighbour))).collect();
    }
}

/// A heartbeat alone is no news to write down.
pub(super) fn to_the_minute(at: Stamp) -> Stamp {
    Stamp::from_millis(at.as_millis() / 60_000 * 60_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_alarms_from_four_fifths_on() {
        let alarming = |used, most| Fill { used, most }.alarming();
        assert_eq!([alarming(79, 100), alarming(80, 100), alarming(100, 100)], [None, Some(80), Some(100)]);
        assert_eq!([alarming(9, 0), alarming(u64::MAX, 1)].map(|percent| percent.is_some()), [false, true]);
    }

    #[test]
    fn the_same_lag_is_news_once_a_minute() {
        let at = |seconds: i64| Stamp::from_millis(1_800_000_000_000 + seconds * 1_000);
        let (machine, realm) = ("hub".parse().unwrap(), "home".parse().unwrap());
        let mut status = Status::new(machine, realm, "nats://hub".into(), Vec::new(), at(0));
        let mut after = |count, seconds| {
            let is_news = status.set_lag(count, at(seconds));
            (is_news, status.lag, status.lag_at)
        };
        assert_eq!(after(0, 1), (true, 0, Some(at(1))), "the first word");
        assert_eq!(after(0, 30), (false, 0, Some(at(1))));
        assert_eq!(after(7, 31), (true, 7, Some(at(31))));
        assert_eq!(after(7, 90), (true, 7, Some(at(90))));
    }

    #[test]
    fn the_servers_own_words_outlive_the_timeouts_that_they_explain() {
        let at = |seconds: i64| Stamp::from_millis(1_800_000_000_000 + seconds * 1_000);
        let (machine, realm) = ("hub".parse().unwrap(), "home".parse().unwrap());
        let mut status = Status::new(machine, realm, "nats://hub".into(), Vec::new(), at(0));
        let mut after = |what: &str, seconds: i64| {
            status.set_trouble(what, at(seconds));
            status.last_error.clone().unwrap().what
        };
        let said = "the server says: Permissions Violation";
        assert_eq!(after("cannot publish: timed out", 0), "cannot publish: timed out");
        assert_eq!(after(said, 1), said);
        assert_eq!(after("cannot publish: timed out", 6), said);
        assert_eq!(after("disk full", 7), "disk full");
        assert_eq!(after(said, 8), said);
        assert_eq!(after("cannot publish: timed out", 60), "cannot publish: timed out");
    }
}
