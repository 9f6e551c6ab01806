//! What is done while somebody waits and nothing happens.

use std::fmt;
use std::sync::Arc;

/// Something to do, a little at a time.
#[derive(Clone)]
pub struct Idle(Arc<dyn Fn() -> bool + Send + Sync>);

impl Idle {
    /// This work, which says whether there is more. It takes no longer than somebody who waits can spare.
    pub fn new(work: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(work))
    }

    /// Does a little of it; says whether there is more.
    pub(crate) fn work(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Idle")
    }
}
