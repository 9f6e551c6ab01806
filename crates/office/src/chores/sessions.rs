//! The register of sessions: those that are long over are forgotten. A step's subject is the session, its number the time when
//! it was last heard of.

use atm_wire::Stamp;
use serde_json::{Value, json};

use super::{Carried, Chore, Effect, Parts, Site, Snapshot, Step, soonest};
use crate::error::OfficeError;
use crate::sessions::{Noted, forgettable};

const NAME: &str = "session";

/// Forgetting sessions that are long over.
#[derive(Debug)]
pub struct Sessions;

impl Chore for Sessions {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn needs(&self) -> Parts {
        Parts { sessions: true, ..Parts::default() }
    }

    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<Step> {
        let step = |noted: &Noted| {
            let Noted { client, session, folder, last, .. } = noted;
            let what =
                format!("forget session {session} of {client} in {}: over since {last}", folder.display());
            Step::new((NAME, Effect::Files), session.clone(), last.as_millis(), what, &json!({}))
        };
        forgettable(&snapshot.sessions, now).into_iter().map(step).collect()
    }

    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp> {
        soonest(snapshot.sessions.iter().filter_map(Noted::goes_at), now)
    }

    fn carry_out(&self, site: &Site, step: &Step) -> Result<Carried<Value>, OfficeError> {
        let is_forgotten = site.office.forget_session(&step.subject)?;
        Ok(if is_forgotten { Carried::Done(step.details.clone()) } else { Carried::Moot })
    }
}
