//! A message is taken back only if nobody has put it in place.

use std::fs::File;

use atm_store::{Outbox, StoreError, Witnesses};
use atm_support::draft;
use atm_wire::Draft;

use crate::scene::{HASTY, array_team};

/// Keeps what it was told, in order.
struct Telling {
    draft: Draft,
    records: bool,
    told: Vec<String>,
}

impl Outbox for Telling {
    fn waiting(&mut self) -> Vec<Draft> {
        vec![self.draft.clone()]
    }

    fn written(&mut self, ids: &[String], _before: Option<&Witnesses>) -> bool {
        self.told.extend(ids.iter().map(|id| format!("written {id}")));
        self.records
    }

    fn failed(&mut self, error: &StoreError) {
        self.told.push(format!("failed: {}", matches!(error, StoreError::Busy { .. })));
    }
}

/// Somebody wrote ours and could not record it; then the locks are busy when our turn comes. The message is in the file,
/// so it must not count as failed.
#[test]
fn what_somebody_wrote_for_us_is_told_before_a_failure() {
    let team = array_team();
    let draft = draft("hello");
    let telling = |records| Telling { draft: draft.clone(), records, told: Vec::new() };
    team.mailbox("bob").deliver(&mut telling(false), false).unwrap();
    assert_eq!(team.texts("bob"), ["hello"]);

    let lock = File::create(team.inbox("bob").with_file_name(".lock")).unwrap();
    lock.lock().unwrap();
    let mut outbox = telling(true);
    team.mailbox_with("bob", HASTY).deliver(&mut outbox, false).unwrap_err();
    assert_eq!(outbox.told, [format!("written {}", draft.id), "failed: true".to_owned()]);
}
