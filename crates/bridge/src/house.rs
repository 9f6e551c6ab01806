//! The ledger and the teams of this machine, as the office has them, under the names that they are shared by.

mod following;
mod moves;
mod placement;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Instant;

use atm_office::machines::{self, Evidence, Incoming, Stage};
use atm_office::{Office, OfficeError};
use atm_store::watch::has_events;
use atm_wire::{Stamp, TeamName};
use serde::{Deserialize, Serialize};

use crate::envelope::{Failure, SharedMember, SharedTeam};
use crate::local::{Letter, Local, LocalError, Outgoing, Receipt, TakenIn};
use crate::name::Machine;
use crate::protocol::homes::{Homes, MemberKey};
use following::Following;

/// Every machine has its own: it has no home.
const USER: &str = "user";

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
}

impl Share {
    /// `LOCAL` or `LOCAL=SHARED`, each once.
    pub fn parse_all<'a>(teams: impl IntoIterator<Item = &'a str>) -> Result<Vec<Self>, ShareError> {
        let (mut all, mut names) = (Vec::new(), HashSet::new());
        for given in teams {
            let (local, shared) = given.split_once('=').unwrap_or((given, given));
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

impl Neighbour {
    /// When it last spoke, by its own clock.
    pub(crate) fn spoke_at(&self) -> Option<Stamp> {
        self.said_at.max(self.beat_at)
    }
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
    pub(crate) me: Machine,
    pub(crate) homes: Homes,
    /// The ordinary members that are here.
    pub(crate) own: BTreeSet<MemberKey>,
    /// Members whose lead was told that another machine holds their names.
    pub(crate) told: HashSet<(MemberKey, Machine, u64)>,
}

impl House {
    /// Over this office, on a machine of this name.
    pub fn new(office: Office, shares: Vec<Share>, me: Machine) -> Result<Self, OfficeError> {
        let origin = office.machines().identity()?.origin;
        let mut following = Following::default();
        // What came before this process started may still be on its way to be read.
        for share in &shares {
            following.note(&share.local, Instant::now());
        }
        Ok(Self {
            office,
            shares,
            origin,
            as_lead: HashSet::new(),
            leads: HashMap::new(),
            following,
            me,
            homes: Homes::default(),
            own: BTreeSet::new(),
            told: HashSet::new(),
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

    /// The folders in which something changes when there is mail for other machines: from `atm`, or from clients.
    pub fn watched(&self) -> Result<Vec<PathBuf>, OfficeError> {
        let machines = self.office.machines();
        let mut folders = vec![machines.bell()?];
        folders.extend(self.shares.iter().flat_map(|share| machines.watched(&share.local)));
        Ok(folders)
    }

    /// Whether the system tells of changes in the files of this machine.
    pub fn has_events(&self) -> bool {
        has_events(self.office.root().path()) && has_events(self.office.state().path())
    }

    /// Brings mail that clients wrote for other machines into the ledger; says how many letters are new.
    pub fn collect(&mut self) -> Result<usize, OfficeError> {
        let (mut count, mut failed) = (0, None);
        for share in self.shares.iter().filter(|share| self.office.has_team(&share.local)) {
            match self.office.machines().collect(&share.local) {
                Ok(collected) => count += collected,
                // One team's trouble is not another one's.
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(count), Err)
    }

    /// Looks at teams with mail from other machines: what clients did with it becomes receipts without anybody's command.
    /// Says whether there is news.
    pub fn look(&mut self) -> Result<bool, OfficeError> {
        let mut has_news = false;
        for team in self.following.due(Instant::now()) {
            if self.office.has_team(&team) {
                has_news |= self.office.look(&team)?.has_news();
            }
        }
        Ok(has_news)
    }

    /// The teams that are shared, with the members that are at home here.
    pub fn shared(&mut self) -> Result<Vec<SharedTeam>, OfficeError> {
        let mut teams = Vec::new();
        self.own.clear();
        for Share { local, shared } in &self.shares {
            if !self.office.has_team(local) {
                continue;
            }
            let members = self.office.machines().local_members(local)?;
            let leads = members.iter().filter(|member| member.is_lead).map(|member| member.name.clone());
            self.leads.insert(local.clone(), leads.collect());
            let mut announced = Vec::new();
            for member in members {
                let key = MemberKey { team: shared.clone(), name: member.name.clone() };
                let is_ordinary = !member.is_lead && member.name != USER;
                let epoch = self.homes.epoch_at(&key, &self.me).filter(|_| is_ordinary);
                if is_ordinary {
                    self.own.insert(key);
                }
                let (name, lead, state) = (member.name, member.is_lead, member.state);
                announced.push(SharedMember { name, lead, state, epoch });
            }
            teams.push(SharedTeam { name: shared.clone(), members: announced });
        }
        Ok(teams)
    }

    /// Makes the members of other machines known here; says whether that changed anything.
    pub fn place(&mut self, neighbours: &BTreeMap<Machine, Neighbour>) -> Result<bool, OfficeError> {
        // A move that cannot be done now is done the next time, and keeps nobody else away.
        let settled = self.settle_moves(neighbours);
        let mut has_changed = *settled.as_ref().unwrap_or(&true);
        for Share { local, shared } in &self.shares {
            if !self.office.has_team(local) {
                continue;
            }
            let remote = placement::members_of(shared, &self.me, &self.homes, neighbours);
            let placed = self.office.machines().set_members(local, &remote)?;
            has_changed |= !placed.added.is_empty() || !placed.removed.is_empty();
        }
        settled.map(|_| has_changed)
    }

    /// This machine's office.
    pub(crate) fn office(&self) -> &Office {
        &self.office
    }

    fn share_of_local(&self, team: &TeamName) -> Option<&Share> {
        self.shares.iter().find(|share| &share.local == team)
    }

    pub(crate) fn share_of(&self, shared: &str) -> Option<&Share> {
        self.shares.iter().find(|share| share.shared == shared)
    }

    /// A receipt of the office for another machine. Strings and numbers: that cannot fail.
    fn export(&self, receipt: &machines::Receipt) -> Option<Receipt> {
        let shared = self.share_of_local(&receipt.team)?.shared.clone();
        let record = serde_json::to_string(receipt).unwrap_or_default();
        Some(Receipt { id: receipt.id.clone(), team: shared, record })
    }

    fn export_all(&self, receipts: &[machines::Receipt]) -> Vec<Receipt> {
        receipts.iter().filter_map(|receipt| self.export(receipt)).collect()
    }

    /// A receipt of another machine for the office. What is about a team that is not shared here is passed over, and so is what
    /// stood in a member's file during an earlier stay there: it left with the member.
    fn import(&self, from: &Machine, receipt: &Receipt) -> Option<machines::Receipt> {
        let share = self.share_of(&receipt.team)?;
        let mut own: machines::Receipt = serde_json::from_str(&receipt.record).ok()?;
        own.team = share.local.clone();
        own.evidence = shortened(own.evidence);
        let key = MemberKey { team: receipt.team.clone(), name: own.to.clone() };
        let stay =
            self.homes.home_of(&key).filter(|residence| residence.machine == *from && residence.epoch > 1);
        let is_past = own.stage < Stage::Taken && stay.is_some_and(|stay| own.at < stay.at);
        (own.id == receipt.id && !is_past).then_some(own)
    }

    /// The receipt of a letter that is refused before the office sees it.
    fn refuse(&self, from: &Machine, letter: &Letter, why: String) -> Result<TakenIn, LocalError> {
        let team = TeamName::parse(&letter.team).map_err(|error| LocalError::Poison(error.to_string()))?;
        let receipt = machines::Receipt {
            id: letter.id.clone(),
            team,
            to: letter.to.clone(),
            for_machine: from.clone(),
            stage: Stage::Failed,
            is_unwritten: true,
            at: now(),
            evidence: Evidence::certain(why),
            origin: self.origin.clone(),
        };
        let record = serde_json::to_string(&receipt).unwrap_or_default();
        Ok(TakenIn::Refused(Receipt { id: letter.id.clone(), team: letter.team.clone(), record }))
    }
}

impl Local for House {
    fn epoch(&mut self) -> Result<String, LocalError> {
        let identity = self.office.machines().identity().map_err(transient)?;
        self.origin = identity.origin;
        Ok(identity.epoch)
    }

    fn outgoing(&mut self, after: u64, most: usize) -> Result<Vec<Outgoing>, LocalError> {
        let mut after = i64::try_from(after).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        // Letters of teams that are not shared stand between.
        while found.len() < most {
            let page = self.office.machines().outgoing(after, most).map_err(transient)?;
            let Some(last) = page.last() else { break };
            after = last.n;
            for letter in page {
                let Some(share) = self.share_of_local(&letter.team) else { continue };
                let key = MemberKey { team: share.shared.clone(), name: letter.to.clone() };
                // Before its move is done here, letters would overtake those that are sent on.
                if !self.homes.is_settled(&key) {
                    continue;
                }
                found.push(Outgoing {
                    home: self.homes.address(&key, &letter.machine),
                    n: u64::try_from(letter.n).unwrap_or(0),
                    id: letter.id,
                    team: share.shared.clone(),
                    to: letter.to,
                    machine: letter.machine,
                    from_lead: self.leads.get(&letter.team).is_some_and(|leads| leads.contains(&letter.from)),
                    from: letter.from,
                    letter: letter.letter,
                });
            }
        }
        found.truncate(most);
        Ok(found)
    }

    fn take_in(&mut self, from: &Machine, letters: &[Letter]) -> Vec<Result<TakenIn, LocalError>> {
        let as_lead = self.as_lead.contains(from);
        let mut answers: Vec<Option<Result<TakenIn, LocalError>>> = Vec::with_capacity(letters.len());
        let mut incoming = Vec::new();
        for letter in letters {
            let Some(share) = self.share_of(&letter.team) else {
                let why = format!("the team {} is not shared there", letter.team);
                answers.push(Some(self.refuse(from, letter, why)));
                continue;
            };
            let key = MemberKey { team: letter.team.clone(), name: letter.to.clone() };
            if !self.homes.admits(&key, &self.me, letter.home) {
                answers.push(Some(Ok(TakenIn::NotHome)));
                continue;
            }
            incoming.push(Incoming {
                team: share.local.clone(),
                to: letter.to.clone(),
                from: letter.from.clone(),
                machine: from.clone(),
                from_lead: letter.from_lead,
                as_lead,
                id: letter.id.clone(),
                letter: letter.letter.clone(),
            });
            answers.push(None);
        }
        for letter in &incoming {
            self.following.note(&letter.team, Instant::now());
        }
        let mut taken = self.office.machines().take_in(&incoming).into_iter();
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| self.answer_of(taken.next()))).collect()
    }

    fn is_known(&mut self, letter: &Letter) -> Result<bool, LocalError> {
        let Some(share) = self.share_of(&letter.team) else { return Ok(true) };
        let key = MemberKey { team: letter.team.clone(), name: letter.to.clone() };
        if !self.homes.admits(&key, &self.me, letter.home) {
            return Ok(true);
        }
        let asked = [(share.local.clone(), letter.to.clone(), letter.id.clone())];
        let known = self.office.machines().known(&asked).map_err(transient)?;
        Ok(known.first().copied().unwrap_or(false))
    }

    fn confirm(&mut self, from: &Machine, receipts: &[Receipt]) -> Result<Vec<bool>, LocalError> {
        let imported: Vec<_> = receipts.iter().map(|receipt| self.import(from, receipt)).collect();
        let counts = imported.iter().map(Option::is_some).collect();
        let receipts: Vec<_> = imported.into_iter().flatten().collect();
        self.office.machines().confirm(from, &receipts).map_err(transient)?;
        Ok(counts)
    }

    fn fail(&mut self, from: &Machine, failure: &Failure) -> Result<(), LocalError> {
        let after = i64::try_from(failure.n.saturating_sub(1)).unwrap_or(i64::MAX);
        let machines = self.office.machines();
        let letters = machines.outgoing(after, 1).map_err(transient)?;
        // Its id is empty where the other machine could not read it.
        let is_meant = |letter: &&machines::Outgoing| {
            u64::try_from(letter.n) == Ok(failure.n)
                && (failure.id.is_empty() || failure.id == letter.id)
                && &letter.machine == from
        };
        let Some(letter) = letters.first().filter(is_meant) else { return Ok(()) };
        let receipt = machines.receipt_of_failure(letter, &failure.why).map_err(transient)?;
        let receipt = machines::Receipt { evidence: shortened(receipt.evidence), ..receipt };
        machines.confirm(from, &[receipt]).map(drop).map_err(transient)
    }

    fn receipts_since(
        &mut self,
        cursor: Option<&str>,
        most: usize,
    ) -> Result<(Vec<(Machine, Receipt)>, String), LocalError> {
        let (receipts, next) = self.office.machines().receipts_since(cursor, most).map_err(transient)?;
        let receipts =
            receipts.iter().filter_map(|receipt| Some((receipt.for_machine.clone(), self.export(receipt)?)));
        Ok((receipts.collect(), next))
    }
}

impl House {
    fn answer_of(
        &self,
        taken: Option<Result<machines::TakenIn, OfficeError>>,
    ) -> Result<TakenIn, LocalError> {
        match taken {
            Some(Ok(machines::TakenIn::Written(receipts) | machines::TakenIn::Known(receipts))) => {
                Ok(TakenIn::Recorded(self.export_all(&receipts)))
            }
            Some(Ok(machines::TakenIn::Accepted)) => Ok(TakenIn::Recorded(Vec::new())),
            Some(Ok(machines::TakenIn::Refused(receipt))) => match self.export(&receipt) {
                Some(receipt) => Ok(TakenIn::Refused(receipt)),
                None => Ok(TakenIn::Recorded(Vec::new())),
            },
            Some(Ok(machines::TakenIn::NotHome(_))) => Ok(TakenIn::NotHome),
            Some(Err(error)) => Err(transient(error)),
            None => Err(LocalError::Transient("no answer".to_owned())),
        }
    }
}

/// Every error of the office says "bring it again": what is refused for good has a receipt.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn transient(error: OfficeError) -> LocalError {
    LocalError::Transient(error.to_string())
}

/// Evidence from elsewhere, as long as anybody reads: it stays in the log for good.
fn shortened(evidence: Evidence) -> Evidence {
    const LONGEST: usize = 2_000;
    let cut = |text: String| match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    Evidence {
        what: cut(evidence.what),
        file: evidence.file.map(cut),
        by: evidence.by.map(cut),
        before: evidence.before.map(cut),
        after: evidence.after.map(cut),
        ..evidence
    }
}

fn now() -> Stamp {
    use atm_office::clock::{Clock, SystemClock};
    SystemClock.now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_of_another_machine_is_as_long_as_anybody_reads() {
        let long = shortened(Evidence {
            file: Some("é".repeat(1 << 20)),
            ..Evidence::certain("x".repeat(1 << 20))
        });
        assert_eq!((long.what.chars().count(), long.file.unwrap().chars().count()), (2_001, 2_001));
        assert_eq!(shortened(Evidence::certain("read")), Evidence::certain("read"));
    }

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
    }
}
