//! Each event is told once: by eight runners at once, one after the other, and after its end.

use std::fs;

use atm_store::points;
use serde_json::json;

use super::{heard, kinds, settings};
use crate::scene::World;

const ESCALATE: &str = "[delivery]\nretry_after = [\"0s\"]\nescalate_to = [\"lead\"]\n";

/// Mail that bob's client took twice without a sign of work: it is to be escalated.
fn escalated() -> World {
    let world = World::with_team();
    settings(&world, ESCALATE);
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.sent("bob", "review this; $(touch /tmp/x)");
    world.ok(&["member", "set", "bob", "--active", "true"]);
    fs::write(world.inbox_file("bob"), "[]").unwrap();
    assert_eq!(world.json(&["retry"])[0]["step"], "offer");
    fs::write(world.inbox_file("bob"), "[]").unwrap();
    world
}

fn eight_times(world: &World, args: &[&str]) {
    let runners: Vec<_> = (0..8).map(|_| world.start(args)).collect();
    for runner in runners {
        let answer = runner.finish();
        assert_eq!(answer.code, Some(0), "{answer:?}");
    }
}

#[test]
fn an_escalation_is_told_once_by_eight_runners_and_never_again() {
    let world = escalated();
    settings(&world, &format!("{ESCALATE}[notify]\ncommand = [\"TELL\"]\n"));
    eight_times(&world, &["tend"]);
    eight_times(&world, &["tend"]);
    let all = heard(&world);
    assert_eq!(kinds(&world), ["escalation"], "{all:?}");
    assert_eq!((&all[0]["team"], &all[0]["member"]), (&json!("dev"), &json!("bob")));
    let text = all[0].to_string();
    assert!(!text.contains("review") && !text.contains("touch"), "no message's text: {text}");
}

#[test]
fn in_quiet_hours_nothing_is_told_and_what_is_not_wanted_never() {
    let world = escalated();
    let quiet = "quiet_hours = \"00:00-23:59\"\n";
    settings(&world, &format!("{ESCALATE}[notify]\ncommand = [\"TELL\"]\n{quiet}"));
    // One minute of the day is not quiet.
    world.ok(&["tend"]);
    let told_by_chance = kinds(&world).len();
    assert!(told_by_chance <= 1);
    settings(&world, "[notify]\ncommand = [\"TELL\"]\non = [\"disk\"]\n");
    world.ok(&["tend"]);
    assert_eq!(kinds(&world).len(), told_by_chance);
    settings(&world, "[notify]\ncommand = [\"TELL\"]\n");
    world.ok(&["tend"]);
    assert_eq!(kinds(&world), ["escalation"]);
}

#[test]
fn a_full_disk_is_told_once_until_it_is_not_full_any_more() {
    let world = World::with_team();
    let full = "[notify]\ncommand = [\"TELL\"]\ndisk_below = \"9000000GB\"\n";
    settings(&world, full);
    eight_times(&world, &["tend"]);
    world.ok(&["tend"]);
    assert_eq!(kinds(&world), ["disk"]);
    settings(&world, &full.replace("9000000GB", "1B"));
    world.ok(&["tend"]);
    settings(&world, full);
    let said = world.atm(&["tend", "--dry-run"]);
    assert!(said.stdout.starts_with("due: tell people: The disk of "), "{said:?}");
    assert_eq!(said.stdout.lines().count(), 1, "{said:?}");
    assert_eq!(world.json(&["tend", "--dry-run"])[0]["steps"], json!([]));
    assert_eq!(kinds(&world), ["disk"]);
    eight_times(&world, &["tend"]);
    assert_eq!(kinds(&world), ["disk", "disk"], "the next time is another event");
}

#[test]
fn a_damaged_ledger_is_told_though_no_step_can_be_taken() {
    let world = World::with_team();
    world.ok(&["--as", "alice", "send", "bob", "hello"]);
    settings(&world, "[notify]\ncommand = [\"TELL\"]\n");
    let log = world.state().join("log.db");
    for beside in ["log.db-wal", "log.db-shm"] {
        let _ = fs::remove_file(world.state().join(beside));
    }
    fs::write(&log, "this is no database, and was never one".repeat(200)).unwrap();
    for _ in 0..2 {
        world.atm(&["tend"]);
    }
    assert_eq!(kinds(&world), ["ledger"]);
    let text = heard(&world)[0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("The ledger is damaged: "), "{text}");
}

#[test]
fn a_channel_that_fails_is_reported_and_not_tried_again() {
    let world = escalated();
    settings(
        &world,
        &format!(
            "{ESCALATE}[notify]\ncommand = [\"sh\", \"-c\", \"echo $1 >&2; exit 3\", \"sh\", \"{{text}}\"]\n"
        ),
    );
    let first = world.atm(&["tend"]);
    assert_eq!(first.code, Some(7), "{first:?}");
    assert!(
        first.stdout.contains("nobody could be told: command: sh ended with exit status: 3"),
        "{first:?}"
    );
    let second = world.atm(&["tend"]);
    assert_eq!((second.code, second.stdout.as_str()), (Some(0), "nothing is due\n"), "{second:?}");
}

#[test]
fn what_a_runner_died_over_is_never_told_again() {
    for (point, told) in points::STEP.into_iter().zip([0, 1]) {
        let world = escalated();
        // Escalated first, so that the step to die over is the notification.
        world.ok(&["tend"]);
        settings(&world, "[notify]\ncommand = [\"TELL\"]\n");
        let died = world.command(&["tend"]).env("ATM_TEST_DIE_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "it was killed at {point}");
        assert_eq!(heard(&world).len(), told, "{point}");
        let passes = world.json(&["tend"]);
        assert_eq!(passes[0]["steps"][0]["outcome"], "unknown", "{point}: {passes}");
        assert_eq!(world.json(&["tend"])[0]["steps"], json!([]), "{point}");
        assert_eq!(heard(&world).len(), told, "{point}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_agent_that_waits_for_a_permission_is_told_once_for_each_time() {
    let world = World::with_team();
    settings(&world, "[notify]\ncommand = [\"TELL\"]\n");
    let mut agent = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let process = fs::read_to_string(format!("/proc/{}/stat", agent.id())).unwrap();
    let start = process.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap().to_owned();
    let config = world.root().join("teams/dev/config.json");
    let mut team: serde_json::Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    team["leadSessionId"] = json!("0b7e");
    fs::write(&config, team.to_string()).unwrap();
    let sessions = world.root().join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let waits = |what: &str, ago: u128| {
        let entry = json!({
            "sessionId": "0b7e", "procStart": start, "status": "waiting", "waitingFor": what,
            "statusUpdatedAt": u64::try_from(now - ago).unwrap(),
        });
        fs::write(sessions.join(format!("{}.json", agent.id())), entry.to_string()).unwrap();
        let passes = world.json(&["tend"]);
        (heard(&world).len(), passes)
    };
    let rows = [
        ("approve Bash", 60_000, 1),
        ("approve Bash", 60_000, 1),
        ("dialog open", 50_000, 1),
        ("permission", 40_000, 2),
        ("permission", 0, 2),
    ];
    for (what, ago, expected) in rows {
        let (told, passes) = waits(what, ago);
        assert_eq!(told, expected, "{what} since {ago} ms: {passes}");
    }
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(kinds(&world), ["permission", "permission"]);
    assert_eq!(heard(&world)[0]["text"], "team-lead is waiting for approve Bash.");
}
