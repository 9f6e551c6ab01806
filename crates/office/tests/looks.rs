//! Many processes look at once, while a client takes mail and shows it: each occurrence proves one message, in
//! every order of the looks.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use atm_ledger::Stage;
use atm_office::Office;
use atm_office::chores::wake::Ladder;
use atm_office::clock::FixedClock;
use atm_office::mail::hook::{Handover, Moment};
use atm_office::mail::send::{Letter, SendOptions};
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::{MemberName, Stamp};

const SENT: usize = 8;
const SHOWN: usize = 5;

/// An office of its own, as another process would have.
fn office(team: &TestTeam) -> Office {
    Office::new(team.env().store_root(), team.env().store_state())
}

fn show(team: &TestTeam, number: usize, at: Stamp) {
    let path = team.env().root().join("projects/-p/s.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let content = "<teammate-message teammate_id=\"user\">\nthe same words\n</teammate-message>";
    let entry = serde_json::json!({
        "type": "user", "teamName": "demo", "agentName": "bob", "uuid": format!("u{number}"),
        "timestamp": at.to_string(), "message": {"role": "user", "content": content},
    });
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{entry}\n").as_bytes()).unwrap();
}

#[test]
fn each_occurrence_proves_one_message_in_every_order_of_looks() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    let sender = office(&team);
    let user = MemberName::parse("user").unwrap();
    let letter = Letter::new("bob".parse().unwrap(), "the same words");
    let ids: Vec<String> = (0..SENT)
        .map(|_| sender.send(team.name(), &user, &letter, SendOptions::default()).unwrap().id)
        .collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let office = office(&team);
                while !is_over.load(Ordering::Relaxed) {
                    office.look(team.name()).unwrap();
                }
            });
        }
        fs::write(team.inbox("bob"), "[]").unwrap();
        for number in 0..SHOWN {
            show(&team, number, sender.now());
            office(&team).look(team.name()).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    office(&team).look(team.name()).unwrap();
    let stages: Vec<Stage> =
        ids.iter().map(|id| sender.track(Some(team.name()), id).unwrap().stage).collect();
    let expected = [[Stage::Seen; SHOWN].as_slice(), &[Stage::Taken; SENT - SHOWN]].concat();
    assert_eq!(stages, expected);
}

/// A program without locks undid the last message to bob, and nobody has looked since.
fn with_undone_mail() -> TestTeam {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    // Of a member inside another client nobody knows in which order it takes its mail.
    let members =
        serde_json::json!([{"name": "lead"}, {"name": "bob", "tmuxPaneId": "%1", "backendType": "tmux"}]);
    let config = serde_json::json!({"name": "demo", "leadAgentId": "lead@demo", "members": members});
    fs::write(team.config_file(), config.to_string()).unwrap();
    let (office, user) = (office(&team), MemberName::parse("user").unwrap());
    let send = |text: &str| {
        let letter = Letter::new("bob".parse().unwrap(), text);
        office.send(team.name(), &user, &letter, SendOptions::default()).unwrap();
    };
    send("the first");
    let before = fs::read(team.inbox("bob")).unwrap();
    send("the second");
    fs::write(team.inbox("bob"), before).unwrap();
    team
}

/// Hooks and waits list an inbox without a look at the team: what was undone in it is put back for them, too.
#[test]
fn a_hook_presents_mail_that_was_undone() {
    let team = with_undone_mail();
    let (office, bob) = (office(&team), MemberName::parse("bob").unwrap());
    let handle = office.team(team.name()).unwrap();
    let handover = handle.hook(&bob, "session-1", Moment::Works).unwrap().handover.unwrap();
    let texts: Vec<&str> = handover.messages().iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["the first", "the second"]);
    assert_eq!(team.texts("bob"), ["the first", "the second"]);
}

#[test]
fn who_waits_to_wake_an_agent_does_so_for_mail_that_was_undone() {
    let team = with_undone_mail();
    let (office, bob) = (office(&team), MemberName::parse("bob").unwrap());
    let told = office.wait_to_wake(team.name(), &bob, &Ladder::default(), Some(Instant::now()), || true);
    assert!(told.unwrap().is_some_and(|line| line.contains('2')), "of both");
    assert_eq!(team.texts("bob"), ["the first", "the second"]);
}

/// What a hook was given and could not print, since its client had gone, is not before any model: the next hook has it.
#[test]
fn mail_that_a_hook_took_and_did_not_present_comes_at_the_next_moment() {
    let team = with_undone_mail();
    let (office, bob) = (office(&team), MemberName::parse("bob").unwrap());
    let handle = office.team(team.name()).unwrap();
    let hook = || handle.hook(&bob, "session-1", Moment::Works).unwrap().handover;
    let texts = |handover: &Handover| -> Vec<String> {
        handover.messages().iter().map(|message| message.text.clone()).collect()
    };
    let lost = hook().unwrap();
    assert_eq!(texts(&lost), ["the first", "the second"]);
    drop(lost);
    let half = hook().unwrap();
    assert_eq!(texts(&half), ["the first", "the second"], "nothing was presented");
    half.presented(&[true, false]).unwrap();
    let rest = hook().unwrap();
    assert_eq!(texts(&rest), ["the second"]);
    rest.presented(&[true]).unwrap();
    assert!(hook().is_none());
}

#[test]
fn a_team_that_is_deleted_file_by_file_while_somebody_looks_has_not_taken_its_mail() {
    for layout in [Layout::Array, Layout::Log] {
        let team = TestEnv::new().team("demo", layout, &["lead", "bob"]);
        let office = office(&team);
        let user = MemberName::parse("user").unwrap();
        let letter = Letter::new("bob".parse().unwrap(), "hello");
        let sent = office.send(team.name(), &user, &letter, SendOptions::default()).unwrap();
        office.look(team.name()).unwrap();
        fs::remove_file(team.inbox("bob")).unwrap();
        office.look(team.name()).unwrap();
        assert_eq!(office.track(Some(team.name()), &sent.id).unwrap().stage, Stage::Written);
        fs::remove_dir_all(team.folder()).unwrap();
        office.look(team.name()).unwrap();
        let track = office.track(Some(team.name()), &sent.id).unwrap();
        assert_eq!(track.stage, Stage::Failed, "{track:?}");
    }
}

#[test]
fn an_inbox_that_stays_away_was_taken_by_somebody() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    let office = office(&team);
    let letter = Letter::new("bob".parse().unwrap(), "hello");
    let sent = office.send(team.name(), &"user".parse().unwrap(), &letter, SendOptions::default()).unwrap();
    fs::remove_file(team.inbox("bob")).unwrap();
    let later = Stamp::from_millis(office.now().as_millis() + 10_000);
    let later = office.clone().with_clock(FixedClock(later));
    later.look(team.name()).unwrap();
    assert_eq!(office.track(Some(team.name()), &sent.id).unwrap().stage, Stage::Taken);
}
