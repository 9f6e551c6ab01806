//! The bucket of members' homes: what it has goes to the engine's thread, what that one decides goes into the bucket.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::kv::Operation;
use atm_wire::Stamp;
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::worker::Input;
use super::{Shared, now, steady_now};
use crate::nats::places::{self, Places};
use crate::nats::{Bucket, Names, NatsError, Set};
use crate::protocol::StreamView;
use crate::protocol::homes::{Content, MemberKey, Put, Slot};
use crate::residence;

/// The wait before the server is asked again.
const BETWEEN: Duration = Duration::from_secs(2);
/// How often it is asked whether the bucket is another one, if the stream is the same: then it is hardly ever.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The first waits before it is asked again whether anything is left in the stream.
const WAITS: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
];

/// What is new about the bucket.
#[derive(Debug)]
pub enum News {
    /// It was opened, perhaps another one of its name, or because other machines are trusted now.
    Opened(Check),
    /// An entry and its revision.
    Found(MemberKey, Slot, u64),
    /// All entries were seen.
    Whole,
}

type IsValid = dyn Fn(&MemberKey, &str) -> bool + Send;

/// Whether what a machine signed about a member is verified by the keys that are trusted now.
pub struct Check(Box<IsValid>);

impl Check {
    fn new(shared: &Shared) -> Self {
        let (plan, trust) = (Arc::clone(&shared.plan), shared.trust.borrow().clone());
        Self(Box::new(move |member, signed| {
            residence::read(signed.as_bytes(), member, &plan.me, &plan.key, &trust).is_ok()
        }))
    }

    /// Whether it is.
    pub fn is_valid(&self, member: &MemberKey, signed: &str) -> bool {
        (self.0)(member, signed)
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Check")
    }
}

async fn open(shared: &Shared) -> Result<Bucket, NatsError> {
    Bucket::open(&shared.link, &Names::of(&shared.plan.me.realm).homes).await
}

