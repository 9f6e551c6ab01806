//! Reading: all that was handed out is marked, or nothing is; no message is lost, whatever fails.

use std::fs;

use atm_store::Layout;

use crate::cases::{Ordeal, Trial};
use crate::checks::{ensure, everything_parses, no_litter, untouched};
use crate::world::{World, who};

/// What a reader got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// These many, and they are marked as read.
    Marked(usize),
    /// An error instead of mail, or of marking it.
    Failed,
}

fn read(world: &World, later: i64) -> Answer {
    let office = world.office(later);
    let reading = office.begin_read(&world.team, &who("bob"), usize::MAX);
    let marked = reading.and_then(|reading| Ok((reading.messages().len(), reading.confirm()?)));
    marked.map_or(Answer::Failed, |(count, _)| Answer::Marked(count))
}

fn unread(world: &World) -> usize {
    world.mailbox("bob").list().unwrap().messages.iter().filter(|message| !message.read).count()
}

/// An inbox without what says whether it was read.
fn without_marks(text: &str) -> String {
    text.replace("\"read\":false", "\"read\":true").replace("\"read\": false", "\"read\": true")
}

fn try_reading(ordeal: Ordeal, name: &str, layout: Layout) {
    let world = World::new(layout);
    let before = |name: &str| fs::read_to_string(world.inbox(name)).unwrap();
    let (bob, carol, count) = (before("bob"), before("carol"), unread(&world));
    assert!(count > 1);
    let judge = |answer: Option<Answer>| {
        let left = unread(&world);
        let is_right = match answer {
            Some(Answer::Marked(marked)) => marked == count && left == 0,
            Some(Answer::Failed) | None => left == 0 || left == count,
        };
        ensure(is_right, || format!("answered {answer:?}, and {left} of {count} are unread"))?;
        everything_parses(&world)?;
        let again = read(&world, 2);
        ensure(again == Answer::Marked(left), || {
            format!("{left} were unread, and the next one got {again:?}")
        })?;
        ensure(unread(&world) == 0, || "the next one left something unread".to_owned())?;
        world.send(4, "bob", "the next one")?;
        ensure(read(&world, 6) == Answer::Marked(1), || "the next message cannot be read".to_owned())?;
        no_litter(&world)?;
        let after = fs::read_to_string(world.inbox("bob")).unwrap();
        let kept = without_marks(bob.trim_end_matches(']').trim_end());
        ensure(without_marks(&after).starts_with(&kept), || format!("more than marks changed: {after}"))?;
        untouched(&world, "carol", &carol)?;
        everything_parses(&world)
    };
    Trial { name, world: &world, command: &|| read(&world, 0), judge: &judge }.pass(ordeal);
}

#[test]
fn reading_an_array() {
    try_reading(Ordeal::Faults, "read, array", Layout::Array);
}

#[test]
fn a_power_cut_while_an_array_is_read() {
    try_reading(Ordeal::PowerCuts, "power cut, read, array", Layout::Array);
}

#[test]
fn reading_a_log() {
    try_reading(Ordeal::Faults, "read, log", Layout::Log);
}

#[test]
fn a_power_cut_while_a_log_is_read() {
    try_reading(Ordeal::PowerCuts, "power cut, read, log", Layout::Log);
}
