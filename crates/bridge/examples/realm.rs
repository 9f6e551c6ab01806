//! A realm of any size on one server, without its machines: what they would make, publish and announce there, and what the server
//! says of it. `cargo xtask bench --only realm` runs it for several sizes.
//!
//! Arguments: the server's address, how many machines, how many letters.

use std::time::{Duration, Instant};

use atm_bridge::name::{Machine, Realm};
use atm_bridge::nats::setup::{self, Limits};
use atm_bridge::nats::{Bucket, Link, Names, Options, connect};
use atm_bridge::subject;
use futures_util::StreamExt;
use futures_util::stream::select_all;
use serde_json::json;

/// Members on each machine.
const MEMBERS: usize = 10;
/// Members to whom each member writes: nobody in a large realm writes to everybody.
const PEERS: usize = 100;
/// A sealed letter of 250 characters with its headers, and what a machine with ten members announces, in bytes.
const LETTER: usize = 1_000;
const WORD: usize = 1_500;
/// Heartbeats of so many machines are sent before their listeners are waited for.
const AT_ONCE: usize = 20;
/// Publications that are not answered yet.
const WINDOW: usize = 1_024;

type Failure = Box<dyn std::error::Error>;

struct Scene {
    options: Options,
    link: Link,
    realm: Realm,
    machines: Vec<Machine>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, machines, letters] = words.as_slice() else {
        return Err("usage: realm URL MACHINES LETTERS".into());
    };
    let (machines, letters): (usize, usize) = (machines.parse()?, letters.parse()?);
    let realm: Realm = "scale".parse()?;
    let machines: Vec<Machine> =
        (0..machines).map(|number| format!("m{number:06}").parse()).collect::<Result<_, _>>()?;
    let me = machines.first().ok_or("a realm has a machine")?.clone();
    let options = Options { servers: vec![url.clone()], ..Options::default() };
    let link = link_of(&options, &realm, &me).await?;
    let scene = Scene { options, link, realm, machines };

    // The server reserves it, for the stream and for the object store.
    let limits = Limits { max_bytes: 8 << 30, ..Limits::default() };
    let made = Instant::now();
    setup::init(scene.link.context(), &scene.realm, &scene.machines, limits).await?;
    let made = made.elapsed();
    let published = scene.publish(letters).await?;
    let announced = scene.announce().await?;
    let heard = scene.listen().await?;
    let (taken, took) = scene.take().await?;
    let (beats, consumers) = scene.beat().await?;
    let mut stream = scene.link.context().get_stream(Names::of(&scene.realm).stream).await?;
    let state = stream.info().await?.state.clone();
    let document = json!({
        "consumers": consumers,
        "beats_heard": beats.heard,
        "beats_bytes": beats.bytes,
        "beats_ms": millis(beats.took),
        "made_ms": millis(made),
        "published": letters,
        "published_ms": millis(published),
        "announced_ms": millis(announced),
        "heard_ms": millis(heard),
        "taken": taken,
        "taken_ms": millis(took),
        "subjects": state.subjects_count,
        "bytes": state.bytes,
    });
    println!("{document}");
    Ok(())
}

async fn link_of(options: &Options, realm: &Realm, machine: &Machine) -> Result<Link, Failure> {
    let (words, _heard) = tokio::sync::mpsc::unbounded_channel();
    let client = connect(options, realm, machine, false, words).await?;
    Ok(Link::new(client, realm.clone(), machine.clone()))
}

/// What all machines together heard of one heartbeat of each.
struct Beats {
    heard: usize,
    bytes: usize,
    took: Duration,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Scene {
    /// Publishes letters between members, each pair in turn.
    async fn publish(&self, letters: usize) -> Result<Duration, Failure> {
        let begun = Instant::now();
        let members = self.machines.len() * MEMBERS;
        let mut stored = std::collections::VecDeque::new();
        for number in 0..letters {
            let from = number % members;
            // Its peers are spread over the realm.
            let to = (from + 1 + (number / members % PEERS) * (members / PEERS).max(1)) % members;
            let (sender, recipient) = (format!("agent-{from}"), format!("agent-{to}"));
            let (home, here) = (&self.machines[to / MEMBERS], &self.machines[from / MEMBERS]);
            let subject = subject::letter(&self.realm, home, here, "team", &recipient, &sender);
            stored.push_back(self.link.publish(subject, None, vec![b'x'; LETTER]).await?);
            if stored.len() >= WINDOW
                && let Some(first) = stored.pop_front()
            {
                first.await?;
            }
        }
        for stored in stored {
            stored.await?;
        }
        Ok(begun.elapsed())
    }

    /// One announcement of each machine.
    async fn announce(&self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        let bucket = Names::of(&self.realm).machines;
        let mut stored = Vec::new();
        for machine in &self.machines {
            let subject = format!("$KV.{bucket}.{machine}");
            stored.push(self.link.context().publish(subject, vec![b'x'; WORD].into()).await?);
        }
        for stored in stored {
            stored.await?;
        }
        Ok(begun.elapsed())
    }

    /// What a machine that starts hears of all others.
    async fn listen(&self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        let mut words = self.link.listen(true).await?;
        for _ in &self.machines {
            words.next().await.ok_or("the server ended it")??;
        }
        Ok(begun.elapsed())
    }

    /// All letters for one machine, through its consumer.
    async fn take(&self) -> Result<(u64, Duration), Failure> {
        let begun = Instant::now();
        let waiting = self.link.lag().await?.count();
        let (mut messages, _) = self.link.fetch().await?;
        let mut taken = 0;
        while taken < waiting {
            let batch = messages.next().await?;
            for arrived in &batch {
                arrived.acknowledge().await;
            }
            taken += batch.len() as u64;
        }
        Ok((taken, begun.elapsed()))
    }

    /// One heartbeat of each machine, while each listens by a connection of its own to all that a bridge listens to. Also says how many
    /// consumers the server has then.
    async fn beat(&self) -> Result<(Beats, usize), Failure> {
        let names = Names::of(&self.realm);
        let (mut beats, mut others, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for machine in &self.machines {
            let link = link_of(&self.options, &self.realm, machine).await?;
            beats.push(link.listen(false).await?);
            others.push(link.listen(true).await?);
            for bucket in [&names.homes, &names.tasks] {
                others.push(Bucket::open(&link, bucket).await?.watch().await?);
            }
            links.push(link);
        }
        let consumers = self.link.context().query_account().await?.consumers;
        let (mut heard, mut bytes, begun) = (0, 0, Instant::now());
        let mut beats = select_all(beats);
        for some in self.machines.chunks(AT_ONCE) {
            for machine in some {
                let subject = format!("$KV.{}.{machine}", names.presence);
                self.link.context().publish(subject, vec![b'x'; WORD].into()).await?.await?;
            }
            for _ in 0..some.len() * self.machines.len() {
                bytes += beats.next().await.ok_or("the server ended it")??.value.len();
                heard += 1;
            }
        }
        Ok((Beats { heard, bytes, took: begun.elapsed() }, consumers))
    }
}
