//! What the engine posts, to the server; what the server answers, to the engine. And the heartbeats.

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use super::objects::{Content, Objects};
use super::presence::recall_last_word;
use super::worker::{Input, Output};
use super::{Shared, homes, now};
use crate::engine::{Identity, Post, Ticket};
use crate::envelope::codec::{self, Keys};
use crate::envelope::seal::Sealer;
use crate::envelope::{Body, Envelope, Presence, SharedTeam};
use crate::name::Machine;
use crate::nats::NatsError;
use crate::protocol::Position;
use crate::subject;

/// How often this machine says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How soon others are told how far this machine has processed the stream.
const TELL_PASSED: Duration = Duration::from_secs(1);

/// The longest wait for the list of this machine's objects: mail waits for it.
const LIST_OBJECTS: Duration = Duration::from_secs(10);

type Answer = BoxFuture<'static, (Ticket, Option<u64>)>;

pub(super) async fn run(shared: Shared, mut outputs: mpsc::UnboundedReceiver<Output>) {
    let mut answers: FuturesUnordered<Answer> = FuturesUnordered::new();
    let mut sealer = Sealer::default();
    let mut objects = Objects::default();
    let mut knows_objects = false;
    // Nothing is announced before it is known who is at home here: others would take all for gone.
    let mut teams: Option<Vec<SharedTeam>> = None;
    let mut told: Option<(Option<Position>, Vec<SharedTeam>)> = None;
    let mut me = shared.plan.me.clone();
    let mut knows_last_word = false;
    let mut next_beat = Instant::now();
    let mut tick = tokio::time::interval(TELL_PASSED);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            output = outputs.recv() => match output {
                None => return,
                Some(Output::Posts(posts)) => {
                    for post in posts {
                        answers.extend(publish(&shared, &mut sealer, &mut objects, post).await);
                    }
                }
                Some(Output::Confirmed(letters)) => {
                    let names: Vec<String> = letters.iter().flat_map(|letter| objects.confirmed(letter)).collect();
                    delete(&shared, names);
                }
                Some(Output::Homes(puts)) => drop(tokio::spawn(homes::put(shared.clone(), puts))),
                Some(Output::Teams(changed)) => {
                    teams = Some(changed);
                    next_beat = Instant::now();
                    tick.reset_immediately();
                }
                Some(Output::Epoch(epoch)) => {
                    me.epoch = epoch;
                    told = None;
                }
            },
            Some((ticket, seq)) = answers.next() => shared.engine.send(Input::Published(ticket, position(&shared, seq))),
            _ = tick.tick() => {
                let Some(teams) = &teams else { continue };
                if shared.passed().stream.is_none() {
                    // Nothing is there yet to be told.
                    continue;
                }
                if !knows_objects {
                    // What cannot be listed is left to its age.
                    knows_objects = true;
                    let prefix = object_prefix(&me);
                    let listed = tokio::time::timeout(LIST_OBJECTS, shared.link.object_names(&prefix)).await;
                    if let Ok(Ok(names)) = listed {
                        objects.recover(names, &prefix);
                    }
                }
                if !knows_last_word {
                    if let Err(error) = recall_last_word(&shared).await {
                        shared.report(&error);
                        continue;
                    }
                    knows_last_word = true;
                }
                let passed = shared.passed().position();
                let news = told.as_ref().is_none_or(|told| *told != (passed.clone(), teams.clone()));
                if news && announce(&shared, &me, passed.clone(), teams.clone(), true).await.is_ok() {
                    told = Some((passed.clone(), teams.clone()));
                }
                if Instant::now() >= next_beat {
                    next_beat = Instant::now() + HEARTBEAT;
                    if let Err(error) = announce(&shared, &me, passed, teams.clone(), false).await {
                        // Others' words may be lost as well: all is said again, and soon.
                        told = None;
                        next_beat = Instant::now();
                        shared.report(&error);
                    }
                }
            }
        }
    }
}

/// Where it is, if the server said so and it is known which stream that is.
fn position(shared: &Shared, seq: Option<u64>) -> Option<Position> {
    let stream = shared.passed().stream.clone()?;
    Some(Position { stream, seq: seq? })
}

async fn announce(
    shared: &Shared,
    me: &Identity,
    passed: Option<Position>,
    teams: Vec<SharedTeam>,
    stays: bool,
) -> Result<(), NatsError> {
    let at = shared.last_word.next(now());
    if let Err(error) = shared.last_word.write(at, &shared.plan.files) {
        shared.engine.send(Input::Trouble(error.to_string()));
    }
    let envelope = me.announce(Body::Presence(Presence { passed, teams }), at);
    let Ok(bytes) = codec::encode(&envelope, &shared.plan.key, None) else { return Ok(()) };
    shared.namesakes().say(&bytes, at, stays);
    shared.link.announce(bytes, stays).await
}

