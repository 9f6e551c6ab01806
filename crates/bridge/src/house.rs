//! The ledger and the teams of this machine, as the office has them, under the names that they are shared by.

mod catching_up;
mod collector;
mod following;
mod handover;
mod letters;
mod listing;
mod moves;
mod outcome;
mod placement;
mod stranded;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use atm_office::machines::Refusal;
use atm_office::{Office, OfficeError};
use atm_store::watch::has_events;
use atm_wire::{Stamp, TeamName};
use serde::{Deserialize, Serialize};

use crate::envelope::SharedTeam;
use crate::name::Machine;
use crate::protocol::homes::{Entries, Homes, MemberKey};
use catching_up::CatchUps;
pub use collector::Collector;
use collector::{Moves, hurried};
use following::Following;
use handover::Handovers;

pub use listing::Announced;
pub use outcome::Outcome;

/// A team of this machine, and the name under which the realm knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The team here.
    pub local: TeamName,
    /// Its name in the realm.
    pub shared: String,
}

/// A team that cannot be shared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// Not a team's name.
    #[error(transparent)]
    Name(#[from] atm_wire::NameError),
    /// Two teams of this machine would be one there.
    #[error("{0} is shared twice")]
    Twice(String),
    /// A name with `=`, which no setting of another machine could say.
    #[error("{0} has more than one =: a team is shared as LOCAL or LOCAL=SHARED")]
    Equals(String),
}

impl Share {
    /// `LOCAL` or `LOCAL=SHARED`, each once.
    pub fn parse_all<'a>(teams: impl IntoIterator<Item = &'a str>) -> Result<Vec<Self>, ShareError> {
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for given in teams {
            let (local, shared) = given.split_once('=').unwrap_or((given, given));
            if shared.contains('=') {
                return Err(ShareError::Equals(given.to_owned()));
            }
            let (local, shared) = (TeamName::parse(local)?, TeamName::parse(shared)?.to_string());
            if !names.insert(format!("team {local}")) || !names.insert(format!("shared team {shared}")) {
                return Err(ShareError::Twice(given.to_owned()));
            }
            all.push(Self { local, shared });
        }
        Ok(all)
    }
}

/// What other machines said of themselves last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Their teams and members.
    pub teams: Vec<SharedTeam>,
    /// Whether the machine is there.
    #[serde(skip)]
    pub is_present: bool,
    /// When it was heard from.
    pub seen_at: Stamp,
    /// When it made its last announcement that stays, by its own clock: nothing older is believed.
    #[serde(default)]
    pub said_at: Option<Stamp>,
    /// When it made its last heartbeat since.
    #[serde(skip)]
    pub beat_at: Option<Stamp>,
}

/// This machine's office, for the engine.
#[derive(Debug)]
pub struct House {
    office: Office,
    shares: Vec<Share>,
    origin: String,
    as_lead: HashSet<Machine>,
    leads: HashMap<TeamName, HashSet<String>>,
    following: Following,
    moves_lock: Moves,
    handovers: Handovers,
    catch_ups: CatchUps,
    /// Recipients, by team and name here, with letters that could not be sent on when letters were listed last.
    stuck: HashSet<(TeamName, String)>,
    pub(crate) me: Machine,
    pub(crate) homes: Homes,
    /// The ordinary members that are here.
    pub(crate) own: Entries,
    /// Those of them that are being taken here.
    arriving: HashSet<MemberKey>,
    /// Whom other machines have, as they said last.
    announced: BTreeMap<Machine, Vec<SharedTeam>>,
    /// What this machine says of its own teams, as they were read last.
    listed: Announced,
    /// The teams that were read since the start: before, nobody of them is known to be gone.
    read: HashSet<String>,
    /// Members whose names another machine holds, since when that is seen, and whether their lead was told.
    pub(crate) refused: HashMap<(MemberKey, Machine, u64), (Instant, bool)>,
    /// Members of other machines that have no place here, by team.
    unplaced: Vec<(String, Refusal)>,
}

impl House {
    /// Over this office, on a machine of this name.
    pub fn new(office: Office, shares: Vec<Share>, me: Machine) -> Result<Self, OfficeError> {
        let office = hurried(office);
        let origin = office.machines().identity()?.origin;
        let mut following = Following::default();
        // What came before this process started may still be on its way to be read.
        for share in &shares {
            let machines = office.machines();
            let others = machines.teams_with_unseen_mail_of(&share.local)?;
            // Where all is seen, nothing is left to be told.
            let own = machines.has_unseen_mail(&share.local)?.then_some(&share.local);
            for team in others.iter().chain(own) {
                following.note(team, Instant::now());
            }
        }
        Ok(Self {
            office,
            shares,
            origin,
            as_lead: HashSet::new(),
            leads: HashMap::new(),
            following,
            moves_lock: Moves::default(),
            handovers: Handovers::default(),
            catch_ups: CatchUps::default(),
            stuck: HashSet::new(),
            me,
            homes: Homes::default(),
            own: Entries::new(),
            arriving: HashSet::new(),
            announced: BTreeMap::new(),
            listed: Announced::new(),
            read: HashSet::new(),
            refused: HashMap::new(),
            unplaced: Vec::new(),
        })
    }

