//! Two houses over real ledgers and files, and a member whose homes are told to them.

mod carrying;
mod forgotten;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use atm_bridge::envelope::{SharedMember, SharedTeam};
use atm_bridge::house::{House, Neighbour, Outcome, Share};
use atm_bridge::local::{Confirmed, Letter, Local, Outgoing, Receipt, TakenIn};
use atm_bridge::name::Machine;
use atm_bridge::protocol::homes::{Former, Homes, MemberKey, Residence, Resident, Slot};
use atm_office::Office;
use atm_office::machines::{RemoteMember, Stage};
use atm_office::mail::send::{Letter as Words, SendOptions};
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_store::{Root, State};
use atm_support::wait_until;
use atm_wire::{MemberName, Stamp, TeamName};

const NOW: i64 = 1_800_000_000_000;
const DAY: i64 = 24 * 3600 * 1000;

pub(crate) fn team() -> TeamName {
    "demo".parse().unwrap()
}

pub(crate) fn name(name: &str) -> MemberName {
    name.parse().unwrap()
}

pub(crate) fn machine(name: &str) -> Machine {
    name.parse().unwrap()
}

fn bob() -> MemberKey {
    MemberKey { team: "demo".into(), name: "bob".into() }
}

pub(crate) fn residence(home: &str, epoch: u64, former: &[&str], at: i64) -> Residence {
    let resident = Resident::Unknown;
    let former = former.iter().map(|name| Former { machine: machine(name), resident }).collect();
    Residence { machine: machine(home), epoch, resident, at: Stamp::from_millis(at), former }
}

/// What was done without any trouble.
pub(crate) fn all<T>(outcome: Outcome<T>) -> T {
    assert!(outcome.trouble.is_none(), "{:?}", outcome.trouble);
    outcome.done
}

/// Places the members of other machines: each with whom it announces, under which epoch.
fn place(house: &mut House, announced: &[(&str, &str, Option<u64>)]) {
    let mut neighbours: BTreeMap<Machine, Neighbour> = BTreeMap::new();
    for (on, name, epoch) in announced {
        let neighbour = neighbours.entry(machine(on)).or_insert_with(|| Neighbour {
            teams: vec![SharedTeam { name: "demo".into(), members: Vec::new() }],
            is_present: true,
            seen_at: Stamp::from_millis(NOW),
            said_at: Some(Stamp::from_millis(NOW)),
            beat_at: None,
        });
        let (name, state) = ((*name).to_owned(), "idle".to_owned());
        neighbour.teams[0].members.push(SharedMember { name, lead: false, state, epoch: *epoch });
    }
    all(house.shared());
    all(house.place(&neighbours));
}

/// A machine with its part of the team.
pub(crate) struct Site {
    pub(crate) name: Machine,
    pub(crate) office: Office,
    pub(crate) house: House,
    shares: Vec<&'static str>,
    found: u64,
    pub(crate) folder: tempfile::TempDir,
}

