//! `atm bridge doctor`.

use atm_bridge::nats::Word;
use atm_bridge::nats::doctor::{self, Check, Outcome};
use atm_bridge::run::status::Status;
use serde_json::json;

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Check the server: version, limits, permissions, what `init` makes, how often it syncs to disk; and say what to change
///
/// Nothing is stored, taken or deleted: each subject that the bridge has to publish to is tried with what the server refuses.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge doctor --nats nats://hub:4222
  atm bridge doctor --nats nats://hub:4222 --json
  atm bridge doctor --nats nats://hub:4222 --monitor http://hub:8222

Exit codes: 4 the server does not take the credentials; 6 something does not work so; 7 it cannot be reached.")]
pub(crate) struct Doctor {
    #[command(flatten)]
    me: Me,
    #[command(flatten)]
    server: Server,
    /// Where the server's monitor is, which says how often it syncs to disk: http://HOST:PORT
    #[arg(long, value_name = "URL")]
    monitor: Option<String>,
}

impl Doctor {
    pub(crate) async fn run(&self, context: &Context) -> Result<i32, Failure> {
        let (realm, machine) = (context.realm(&self.me)?, context.machine(&self.me)?);
        let (link, mut words) = context.link(&self.server, &realm, &machine).await?;
        let heard = || {
            let mut heard = Vec::new();
            while let Ok(word) = words.try_recv() {
                heard.extend(match word {
                    Word::Trouble(text) => Some(text),
                    Word::Up | Word::Down => None,
                });
            }
            heard
        };
        let mut checks = doctor::examine(&link, &realm, &machine, self.monitor.as_deref(), heard).await;
        if let Some(path) = context.exposed_settings() {
            let found = format!("{} holds a password, and others can read it", path.display());
            checks.push(Check {
                about: "settings",
                outcome: Outcome::Fair,
                found,
                change: Some(format!("chmod 600 {}", path.display())),
            });
        }
        if context.office().machines().is_served()
            && Status::load(&context.files()).is_some_and(|status| status.namesake_since.is_some())
        {
            checks.push(Check {
                about: "name",
                outcome: Outcome::Bad,
                found: format!("another bridge is called {machine}, too: nothing is carried while both run"),
                change: Some("atm bridge run --machine NAME, on one of the two".to_owned()),
            });
        }
        let is_bad = checks.iter().any(|check| check.outcome == Outcome::Bad);
        if context.json {
            let checks: Vec<_> = checks
                .iter()
                .map(|check| {
                    json!({"about": check.about, "outcome": check.outcome.as_str(), "found": check.found, "change": check.change})
                })
                .collect();
            output::json(&json!({"healthy": !is_bad, "checks": checks}))?;
        } else {
            let mut lines = Vec::new();
            for check in &checks {
                lines.push(format!("{:<8} {:<12} {}", check.outcome.as_str(), check.about, check.found));
                if let Some(change) = &check.change {
                    lines.push(format!("{:<21} change: {change}", ""));
                }
            }
            output::lines(&lines.join("\n"))?;
        }
        Ok(if is_bad { 6 } else { 0 })
    }
}
