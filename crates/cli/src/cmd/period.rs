//! The time that listed mail was sent in.

use atm_wire::Stamp;
use clap::Args;

use super::duration::time;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(super) struct Period {
    /// Only sent then or later: yesterday, monday, 10am, `1 day ago`, 2h, 2026-11-15
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only sent then or earlier
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl Period {
    /// Whether it leaves anything out.
    pub(super) fn is_given(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Its first and its last moment.
    pub(super) fn ends(&self, now: Stamp) -> Result<(Option<Stamp>, Option<Stamp>), Failure> {
        Ok((time("--since", self.since.as_deref(), now)?, time("--until", self.until.as_deref(), now)?))
    }
}