impl Site {
    pub(crate) fn new(site: &str, members: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            Office::new(Root::new(folder.path().join("root")), State::new(folder.path().join("state")))
                .with_machine_patience(Duration::ZERO)
        };
        let office = open();
        office.create_team(&TeamPlan::new("demo", "over machines")).unwrap();
        for member in members {
            office.add_member(&team(), &MemberPlan::new(member)).unwrap();
        }
        let shares = Share::parse_all(["demo"]).unwrap();
        let house = House::new(open(), shares, machine(site)).unwrap();
        Self { name: machine(site), office, house, shares: vec!["demo"], found: 0, folder }
    }

    /// The bridge is started again with one more team, which comes before the others.
    pub(crate) fn share(&mut self, team: &'static str, members: &[&str]) {
        self.office.create_team(&TeamPlan::new(team, "another one")).unwrap();
        for member in members {
            self.office.add_member(&team.parse().unwrap(), &MemberPlan::new(member)).unwrap();
        }
        self.shares.insert(0, team);
        self.restart();
    }

    /// Another process of the bridge.
    pub(crate) fn restart(&mut self) {
        let root = Root::new(self.folder.path().join("root"));
        let office = Office::new(root, State::new(self.folder.path().join("state")));
        let shares = Share::parse_all(self.shares.iter().copied()).unwrap();
        self.house = House::new(office, shares, self.name.clone()).unwrap();
    }

    /// Hears that bob is at home on a machine.
    pub(crate) fn hear(&mut self, home: &str, epoch: u64, former: &[&str], at: i64) {
        self.found += 1;
        let residence = residence(home, epoch, former, at);
        self.house.homes_mut().find(bob(), Slot::Residence(residence, String::new()), self.found);
    }

    pub(crate) fn place(&mut self, announced: &[(&str, &str, Option<u64>)]) {
        place(&mut self.house, announced);
    }

    /// Another machine announces this.
    pub(crate) fn know(&mut self, on: &str, teams: Vec<SharedTeam>) {
        let at = Stamp::from_millis(NOW);
        let (seen_at, said_at) = (at, Some(at));
        let neighbour = Neighbour { teams, is_present: true, seen_at, said_at, beat_at: None };
        all(self.house.place(&BTreeMap::from([(machine(on), neighbour)])));
    }

    pub(crate) fn send(&self, from: &str, to: &str, text: &str) {
        let letter = Words::new(to.parse().unwrap(), text);
        self.office.send(&team(), &name(from), &letter, SendOptions::default()).unwrap();
    }

    pub(crate) fn outgoing(&mut self) -> Vec<Outgoing> {
        self.house.outgoing(0, 100).unwrap()
    }

    /// Takes letters in, as they were published; what is answered.
    pub(crate) fn take_in(&mut self, from: &Machine, letters: &[Outgoing]) -> Vec<Receipt> {
        let letters: Vec<Letter> = letters
            .iter()
            .cloned()
            .map(|letter| Letter {
                id: letter.id,
                team: letter.team,
                to: letter.to,
                from: letter.from,
                from_lead: letter.from_lead,
                after: None,
                home: letter.home,
                letter: letter.letter,
            })
            .collect();
        let taken = self.house.take_in(from, &letters).into_iter().map(Result::unwrap);
        let said = |taken| match taken {
            TakenIn::Recorded(receipts) => receipts,
            TakenIn::Refused(receipt) => vec![receipt],
            TakenIn::NotHome => Vec::new(),
        };
        taken.flat_map(said).collect()
    }

    pub(crate) fn texts(&self, member: &str) -> Vec<String> {
        let messages = self.office.mailbox(&team(), &name(member)).list().unwrap().messages;
        messages.into_iter().map(|message| message.text).collect()
    }
}

/// A member of another machine, as an office is told of it.
fn remote(name: &str, home: &str, epoch: Option<u64>) -> RemoteMember {
    let (name, state) = (name.to_owned(), "idle".to_owned());
    RemoteMember {
        name,
        machine: machine(home),
        is_lead: false,
        holds_name: true,
        state,
        seen_at: None,
        epoch,
    }
}

/// The text of a letter.
fn words(letter: &Outgoing) -> String {
    let draft: serde_json::Value = serde_json::from_str(&letter.letter).unwrap();
    draft["text"].as_str().unwrap().to_owned()
}

/// Ann on laptop, bob on hub, who is at home there.
pub(crate) fn pair() -> (Site, Site) {
    let (mut laptop, mut hub) = (Site::new("laptop", &["ann"]), Site::new("hub", &["bob"]));
    for site in [&mut laptop, &mut hub] {
        site.hear("hub", 1, &[], NOW);
    }
    laptop.place(&[("hub", "bob", Some(1))]);
    hub.place(&[("laptop", "ann", Some(1))]);
    (laptop, hub)
}

/// It was published for ever, and `--wait written` had no end: the letter had been written before the residence was signed.
#[test]
fn mail_that_never_left_the_file_is_confirmed_when_its_member_is_given_back() {
    let (mut laptop, mut hub) = pair();
    laptop.send("ann", "bob", "first");
    let letters = laptop.outgoing();
    let receipts = hub.take_in(&laptop.name, &letters);
    laptop.house.confirm(&hub.name, &receipts).unwrap();
    assert!(laptop.outgoing().is_empty());
    // Desk took him while hub was off, and gave him back. His file never left hub.
    for site in [&mut laptop, &mut hub] {
        site.hear("hub", 3, &["desk"], NOW + 1_000 * DAY);
    }
    laptop.place(&[("hub", "bob", Some(3))]);
    hub.place(&[("laptop", "ann", Some(1))]);
    let again = laptop.outgoing();
    assert_eq!(again.iter().map(|letter| letter.home).collect::<Vec<_>>(), [Some(3)]);
    let receipts = hub.take_in(&laptop.name, &again);
    assert_eq!(hub.texts("bob"), ["first"]);
    let confirmed = laptop.house.confirm(&hub.name, &receipts).unwrap();
    assert_eq!(confirmed, vec![Confirmed::Written { to: "bob".into() }; receipts.len()]);
    assert!(laptop.outgoing().is_empty());
}

