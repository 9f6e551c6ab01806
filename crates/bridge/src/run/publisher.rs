//! What the engine posts, to the server; what the server answers, to the engine. And the heartbeats.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::objects::{Content, Objects};
use super::presence::recall_last_word;
use super::telling::Telling;
use super::uploads::{Ready, Upload, Uploads};
use super::worker::{Input, Output};
use super::{Shared, homes, now};
use crate::engine::{Identity, Post, Ticket};
use crate::envelope::codec::{self, Keys};
use crate::envelope::seal::Sealer;
use crate::envelope::{Body, Envelope, Presence, SharedTeam};
use crate::name::Machine;
use crate::nats::{NatsError, Stored};
use crate::protocol::Position;
use crate::subject;

/// The longest wait for the list of this machine's objects: mail waits for it.
const LIST_OBJECTS: Duration = Duration::from_secs(10);

type Answer = BoxFuture<'static, (Ticket, Option<u64>)>;

pub(super) async fn run(shared: Shared, mut outputs: mpsc::UnboundedReceiver<Output>) {
    let mut answers: FuturesUnordered<Answer> = FuturesUnordered::new();
    let mut uploading: FuturesUnordered<BoxFuture<'static, Uploaded>> = FuturesUnordered::new();
    let mut uploads = Uploads::default();
    let mut sealer = Sealer::default();
    let (residences, newest) = watch::channel(Arc::default());
    // It ends with the sender.
    tokio::spawn(homes::put(shared.clone(), newest));
    let mut objects = Objects::default();
    let mut knows_objects = false;
    // Nothing is announced before it is known who is at home here: others would take all for gone.
    let mut teams: Option<Vec<SharedTeam>> = None;
    let mut told: Option<(Option<Position>, Vec<SharedTeam>)> = None;
    let mut me = shared.plan.me.clone();
    let mut knows_last_word = false;
    let mut telling = Telling::at_once(Instant::now());
    let mut passing = shared.passed.subscribe();
    let mut has_stream = passing.borrow_and_update().stream.is_some();
    loop {
        // Before, nothing is there yet to be told.
        let is_ready = has_stream && teams.is_some();
        tokio::select! {
            output = outputs.recv() => match output {
                None => return,
                Some(Output::Posts(posts)) => {
                    for post in posts {
                        let ready = ready(&shared, &mut sealer, &objects, post);
                        if let Some(ready) = ready.and_then(|ready| uploads.admit(ready)) {
                            begin(&shared, ready, &mut uploading, &mut answers).await;
                        }
                    }
                }
                Some(Output::Confirmed(letters)) => {
                    let names: Vec<String> = letters.iter().flat_map(|letter| objects.confirmed(letter)).collect();
                    delete(&shared, names);
                }
                Some(Output::Homes(newest)) => drop(residences.send_replace(Arc::new(newest))),
                Some(Output::Teams(changed)) => {
                    teams = Some(changed);
                    telling = Telling::at_once(Instant::now());
                }
                Some(Output::Epoch(epoch)) => {
                    me.epoch = epoch;
                    told = None;
                    telling.note_news(Instant::now());
                }
            },
            Ok(()) = passing.changed() => {
                if !std::mem::replace(&mut has_stream, passing.borrow_and_update().stream.is_some()) {
                    telling = Telling::at_once(Instant::now());
                }
                telling.note_news(Instant::now());
            }
            Some((ticket, seq)) = answers.next() => shared.engine.send(Input::Published(ticket, position(&shared, seq))),
            Some(Uploaded { ticket, published, made }) = uploading.next() => {
                if let Some(Made { letter, content, name, attempt }) = made {
                    delete(&shared, objects.replace(letter, content, (&name, attempt)));
                }
                answers.extend(answer(&shared, ticket, published));
                uploads.end();
                while let Some(ready) = uploads.next() {
                    begin(&shared, ready, &mut uploading, &mut answers).await;
                }
            }
            () = tokio::time::sleep_until(telling.due()), if is_ready => {
                let Some(teams) = &teams else { continue };
                let is_beat = telling.begin(Instant::now());
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
                        telling.note_failure(Instant::now());
                        continue;
                    }
                    knows_last_word = true;
                }
                if shared.namesakes().take_overwritten() {
                    // Machines that start later would not hear of this one.
                    told = None;
                }
                let passed = shared.passed().position();
                let news = told.as_ref().is_none_or(|told| *told != (passed.clone(), teams.clone()));
                if news {
                    match announce(&shared, &me, passed.clone(), teams.clone(), true).await {
                        Ok(()) => told = Some((passed.clone(), teams.clone())),
                        Err(_) => telling.note_news(Instant::now()),
                    }
                }
                if is_beat && let Err(error) = announce(&shared, &me, passed, teams.clone(), false).await {
                    // Others' words may be lost as well: all is said again, and soon.
                    told = None;
                    telling.note_failure(Instant::now());
                    shared.report(&error);
                }
            }
        }
    }
}

