//! What is known of the other machines, on the engine's thread.

use std::time::Duration;

use super::{Word, Worker, now, steady_now};
use crate::house::Neighbour;
use crate::nats::setup::PRESENCE_AGE;
use crate::run::presence::is_outdated;
use crate::run::status::to_the_minute;
use crate::trust::Trust;

impl Worker {
    pub(super) fn trust(&mut self, trust: &Trust) {
        self.engine.set_trusted(trust.machines().keys().cloned());
        let as_lead = trust.machines().iter().filter(|(_, trusted)| trusted.as_lead);
        self.engine.local().set_as_lead(as_lead.map(|(machine, _)| machine.clone()));
        self.neighbours.retain(|machine, _| trust.machines().contains_key(machine));
        self.places_again = true;
    }

    /// Says whether it was news: a heartbeat alone is nothing to look at the ledger for, and is saved once a minute.
    pub(super) fn hear(&mut self, word: Word) -> bool {
        let Word { from, epoch, at, presence, is_live } = word;
        let known = self.neighbours.get(&from);
        // An old word, said again by somebody else, is none: whichever way it comes, also after a restart.
        let (said_at, beat_at) = known.map_or((None, None), |known| (known.said_at, known.beat_at));
        if said_at.is_some_and(|said| at <= said) || is_live && beat_at.is_some_and(|beat| at <= beat) {
            let is_counted = is_outdated(at, said_at);
            if is_counted {
                self.engine.count_refused("outdated", from.as_str());
            }
            return is_counted;
        }
        let (said_at, beat_at) = if is_live { (said_at, Some(at)) } else { (Some(at), None) };
        self.engine.heard_from(&from, presence.passed, steady_now());
        self.engine.heard_epoch(&from, &epoch);
        self.engine.heard_teams(&from, presence.teams.iter().map(|team| team.name.as_str()));
        let was_present = known.is_some_and(|known| known.is_present);
        let is_present = is_live || was_present;
        let seen_at = if is_live { now() } else { known.map_or_else(now, |known| known.seen_at) };
        let has_changed =
            known.is_none_or(|known| known.teams != presence.teams || known.is_present != is_present);
        self.places_again |= has_changed;
        let minute = known.map(|known| to_the_minute(known.seen_at));
        let is_news = has_changed || !is_live || minute != Some(to_the_minute(seen_at));
        let teams = presence.teams;
        self.neighbours.insert(from, Neighbour { teams, is_present, seen_at, said_at, beat_at });
        is_news
    }

    /// Machines whose last heartbeat is too old are away. Says after which time the next one may be: each that is heard of meanwhile is
    /// there for as long.
    pub(super) fn note_absent(&mut self) -> Duration {
        let (now, mut next) = (now(), PRESENCE_AGE);
        for neighbour in self.neighbours.values_mut().filter(|neighbour| neighbour.is_present) {
            // A clock that was set back makes nobody present until it has caught up.
            neighbour.seen_at = neighbour.seen_at.min(now);
            let age = now.since(neighbour.seen_at);
            if age < PRESENCE_AGE {
                next = next.min(PRESENCE_AGE.saturating_sub(age));
            } else {
                neighbour.is_present = false;
                self.places_again = true;
                self.is_unsaved = true;
            }
        }
        next
    }
}
