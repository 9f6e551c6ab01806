//! Members of other machines, as they stand in a team here.

use std::borrow::Borrow;
use std::collections::HashSet;

use atm_wire::team::RemoteEntry;
use atm_wire::{Color, MachineName, MemberName, Stamp, TeamName};

use super::place::{Refusal, RemoteMember, place};
use super::{Home, Machines, Table};
use crate::error::OfficeError;

/// A member of this machine, as others are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalMember {
    /// Its name.
    pub name: String,
    /// It leads the team here.
    pub is_lead: bool,
    /// Whether it is there: `online`, `idle`, `stalled`, `offline` or `unknown`.
    pub state: String,
    /// When it joined, if its entry says so.
    pub joined_at: Option<Stamp>,
    /// It is being taken here from another machine.
    pub is_arriving: bool,
}

/// What came of placing the members of other machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placed {
    /// The names that came, as they are called here.
    pub added: Vec<String>,
    /// The names that went.
    pub removed: Vec<String>,
    /// Those who have no place here.
    pub refused: Vec<Refusal>,
}

impl Machines<'_> {
    /// Makes these the members of other machines that a team has here: entries in its `config.json`, each with an inbox.
    /// Members of this machine are not touched, and what is as it should be is not written.
    pub fn set_members(&self, team: &TeamName, remote: &[RemoteMember]) -> Result<Placed, OfficeError> {
        self.set_members_but(team, remote, &HashSet::new())
    }

    /// The same while some names are `undecided`: a member here that has one of these may be about to become the one that another
    /// machine holds. Listed beside it, that one would get mail for all twice.
    pub fn set_members_but(
        &self,
        team: &TeamName,
        remote: &[RemoteMember],
        undecided: &HashSet<&str>,
    ) -> Result<Placed, OfficeError> {
        let office = self.office;
        let folder = office.folder(team)?;
        let config = folder.load()?;
        let lead = office.lead_of(team, &config).ok();
        let own = config.members.iter().filter(|member| member.machine.is_none());
        let mut local: Vec<&str> = own.map(|member| member.name.as_str()).collect();
        local.extend(lead.as_ref().map(MemberName::as_str));
        let table = office.table(team);
        let is_listed = |name: &&&str| {
            let holder = remote.iter().find(|member| member.holds_name && member.name == **name);
            holder.is_some_and(|holder| table.lists_beside(&holder.name, &holder.machine))
        };
        let undecided = undecided.iter().filter(|name| !is_listed(name)).copied().collect();
        let (placed, refused) = place(&local, remote, &undecided);
        let entries: Vec<RemoteEntry<'_>> = placed
            .iter()
            .enumerate()
            .map(|(turn, (name, member))| self.entry_of(team, name, &member.machine, turn))
            .collect();
        // The table first: an entry without one is of a machine that nobody has heard of.
        let rows = placed.iter().map(|(name, member)| (name.to_string(), member.clone()));
        office.set_table(team, Table::new(rows, table, |name| local.contains(&name)))?;
        let changed = folder.mirror(&entries)?;
        for (name, _) in &placed {
            let mailbox = office.mailbox(team, name);
            if !mailbox.exists() {
                mailbox.create()?;
            }
        }
        for name in changed.removed.iter().filter(|name| !changed.added.contains(name)) {
            let Ok(name) = MemberName::parse(name) else { continue };
            office.mailbox(team, &name).remove_if_empty()?;
        }
        Ok(Placed { added: changed.added, removed: changed.removed, refused })
    }

    /// The entry in a team's configuration of a member of another machine; the how many-th gives its colour.
    pub(super) fn entry_of<'a>(
        &self,
        team: &TeamName,
        name: &'a MemberName,
        machine: &'a MachineName,
        turn: usize,
    ) -> RemoteEntry<'a> {
        RemoteEntry {
            name,
            agent_id: format!("{name}@{team}"),
            machine,
            color: Color::in_turn(turn),
            joined_at: self.office.now(),
        }
    }

    /// Takes all members of other machines out of a team. Mail that waits for them goes on waiting.
    pub fn unshare(&self, team: &TeamName) -> Result<Placed, OfficeError> {
        self.set_members(team, &[])
    }

    /// The members of a team whose home is this machine.
    pub fn local_members(&self, team: &TeamName) -> Result<Vec<LocalMember>, OfficeError> {
        let (table, now) = (self.office.table(team), self.office.now());
        let mut team = self.office.team(team)?;
        let lead = team.lead().ok().map(ToString::to_string);
        let views = team.members();
        let here = views.into_iter().filter(|view| view.machine.is_none() && view.has_entry);
        let mut members: Vec<LocalMember> = here
            .map(|view| LocalMember {
                is_lead: lead.as_ref() == Some(&view.name),
                state: view.state.as_str().to_owned(),
                joined_at: team.config().member(&view.name).and_then(|member| member.joined_at),
                is_arriving: table.is_arriving(&view.name, now),
                name: view.name,
            })
            .collect();
        // A lead need not be a member.
        if let Some(lead) = lead.filter(|lead| members.iter().all(|member| member.name != *lead)) {
            members.push(LocalMember {
                name: lead,
                is_lead: true,
                state: "unknown".to_owned(),
                joined_at: None,
                is_arriving: false,
            });
        }
        Ok(members)
    }

    /// Whether a machine is known to have been the home of the member of a name, because it announced it so.
    pub fn was_home(&self, team: &TeamName, name: &str, machine: &MachineName) -> bool {
        self.office.table(team).was_home(name, machine)
    }

    /// Where the home of a name is.
    pub fn home(&self, team: &TeamName, name: &str) -> Result<Home, OfficeError> {
        self.home_by(team, name, || self.office.table(team))
    }

    /// The same where the table may have been read already.
    pub(super) fn home_by<T: Borrow<Table>>(
        &self,
        team: &TeamName,
        name: &str,
        table: impl FnOnce() -> T,
    ) -> Result<Home, OfficeError> {
        let config = self.office.folder(team)?.load()?;
        let machine: Option<MachineName> = match (config.machine_of(name), config.member(name)) {
            (Some(machine), _) => Some(machine.clone()),
            (None, Some(_)) => None,
            (None, None) => table().borrow().machine_of(name).cloned(),
        };
        Ok(machine.map_or(Home::Here, Home::Machine))
    }

    /// Whether mail for a name must not be written into its file here now. Of a member that has left, it goes to its new home, in the
    /// order of the log; of one that is being taken here, it waits for the mail that comes with it, for a while.
    pub(crate) fn holds_mail_of(&self, team: &TeamName, name: &str) -> bool {
        let table = self.office.table(team);
        if table.is_empty() {
            return false;
        }
        match self.home_by(team, name, || &table) {
            Ok(Home::Here) => table.is_arriving(name, self.office.now()),
            Ok(Home::Machine(_)) => true,
            Err(_) => false,
        }
    }
}
