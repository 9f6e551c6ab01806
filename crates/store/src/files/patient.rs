//! Reading a file that others may be writing in place at this moment.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::Snapshot;
use crate::error::StoreError;

/// How often, and after which waits, a file that seems torn is looked at again: a client that writes in place is done
/// within milliseconds.
const TORN_RETRY_MS: [u64; 5] = [2, 5, 10, 20, 40];

/// Reads a file, again and again while `look` finds it torn and says `None`. The last look is told that it is the last:
/// what is torn then stays so, and `look` has to make something of it.
pub(crate) fn read_patiently<T>(
    path: &Path,
    mut look: impl FnMut(&Snapshot, bool) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    for wait in TORN_RETRY_MS {
        if let Some(value) = look(&Snapshot::read(path)?, false) {
            return Ok(Some(value));
        }
        thread::sleep(Duration::from_millis(wait));
    }
    Ok(look(&Snapshot::read(path)?, true))
}
