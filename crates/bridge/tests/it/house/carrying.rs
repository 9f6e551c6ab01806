//! What becomes of mail and of its answers at home: by this machine's own word, beside locks that others hold, without anybody's command.

use std::time::Instant;

use atm_bridge::run::collecting::Collecting;
use atm_bridge::run::worker::{Handle, Input};
use atm_store::watch::{Stop, Watcher};

use super::*;

/// Nothing looked there but commands of people: whoever answered a session did not hear whether it had read that.
#[test]
fn what_becomes_of_an_answer_for_another_team_is_told_without_anybodys_command() {
    for restarts in [false, true] {
        let (mut laptop, mut hub) = pair();
        let ops = laptop.office.create_team(&TeamPlan::new("ops", "another team")).unwrap();
        laptop.office.add_member(&ops, &MemberPlan::new("eve")).unwrap();
        let letter = Words::new("bob@demo".parse().unwrap(), "who broke it?");
        let sent = laptop.office.send(&ops, &name("eve"), &letter, SendOptions::default()).unwrap();
        let letters = laptop.outgoing();
        hub.take_in(&laptop.name, &letters);
        let answer = |to| Words::new(to, "me");
        let demo = hub.office.team(&team()).unwrap();
        let answered = demo.reply(&name("bob"), &sent.id, answer, SendOptions::default()).unwrap();
        let letters = hub.outgoing();
        let receipts = laptop.take_in(&hub.name, &letters);
        let confirmed = hub.house.confirm(&laptop.name, &receipts).unwrap();
        assert_eq!(
            confirmed,
            [Confirmed::Written { to: letters[0].to.clone() }],
            "by the name it was sent to"
        );
        let path = laptop.folder.path().join("root/teams/ops/inboxes/eve.json");
        if restarts {
            laptop.restart();
        }
        // Her client takes it, and says nothing.
        let mut mail: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        mail[0]["read"] = true.into();
        fs::write(&path, mail.to_string()).unwrap();
        let mut told = Vec::new();
        wait_until("its sender's machine is told", || {
            all(laptop.house.look());
            told = laptop.house.receipts_since(None, 1_000).unwrap().0;
            told.iter().any(|(_, told)| told.id == answered.id && told.record.contains("\"taken\""))
        });
    }
}

/// A letter that no machine can read has failed here, and nobody elsewhere said so.
#[test]
fn what_cannot_be_carried_has_failed_by_this_machines_word() {
    let (mut laptop, _hub) = pair();
    laptop.send("ann", "bob", "large");
    let letters = laptop.outgoing();
    for _ in 0..2 {
        laptop.house.give_up(letters[0].n, "it is too large").unwrap();
    }
    assert!(laptop.outgoing().is_empty());
    let track = laptop.office.track(Some(&team()), &letters[0].id).unwrap();
    let failed: Vec<_> = track.stages.iter().filter(|stage| stage.stage == Stage::Failed).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].evidence.what.as_str(), &failed[0].evidence.machine), ("it is too large", &None));
}

