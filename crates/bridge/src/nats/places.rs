//! Replacing an entry by compare-and-set, which counts only once it was read again.

use std::time::Duration;

use super::{NatsError, Set, Standing};

/// The waits before what was put is read once more, where several servers answer: one of them may be a little behind. In a cluster of
/// three, up to a third of the first answers were, by 10 ms at most.
const BEHIND: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(15),
    Duration::from_millis(40),
    Duration::from_millis(100),
    Duration::from_millis(250),
];

/// Entries that are replaced by compare-and-set, by one request at a time.
#[expect(async_fn_in_trait, reason = "who spawns this knows the type")]
pub trait Places {
    /// Replaces an entry if it still has this revision. Says what the server says of it.
    async fn replace(&self, key: &str, value: Vec<u8>, revision: u64) -> Result<Set, NatsError>;

    /// What stands in a place.
    async fn standing(&self, key: &str) -> Result<Option<Standing>, NatsError>;

    /// Whether one server may answer before it has what another one acknowledged.
    fn has_replicas(&self) -> bool;
}

/// Replaces an entry if it still has this revision, and reads it again: what a server acknowledges it may not have kept. After an error
/// other than [`NatsError::Refused`] it is not known whether it was replaced.
pub async fn set(places: &impl Places, key: &str, value: Vec<u8>, revision: u64) -> Result<Set, NatsError> {
    let put = match places.replace(key, value.clone(), revision).await? {
        Set::Done(put) => put,
        Set::Lost => return Ok(Set::Lost),
    };
    let waits: &[Duration] = if places.has_replicas() { &BEHIND } else { &[] };
    let mut waits = waits.iter();
    loop {
        let found = places.standing(key).await?;
        match &found {
            Some(found) if found.revision == put && found.value.as_deref() == Some(&value[..]) => {
                return Ok(Set::Done(put));
            }
            // Whether ours was there in between is not to be seen.
            Some(found) if found.revision > put => return Err(unknown("another one is there already")),
            _ => {}
        }
        let Some(wait) = waits.next() else {
            return Err(unknown("the server acknowledged it, and does not have it"));
        };
        tokio::time::sleep(*wait).await;
    }
}

fn unknown(why: &str) -> NatsError {
    NatsError::Request { doing: "replace an entry of a bucket", why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use atm_wire::Stamp;
    use rstest::rstest;

    use super::*;

    /// One place, and what becomes of what is put there.
    struct Place {
        /// What each reading finds after the put, the last one for ever: revision and value.
        found: RefCell<Vec<Option<(u64, &'static str)>>>,
        says: Set,
        has_replicas: bool,
        requests: Cell<usize>,
    }

    impl Places for Place {
        async fn replace(&self, _: &str, _: Vec<u8>, _: u64) -> Result<Set, NatsError> {
            self.requests.set(self.requests.get() + 1);
            Ok(self.says)
        }

        async fn standing(&self, _: &str) -> Result<Option<Standing>, NatsError> {
            self.requests.set(self.requests.get() + 1);
            let mut found = self.found.borrow_mut();
            let next = if found.len() > 1 { found.remove(0) } else { found[0] };
            let created = Stamp::from_millis(0);
            Ok(next.map(|(revision, value)| Standing { value: Some(value.into()), revision, created }))
        }

        fn has_replicas(&self) -> bool {
            self.has_replicas
        }
    }

    /// A claim was answered as granted that the server had acknowledged and not kept, and granted to the next one, too.
    #[rstest]
    #[case::kept(Set::Done(7), &[Some((7, "new"))], false, Some(Set::Done(7)), 2)]
    #[case::another_was_faster(Set::Lost, &[Some((7, "other"))], false, Some(Set::Lost), 1)]
    #[case::not_kept(Set::Done(7), &[Some((5, "old"))], false, None, 2)]
    #[case::nothing_kept(Set::Done(7), &[None], false, None, 2)]
    #[case::another_value(Set::Done(7), &[Some((7, "other"))], false, None, 2)]
    #[case::replaced_since(Set::Done(7), &[Some((8, "other"))], true, None, 2)]
    #[case::a_replica_is_behind(Set::Done(7), &[Some((5, "old")), None, Some((7, "new"))], true, Some(Set::Done(7)), 4)]
    #[case::no_replica_has_it(Set::Done(7), &[Some((5, "old"))], true, None, 7)]
    #[tokio::test]
    async fn what_is_acknowledged_counts_once_it_is_read(
        #[case] says: Set,
        #[case] found: &[Option<(u64, &'static str)>],
        #[case] has_replicas: bool,
        #[case] expected: Option<Set>,
        #[case] requests: usize,
    ) {
        let place = Place { found: RefCell::new(found.to_vec()), says, has_replicas, requests: Cell::new(0) };
        let set = set(&place, "task", b"new".to_vec(), 5).await;
        // Never that it is certainly not replaced.
        assert!(!matches!(set, Err(NatsError::Refused { .. })), "{set:?}");
        assert_eq!((set.ok(), place.requests.get()), (expected, requests));
    }
}
