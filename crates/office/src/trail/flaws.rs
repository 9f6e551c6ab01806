//! A lasting record of what is no message: who looks at an inbox is told once, and clients may have deleted the entry by
//! the time that somebody asks.

use atm_store::{Warning, bounded_log};

use crate::office::Office;

/// So many are noted at one look: a file of garbage is said with a few lines.
const AT_MOST: usize = 20;

impl Office {
    /// Notes what is wrong with an inbox in our state folder, each flaw once as long as the log has it.
    pub(crate) fn note_flaws(&self, warnings: &[Warning]) {
        let log = self.state.error_log();
        for warning in warnings.iter().take(AT_MOST) {
            let words = warning.to_string();
            if !bounded_log::has(&log, &words) {
                // A state folder that cannot be written is reported elsewhere.
                let _ = bounded_log::note(&log, &format!("{} {words}", self.now()));
            }
        }
    }
}
