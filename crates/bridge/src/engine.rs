//! The bridge without network, clock and files: what comes in, what goes out, what is recorded.
//!
//! [`Engine::poll`] gives what has to be published; [`Engine::published`] tells it what the server answered;
//! [`Engine::receive`] offers what arrived to the ledger. Nothing that it keeps in memory is needed for correctness: what is
//! lost costs time, since every letter is in its sender's ledger until the recipient's ledger has confirmed it.

mod identity;
mod post;
mod receive;
mod tally;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use crate::envelope::codec::LARGEST;
use crate::envelope::{Body, Envelope, Header, Receipts};
use crate::local::{Letter, Local, LocalError, Outgoing};
use crate::name::Machine;
use crate::protocol::feed::{self, Feed};
use crate::protocol::intake::{self, Intake};
use crate::protocol::outbox::{Outbox, Stored};
use crate::protocol::{PeerView, Position, StreamView};

pub use identity::Identity;
pub use post::{Polled, Post, Room, Ticket};
pub use receive::Verdict;
pub use tally::Tally;

/// Letters that are read from the ledger at a time, and bytes of letters that are kept of what was read.
const PAGE: usize = 256;
const PAGE_BYTES: usize = 4 << 20;
/// Receipts in a batch.
const BATCH: usize = 256;
/// Pages of the log that are read at a time: most events are about no letter of another machine.
const PAGES: usize = 64;
/// How often the ledger is asked for everything that it keeps.
const LIST_EVERY: Duration = Duration::from_secs(60);

/// What is remembered across restarts. Its loss costs time and traffic, never mail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    epoch: String,
    outbox: Vec<Stored>,
    intake: intake::Remembered,
    feeds: BTreeMap<Machine, feed::Remembered>,
}

/// The bridge of one machine.
#[derive(Debug)]
pub struct Engine<L> {
    me: Identity,
    local: L,
    outbox: Outbox,
    intake: Intake,
    feeds: BTreeMap<Machine, Feed>,
    peers: BTreeMap<Machine, PeerView>,
    trusted: BTreeSet<Machine>,
    stream: Option<StreamView>,
    /// The highest number that was read from the ledger.
    read_upto: u64,
    has_mail: bool,
    has_receipts: bool,
    next_list: Option<Stamp>,
    /// Letters that were confirmed since that was asked last.
    confirmed: Vec<(Machine, u64)>,
    tally: Tally,
}

