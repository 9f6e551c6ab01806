//! Tasks of one team on several machines: made, claimed, edited and renumbered, with a real server.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use atm_office::error::ErrorKind;
use atm_office::tasks::{Completion, TaskChange, TaskFilter, TaskPlan, TaskView};
use atm_support::wait_until;
use atm_wire::task::TaskId;

use super::server::{Proxy, Server};
use super::world::{Machine, TEAM, introduce, name, pair, team};

const LEASE: Duration = Duration::from_secs(300);

fn id(number: &str) -> TaskId {
    number.parse().unwrap()
}

impl Machine {
    pub(crate) fn create(&self, who: &str, subject: &str) -> TaskView {
        let plan = TaskPlan { subject: subject.to_owned(), ..TaskPlan::default() };
        self.office.tasks(&team()).unwrap().create(&name(who), &plan).unwrap().task
    }

    pub(crate) fn claim(&self, who: &str, number: &str) -> Result<TaskView, atm_office::OfficeError> {
        let tasks = self.office.tasks(&team())?;
        tasks.claim(&name(who), id(number), LEASE).map(|outcome| outcome.task)
    }

    pub(crate) fn task(&self, number: &str) -> Option<TaskView> {
        self.office.tasks(&team()).unwrap().get(id(number)).ok()
    }

    pub(crate) fn owner(&self, number: &str) -> Option<String> {
        self.task(number)?.owner
    }

    /// Number, title and owner of all tasks.
    pub(crate) fn all(&self) -> Vec<(String, String, Option<String>)> {
        let tasks = self.office.tasks(&team()).unwrap().list(&TaskFilter::default()).unwrap().tasks;
        tasks.into_iter().map(|task| (task.id.to_string(), task.subject, task.owner)).collect()
    }

    fn task_file(&self, number: &str) -> PathBuf {
        self.env().root().join("tasks").join(TEAM).join(format!("{number}.json"))
    }

    /// Changes a task's file as a client does that knows nothing of us.
    fn edit_natively(&self, number: &str, edit: impl Fn(&mut serde_json::Value)) {
        let path = self.task_file(number);
        let mut task = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        edit(&mut task);
        std::fs::write(&path, serde_json::to_string_pretty(&task).unwrap()).unwrap();
    }

    pub(crate) fn wait_for_task(&self, number: &str, subject: &str) {
        wait_until(&format!("{} has task {number}", self.name), || {
            self.task(number).is_some_and(|task| task.subject == subject && task.made_on.is_none())
        });
    }
}

fn trio(url: &str) -> Vec<Machine> {
    let mut machines: Vec<Machine> = [("laptop", "ann"), ("hub", "bob"), ("desk", "eve")]
        .map(|(machine, member)| Machine::new(machine, url, &[member]))
        .into();
    introduce(&machines.iter().collect::<Vec<_>>());
    machines.iter_mut().for_each(Machine::start);
    machines[0].wait_for_member("eve");
    machines[1].wait_for_member("eve");
    machines[2].wait_for_member("bob");
    machines
}

#[test]
fn a_task_is_made_here_claimed_there_and_done() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
    let made = laptop.create("ann", "dig a hole");
    assert_eq!(made.made_on, None);
    let number = made.id.to_string();
    hub.wait_for_task(&number, "dig a hole");
    let claimed = hub.claim("bob", &number).unwrap();
    assert_eq!(claimed.owner.as_deref(), Some("bob"));
    wait_until("laptop sees the owner", || laptop.owner(&number).as_deref() == Some("bob"));
    let refused = laptop.claim("ann", &number).unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Refused, "task_held"));
    // Its owner gets it for longer, as often as it asks.
    hub.claim("bob", &number).unwrap();
    let tasks = hub.office.tasks(&team()).unwrap();
    tasks.complete(&name("bob"), made.id, &Completion::default()).unwrap();
    wait_until("laptop sees that it is done", || {
        laptop.task(&number).is_some_and(|task| task.status.as_str() == "completed")
    });
    // A lead is somebody else on each machine.
    let other = laptop.create("ann", "fill it");
    laptop.claim("team-lead", &other.id.to_string()).unwrap();
    wait_until("hub sees whose lead it is", || {
        hub.owner(&other.id.to_string()).as_deref() == Some("team-lead.laptop")
    });
}

