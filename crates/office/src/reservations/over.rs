//! Whether a reservation is over: by the clock, or because its holder is.

use atm_wire::team::LeadProcess;
use atm_wire::{MemberName, Stamp, TeamName};

use super::book::TreeBook;
use super::rules::Reservation;
use super::{Names, Office, ReservationView};
use crate::error::OfficeError;
use crate::people::exits::has_announced_end;
use crate::people::presence::ended;
use crate::people::process::{Fate, fate_by};

/// A reservation of a team's member, for the chore that clears away what is over.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) view: ReservationView,
    /// Why it is over although its time is not, if it is.
    pub(crate) over: Option<String>,
}

impl Office {
    /// Why a reservation is over, if it is. What cannot be told is not over.
    pub(super) fn why_over(&self, reservation: &Reservation, now: Stamp) -> Option<String> {
        if reservation.is_expired(now) {
            return Some(format!("its time was over at {}", reservation.until));
        }
        self.why_holder_is_gone(reservation)
    }

    fn why_holder_is_gone(&self, reservation: &Reservation) -> Option<String> {
        let holder = &reservation.holder;
        if let Some(process) = &holder.process {
            let recorded = LeadProcess {
                pid: Some(process.pid),
                pid_space: Some(process.space.clone()),
                proc_start: Some(process.start.clone()).filter(|start| !start.is_empty()),
                ..LeadProcess::default()
            };
            let fate = fate_by(&*self.probe, &recorded);
            if matches!(fate, Some(Fate::Gone | Fate::Replaced)) {
                return Some(format!("process {} of {} has ended", process.pid, holder.address()));
            }
        }
        // A state folder may be shared by several trees of teams.
        let team: TeamName = holder.team.as_ref()?.parse().ok().filter(|_| holder.root == self.root_key())?;
        let folder = self.folder_of(&team);
        if !folder.exists() {
            return Some(format!("team {team} is gone"));
        }
        let config = folder.load().ok()?;
        let Some(member) = config.member(&holder.name) else {
            let name: MemberName = holder.name.parse().ok()?;
            return (!self.leads(&team, &config, &name))
                .then(|| format!("{name} is no member of team {team} any more"));
        };
        let announced = has_announced_end(member) && member.shutdown_at >= Some(reservation.since);
        let how = ended(member).map(ToOwned::to_owned);
        how.or_else(|| announced.then(|| "it has ended".to_owned()))
            .map(|how| format!("{} is offline: {how}", holder.address()))
    }

    /// The reservations of a team's members, whether they are over or not.
    pub(crate) fn kept_reservations(&self, team: &TeamName) -> Result<Vec<Kept>, OfficeError> {
        let (root, names) = (self.root_key(), Names::of(self));
        let mut kept = Vec::new();
        for book in TreeBook::all(self)? {
            // One that cannot be read is reported by who reserves there.
            let Ok(Some((top, all))) = book.read() else { continue };
            let ours = all
                .iter()
                .filter(|one| one.holder.team.as_deref() == Some(team.as_str()) && one.holder.root == root);
            kept.extend(ours.map(|one| Kept {
                view: ReservationView::of(one, &top, &names),
                over: self.why_holder_is_gone(one),
            }));
        }
        Ok(kept)
    }

    /// Clears a reservation away if it is still there and over; says whether it was.
    pub(crate) fn clear_if_over(&self, team: &TeamName, view: &ReservationView) -> Result<bool, OfficeError> {
        let (root, now) = (self.root_key(), self.now());
        for book in TreeBook::all(self)? {
            // One that cannot be read is reported by who reserves there, and is no reason to leave the others.
            let Ok(Some((top, _))) = book.read() else { continue };
            if top != view.tree {
                continue;
            }
            let is_it = |one: &Reservation| {
                one.since == view.since
                    && one.holder.name == view.holder
                    && one.holder.team.as_deref() == Some(team.as_str())
                    && one.holder.root == root
                    && super::shown(&one.pattern, &top) == view.path
            };
            let taken = book.take(self, |one| is_it(one) && self.why_over(one, now).is_some())?;
            return Ok(!taken.is_empty());
        }
        Ok(false)
    }
}
