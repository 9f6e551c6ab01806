//! Homes of members, on the engine's thread.

use super::{News, Output, Worker, now};

impl Worker {
    pub(super) fn hear_of_homes(&mut self, news: News) {
        let homes = self.engine.local().homes_mut();
        match news {
            News::Opened => homes.begin(),
            News::Whole => {
                homes.complete();
                self.places_again = true;
            }
            News::Found(key, residence, revision) => {
                if homes.find(key, residence, revision) {
                    self.places_again = true;
                    // What this machine announces of it may be another epoch.
                    self.due.members = std::time::Instant::now();
                }
            }
        }
    }

    /// Registers members of this machine as at home here, gives a bucket back what it lost, and tells whose names are held elsewhere.
    pub(super) fn put_homes(&mut self) {
        let puts = self.engine.local().puts(&self.neighbours);
        if !puts.is_empty() {
            let _ = self.outputs.send(Output::Homes(puts));
        }
        match self.engine.local().refused(&self.neighbours) {
            Ok(refused) => self.status.set_refused(refused),
            Err(error) => self.status.set_trouble(&error.to_string(), now()),
        }
    }
}
