//! Large inboxes that we wrote ourselves are not checked again; whatever anybody else did to them is.

use std::fs;
use std::time::{Duration, SystemTime};

use atm_support::{TestTeam, draft, drafts, wait_until};

use crate::scene::array_team;

/// A team whose bob has a large inbox that we wrote, old enough for its time to tell of every change.
fn settled() -> TestTeam {
    let team = array_team();
    team.mailbox("bob").append(&drafts(&"x".repeat(1_000), 1_500), false).unwrap();
    team.mailbox("bob").append(&[draft("ours")], false).unwrap();
    assert!(team.inbox_bytes("bob").len() > 1 << 20);
    settle(&team);
    team
}

fn settle(team: &TestTeam) {
    let written = fs::metadata(team.inbox("bob")).unwrap().modified().unwrap();
    wait_until("the file's time can tell", || {
        SystemTime::now().duration_since(written).is_ok_and(|age| age > Duration::from_millis(30))
    });
}

/// The notes of what we know of large inboxes.
fn notes(team: &TestTeam) -> Vec<std::path::PathBuf> {
    let folders = fs::read_dir(team.env().state().join("queue")).unwrap();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    files
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".checked"))
        .collect()
}

#[test]
fn appends_one_after_the_other_are_all_there() {
    let team = settled();
    assert_eq!(notes(&team).len(), 1, "it is noted what was written");
    for n in 0..5 {
        team.mailbox("bob").append(&[draft(&format!("more {n}"))], false).unwrap();
        settle(&team);
    }
    let texts = team.texts("bob");
    assert_eq!(texts.len(), 1_506);
    assert_eq!(texts[1_500..], ["ours", "more 0", "more 1", "more 2", "more 3", "more 4"]);
}

#[test]
fn an_id_that_is_there_already_is_not_written_again() {
    let team = settled();
    let again = draft("once");
    team.mailbox("bob").append(std::slice::from_ref(&again), false).unwrap();
    settle(&team);
    team.mailbox("bob").append(&[again], false).unwrap();
    assert_eq!(team.texts("bob").iter().filter(|text| *text == "once").count(), 1);
}

#[test]
fn what_somebody_broke_in_place_without_changing_its_size_is_noticed() {
    let team = settled();
    let mut bytes = team.inbox_bytes("bob");
    let middle = bytes.len() / 2;
    let brace = middle + bytes[middle..].iter().position(|byte| *byte == b'{').unwrap();
    bytes[brace] = b'!';
    fs::write(team.inbox("bob"), &bytes).unwrap();
    settle(&team);
    let appended = team.mailbox("bob").append(&[draft("after it")], false).unwrap();
    assert_eq!(appended.warnings.len(), 1, "it was set aside");
    assert_eq!(team.env().set_aside().len(), 1);
    assert_eq!(team.texts("bob").last().unwrap(), "after it");
}

#[test]
fn a_note_that_is_wrong_harms_nothing() {
    let team = settled();
    let note = notes(&team).remove(0);
    let wrongs: [fn(&str, u64) -> String; 5] = [
        |_, _| String::new(),
        |_, _| "junk".to_owned(),
        |identity, _| format!("{identity} 7"),
        |identity, end| format!("{identity} {}", end - 40),
        |identity, end| format!("{identity} {}", end + 1),
    ];
    for wrong in wrongs {
        team.mailbox("bob").append(&[draft("makes the note right")], false).unwrap();
        settle(&team);
        let right = fs::read_to_string(&note).unwrap();
        let (identity, end) = right.rsplit_once(' ').unwrap();
        fs::write(&note, wrong(identity, end.parse().unwrap())).unwrap();
        let before = team.texts("bob").len();
        team.mailbox("bob").append(&[draft("one more")], false).unwrap();
        assert_eq!(team.texts("bob").len(), before + 1);
        settle(&team);
    }
}
