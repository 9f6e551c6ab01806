//! Sending: what the sender is told is true, whatever fails.

use std::fs;

use atm_ledger::{Recorded, Stage};
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::{OfficeError, Team};
use atm_store::Layout;

use crate::cases::{Ordeal, Trial};
use crate::checks::{ensure, everything_parses, no_litter, only_added, untouched};
use crate::world::{World, who};

/// The answer that a sender gets about one letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is there.
    Written,
    /// It is accepted, and will be there.
    Accepted,
    /// It is not there and never will be.
    Refused,
}

impl Answer {
    pub(crate) fn of(answer: &Result<Sent, OfficeError>) -> Self {
        match answer {
            Ok(sent) if sent.stage == Stage::Accepted => Self::Accepted,
            Ok(_) => Self::Written,
            Err(_) => Self::Refused,
        }
    }
}

/// Who gets which text.
type Letters = [(&'static str, &'static str)];

/// What a command was told, letter by letter, against what is in the files: at once, and after the next commands.
pub(crate) fn judge(world: &World, letters: &Letters, answers: Option<&[Answer]>) -> Result<(), String> {
    let answer = |at: usize| answers.map(|answers| answers[at]);
    for (at, (to, text)) in letters.iter().enumerate() {
        if answer(at) == Some(Answer::Written) {
            let count = world.count(to, text);
            ensure(count == 1, || format!("answered as written, and {count} times in {to}'s inbox"))?;
        }
    }
    everything_parses(world)?;
    let looked = world.office(2).look(&world.team);
    looked.map_err(|error| format!("the next look fails: {error}"))?;
    agrees(world, letters, &answer)?;
    for (at, (to, _)) in letters.iter().enumerate() {
        if letters[..at].iter().all(|(other, _)| other != to) {
            world.send(4, to, "the next one")?;
        }
    }
    no_litter(world)?;
    world.office(6).look(&world.team).map_err(|error| format!("the last look fails: {error}"))?;
    agrees(world, letters, &answer)?;
    everything_parses(world)
}

/// Files, ledger and answers say the same.
fn agrees(world: &World, letters: &Letters, answer: &dyn Fn(usize) -> Option<Answer>) -> Result<(), String> {
    let ledger = world.ledger();
    let recorded = world.recorded(&ledger);
    for (at, (to, text)) in letters.iter().enumerate() {
        let count = world.count(to, text);
        let is_right = match answer(at) {
            Some(Answer::Written | Answer::Accepted) => count == 1,
            Some(Answer::Refused) => count == 0,
            None => count <= 1,
        };
        let answer = answer(at);
        ensure(is_right, || {
            format!("answered {answer:?}, and {count} times in {to}'s inbox after the next look")
        })?;
        let waiting = world.waiting(&ledger, to);
        ensure(waiting == 0, || format!("{waiting} messages still wait for {to} after the next look"))?;
        let is_it = |message: &&Recorded| message.inbox.name == *to && message.text.ends_with(text);
        let stage = recorded.iter().find(is_it).map(|message| message.stage);
        let is_recorded = match stage {
            None | Some(Stage::Failed) => count == 0,
            Some(Stage::Accepted) => false,
            Some(_) => count == 1,
        };
        ensure(is_recorded, || format!("{count} times in {to}'s inbox, and the ledger says {stage:?}"))?;
    }
    Ok(())
}

/// Tries a command that sends these letters, which all come out in the order of the letters.
fn try_sending(
    ordeal: Ordeal,
    name: &str,
    world: &World,
    letters: &Letters,
    command: &dyn Fn() -> Vec<Answer>,
) {
    let before = |name: &str| fs::read_to_string(world.inbox(name)).unwrap();
    let (bob, carol) = (before("bob"), before("carol"));
    let judge = |answers: Option<Vec<Answer>>| {
        judge(world, letters, answers.as_deref())?;
        only_added(world, "bob", &bob)?;
        if letters.iter().any(|(to, _)| *to == "carol") {
            only_added(world, "carol", &carol)
        } else {
            untouched(world, "carol", &carol)
        }
    };
    Trial { name, world, command, judge: &judge }.pass(ordeal);
}

fn one_letter(ordeal: Ordeal, name: &str, world: &World) {
    one_letter_to("bob", ordeal, name, world);
}

