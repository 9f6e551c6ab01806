//! How far an office has come with work that can take long, for a front that shows it.

use std::fmt;
use std::sync::Arc;

/// Mail of one inbox that is being taken into the ledger: the first look at a large inbox takes seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intake<'a> {
    /// The team.
    pub team: &'a str,
    /// Whose inbox.
    pub name: &'a str,
    /// So many messages are done.
    pub done: usize,
    /// Of so many. The last report of an inbox has all of them done.
    pub of: usize,
}

type Report = dyn Fn(&Intake<'_>) + Send + Sync;

/// Who wants to know.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<Report>>);

impl Observer {
    pub(crate) fn new(observer: impl Fn(&Intake<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observer)))
    }

    pub(crate) fn report(&self, intake: &Intake<'_>) {
        if let Some(observer) = &self.0 {
            observer(intake);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}
