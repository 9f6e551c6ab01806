//! Mailboxes, teams and tasks as files, safe beside every other program that writes the same files.
//!
//! All of it blocks, nothing prints, nothing reads the environment. The one way to change a shared file is
//! [`commit`]: our own queue, preparation under no foreign lock, then the foreign locks for compare-and-rename
//! alone. Everything else builds on that. Every operation on files goes through [`disk`].

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests prepare and look at files directly"))]

pub mod archive;
pub mod array;
pub mod artifacts;
pub mod backup;
mod boot;
pub mod bounded_log;
pub mod carry;
pub mod client_file;
pub mod commit;
pub mod convert;
pub mod disk;
mod equal;
pub mod error;
pub mod files;
pub mod flag;
mod fresh;
mod group;
mod idle;
pub mod interrupt;
pub mod journal;
pub mod leftovers;
pub mod lock;
pub mod log;
pub mod mailbox;
pub mod memo;
pub mod mend;
pub mod migrate;
pub mod paths;
mod peer;
mod place;
pub mod points;
pub mod quarantine;
mod recall;
mod remote;
pub mod scratch;
pub mod seat;
mod serving;
pub mod session;
pub mod signature;
pub mod socket;
mod sole;
pub mod stillness;
pub mod tasks;
pub mod team;
pub mod trust;
pub mod upkeep;
mod warning;
pub mod watch;
mod witness;

pub use archive::Archive;
pub use artifacts::ArtifactFolder;
pub use carry::Carried;
pub use equal::Past;
pub use error::StoreError;
pub use flag::Flag;
pub use fresh::fresh_id;
pub use group::Group;
pub use idle::Idle;
pub use lock::LockTimes;
pub use mailbox::{Appended, Listing, Mailbox, Marked, Outbox, Receipt, Warning};
pub use memo::Memo;
pub use paths::{Layout, Root, State};
pub use peer::{PeerEntry, private_folder};
pub use recall::{Recall, Recaller};
pub use remote::Mirrored;
pub use scratch::Scratch;
pub use seat::Seat;
pub use serving::{Bell, Serving};
pub use session::SessionNote;
pub use signature::{Mailboxes, Signature};
pub use sole::{Holder, Sole};
pub use stillness::Stillness;
pub use tasks::TaskFolder;
pub use team::TeamFolder;
pub use trust::TrustedFolders;
pub use witness::Witnesses;
