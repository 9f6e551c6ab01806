//! Members whose program has ended: entered as off. A step's subject is the member, its number the time of its start.

use atm_wire::Stamp;
use serde_json::Value;

use super::{Carried, Chore, Effect, Parts, Site, Snapshot, Step};
use crate::error::OfficeError;
use crate::people::exits::Ended;

const NAME: &str = "exits";

/// Noticing that panes have ended.
#[derive(Debug)]
pub struct Exits;

impl Chore for Exits {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn needs(&self) -> Parts {
        Parts { exits: true, ..Parts::default() }
    }

    fn due(&self, snapshot: &Snapshot, _: Stamp) -> Vec<Step> {
        let step = |ended: &Ended| {
            let member = snapshot.config.member(&ended.name);
            let started = member.and_then(|member| member.spawned_at.or(member.joined_at));
            let what = format!("enter {} as off: {}", ended.name, ended.how);
            Step::new((NAME, Effect::Files), &ended.name, started.map_or(0, Stamp::as_millis), what, ended)
        };
        snapshot.ended.iter().map(step).collect()
    }

    fn next(&self, _: &Snapshot, _: Stamp) -> Option<Stamp> {
        None
    }

    fn carry_out(&self, site: &Site, step: &Step) -> Result<Carried<Value>, OfficeError> {
        let ended = site.office.notice_exits(site.team)?;
        let ours = ended.into_iter().find(|ended| ended.name == step.subject);
        // Any command that looks at members enters them, too.
        Ok(ours.map_or(Carried::Moot, |ended| Carried::Done(serde_json::to_value(ended).unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use atm_wire::team::TeamConfig;

    use super::*;

    #[test]
    fn each_start_of_a_member_ends_once() {
        let text = r#"{"members":[{"name":"bob","spawnedAt":"2026-11-15T06:00:00.000Z"}]}"#;
        let config = TeamConfig::parse(text).unwrap();
        let started = config.members[0].spawned_at.unwrap();
        let ended = vec![Ended { name: "bob".to_owned(), how: "it ended with exit status 1".to_owned() }];
        let snapshot = Snapshot { config, ended, ..Snapshot::default() };
        let due = Exits.due(&snapshot, started);
        assert_eq!((due[0].subject.as_str(), due[0].number), ("bob", started.as_millis()));
        assert_eq!(Exits.due(&Snapshot::default(), started), []);
    }
}