/// The home's clock was ahead when its residence was signed, and is right now.
#[test]
fn what_a_home_says_is_believed_whatever_its_clock_was() {
    let (mut laptop, mut hub) = pair();
    for site in [&mut laptop, &mut hub] {
        site.hear("hub", 3, &["desk"], NOW + 40_000 * DAY);
    }
    laptop.place(&[("hub", "bob", Some(3))]);
    hub.place(&[("laptop", "ann", Some(1))]);
    laptop.send("ann", "bob", "first");
    let letters = laptop.outgoing();
    let receipts = hub.take_in(&laptop.name, &letters);
    laptop.house.confirm(&hub.name, &receipts).unwrap();
    assert!(laptop.outgoing().is_empty());
}

#[test]
fn what_stood_in_the_file_of_an_earlier_stay_says_nothing_of_this_one() {
    let (mut laptop, mut hub) = pair();
    laptop.send("ann", "bob", "first");
    let letters = laptop.outgoing();
    let receipts = hub.take_in(&laptop.name, &letters);
    assert!(!receipts.is_empty());
    // He was away since, and left it behind.
    laptop.hear("hub", 3, &["desk"], 0);
    laptop.place(&[("hub", "bob", Some(3))]);
    assert_eq!(laptop.house.confirm(&hub.name, &receipts).unwrap(), vec![Confirmed::Nothing; receipts.len()]);
    assert_eq!(laptop.outgoing().len(), 1);
}

/// A process that looked at the team before the move, and accepts its letter after it: it was carried to the former home for ever.
#[test]
fn a_letter_that_is_accepted_for_the_old_home_after_its_recipient_came_here_is_written_here() {
    let (mut laptop, _hub) = pair();
    let late = laptop.office.team(&team()).unwrap();
    let office = &laptop.office;
    office.machines().take_member(&team(), &name("bob")).unwrap();
    laptop.house.homes_mut().find(
        bob(),
        Slot::Residence(residence("laptop", 2, &["hub"], NOW), String::new()),
        9,
    );
    place(&mut laptop.house, &[("hub", "carl", Some(1))]);
    let letter = Words::new("bob".parse().unwrap(), "late");
    late.send(&name("ann"), &letter, SendOptions::default()).unwrap();
    assert_eq!(laptop.house.outgoing(0, 100).unwrap(), []);
    assert_eq!(laptop.texts("bob"), ["late"]);
}

/// What was sent to the former home comes with the member, a moment after it is on the list: letters from here overtook it.
#[test]
fn letters_to_a_member_that_is_taken_here_wait_for_those_that_come_with_it() {
    let (mut laptop, mut hub) = pair();
    laptop.send("ann", "bob", "first");
    let letters = laptop.outgoing();
    let receipts = hub.take_in(&laptop.name, &letters);
    laptop.house.confirm(&hub.name, &receipts).unwrap();
    laptop.office.machines().take_member(&team(), &name("bob")).unwrap();
    laptop.send("ann", "bob", "second");
    // Its residence here is not heard of yet.
    laptop.place(&[("hub", "bob", Some(1))]);
    laptop.send("ann", "bob", "third");
    assert!(laptop.outgoing().is_empty());
    laptop.hear("laptop", 2, &["hub"], NOW);
    laptop.place(&[("hub", "carl", Some(1))]);
    laptop.send("ann", "bob", "fourth");
    assert_eq!(laptop.texts("bob"), ["first", "second", "third", "fourth"]);
}

/// A process that looked at the team before the move wrote into the file that the member had left: its letter was collected behind
/// the next one.
#[test]
fn a_letter_that_is_accepted_for_a_member_here_after_it_left_goes_before_the_next_one() {
    let (_laptop, mut hub) = pair();
    hub.office.add_member(&team(), &MemberPlan::new("carl")).unwrap();
    all(hub.house.shared());
    let office = hub.office.clone();
    let late = office.team(&team()).unwrap();
    hub.hear("desk", 2, &["hub"], NOW);
    hub.place(&[("desk", "bob", Some(2))]);
    let letter = Words::new("bob".parse().unwrap(), "first");
    late.send(&name("carl"), &letter, SendOptions::default()).unwrap();
    hub.send("carl", "bob", "second");
    let found: Vec<_> = hub.outgoing().iter().map(|letter| (letter.home, words(letter))).collect();
    assert_eq!(found, [(Some(2), "first".to_owned()), (Some(2), "second".to_owned())]);
    assert!(hub.texts("bob").is_empty());
}

