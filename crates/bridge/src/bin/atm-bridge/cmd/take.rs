//! `atm bridge take`.

use atm_bridge::engine::Identity;
use atm_bridge::house::Share;
use atm_bridge::name::Machine;
use atm_bridge::nats::doctor::denied_in;
use atm_bridge::nats::{Bucket, Names, NatsError, Set, Word};
use atm_bridge::protocol::homes::{Content, Homes, MemberKey, Resident};
use atm_bridge::residence;
use atm_bridge::run::status::Status;
use atm_bridge::run::worker::remembered_homes;
use atm_wire::MemberName;
use serde_json::json;

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Make this machine the home of a member
///
/// The member moves here with its mail: what nobody has taken at its former home comes here. The former home may be off; when it
/// is back, it hears of it. The mail moves while a bridge runs here.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge take bob --team alpha
  atm bridge take bob --team alpha=work --nats nats://hub:4222 --json

Exit codes: 3 no machine has such a member; 4 every machine has its own (the lead, user), or the server does not take the
credentials; 5 other machines take it at the same time; 7 the server cannot be reached, or this user may not.")]
pub(crate) struct Take {
    /// The member
    name: String,
    /// Its team, as LOCAL or LOCAL=SHARED [default: the one in bridge.teams]
    #[arg(long, short, value_name = "TEAM")]
    team: Option<String>,
    #[command(flatten)]
    me: Me,
    #[command(flatten)]
    server: Server,
}

/// How often somebody else may be faster.
const ATTEMPTS: usize = 8;

/// A member that is at home here.
struct Taken {
    /// Where it was before.
    from: Option<String>,
    epoch: u64,
    /// Whether it was not at home here before.
    is_new: bool,
}

/// Why a member is not known to be at home here.
enum NotTaken {
    /// It is not.
    Certain(Failure),
    /// The server did not answer what was put there.
    Unknown { put: String, failure: Failure },
}

impl<T: Into<Failure>> From<T> for NotTaken {
    fn from(error: T) -> Self {
        Self::Certain(error.into())
    }
}

/// A machine registered a member so that nobody can go above it.
fn kept_for_ever(name: &MemberName, holder: &Machine) -> Failure {
    let why =
        format!("{holder} registered {name} under the highest epoch there is: no machine can take it over");
    Failure::new(4, "kept_for_ever", why).hint(format!(
        "no honest machine does that: `atm bridge trust --remove {holder}` on every machine; then take {name} again"
    ))
}

/// Whether the server said that a publication is not allowed.
fn denied(heard: &[Word], subject: &str) -> Option<Failure> {
    let words = heard.iter().filter_map(|word| match word {
        Word::Trouble(text) => Some(text.clone()),
        Word::Up | Word::Down => None,
    });
    let denied = denied_in(&words.collect::<Vec<_>>());
    denied.iter().any(|(_, denied)| denied == subject).then(|| {
        Failure::new(7, "nats", format!("not allowed: publish to {subject}"))
            .hint("`atm bridge doctor` says what this user has to be allowed")
    })
}

impl Take {
    pub(crate) async fn run(&self, context: &Context) -> Result<i32, Failure> {
        let name = MemberName::parse(&self.name).map_err(|error| Failure::usage(error.to_string()))?;
        let share = self.share(context)?;
        let office = context.office();
        let lead = office.team(&share.local)?.lead().ok().cloned();
        if lead.as_ref() == Some(&name) || name.as_str() == "user" {
            return Err(Failure::new(4, "own_on_each_machine", format!("every machine has its own {name}"))
                .hint(format!("the one of another machine is {name}.MACHINE")));
        }
        let (realm, machine) = (context.realm(&self.me)?, context.machine(&self.me)?);
        let epoch = office.machines().identity()?.epoch;
        let me = Identity { realm, machine, epoch };
        let (link, mut words) = context.link(&self.server, &me.realm, &me.machine).await?;
        let bucket = Bucket::open(&link, &Names::of(&me.realm).homes).await?;
        let homes = remembered_homes(&context.files());
        let before = office.machines().listed(&share.local, &name)?;
        let not_taken = match self.register(context, (&share, &me), &bucket, homes, before.is_some()).await {
            Ok(Taken { from, epoch, is_new }) => {
                return self.report(context, (&share, &me), from, (epoch, is_new));
            }
            Err(not_taken) => not_taken,
        };
        let heard: Vec<Word> = std::iter::from_fn(|| words.try_recv().ok()).collect();
        let failure = match not_taken {
            NotTaken::Certain(failure) => failure,
            // The server does not answer what it does not allow: it says so beside.
            NotTaken::Unknown { put, failure } => match denied(&heard, &put) {
                Some(denied) => denied,
                None => return Err(failure),
            },
        };
        // It may have failed before the member was put on the list.
        if before != office.machines().listed(&share.local, &name)? {
            office.machines().give_back(&share.local, &name, before.as_ref())?;
        }
        Err(failure)
    }

