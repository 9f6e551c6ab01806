//! `atm bridge init`.

use std::time::Duration;

use atm_bridge::name::{Machine, Realm};
use atm_bridge::nats::bounds::{self, Asked, Change};
use atm_bridge::nats::setup::{self, Made};
use serde_json::{Map, Value, json};

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Make what the realm needs on the server, and print the least permissions a machine needs
///
/// Idempotent: what is there stays as it is, unless it has no bound, loses or refuses the wrong things when it is full, or was made with
/// other limits than those that are given here. Needs a user that may make streams; `run` does not. With --permissions, no server is
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
    /// How many servers keep what is made, 1 to 5 [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=5))]
    replicas: Option<u8>,
    /// How long an envelope is kept, 7 to 30 days [default: 14]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(7..=30))]
    max_age_days: Option<u64>,
    /// How large the stream may become, and the store of large letters, in MiB [default: 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(i64).range(1..=1_048_576))]
    max_mib: Option<i64>,
    /// How large each bucket may become, in MiB: of machines, members' homes and tasks [default: 64]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(i64).range(1..=1_048_576))]
    bucket_mib: Option<i64>,
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
            show(context, &realm, &machines, &[], &[])?;
            return Ok(0);
        }
        let (link, _words) = context.link(&self.server, &realm, &own).await?;
        let asked = Asked {
            max_age: self.max_age_days.map(|days| Duration::from_secs(days * 24 * 3600)),
            max_bytes: self.max_mib.map(|mib| mib << 20),
            bucket_bytes: self.bucket_mib.map(|mib| mib << 20),
            replicas: self.replicas.map(usize::from),
        };
        link.check_version()?;
        let link = link.remembering(context.files().limits());
        let known = link.known_limits().unwrap_or_default();
        // What is there says how the rest is to be kept; what is gone as a whole, what is remembered of it.
        let limits = asked.limits(setup::look(link.context(), &realm, known).await);
        let changed = bounds::update(link.context(), &realm, &asked).await;
        let made = setup::init(link.context(), &realm, &machines, limits).await?;
        show(context, &realm, &machines, &made, &changed)?;
        Ok(0)
    }
}

fn show(
    context: &Context,
    realm: &Realm,
    machines: &[Machine],
    made: &[Made],
    changed: &[Change],
) -> Result<(), Failure> {
    if context.json {
        let made: Vec<_> = made
            .iter()
            .map(|made| json!({"what": made.what, "name": made.name, "new": made.is_new}))
            .collect();
        let changed: Vec<_> = changed
            .iter()
            .map(|change| json!({"name": change.name, "changes": change.changes, "error": change.error}))
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
            "realm": realm.to_string(), "made": made, "changed": changed, "permissions": permissions, "rights": rights,
        }));
    }
    let mut lines = Vec::new();
    for made in made {
        let is = if made.is_new { "made" } else { "there" };
        lines.push(format!("{is:<6} {} {}", made.what, made.name));
    }
    for Change { name, changes, error } in changed {
        let is = changes.join(", ");
        lines.push(match error {
            None => format!("now    {name} {is}"),
            Some(why) => format!("as was {name}, which should be one that {is}; the server says: {why}"),
        });
    }
    for machine in machines {
        lines.push(format!(
            "# The least that {machine} has to be allowed:\n{}",
            setup::permissions(realm, machine)
        ));
    }
    output::lines(&lines.join("\n"))
}