/// Mail for `bob.desk` was another member's, and waited for it for ever.
#[test]
fn who_is_being_taken_is_not_announced_as_another_member_of_the_name() {
    let mut desk = Site::new("desk", &["eve"]);
    desk.hear("hub", 1, &[], NOW);
    desk.place(&[("hub", "bob", Some(1))]);
    let announced = |desk: &mut Site| {
        let shared = all(desk.house.shared());
        let members = shared.into_iter().flat_map(|team| team.members);
        members.filter(|member| member.name == "bob").map(|member| member.epoch).collect::<Vec<_>>()
    };
    desk.office.machines().take_member(&team(), &name("bob")).unwrap();
    assert_eq!(announced(&mut desk), []);
    assert_eq!(desk.house.refused().unwrap(), [], "nor told to the lead as one");
    desk.hear("desk", 2, &["hub"], NOW);
    assert_eq!(announced(&mut desk), [Some(2)]);
    // It is on the list all the same: a home without its member has given it up.
    assert!(desk.house.puts().is_empty());
}

/// Its mail was sent on as soon as its sender heard of the move: what it read at its old home until that handed it over, it read twice.
#[test]
fn mail_is_sent_on_when_the_old_home_that_is_there_has_handed_its_member_over() {
    let (mut laptop, mut hub) = pair();
    laptop.send("ann", "bob", "first");
    let letters = laptop.outgoing();
    let receipts = hub.take_in(&laptop.name, &letters);
    laptop.house.confirm(&hub.name, &receipts).unwrap();
    laptop.hear("desk", 2, &["hub"], NOW);
    laptop.place(&[("hub", "bob", Some(1)), ("desk", "bob", Some(2))]);
    laptop.send("ann", "bob", "second");
    assert_eq!(laptop.outgoing(), [], "the hub has him still");
    laptop.place(&[("hub", "carl", Some(1)), ("desk", "bob", Some(2))]);
    let found: Vec<_> = laptop.outgoing().iter().map(|letter| (letter.home, words(letter))).collect();
    assert_eq!(found, [(Some(2), "first".to_owned()), (Some(2), "second".to_owned())]);
}

/// The stream was asked when the move was heard of. What was read until the old home handed its member over was told later, was
/// not processed yet when that was heard, and was read twice.
#[test]
fn what_the_old_home_told_before_it_handed_over_is_processed_before_mail_is_sent_on() {
    let (mut laptop, mut hub) = pair();
    laptop.house.wait_for_stream();
    laptop.send("ann", "bob", "read at the hub");
    let letters = laptop.outgoing();
    let receipts = hub.take_in(&laptop.name, &letters);
    laptop.house.confirm(&hub.name, &receipts).unwrap();
    assert_eq!(laptop.house.ask_for_stream(), None, "a first home is no move");
    laptop.hear("desk", 2, &["hub"], NOW);
    laptop.place(&[("hub", "bob", Some(1)), ("desk", "bob", Some(2))]);
    assert_eq!(laptop.house.ask_for_stream(), None, "the hub may tell more");
    laptop.place(&[("hub", "carl", Some(1)), ("desk", "bob", Some(2))]);
    assert_eq!(laptop.house.ask_for_stream(), Some(1));
    assert_eq!(laptop.outgoing(), []);
    // Others move meanwhile, and are heard of again and again.
    laptop.hear("desk", 2, &["hub"], NOW + 1);
    laptop.place(&[("hub", "carl", Some(1)), ("desk", "bob", Some(2))]);
    assert_eq!(laptop.house.ask_for_stream(), None, "its wait does not begin anew");
    laptop.house.note_caught_up(1);
    laptop.place(&[("hub", "carl", Some(1)), ("desk", "bob", Some(2))]);
    assert_eq!(laptop.outgoing().iter().map(words).collect::<Vec<_>>(), ["read at the hub"]);
    assert_eq!(laptop.house.ask_for_stream(), None);
}

/// A bridge that has lost its memory has seen no former home, and left this mail there for ever.
#[test]
fn mail_for_a_name_with_its_former_home_is_sent_on_by_a_bridge_that_has_forgotten_all() {
    let mut laptop = Site::new("laptop", &["ann", "bob"]);
    laptop.hear("hub", 1, &[], NOW);
    // Its own bob has the name for a moment only, as far as is known at first: the one of the hub is listed beside it later.
    laptop.office.machines().set_members(&team(), &[remote("bob", "hub", Some(1))]).unwrap();
    laptop.send("ann", "bob.hub", "first");
    laptop.house.set_homes(Homes::default());
    laptop.hear("desk", 2, &["hub"], NOW);
    laptop.place(&[("hub", "carl", Some(1)), ("desk", "bob", Some(2))]);
    let found: Vec<_> = laptop.outgoing().iter().map(|letter| letter.machine.to_string()).collect();
    assert_eq!(found, ["desk"]);
}