#[test]
fn of_three_machines_that_claim_the_same_tasks_at_once_one_gets_each() {
    const TASKS: usize = 8;
    let server = Server::new();
    let machines = trio(&server.url());
    wait_until("a number can be reserved", || machines[0].create("ann", "warm up").made_on.is_none());
    let numbers: Vec<String> =
        (0..TASKS).map(|n| machines[0].create("ann", &format!("job {n}")).id.to_string()).collect();
    for machine in &machines {
        machine.wait_for_task(&numbers[TASKS - 1], &format!("job {}", TASKS - 1));
    }
    let granted: Vec<Vec<bool>> = thread::scope(|scope| {
        let claims = machines.iter().zip(["ann", "bob", "eve"]).map(|(machine, who)| {
            let numbers = &numbers;
            scope.spawn(move || numbers.iter().map(|number| machine.claim(who, number).is_ok()).collect())
        });
        claims.collect::<Vec<_>>().into_iter().map(|claim| claim.join().unwrap()).collect()
    });
    for (place, number) in numbers.iter().enumerate() {
        let winners: Vec<&str> = granted
            .iter()
            .zip(["ann", "bob", "eve"])
            .filter_map(|(granted, who)| granted[place].then_some(who))
            .collect();
        assert_eq!(winners.len(), 1, "task {number}: {winners:?}");
        wait_until("all machines say the same", || {
            machines.iter().all(|machine| machine.owner(number).as_deref() == Some(winners[0]))
        });
    }
}

#[test]
fn while_the_server_or_the_bridge_is_away_nothing_is_granted() {
    let server = Server::new();
    let way = Proxy::to(server.port());
    let (mut laptop, hub) = pair(&way.url(), &server.url());
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
    let number = laptop.create("ann", "dig").id.to_string();
    hub.wait_for_task(&number, "dig");
    way.cut();
    let before = std::fs::read(laptop.task_file(&number)).unwrap();
    let refused = laptop.claim("ann", &number).unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Busy, "tasks_out_of_reach"));
    assert_eq!(std::fs::read(laptop.task_file(&number)).unwrap(), before);
    hub.claim("bob", &number).unwrap();
    way.mend();
    wait_until("laptop knows who has it", || laptop.owner(&number).as_deref() == Some("bob"));
    laptop.kill();
    let other = hub.create("bob", "fill").id.to_string();
    hub.claim("bob", &other).unwrap();
    let refused = laptop.claim("ann", &number).unwrap_err();
    assert_eq!(refused.code(), "tasks_out_of_reach");
    assert!(refused.to_string().contains("no bridge runs here"), "{refused}");
}

#[test]
fn a_clients_edit_is_a_request_and_the_loser_is_told() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
    let number = laptop.create("ann", "dig").id.to_string();
    hub.wait_for_task(&number, "dig");
    hub.claim("bob", &number).unwrap();
    wait_until("laptop sees the owner", || laptop.owner(&number).as_deref() == Some("bob"));
    laptop.edit_natively(&number, |task| {
        task["owner"] = "ann".into();
        task["description"] = "three feet deep".into();
    });
    wait_until("the owner is set back", || laptop.owner(&number).as_deref() == Some("bob"));
    wait_until("ann is told", || laptop.texts("ann").iter().any(|text| text.contains("is bob's")));
    // The rest of the edit is nobody's loss.
    wait_until("hub has the text", || {
        hub.task(&number).is_some_and(|task| task.description == "three feet deep")
    });
    assert_eq!(hub.owner(&number).as_deref(), Some("bob"));
    // A task that nobody has is had by editing its file.
    let free = hub.create("bob", "fill").id.to_string();
    laptop.wait_for_task(&free, "fill");
    laptop.edit_natively(&free, |task| task["owner"] = "ann".into());
    wait_until("hub sees ann", || hub.owner(&free).as_deref() == Some("ann"));
    let told = laptop.texts("ann").iter().filter(|text| text.contains("set back")).count();
    assert_eq!(told, 1, "{:?}", laptop.texts("ann"));
}

#[test]
fn what_is_made_while_nobody_can_be_asked_has_a_mark_and_gets_its_number_later() {
    let server = Server::new();
    let (mut laptop, hub) = pair(&server.url(), &server.url());
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
    let last = laptop.create("ann", "last").id.to_string();
    hub.wait_for_task(&last, "last");
    laptop.kill();
    let offline = laptop.create("ann", "made offline");
    assert_eq!(offline.made_on.as_deref(), Some("laptop"));
    // Nobody else has it, so that its claim needs nobody else.
    laptop.claim("ann", &offline.id.to_string()).unwrap();
    let there = hub.create("bob", "made meanwhile");
    assert_eq!(there.id, offline.id);
    laptop.start();
    laptop.wait_for_task(&there.id.to_string(), "made meanwhile");
    wait_until("both have both", || {
        let all = laptop.all();
        all == hub.all()
            && all.iter().any(|(_, title, owner)| title == "made offline" && owner.as_deref() == Some("ann"))
    });
    assert!(
        laptop.texts("ann").iter().any(|text| text.contains("has the number")),
        "{:?}",
        laptop.texts("ann")
    );
}

