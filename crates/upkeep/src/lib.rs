//! Care for a team's files: finding what is wrong, mending it, and moving mail between forms and places.
//!
//! Each module is named after what it does and offers functions over an [`Office`](atm_office::Office), whose rules
//! they follow: mail is completed before it is moved, and the ledger learns what left an inbox and why. Nothing here is
//! needed to send or read mail.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! use atm_office::{Office, people::teams::TeamPlan};
//! use atm_store::{Root, State};
//!
//! let office = Office::new(Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
//! let team = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
//! let findings = atm_upkeep::doctor::examine(&office, Some(&team), &mut |_, _| {})?;
//! for finding in findings.iter().filter(|finding| finding.safe) {
//!     atm_upkeep::doctor::treat(&office, finding)?;
//! }
//! # Ok(())
//! # }
//! ```

pub mod access;
pub mod archive;
pub mod backup;
pub mod convert;
pub mod doctor;
pub mod export;
pub mod house;
pub mod import;
pub mod merge;
pub mod migrate;
pub mod phantoms;
pub mod restore_config;
pub mod validate;

#[cfg(test)]
mod tests;

/// Called with how much is done, and of how much.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);