/// Each letter for a file that could not be written came again, whole, every 15 seconds; and everything else waited for the file's lock
/// for 12 seconds, each time: a client that deleted its team's folder meanwhile took along what had lain there.
#[test]
fn a_lock_that_is_held_keeps_nothing_else_waiting_and_what_is_accepted_is_confirmed() {
    let (mut laptop, mut hub) = pair();
    let inboxes = hub.folder.path().join("root/teams/demo/inboxes");
    let lock = inboxes.join("bob.json.lock");
    fs::create_dir_all(&lock).unwrap();
    laptop.send("ann", "bob", "first");
    let letters = laptop.outgoing();
    let mut collector = hub.house.collector().unwrap();
    let receipts = std::thread::scope(|scope| {
        let taking = scope.spawn(|| hub.take_in(&laptop.name, &letters));
        let entry =
            r#"[{"from":"bob","text":"by a client","timestamp":"2027-01-15T08:00:00.000Z","read":false}]"#;
        fs::write(inboxes.join("ann.json"), entry).unwrap();
        // Ann's lock is held as well: her mail is in the log before anybody waits for it.
        fs::create_dir_all(inboxes.join("ann.json.lock")).unwrap();
        assert!(collector.collect().is_err(), "it could not be taken out");
        fs::remove_file(inboxes.join("ann.json")).unwrap();
        taking.join().unwrap()
    });
    assert_eq!(hub.outgoing().iter().map(words).collect::<Vec<_>>(), ["by a client"]);
    // The lock is not old enough yet that it belongs to nobody.
    assert_eq!((lock.is_dir(), hub.texts("bob").len()), (true, 0));
    let to = || "bob".to_owned();
    let confirmed = laptop.house.confirm(&hub.name, &receipts).unwrap();
    assert_eq!(confirmed, [Confirmed::Accepted { to: to() }]);
    let stage = |laptop: &Site| laptop.office.track(Some(&team()), &letters[0].id).unwrap().stage;
    assert_eq!((stage(&laptop), laptop.outgoing().len()), (Stage::Accepted, 1));
    fs::remove_dir(&lock).unwrap();
    let mut told = Vec::new();
    wait_until("its sender's machine is told", || {
        assert!(hub.house.look().trouble.is_none());
        told = hub.house.receipts_since(None, 1_000).unwrap().0;
        !told.is_empty()
    });
    let told: Vec<Receipt> = told.into_iter().map(|(_, receipt)| receipt).collect();
    assert_eq!(laptop.house.confirm(&hub.name, &told).unwrap(), [Confirmed::Written { to: to() }]);
    assert_eq!((stage(&laptop), hub.texts("bob")), (Stage::Written, vec!["first".to_owned()]));
}

/// Folders that were not there when the bridge started were never watched, and a team that was put in another one's place was only
/// found by looking now and then.
#[test]
fn mail_in_folders_that_come_later_is_collected_by_their_events() {
    let (_laptop, mut hub) = pair();
    let team_folder = hub.folder.path().join("root/teams/demo");
    let aside = hub.folder.path().join("aside");
    fs::rename(&team_folder, &aside).unwrap();
    let (engine, _inputs) = Handle::new();
    let collecting = Collecting::new(hub.house.collector().unwrap(), engine, true);
    let stop = Stop::default();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| collecting.run(&Watcher::default(), &stop, |_| ()));
        // What is written before it has begun to watch is found by its first look.
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        for round in ["one", "two", "three"] {
            fs::create_dir(&team_folder).unwrap();
            fs::copy(aside.join("config.json"), team_folder.join("config.json")).unwrap();
            fs::create_dir(team_folder.join("inboxes")).unwrap();
            let entry = format!(
                r#"[{{"from":"bob","text":"{round}","timestamp":"2027-01-15T08:00:00.000Z","read":false}}]"#
            );
            fs::write(team_folder.join("inboxes/ann.json"), entry).unwrap();
            wait_until("it is collected", || hub.outgoing().iter().any(|letter| words(letter) == round));
            fs::rename(&team_folder, hub.folder.path().join(format!("deleted {round}"))).unwrap();
        }
        let took = start.elapsed();
        stop.stop();
        running.join().unwrap();
        assert!(took < Duration::from_secs(10), "{took:?}: by looking now and then, not by events");
    });
}

/// What `atm` accepts while the bridge starts rings a bell that nobody hears yet, and leaves nothing to collect: it waited for fifteen
/// seconds.
#[test]
fn the_engine_looks_at_the_ledger_when_watching_has_begun() {
    let (_laptop, hub) = pair();
    let mut collector = hub.house.collector().unwrap();
    assert_eq!(collector.collect().unwrap(), 0);
    let (engine, inputs) = Handle::new();
    let collecting = Collecting::new(collector, engine, true);
    let stop = Stop::default();
    std::thread::scope(|scope| {
        scope.spawn(|| collecting.run(&Watcher::default(), &stop, |_| ()));
        let first = inputs.recv_timeout(Duration::from_secs(5));
        stop.stop();
        assert!(matches!(first, Ok(Input::Wake)), "{first:?}");
    });
}
