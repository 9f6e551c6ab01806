//! What is answered to who gives back, completes, assigns or deletes a task of several machines: true at that moment, with a
//! real server.

use std::time::Duration;

use atm_office::OfficeError;
use atm_office::error::ErrorKind;
use atm_office::tasks::{Completion, Outcome};
use atm_support::wait_until;
use atm_wire::task::TaskId;

use super::server::{Proxy, Server};
use super::world::{Machine, TEAM, name, pair, team};

impl Machine {
    pub(crate) fn complete(&self, who: &str, id: TaskId) -> Result<Outcome, OfficeError> {
        self.office.tasks(&team())?.complete(&name(who), id, &Completion::default())
    }

    pub(crate) fn release(&self, who: &str, id: TaskId) -> Result<Outcome, OfficeError> {
        self.office.tasks(&team())?.release(&name(who), id)
    }

    pub(crate) fn assign(&self, who: &str, id: TaskId, owner: &str) -> Result<Outcome, OfficeError> {
        self.office.tasks(&team())?.assign(&name(who), id, &name(owner))
    }

    fn delete(&self, who: &str, id: TaskId) -> Result<(), OfficeError> {
        self.office.tasks(&team())?.delete(&name(who), id)
    }

    /// A task that the other machine has, too.
    pub(crate) fn make_for(&self, who: &str, other: &Machine, title: &str) -> TaskId {
        let id = self.create(who, title).id;
        other.wait_for_task(&id.to_string(), title);
        id
    }
}

fn warm(laptop: &Machine) {
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
}

#[test]
fn what_was_answered_as_done_every_machine_finds_done_at_once() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    warm(&laptop);
    for round in 0..5 {
        let task = laptop.make_for("ann", &hub, &format!("dig {round}"));
        hub.claim("bob", &task.to_string()).unwrap();
        let done = hub.release("bob", task).unwrap();
        assert_eq!((done.requested, done.warnings), (false, vec![]));
        // Nobody waits for anything in between: the bucket has it.
        laptop.claim("ann", &task.to_string()).unwrap();
        let done = laptop.complete("ann", task).unwrap();
        assert!(!done.requested);
        assert_eq!(hub.claim("bob", &task.to_string()).unwrap_err().code(), "task_completed");
    }
}

#[test]
fn who_does_not_have_the_task_is_refused_and_learns_who_has_it() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    warm(&laptop);
    let task = laptop.make_for("ann", &hub, "dig");
    hub.claim("bob", &task.to_string()).unwrap();
    // Whether the file here shows it already or not.
    let refused = [
        laptop.release("ann", task).unwrap_err(),
        laptop.release("team-lead", task).unwrap_err(),
        laptop.complete("ann", task).unwrap_err(),
        laptop.complete("team-lead", task).unwrap_err(),
        laptop.assign("team-lead", task, "ann").unwrap_err(),
        laptop.delete("team-lead", task).unwrap_err(),
    ];
    for error in refused {
        assert_eq!((error.kind(), error.code()), (ErrorKind::Refused, "task_held"), "{error}");
        assert!(error.to_string().starts_with(&format!("task {task} is held by bob until ")), "{error}");
    }
    assert_eq!(laptop.texts("ann"), Vec::<String>::new(), "nothing had to be set back");
    let done = hub.complete("bob", task).unwrap();
    assert_eq!(done.task.status.as_str(), "completed");
    // The answer may have been lost: who asks again gets the same one.
    let again = hub.complete("bob", task).unwrap();
    assert_eq!((again.requested, again.task.status.as_str()), (false, "completed"));
    laptop.delete("ann", task).unwrap_err();
    hub.delete("bob", task).unwrap();
    wait_until("laptop has it no more", || laptop.task(&task.to_string()).is_none());
}

#[test]
fn without_the_server_own_work_is_given_back_and_completed_as_a_request_and_nothing_else() {
    let server = Server::new();
    let way = Proxy::to(server.port());
    let (laptop, hub) = pair(&way.url(), &server.url());
    warm(&laptop);
    let [mine, given_back, free, lost] =
        ["mine", "given back", "free", "lost"].map(|title| laptop.make_for("ann", &hub, title));
    for task in [mine, given_back] {
        laptop.claim("ann", &task.to_string()).unwrap();
    }
    let tasks = laptop.office.tasks(&team()).unwrap();
    tasks.claim(&name("ann"), lost, Duration::from_secs(1)).unwrap();
    way.cut();
    for refused in [
        laptop.assign("team-lead", free, "ann").map(drop),
        laptop.complete("ann", free).map(drop),
        laptop.assign("team-lead", mine, "team-lead").map(drop),
        laptop.delete("ann", mine),
    ] {
        let error = refused.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Busy, "tasks_out_of_reach"), "{error}");
    }
    assert_eq!(laptop.owner(&free.to_string()), None);
    assert_eq!(laptop.owner(&mine.to_string()).as_deref(), Some("ann"));
    // Asked twice, both times the same.
    for _ in 0..2 {
        let [done, back] =
            [laptop.complete("ann", mine), laptop.release("ann", given_back)].map(Result::unwrap);
        for outcome in [&done, &back] {
            assert!(
                outcome.requested && outcome.warnings[0].contains("is a request"),
                "{:?}",
                outcome.warnings
            );
        }
        assert_eq!(done.task.status.as_str(), "completed");
        assert_eq!(back.task.owner, None);
    }
    wait_until("bob gets what was ann's too long ago", || hub.claim("bob", &lost.to_string()).is_ok());
    assert!(laptop.complete("ann", lost).unwrap().requested);
    way.mend();
    wait_until("hub knows what is done", || {
        hub.task(&mine.to_string()).is_some_and(|task| task.status.as_str() == "completed")
    });
    wait_until("what was given back can be had", || hub.claim("bob", &given_back.to_string()).is_ok());
    wait_until("what another one has is set back", || {
        laptop.owner(&lost.to_string()).as_deref() == Some("bob")
    });
    wait_until("and ann is told", || {
        laptop.texts("ann").iter().any(|text| text.contains(&format!("Task {lost} is bob's")))
    });
    assert_eq!(hub.claim("bob", &mine.to_string()).unwrap_err().code(), "task_completed");
}

