//! Machines, and the calls that a bridge makes between them.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Duration;

use atm_ledger::faults::{self, Faults, Refusal, Step};
use atm_office::Office;
use atm_office::machines::{Incoming, Outgoing, Receipt, RemoteMember, Stage, TakenIn};
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_store::{LockTimes, Root, State};
use atm_wire::{MachineName, MemberName, Message, TeamName};

pub(crate) const TEAM: &str = "demo";

/// Counts the steps of the ledger that are asked for.
struct Counter(Rc<RefCell<Vec<Step>>>);

impl Faults for Counter {
    fn before(&mut self, step: Step) -> Result<(), Refusal> {
        self.0.borrow_mut().push(step);
        Ok(())
    }
}

/// What the ledgers of this thread did while `work` ran.
pub(crate) fn ledger_steps(work: impl FnOnce()) -> Vec<Step> {
    let steps = Rc::default();
    faults::with(Counter(Rc::clone(&steps)), work);
    steps.take()
}

/// Refuses steps of the ledger.
struct Refusing<F>(F);

impl<F: FnMut(Step) -> bool> Faults for Refusing<F> {
    fn before(&mut self, step: Step) -> Result<(), Refusal> {
        if (self.0)(step) { Err(Refusal::Io) } else { Ok(()) }
    }
}

/// Steps of the ledgers of this thread for which this holds fail while `work` runs.
pub(crate) fn refusing<T>(is_refused: impl FnMut(Step) -> bool + 'static, work: impl FnOnce() -> T) -> T {
    faults::with(Refusing(is_refused), work)
}

/// Nothing that the ledgers of this thread commit while `work` runs is known to be on the disk.
pub(crate) fn refusing_syncs<T>(work: impl FnOnce() -> T) -> T {
    refusing(|step| step == Step::Sync, work)
}

/// One machine with its part of the team.
pub(crate) struct Machine {
    pub(crate) name: MachineName,
    pub(crate) office: Office,
    /// Its lead is obeyed on other machines.
    pub(crate) is_trusted: bool,
    /// Members here that are at home nowhere: another machine holds their names.
    pub(crate) others: Mutex<Vec<String>>,
    folder: tempfile::TempDir,
    cursor: Mutex<Option<String>>,
}

pub(crate) fn team() -> TeamName {
    TEAM.parse().unwrap()
}

/// The team of all mailboxes that are folders.
pub(crate) fn sessions() -> TeamName {
    atm_office::sessions::team_name()
}

/// Answers a message of the shared team.
pub(crate) fn reply(machine: &Machine, who: &str, id: &str, text: &str) -> Sent {
    let team = machine.office.team(&team()).unwrap();
    team.reply(&name(who), id, |to| Letter::new(to, text), SendOptions::default()).unwrap()
}

pub(crate) fn name(name: &str) -> MemberName {
    name.parse().unwrap()
}

impl Machine {
    pub(crate) fn new(machine: &str, members: &[&str]) -> Self {
        Self::led_by("team-lead", machine, members)
    }

    /// One whose lead has this name.
    pub(crate) fn led_by(lead: &str, machine: &str, members: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let office = open(folder.path());
        let plan = TeamPlan { lead: Some(lead.to_owned()), ..TeamPlan::new(TEAM, "over machines") };
        office.create_team(&plan).unwrap();
        for member in members {
            office.add_member(&team(), &MemberPlan::new(member)).unwrap();
        }
        let name = machine.parse().unwrap();
        Self { name, office, is_trusted: false, others: Mutex::default(), folder, cursor: Mutex::default() }
    }

    /// The same machine after all its processes died: what was in memory is gone.
    pub(crate) fn restart(&mut self) {
        self.office = open(self.folder.path());
    }

    pub(crate) fn send(&self, from: &str, to: &str, text: &str) -> Sent {
        self.try_send(from, to, text).unwrap()
    }

    pub(crate) fn try_send(&self, from: &str, to: &str, text: &str) -> Result<Sent, atm_office::OfficeError> {
        let letter = Letter::new(to.parse().unwrap(), text);
        self.office.send(&team(), &name(from), &letter, SendOptions::default())
    }

    pub(crate) fn stage(&self, id: &str) -> Stage {
        self.office.track(Some(&team()), id).unwrap().stage
    }

    /// What stands in an inbox file here.
    pub(crate) fn inbox(&self, member: &str) -> Vec<Message> {
        self.mail_in(&team(), member)
    }

    /// The same in another team.
    pub(crate) fn mail_in(&self, team: &TeamName, member: &str) -> Vec<Message> {
        self.office.mailbox(team, &name(member)).list().unwrap().messages
    }

    pub(crate) fn texts(&self, member: &str) -> Vec<String> {
        self.inbox(member).into_iter().map(|message| message.text).collect()
    }

    pub(crate) fn file(&self, below_team: &str) -> PathBuf {
        self.folder.path().join("root/teams").join(TEAM).join(below_team)
    }

    pub(crate) fn config(&self) -> String {
        fs::read_to_string(self.file("config.json")).unwrap()
    }