/// Publishes a post; the server's answer comes later.
async fn publish(shared: &Shared, sealer: &mut Sealer, objects: &mut Objects, post: Post) -> Option<Answer> {
    let Post { mut envelope, ticket } = post;
    // The engine's time is no clock's.
    envelope.header.at = now();
    let Some((subject, bytes)) = encode(shared, sealer, &envelope) else {
        shared.engine.send(Input::Published(ticket, None));
        return None;
    };
    if bytes.len() > codec::LARGEST {
        // Nobody would read it, and all behind it would wait for it for ever.
        shared.engine.send(Input::TooLarge(ticket, bytes.len()));
        return None;
    }
    let id = message_id(&envelope, &ticket);
    let object = match (&ticket, &id, &envelope.header.to) {
        (Ticket::Letter { n, since, .. }, Some(id), Some(to)) if shared.link.is_large(&bytes) => {
            Some(store(shared, objects, ((to.clone(), *n), *since, id), &envelope, &bytes).await)
        }
        _ => None,
    };
    let published = match object {
        Some(Ok(name)) => shared.link.publish_object(subject, id.as_deref(), &name).await,
        Some(Err(error)) => Err(error),
        None => shared.link.publish(subject, id.as_deref(), bytes).await,
    };
    match published {
        Ok(stored) => Some(Box::pin(async move {
            let answer = stored.into_future().await;
            (ticket, answer.ok().map(|answer| answer.sequence))
        })),
        Err(error) => {
            shared.report(&error);
            shared.engine.send(Input::Published(ticket, None));
            None
        }
    }
}

/// The object of a letter: the one that the store has, or else a new one. One that was made with an attempt before `since` has that
/// attempt in it, and no answer to it would count.
async fn store(
    shared: &Shared,
    objects: &mut Objects,
    (letter, since, id): ((Machine, u64), u32, &str),
    envelope: &Envelope,
    bytes: &[u8],
) -> Result<String, NatsError> {
    let key = shared.trust.borrow().key_of(&letter.0).map_or([0; 32], |key| key.to_bytes());
    let content = Content::of(envelope, key);
    let known = content.as_ref().and_then(|content| objects.find(&letter, content, since)).map(str::to_owned);
    if let Some(name) = known
        && shared.link.has_object(&name).await
    {
        return Ok(name);
    }
    shared.link.put_object(id, bytes).await?;
    if let Some(content) = content {
        delete(shared, objects.replace(letter, content, (id, envelope.header.attempt)));
    }
    Ok(id.to_owned())
}

/// Deletes objects, while other things go on. What cannot be deleted is left to its age.
fn delete(shared: &Shared, names: Vec<String>) {
    if names.is_empty() {
        return;
    }
    let link = shared.link.clone();
    tokio::spawn(async move {
        for name in names {
            let _ = link.delete_object(&name).await;
        }
    });
}

/// How the names of this machine's objects begin.
fn object_prefix(me: &Identity) -> String {
    format!("{}-{}-", me.machine, me.epoch)
}

/// The id by which the server drops a repetition of the same attempt.
fn message_id(envelope: &Envelope, ticket: &Ticket) -> Option<String> {
    let (from, epoch) = (&envelope.header.from, &envelope.header.epoch);
    match ticket {
        // A letter that was re-addressed is another one: its attempts begin anew.
        Ticket::Letter { n, attempt, .. } => {
            Some(format!("{from}-{epoch}-{n}-{}-{attempt}", envelope.header.to.as_ref()?))
        }
        Ticket::Receipts { to, upto, attempt } => {
            Some(format!("{from}-{epoch}-r-{to}-{}-{attempt}", subject::token(upto)))
        }
        Ticket::Answer => None,
    }
}

fn encode(shared: &Shared, sealer: &mut Sealer, envelope: &Envelope) -> Option<(String, Vec<u8>)> {
    let header = &envelope.header;
    let to = header.to.as_ref()?;
    let subject = match &envelope.body {
        Body::Letter(letter) => {
            subject::letter(&header.realm, to, &header.from, &letter.team, &letter.to, &letter.from)
        }
        body => subject::other(&header.realm, to, &header.from, body.kind()),
    };
    // Without the recipient's key nothing is sent: it could not answer.
    let key = shared.trust.borrow().key_of(to)?;
    let recipient = shared.plan.seals.then_some(&key);
    let bytes = codec::encode_by(sealer, envelope, &shared.plan.key, recipient).ok()?;
    Some((subject, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Header;
    use crate::local::Letter;

    /// The server would drop it as a repetition of what it has for the former machine, and nobody would get it.
    #[test]
    fn a_letter_that_was_re_addressed_is_no_repetition() {
        let id_to = |machine: &str| {
            let header = Header {
                realm: "home".parse().unwrap(),
                from: "laptop".parse().unwrap(),
                to: Some(machine.parse().unwrap()),
                epoch: "e".into(),
                n: 7,
                attempt: 1,
                at: now(),
            };
            let envelope = Envelope { header, body: Body::Letter(Letter::sample()) };
            message_id(&envelope, &Ticket::Letter { n: 7, attempt: 1, since: 1, size: 2 })
        };
        assert_eq!(id_to("hub"), id_to("hub"));
        assert_ne!(id_to("hub"), id_to("desk"));
    }
}
