//! The archive's parts: closed and packed, read by time, and damaged.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use atm_store::archive::{ALWAYS, View};
use atm_store::{Archive, Warning};
use atm_support::TestTeam;
use atm_wire::{Draft, Stamp};

use crate::archive::{archive, archive_of, archived, whence};
use crate::scene::{array_team, take};

const START: i64 = 1_794_768_140_000;

/// Archives `count` messages, one a second; each has about a kilobyte.
fn fill(team: &TestTeam, from: usize, count: usize) {
    let bob = team.mailbox("bob");
    let drafts: Vec<Draft> = (from..from + count)
        .map(|number| Draft {
            timestamp: Stamp::from_millis(START + i64::try_from(number).unwrap() * 1000),
            summary: Some("x".repeat(1000)),
            ..atm_support::draft(&format!("m{number}"))
        })
        .collect();
    bob.append(&drafts, false).unwrap();
    take(&bob, count);
    assert_eq!(archive(team, 0).len(), count);
}

fn pack(team: &TestTeam) {
    let writer = archive_of(team).writer(whence(team)).unwrap();
    writer.close().unwrap();
    let (mut told, mut of) = (0, 0);
    let packed = writer.pack(&mut |done, total| (told, of) = (done, total)).unwrap();
    assert!(packed.after < packed.before / 2, "{packed:?}");
    assert_eq!((told, of), (packed.before, packed.before));
}

fn files(archive: &Archive) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(archive.file().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn texts(view: &View) -> (Vec<String>, Vec<Warning>) {
    let mut warnings = view.warnings().to_vec();
    let blocks = view.blocks().into_iter();
    let found = blocks.flat_map(|block| view.read(block, &mut warnings)).map(|m| m.message.text).collect();
    (found, warnings)
}

fn second(number: i64) -> i64 {
    START + number * 1000
}

#[test]
fn a_packed_part_holds_the_same_and_takes_the_place_of_the_plain_one() {
    let team = array_team();
    fill(&team, 0, 600);
    fill(&team, 600, 10);
    let before = archived(&team);
    pack(&team);
    assert_eq!(
        files(&archive_of(&team)),
        [
            "bob.20261115-184220-000-20261115-185229-000.jsonl.zst",
            "bob.20261115-184220-000-20261115-185229-000.jsonl.zst.idx"
        ]
    );
    assert_eq!(archived(&team), before);
    fill(&team, 610, 2);
    pack(&team);
    assert_eq!(archived(&team).len(), 612);
    assert_eq!(archived(&team)[611], "m611");
}

#[test]
fn parts_of_the_same_times_do_not_take_each_others_place() {
    let team = array_team();
    let bob = team.mailbox("bob");
    for text in ["one", "two", "three"] {
        let draft = Draft { timestamp: Stamp::from_millis(START), ..atm_support::draft(text) };
        bob.append(&[Draft { summary: Some("x".repeat(2000)), ..draft }], false).unwrap();
        take(&bob, 1);
        archive(&team, 0);
        pack(&team);
    }
    let all = archived(&team);
    assert_eq!(all.len(), 3, "{:?}", files(&archive_of(&team)));
}

#[test]
fn only_the_blocks_of_the_wanted_times_are_read() {
    let team = array_team();
    fill(&team, 0, 1500);
    for _ in 0..2 {
        let whole = archive_of(&team).view(ALWAYS).unwrap();
        assert!(whole.blocks().len() >= 5, "{}", whole.blocks().len());
        let part = archive_of(&team).view(second(700)..=second(702)).unwrap();
        // What is behind the last whole block of a part that grows is always looked at.
        assert!(part.blocks().len() <= 3, "{}", part.blocks().len());
        let (found, warnings) = texts(&part);
        assert!(warnings.is_empty(), "{warnings:?}");
        for number in 700..=702 {
            assert!(found.contains(&format!("m{number}")));
        }
        pack(&team_once(&team));
    }
    let none = archive_of(&team).view(second(9000)..=second(9001)).unwrap();
    assert!(none.blocks().is_empty());
}

/// Something to pack, so that it can be done again.
fn team_once(team: &TestTeam) -> TestTeam {
    if !archive_of(team).file().exists() {
        fill(team, 5000, 3);
    }
    team.clone()
}

#[test]
fn an_index_that_is_missing_is_made_and_one_that_does_not_fit_is_reported_and_made_anew() {
    let team = array_team();
    fill(&team, 0, 700);
    for _ in 0..2 {
        let archive = archive_of(&team);
        let index = index_of(&archive);
        let good = fs::read_to_string(&index).unwrap();
        fs::remove_file(&index).unwrap();
        let (found, warnings) = texts(&archive.view(ALWAYS).unwrap());
        assert_eq!((found.len(), warnings), (700, vec![]));
        assert_eq!(fs::read_to_string(&index).unwrap(), good);
        let short = good.lines().take(2).collect::<Vec<_>>().join("\n");
        let bad = [
            good.replacen("index 1", "index 7", 1),
            good.replacen(" 1794", " x794", 1),
            good.lines().rev().collect::<Vec<_>>().join("\n"),
            format!("{short}\n0 9 0 0\n"),
            good.clone() + "99999999 999999999 0 0\n",
        ];
        for text in bad {
            fs::write(&index, &text).unwrap();
            let (found, warnings) = texts(&archive.view(ALWAYS).unwrap());
            assert_eq!(found.len(), 700, "{text}");
            let [Warning::Damaged { path, place, .. }] = &warnings[..] else {
                panic!("{warnings:?} for {text}")
            };
            assert!(*path == index && place.starts_with("line "), "{place}");
            assert_eq!(fs::read_to_string(&index).unwrap(), good);
        }
        if archive.file().exists() {
            pack(&team);
        }
    }
}

fn index_of(archive: &Archive) -> PathBuf {
    let folder = archive.file().parent().unwrap().to_owned();
    let is_index = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "idx");
    files(archive).into_iter().map(|name| folder.join(name)).find(is_index).expect("an index")
}

