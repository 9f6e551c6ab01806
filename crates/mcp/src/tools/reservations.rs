//! Paths that agents keep for themselves to edit.

use std::time::Duration;

use atm_office::reservations::{Ask, DEFAULT_SPAN, Give, ReservationView};
use atm_store::watch::Stop;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Effect};
use crate::answer::Answer;
use crate::desk::Desk;
use crate::trouble::Trouble;

/// How many are listed: more do not fit an answer.
const MOST: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Reservations {
    paths: Option<Vec<String>>,
    #[serde(default)]
    release: bool,
    #[serde(default = "span")]
    minutes: u64,
    reason: Option<String>,
}

fn span() -> u64 {
    DEFAULT_SPAN.as_secs() / 60
}

impl Call for Reservations {
    const NAME: &'static str = "reservations";
    const ABOUT: &'static str =
        "Who keeps which files. paths or globs: keep them for you to edit; release: give back those, or all.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = r#"{"paths": ["src/parser.rs"], "reason": "rewriting the lexer"}"#;
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        if !(1..=7 * 24 * 60).contains(&self.minutes) {
            return Err(Trouble::argument("minutes must be 1 to 10080"));
        }
        let (office, cwd) = (desk.office(), desk.settings.cwd.as_path());
        let paths = self.paths.unwrap_or_default();
        if paths.is_empty() && !self.release {
            return Ok(answer(&office.reservations(cwd)?));
        }
        let client = desk.settings.client.as_ref();
        let member = if let Some(client) = client.filter(|_| desk.bound().is_none()) {
            // Its session may be a lead's, or nobody's, and is told by the client's process then.
            desk.member_of(client)
        } else {
            let team = desk.open(None)?;
            let actor = desk.actor(&team)?;
            Some((team.name().clone(), actor))
        };
        // A server outlives the sessions of its client, so none is named.
        let holder = office.holder(member.as_ref().map(|(team, name)| (team, name)), None, client);
        Ok(answer(&match (self.release, paths.as_slice()) {
            (true, []) => office.release(&holder, cwd, Give::Tree)?,
            (true, paths) => office.release(&holder, cwd, Give::Paths(paths))?,
            (false, paths) => {
                let span = Duration::from_secs(self.minutes * 60);
                office.reserve(&Ask { holder: &holder, cwd, paths, span, reason: self.reason.as_deref() })?
            }
        }))
    }
}

fn answer(all: &[ReservationView]) -> Answer {
    let brief = |one: &ReservationView| json!({ "path": one.path, "holder": one.address(), "until": one.until, "reason": one.reason });
    let shown: Vec<Value> = all.iter().take(MOST).map(brief).collect();
    let more = all.len().checked_sub(MOST).filter(|more| *more > 0);
    Answer::list(shown).noting(more.map(|more| format!("{more} more are not listed.")))
}
