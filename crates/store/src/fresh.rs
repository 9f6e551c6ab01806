//! New ids, at any time that the clock may show.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::{ContextV7, Timestamp, Uuid};

/// Keeps the ids of one process in their order within a millisecond.
static ORDER: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// A new id (`UUIDv7`). `Uuid::now_v7` panics where the clock shows a time before 1970; there, and up to the first second
/// of 1970, ids are told apart by their random part alone.
pub fn fresh_id() -> Uuid {
    id_at(SystemTime::now())
}

fn id_at(now: SystemTime) -> Uuid {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let order = ORDER.lock().unwrap_or_else(PoisonError::into_inner);
    Uuid::new_v7(Timestamp::from_unix(&*order, since.as_secs(), since.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_before_1970_gives_ids_too() {
        let before = UNIX_EPOCH.checked_sub(Duration::from_secs(315_619_200)).unwrap();
        let ids: HashSet<Uuid> = (0..1_000).map(|_| id_at(before)).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn ids_of_one_process_are_in_order() {
        let ids: Vec<Uuid> = (0..1_000).map(|_| fresh_id()).collect();
        assert!(ids.is_sorted());
    }
}
