//! Members that move from one machine to another.

use atm_office::people::members::MemberPlan;
use atm_support::wait_until;

use super::server::Server;
use super::world::{Machine, introduce, name, pair, team};

/// Ann on laptop, bob on hub, eve on desk; all bridges run, and bob's home is registered.
pub(crate) fn three(server: &Server) -> [Machine; 3] {
    let mut machines = [("laptop", "ann"), ("hub", "bob"), ("desk", "eve")]
        .map(|(machine, member)| Machine::new(machine, &server.url(), &[member]));
    introduce(&machines.iter().collect::<Vec<_>>());
    machines.iter_mut().for_each(Machine::start);
    for (machine, members) in machines.iter().zip([["bob", "eve"], ["ann", "eve"], ["ann", "bob"]]) {
        for member in members {
            machine.wait_for_member(member);
        }
    }
    for machine in &machines {
        machine.wait_for_home("bob", "hub", 1);
    }
    machines
}

pub(crate) fn take(machine: &Machine, member: &str) -> serde_json::Value {
    machine.json(&["take", member, "--team", "demo", "--machine", &machine.name, "--nats", machine.url()])
}

/// What a machine's bridge remembers across restarts.
fn memory(machine: &Machine) -> serde_json::Value {
    let bytes = std::fs::read(machine.env().state().join("bridge/memory.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// Waits until bob's mail is on desk, in order, and confirmed at home.
fn settles(laptop: &Machine, desk: &Machine, texts: &[&str], ids: &[String]) {
    wait_until("the mail is at its new home", || desk.texts("bob").len() >= texts.len());
    wait_until("nothing is under way", || {
        laptop.status()["outbox"].as_object().is_some_and(serde_json::Map::is_empty)
    });
    assert_eq!(desk.texts("bob"), texts);
    desk.office.begin_read(&team(), &name("bob"), usize::MAX).unwrap().confirm().unwrap();
    wait_until("its receipts come home", || ids.iter().all(|id| laptop.stage(id) == "seen"));
}

#[test]
fn a_member_moves_while_its_old_home_runs() {
    let server = Server::new();
    let [laptop, hub, desk] = three(&server);
    let first = laptop.send("ann", "bob", "first");
    wait_until("it is written at the old home", || laptop.stage(&first.id) == "written");
    let taken = take(&desk, "bob");
    assert_eq!(
        (&taken["from"], &taken["epoch"], &taken["changed"]),
        (&"hub".into(), &2.into(), &true.into())
    );
    assert_eq!(take(&desk, "bob")["changed"], false, "twice is once");
    hub.wait_for_home("bob", "desk", 2);
    laptop.wait_for_home("bob", "desk", 2);
    let second = laptop.send("ann", "bob", "second");
    settles(&laptop, &desk, &["first", "second"], &[first.id, second.id]);
    wait_until("the old home has given it up", || {
        hub.texts("bob").is_empty() && hub.machine_of("bob") == "desk"
    });
    // Mail of the old home goes there, too.
    hub.send("team-lead", "bob", "from hub");
    wait_until("it is at the new home", || desk.texts("bob").contains(&"from hub".to_owned()));
    assert_eq!(desk.status()["heldElsewhere"], serde_json::json!([]));
}

#[test]
fn a_member_moves_while_its_old_home_is_off() {
    let server = Server::new();
    let [laptop, mut hub, desk] = three(&server);
    let first = laptop.send("ann", "bob", "first");
    wait_until("it is written at the old home", || laptop.stage(&first.id) == "written");
    hub.kill();
    hub.send("team-lead", "bob", "while it was off");
    let second = laptop.send("ann", "bob", "second");
    take(&desk, "bob");
    settles(&laptop, &desk, &["first", "second"], &[first.id, second.id]);
    hub.start();
    wait_until("the old home has given it up", || {
        hub.texts("bob").is_empty() && hub.machine_of("bob") == "desk"
    });
    wait_until("what was written there came along", || {
        desk.texts("bob").contains(&"while it was off".to_owned())
    });
    assert_eq!(desk.texts("bob").iter().filter(|text| *text == "first").count(), 1);
}

/// The bucket tells it at once of the move, and the stream a while later of what was read.
#[test]
fn what_was_read_while_its_senders_machine_was_off_does_not_follow_the_member() {
    let server = Server::new();
    let [mut laptop, hub, desk] = three(&server);
    let sent = laptop.send("ann", "bob", "read at the old home");
    wait_until("it is written at the old home", || laptop.stage(&sent.id) == "written");
    laptop.terminate();
    let many = 400;
    for number in 0..many {
        hub.send("bob", "ann", &format!("{number}"));
    }
    wait_until("all of it is under way", || hub.status()["tally"]["published"].as_u64() >= Some(many));
    hub.office.begin_read(&team(), &name("bob"), usize::MAX).unwrap().confirm().unwrap();
    take(&desk, "bob");
    wait_until("the old home has given it up", || hub.machine_of("bob") == "desk");
    laptop.start();
    laptop.wait_for_home("bob", "desk", 2);
    let next = laptop.send("ann", "bob", "next");
    wait_until("it is at the new home", || laptop.stage(&next.id) == "written");
    assert_eq!(desk.texts("bob"), ["next"]);
    assert_eq!(laptop.stage(&sent.id), "seen");
    assert_eq!(laptop.texts("ann").len() as u64, many);
}

#[test]
fn a_server_that_lost_its_disk_sends_nobody_back() {
    let mut server = Server::new();
    let [laptop, mut hub, desk] = three(&server);
    let first = laptop.send("ann", "bob", "first");
    wait_until("it is written at the old home", || laptop.stage(&first.id) == "written");
    hub.kill();
    take(&desk, "bob");
    laptop.wait_for_home("bob", "desk", 2);
    desk.wait_for_home("bob", "desk", 2);
    server.lose_disk();
    // The old home still takes itself for bob's, and is the first to be heard.
    hub.start();
    hub.wait_for_home("bob", "desk", 2);
    let second = laptop.send("ann", "bob", "second");
    settles(&laptop, &desk, &["first", "second"], &[first.id, second.id]);
    wait_until("the old home has given it up", || hub.machine_of("bob") == "desk");
}

#[test]
fn a_member_that_is_removed_at_one_machine_and_added_at_another_moves_by_itself() {
    let server = Server::new();
    let [laptop, hub, desk] = three(&server);
    hub.office.remove_member(&team(), &name("bob")).unwrap();
    wait_until("desk has heard of it", || desk.machine_of("bob").is_empty());
    desk.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    laptop.wait_for_home("bob", "desk", 2);
    laptop.wait_for_member("bob");
    let sent = laptop.send("ann", "bob", "hello");
    settles(&laptop, &desk, &["hello"], &[sent.id]);
}

#[test]
fn mail_for_a_member_that_nobody_has_waits_and_says_so() {
    let server = Server::new();
    let [mut laptop, hub, desk] = three(&server);
    laptop.kill();
    hub.office.remove_member(&team(), &name("bob")).unwrap();
    wait_until("desk has heard of it", || desk.machine_of("bob").is_empty());
    let sent = laptop.send("ann", "bob", "is anybody there?");
    laptop.start();
    let absent = serde_json::json!([{ "team": "demo", "name": "bob", "machine": "hub", "letters": 1 }]);
    wait_until("status says so", || laptop.status()["absent"] == absent);
    let shown = String::from_utf8(laptop.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("1 for bob of team demo, whom hub does not have"), "{shown}");
    wait_until("track says so", || {
        let track = laptop.office.track(Some(&team()), &sent.id).unwrap();
        track.waits_for.is_some_and(|what| what.starts_with("a machine that has bob"))
    });
    desk.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    settles(&laptop, &desk, &["is anybody there?"], &[sent.id]);
    wait_until("nothing waits", || laptop.status()["absent"] == serde_json::json!([]));
}

/// It was published again with the object that it had, and the answer named the attempt that had made it, which is an earlier one.
#[test]
fn a_large_letter_for_a_member_that_is_gone_waits_like_a_small_one() {
    let server = Server::start_with("max_payload: 65536");
    let (laptop, mut hub) = pair(&server.url(), &server.url());
    hub.kill();
    laptop.send("ann", "bob", &"and so on ".repeat(20_000));
    wait_until("it is published", || laptop.status()["tally"]["published"] == 1);
    hub.office.remove_member(&team(), &name("bob")).unwrap();
    std::fs::remove_file(hub.env().root().join("teams/demo/inboxes/bob.json")).unwrap();
    // It answers that bob is not there, and announces so: then something else is known, and the letter is tried once more.
    hub.start();
    let absent = serde_json::json!([{ "team": "demo", "name": "bob", "machine": "hub", "letters": 1 }]);
    wait_until("it waits", || {
        let status = laptop.status();
        status["tally"]["publishedAgain"].as_u64() > Some(0) && status["absent"] == absent
    });
}

#[test]
fn a_name_that_another_machine_holds_is_refused_to_the_later_one_and_said_clearly() {
    let server = Server::new();
    let (mut laptop, hub) = pair(&server.url(), &server.url());
    laptop.wait_for_home("bob", "hub", 1);
    // As a client does it: into the file, while no bridge looks.
    laptop.kill();
    laptop.office.machines().unshare(&team()).unwrap();
    laptop.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
    laptop.start();
    let held = serde_json::json!([{ "team": "demo", "name": "bob", "machine": "hub" }]);
    wait_until("status says so", || laptop.status()["heldElsewhere"] == held);
    let told = |machine: &Machine| {
        machine.texts("team-lead").iter().filter(|text| text.contains("atm bridge take bob")).count()
    };
    wait_until("the lead is told", || told(&laptop) == 1);
    hub.wait_for_member("bob.laptop");
    laptop.wait_for_member("bob.hub");
    assert_eq!(hub.home_of("bob"), ("hub".to_owned(), 1), "it was not taken over");
    let shown = String::from_utf8(laptop.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("bob of team demo is held by hub"), "{shown}");
    // The way out.
    take(&laptop, "bob");
    hub.wait_for_home("bob", "laptop", 2);
    wait_until("it is one member again", || hub.machine_of("bob") == "laptop");
    wait_until("nobody is refused", || laptop.status()["heldElsewhere"] == serde_json::json!([]));
    assert_eq!((told(&laptop), told(&hub)), (1, 0));
}

#[test]
fn what_cannot_be_taken_is_said() {
    let server = Server::new();
    let (laptop, _hub) = pair(&server.url(), &server.url());
    let url = server.url();
    for (member, code) in [("team-lead", 4), ("user", 4), ("nobody", 3), ("a/b", 2)] {
        let output =
            laptop.run(&["take", member, "--team", "demo", "--machine", "laptop", "--nats", &url, "--json"]);
        assert_eq!(output.status.code(), Some(code), "{member}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn mail_that_never_left_the_file_is_confirmed_when_its_member_is_given_back() {
    let server = Server::new();
    let [laptop, mut hub, desk] = three(&server);
    let first = laptop.send("ann", "bob", "first");
    wait_until("it is written at the old home", || laptop.stage(&first.id) == "written");
    hub.kill();
    take(&desk, "bob");
    laptop.wait_for_home("bob", "desk", 2);
    wait_until("it is at desk", || desk.texts("bob") == ["first"]);
    desk.office.remove_member(&team(), &name("bob")).unwrap();
    wait_until("desk has said so", || {
        let said = memory(&laptop)["neighbours"]["desk"]["teams"].to_string();
        said.contains("eve") && !said.contains("bob")
    });
    hub.start();
    laptop.wait_for_home("bob", "hub", 3);
    assert_eq!(hub.texts("bob"), ["first"]);
    wait_until("nothing is under way", || {
        laptop.status()["outbox"].as_object().is_some_and(serde_json::Map::is_empty)
    });
    assert_eq!(laptop.stage(&first.id), "written");
}
