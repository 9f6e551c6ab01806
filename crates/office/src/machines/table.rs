//! What is known of other machines' members: a small file of ours, replaced whole by the bridge. Their homes stand in
//! `config.json`; here is what does not belong there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use atm_store::Memo;
use atm_wire::{MachineName, Stamp, TeamName};

use super::place::RemoteMember;
use crate::error::OfficeError;
use crate::office::Office;
use crate::people::presence::{Judgement, Presence, Trace, Weight};

/// Names that are remembered after they went.
const MOST_GONE: usize = 1_000;

/// How long a member may take to arrive here. Later its mail is written all the same, before what was sent to its former home.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);

/// The members of other machines that a team has, by what they are called here; and names that meant one before. Clients that have
/// an old list in memory go on writing into their files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Table {
    members: Rows,
    gone: Rows,
    /// Members that are being taken here, as they were listed before, with the time at which that began.
    arriving: Rows,
}

type Rows = BTreeMap<String, RemoteMember>;

/// As they stand in the file: a team's members under its name, those that went with [`GONE`] behind it, and those that come with
/// [`ARRIVING`].
type Tables = BTreeMap<String, Rows>;

/// No team's name has a slash.
const GONE: &str = "/gone";
const ARRIVING: &str = "/arriving";

impl Table {
    /// One with these members, and with the names of the last one that are neither theirs nor those of members here.
    pub(super) fn new(
        members: impl Iterator<Item = (String, RemoteMember)>,
        last: Self,
        is_here: impl Fn(&str) -> bool,
    ) -> Self {
        let (members, arriving): (Rows, Rows) = (members.collect(), last.arriving);
        let last = last.gone.into_iter().chain(last.members);
        let gone: Rows =
            last.filter(|(called, _)| !members.contains_key(called) && !is_here(called)).collect();
        let mut gone: Vec<(String, RemoteMember)> = gone.into_iter().collect();
        gone.sort_by_key(|(_, member)| std::cmp::Reverse(member.seen_at));
        gone.truncate(MOST_GONE);
        Self { members, gone: gone.into_iter().collect(), arriving }
    }

    /// Whether nothing is known of other machines in the team.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.gone.is_empty() && self.arriving.is_empty()
    }

    /// Whether a member is being taken here: it is on the list, and its mail from its former home is not here yet.
    pub(super) fn is_arriving(&self, name: &str, now: Stamp) -> bool {
        let since = self.arriving.get(name).and_then(|member| member.seen_at);
        // A clock that was set back since keeps no mail waiting.
        since.is_some_and(|since| since <= now && now < since.saturating_add(ARRIVES_WITHIN))
    }

    /// Names that meant a member of another machine before, and mean nobody now.
    pub(super) fn gone(&self) -> impl Iterator<Item = (&str, &MachineName)> {
        self.gone.iter().map(|(called, member)| (called.as_str(), &member.machine))
    }

    /// Whether a member leads on its machine.
    pub(super) fn leads(&self, name: &str, machine: &MachineName) -> bool {
        self.members
            .values()
            .any(|member| member.is_lead && member.name == name && member.machine == *machine)
    }

    /// Whether a machine has a member of this name that is not at home there, or had one last: another one than the member whose
    /// homes are registered.
    pub(super) fn has_another(&self, name: &str, machine: &MachineName) -> bool {
        let is_another = |member: &RemoteMember| {
            member.name == name && member.machine == *machine && member.epoch.is_none()
        };
        let last = self.gone.get(&machine.qualify(name));
        self.members.values().chain(last).any(is_another)
    }

    /// Whether a machine was the home of the member of this name, by its own words: it announced it under an epoch.
    pub(super) fn was_home(&self, name: &str, machine: &MachineName) -> bool {
        let is_it = |member: &RemoteMember| {
            member.name == name && member.machine == *machine && member.epoch.is_some()
        };
        self.members.values().chain(self.gone.values()).any(is_it)
    }

    /// Whether a machine has a member of this name.
    pub(super) fn lists(&self, name: &str, machine: &MachineName) -> bool {
        self.members.values().any(|member| member.name == name && member.machine == *machine)
    }

    /// Whether a machine's member is listed with its machine's name: beside another one that has its name.
    pub(super) fn lists_beside(&self, name: &str, machine: &MachineName) -> bool {
        let is_it = |member: &RemoteMember| member.name == name && member.machine == *machine;
        self.members.get(&machine.qualify(name)).is_some_and(is_it)
    }

    /// What a member of a machine is called here. One that nobody announced has its machine's name with its own.
    pub(super) fn name_of(&self, name: &str, machine: &MachineName) -> String {
        let is_it = |member: &&RemoteMember| member.name == name && member.machine == *machine;
        let known = self.members.iter().find(|(_, member)| is_it(member)).map(|(called, _)| called.clone());
        known.unwrap_or_else(|| machine.qualify(name))
    }

    /// A member's own name and home, by what it is called here.
    pub(super) fn member(&self, called: &str) -> Option<(&str, &MachineName)> {
        self.members.get(called).map(|member| (member.name.as_str(), &member.machine))
    }

    /// The home of a member, by what it is called here.
    pub(super) fn machine_of(&self, called: &str) -> Option<&MachineName> {
        self.members.get(called).map(|member| &member.machine)
    }

    /// The names here.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &MachineName)> {
        self.members.iter().map(|(called, member)| (called.as_str(), &member.machine))
    }

    /// Whether a member is there, as its home last said.
    pub(crate) fn judge(&self, called: &str, machine: &MachineName, is_served: bool) -> Judgement {
        let known = self.members.get(called);
        let said = known.map_or("unknown", |member| member.state.as_str());
        let (state, what) = match said {
            _ if !is_served => {
                (Presence::Unknown, format!("on machine {machine}; no bridge runs here to ask it"))
            }
            "online" => (Presence::Online, format!("on machine {machine}, which says that it is online")),
            "idle" => (Presence::Idle, format!("on machine {machine}, which says that it is idle")),
            "stalled" => (Presence::Stalled, format!("on machine {machine}, which says that it is stalled")),
            "offline" => (Presence::Offline, format!("on machine {machine}, which says that it is offline")),
            _ => (Presence::Unknown, format!("on machine {machine}, which has not been heard of")),
        };
        let at: Option<Stamp> = known.and_then(|member| member.seen_at);
        Judgement { state, activity: None, evidence: vec![Trace { what, at, weight: Weight::Decides }] }
    }
}