#[test]
fn after_the_servers_disk_was_lost_holders_keep_and_nobody_else_gets() {
    let mut server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
    let [held, free] = ["held", "free"].map(|title| laptop.create("ann", title).id.to_string());
    hub.wait_for_task(&free, "free");
    hub.claim("bob", &held).unwrap();
    wait_until("laptop sees the owner", || laptop.owner(&held).as_deref() == Some("bob"));
    server.lose_disk();
    wait_until("nobody gets what may be claimed", || {
        laptop.claim("ann", &free).is_err_and(|error| error.code() == "task_claims_unknown")
    });
    wait_until("its holder keeps it", || hub.claim("bob", &held).is_ok());
    // While the bridges make anew what is lost, the answer may be that nobody can be asked; it is never a grant.
    wait_until("nobody else gets it", || {
        let refused = laptop.claim("ann", &held).unwrap_err();
        ["task_held", "task_claims_unknown"].contains(&refused.code())
    });
    // What is new is anybody's at once.
    let new = laptop.create("ann", "new").id.to_string();
    laptop.claim("ann", &new).unwrap();
    hub.wait_for_task(&new, "new");
    assert_eq!(laptop.owner(&held).as_deref(), Some("bob"));
}

#[test]
fn entries_of_a_machine_that_is_not_trusted_are_refused() {
    let server = Server::new();
    let mut laptop = Machine::new("laptop", &server.url(), &["ann"]);
    let mut hub = Machine::new("hub", &server.url(), &["bob"]);
    laptop.trust(&hub, &[]);
    laptop.start();
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
    let number = laptop.create("ann", "dig").id.to_string();
    hub.start();
    wait_until("hub refuses it", || hub.status()["tally"]["refused"]["untrusted"].as_u64() >= Some(2));
    assert_eq!(hub.all(), []);
    introduce(&[&laptop, &hub]);
    hub.wait_for_task(&number, "dig");
}

#[test]
fn a_bridge_that_dies_and_a_folder_that_is_deleted_lose_no_task() {
    let server = Server::new();
    let (mut laptop, hub) = pair(&server.url(), &server.url());
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
    let number = laptop.create("ann", "dig").id.to_string();
    hub.wait_for_task(&number, "dig");
    laptop.kill();
    hub.edit_natively(&number, |task| task["description"] = "there".into());
    laptop.edit_natively(&number, |task| task["subject"] = "here".into());
    laptop.start();
    wait_until("both edits are on both", || {
        [&laptop, &hub].iter().all(|machine| {
            machine.task(&number).is_some_and(|task| task.subject == "here" && task.description == "there")
        })
    });
    // A client that cleans up takes the folder: nobody means to delete the tasks of all.
    std::fs::remove_dir_all(laptop.task_file(&number).parent().unwrap()).unwrap();
    laptop.wait_for_task(&number, "here");
    // One file that is gone is a task that is deleted.
    std::fs::remove_file(laptop.task_file(&number)).unwrap();
    wait_until("hub has it no more", || hub.task(&number).is_none());
    assert_ne!(hub.create("bob", "next").id.to_string(), number);
}

/// Nothing else changes after it, and what a file was deleted for is known two seconds later: it was told after fifteen.
#[test]
fn one_task_file_that_a_client_deletes_is_gone_on_the_other_machine_soon() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    let number = laptop.create("ann", "dig").id.to_string();
    hub.wait_for_task(&number, "dig");
    // Until all that came of making it was looked at.
    thread::sleep(Duration::from_secs(1));
    std::fs::remove_file(laptop.task_file(&number)).unwrap();
    let start = Instant::now();
    wait_until("hub has it no more", || hub.task(&number).is_none());
    assert!(start.elapsed() < Duration::from_secs(8), "after {:?}", start.elapsed());
}

#[test]
fn a_task_for_a_member_of_another_machine_needs_its_trust() {
    let server = Server::new();
    let (laptop, hub) = pair(&server.url(), &server.url());
    wait_until("a number can be reserved", || laptop.create("ann", "warm up").made_on.is_none());
    let task = laptop.create("ann", "dig").id;
    let number = task.to_string();
    hub.wait_for_task(&number, "dig");
    laptop.office.tasks(&team()).unwrap().assign(&name("team-lead"), task, &name("bob")).unwrap();
    wait_until("it is set back", || laptop.owner(&number).is_none());
    hub.trust(&laptop, &["--as-lead"]);
    wait_until("hub takes it", || {
        let tasks = laptop.office.tasks(&team()).unwrap();
        tasks.assign(&name("team-lead"), task, &name("bob")).unwrap();
        hub.owner(&number).as_deref() == Some("bob") && laptop.owner(&number).as_deref() == Some("bob")
    });
}

/// A bridge that does not end keeps the next one from starting.
#[test]
fn a_bridge_with_many_tasks_ends_at_once_also_if_its_server_hangs() {
    let server = Server::new();
    let mut laptop = Machine::new("laptop", &server.url(), &["ann"]);
    laptop.start();
    wait_until("a number can be reserved", || laptop.create("ann", "first").made_on.is_none());
    let made: Vec<TaskId> =
        (0..40).map(|number| laptop.create("ann", &format!("task {number}")).id).collect();
    server.hang();
    for id in made {
        let change = TaskChange { description: Some("more".to_owned()), ..TaskChange::default() };
        laptop.office.tasks(&team()).unwrap().change(&name("ann"), id, &change).unwrap();
    }
    wait_until("the server is missed", || !laptop.status()["lastError"].is_null());
    assert!(laptop.terminate() < Duration::from_secs(30));
}
