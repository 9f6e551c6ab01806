//! Single files: looking at one as a whole, replacing one as a whole.

mod access;
mod folder;
mod links;
mod new;
mod own;
mod patient;
mod replace;
mod small;
mod snapshot;

pub(crate) use access::Access;
pub(crate) use folder::in_real_folder;
pub(crate) use links::Bounds;
pub use new::NewFile;
pub use own::{append_own, replace_own};
pub(crate) use patient::read_patiently;
pub(crate) use replace::{
    Staged, ensure_folder, ensure_folder_like, is_temp_of_ours, remove_folder, rename_new, resolve,
    sync_folder, write_new, write_note,
};
pub use small::{SmallFile, read_small};
pub(crate) use snapshot::{Identity, Snapshot, TICK, is_same_file, is_settled, is_young, open};

/// Opens a shared file to read it in pieces; `None` where there is none. A pipe or a folder is an error, not a wait.
pub fn open_to_read(path: &std::path::Path) -> Result<Option<std::fs::File>, crate::StoreError> {
    Ok(open(path)?.map(|(file, _)| file))
}