fn one_letter_to(to: &'static str, ordeal: Ordeal, name: &str, world: &World) {
    let letters = [(to, "tried")];
    let command = || {
        let letter = Letter::new(to.parse().unwrap(), "tried");
        let sent = world.office(0).send(&world.team, &who("team-lead"), &letter, SendOptions::default());
        vec![Answer::of(&sent)]
    };
    try_sending(ordeal, name, world, &letters, &command);
}

#[test]
fn one_letter_into_an_array() {
    one_letter(Ordeal::Faults, "send, array", &World::new(Layout::Array));
}

#[test]
fn a_power_cut_while_one_letter_goes_into_an_array() {
    one_letter(Ordeal::PowerCuts, "power cut, send, array", &World::new(Layout::Array));
}

/// Where nothing else is in the inbox, nothing there can tell that a message was never written.
#[test]
fn a_power_cut_while_one_letter_goes_into_an_empty_array() {
    let world = World::new(Layout::Array);
    one_letter_to("dan", Ordeal::PowerCuts, "power cut, send, empty array", &world);
}

#[test]
fn a_power_cut_while_one_letter_makes_an_array() {
    let world = World::new(Layout::Array);
    fs::remove_file(world.inbox("dan")).unwrap();
    one_letter_to("dan", Ordeal::PowerCuts, "power cut, send, no array", &world);
}

#[test]
fn a_power_cut_while_one_letter_makes_a_log() {
    let world = World::new(Layout::Log);
    fs::remove_dir_all(world.inbox("dan").parent().unwrap()).unwrap();
    one_letter_to("dan", Ordeal::PowerCuts, "power cut, send, no log", &world);
}

#[test]
fn one_letter_into_a_log() {
    one_letter(Ordeal::Faults, "send, log", &World::new(Layout::Log));
}

#[test]
fn a_power_cut_while_one_letter_goes_into_a_log() {
    one_letter(Ordeal::PowerCuts, "power cut, send, log", &World::new(Layout::Log));
}

#[test]
fn one_letter_into_a_large_array() {
    let world = World::new(Layout::Array);
    let text = fs::read_to_string(world.inbox("bob")).unwrap();
    // With ids of their own: making one of each text takes longer than all the rest.
    let filler = |number: usize| {
        let text = "x".repeat(9_000);
        format!(
            r#"{{"from":"eve","text":"{text}","timestamp":"2026-11-14T17:00:00Z","messageId":"filler-{number}","read":true}}"#
        )
    };
    let many = (0..130).map(filler).collect::<Vec<_>>().join(",\n  ");
    fs::write(world.inbox("bob"), text.replacen('[', &format!("[\n  {many},"), 1)).unwrap();
    assert!(fs::metadata(world.inbox("bob")).unwrap().len() > 1 << 20);
    world.office(-900).look(&world.team).unwrap();
    one_letter(Ordeal::FewFaults, "send, large array", &world);
}

/// Several letters, two of them for one inbox, in one command.
fn batch(name: &str, layout: Layout) {
    let world = World::new(layout);
    let letters = [("bob", "first"), ("carol", "second"), ("bob", "third")];
    let command = || {
        let letters = letters.map(|(to, text)| Letter::new(to.parse().unwrap(), text));
        let office = world.office(0);
        let team = office.team(&world.team).map_err(|error| (0, error));
        let batch = |team: Team<'_>| team.send_all(&who("team-lead"), &letters, SendOptions::default());
        let sent = team.and_then(batch);
        sent.map_or_else(|_| vec![Answer::Refused; 3], |sent| sent.iter().map(Answer::of).collect())
    };
    try_sending(Ordeal::Faults, name, &world, &letters, &command);
}

#[test]
fn a_batch_into_arrays() {
    batch("batch, array", Layout::Array);
}

#[test]
fn a_batch_into_logs() {
    batch("batch, log", Layout::Log);
}

/// Everybody's mail; one of them has no inbox yet.
#[test]
fn a_broadcast_into_arrays() {
    let world = World::new(Layout::Array);
    fs::remove_file(world.inbox("dan")).unwrap();
    let letters = [("bob", "to all"), ("carol", "to all"), ("dan", "to all")];
    let command = || {
        let letter = Letter::new("bob".parse().unwrap(), "to all");
        let (from, options) = (who("team-lead"), SendOptions::default());
        let sent = world.office(0).broadcast(&world.team, &from, &letter, None, options);
        sent.map_or_else(|_| vec![Answer::Refused; 3], |sent| sent.iter().map(Answer::of).collect())
    };
    try_sending(Ordeal::Faults, "broadcast, array", &world, &letters, &command);
}
