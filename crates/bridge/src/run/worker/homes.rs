//! Homes of members, on the engine's thread.

use super::{News, Output, Worker, now, residences_of};

impl Worker {
    pub(super) fn hear_of_homes(&mut self, news: News) {
        // Of a team that is not shared here nothing is kept.
        if let News::Found(key, ..) = &news
            && !self.engine.local().has_share(&key.team)
        {
            return;
        }
        let homes = self.engine.local().homes_mut();
        match news {
            News::Opened(check) => {
                homes.begin(|member, signed| check.is_valid(member, signed));
                let all = residences_of(homes);
                self.residences.send_replace(all);
            }
            News::Whole => {
                homes.complete();
                self.places_again = true;
            }
            News::Found(key, slot, revision) => {
                if homes.find(key.clone(), slot, revision) {
                    if let Some(residence) = homes.home_of(&key).cloned() {
                        self.residences.send_modify(|all| drop(all.insert(key, residence)));
                    }
                    self.places_again = true;
                    // What this machine announces of it may be another epoch.
                    self.due.members_now(std::time::Instant::now());
                }
            }
        }
    }

    /// What the stream held for this machine when this was asked is processed.
    pub(super) fn note_caught_up(&mut self, question: u64) {
        self.engine.local().note_caught_up(question);
        self.places_again = true;
    }

    /// Asks whether it is, if a move waits for that.
    pub(super) fn ask_for_stream(&mut self) {
        if let Some(question) = self.engine.local().ask_for_stream() {
            self.catch_up.send_replace(question);
        }
    }

    /// Registers members of this machine as at home here, gives a bucket back what it lost, and tells whose names are held elsewhere.
    pub(super) fn put_homes(&mut self) {
        let puts = self.engine.local().puts();
        if !puts.is_empty() {
            let _ = self.outputs.send(Output::Homes(puts));
        }
        let waited = self.engine.local().is_due_at();
        match self.engine.local().refused() {
            Ok(refused) => self.status.set_refused(refused),
            Err(error) => self.status.set_trouble(&error.to_string(), now()),
        }
        self.status.set_unplaced(self.engine.local().unplaced());
        let waits = self.engine.local().is_due_at();
        // From then on the holder is another member for good, and is listed here beside the one of its name.
        self.places_again |= waited.is_some_and(|at| at <= std::time::Instant::now());
        if let Some(at) = waits {
            self.due.members_at(at);
        }
    }
}