    /// Puts the member on the list here, and says in the bucket that it is at home here. If the server's answer is lost, its home may
    /// be here.
    async fn register(
        &self,
        context: &Context,
        (share, me): (&Share, &Identity),
        bucket: &Bucket,
        mut homes: Homes,
        is_known: bool,
    ) -> Result<Taken, NotTaken> {
        let (office, key, trust) = (context.office(), context.key()?, context.trust()?);
        let name = MemberName::parse(&self.name).map_err(|error| Failure::usage(error.to_string()))?;
        let member = MemberKey { team: share.shared.clone(), name: name.to_string() };
        let entry = residence::entry_of(&member);
        // Trust may have ended since a bridge ran here.
        homes.begin(|member, signed| residence::read(signed.as_bytes(), member, me, &key, &trust).is_ok());
        for _ in 0..ATTEMPTS {
            // One that cannot be checked here, since its key was replaced or is not trusted, holds nobody for ever.
            let found = bucket.standing(&entry).await?;
            let (value, revision) = found.map(|found| (found.value, found.revision)).unwrap_or_default();
            let claimed = value.as_deref().and_then(residence::claimed_epoch).unwrap_or(0);
            if let Some(value) = &value {
                let (slot, _) = residence::look_at(value, &member, me, &key, &trust);
                homes.find(member.clone(), slot, revision);
            } else if !is_known && homes.home_of(&member).is_none() {
                return Err(Failure::new(3, "no_such_member", format!("no machine has a member {name}"))
                    .hint(format!("`atm member add {name} --team {}` makes one", share.local))
                    .into());
            }
            if let Some(holder) = homes.kept_for_ever_by(&member).filter(|holder| **holder != me.machine) {
                return Err(kept_for_ever(&name, holder).into());
            }
            let from = homes.home_of(&member).map(|residence| residence.machine.to_string());
            // On the list first: a home that has nobody of the name on its list has given it up.
            let entry_here = Resident::of(office.machines().take_member(&share.local, &name)?);
            let (epoch, is_new) = match homes.take(&me.machine, &member, entry_here).map(|put| put.what) {
                Some(Content::New { epoch, resident, former, .. }) => {
                    let epoch = epoch.max(claimed.saturating_add(1));
                    let said = (epoch, resident, former.as_slice());
                    let value = residence::sign(me, &key, &member, said, Context::now());
                    // What this machine does not read, no other one does.
                    if let Err(refusal) = residence::read(&value, &member, me, &key, &trust) {
                        let why = format!("no machine would read that {name} is at home here: {refusal}");
                        return Err(Failure::new(4, "refused", why).into());
                    }
                    match bucket.set(&entry, value.clone(), revision).await {
                        Ok(Set::Done(_)) => {}
                        Ok(Set::Lost) => continue,
                        Err(error @ NatsError::Refused { .. }) => return Err(error.into()),
                        // The answer may be lost, and not the question.
                        Err(error) => {
                            let found = bucket.get(&entry).await.ok().flatten();
                            if found.is_none_or(|found| found.value != Some(value)) {
                                let put = bucket.subject(&entry);
                                return Err(NotTaken::Unknown { put, failure: error.into() });
                            }
                        }
                    }
                    (epoch, true)
                }
                _ => (homes.epoch_at(&member, &me.machine).unwrap_or(1), false),
            };
            return Ok(Taken { from, epoch, is_new });
        }
        Err(Failure::new(5, "busy", format!("other machines take {name} at the same time"))
            .hint("try it again")
            .into())
    }

    fn report(
        &self,
        context: &Context,
        (share, me): (&Share, &Identity),
        from: Option<String>,
        (epoch, is_new): (u64, bool),
    ) -> Result<i32, Failure> {
        let from = from.filter(|from| *from != me.machine.as_str());
        let is_served = context.office().machines().is_served();
        if context.json {
            output::json(&json!({
                "name": self.name, "team": share.local.as_str(), "machine": me.machine.as_str(), "from": from,
                "epoch": epoch, "changed": is_new, "running": is_served,
            }))?;
            return Ok(0);
        }
        let Self { name, .. } = self;
        let mut lines = match from {
            Some(from) => format!("{name} is at home on {} now; it was on {from}", me.machine),
            None => format!("{name} is at home on {}", me.machine),
        };
        if !is_served {
            lines.push_str("\nno bridge runs here: its mail comes when one does (`atm bridge run`)");
        }
        output::lines(&lines)?;
        Ok(0)
    }

    /// The team here and its shared name: as it is given, as the bridge has it, or as it is set.
    fn share(&self, context: &Context) -> Result<Share, Failure> {
        let running = Status::load(&context.files()).map(|status| status.teams).unwrap_or_default();
        let known = if running.is_empty() { context.settings.teams.clone() } else { running };
        let all = Share::parse_all(known.iter().map(String::as_str)).unwrap_or_default();
        let Some(given) = &self.team else {
            let mut all = all;
            let one = all.pop().filter(|_| all.is_empty());
            return one.ok_or_else(|| Failure::usage("which team? --team NAME"));
        };
        if let Some(share) = all.into_iter().find(|share| share.local.as_str() == given) {
            return Ok(share);
        }
        let mut given = context.shares(std::slice::from_ref(given))?;
        given.pop().ok_or_else(|| Failure::usage("which team? --team NAME"))
    }
}
