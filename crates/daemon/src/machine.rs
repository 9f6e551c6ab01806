//! The machine's processes, listed once for all teams of one round.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atm_office::people::ancestry::ClientProcess;
use atm_office::people::probe::{Agent, Nameless, ProcessProbe, SystemProbe};

/// For so long is a list good.
const FRESH: Duration = Duration::from_millis(500);

/// A probe whose lists are shared by all who ask within a moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine(Arc<Lists>);

#[derive(Debug, Default)]
struct Lists {
    /// How often all was forgotten. Not behind the locks: they are held while processes are listed, which takes for ever
    /// where one of them hangs in the system, and the loop must not wait for that.
    forgotten: AtomicU64,
    agents: Mutex<Option<Listed<Agent>>>,
    nameless: Mutex<Option<Listed<Nameless>>>,
}

#[derive(Debug)]
struct Listed<T> {
    at: Instant,
    /// How often all had been forgotten before it was asked for.
    forgotten: u64,
    list: Vec<T>,
}

impl Machine {
    /// Lists anew when somebody asks.
    pub(crate) fn forget(&self) {
        self.0.forgotten.fetch_add(1, Ordering::SeqCst);
    }

    fn fresh<T: Clone>(&self, listed: &Mutex<Option<Listed<T>>>, ask: impl FnOnce() -> Vec<T>) -> Vec<T> {
        let mut listed = listed.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = self.0.forgotten.load(Ordering::SeqCst);
        match &*listed {
            Some(known) if known.forgotten == forgotten && known.at.elapsed() <= FRESH => known.list.clone(),
            _ => {
                let list = ask();
                *listed = Some(Listed { at: Instant::now(), forgotten, list: list.clone() });
                list
            }
        }
    }
}

impl ProcessProbe for Machine {
    fn started(&self, pid: u64) -> Option<String> {
        SystemProbe.started(pid)
    }

    fn pid_space(&self) -> String {
        SystemProbe.pid_space()
    }

    fn agents(&self) -> Vec<Agent> {
        self.fresh(&self.0.agents, || SystemProbe.agents())
    }

    fn nameless(&self) -> Vec<Nameless> {
        self.fresh(&self.0.nameless, || SystemProbe.nameless())
    }

    fn client_above(&self, parent: u64) -> Option<ClientProcess> {
        SystemProbe.client_above(parent)
    }

    fn is_above(&self, parent: u64, pid: u64) -> bool {
        SystemProbe.is_above(parent, pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that hangs in the system lets anybody who lists processes wait; the loop forgets lists, and must not.
    #[test]
    fn a_list_that_was_forgotten_while_it_was_made_is_made_again_and_nobody_waits_to_forget_it() {
        let machine = Machine::default();
        let lists: Mutex<Option<Listed<u8>>> = Mutex::default();
        let ask = |list: u8| machine.fresh(&lists, || vec![list]);
        assert_eq!(
            machine.fresh(&lists, || {
                machine.forget();
                vec![1]
            }),
            [1]
        );
        assert_eq!((ask(2), ask(3)), (vec![2], vec![2]));
        machine.forget();
        assert_eq!(ask(4), [4]);
    }
}
