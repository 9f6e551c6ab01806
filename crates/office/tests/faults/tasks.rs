//! Claiming a task: a member whose claim succeeded holds it, and nobody else does.

use std::fs;
use std::time::Duration;

use atm_office::OfficeError;
use atm_office::tasks::{Outcome, TaskPlan};
use atm_store::Layout;
use atm_wire::task::TaskId;

use crate::cases::Trial;
use crate::checks::{ensure, everything_parses, no_litter, says_done};
use crate::world::{World, who};

fn first() -> TaskId {
    TaskId::parse("1").unwrap()
}

fn claim(world: &World, later: i64, name: &str) -> Result<Outcome, OfficeError> {
    world.office(later).tasks(&world.team)?.claim(&who(name), first(), Duration::from_secs(600))
}

#[test]
fn claiming_a_task() {
    let world = World::new(Layout::Array);
    let office = world.office(-900);
    for subject in ["tried", "beside it"] {
        let plan = TaskPlan { subject: subject.to_owned(), ..TaskPlan::default() };
        office.tasks(&world.team).unwrap().create(&who("team-lead"), &plan).unwrap();
    }
    let beside = world.root().join("tasks/demo/2.json");
    let before = fs::read_to_string(&beside).unwrap();
    let owner = || world.office(1).tasks(&world.team).unwrap().get(first()).unwrap().owner;
    let judge = |answer: Option<bool>| {
        everything_parses(&world)?;
        let found = owner();
        let is_right = match answer {
            Some(true) => found.as_deref() == Some("bob"),
            Some(false) => found.is_none(),
            None => found.is_none() || found.as_deref() == Some("bob"),
        };
        ensure(is_right, || format!("answered {answer:?}, and the owner is {found:?}"))?;
        let other = claim(&world, 2, "carol");
        ensure(other.is_ok() == found.is_none(), || {
            format!("{found:?} has it, and carol is told {other:?}")
        })?;
        let owner = if found.is_none() { "carol" } else { "bob" };
        let again = claim(&world, 4, owner);
        ensure(again.is_ok(), || format!("{owner} has it and cannot keep it: {again:?}"))?;
        no_litter(&world)?;
        let after = fs::read_to_string(&beside).unwrap();
        ensure(after == before, || format!("another task has changed: {after}"))?;
        everything_parses(&world)
    };
    Trial { name: "claim", world: &world, command: &|| says_done(&claim(&world, 0, "bob")), judge: &judge }
        .run(false);
}
