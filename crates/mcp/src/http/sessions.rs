//! The sessions of a server: a bounded number, the one that is idle for longest making room for a new one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Each is a service with its tasks and channels.
pub(super) const MOST: usize = 64;

/// Which sessions there are, and who uses them.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<Arc<str>, Session>>, AtomicUsize);

#[derive(Debug)]
struct Session {
    /// Requests and streams that are under way.
    uses: usize,
    last_used: Instant,
}

/// One use of a session, until it is dropped.
#[derive(Debug)]
pub(super) struct Use {
    sessions: Arc<Sessions>,
    id: Arc<str>,
    /// It keeps a place for a session that is being made, and has no other purpose.
    is_place: bool,
}

/// Room for a session that is being made.
#[derive(Debug)]
pub(super) struct Room {
    /// The place that is kept until it is dropped.
    pub(super) place: Use,
    /// Which session has to be closed for it; it is not counted any more.
    pub(super) in_place_of: Option<Arc<str>>,
}

impl Sessions {
    /// A request or a stream of a session begins.
    pub(super) fn begin(self: &Arc<Self>, id: &str) -> Use {
        let id: Arc<str> = id.into();
        let mut all = self.all();
        let session = all.entry(id.clone()).or_insert(Session { uses: 0, last_used: Instant::now() });
        session.uses += 1;
        session.last_used = Instant::now();
        drop(all);
        Use { sessions: self.clone(), id, is_place: false }
    }

    /// Whether there is such a session.
    pub(super) fn has(&self, id: &str) -> bool {
        self.all().contains_key(id)
    }

    /// The session is over.
    pub(super) fn end(&self, id: &str) {
        self.all().remove(id);
    }

    /// Makes room for one more; none, if all are in use.
    pub(super) fn make_room(self: &Arc<Self>) -> Option<Room> {
        let mut all = self.all();
        let mut in_place_of = None;
        if all.len() >= MOST {
            let idle = all.iter().filter(|(_, session)| session.uses == 0);
            let oldest = idle.min_by_key(|(_, session)| session.last_used).map(|(id, _)| id.clone())?;
            all.remove(&oldest);
            in_place_of = Some(oldest);
        }
        drop(all);
        // No session of the service is called like that.
        let number = self.1.fetch_add(1, Ordering::Relaxed);
        let mut place = self.begin(&format!("place {number}"));
        place.is_place = true;
        Some(Room { place, in_place_of })
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Arc<str>, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut all = self.sessions.all();
        if self.is_place {
            all.remove(&self.id);
        } else if let Some(session) = all.get_mut(&self.id) {
            session.uses -= 1;
            session.last_used = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_idle_one_makes_room_and_one_in_use_never_does() {
        let sessions: Arc<Sessions> = Arc::default();
        let mut uses: Vec<Use> = (0..MOST).map(|number| sessions.begin(&number.to_string())).collect();
        assert!(sessions.make_room().is_none());
        // The third ends first, then the second.
        uses.remove(2);
        uses.remove(1);
        let room = sessions.make_room().unwrap();
        assert_eq!(room.in_place_of.as_deref(), Some("2"));
        let other = sessions.make_room().unwrap();
        assert_eq!(other.in_place_of.as_deref(), Some("1"), "the place is kept");
        assert!(sessions.make_room().is_none());
        drop(other);
        assert_eq!(sessions.make_room().unwrap().in_place_of, None, "one is gone");
        drop(room);
        assert!(!sessions.has("1") && sessions.has("0"));
        sessions.end("0");
        drop(uses);
        assert!(!sessions.has("0"), "a use that outlives its session does not bring it back");
    }
}
