//! Members that move, in a ledger: their mail is sent on, and written where they are.

use atm_bridge::local::{Outgoing, Receipt};
use atm_bridge::name::Machine;
use atm_bridge::protocol::homes::Resident;

use super::{Ledger, MOVERS, Sent, member};

impl Ledger {
    /// Accepts letters again, in their order, for another home.
    pub(crate) fn send_on(&mut self, to: &str, machine: &Machine) {
        let open = |sent: &&Sent| sent.letter.to == to && !sent.is_over();
        let mut letters: Vec<Sent> = self.sent.values().filter(open).cloned().collect();
        letters.sort_by_key(|sent| sent.first);
        for mut sent in letters {
            self.sent.remove(&sent.letter.n);
            self.next += 1;
            sent.letter.n = self.next;
            sent.letter.machine = machine.clone();
            sent.homes.insert(machine.clone());
            sent.stages.clear();
            self.sent.insert(self.next, sent);
        }
        self.sync();
    }

    /// Whether a member that moves is at home here, and its mail from its former home is here: what is sent from here is written.
    fn is_home(&self, name: &str) -> bool {
        let key = member(name);
        let is_at_home = self.homes.epoch_at(&key, &self.me).is_some() && self.homes.is_settled(&key);
        is_at_home && self.here.contains_key(&key)
    }

    /// Letters that somebody accepted who looked at the team before a move, or while a member was about to come, go where the member
    /// is: those for this machine with all others, those for another machine in their place. And those for another machine whose
    /// recipient is here are brought back with all others: a bucket was lost, and who remembered forgot it before anybody else
    /// heard, so that the member's home here is its first one, for all that is known.
    pub(crate) fn follow_moves(&mut self) {
        for name in MOVERS {
            let key = member(name);
            let Some(home) = self.homes.home_of(&key).map(|home| home.machine.clone()) else { continue };
            if !self.homes.is_settled(&key) || self.arriving.contains_key(name) {
                continue;
            }
            let me = self.me.clone();
            let is_open = |sent: &Sent| sent.letter.to == name && sent.stages.is_empty() && !sent.recalled;
            let strays = |sent: &Sent| is_open(sent) && (sent.letter.machine == me) != (home == me);
            let is_there = home != me || self.here.contains_key(&key);
            if is_there && self.sent.values().any(strays) {
                self.send_on(name, &home);
            }
            for sent in self.sent.values_mut().filter(|sent| is_open(sent) && home != me) {
                sent.letter.machine = home.clone();
                sent.homes.insert(home.clone());
            }
        }
        self.write_own();
    }

    /// Writes letters of this machine for members that are here.
    pub(crate) fn write_own(&mut self) {
        let at_home: Vec<&str> = MOVERS.into_iter().filter(|name| self.is_home(name)).collect();
        let mut has_written = false;
        for sent in self.sent.values_mut().filter(|sent| {
            let is_here = sent.letter.machine == self.me && at_home.contains(&sent.letter.to.as_str());
            is_here && sent.stages.is_empty() && !sent.recalled
        }) {
            let Outgoing { id, team, to, .. } = &sent.letter;
            has_written = true;
            sent.stages.insert("written".into());
            if self.left.remove(id) || !self.known.contains_key(id) {
                let receipt = Receipt { id: id.clone(), team: team.clone(), record: "written".into() };
                self.known.insert(id.clone(), (self.me.clone(), receipt));
                self.inboxes.entry(to.clone()).or_default().push(id.clone());
            }
        }
        // The file is synced, and shows what the log may have lost.
        if has_written {
            self.sync();
        }
    }

    /// What nobody has read in the file of a name that is another machine's now is taken out of it, and what members here had sent is
    /// sent on: no move may be known that would do that.
    pub(crate) fn collect(&mut self, name: &str, home: &Machine) {
        self.leave(name);
        let me = self.me.clone();
        let is_left = |sent: &Sent| sent.letter.to == name && sent.letter.machine == me && !sent.is_over();
        if self.sent.values().any(is_left) {
            self.send_on(name, home);
        }
    }

    /// A person adds a member, unless it is on the list: which entry it is.
    pub(crate) fn join(&mut self, name: &str) -> Resident {
        self.joined += 1;
        *self.here.entry(member(name)).or_insert(Resident::Joined(self.joined))
    }

    /// A member has left: what nobody has read is taken out of its file.
    pub(crate) fn leave(&mut self, name: &str) {
        self.here.remove(&member(name));
        let Some(inbox) = self.inboxes.get_mut(name) else { return };
        let (read, unread): (Vec<String>, Vec<String>) =
            inbox.drain(..).partition(|id| self.seen.contains(id));
        *inbox = read;
        self.left.extend(unread);
        self.sync();
    }
}
