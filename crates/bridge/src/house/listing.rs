//! Who is at home here: read team by team, each on its own. A team that cannot be read now keeps what was read of it last, across
//! restarts as well; its trouble is told, and is nobody else's.

use std::collections::{BTreeMap, HashSet};

use atm_office::OfficeError;
use atm_office::machines::LocalMember;
use atm_office::office::USER;

use super::{House, Outcome, Share};
use crate::envelope::{SharedMember, SharedTeam};
use crate::protocol::homes::{Entries, MemberKey, Resident};

/// What this machine announces of its teams, by shared name, as it was last read.
pub type Announced = BTreeMap<String, SharedTeam>;

/// The members of one team, as they were read now.
struct Listing {
    team: SharedTeam,
    leads: HashSet<String>,
    own: Entries,
    arriving: HashSet<MemberKey>,
}

impl House {
    /// Goes on with what was announced before a restart, of teams that cannot be read yet. How somebody was then says nothing of now.
    pub fn set_listed(&mut self, listed: Announced) {
        for (shared, mut team) in listed {
            let Some(local) = self.share_of(&shared).map(|share| share.local.clone()) else { continue };
            let leads = team.members.iter().filter(|member| member.lead).map(|member| member.name.clone());
            self.leads.insert(local, leads.collect());
            for member in &mut team.members {
                "unknown".clone_into(&mut member.state);
            }
            self.listed.insert(shared, team);
        }
    }

    /// What this machine announces of its teams, without what changes by itself.
    pub fn listed(&self) -> Announced {
        let mut listed = self.listed.clone();
        for member in listed.values_mut().flat_map(|team| &mut team.members) {
            member.state.clear();
        }
        listed
    }

    /// The teams that are shared, with the members that are at home here.
    pub fn shared(&mut self) -> Outcome<Vec<SharedTeam>> {
        let mut outcome = Outcome { done: Vec::new(), trouble: None };
        for share in self.shares.clone() {
            let listing = self.read_team(&share);
            if let Some(listing) = outcome.note(listing) {
                self.note_listing(share, listing);
            }
        }
        let teams = self.shares.iter().filter_map(|share| self.listed.get(&share.shared).cloned());
        outcome.done = teams.collect();
        outcome
    }

    /// Nothing for a team that is not here.
    fn read_team(&self, Share { local, shared }: &Share) -> Result<Option<Listing>, OfficeError> {
        if !self.office.has_team(local) {
            return Ok(None);
        }
        let members = self.office.machines().local_members(local)?;
        Ok(Some(self.listing_of(shared, members)))
    }

    fn listing_of(&self, shared: &str, members: Vec<LocalMember>) -> Listing {
        let leads = members.iter().filter(|member| member.is_lead).map(|member| member.name.clone());
        let leads = leads.collect();
        let (mut announced, mut own, mut arriving) = (Vec::new(), Entries::new(), HashSet::new());
        for member in members {
            let key = MemberKey { team: shared.to_owned(), name: member.name.clone() };
            let is_ordinary = !member.is_lead && member.name != USER;
            let entry = Resident::of(member.joined_at);
            let epoch = self.homes.announced_epoch(&key, &self.me, entry).filter(|_| is_ordinary);
            let is_taken = member.is_arriving && is_ordinary && epoch.is_none();
            arriving.extend(is_taken.then(|| key.clone()));
            if is_ordinary {
                own.insert(key, entry);
            }
            // One that is being taken is no other member of the name, which others would list beside it.
            if is_taken {
                continue;
            }
            let (name, lead, state) = (member.name, member.is_lead, member.state);
            announced.push(SharedMember { name, lead, state, epoch });
        }
        let team = SharedTeam { name: shared.to_owned(), members: announced };
        Listing { team, leads, own, arriving }
    }

    /// A team was read: this takes the place of what was read of it last.
    fn note_listing(&mut self, share: Share, listing: Option<Listing>) {
        let Share { local, shared } = share;
        self.own.retain(|key, _| key.team != shared);
        self.arriving.retain(|key| key.team != shared);
        match listing {
            Some(Listing { team, leads, own, arriving }) => {
                self.leads.insert(local, leads);
                self.own.extend(own);
                self.arriving.extend(arriving);
                self.listed.insert(shared.clone(), team);
            }
            None => drop(self.listed.remove(&shared)),
        }
        self.read.insert(shared);
    }

    /// Whether it is known who of a team is here now: a team that was not read since the start has lost nobody.
    pub(super) fn has_read(&self, shared: &str) -> bool {
        self.read.contains(shared)
    }
}
