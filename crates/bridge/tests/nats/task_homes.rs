//! Tasks of a member that moves from one machine to another, with a real server.

use atm_office::people::members::MemberPlan;
use atm_support::wait_until;

use super::moving::{take, three};
use super::server::Server;
use super::world::{Machine, team};

/// Bob of hub has one task by a claim, and one that was given to it.
fn with_tasks(laptop: &Machine, hub: &Machine, desk: &Machine) -> [atm_wire::task::TaskId; 2] {
    wait_until("a number can be reserved", || hub.create("bob", "warm up").made_on.is_none());
    let claimed = hub.make_for("bob", desk, "claimed");
    hub.claim("bob", &claimed.to_string()).unwrap();
    let given = hub.make_for("bob", desk, "given");
    hub.assign("team-lead", given, "bob").unwrap();
    for machine in [laptop, desk] {
        for id in [claimed, given] {
            wait_until("all see whose it is", || machine.owner(&id.to_string()).as_deref() == Some("bob"));
        }
    }
    [claimed, given]
}

#[test]
fn the_tasks_of_a_member_that_moves_are_its_new_homes() {
    for old_home_runs in [true, false] {
        let server = Server::new();
        let [laptop, mut hub, desk] = three(&server);
        let [claimed, given] = with_tasks(&laptop, &hub, &desk);
        if !old_home_runs {
            hub.kill();
        }
        take(&desk, "bob");
        laptop.wait_for_home("bob", "desk", 2);
        // It goes on with the one that it has, and nobody else gets it.
        wait_until("bob keeps its claim at desk", || desk.claim("bob", &claimed.to_string()).is_ok());
        assert_eq!(laptop.claim("ann", &claimed.to_string()).unwrap_err().code(), "task_held");
        desk.complete("bob", claimed).unwrap();
        wait_until("bob gives back what was given to it", || desk.release("bob", given).is_ok());
        if !old_home_runs {
            hub.start();
        }
        wait_until("the old home has given bob up", || hub.machine_of("bob") == "desk");
        for machine in [&laptop, &hub, &desk] {
            wait_until("all machines say the same", || {
                let status = |id: atm_wire::task::TaskId| {
                    machine.task(&id.to_string()).map(|task| (task.status.to_string(), task.owner))
                };
                status(claimed) == Some(("completed".into(), Some("bob".into())))
                    && status(given) == Some(("pending".into(), None))
            });
        }
    }
}

#[test]
fn another_member_of_the_name_at_the_old_home_gets_none_of_the_movers_tasks_and_keeps_its_own() {
    let server = Server::new();
    let [laptop, mut hub, desk] = three(&server);
    let [claimed, given] = with_tasks(&laptop, &hub, &desk);
    take(&desk, "bob");
    wait_until("hub has given bob up", || hub.machine_of("bob") == "desk");
    // As a client does it: into the file, while no bridge looks.
    hub.kill();
    hub.office.machines().unshare(&team()).unwrap();
    hub.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    hub.start();
    wait_until("the one of desk is called otherwise at hub", || {
        hub.owner(&given.to_string()).as_deref() == Some("bob.desk")
    });
    for id in [claimed, given] {
        assert!(hub.claim("bob", &id.to_string()).is_err(), "it is another bob's");
        assert!(hub.complete("bob", id).is_err(), "it is another bob's");
    }
    let own = hub.make_for("bob", &desk, "own");
    hub.assign("team-lead", own, "bob").unwrap();
    wait_until("desk sees whose it is", || desk.owner(&own.to_string()).as_deref() == Some("bob.hub"));
    assert!(desk.complete("bob", own).is_err(), "it is hub's");
    hub.complete("bob", own).unwrap();
    desk.complete("bob", given).unwrap();
    desk.complete("bob", claimed).unwrap();
}
