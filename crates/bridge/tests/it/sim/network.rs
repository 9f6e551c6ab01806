//! What is on its way between a machine and the server, and what a machine does with what arrives.

use atm_bridge::engine::{Post, Ticket, Verdict};
use atm_bridge::envelope::{Body, Envelope, Header};
use atm_bridge::protocol::Position;

use super::ledger::{MOVERS, Sent};
use super::world::World;

/// Something on its way to the server, or the server's answer on its way back.
pub(crate) enum Flight {
    There { post: Box<Post>, node: usize },
    Back { ticket: Ticket, node: usize, position: Option<Position> },
}

impl World {
    /// Posts leave for the server: each takes its own time, so that they may overtake each other.
    pub(super) fn depart(&mut self, node: usize, posts: Vec<Post>) {
        for post in posts {
            let arrival = self.millis + self.random.below(self.troubles.delay + 1);
            self.flights.push((arrival, Flight::There { post: Box::new(post), node }));
        }
    }

    /// What arrives by now, in the order of arrival.
    pub(super) fn fly(&mut self) {
        loop {
            let next = self.flights.iter().enumerate().min_by_key(|(_, (at, _))| *at);
            let Some((place, &(at, _))) = next else { return };
            if at > self.millis {
                return;
            }
            let (_, flight) = self.flights.remove(place);
            match flight {
                Flight::There { post, node } => self.arrive(at, *post, node),
                Flight::Back { ticket, node, position } => {
                    let now = self.now();
                    if let Some(engine) = &mut self.nodes[node].engine {
                        engine.published(&ticket, position, now);
                    }
                }
            }
        }
    }

    fn arrive(&mut self, at: u64, post: Post, node: usize) {
        let Post { envelope, ticket } = post;
        let is_lost = self.millis < self.server_down_until || self.random.happens(self.troubles.lost_publish);
        let mut position = None;
        if !is_lost {
            let id = match &ticket {
                Ticket::Letter { n, attempt, .. } => format!("{} letter {n} {attempt}", envelope.header.from),
                Ticket::Receipts { to, upto, attempt } => {
                    format!("{} {to} receipts {upto} {attempt}", envelope.header.from)
                }
                Ticket::Answer => format!("answer {}", self.random.next()),
            };
            position = Some(self.stream.store(id, envelope));
        }
        if self.random.happens(self.troubles.lost_answer) {
            position = None;
        }
        let back = at + self.random.below(self.troubles.delay + 1);
        self.flights.push((back, Flight::Back { ticket, node, position }));
    }

    pub(super) fn take(&mut self, place: usize) {
        let name = self.nodes[place].name.clone();
        let most = 1 + usize::try_from(self.random.below(12)).unwrap();
        let mut fetched = self.stream.fetch(&name, most);
        let is_refused = |(_, envelope): &(u64, Envelope)| self.refuses(place, &envelope.header.from);
        // What is not trusted never comes to the engine, and nobody is told.
        let refused = fetched.iter().take_while(|one| is_refused(one)).count();
        let accepted = fetched[refused..].iter().take_while(|one| !is_refused(one)).count();
        fetched.truncate(refused + accepted);
        for (seq, _) in fetched.drain(..refused) {
            self.stream.acknowledge(&name, seq);
        }
        let (seqs, envelopes): (Vec<u64>, Vec<Envelope>) = fetched.into_iter().unzip();
        // The ledger cannot tell its repetition from a replay; and one that its sender took back may come when its number is passed.
        let may_be_refused = |envelope: &Envelope| match &envelope.body {
            // A machine that has forgotten homes takes a late letter of an earlier stay for one of now; its sender has sent it on.
            Body::Letter(letter) => {
                let is_mover = MOVERS.contains(&letter.to.as_str());
                let is_stale = is_mover && !self.waits(&envelope.header, &letter.id);
                letter.to == "unheard" || self.is_recalled(&letter.id) || is_stale
            }
            _ => false,
        };
        let refusable: Vec<bool> = envelopes.iter().map(may_be_refused).collect();
        let now = self.now();
        let (verdicts, posts) = self.nodes[place].engine.as_mut().unwrap().receive(envelopes, now);
        if self.random.happens(self.troubles.crash) {
            // It dies after the ledger was written, before anybody was told.
            self.nodes[place].engine = None;
            return;
        }
        self.depart(place, posts);
        for ((seq, is_refusable), verdict) in seqs.into_iter().zip(refusable).zip(verdicts) {
            match verdict {
                Verdict::Done | Verdict::Dead(_) => self.stream.acknowledge(&name, seq),
                Verdict::Refused(_) if is_refusable => self.stream.acknowledge(&name, seq),
                Verdict::Again(_) => break,
                Verdict::Refused(why) => panic!("refused: {why}"),
            }
        }
    }

    /// Whether the sender of a letter still waits for its confirmation, under that number and by that machine.
    fn waits(&self, header: &Header, id: &str) -> bool {
        let sender = self.nodes.iter().find(|node| node.name == header.from);
        sender.is_some_and(|sender| {
            let ledger = sender.ledger.0.borrow();
            let sent = ledger.sent.get(&header.n).filter(|sent| sent.letter.id == id && !sent.is_over());
            sent.is_some_and(|sent| {
                sent.stages.is_empty() && Some(&sent.letter.machine) == header.to.as_ref()
            })
        })
    }

    fn is_recalled(&self, id: &str) -> bool {
        let is_it = |sent: &Sent| sent.letter.id == id && sent.recalled;
        self.nodes.iter().any(|node| node.ledger.0.borrow().sent.values().any(is_it))
    }
}