    /// The epoch of the log.
    pub fn epoch(&self) -> Result<String, OfficeError> {
        Ok(self.office.machines().identity()?.epoch)
    }

    /// The machines whose leads may lead here.
    pub fn set_as_lead(&mut self, machines: impl IntoIterator<Item = Machine>) {
        self.as_lead = machines.into_iter().collect();
    }

    /// Whether the system tells of changes in the files of this machine.
    pub fn has_events(&self) -> bool {
        has_events(self.office.root().path()) && has_events(self.office.state().path())
    }

    /// Looks at teams with mail from other machines: what clients did with it becomes receipts without anybody's command.
    /// Says whether there is news.
    pub fn look(&mut self) -> Outcome<bool> {
        let mut outcome = Outcome { done: false, trouble: None };
        for team in self.following.due(Instant::now()) {
            if self.office.has_team(&team) {
                let looked = self.office.look(&team);
                outcome.done |= outcome.note(looked).is_some_and(|looked| looked.has_news());
            }
        }
        outcome
    }

    /// When a team is to be looked at next, if any has mail from other machines.
    pub fn next_look(&self) -> Option<Instant> {
        self.following.next()
    }

    /// Makes the members of other machines known here; says whether that changed anything.
    pub fn place(&mut self, neighbours: &BTreeMap<Machine, Neighbour>) -> Outcome<bool> {
        self.announced = neighbours
            .iter()
            .map(|(machine, neighbour)| (machine.clone(), neighbour.teams.clone()))
            .collect();
        // A move that cannot be done now is done the next time, and keeps nobody else away.
        let mut outcome = self.settle_moves(neighbours);
        let mut unplaced = Vec::new();
        for Share { local, shared } in &self.shares {
            if !self.office.has_team(local) {
                continue;
            }
            let remote = placement::members_of(shared, (&self.me, &self.own), &self.homes, neighbours);
            let undecided = remote.iter().filter(|member| self.is_undecided((local, shared), member));
            let undecided: HashSet<&str> = undecided.map(|member| member.name.as_str()).collect();
            let placed = self.office.machines().set_members_but(local, &remote, &undecided);
            match outcome.note(placed) {
                Some(placed) => {
                    outcome.done |= !placed.added.is_empty() || !placed.removed.is_empty();
                    unplaced.extend(placed.refused.into_iter().map(|refusal| (shared.clone(), refusal)));
                }
                None => unplaced.extend(self.unplaced.iter().filter(|(team, _)| team == shared).cloned()),
            }
        }
        self.unplaced = unplaced;
        outcome
    }

    /// Members of other machines that have no place here, by team, and why.
    pub fn unplaced(&self) -> &[(String, Refusal)] {
        &self.unplaced
    }

    /// This machine's office.
    pub(crate) fn office(&self) -> &Office {
        &self.office
    }

    fn share_of_local(&self, team: &TeamName) -> Option<&Share> {
        self.shares.iter().find(|share| &share.local == team)
    }

    /// Whether a team is shared by this machine.
    pub(crate) fn has_share(&self, shared: &str) -> bool {
        self.share_of(shared).is_some()
    }

    pub(crate) fn share_of(&self, shared: &str) -> Option<&Share> {
        self.shares.iter().find(|share| share.shared == shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_is_shared_under_one_name() {
        let shares = Share::parse_all(["alpha", "beta=work", "session-12ab"]).unwrap();
        let names: Vec<_> =
            shares.iter().map(|share| (share.local.as_str(), share.shared.as_str())).collect();
        assert_eq!(names, [("alpha", "alpha"), ("beta", "work"), ("session-12ab", "session-12ab")]);
        assert!(matches!(Share::parse_all(["a=x", "b=x"]), Err(ShareError::Twice(_))));
        assert!(matches!(Share::parse_all(["a=x", "a=y"]), Err(ShareError::Twice(_))));
        assert!(matches!(Share::parse_all(["a/b"]), Err(ShareError::Name(_))));
        assert!(matches!(Share::parse_all(["a="]), Err(ShareError::Name(_))));
        assert!(matches!(Share::parse_all(["a=b=c"]), Err(ShareError::Equals(_))));
    }
}
