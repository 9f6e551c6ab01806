//! Another bridge that has this machine's name, on the engine's thread.

use std::time::Instant;

use super::{Worker, now};
use crate::run::namesake::SILENCE;

impl Worker {
    /// Another bridge was heard. People are told, once.
    pub(super) fn note_namesake(&mut self) {
        self.namesake = Some(Instant::now());
        if self.status.namesake_since.is_some() {
            return;
        }
        let since = now();
        self.status.namesake_since = Some(since);
        if let Err(error) = self.engine.local().tell_namesake(since) {
            self.note(&error);
        }
    }

    /// Whether another bridge was heard a short time ago: nothing is carried meanwhile.
    pub(super) fn has_namesake(&mut self) -> bool {
        if self.namesake.is_some_and(|heard| heard.elapsed() >= SILENCE) {
            self.namesake = None;
            self.status.namesake_since = None;
            self.is_unsaved = true;
        }
        self.namesake.is_some()
    }
}