    pub(crate) fn read(&self, member: &str) {
        self.office.begin_read(&team(), &name(member), usize::MAX).unwrap().confirm().unwrap();
    }

    fn announced(&self) -> Vec<RemoteMember> {
        let own = self.office.machines().local_members(&team()).unwrap();
        let is_other = |name: &String| self.others.lock().unwrap().contains(name);
        let remote = |member: atm_office::machines::LocalMember| RemoteMember {
            epoch: (!member.is_lead && !is_other(&member.name)).then_some(1),
            name: member.name,
            machine: self.name.clone(),
            is_lead: member.is_lead,
            holds_name: false,
            state: member.state,
            seen_at: None,
        };
        own.into_iter().map(remote).collect()
    }

    pub(crate) fn outgoing(&self) -> Vec<Outgoing> {
        self.office.machines().outgoing(0, 1_000).unwrap()
    }

    fn incoming(&self, letter: &Outgoing) -> Incoming {
        let leads = |name: &str| self.announced().iter().any(|member| member.is_lead && member.name == name);
        Incoming {
            team: letter.team.clone(),
            to: letter.to.clone(),
            from: letter.from.clone(),
            machine: self.name.clone(),
            from_lead: leads(&letter.from),
            as_lead: self.is_trusted,
            id: letter.id.clone(),
            letter: letter.letter.clone(),
        }
    }

    /// Takes in what another machine has for this one; says what came of each letter.
    pub(crate) fn take_from(&self, other: &Self) -> Vec<TakenIn> {
        self.try_take_from(other).into_iter().map(Result::unwrap).collect()
    }

    /// The same; an error means that the letter has to be brought again.
    pub(crate) fn try_take_from(&self, other: &Self) -> Vec<Result<TakenIn, atm_office::OfficeError>> {
        let letters = other.outgoing().into_iter().filter(|letter| letter.machine == self.name);
        let incoming: Vec<Incoming> = letters.map(|letter| other.incoming(&letter)).collect();
        self.office.machines().take_in(&incoming)
    }

    /// Takes in one letter of another machine.
    pub(crate) fn take_letter(&self, other: &Self, letter: &Outgoing) -> TakenIn {
        self.office.machines().take_in(&[other.incoming(letter)]).remove(0).unwrap()
    }

    /// The receipts that came since the last time.
    pub(crate) fn receipts(&self) -> Vec<Receipt> {
        let cursor = self.cursor.lock().unwrap().clone();
        let (receipts, next) = self.office.machines().receipts_since(cursor.as_deref(), 10_000).unwrap();
        *self.cursor.lock().unwrap() = Some(next);
        receipts
    }

    /// As a bridge that lost what it had remembered.
    pub(crate) fn forget_cursor(&self) {
        *self.cursor.lock().unwrap() = None;
    }

    pub(crate) fn confirm(&self, from: &Self, receipts: &[Receipt]) -> usize {
        let for_us: Vec<Receipt> =
            receipts.iter().filter(|receipt| receipt.for_machine == self.name).cloned().collect();
        self.office.machines().confirm(&from.name, &for_us).unwrap()
    }
}

fn open(folder: &Path) -> Office {
    let times = LockTimes { wait: Duration::from_millis(300), ..LockTimes::default() };
    Office::new(Root::new(folder.join("root")), State::new(folder.join("state")))
        .with_lock_times(times)
        .with_machine_patience(Duration::ZERO)
}

/// What a letter that was taken in says to its sender's machine.
pub(crate) fn said(taken: &[TakenIn]) -> Vec<Receipt> {
    let of_one = |taken: &TakenIn| match taken {
        TakenIn::Written(receipts) | TakenIn::Known(receipts) => receipts.clone(),
        TakenIn::Refused(receipt) => vec![receipt.clone()],
        TakenIn::Accepted | TakenIn::NotHome(_) => Vec::new(),
    };
    taken.iter().flat_map(of_one).collect()
}

/// Tells every machine the members of the others.
pub(crate) fn introduce(machines: &[&Machine]) {
    for machine in machines {
        let others = machines.iter().filter(|other| other.name != machine.name);
        let members: Vec<RemoteMember> = others.flat_map(|other| other.announced()).collect();
        machine.office.machines().set_members(&team(), &members).unwrap();
    }
}

/// Carries everything that waits between machines, both ways, once, with all receipts.
pub(crate) fn carry(machines: &[&Machine]) {
    for to in machines {
        for from in machines.iter().filter(|from| from.name != to.name) {
            from.confirm(to, &said(&to.take_from(from)));
        }
    }
    for from in machines {
        let receipts = from.receipts();
        for to in machines.iter().filter(|to| to.name != from.name) {
            to.confirm(from, &receipts);
        }
    }
}

/// A laptop with Alice and a desk with Bob, who know each other.
pub(crate) fn laptop_and_desk() -> (Machine, Machine) {
    let (laptop, desk) = (Machine::new("laptop", &["alice"]), Machine::new("desk", &["bob"]));
    introduce(&[&laptop, &desk]);
    (laptop, desk)
}
