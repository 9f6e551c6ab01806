//! The machine's processes, listed once for all teams of one round.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atm_office::people::ancestry::ClientProcess;
use atm_office::people::probe::{Agent, Nameless, ProcessProbe, SystemProbe};

/// For so long is a list good.
const FRESH: Duration = Duration::from_millis(500);

/// A probe whose lists are shared by all who ask within a moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine(Arc<Mutex<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    agents: Option<(Instant, Vec<Agent>)>,
    nameless: Option<(Instant, Vec<Nameless>)>,
}

impl Machine {
    /// Lists anew when somebody asks.
    pub(crate) fn forget(&self) {
        *self.lists() = Lists::default();
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fresh<T: Clone>(list: &mut Option<(Instant, Vec<T>)>, ask: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if list.as_ref().is_none_or(|(at, _)| at.elapsed() > FRESH) {
        *list = Some((Instant::now(), ask()));
    }
    list.as_ref().map(|(_, list)| list.clone()).unwrap_or_default()
}

impl ProcessProbe for Machine {
    fn started(&self, pid: u64) -> Option<String> {
        SystemProbe.started(pid)
    }

    fn pid_space(&self) -> String {
        SystemProbe.pid_space()
    }

    fn agents(&self) -> Vec<Agent> {
        fresh(&mut self.lists().agents, || SystemProbe.agents())
    }

    fn nameless(&self) -> Vec<Nameless> {
        fresh(&mut self.lists().nameless, || SystemProbe.nameless())
    }

    fn client_above(&self, parent: u64) -> Option<ClientProcess> {
        SystemProbe.client_above(parent)
    }

    fn is_above(&self, parent: u64, pid: u64) -> bool {
        SystemProbe.is_above(parent, pid)
    }
}
