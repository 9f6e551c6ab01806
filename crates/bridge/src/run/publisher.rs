//! What the engine posts, to the server; what the server answers, to the engine. And the heartbeats.

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use super::worker::{Input, Output, presence};
use super::{Shared, homes, now};
use crate::engine::{Post, Ticket};
use crate::envelope::codec::{self, Keys};
use crate::envelope::{Body, Envelope, SharedTeam};
use crate::nats::NatsError;
use crate::protocol::Position;
use crate::subject;

/// How often this machine says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How soon others are told how far this machine has processed the stream.
const TELL_PASSED: Duration = Duration::from_secs(1);

type Answer = BoxFuture<'static, (Ticket, Option<u64>)>;

pub(super) async fn run(shared: Shared, mut outputs: mpsc::UnboundedReceiver<Output>) {
    let mut answers: FuturesUnordered<Answer> = FuturesUnordered::new();
    // Nothing is announced before it is known who is at home here: others would take all for gone.
    let mut teams: Option<Vec<SharedTeam>> = None;
    let mut told: Option<(Option<Position>, Vec<SharedTeam>)> = None;
    let mut next_beat = Instant::now();
    let mut tick = tokio::time::interval(TELL_PASSED);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            output = outputs.recv() => match output {
                None => return,
                Some(Output::Posts(posts)) => {
                    for post in posts {
                        answers.extend(publish(&shared, post).await);
                    }
                }
                Some(Output::Homes(puts)) => drop(tokio::spawn(homes::put(shared.clone(), puts))),
                Some(Output::Teams(changed)) => {
                    teams = Some(changed);
                    next_beat = Instant::now();
                    tick.reset_immediately();
                }
            },
            Some((ticket, seq)) = answers.next() => shared.engine.send(Input::Published(ticket, position(&shared, seq))),
            _ = tick.tick() => {
                let Some(teams) = &teams else { continue };
                let passed = shared.passed().position();
                let news = told.as_ref().is_none_or(|told| *told != (passed.clone(), teams.clone()));
                if news && announce(&shared, passed.clone(), teams.clone(), true).await.is_ok() {
                    told = Some((passed.clone(), teams.clone()));
                }
                if Instant::now() >= next_beat {
                    next_beat = Instant::now() + HEARTBEAT;
                    if let Err(error) = announce(&shared, passed, teams.clone(), false).await {
                        // Others' words may be lost as well: all is said again.
                        told = None;
                        shared.engine.send(Input::Trouble(error.to_string()));
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
    passed: Option<Position>,
    teams: Vec<SharedTeam>,
    stays: bool,
) -> Result<(), NatsError> {
    let envelope = shared.plan.me.announce(presence(passed, teams), now());
    let Ok(bytes) = codec::encode(&envelope, &shared.plan.key, None) else { return Ok(()) };
    shared.link.announce(bytes, stays).await
}

/// Publishes a post; the server's answer comes later.
async fn publish(shared: &Shared, post: Post) -> Option<Answer> {
    let Post { envelope, ticket } = post;
    let Some((subject, bytes)) = encode(shared, &envelope) else {
        shared.engine.send(Input::Published(ticket, None));
        return None;
    };
    let id = message_id(&envelope, &ticket);
    match shared.link.publish(subject, id.as_deref(), bytes).await {
        Ok(stored) => Some(Box::pin(async move {
            let answer = stored.into_future().await;
            (ticket, answer.ok().map(|answer| answer.sequence))
        })),
        Err(error) => {
            shared.engine.send(Input::Trouble(error.to_string()));
            shared.engine.send(Input::Published(ticket, None));
            None
        }
    }
}

/// The id by which the server drops a repetition of the same attempt.
fn message_id(envelope: &Envelope, ticket: &Ticket) -> Option<String> {
    let (from, epoch) = (&envelope.header.from, &envelope.header.epoch);
    match ticket {
        // With its machine: one that was sent on begins anew there.
        Ticket::Letter { n, attempt } => {
            let to = envelope.header.to.as_ref()?;
            Some(format!("{from}-{epoch}-{to}-{n}-{attempt}"))
        }
        Ticket::Receipts { to, upto, attempt } => {
            Some(format!("{from}-{epoch}-r-{to}-{}-{attempt}", subject::token(upto)))
        }
        Ticket::Answer => None,
    }
}

fn encode(shared: &Shared, envelope: &Envelope) -> Option<(String, Vec<u8>)> {
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
    let bytes = codec::encode(envelope, &shared.plan.key, shared.plan.seals.then_some(&key)).ok()?;
    Some((subject, bytes))
}
