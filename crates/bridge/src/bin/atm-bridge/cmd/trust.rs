//! `atm bridge trust`.

use atm_bridge::keys;
use atm_bridge::name::Machine;
use atm_store::{Bell, State};

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Trust another machine's key
///
/// Envelopes of a machine are refused until its key is trusted, on both sides. A key never replaces another one silently. With
/// --as-lead, that machine's lead may shut down members of this machine, decide their plans and assign them tasks.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge trust hub d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
  atm bridge trust hub d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a --as-lead
  atm bridge trust --remove hub

Exit codes: 2 that is no key, or this machine's own; 3 --remove of a machine that is not trusted; 4 another key of it is trusted.")]
pub(crate) struct Trust {
    /// The machine, as its own `atm bridge key` names it
    machine: String,
    /// Its public key
    #[arg(required_unless_present = "remove")]
    key: Option<String>,
    /// Its lead may lead here, too
    #[arg(long, conflicts_with = "remove")]
    as_lead: bool,
    /// Trust it no longer
    #[arg(long, conflicts_with = "key")]
    remove: bool,
}

impl Trust {
    /// Refuses this machine's own key: somebody is on the wrong machine.
    fn check_is_another(&self, context: &Context) -> Result<(), Failure> {
        let (Some(key), Ok(Some(own))) = (&self.key, keys::load(&context.files().key())) else {
            return Ok(());
        };
        if keys::parse_public(key).is_ok_and(|key| key == own.verifying_key()) {
            return Err(Failure::usage("this is this machine's own key".to_owned())
                .hint("`atm bridge trust` it on the other machines, and here theirs"));
        }
        Ok(())
    }

    pub(crate) fn run(&self, context: &Context) -> Result<i32, Failure> {
        let machine = Machine::parse(&self.machine).map_err(|error| Failure::usage(error.to_string()))?;
        self.check_is_another(context)?;
        let changed = atm_bridge::trust::Trust::update(&context.files().trust(), |trust| match &self.key {
            Some(key) => Ok(trust.add(machine.clone(), key, self.as_lead, Context::now())?),
            None if trust.remove(&machine) => Ok(true),
            None => Err(Failure::new(3, "no_such_machine", format!("{machine} is not trusted"))
                .hint("`atm bridge machines` lists those that are")),
        })?;
        if changed {
            // A bridge that runs here hears of it at once. Without a bell, it looks a little later.
            let _ = Bell::of(&State::new(&context.state)).ring();
        }
        if context.json {
            let trusted = !self.remove;
            output::json(&serde_json::json!({
                "machine": machine.as_str(), "trusted": trusted, "asLead": self.as_lead, "changed": changed,
            }))?;
        } else {
            let what = match (self.remove, self.as_lead) {
                (true, _) => "is trusted no longer",
                (false, true) => "is trusted, and its lead may lead here",
                (false, false) => "is trusted",
            };
            output::lines(&format!("{machine} {what}"))?;
        }
        Ok(0)
    }
}
