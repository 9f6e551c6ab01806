//! Tasks of a team that other machines have, too, while no bridge runs here.

use std::time::Duration;

use atm_office::tasks::Completion;
use atm_office::{ErrorKind, OfficeError};
use atm_wire::task::{DEFAULT_LEASE, Status};

use crate::world::{World, at, plan, refused, who};

#[test]
fn tasks_of_a_shared_team_are_claimed_by_the_bridge_alone() {
    let world = World::new();
    let shared = world.make("made before");
    let machines = world.office.machines();
    machines.set_shared_teams(&"laptop".parse().unwrap(), &[world.team.name().clone()]).unwrap();
    let before = world.text(shared);
    let claims = [
        world.tasks().claim(&who("bob"), shared, DEFAULT_LEASE).map(drop),
        world.tasks().claim_next(&who("bob"), DEFAULT_LEASE).map(drop),
        world.tasks().renew(&who("bob"), shared, at(1)).map(drop),
    ];
    for claim in claims {
        let error = claim.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Busy, "tasks_out_of_reach"));
        assert!(error.to_string().contains("no bridge runs here: nothing was changed"), "{error}");
    }
    assert_eq!(world.text(shared), before);
    let long = world.tasks().claim(&who("bob"), shared, Duration::from_secs(3600)).unwrap_err();
    assert_eq!((long.kind(), long.code()), (ErrorKind::Invalid, "lease_too_long"));
    // What is made meanwhile has the machine's mark, and is nobody else's.
    let made = world.tasks().create(&who("user"), &plan("made offline")).unwrap().task;
    assert_eq!(made.made_on.as_deref(), Some("laptop"));
    let long = world.tasks().claim(&who("bob"), made.id, Duration::from_secs(3600)).unwrap_err();
    assert_eq!(long.code(), "lease_too_long", "the others would grant it after 30 minutes");
    world.tasks().claim(&who("bob"), made.id, DEFAULT_LEASE).unwrap();
    refused(
        world.tasks().claim(&who("alice"), made.id, DEFAULT_LEASE),
        ErrorKind::Refused,
        "task 2 is held by bob until 2026-11-15T18:45:00.000Z",
    );
    let away = |refused: Result<(), OfficeError>| {
        assert_eq!(refused.unwrap_err().code(), "tasks_out_of_reach");
    };
    away(world.tasks().assign(&who("team-lead"), shared, &who("bob")).map(drop));
    away(world.tasks().complete(&who("bob"), shared, &Completion::default()).map(drop));
    away(world.tasks().delete(&who("team-lead"), shared));
    assert_eq!(world.text(shared), before);
    assert!(machines.unshare_tasks(world.team.name()).unwrap());
    world.tasks().claim(&who("bob"), shared, DEFAULT_LEASE).unwrap();
}

#[test]
fn while_no_bridge_runs_own_work_is_completed_and_given_back_as_a_request() {
    let world = World::new();
    let [done, back, other] = ["done", "back", "other"].map(|title| world.make(title));
    for task in [done, back] {
        world.tasks().claim(&who("bob"), task, DEFAULT_LEASE).unwrap();
    }
    world.tasks().claim(&who("alice"), other, DEFAULT_LEASE).unwrap();
    let machines = world.office.machines();
    machines.set_shared_teams(&"laptop".parse().unwrap(), &[world.team.name().clone()]).unwrap();
    // Asked again, because the answer was lost, it is the same answer.
    for _ in 0..2 {
        let completed = world.tasks().complete(&who("bob"), done, &Completion::default()).unwrap();
        let released = world.tasks().release(&who("bob"), back).unwrap();
        assert_eq!((completed.task.status, released.task.owner), (Status::Completed, None));
        for (requested, warnings) in
            [(completed.requested, completed.warnings), (released.requested, released.warnings)]
        {
            assert!(requested);
            assert!(warnings[0].starts_with("this is a request: no bridge runs here, "), "{warnings:?}");
        }
        assert_eq!(completed.unblocked, []);
    }
    refused(
        world.tasks().complete(&who("bob"), other, &Completion::default()),
        ErrorKind::Refused,
        "task 3 is held by alice until 2026-11-15T18:45:00.000Z",
    );
    // Who leaves the team leaves its tasks, also then.
    assert_eq!(world.tasks().release_all(&who("alice"), at(1)).unwrap(), [other]);
}
