//! `atm bridge init`.

use std::time::Duration;

use atm_bridge::name::Machine;
use atm_bridge::nats::setup::{self, Limits};
use serde_json::json;

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Make what the realm needs on the server, and print the least permissions a machine needs
///
/// Idempotent: what is there stays as it is. Needs an account that may make streams; `run` does not.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge init --nats nats://hub:4222
  atm bridge init --nats nats://hub:4222 --realm work --for laptop --for desk
  atm bridge init --nats nats://hub:4222 --replicas 3 --max-age-days 30

Exit codes: 4 the server does not take the credentials; 7 it cannot be reached, or this user may not.")]
pub(crate) struct Init {
    #[command(flatten)]
    me: Me,
    #[command(flatten)]
    server: Server,
    /// A machine that will join; several times for several [default: this one]
    #[arg(long = "for", value_name = "MACHINE")]
    machines: Vec<String>,
    /// How many servers keep the stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    replicas: usize,
    /// How long an envelope is kept
    #[arg(long, value_name = "DAYS", default_value_t = 14, value_parser = clap::value_parser!(u64).range(1..=365))]
    max_age_days: u64,
    /// How large the stream may become, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(i64).range(1..=1_048_576))]
    max_mib: i64,
}

impl Init {
    pub(crate) async fn run(&self, context: &Context) -> Result<i32, Failure> {
        let (realm, own) = (context.realm(&self.me)?, context.machine(&self.me)?);
        let machines = self.machines.iter().map(|name| Machine::parse(name));
        let mut machines =
            machines.collect::<Result<Vec<_>, _>>().map_err(|error| Failure::usage(error.to_string()))?;
        if machines.is_empty() {
            machines.push(own.clone());
        }
        let (link, _words) = context.link(&self.server, &realm, &own).await?;
        let limits = Limits {
            max_age: Duration::from_secs(self.max_age_days * 24 * 3600),
            max_bytes: self.max_mib << 20,
            replicas: self.replicas,
        };
        link.check_version()?;
        let made = setup::init(link.context(), &realm, &machines, limits).await?;
        if context.json {
            let made: Vec<_> = made
                .iter()
                .map(|made| json!({"what": made.what, "name": made.name, "new": made.is_new}))
                .collect();
            let permissions: serde_json::Map<_, _> = machines
                .iter()
                .map(|machine| (machine.to_string(), setup::permissions(&realm, machine).into()))
                .collect();
            output::json(&json!({"realm": realm.to_string(), "made": made, "permissions": permissions}))?;
            return Ok(0);
        }
        let mut lines = Vec::new();
        for made in &made {
            let is = if made.is_new { "made" } else { "there" };
            lines.push(format!("{is:<6} {} {}", made.what, made.name));
        }
        for machine in &machines {
            lines.push(format!(
                "\n# The least that {machine} has to be allowed:\n{}",
                setup::permissions(&realm, machine)
            ));
        }
        output::lines(&lines.join("\n"))?;
        Ok(0)
    }
}
