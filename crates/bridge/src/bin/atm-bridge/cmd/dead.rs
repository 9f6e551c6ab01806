//! `atm bridge dead`.

use atm_bridge::envelope::{Body, Refusal, codec};
use atm_bridge::house::Share;
use atm_bridge::local::Letter;
use atm_bridge::name::{Machine, Realm};
use atm_bridge::nats::{DeadLetter, Link};
use atm_bridge::run::status::Status;
use atm_bridge::{subject, trust::Trust, wanted};
use ed25519_dalek::SigningKey;
use serde_json::json;

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// List letters that could not be taken in here, or have one taken in after all
///
/// A dead letter was answered as failed, so that the next one could pass. After an upgrade it may be readable: with --again it
/// is published once more and taken in, although later ones have passed; its signature is checked as ever, and its sender is
/// told that it is written. What still cannot be read is dead again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge dead
  atm bridge dead --nats nats://hub:4222 --json
  atm bridge dead --again 42

Exit codes: 3 there is no such dead letter; 7 the server cannot be reached.")]
pub(crate) struct Dead {
    #[command(flatten)]
    me: Me,
    #[command(flatten)]
    server: Server,
    /// The number of a dead letter that is to be taken in
    #[arg(long, value_name = "NUMBER")]
    again: Option<u64>,
}

/// As many as anybody reads.
const MOST: usize = 1_000;

impl Dead {
    pub(crate) async fn run(&self, context: &Context) -> Result<i32, Failure> {
        let (realm, machine) = (context.realm(&self.me)?, context.machine(&self.me)?);
        let (link, _words) = context.link(&self.server, &realm, &machine).await?;
        match self.again {
            Some(number) => again(context, &link, number, &subject::again(&realm, &machine)).await,
            None => list(context, &link, &realm, &machine).await,
        }
    }
}

/// First it is written down that it is wanted, then it is published, as this machine's own word to itself: the bridge that gets
/// it knows.
async fn again(context: &Context, link: &Link, number: u64, subject: &str) -> Result<i32, Failure> {
    let found = link.dead_letters(number, 1).await?.pop().filter(|dead| dead.seq == number);
    let Some(dead) = found else {
        let text = format!("there is no dead letter {number}");
        return Err(Failure::new(3, "no_such_dead_letter", text).hint("`atm bridge dead` lists them"));
    };
    let Some(envelope) = dead.envelope else {
        let text = format!("the envelope of dead letter {number} is not there any more");
        return Err(Failure::new(3, "no_such_dead_letter", text).hint("have its sender send it again"));
    };
    wanted::add(&context.files(), &envelope).map_err(|error| Failure::new(7, "io", error.to_string()))?;
    let stored = link.publish(subject.to_owned(), None, envelope).await?;
    stored.await.map_err(|error| Failure::new(7, "nats", error.to_string()))?;
    let is_running = context.office().machines().is_served();
    if context.json {
        output::json(&json!({"number": number, "published": true, "running": is_running}))?;
    } else {
        let then = if is_running { "" } else { "; it is taken in when a bridge runs: `atm bridge run`" };
        output::lines(&format!("dead letter {number} is published again{then}"))?;
    }
    Ok(0)
}

async fn list(context: &Context, link: &Link, realm: &Realm, machine: &Machine) -> Result<i32, Failure> {
    let (trust, key) = (context.trust()?, context.key()?);
    let shares = shares(context);
    let (mut documents, mut lines) = (Vec::new(), Vec::new());
    for dead in link.dead_letters(1, MOST).await? {
        let letter = letter_in(&dead, (&trust, &key), realm, machine);
        let reason = match &letter {
            Err(more) => format!("{}; {more}", dead.reason),
            Ok(_) => dead.reason,
        };
        let letter = letter.ok().flatten();
        let is_taken = letter.as_ref().is_some_and(|letter| is_taken(context, &shares, letter));
        let (id, from, to) = letter.map(|letter| (letter.id, letter.from, letter.to)).unwrap_or_default();
        let about = if id.is_empty() { String::new() } else { format!("  {from} to {to}, {id}") };
        let state = if is_taken { "taken in since" } else { reason.as_str() };
        lines.push(format!("{:<8} {state}{about}", dead.seq));
        documents.push(json!({
            "number": dead.seq, "reason": reason, "subject": dead.subject, "id": id, "from": from, "to": to,
            "taken": is_taken,
        }));
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

/// The letter in a dead envelope, if it is there; or what there is to say beside the reason, which says nothing of what may have
/// been sealed.
fn letter_in(
    dead: &DeadLetter,
    (trust, key): (&Trust, &SigningKey),
    realm: &Realm,
    machine: &Machine,
) -> Result<Option<Letter>, String> {
    let envelope = dead.envelope.as_ref().ok_or("its envelope is not there any more")?;
    let Ok(checked) = codec::check(envelope, trust, realm, machine) else { return Ok(None) };
    match checked.open(key).map(|envelope| envelope.body) {
        Ok(Body::Letter(letter)) => Ok(Some(letter)),
        Err(Refusal::Unreadable { why, .. }) => Err(why),
        _ => Ok(None),
    }
}

/// The teams that the last bridge shared, else those of the settings.
fn shares(context: &Context) -> Vec<Share> {
    let teams = Status::load(&context.files()).map(|status| status.teams).unwrap_or_default();
    context.shares(&teams).unwrap_or_default()
}

/// Whether the ledger has it by now.
fn is_taken(context: &Context, shares: &[Share], letter: &Letter) -> bool {
    let Some(share) = shares.iter().find(|share| share.shared == letter.team) else { return false };
    let asked = [(share.local.clone(), letter.to.clone(), letter.id.clone())];
    context.office().machines().known(&asked).is_ok_and(|known| known == [true])
}