impl Office {
    /// What is known of other machines' members in a team. A file that cannot be read is as none.
    pub(crate) fn table(&self, team: &TeamName) -> Table {
        let text = self.machines_memo().read().ok().flatten();
        let mut tables = parse(text.as_deref());
        let mut rows = |key: String| tables.remove(&key).unwrap_or_default();
        let (members, gone) = (rows(team.to_string()), rows(format!("{team}{GONE}")));
        Table { members, gone, arriving: rows(format!("{team}{ARRIVING}")) }
    }

    /// Notes that a member of a machine is being taken here, or that this is over.
    pub(super) fn set_arriving(
        &self,
        team: &TeamName,
        name: &str,
        from: Option<&MachineName>,
    ) -> Result<(), OfficeError> {
        let is_noted = self.table(team).arriving.contains_key(name);
        if from.is_none() && !is_noted {
            return Ok(());
        }
        let came = from.map(|machine| RemoteMember {
            name: name.to_owned(),
            machine: machine.clone(),
            is_lead: false,
            holds_name: true,
            state: "unknown".to_owned(),
            seen_at: Some(self.now()),
            epoch: None,
        });
        self.machines_memo().update(|text| {
            let mut tables = parse(text);
            let rows = tables.entry(format!("{team}{ARRIVING}")).or_default();
            rows.remove(name);
            rows.extend(came.map(|member| (name.to_owned(), member)));
            tables.retain(|_, rows| !rows.is_empty());
            Ok((Some(serde_json::to_string(&tables).unwrap_or_default()), ()))
        })
    }

    /// Puts a table in the place of the last one; a team without members of other machines has none.
    pub(super) fn set_table(&self, team: &TeamName, table: Table) -> Result<(), OfficeError> {
        if self.table(team) == table {
            return Ok(());
        }
        self.machines_memo().update(|text| {
            let mut tables = parse(text);
            // Who arrives is noted by another process, and stays.
            tables.insert(team.to_string(), table.members);
            tables.insert(format!("{team}{GONE}"), table.gone);
            tables.retain(|_, rows| !rows.is_empty());
            Ok((Some(serde_json::to_string(&tables).unwrap_or_default()), ()))
        })
    }

    /// The file of all this.
    pub(super) fn table_file(&self) -> PathBuf {
        self.machines_memo().path().to_owned()
    }

    fn machines_memo(&self) -> Memo {
        Memo::of_machines(&self.root, &self.state, self.times)
    }
}

fn parse(text: Option<&str>) -> Tables {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
