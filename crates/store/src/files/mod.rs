//! Single files: looking at one as a whole, replacing one as a whole.

mod patient;
mod replace;
mod snapshot;

pub(crate) use patient::read_patiently;
pub(crate) use replace::{Staged, ensure_folder, is_temp_of_ours, resolve, sync_folder, write_new};
pub(crate) use snapshot::{Snapshot, is_settled, open};
