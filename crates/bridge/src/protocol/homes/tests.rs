use super::*;
use crate::envelope::{SharedMember, SharedTeam};

fn machine(name: &str) -> Machine {
    name.parse().unwrap()
}

fn bob() -> MemberKey {
    MemberKey { team: "alpha".into(), name: "bob".into() }
}

fn residence(machine_name: &str, epoch: u64, former: &[&str]) -> Residence {
    let former = former.iter().map(|name| machine(name)).collect();
    Residence { machine: machine(machine_name), epoch, at: Stamp::from_millis(1_000), former }
}

fn found(homes: &mut Homes, residence: &Residence, revision: u64) -> bool {
    homes.find(
        bob(),
        Some((residence.clone(), format!("{} {}", residence.machine, residence.epoch))),
        revision,
    )
}

fn says(members: &[&str], said_at: i64) -> Neighbour {
    let member = |name: &&str| SharedMember {
        name: (*name).to_owned(),
        lead: false,
        state: "idle".into(),
        epoch: Some(1),
    };
    let teams = vec![SharedTeam { name: "alpha".into(), members: members.iter().map(member).collect() }];
    let at = Stamp::from_millis(said_at);
    Neighbour { teams, is_present: true, seen_at: at, said_at: Some(at), beat_at: None }
}

/// What laptop puts for its member bob, if the bucket has `in_bucket` and laptop remembers `known`, and desk says this.
fn put(known: Option<Residence>, in_bucket: Option<Residence>, desk: Option<Neighbour>) -> Option<Put> {
    let mut homes = Homes::default();
    if let Some(known) = known {
        found(&mut homes, &known, 1);
        homes.begin();
    }
    if let Some(residence) = in_bucket {
        found(&mut homes, &residence, 7);
    }
    homes.complete();
    let neighbours = desk.into_iter().map(|desk| (machine("desk"), desk)).collect();
    let mut puts = homes.puts(&machine("laptop"), &BTreeSet::from([bob()]), &neighbours);
    assert!(puts.len() <= 1, "{puts:?}");
    puts.pop()
}

type Row = (&'static str, Option<Residence>, Option<Residence>, Option<Neighbour>, Option<Put>);

#[test]
fn what_is_put_into_the_bucket() {
    let new = |epoch, former: &[&str], revision| {
        let former = former.iter().map(|name| machine(name)).collect();
        Some(Put { key: bob(), what: Content::New { epoch, former }, revision })
    };
    let again =
        |signed: &str, revision| Some(Put { key: bob(), what: Content::Again(signed.to_owned()), revision });
    let rows: Vec<Row> = vec![
        ("nobody has it", None, None, None, new(1, &[], 0)),
        ("it is ours", None, Some(residence("laptop", 1, &[])), None, None),
        ("another has it", None, Some(residence("desk", 1, &[])), Some(says(&["bob"], 2_000)), None),
        ("another has it, and was never heard", None, Some(residence("desk", 1, &[])), None, None),
        ("it has not said so since", None, Some(residence("desk", 1, &[])), Some(says(&[], 900)), None),
        (
            "given up",
            None,
            Some(residence("desk", 3, &["hub"])),
            Some(says(&["eve"], 2_000)),
            new(4, &["hub", "desk"], 7),
        ),
        ("the bucket is lost", Some(residence("laptop", 5, &[])), None, None, again("laptop 5", 0)),
        (
            "another's residence is lost",
            Some(residence("desk", 5, &[])),
            None,
            Some(says(&[], 2_000)),
            again("desk 5", 0),
        ),
        (
            "a former home was faster",
            Some(residence("desk", 5, &[])),
            Some(residence("laptop", 1, &[])),
            None,
            again("desk 5", 7),
        ),
        (
            "a tie, lost",
            Some(residence("desk", 1, &[])),
            Some(residence("laptop", 1, &[])),
            Some(says(&["bob"], 2_000)),
            None,
        ),
        (
            "a tie, won",
            Some(residence("laptop", 1, &[])),
            Some(residence("desk", 1, &[])),
            None,
            again("laptop 1", 7),
        ),
    ];
    for (case, known, in_bucket, desk, expected) in rows {
        assert_eq!(put(known, in_bucket, desk), expected, "{case}");
    }
}

#[test]
fn nothing_is_put_before_all_of_the_bucket_was_seen_nor_over_what_cannot_be_read() {
    let mut homes = Homes::default();
    let local = BTreeSet::from([bob()]);
    assert!(homes.puts(&machine("laptop"), &local, &BTreeMap::new()).is_empty());
    homes.find(bob(), None, 4);
    homes.complete();
    assert!(homes.puts(&machine("laptop"), &local, &BTreeMap::new()).is_empty());
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
    let moves = |homes: &Homes| homes.moves(&machine("laptop"), &BTreeSet::new(), &BTreeMap::new());
    assert!(moves(&homes).is_empty() && homes.is_settled(&bob()));
    found(&mut homes, &residence("hub", 2, &["desk"]), 2);
    assert_eq!((moves(&homes).len(), homes.is_settled(&bob())), (1, false));
    homes.settle(&bob(), 2);
    let mut homes = Homes::remembering(homes.to_remember());
    assert!(moves(&homes).is_empty());
    found(&mut homes, &residence("desk", 3, &["hub"]), 3);
    assert_eq!(moves(&homes), [Moved { key: bob(), residence: residence("desk", 3, &["hub"]) }]);
    // Two first residences, in two buckets.
    let mut homes = Homes::default();
    found(&mut homes, &residence("desk", 1, &[]), 1);
    found(&mut homes, &residence("hub", 1, &[]), 2);
    assert_eq!(moves(&homes).len(), 1);
}

#[test]
fn a_member_leaves_when_its_new_home_has_it() {
    let (me, here) = (machine("laptop"), BTreeSet::from([bob()]));
    let mut homes = Homes::default();
    found(&mut homes, &residence("desk", 2, &["laptop"]), 1);
    let moves = |local: &BTreeSet<MemberKey>, desk: &[&str]| {
        homes.moves(&me, local, &BTreeMap::from([(machine("desk"), says(desk, 2_000))])).len()
    };
    assert_eq!((moves(&here, &["bob"]), moves(&here, &[])), (1, 0));
    assert_eq!(moves(&BTreeSet::new(), &[]), 1, "there is nobody who could leave");
    assert_eq!(homes.moves(&me, &here, &BTreeMap::new()).len(), 0);
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
    assert_eq!(homes.take(&me, &bob()).unwrap().what, Content::New { epoch: 1, former: vec![] });
    found(&mut homes, &residence("desk", 4, &["laptop", "hub"]), 9);
    let put = homes.take(&me, &bob()).unwrap();
    assert_eq!(put.what, Content::New { epoch: 5, former: vec![machine("hub"), machine("desk")] });
    assert_eq!(put.revision, 9);
    let refused = |homes: &Homes, desk: Neighbour| {
        homes.refused(&me, &BTreeSet::from([bob()]), &BTreeMap::from([(machine("desk"), desk)])).len()
    };
    assert_eq!((refused(&homes, says(&["bob"], 2_000)), refused(&homes, says(&[], 2_000))), (1, 0));
    found(&mut homes, &residence("laptop", 5, &["hub", "desk"]), 10);
    assert_eq!(homes.take(&me, &bob()), None);
    assert_eq!(refused(&homes, says(&["bob"], 2_000)), 0);
}
