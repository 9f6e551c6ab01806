//! `atm bridge init`.

use std::time::Duration;

use atm_bridge::name::{Machine, Realm};
use atm_bridge::nats::setup::{self, Limits, Made};
use serde_json::{Map, Value, json};

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Make what the realm needs on the server, and print the least permissions a machine needs
///
/// Idempotent: what is there stays as it is. Needs a user that may make streams; `run` does not. With --permissions, no server is
/// needed: what is printed is a file for the server's configuration to include.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge init --nats nats://hub:4222
  atm bridge init --nats nats://hub:4222 --realm work --for laptop --for desk
  atm bridge init --nats nats://hub:4222 --replicas 3 --max-age-days 30
  atm bridge init --permissions --for laptop > laptop.conf

Exit codes: 4 the server does not take the credentials; 7 it cannot be reached, or this user may not.")]
pub(crate) struct Init {
    #[command(flatten)]
    me: Me,
    #[command(flatten)]
    server: Server,
    /// A machine that will join; several times for several [default: this one]
    #[arg(long = "for", value_name = "MACHINE")]
    machines: Vec<String>,
    /// Only print the least permissions, without a server
    #[arg(long)]
    permissions: bool,
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
        if self.permissions {
            show(context, &realm, &machines, &[])?;
            return Ok(0);
        }
        let (link, _words) = context.link(&self.server, &realm, &own).await?;
        let limits = Limits {
            max_age: Duration::from_secs(self.max_age_days * 24 * 3600),
            max_bytes: self.max_mib << 20,
            replicas: self.replicas,
        };
        link.check_version()?;
        let made = setup::init(link.context(), &realm, &machines, limits).await?;
        show(context, &realm, &machines, &made)?;
        Ok(0)
    }
}

fn show(context: &Context, realm: &Realm, machines: &[Machine], made: &[Made]) -> Result<(), Failure> {
    if context.json {
        let made: Vec<_> = made
            .iter()
            .map(|made| json!({"what": made.what, "name": made.name, "new": made.is_new}))
            .collect();
        let by_machine = |value: &dyn Fn(&Machine) -> Value| -> Map<String, Value> {
            machines.iter().map(|machine| (machine.to_string(), value(machine))).collect()
        };
        let permissions = by_machine(&|machine| setup::permissions(realm, machine).into());
        let rights = by_machine(&|machine| {
            let setup::Rights { publish, subscribe } = setup::rights(realm, machine);
            json!({"publish": publish, "subscribe": subscribe})
        });
        return output::json(&json!({
            "realm": realm.to_string(), "made": made, "permissions": permissions, "rights": rights,
        }));
    }
    let mut lines = Vec::new();
    for made in made {
        let is = if made.is_new { "made" } else { "there" };
        lines.push(format!("{is:<6} {} {}", made.what, made.name));
    }
    for machine in machines {
        lines.push(format!(
            "# The least that {machine} has to be allowed:\n{}",
            setup::permissions(realm, machine)
        ));
    }
    output::lines(&lines.join("\n"))
}