/// Publishes what is small, and begins to upload what is not.
async fn begin(
    shared: &Shared,
    mut ready: Ready,
    uploading: &mut FuturesUnordered<BoxFuture<'static, Uploaded>>,
    answers: &mut FuturesUnordered<Answer>,
) {
    match ready.upload.take() {
        Some(what) => uploading.push(upload(shared.clone(), ready, what).boxed()),
        None => answers.extend(publish(shared, ready).await),
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

/// A post as it is published. What cannot be is answered at once.
fn ready(shared: &Shared, sealer: &mut Sealer, objects: &Objects, post: Post) -> Option<Ready> {
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
    let to = envelope.header.to.clone();
    let lane = match (&envelope.body, &to) {
        (Body::Letter(letter), Some(to)) => Some((to.clone(), letter.team.clone(), letter.to.clone())),
        _ => None,
    };
    let upload = match (&ticket, to) {
        (Ticket::Letter { n, since, attempt, .. }, Some(to)) if shared.link.is_large(&bytes) => {
            let key = shared.trust.borrow().key_of(&to).map_or([0; 32], |key| key.to_bytes());
            let (letter, content) = ((to, *n), Content::of(&envelope, key));
            let known = content.as_ref().and_then(|content| objects.find(&letter, content, *since, *attempt));
            let known = known.map(str::to_owned);
            Some(Upload { letter, attempt: *attempt, content, known })
        }
        _ => None,
    };
    Some(Ready { ticket, subject, id, bytes, lane, upload })
}

/// Publishes what is small; the server's answer comes later.
async fn publish(shared: &Shared, ready: Ready) -> Option<Answer> {
    let Ready { ticket, subject, id, bytes, .. } = ready;
    let published = shared.link.publish(subject, id.as_deref(), bytes).await;
    answer(shared, ticket, published)
}

/// What the server will answer to a publication.
fn answer(shared: &Shared, ticket: Ticket, published: Result<Stored, NatsError>) -> Option<Answer> {
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

/// What came of an upload: the publication that names the object, and which object the letter has now, if that is a new one.
struct Uploaded {
    ticket: Ticket,
    published: Result<Stored, NatsError>,
    made: Option<Made>,
}

/// An object that was made for a letter.
struct Made {
    letter: (Machine, u64),
    content: Content,
    name: String,
    attempt: u32,
}

/// Puts a letter into the object store, unless that has it, and publishes the object's name. One that was made with an attempt before
/// the first one that counts has that attempt in it, and no answer to it would count.
async fn upload(shared: Shared, ready: Ready, upload: Upload) -> Uploaded {
    let Ready { ticket, subject, id, bytes, .. } = ready;
    let Upload { letter, attempt, content, known } = upload;
    let id = id.unwrap_or_default();
    if let Some(name) = known
        && shared.link.has_object(&name).await
    {
        let published = shared.link.publish_object(subject, Some(&id), &name).await;
        return Uploaded { ticket, published, made: None };
    }
    if let Err(error) = shared.link.put_object(&id, &bytes).await {
        return Uploaded { ticket, published: Err(error), made: None };
    }
    let published = shared.link.publish_object(subject, Some(&id), &id).await;
    let made = content.map(|content| Made { letter, content, name: id, attempt });
    Uploaded { ticket, published, made }
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
    let mut encode = |recipient| codec::encode_by(sealer, envelope, &shared.plan.key, recipient).ok();
    let bytes = encode(shared.plan.seals.then_some(&key))?;
    // Every machine of the realm may read the object store.
    let is_open = !shared.plan.seals && shared.link.is_large(&bytes);
    Some((subject, if is_open { encode(Some(&key))? } else { bytes }))
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
