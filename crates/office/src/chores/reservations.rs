//! Reservations that are over: by the clock, or because their holder is gone. They are nobody's already; this clears them
//! away. A step's subject is the path with its tree, its number the time when it was reserved.

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Carried, Chore, Effect, Parts, Site, Snapshot, Step, soonest};
use crate::error::OfficeError;
use crate::reservations::{Kept, ReservationView};

const NAME: &str = "reservation";

/// Clearing reservations away that are over.
#[derive(Debug)]
pub struct Reservations;

/// The reservation that is over.
#[derive(Debug, Serialize, Deserialize)]
struct Planned {
    tree: std::path::PathBuf,
    path: String,
    holder: String,
    since: Stamp,
    until: Stamp,
}

fn why(kept: &Kept, now: Stamp) -> Option<String> {
    let is_expired = kept.view.until <= now;
    kept.over.clone().or_else(|| is_expired.then(|| "its time is over".to_owned()))
}

impl Chore for Reservations {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn needs(&self) -> Parts {
        Parts { reservations: true, ..Parts::default() }
    }

    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<Step> {
        let over = snapshot.reservations.iter().filter_map(|kept| Some((&kept.view, why(kept, now)?)));
        let step = |(view, why): (&ReservationView, String)| {
            let planned = Planned {
                tree: view.tree.clone(),
                path: view.path.clone(),
                holder: view.holder.clone(),
                since: view.since,
                until: view.until,
            };
            let subject = format!("{}:{}", view.tree.display(), view.path);
            let what = format!("release {} of {}: {why}", view.path, view.holder);
            Step::new((NAME, Effect::Files), subject, view.since.as_millis(), what, &planned)
        };
        over.map(step).collect()
    }

    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp> {
        soonest(snapshot.reservations.iter().map(|kept| kept.view.until), now)
    }

    fn carry_out(&self, site: &Site, step: &Step) -> Result<Carried<Value>, OfficeError> {
        let Ok(planned) = serde_json::from_value::<Planned>(step.details.clone()) else {
            return Ok(Carried::Moot);
        };
        let view = ReservationView {
            path: planned.path,
            tree: planned.tree,
            holder: planned.holder,
            team: Some(site.team.to_string()),
            session: None,
            reason: None,
            since: planned.since,
            until: planned.until,
        };
        let is_cleared = site.office.clear_if_over(site.team, &view)?;
        Ok(if is_cleared { Carried::Done(step.details.clone()) } else { Carried::Moot })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_over_goes_and_the_next_end_is_known() {
        let kept = |until: i64, over: Option<&str>| Kept {
            view: ReservationView {
                path: "src".to_owned(),
                tree: "/repo".into(),
                holder: "bob".to_owned(),
                team: Some("dev".to_owned()),
                session: None,
                reason: None,
                since: Stamp::from_millis(5),
                until: Stamp::from_millis(until),
            },
            over: over.map(ToOwned::to_owned),
        };
        for (kept, now, due, next) in [
            (kept(9, None), 8, false, Some(9)),
            (kept(9, None), 9, true, None),
            (kept(9, Some("process 1 of bob@dev has ended")), 6, true, Some(9)),
        ] {
            let snapshot = Snapshot { reservations: vec![kept], ..Snapshot::default() };
            let now = Stamp::from_millis(now);
            let steps = Reservations.due(&snapshot, now);
            assert_eq!(steps.len(), usize::from(due), "{now}");
            assert!(steps.iter().all(|step| step.number == 5 && step.subject == "/repo:src"));
            assert_eq!(Reservations.next(&snapshot, now), next.map(Stamp::from_millis));
        }
    }
}
