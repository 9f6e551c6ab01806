//! The table `[archive]`.

use atm_upkeep::archive::Upkeep;
use atm_wire::stamp::parse_duration;
use serde::Deserialize;

use crate::size;

/// What stays in the inboxes, and when the archive is packed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Archive {
    keep: Option<usize>,
    older_than: Option<String>,
    compress_after: Option<String>,
    shrink_over: Option<String>,
    rotate_over: Option<String>,
    quarantine_for: Option<String>,
}

impl Archive {
    /// Changes `upkeep` where this says something.
    pub(super) fn apply(&self, upkeep: &mut Upkeep) -> Result<(), String> {
        let span = |text: &String| parse_duration(text).map_err(|error| error.to_string());
        upkeep.keep = self.keep.unwrap_or(upkeep.keep);
        if let Some(after) = &self.older_than {
            upkeep.older_than = Some(span(after)?);
        }
        if let Some(after) = &self.compress_after {
            upkeep.compress_after = span(after)?;
        }
        if let Some(over) = &self.shrink_over {
            upkeep.shrink_over = size::parse(over)?;
        }
        if let Some(over) = &self.rotate_over {
            upkeep.rotate_over = size::parse(over)?;
        }
        if let Some(after) = &self.quarantine_for {
            upkeep.quarantine_for = span(after)?;
        }
        Ok(())
    }
}
