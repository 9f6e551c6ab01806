//! When a schedule has come to its end, and whether everything is as it has to be then.

use super::ledger::Sent;
use super::world::World;

/// Mail for the third is refused by the rules, that for the fourth cannot be read, and that for the last is refused without
/// a record.
const MEMBERS: [&str; 5] = ["bob", "eve", "refused", "poisoned", "unheard"];

impl World {
    pub(super) fn is_done(&self) -> bool {
        let is_done = self.nodes.iter().all(|node| {
            let ledger = node.ledger.0.borrow();
            ledger.unseen().is_empty()
                && ledger.sent.values().all(Sent::is_over)
                && self.has_heard_of_homes(&ledger)
        });
        is_done && self.is_everybody_at_home()
    }

    /// Every letter is once in the right file, in order, and its receipts came home.
    pub(crate) fn check(&self) {
        assert!(self.is_done(), "not all came to an end:\n{}", self.describe());
        for (to, node) in self.nodes.iter().enumerate() {
            let ledger = node.ledger.0.borrow();
            for member in MEMBERS {
                let inbox = ledger.inboxes.get(member).cloned().unwrap_or_default();
                for from in 0..self.nodes.len() {
                    let sent = self.expected.iter().filter(|(f, t, m, _)| (*f, *t, *m) == (from, to, member));
                    let sent: Vec<&String> = sent.map(|(.., id)| id).collect();
                    let arrived: Vec<&String> = inbox.iter().filter(|id| sent.contains(id)).collect();
                    let wanted: Vec<&String> = sent
                        .into_iter()
                        .filter(|id| arrived.contains(id) || self.must_arrive(from, id))
                        .collect();
                    let wanted = if ["refused", "poisoned", "unheard"].contains(&member) {
                        Vec::new()
                    } else {
                        wanted
                    };
                    assert_eq!(arrived, wanted, "from {from} to {member} of {to}:\n{}", self.describe());
                }
            }
        }
    }

    pub(crate) fn must_arrive(&self, from: usize, id: &str) -> bool {
        let ledger = self.nodes[from].ledger.0.borrow();
        ledger.sent.values().any(|sent| sent.letter.id == id && !sent.recalled)
    }

    pub(crate) fn describe(&self) -> String {
        let mut lines = vec![format!("{:?}, never together: {}", self.troubles, self.never_together)];
        for node in &self.nodes {
            let ledger = node.ledger.0.borrow();
            lines.push(format!(
                "{}: inboxes {:?}\n  {:?} {:?}",
                node.name, ledger.inboxes, ledger.here, ledger.homes
            ));
            for sent in ledger.sent.values().filter(|sent| !sent.stages.contains("seen")) {
                let (letter, stages, recalled) = (&sent.letter, &sent.stages, sent.recalled);
                lines.push(format!("  {} to {} {stages:?} recalled: {recalled}", letter.id, letter.machine));
            }
            lines.extend(node.engine.as_ref().map(|engine| format!("  {:?}", engine.tally())));
        }
        lines.join("\n")
    }
}
