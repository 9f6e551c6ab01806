//! A team that is deleted and made again under the same name is another team: its mail, history and proofs are its own.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::thread;
use std::time::Instant;

use atm_ledger::Stage;
use atm_office::Office;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::trail::history::Trace;
use atm_office::watch::{Happening, Since};
use atm_store::Layout;
use atm_store::watch::Stop;
use atm_support::{TestEnv, TestTeam};
use atm_wire::MemberName;

fn office(team: &TestTeam) -> Office {
    Office::new(team.env().store_root(), team.env().store_state())
}

fn send(team: &TestTeam, text: &str) -> String {
    let letter = Letter::new("bob".parse().unwrap(), text);
    let user = MemberName::parse("user").unwrap();
    office(team).send(team.name(), &user, &letter, SendOptions::default()).unwrap().id
}

fn stage(team: &TestTeam, id: &str) -> Stage {
    office(team).track(None, id).unwrap().stage
}

fn log(team: &TestTeam) -> Vec<String> {
    let trace = Trace { teams: vec![team.name().clone()], limit: 99, ..Trace::default() };
    let log = office(team).trace(&trace).unwrap();
    log.into_iter().map(|message| message.id).collect()
}

/// Deletes the team, and makes it again at another time, or at the same.
fn make_again(team: &TestTeam, created: i64) {
    let config = fs::read_to_string(team.config_file()).unwrap();
    fs::remove_dir_all(team.folder()).unwrap();
    fs::create_dir_all(team.folder().join("inboxes")).unwrap();
    let old = config.lines().find(|line| line.contains("createdAt")).unwrap();
    let new = format!("  \"createdAt\": {created},");
    fs::write(team.config_file(), config.replace(old, &new)).unwrap();
}

const LATER: i64 = 1_794_768_999_000;
const SAME: i64 = 1_794_768_087_987;

#[test]
fn another_team_of_that_name_has_mail_and_history_of_its_own() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    let first = send(&team, "for the first team");
    // No command runs between the deletion and the new team.
    make_again(&team, LATER);
    let second = send(&team, "for the second team");
    assert_eq!(stage(&team, &first), Stage::Failed, "it died with its team");
    assert_eq!(stage(&team, &second), Stage::Written);
    assert_eq!(log(&team), std::slice::from_ref(&second));
    let pending = office(&team).pending(team.name()).unwrap();
    assert!(pending.iter().all(|waiting| waiting.message.id != first), "{pending:?}");
    // And a third, of which the second is the former.
    make_again(&team, LATER + 1);
    office(&team).look(team.name()).unwrap();
    assert_eq!((stage(&team, &second), log(&team)), (Stage::Failed, Vec::new()));
    let mut feed = office(&team)
        .follow(std::slice::from_ref(team.name()), &[], &Since::Start, &Stop::default())
        .unwrap();
    let mut made = 0;
    while let Some(events) = feed.next(Some(Instant::now())).unwrap() {
        made += events.iter().filter(|event| matches!(event.what, Happening::Team { .. })).count();
    }
    assert_eq!(made, 2);
}

#[test]
fn the_conversation_of_a_former_team_proves_what_was_in_it_and_nothing_of_the_next() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    let first = send(&team, "the same words");
    let path = team.env().root().join("projects/-p/s.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let content = "<teammate-message teammate_id=\"user\">\nthe same words\n</teammate-message>";
    let entry = serde_json::json!({
        "type": "user", "teamName": "demo", "agentName": "bob", "uuid": "u", "message": {"content": content},
        "timestamp": office(&team).now().to_string(),
    });
    fs::write(path, format!("{entry}\n")).unwrap();
    make_again(&team, LATER);
    let second = send(&team, "the same words");
    office(&team).look(team.name()).unwrap();
    assert_eq!((stage(&team, &first), stage(&team, &second)), (Stage::Seen, Stage::Written));
}

#[test]
fn a_team_that_came_back_is_the_same_and_many_who_see_it_at_once_agree() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    let first = send(&team, "hello");
    office(&team).look(team.name()).unwrap();
    make_again(&team, SAME);
    let second = send(&team, "hello again");
    assert_eq!(log(&team), [first, second]);
    make_again(&team, LATER);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| office(&team).look(team.name()).unwrap());
        }
    });
    let third = send(&team, "to the other");
    assert_eq!(log(&team), [third]);
}

#[test]
fn a_team_that_is_gone_keeps_its_history_until_another_has_its_name() {
    let team = TestEnv::new().team("demo", Layout::Array, &["lead", "bob"]);
    let first = send(&team, "hello");
    fs::remove_dir_all(team.folder()).unwrap();
    office(&team).look(team.name()).unwrap();
    assert_eq!((stage(&team, &first), log(&team)), (Stage::Failed, vec![first]));
}
