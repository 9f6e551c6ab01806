//! `atm bridge doctor`.

use atm_bridge::nats::doctor::{self, Outcome};
use serde_json::json;

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Check the server: version, limits, permissions, what `init` makes; and say what to change
///
/// Ends with 6 if something does not work so.
///
/// Examples:
///   atm bridge doctor --nats nats://hub:4222
///   atm bridge doctor --nats nats://hub:4222 --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Doctor {
    #[command(flatten)]
    me: Me,
    #[command(flatten)]
    server: Server,
}

impl Doctor {
    pub(crate) async fn run(&self, context: &Context) -> Result<i32, Failure> {
        let (realm, machine) = (context.realm(&self.me)?, context.machine(&self.me)?);
        let link = context.link(&self.server, &realm, &machine).await?;
        let checks = doctor::examine(&link, &realm, &machine).await;
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
