use super::*;
use crate::stage::Stage;

const SOURCE: &str = "/root/projects/p/s.jsonl";

fn key() -> InboxKey {
    InboxKey { root: "/root".into(), team: "demo".into(), name: "bob".into() }
}

fn with_messages(folder: &Path, ids: &[&str]) -> Ledger {
    let mut ledger = Ledger::open(&folder.join("log.db")).unwrap();
    let observed: Vec<Observed> = ids
        .iter()
        .map(|id| {
            let new = NewMessage { id: (*id).into(), kind: "message".into(), ..NewMessage::default() };
            let new = Some(Box::new((new, Evidence::certain("found"))));
            Observed { id: (*id).into(), new, stages: Vec::new(), at: None }
        })
        .collect();
    ledger.observe(&key(), &observed, None, 1).unwrap();
    ledger
}

fn proof(id: &str, position: u64, entry: Option<&str>) -> Proof {
    Proof {
        inbox: key(),
        id: id.into(),
        position,
        entry: entry.map(ToOwned::to_owned),
        at: 5_000,
        evidence: Evidence::certain("in the conversation"),
    }
}

fn reading(inode: u64, from: u64, to: u64, proofs: Vec<Proof>) -> Reading {
    Reading { source: Source::file(Path::new(SOURCE), inode), reader: key(), from, to, proofs }
}

fn stage(ledger: &Ledger, id: &str) -> Stage {
    ledger.find("/root", id, false).unwrap()[0].stage
}

#[test]
fn an_occurrence_proves_one_message_also_in_a_copy_of_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = with_messages(folder.path(), &["a", "b", "c"]);
    let first = reading(7, 0, 100, vec![proof("a", 10, Some("e1/0"))]);
    assert_eq!(ledger.record_readings(&[first]).unwrap(), Recording::Done);
    assert_eq!(stage(&ledger, "a"), Stage::Seen);
    assert_eq!(ledger.positions(&key(), &[Source::file(Path::new(SOURCE), 7)]).unwrap(), [100]);
    // The same place again, for another message, and the same entry in another file.
    let again = reading(7, 100, 100, vec![proof("b", 10, None)]);
    let copied = reading(8, 0, 50, vec![proof("b", 3, Some("e1/0"))]);
    assert_eq!(ledger.record_readings(&[again, copied]).unwrap(), Recording::Done);
    assert_eq!(stage(&ledger, "b"), Stage::Written);
    let used = ledger.used_entries(&["e1", "e2", "e"]).unwrap();
    let used: Vec<_> = used.iter().map(|(entry, message)| (entry.as_str(), message.id.as_str())).collect();
    assert_eq!(used, [("e1/0", "a")]);
    // Two occurrences in one entry are two proofs.
    let two = vec![proof("b", 60, Some("e2/0")), proof("c", 61, Some("e2/1"))];
    ledger.record_readings(&[reading(8, 50, 90, two)]).unwrap();
    assert_eq!([stage(&ledger, "b"), stage(&ledger, "c")], [Stage::Seen, Stage::Seen]);
    let seen = &ledger.find("/root", "c", false).unwrap()[0];
    assert_eq!(ledger.stages(seen).unwrap().last().map(|record| record.at), Some(5_000));
}

#[test]
fn a_reading_of_what_somebody_else_has_read_since_is_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = with_messages(folder.path(), &["a", "b"]);
    ledger.record_readings(&[reading(7, 0, 100, vec![])]).unwrap();
    let fresh = reading(8, 0, 10, vec![proof("a", 1, None)]);
    let late = reading(7, 0, 100, vec![proof("b", 10, None)]);
    assert_eq!(ledger.record_readings(&[fresh, late]).unwrap(), Recording::Moved);
    assert_eq!([stage(&ledger, "a"), stage(&ledger, "b")], [Stage::Written, Stage::Written]);
    assert_eq!(ledger.positions(&key(), &[Source::file(Path::new(SOURCE), 8)]).unwrap(), [0]);
}

#[test]
fn a_look_at_an_inbox_that_somebody_else_looked_at_since_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = with_messages(folder.path(), &["a"]);
    let equals = HashMap::new();
    let taken = [Observed {
        id: "a".into(),
        new: None,
        stages: vec![(Stage::Taken, Evidence::likely("gone"))],
        at: Some(3),
    }];
    let look = |known, observed, signature| Look { known, observed, signature, equals: &equals, now: 9 };
    assert_eq!(ledger.record_look(&key(), &look(None, &[], Some("one"))).unwrap(), Recording::Done);
    assert_eq!(ledger.record_look(&key(), &look(None, &taken, Some("two"))).unwrap(), Recording::Moved);
    assert_eq!(stage(&ledger, "a"), Stage::Written);
    assert_eq!(ledger.record_look(&key(), &look(Some("one"), &taken, Some("two"))).unwrap(), Recording::Done);
    let found = &ledger.find("/root", "a", false).unwrap()[0];
    assert_eq!(
        ledger.stages(found).unwrap().last().map(|last| (last.stage, last.at)),
        Some((Stage::Taken, 3))
    );
    let inboxes = ledger.team_inboxes("/root", "demo").unwrap();
    assert_eq!(inboxes["bob"], TeamInbox { signature: Some("two".into()), has_open: true });
    assert_eq!(ledger.teams_not_closed("/root").unwrap(), ["demo"]);
    ledger.close_team("/root", "demo").unwrap();
    assert!(
        ledger.teams_not_closed("/root").unwrap().is_empty() && ledger.knows_team("/root", "demo").unwrap()
    );
}