#[test]
fn who_gives_a_task_to_a_member_of_another_machine_learns_that_it_decides() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    warm(&laptop);
    let task = laptop.make_for("ann", &hub, "dig");
    let given = laptop.assign("team-lead", task, "bob").unwrap();
    assert!(given.warnings.iter().any(|warning| warning.contains("at home on hub")), "{:?}", given.warnings);
    wait_until("it is set back", || laptop.owner(&task.to_string()).is_none());
}

#[test]
fn a_team_that_is_not_shared_any_more_is_this_machines_own_and_costs_the_others_nothing() {
    let server = Server::new();
    let (mut laptop, hub) = pair(&server.url(), &server.url());
    warm(&laptop);
    let [kept, deleted] = ["kept", "deleted"].map(|title| laptop.make_for("ann", &hub, title));
    hub.claim("bob", &kept.to_string()).unwrap();
    wait_until("laptop sees the owner", || laptop.owner(&kept.to_string()).as_deref() == Some("bob"));
    let refused = laptop.run(&["unshare", TEAM, "--json"]);
    assert_eq!(refused.status.code(), Some(5), "a bridge runs");
    laptop.kill();
    assert_eq!(laptop.json(&["unshare", TEAM])["wasShared"], true);
    assert_eq!(laptop.json(&["unshare", TEAM])["wasShared"], false);
    assert!(!laptop.knows("bob"), "members of other machines are gone");
    // The tasks are there, and the file alone decides about them.
    let tasks = laptop.office.tasks(&team()).unwrap();
    assert_eq!(tasks.release(&name("team-lead"), kept).unwrap().task.owner, None);
    tasks.claim(&name("ann"), kept, Duration::from_secs(3 * 3600)).unwrap();
    let made = laptop.create("ann", "made alone");
    assert_eq!(made.made_on, None);
    laptop.delete("team-lead", deleted).unwrap();
    assert_eq!(hub.owner(&kept.to_string()).as_deref(), Some("bob"), "the others know nothing of it");
    // Shared again, what all have in common counts: nothing is deleted there, and who has a task keeps it.
    laptop.start();
    laptop.wait_for_task(&deleted.to_string(), "deleted");
    wait_until("bob's task is bob's", || laptop.owner(&kept.to_string()).as_deref() == Some("bob"));
    wait_until("hub has what was made", || {
        hub.all().iter().any(|(_, title, _)| title == "made alone") && hub.all() == laptop.all()
    });
    hub.claim("bob", &kept.to_string()).unwrap();
}

#[test]
fn a_server_that_comes_back_from_a_backup_forgets_no_claim_no_task_and_no_number() {
    let mut server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    warm(&laptop);
    let held = laptop.make_for("ann", &hub, "held");
    server.keep_disk();
    wait_until("hub claims", || hub.claim("bob", &held.to_string()).is_ok());
    wait_until("a number can be reserved again", || laptop.create("ann", "more").made_on.is_none());
    let later = laptop.make_for("ann", &hub, "made later");
    let done = laptop.make_for("ann", &hub, "done later");
    laptop.claim("ann", &done.to_string()).unwrap();
    laptop.complete("ann", done).unwrap();
    wait_until("laptop sees the owner", || laptop.owner(&held.to_string()).as_deref() == Some("bob"));
    server.roll_back();
    // Both saw what the server forgot.
    for _ in 0..3 {
        let refused = laptop.claim("ann", &held.to_string()).unwrap_err();
        assert!(refused.code() != "no_such_task", "{refused}");
    }
    wait_until("its holder keeps it", || hub.claim("bob", &held.to_string()).is_ok());
    wait_until("a number can be reserved once more", || laptop.create("ann", "last").made_on.is_none());
    wait_until("both have all, once each", || {
        let all = laptop.all();
        let mut titles: Vec<&str> = all.iter().map(|(_, title, _)| title.as_str()).collect();
        titles.retain(|title| ["held", "made later", "done later"].contains(title));
        all == hub.all() && titles.len() == 3
    });
    assert_eq!(laptop.task(&later.to_string()).unwrap().subject, "made later");
    assert_eq!(hub.task(&done.to_string()).unwrap().status.as_str(), "completed");
    assert_eq!(hub.owner(&held.to_string()).as_deref(), Some("bob"));
}

#[test]
fn a_bridge_that_is_told_to_end_does_not_first_share_all_tasks() {
    let server = Server::new();
    let mut laptop = Machine::new("laptop", &server.url(), &["ann"]);
    let folder = laptop.env().root().join("tasks").join(TEAM);
    std::fs::create_dir_all(&folder).unwrap();
    for number in 1..=400 {
        let text =
            atm_wire::task::Task::new(number.to_string(), format!("job {number}"), "").render().unwrap();
        std::fs::write(folder.join(format!("{number}.json")), text).unwrap();
    }
    laptop.start();
    wait_until("the first one is shared", || {
        std::fs::read_to_string(folder.join("1.json")).unwrap().contains("shared_id")
    });
    let took = laptop.terminate();
    assert!(took < Duration::from_secs(10), "{took:?}");
}