impl<L: Local> Engine<L> {
    /// A bridge that goes on where it was. What another epoch of the log left is forgotten, except what came in.
    pub fn new(me: Identity, local: L, memory: Memory) -> Self {
        let is_same = memory.epoch == me.epoch;
        let (outbox, feeds) = if is_same { (memory.outbox, memory.feeds) } else { Default::default() };
        let feeds = feeds.into_iter().map(|(machine, feed)| (machine, Feed::remembering(feed))).collect();
        Self {
            me,
            local,
            outbox: Outbox::remembering(outbox),
            intake: Intake::remembering(memory.intake),
            feeds,
            peers: BTreeMap::new(),
            trusted: BTreeSet::new(),
            stream: None,
            read_upto: 0,
            has_mail: true,
            has_receipts: true,
            next_list: None,
            confirmed: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// What to remember across a restart.
    pub fn to_remember(&self) -> Memory {
        Memory {
            epoch: self.me.epoch.clone(),
            outbox: self.outbox.to_remember(),
            intake: self.intake.to_remember(),
            feeds: self.feeds.iter().map(|(machine, feed)| (machine.clone(), feed.to_remember())).collect(),
        }
    }

    /// Who this machine is.
    pub fn me(&self) -> &Identity {
        &self.me
    }

    /// The ledger.
    pub fn local(&mut self) -> &mut L {
        &mut self.local
    }

    /// What was counted.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Counts an envelope that was refused before it came here.
    pub fn count_refused(&mut self, why: &str, from: &str) {
        self.tally.refuse(why, from);
    }

    /// Letters that wait for their confirmation.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Letters that were confirmed since that was asked last: for which machines, and their numbers.
    pub fn take_confirmed(&mut self) -> Vec<(Machine, u64)> {
        std::mem::take(&mut self.confirmed)
    }

    /// Whether nothing is under way, and nothing is known to be new.
    pub fn is_at_rest(&self) -> bool {
        let is_quiet = !self.has_mail && !self.has_receipts && self.intake.held() == 0;
        is_quiet && self.outbox.is_empty() && self.feeds.values().all(Feed::is_idle)
    }

    /// Early letters that are held.
    pub fn held(&self) -> usize {
        self.intake.held()
    }

    /// The machines whose keys are trusted.
    pub fn set_trusted(&mut self, machines: impl IntoIterator<Item = Machine>) {
        self.trusted = machines.into_iter().filter(|machine| machine != &self.me.machine).collect();
    }

    /// The ledger may have new letters or receipts.
    pub fn wake(&mut self) {
        self.has_mail = true;
        self.has_receipts = true;
    }

    /// Everything is read from the ledger again: recipients may have moved.
    pub fn list_again(&mut self) {
        self.next_list = None;
        self.has_mail = true;
    }

    /// The server was asked for the stream, or is out of reach.
    pub fn set_stream(&mut self, stream: Option<StreamView>) {
        self.stream = stream;
    }

    /// A new heartbeat of another machine.
    pub fn heard_from(&mut self, machine: &Machine, passed: Option<Position>, now: Stamp) {
        self.peers.insert(machine.clone(), PeerView { passed, seen_at: now });
    }

    /// Another machine said which epoch its log has.
    pub fn heard_epoch(&mut self, machine: &Machine, epoch: &str) {
        self.intake.set_epoch(machine, epoch);
        // What another log of that machine had accepted, this one may not have.
        self.outbox.note_epoch(machine, epoch);
    }

    /// Another machine said which teams it shares: what it had passed over of one is told again.
    pub fn heard_teams<'a>(&mut self, machine: &Machine, names: impl Iterator<Item = &'a str>) {
        if let Some(feed) = self.feeds.get_mut(machine) {
            self.has_receipts |= feed.set_their_teams(names);
        }
    }

    /// The other machines that were heard from.
    pub fn peers(&self) -> &BTreeMap<Machine, PeerView> {
        &self.peers
    }

    /// What has to be published now: letters, as many as there is room for, and receipts.
    pub fn poll(&mut self, now: Stamp, room: Room) -> Polled {
        let mut posts = Vec::new();
        let trouble = self.poll_all(now, room, &mut posts).err();
        Polled { posts, trouble }
    }

    fn poll_all(&mut self, now: Stamp, room: Room, posts: &mut Vec<Post>) -> Result<(), LocalError> {
        let epoch = self.local.epoch()?;
        if epoch != self.me.epoch {
            self.begin_epoch(epoch);
        }
        let mut fresh = self.read_outgoing(now)?;
        let Some(stream) = self.stream.clone() else { return Ok(()) };
        let local = &mut self.local;
        self.outbox.release(|lane| local.whereabouts(&lane.machine, &lane.team, &lane.to));
        let most = if room.bytes == 0 { 0 } else { room.letters };
        let due = self.outbox.due(now, &stream, &self.peers, &self.trusted, most);
        let mut bytes = 0;
        for (place, &n) in due.iter().enumerate() {
            if !fresh.contains_key(&n) {
                // What is due next stands behind it, as a rule: one look at the ledger for many.
                let page = self.local.outgoing(n.saturating_sub(1), PAGE.min(due.len() - place))?;
                fresh = page.into_iter().map(|letter| (letter.n, letter)).collect();
            }
            let letter = fresh.remove(&n);
            let Some(letter) =
                letter.filter(|letter| letter.n == n && self.outbox.id_of(n) == Some(&letter.id))
            else {
                // Recalled, expired or confirmed by other means.
                self.outbox.remove(n);
                continue;
            };
            bytes += letter.letter.len();
            if bytes > room.bytes && bytes > letter.letter.len() {
                // It goes when the server has answered for what goes now, and so do those behind it.
                break;
            }
            self.outbox.add(&letter);
            posts.extend(self.post_letter(letter, now));
        }
        self.poll_receipts(now, &stream, posts)
    }

    /// The log was lost, or put back: numbers and cursors mean something else now. What came in is remembered.
    fn begin_epoch(&mut self, epoch: String) {
        self.me.epoch = epoch;
        self.outbox = Outbox::default();
        self.feeds.clear();
        self.read_upto = 0;
        self.next_list = None;
        self.wake();
    }

    /// Reads what is new in the ledger, and now and then all of it. Returns the first page, which is needed next.
    fn read_outgoing(&mut self, now: Stamp) -> Result<BTreeMap<u64, Outgoing>, LocalError> {
        let lists_all = self.next_list.is_none_or(|next| now >= next);
        let mut fresh = BTreeMap::new();
        if !self.has_mail && !lists_all {
            return Ok(fresh);
        }
        let mut after = if lists_all { 0 } else { self.read_upto };
        let (mut kept, mut bytes) = (BTreeSet::new(), 0);
        loop {
            let page = self.local.outgoing(after, PAGE)?;
            if page.is_empty() {
                break;
            }
            for letter in page {
                after = letter.n.max(after);
                kept.insert(letter.n);
                self.outbox.add(&letter);
                bytes += letter.letter.len();
                if fresh.len() < PAGE && bytes <= PAGE_BYTES {
                    fresh.insert(letter.n, letter);
                }
            }
        }
        if lists_all {
            self.outbox.retain(&kept);
            self.next_list = Some(now.saturating_add(LIST_EVERY));
        }
        self.read_upto = after.max(self.read_upto);
        self.has_mail = false;
        Ok(fresh)
    }

    fn post_letter(&mut self, letter: Outgoing, now: Stamp) -> Option<Post> {
        let known = self.local.whereabouts(&letter.machine, &letter.team, &letter.to);
        let due = self.outbox.begin(letter.n, known, now)?;
        self.tally.published += 1;
        self.tally.published_again += u64::from(due.attempt > 1);
        let size = letter.letter.len();
        let body = Body::Letter(Letter {
            id: letter.id,
            team: letter.team,
            to: letter.to,
            from: letter.from,
            from_lead: letter.from_lead,
            after: due.after,
            home: letter.home,
            letter: letter.letter,
        });
        let ticket = Ticket::Letter { n: due.n, attempt: due.attempt, since: due.since, size };
        Some(Post { envelope: self.envelope(letter.machine, due.n, due.attempt, body, now), ticket })
    }

    fn poll_receipts(
        &mut self,
        now: Stamp,
        stream: &StreamView,
        posts: &mut Vec<Post>,
    ) -> Result<(), LocalError> {
        let mut has_more = false;
        let teams = self.local.teams();
        for machine in self.trusted.clone() {
            let feed = self.feeds.entry(machine.clone()).or_default();
            feed.set_teams(&teams);
            let mut pages = if self.has_receipts { PAGES } else { 0 };
            while let Some(cursor) = feed.read_from().filter(|_| pages > 0) {
                let cursor = cursor.map(str::to_owned);
                let (receipts, upto) = self.local.receipts_since(cursor.as_deref(), BATCH)?;
                if cursor.as_ref() == Some(&upto) {
                    break;
                }
                let own = receipts.into_iter().filter(|(to, _)| to == &machine).map(|(_, receipt)| receipt);
                feed.add(own.collect(), upto);
                pages -= 1;
                has_more |= pages == 0;
            }
            let Some(due) = feed.due(now, stream, self.peers.get(&machine)) else { continue };
            let feed::Due { name: upto, attempt, sent } = due;
            let body = Body::Receipts(Receipts { upto: sent.name, receipts: sent.receipts });
            let ticket = Ticket::Receipts { to: machine.clone(), upto, attempt };
            posts.push(Post { envelope: self.envelope(machine, 0, attempt, body, now), ticket });
        }
        self.has_receipts = has_more;
        Ok(())
    }

    /// What the server answered: where it is, or nothing.
    pub fn published(&mut self, ticket: &Ticket, position: Option<Position>, now: Stamp) {
        self.tally.publish_failed += u64::from(position.is_none());
        match ticket {
            Ticket::Letter { n, attempt, .. } => self.outbox.end(*n, *attempt, position, now),
            Ticket::Receipts { to, upto, attempt } => {
                if let Some(feed) = self.feeds.get_mut(to) {
                    feed.end(upto, *attempt, position, now);
                }
            }
            Ticket::Answer => {}
        }
    }

    /// A letter makes an envelope of so many bytes, which no machine reads: it has failed, and the next one may pass.
    pub fn give_up(&mut self, ticket: &Ticket, bytes: usize, now: Stamp) {
        let Ticket::Letter { n, .. } = ticket else { return self.published(ticket, None, now) };
        let why = format!(
            "it makes an envelope of {} MiB, and machines read no larger ones than {} MiB: send it in parts, or as a file \
             that its recipient can reach, and where that is",
            bytes.div_ceil(1 << 20),
            LARGEST >> 20
        );
        match self.local.give_up(*n, &why) {
            Ok(()) => self.outbox.remove(*n),
            // It is tried again after a while.
            Err(_) => self.published(ticket, None, now),
        }
    }

    /// An envelope of this machine.
    pub fn envelope(&self, to: Machine, n: u64, attempt: u32, body: Body, now: Stamp) -> Envelope {
        let Envelope { header, body } = self.me.announce(body, now);
        Envelope { header: Header { to: Some(to), n, attempt, ..header }, body }
    }

    /// An envelope of this machine for all of the realm.
    pub fn announcement(&self, body: Body, now: Stamp) -> Envelope {
        self.me.announce(body, now)
    }

    fn answer(&self, to: &Machine, body: Body, now: Stamp) -> Post {
        Post { envelope: self.envelope(to.clone(), 0, 1, body, now), ticket: Ticket::Answer }
    }
}
