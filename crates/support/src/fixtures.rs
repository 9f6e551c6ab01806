//! Messages to write, and files that real clients wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use atm_wire::message::{Delivery, Ours};
use atm_wire::{Draft, Stamp};
use uuid::Uuid;

/// A message from `team-lead` to `bob` with an id of its own, sent later than every one that was made before it.
///
/// For another sender: `Draft { from: "alice".into(), ..draft("hi") }`.
pub fn draft(text: &str) -> Draft {
    static CLOCK: AtomicI64 = AtomicI64::new(1_794_768_140_463);
    Draft {
        id: Uuid::now_v7().to_string(),
        from: "team-lead".into(),
        to: "bob".into(),
        text: text.into(),
        summary: Some(format!("about {text}")),
        timestamp: Stamp::from_millis(CLOCK.fetch_add(1_000, Ordering::Relaxed)),
        color: Some("blue".into()),
        delivery: Delivery::Delivered,
        ack_id: None,
        ours: Ours::default(),
        kind: None,
        recipients: Vec::new(),
        metadata: atm_wire::metadata::Metadata::new(),
        home: None,
    }
}

/// `count` messages, `<prefix>0` and so on, as the test doubles number theirs.
pub fn drafts(prefix: &str, count: usize) -> Vec<Draft> {
    (0..count).map(|number| draft(&format!("{prefix}{number}"))).collect()
}

/// The folder of files that real clients of several generations wrote.
pub fn client_fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/fixtures")
}

/// Every array inbox that a real client wrote.
pub fn client_inboxes() -> Vec<PathBuf> {
    let below = |folder: PathBuf| -> Vec<PathBuf> {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entries.map(|entry| entry.expect("an entry of the fixtures").path()).collect()
    };
    let mut inboxes: Vec<_> = below(client_fixtures())
        .into_iter()
        .map(|client| client.join("teams"))
        .filter(|teams| teams.is_dir())
        .flat_map(below)
        .flat_map(|team| below(team.join("inboxes")))
        .filter(|file| file.extension().is_some_and(|extension| extension == "json"))
        .collect();
    inboxes.sort();
    assert!(!inboxes.is_empty(), "no fixtures in {}", client_fixtures().display());
    inboxes
}
