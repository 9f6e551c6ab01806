//! `atm bridge dead`.

use atm_bridge::envelope::Body;
use atm_bridge::envelope::codec;
use serde_json::json;

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// List envelopes that could not be taken in here, or publish one again
///
/// A dead letter was answered as failed, so that the next one could pass. After an upgrade it may be readable: --again publishes
/// its envelope as it was, and its signature is checked as ever.
///
/// Examples:
///   atm bridge dead --nats nats://hub:4222
///   atm bridge dead --nats nats://hub:4222 --again 42
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Dead {
    #[command(flatten)]
    me: Me,
    #[command(flatten)]
    server: Server,
    /// The number of a dead letter that is published again
    #[arg(long, value_name = "NUMBER")]
    again: Option<u64>,
}

/// As many as anybody reads.
const MOST: usize = 1_000;

impl Dead {
    pub(crate) async fn run(&self, context: &Context) -> Result<i32, Failure> {
        let (realm, machine) = (context.realm(&self.me)?, context.machine(&self.me)?);
        let link = context.link(&self.server, &realm, &machine).await?;
        if let Some(number) = self.again {
            let found = link.next_dead(number).await?.filter(|dead| dead.seq == number);
            let Some(dead) = found else {
                return Err(Failure::new(
                    3,
                    "no_such_dead_letter",
                    format!("there is no dead letter {number}"),
                )
                .hint("`atm bridge dead` lists them"));
            };
            let stored = link.publish(dead.subject, None, dead.envelope).await?;
            stored.await.map_err(|error| Failure::new(7, "nats", error.to_string()))?;
            if context.json {
                output::json(&json!({"number": number, "published": true}))?;
            } else {
                output::lines(&format!("dead letter {number} is published again"))?;
            }
            return Ok(0);
        }
        let (trust, key) = (context.trust()?, context.key()?);
        let (mut documents, mut lines, mut next) = (Vec::new(), Vec::new(), 1);
        while let Some(dead) = link.next_dead(next).await?.filter(|_| documents.len() < MOST) {
            next = dead.seq + 1;
            let opened =
                codec::check(&dead.envelope, &trust, &realm, &machine).and_then(|checked| checked.open(&key));
            let about = opened.ok().and_then(|envelope| match envelope.body {
                Body::Letter(letter) => Some((letter.id, letter.from, letter.to)),
                _ => None,
            });
            let (id, from, to) = about.unwrap_or_default();
            lines.push(format!("{:<8} {} {id} {from} {to}", dead.seq, dead.reason));
            documents.push(json!({"number": dead.seq, "reason": dead.reason, "subject": dead.subject, "id": id, "from": from, "to": to}));
        }
        if context.json {
            output::json(&documents.into())?;
        } else if lines.is_empty() {
            output::lines("no dead letters")?;
        } else {
            output::lines(&lines.join("\n"))?;
        }
        Ok(0)
    }
}