#[test]
fn damage_is_reported_with_its_place_and_the_rest_is_read() {
    let team = array_team();
    fill(&team, 0, 700);
    let archive = archive_of(&team);
    let mut bytes = fs::read(archive.file()).unwrap();
    let at = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(9).unwrap().0 + 1;
    bytes[at] = b'#';
    fs::write(archive.file(), &bytes).unwrap();
    let (found, warnings) = texts(&archive.view(ALWAYS).unwrap());
    assert_eq!(found.len(), 699);
    let [Warning::Damaged { path, place, .. }] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!((path, place.as_str()), (&archive.file(), format!("line at byte {at}").as_str()));

    pack(&team);
    let part = archive.file().with_file_name(&files(&archive)[0]);
    let mut bytes = fs::read(&part).unwrap();
    for place in [0, bytes.len() / 2] {
        let was = bytes[place + 9];
        bytes[place + 9] ^= 0xff;
        fs::write(&part, &bytes).unwrap();
        // With its index, and without.
        for _ in 0..2 {
            let (found, warnings) = texts(&archive.view(ALWAYS).unwrap());
            assert!((200..690).contains(&found.len()), "{}", found.len());
            let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
            assert!(told.iter().any(|told| told.contains("block at byte")), "{told:?}");
            assert!(told.iter().all(|told| told.contains(part.to_str().unwrap())), "{told:?}");
            let _ = fs::remove_file(index_of(&archive));
        }
        bytes[place + 9] = was;
        fs::write(&part, &bytes).unwrap();
        let _ = fs::remove_file(archive.file().with_file_name(format!("{}.idx", files(&archive)[0])));
        assert_eq!(texts(&archive.view(ALWAYS).unwrap()).0.len(), 699);
    }
}

#[test]
fn the_growing_part_is_due_by_size_or_by_age() {
    let team = array_team();
    let day = Duration::from_secs(86_400);
    let later = |days: u32| whence(&team).at.saturating_add(day * days);
    let archive = archive_of(&team);
    assert!(!archive.is_due(later(99), 0, day).unwrap(), "there is none");
    fill(&team, 0, 2);
    assert!(!archive.is_due(later(1), 1 << 20, day).unwrap());
    assert!(archive.is_due(later(2), 1 << 20, day).unwrap());
    assert!(archive.is_due(later(0), 100, day).unwrap());
}

#[test]
fn an_archive_is_packed_when_that_is_due_whatever_became_of_its_inbox() {
    let team = array_team();
    let day = Duration::from_secs(86_400);
    let later = |days: u32| whence(&team).at.saturating_add(day * days);
    let archive = archive_of(&team);
    fill(&team, 0, 2);
    fs::remove_dir_all(team.folder()).unwrap();
    let before = files(&archive);
    assert_eq!(archive.pack_if_due(later(1), 1 << 20, day).unwrap().parts, 0);
    assert_eq!(files(&archive), before);
    assert_eq!(archive.pack_if_due(later(2), 1 << 20, day).unwrap().parts, 1);
    assert!(files(&archive).iter().any(|file| file.contains(".zst")), "{:?}", files(&archive));
    assert_eq!(texts(&archive.view(ALWAYS).unwrap()).0.len(), 2);
    assert_eq!(archive.pack_if_due(later(9), 1 << 20, day).unwrap().parts, 0, "once");
}

#[test]
fn a_block_that_is_far_too_large_when_it_is_unpacked_is_left_out() {
    let team = array_team();
    fill(&team, 0, 3);
    let archive = archive_of(&team);
    // Some kilobytes, and more than the memory of a small machine.
    let bomb = zstd::stream::encode_all(std::io::repeat(b' ').take(300 << 20), 1).unwrap();
    assert!(bomb.len() < 100 << 10);
    let path = archive.file().with_file_name("bob.bomb.jsonl.zst");
    fs::write(&path, bomb).unwrap();
    let (found, warnings) = texts(&archive.view(ALWAYS).unwrap());
    assert_eq!(found, ["m0", "m1", "m2"]);
    assert!(warnings[0].to_string().contains("too large when it is unpacked"), "{warnings:?}");
}
