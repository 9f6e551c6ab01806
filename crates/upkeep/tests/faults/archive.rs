//! Archiving: each message is in the inbox or in the archive, once, whatever fails.

use std::fs;

use atm_office::mail::inbox::Filter;
use atm_store::Layout;
use atm_upkeep::archive::{Rule, Upkeep};

use crate::cases::{Ordeal, Trial};
use crate::checks::{ensure, everything_parses, no_litter, untouched};
use crate::world::{World, who};

fn archive(world: &World, later: i64) -> Result<usize, String> {
    let (rule, upkeep) = (Rule { force: true, ..Rule::default() }, Upkeep::default());
    let done = atm_upkeep::archive::archive(
        &world.office(later),
        &world.team,
        &who("bob"),
        &rule,
        &upkeep,
        &mut |_, _| (),
    );
    done.map(|tended| tended.archived).map_err(|error| error.to_string())
}

/// The texts of the inbox, and those of the archive.
fn mail(world: &World) -> (Vec<String>, Vec<String>) {
    let inbox = world.mailbox("bob").list().unwrap().messages;
    let archived = world.office(1).archived(&world.team, &who("bob"), &Filter::default()).unwrap();
    (
        inbox.into_iter().map(|message| message.text).collect(),
        archived.messages.into_iter().map(|message| message.text).collect(),
    )
}

fn all((inbox, archived): &(Vec<String>, Vec<String>)) -> Vec<String> {
    let mut all: Vec<String> = inbox.iter().chain(archived).cloned().collect();
    all.sort();
    all
}

fn try_archiving(ordeal: Ordeal, name: &str, layout: Layout) {
    let world = World::new(layout);
    let carol = fs::read_to_string(world.inbox("carol")).unwrap();
    let before = all(&mail(&world));
    let judge = |answer: Option<Result<usize, String>>| {
        everything_parses(&world)?;
        let now = mail(&world);
        ensure(all(&now) == before, || format!("answered {answer:?}; of {before:?} there is {now:?}"))?;
        let goes = before.len();
        let is_right = match &answer {
            Some(Ok(archived)) => *archived == goes && now.1.len() == goes,
            Some(Err(_)) | None => true,
        };
        ensure(is_right, || format!("answered {answer:?}, and {} are archived", now.1.len()))?;
        world.send(2, "bob", "the next one")?;
        archive(&world, 4).map_err(|why| format!("the next one fails: {why}"))?;
        let (inbox, archived) = mail(&world);
        ensure(inbox.is_empty() && archived.len() == before.len() + 1, || {
            format!("after the next one {inbox:?} are in the inbox, {archived:?} in the archive")
        })?;
        no_litter(&world)?;
        untouched(&world, "carol", &carol)?;
        world.office(6).look(&world.team).map_err(|error| format!("the last look fails: {error}"))?;
        everything_parses(&world)
    };
    Trial { name, world: &world, command: &|| archive(&world, 0), judge: &judge }.pass(ordeal);
}

#[test]
fn archiving_an_array() {
    try_archiving(Ordeal::Faults, "archive, array", Layout::Array);
}

#[test]
fn a_power_cut_while_an_array_is_archived() {
    try_archiving(Ordeal::PowerCuts, "power cut, archive, array", Layout::Array);
}

#[test]
fn archiving_a_log() {
    try_archiving(Ordeal::Faults, "archive, log", Layout::Log);
}

#[test]
fn a_power_cut_while_a_log_is_archived() {
    try_archiving(Ordeal::PowerCuts, "power cut, archive, log", Layout::Log);
}
