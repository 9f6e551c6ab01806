use super::moving::left_since;
use super::*;
use crate::envelope::{SharedMember, SharedTeam};
use crate::house::Neighbour;

fn machine(name: &str) -> Machine {
    name.parse().unwrap()
}

fn bob() -> MemberKey {
    MemberKey { team: "alpha".into(), name: "bob".into() }
}

fn joined(at: i64) -> Resident {
    Resident::Joined(at)
}

/// Former homes are `NAME`, whose entry joined at 1, or `NAME!`, which had given it up.
fn former(name: &str) -> Former {
    let resident = if name.ends_with('!') { Resident::Nobody } else { joined(1) };
    Former { machine: machine(name.trim_end_matches('!')), resident }
}

fn residence(machine_name: &str, epoch: u64, before: &[&str]) -> Residence {
    let former = before.iter().map(|name| former(name)).collect();
    let at = Stamp::from_millis(1_000);
    Residence { machine: machine(machine_name), epoch, at, resident: joined(1), former }
}

/// The same, said later, by a home that has this entry.
fn renewed(before: Residence, resident: Resident) -> Residence {
    Residence { at: before.at.saturating_add(std::time::Duration::from_secs(1)), resident, ..before }
}

fn vacant(machine_name: &str, epoch: u64, before: &[&str]) -> Residence {
    renewed(residence(machine_name, epoch, before), Resident::Nobody)
}

fn found(homes: &mut Homes, residence: &Residence, revision: u64) -> bool {
    let signed = format!("{} {}", residence.machine, residence.epoch);
    homes.find(bob(), Slot::Residence(residence.clone(), signed), revision)
}

/// Bob on the list, with this entry.
fn here(at: i64) -> Entries {
    Entries::from([(bob(), joined(at))])
}

/// A machine that announces bob under an epoch.
fn says(epoch: Option<u64>) -> Neighbour {
    let member = SharedMember { name: "bob".into(), lead: false, state: "idle".into(), epoch };
    let teams = vec![SharedTeam { name: "alpha".into(), members: vec![member] }];
    let at = Stamp::from_millis(2_000);
    Neighbour { teams, is_present: true, seen_at: at, said_at: Some(at), beat_at: None }
}

/// What laptop puts for bob, if the bucket has `in_bucket` and laptop remembers `known`, and has these on its list.
fn put(known: Option<Residence>, in_bucket: Option<Residence>, local: &Entries) -> Option<Put> {
    let mut homes = Homes::default();
    if let Some(known) = known {
        found(&mut homes, &known, 1);
        homes.begin(|_, _| true);
    }
    if let Some(residence) = in_bucket {
        found(&mut homes, &residence, 7);
    }
    homes.complete();
    let mut puts = homes.puts(&machine("laptop"), local);
    assert!(puts.len() <= 1, "{puts:?}");
    puts.pop()
}