/// Listens to residences.
pub(super) async fn listen(shared: Shared) {
    shared.wait_for_stream().await;
    loop {
        if let Err(error) = follow(&shared).await {
            shared.report(&error);
            // A realm of an earlier version has no such bucket. If this machine may not make it, that is said above.
            let _ = shared.link.init(shared.plan.limits).await;
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

/// Tells the engine, whenever it asks, when this machine has processed what the stream held for it by then: the bucket and the
/// stream are two, and what was read at a former home may be told by the stream alone.
pub(super) async fn catch_up(shared: Shared) {
    let mut asked = shared.plan.catch_up.clone();
    while asked.changed().await.is_ok() {
        let question = *asked.borrow_and_update();
        let mut waits = WAITS.into_iter().chain(std::iter::repeat(BETWEEN));
        let mut first = None;
        // The server is asked again until it answers: without it, nobody knows.
        while !is_past(&shared, &mut first).await.unwrap_or(false) {
            tokio::time::sleep(waits.next().unwrap_or(BETWEEN)).await;
        }
        shared.engine.send(Input::CaughtUp(question));
    }
}

/// Whether this machine has processed what the stream held for it when that was asked first. What was on its way to a process
/// that died comes again when the server has waited long enough for that one.
async fn is_past(shared: &Shared, first: &mut Option<StreamView>) -> Result<bool, NatsError> {
    let end = end_of(first, shared.link.stream_view(steady_now()).await?);
    Ok(shared.link.lag().await?.is_past(end, shared.passed().postponed.len()))
}

/// The last message of the stream when it was looked at first. One that was made anew or set back since has other messages by
/// these numbers, and perhaps never so many.
fn end_of(first: &mut Option<StreamView>, now: StreamView) -> u64 {
    match first {
        Some(first) if first.stream == now.stream && first.last <= now.last => first.last,
        first => first.insert(now).last,
    }
}

/// Until the bucket is another one, or other machines are trusted: then all of it is read anew.
async fn follow(shared: &Shared) -> Result<(), NatsError> {
    let mut trust = shared.trust.clone();
    trust.mark_unchanged();
    let mut renewed = shared.renewed.clone();
    renewed.mark_unchanged();
    let bucket = open(shared).await?;
    let mut watch = bucket.watch().await?;
    shared.engine.send(Input::Homes(News::Opened(Check::new(shared))));
    if bucket.is_empty() {
        shared.engine.send(Input::Homes(News::Whole));
    }
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            entry = watch.next() => {
                let Some(entry) = entry else { return Ok(()) };
                let entry = entry.map_err(|why| NatsError::request("listen to homes")(&why))?;
                let value = (entry.operation == Operation::Put).then_some(&entry.value[..]);
                find(shared, &entry.key, value, entry.revision);
                if entry.delta == 0 {
                    shared.engine.send(Input::Homes(News::Whole));
                }
            }
            changed = trust.changed() => if changed.is_ok() { return Ok(()) },
            _ = renewed.changed() => return Ok(()),
            _ = look.tick() => if open(shared).await?.identity() != bucket.identity() { return Ok(()) },
        }
    }
}

/// Hands an entry over, or that it was deleted. What is refused is counted.
fn find(shared: &Shared, entry: &str, value: Option<&[u8]>, revision: u64) {
    let Some(member) = residence::member_of(entry) else { return };
    let plan = &shared.plan;
    let (slot, refusal) = match value {
        Some(value) => residence::look_at(value, &member, &plan.me, &plan.key, &shared.trust.borrow()),
        None => (Slot::Deleted, None),
    };
    if let Some(refusal) = refusal {
        shared.engine.send(Input::Refused(refusal.kind(), format!("home of {}", member.name)));
    }
    shared.engine.send(Input::Homes(News::Found(member, slot, revision)));
}

/// Residences to be put, as the engine saw it last.
pub(super) type Puts = watch::Receiver<Arc<Vec<Put>>>;

/// Puts residences into the bucket, each if nobody was faster. Who was is heard of at once.
pub(super) async fn put(shared: Shared, mut puts: Puts) {
    while puts.changed().await.is_ok() {
        let trouble = |error: NatsError| shared.engine.send(Input::Trouble(error.to_string()));
        let bucket = match open(&shared).await {
            Ok(bucket) => bucket,
            Err(error) => {
                trouble(error);
                continue;
            }
        };
        let find = |entry: &str, value: Option<&[u8]>, revision| find(&shared, entry, value, revision);
        put_newest(&bucket, &mut puts, |put| signed(&shared, put), find, trouble).await;
    }
}

/// Puts what the newest list says, until all of it was put once: what is found makes the engine look again, and say what is left.
async fn put_newest(
    bucket: &impl Places,
    puts: &mut Puts,
    signed: impl Fn(&Put) -> Vec<u8>,
    find: impl Fn(&str, Option<&[u8]>, u64),
    trouble: impl Fn(NatsError),
) {
    let mut done: HashMap<MemberKey, u64> = HashMap::new();
    let (mut list, mut next) = (Arc::clone(&puts.borrow_and_update()), 0);
    loop {
        if puts.has_changed().unwrap_or(false) {
            (list, next) = (Arc::clone(&puts.borrow_and_update()), 0);
        }
        let Some(put) = list.get(next) else { return };
        next += 1;
        // A list may be of before that was heard.
        if done.insert(put.key.clone(), put.revision) == Some(put.revision) {
            continue;
        }
        let (entry, value) = (residence::entry_of(&put.key), signed(put));
        let is_set = match places::set(bucket, &entry, value.clone(), put.revision).await {
            Ok(Set::Done(revision)) => {
                find(&entry, Some(&value), revision);
                true
            }
            Ok(Set::Lost) => false,
            // What is refused keeps no other one waiting. Of all else it may be told what became of it.
            Err(error) => {
                let is_refused = matches!(error, NatsError::Refused { .. });
                trouble(error);
                is_refused
            }
        };
        if is_set {
            continue;
        }
        match bucket.standing(&entry).await {
            Ok(Some(found)) => find(&entry, found.value.as_deref(), found.revision),
            Ok(None) => {}
            Err(error) => return trouble(error),
        }
    }
}

/// What is put, as this machine signs it.
fn signed(shared: &Shared, put: &Put) -> Vec<u8> {
    let plan = &shared.plan;
    match &put.what {
        Content::Again(signed) => signed.clone().into_bytes(),
        Content::New { epoch, resident, former, after } => {
            let later = |after: Stamp| now().max(after.saturating_add(Duration::from_millis(1)));
            let at = after.map_or_else(now, later);
            residence::sign(&plan.me, &plan.key, &put.key, (*epoch, *resident, former), at)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::nats::Standing;
    use crate::protocol::homes::Resident;

    /// A bucket that counts requests, and refuses some entries.
    #[derive(Default)]
    struct Counting {
        entries: RefCell<HashMap<String, Standing>>,
        requests: Cell<usize>,
        refused: Option<String>,
    }

    impl Places for Counting {
        async fn replace(&self, key: &str, value: Vec<u8>, revision: u64) -> Result<Set, NatsError> {
            self.requests.set(self.requests.get() + 1);
            if self.refused.as_deref() == Some(key) {
                return Err(NatsError::Refused { doing: "put", why: "it is too large".to_owned() });
            }
            let mut entries = self.entries.borrow_mut();
            if entries.get(key).map_or(0, |found| found.revision) != revision {
                return Ok(Set::Lost);
            }
            let next = u64::try_from(entries.len()).unwrap() + 1;
            entries.insert(key.to_owned(), Standing { value: Some(value), revision: next, created: now() });
            Ok(Set::Done(next))
        }

        async fn standing(&self, key: &str) -> Result<Option<Standing>, NatsError> {
            self.requests.set(self.requests.get() + 1);
            Ok(self.entries.borrow().get(key).cloned())
        }

        fn has_replicas(&self) -> bool {
            false
        }
    }

    fn member(number: usize) -> Put {
        let key = MemberKey { team: "alpha".into(), name: format!("m{number}") };
        let what = Content::New { epoch: 1, resident: Resident::Unknown, former: Vec::new(), after: None };
        Put { key, what, revision: 0 }
    }

    /// Each that was found made the engine look, and each look sent all that were left once more: half the square of their number.
    #[tokio::test]
    async fn members_are_registered_by_two_requests_each_however_often_the_engine_looks() {
        const MEMBERS: usize = 200;
        // How many that were put the engine has not heard of when it looks.
        for behind in [0, 1, 7] {
            let bucket = Counting { refused: Some("alpha.m3".to_owned()), ..Counting::default() };
            let all: Vec<Put> = (0..MEMBERS).map(member).collect();
            let (lists, mut puts) = watch::channel(Arc::new(Vec::new()));
            lists.send_replace(Arc::new(all.clone()));
            let heard: RefCell<Vec<String>> = RefCell::default();
            let find = |entry: &str, value: Option<&[u8]>, _| {
                assert!(value.is_some());
                heard.borrow_mut().push(entry.to_owned());
                let heard = heard.borrow();
                let known = &heard[..heard.len().saturating_sub(behind)];
                let is_left = |put: &&Put| !known.contains(&residence::entry_of(&put.key));
                lists.send_replace(Arc::new(all.iter().filter(is_left).cloned().collect()));
            };
            let troubles = Cell::new(0);
            let trouble = |_| troubles.set(troubles.get() + 1);
            put_newest(&bucket, &mut puts, |_| b"signed".to_vec(), find, trouble).await;
            assert_eq!((bucket.requests.get(), troubles.get()), (2 * MEMBERS - 1, 1), "behind by {behind}");
            assert_eq!(bucket.entries.borrow().len(), MEMBERS - 1);
        }
    }

    /// Who was faster is heard of, and the others are registered.
    #[tokio::test]
    async fn a_member_that_another_machine_registered_first_keeps_no_other_one_waiting() {
        let bucket = Counting::default();
        let theirs = Standing { value: Some(b"theirs".to_vec()), revision: 90, created: now() };
        bucket.entries.borrow_mut().insert("alpha.m0".to_owned(), theirs);
        let (lists, mut puts) = watch::channel(Arc::new(Vec::new()));
        lists.send_replace(Arc::new(vec![member(0), member(1)]));
        let heard: RefCell<Vec<(String, Vec<u8>)>> = RefCell::default();
        let find = |entry: &str, value: Option<&[u8]>, _| {
            heard.borrow_mut().push((entry.to_owned(), value.unwrap().to_vec()));
        };
        put_newest(&bucket, &mut puts, |_| b"ours".to_vec(), find, |error| panic!("{error}")).await;
        let expected = [("alpha.m0", "theirs"), ("alpha.m1", "ours")];
        assert_eq!(*heard.borrow(), expected.map(|(entry, value)| (entry.to_owned(), value.into())));
    }

    /// Its mail waited until the new stream had as many messages as the lost one, while others came all the time.
    #[test]
    fn nobody_waits_for_messages_of_a_stream_that_is_gone() {
        let view = |stream: &str, last| StreamView {
            stream: stream.into(),
            first: 1,
            last,
            most_bytes: None,
            most_age: None,
            at: now(),
        };
        let mut first = None;
        assert_eq!(end_of(&mut first, view("s", 900)), 900);
        assert_eq!(end_of(&mut first, view("s", 950)), 900, "what came later is not waited for");
        assert_eq!(end_of(&mut first, view("s", 700)), 700, "it was set back");
        assert_eq!(end_of(&mut first, view("t", 4)), 4, "it was made anew");
        assert_eq!(end_of(&mut first, view("t", 2_000)), 4);
    }
}
