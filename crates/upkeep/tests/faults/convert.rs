//! Converting: each message is in the mailbox once, at every instant, and the next run ends what one began.

use std::fs;

use atm_store::Layout;
use atm_upkeep::convert::{self, ConvertPlan};

use crate::cases::{Ordeal, Trial};
use crate::checks::{ensure, everything_parses, no_litter};
use crate::world::World;

fn convert(world: &World, later: i64, to: Layout) -> Result<(), String> {
    let plan = ConvertPlan { to, dry_run: false, force: true };
    let done = convert::convert(&world.office(later), &world.team, plan, &mut |_, _| ())
        .map_err(|error| error.to_string())?;
    let failed = done.inboxes.iter().find_map(|inbox| inbox.error.clone());
    failed.map_or(Ok(()), Err)
}

/// Bob's messages: text, and whether it was read.
fn mail(world: &World) -> Vec<(String, bool)> {
    let listing = world.mailbox("bob").list().unwrap();
    let mut all: Vec<_> = listing.messages.into_iter().map(|message| (message.text, message.read)).collect();
    all.sort();
    all
}

fn try_converting(ordeal: Ordeal, name: &str, from: Layout, to: Layout) {
    let world = World::new(from);
    // One is as good as many, and has fewer operations.
    for name in ["team-lead", "carol", "dan"] {
        match from {
            Layout::Array => fs::remove_file(world.inbox(name)).unwrap(),
            Layout::Log => fs::remove_dir_all(world.inbox(name).parent().unwrap()).unwrap(),
        }
    }
    let before = mail(&world);
    let is_in = |layout: Layout| world.mailbox("bob").layout() == layout;
    let judge = |answer: Option<Result<(), String>>| {
        everything_parses(&world)?;
        let now = mail(&world);
        // A cursor counts lines: it can leave what came out of order unread, and never the other way round.
        let texts = |mail: &[(String, bool)]| mail.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
        ensure(texts(&now) == texts(&before), || {
            format!("answered {answer:?}; of {before:?} there is {now:?}")
        })?;
        ensure(now.iter().zip(&before).all(|(now, before)| before.1 || !now.1), || {
            format!("answered {answer:?}, and something unread counts as read: {now:?}")
        })?;
        ensure(answer != Some(Ok(())) || is_in(to), || "answered as done, and it is not".to_owned())?;
        convert(&world, 2, to).map_err(|why| format!("the next one fails: {why}"))?;
        ensure(is_in(to), || "the next one does not finish it".to_owned())?;
        let now = mail(&world);
        ensure(texts(&now) == texts(&before), || {
            format!("after the next one, of {before:?} there is {now:?}")
        })?;
        world.send(4, "bob", "the next one")?;
        // Known: a power cut while the cursor of a log that is an array by then is set back can leave its temp file, which
        // no reader looks at, until that cursor is written again.
        if (ordeal, to) != (Ordeal::PowerCuts, Layout::Array) {
            no_litter(&world)?;
        }
        everything_parses(&world)
    };
    Trial { name, world: &world, command: &|| convert(&world, 0, to), judge: &judge }.pass(ordeal);
}

#[test]
fn arrays_become_logs() {
    try_converting(Ordeal::Faults, "convert, to log", Layout::Array, Layout::Log);
}

#[test]
fn a_power_cut_while_arrays_become_logs() {
    try_converting(Ordeal::PowerCuts, "power cut, convert, to log", Layout::Array, Layout::Log);
}

#[test]
fn logs_become_arrays() {
    try_converting(Ordeal::Faults, "convert, to array", Layout::Log, Layout::Array);
}

#[test]
fn a_power_cut_while_logs_become_arrays() {
    try_converting(Ordeal::PowerCuts, "power cut, convert, to array", Layout::Log, Layout::Array);
}