type Row = (&'static str, Option<Residence>, Option<Residence>, Entries, Option<Put>);

#[test]
fn what_is_put_into_the_bucket() {
    let new = |epoch, before: &[&str], revision, resident, after: Option<i64>| {
        let former = before.iter().map(|name| former(name)).collect();
        let after = after.map(Stamp::from_millis);
        Some(Put { key: bob(), what: Content::New { epoch, resident, former, after }, revision })
    };
    let again =
        |signed: &str, revision| Some(Put { key: bob(), what: Content::Again(signed.to_owned()), revision });
    let rows: Vec<Row> = vec![
        ("nobody has it", None, None, here(3), new(1, &[], 0, joined(3), None)),
        ("it is ours", None, Some(residence("laptop", 1, &[])), here(1), None),
        (
            "ours was removed",
            None,
            Some(residence("laptop", 2, &["desk"])),
            Entries::new(),
            new(2, &["desk"], 7, Resident::Nobody, Some(1_000)),
        ),
        ("ours was removed, and that is said", None, Some(vacant("laptop", 2, &[])), Entries::new(), None),
        (
            "ours was removed and added again, seen or not",
            None,
            Some(residence("laptop", 2, &[])),
            here(9),
            new(2, &[], 7, joined(9), Some(1_000)),
        ),
        (
            "ours is added again",
            None,
            Some(vacant("laptop", 2, &[])),
            here(9),
            new(2, &[], 7, joined(9), Some(2_000)),
        ),
        ("another has it", None, Some(residence("desk", 1, &[])), here(1), None),
        ("another was the last to have it", None, Some(vacant("desk", 3, &[])), Entries::new(), None),
        (
            "given up",
            None,
            Some(vacant("desk", 3, &["hub", "laptop"])),
            here(5),
            new(4, &["hub", "desk!"], 7, joined(5), None),
        ),
        ("the bucket is lost", Some(residence("laptop", 5, &[])), None, here(1), again("laptop 5", 0)),
        ("another's residence is lost", Some(vacant("desk", 5, &[])), None, here(1), again("desk 5", 0)),
        (
            "a former home was faster",
            Some(residence("desk", 5, &[])),
            Some(residence("laptop", 1, &[])),
            here(1),
            again("desk 5", 7),
        ),
        (
            "a bucket that was lost is told an older word of the same stay",
            Some(vacant("desk", 5, &[])),
            Some(residence("desk", 5, &[])),
            here(1),
            again("desk 5", 7),
        ),
        ("a tie, lost", Some(residence("desk", 1, &[])), Some(residence("laptop", 1, &[])), here(1), None),
        (
            "a tie, won",
            Some(residence("laptop", 1, &[])),
            Some(residence("desk", 1, &[])),
            here(1),
            again("laptop 1", 7),
        ),
    ];
    for (case, known, in_bucket, local, expected) in rows {
        assert_eq!(put(known, in_bucket, &local), expected, "{case}");
    }
}

#[test]
fn nothing_is_put_before_all_of_the_bucket_was_seen_nor_over_what_cannot_be_read() {
    let mut homes = Homes::default();
    assert!(homes.puts(&machine("laptop"), &here(1)).is_empty());
    homes.find(bob(), Slot::Foreign, 4);
    homes.complete();
    assert!(homes.puts(&machine("laptop"), &here(1)).is_empty());
}

#[test]
fn the_highest_epoch_counts_whenever_it_is_heard() {
    let mut homes = Homes::default();
    assert!(found(&mut homes, &residence("desk", 2, &["hub"]), 5));
    assert!(!found(&mut homes, &residence("hub", 1, &[]), 6));
    assert_eq!(homes.home_of(&bob()).unwrap().machine, machine("desk"));
    assert!(!found(&mut homes, &residence("laptop", 9, &[]), 4), "an older revision is no news");
    let mut homes = Homes::remembering(homes.to_remember());
    assert_eq!(homes.home_of(&bob()), Some(&residence("desk", 2, &["hub"])));
    assert!(found(&mut homes, &residence("hub", 3, &["desk"]), 1));
}

#[test]
fn a_move_is_done_once_for_each_epoch_and_a_first_home_moves_nobody() {
    let mut homes = Homes::default();
    found(&mut homes, &residence("desk", 1, &[]), 1);
    let moves = |homes: &Homes| homes.moves(&machine("laptop"), &Entries::new(), &BTreeMap::new());
    assert!(moves(&homes).is_empty() && homes.is_settled(&bob()));
    found(&mut homes, &residence("hub", 2, &["desk"]), 2);
    assert_eq!((moves(&homes).len(), homes.is_settled(&bob())), (1, false));
    homes.settle(&bob(), 2);
    let mut homes = Homes::remembering(homes.to_remember());
    assert!(moves(&homes).is_empty());
    found(&mut homes, &residence("desk", 3, &["hub"]), 3);
    let back = Moved {
        key: bob(),
        residence: residence("desk", 3, &["hub"]),
        former: vec![machine("hub")],
        leaves: None,
    };
    assert_eq!(moves(&homes), [back]);
    // Two first residences, in two buckets.
    let mut homes = Homes::default();
    found(&mut homes, &residence("desk", 1, &[]), 1);
    found(&mut homes, &residence("hub", 1, &[]), 2);
    assert_eq!(moves(&homes).len(), 1);
}

#[test]
fn a_member_leaves_when_its_new_home_has_it() {
    let me = machine("laptop");
    let mut homes = Homes::default();
    found(&mut homes, &residence("desk", 2, &["laptop"]), 1);
    let moves = |local: &Entries, desk: Option<Neighbour>| {
        let neighbours = desk.into_iter().map(|desk| (machine("desk"), desk)).collect();
        homes.moves(&me, local, &neighbours).into_iter().map(|moved| moved.leaves).collect::<Vec<_>>()
    };
    assert_eq!(moves(&here(1), Some(says(Some(2)))), [Some(joined(1))]);
    assert_eq!(moves(&here(1), None), []);
    assert_eq!(moves(&here(1), Some(says(Some(1)))), [], "it said so before it had it");
    assert_eq!(moves(&here(1), Some(says(None))), [], "it said so of another member");
    assert_eq!(moves(&Entries::new(), None), [None], "there is nobody who could leave");
    assert_eq!(moves(&here(2), None), [None], "another member of the name stays, and mail is sent on");
    let unknown = Entries::from([(bob(), Resident::Unknown)]);
    assert_eq!(moves(&unknown, Some(says(Some(2)))), [Some(Resident::Unknown)]);
}

#[test]
fn who_had_given_a_member_up_before_it_moved_keeps_the_next_of_its_name() {
    let mut homes = Homes::default();
    found(&mut homes, &residence("desk", 3, &["laptop!"]), 1);
    let moves =
        homes.moves(&machine("laptop"), &here(1), &BTreeMap::from([(machine("desk"), says(Some(3)))]));
    assert_eq!(moves.into_iter().map(|moved| moved.leaves).collect::<Vec<_>>(), [None]);
    assert_eq!(homes.refused(&machine("laptop"), &here(1)).len(), 1);
}

/// Files and entries of a bucket from before former homes said which entry has left.
#[test]
fn a_residence_of_an_earlier_version_is_read() {
    let text = r#"{"machine":"desk","epoch":2,"at":"2026-01-01T00:00:00.000Z","former":["laptop"]}"#;
    let old: Residence = serde_json::from_str(text).unwrap();
    assert_eq!(old.resident, Resident::Unknown);
    assert!(old.has_left(&machine("laptop"), joined(7)));
    let new = residence("desk", 2, &["laptop", "hub!"]);
    let again: Residence = serde_json::from_str(&serde_json::to_string(&new).unwrap()).unwrap();
    assert_eq!(again, new);
}

#[test]
fn letters_of_an_earlier_stay_do_not_come_in() {
    let me = machine("laptop");
    let mut homes = Homes::default();
    let admits = |homes: &Homes| [None, Some(2), Some(3)].map(|epoch| homes.admits(&bob(), &me, epoch));
    assert_eq!(admits(&homes), [true, false, false], "no residence is known");
    found(&mut homes, &residence("laptop", 1, &[]), 1);
    assert_eq!((admits(&homes), homes.address(&bob(), &me)), ([true, false, false], None));
    found(&mut homes, &residence("desk", 2, &["laptop"]), 2);
    assert_eq!(admits(&homes), [true, false, false], "another member of the name");
    found(&mut homes, &residence("laptop", 3, &["desk"]), 3);
    assert_eq!((admits(&homes), homes.address(&bob(), &me)), ([false, false, true], Some(3)));
    found(&mut homes, &vacant("laptop", 3, &["desk"]), 4);
    assert_eq!(admits(&homes), [false; 3], "it was removed here");
}

#[test]
fn who_was_announced_before_a_move_is_where_it_moved() {
    let mut homes = Homes::default();
    found(&mut homes, &residence("desk", 2, &["hub"]), 1);
    let place = |announcer: &str, epoch| homes.place(&bob(), &machine(announcer), epoch);
    assert_eq!(place("hub", Some(1)), Place::Moved(machine("desk")));
    assert_eq!(place("hub", None), Place::There, "another member of the name");
    assert_eq!(place("desk", Some(2)), Place::There);
    assert_eq!(place("hub", Some(3)), Place::There, "this machine has not heard of its residence yet");
}

#[test]
fn taking_over_goes_up_by_one_and_ours_is_ours() {
    let mut homes = Homes::default();
    let me = machine("laptop");
    let content = |epoch, former| Content::New { epoch, resident: joined(3), former, after: None };
    assert_eq!(homes.take(&me, &bob(), joined(3)).unwrap().what, content(1, vec![]));
    found(&mut homes, &residence("desk", 4, &["laptop", "hub"]), 9);
    let put = homes.take(&me, &bob(), joined(3)).unwrap();
    assert_eq!((put.what, put.revision), (content(5, vec![former("hub"), former("desk")]), 9));
    let refused = |homes: &Homes| homes.refused(&me, &here(3)).len();
    assert_eq!(refused(&homes), 1);
    assert!(found(&mut homes, &vacant("desk", 4, &["laptop", "hub"]), 10), "that it is free is news");
    assert_eq!(refused(&homes), 0);
    found(&mut homes, &residence("laptop", 5, &["hub", "desk"]), 11);
    assert_eq!(homes.take(&me, &bob(), joined(3)), None);
    homes.find(bob(), Slot::Foreign, 12);
    assert_eq!(
        homes.take(&me, &bob(), joined(3)).unwrap().revision,
        12,
        "somebody may have it who is not trusted"
    );
    found(&mut homes, &residence("laptop", 5, &["hub", "desk"]), 13);
    assert_eq!(refused(&homes), 0);
}

/// A machine that lost its disk has another key, and one that was found to be bad is trusted no more.
#[test]
fn who_is_not_trusted_any_more_holds_nobody() {
    let me = machine("laptop");
    let mut homes = Homes::default();
    found(&mut homes, &residence("desk", 4, &["hub"]), 9);
    homes.settle(&bob(), 4);
    homes.begin(|_, signed| signed != "desk 4");
    homes.find(bob(), Slot::Foreign, 9);
    homes.complete();
    assert_eq!((homes.home_of(&bob()), homes.is_settled(&bob())), (None, true));
    assert!(homes.refused(&me, &here(1)).is_empty());
    let put = homes.puts(&me, &here(1)).pop().unwrap();
    let over = Content::New {
        epoch: 5,
        resident: joined(1),
        former: vec![former("hub"), former("desk")],
        after: None,
    };
    assert_eq!((&put.what, put.revision), (&over, 9));
    assert_eq!(homes.take(&me, &bob(), joined(1)).unwrap().what, over);
    assert!(homes.puts(&me, &Entries::new()).is_empty(), "it is not given back to a new bucket");
    // It may begin anew, and its mail is sent under the epoch that it has now.
    let mut homes = Homes::remembering(homes.to_remember());
    assert!(found(&mut homes, &residence("desk", 1, &[]), 10));
    assert_eq!(homes.moves(&me, &Entries::new(), &BTreeMap::new()).len(), 1);
    homes.settle(&bob(), 1);
    homes.begin(|_, _| true);
    assert_eq!(homes.home_of(&bob()), Some(&residence("desk", 1, &[])));
}

#[test]
fn a_place_that_was_emptied_or_has_our_own_former_key_is_filled_over_its_revision() {
    let me = machine("laptop");
    for slot in [Slot::Deleted, Slot::FormerKey] {
        let mut homes = Homes::default();
        homes.find(bob(), slot.clone(), 7);
        homes.complete();
        let put = homes.puts(&me, &here(1)).pop().unwrap();
        assert_eq!((put.what, put.revision), (first(joined(1)), 7));
        let mut homes = Homes::default();
        found(&mut homes, &residence("desk", 3, &[]), 5);
        homes.find(bob(), slot, 7);
        homes.complete();
        let put = homes.puts(&me, &here(1)).pop().unwrap();
        assert_eq!((put.what, put.revision), (Content::Again("desk 3".into()), 7));
        assert_eq!(homes.take(&me, &bob(), joined(1)).unwrap().revision, 7);
    }
}

/// Its signer could name all machines, and have the mail of others of the name sent on to itself.
#[test]
fn former_homes_are_those_that_were_seen_here() {
    let mut homes = Homes::default();
    found(&mut homes, &residence("hub", 1, &[]), 1);
    found(&mut homes, &residence("desk", 2, &["hub"]), 2);
    let homes_before = homes.to_remember();
    let mut homes = Homes::remembering(homes_before);
    found(&mut homes, &residence("eve", 3, &["cloud", "hub", "tower", "desk"]), 3);
    let moved = homes.moves(&machine("laptop"), &Entries::new(), &BTreeMap::new()).pop().unwrap();
    // The order is its word, too: a home that it moves away from the end is looked after when letters for it are listed.
    assert_eq!(moved.former, [machine("desk")]);
    let was_at = |name: &str| homes.was_at(&bob(), &machine(name));
    assert_eq!(["hub", "desk", "cloud", "tower"].map(was_at), [true, true, false, false]);
}

#[test]
fn homes_are_bounded() {
    let mut homes = Homes::default();
    for number in 0..MOST + 10 {
        let key = MemberKey { team: "alpha".into(), name: format!("m-{number}") };
        homes.find(key, Slot::Foreign, 1);
    }
    assert_eq!(homes.bucket.len(), MOST);
}

/// What took it over had an epoch that no machine reads, was put again at each look, and was answered as done.
#[test]
fn nobody_takes_over_from_the_last_stay_there_can_be_until_its_machine_is_trusted_no_more() {
    let me = machine("laptop");
    for (epoch, is_last) in [(HIGHEST_EPOCH - 1, false), (HIGHEST_EPOCH, true)] {
        let mut homes = Homes::default();
        found(&mut homes, &residence("desk", epoch, &[]), 1);
        let kept = homes.kept_for_ever_by(&bob()).is_some();
        let taken = homes.take(&me, &bob(), joined(3)).is_none();
        found(&mut homes, &vacant("desk", epoch, &[]), 2);
        homes.complete();
        let left = homes.puts(&me, &here(3)).is_empty();
        assert_eq!([kept, taken, left], [is_last; 3], "epoch {epoch}");
        homes.begin(|_, _| false);
        homes.find(bob(), Slot::Foreign, 3);
        homes.complete();
        let again = if is_last { 1 } else { epoch + 1 };
        for put in [homes.puts(&me, &here(3)).pop(), homes.take(&me, &bob(), joined(3))] {
            let put = put.unwrap();
            assert!(matches!(put.what, Content::New { epoch, .. } if epoch == again), "{put:?}");
            assert_eq!(put.revision, 3);
        }
    }
}

#[test]
fn only_homes_that_were_left_since_the_last_move_here_are_sent_on_from() {
    let former = ["hub", "desk", "cloud"]
        .map(|name| Former { machine: name.parse().unwrap(), resident: Resident::Unknown });
    let left = |epoch, settled| left_since(&former, epoch, settled).to_vec();
    assert_eq!(left(4, 3), former[2..], "the one it comes from");
    assert_eq!(left(4, 2), former[1..], "a move was missed");
    assert_eq!(left(4, 0), former, "nothing is remembered");
    assert_eq!(left(9, 1), former, "it was on few machines often");
}