/// Between hearing of the move and handing over, the old home announced its member as another one of the name: a broadcast reached it
/// twice, and mail for `bob.hub` was another member's.
#[test]
fn who_has_moved_is_not_announced_as_another_member_before_it_is_handed_over() {
    let (_laptop, mut hub) = pair();
    hub.hear("desk", 3, &["hub"], NOW);
    // The desk has not announced him yet.
    hub.place(&[("desk", "eve", Some(1))]);
    let shared = all(hub.house.shared());
    let mut members = shared.iter().flat_map(|team| &team.members);
    assert_eq!(members.find(|member| member.name == "bob").map(|bob| bob.epoch), Some(Some(2)));
    assert_eq!(hub.house.refused().unwrap(), [], "nor told to the lead as one");
    hub.place(&[("desk", "bob", Some(3))]);
    let shared = all(hub.house.shared());
    assert!(shared.iter().flat_map(|team| &team.members).all(|member| member.name != "bob"));
}

#[test]
fn a_letter_for_a_name_with_the_machine_that_its_recipient_has_left_follows_it() {
    let (mut laptop, _hub) = pair();
    let both = [("hub", "bob", Some(1)), ("desk", "bob", None)];
    place(&mut laptop.house, &both);
    let late = laptop.office.team(&team()).unwrap();
    laptop.house.homes_mut().find(
        bob(),
        Slot::Residence(residence("cloud", 2, &["hub"], NOW), String::new()),
        9,
    );
    place(&mut laptop.house, &[("cloud", "bob", Some(2)), ("desk", "bob", None)]);
    for to in ["bob.hub", "bob.desk"] {
        let letter = Words::new(to.parse().unwrap(), to);
        late.send(&name("ann"), &letter, SendOptions::default()).unwrap();
    }
    let outgoing = laptop.house.outgoing(0, 100).unwrap();
    let mut found: Vec<_> = outgoing.iter().map(|letter| (letter.machine.as_str(), letter.home)).collect();
    found.sort_unstable();
    assert_eq!(found, [("cloud", Some(2)), ("desk", None)]);
}

/// A broadcast in the moment of a move was for both, and both were the same member.
#[test]
fn who_is_taken_to_this_machine_is_not_listed_twice_meanwhile() {
    let (mut laptop, _hub) = pair();
    laptop.office.machines().take_member(&team(), &name("bob")).unwrap();
    // Its residence here is not heard of yet.
    laptop.place(&[("hub", "bob", Some(1))]);
    let members = laptop.office.members(&team()).unwrap();
    let names: Vec<&str> =
        members.iter().map(|member| member.name.as_str()).filter(|name| name.contains("bob")).collect();
    assert_eq!(names, ["bob"]);
}

/// Every machine has a lead of its own; a member elsewhere that has its name is another one for good.
#[test]
fn a_member_elsewhere_that_has_the_leads_name_is_listed_with_its_machines() {
    let mut laptop = Site::new("laptop", &["ann"]);
    let key = MemberKey { team: "demo".into(), name: "team-lead".into() };
    let found = Slot::Residence(residence("hub", 1, &[], NOW), String::new());
    laptop.house.homes_mut().find(key, found, 1);
    for _ in 0..2 {
        laptop.place(&[("hub", "team-lead", Some(1))]);
        let members = laptop.office.members(&team()).unwrap();
        assert!(members.iter().any(|member| member.name == "team-lead.hub"));
    }
}

/// A member of its name that was there and went is another one: its mail is not for the one that had left that machine before.
#[test]
fn mail_for_another_member_of_the_name_that_is_gone_stays_its_own() {
    let (mut laptop, _hub) = pair();
    laptop.hear("desk", 2, &["hub"], NOW);
    laptop.place(&[("desk", "bob", Some(2)), ("hub", "bob", None)]);
    laptop.send("ann", "bob.hub", "for the hub's own bob");
    laptop.place(&[("desk", "bob", Some(2)), ("hub", "carl", Some(1))]);
    let found: Vec<String> =
        laptop.outgoing().iter().map(|letter| letter.machine.as_str().to_owned()).collect();
    assert_eq!(found, ["hub"]);
}
