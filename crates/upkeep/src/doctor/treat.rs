//! Carrying out fixes.

use std::path::Path;

use atm_office::{Office, OfficeError};
use atm_store::array::{Mended, mended, without_copies};
use atm_store::journal::Locks;
use atm_store::mend::{Cure, Mending};
use atm_store::{Layout, StoreError};
use atm_wire::json::{self, Object};
use atm_wire::{MemberName, Stamp, TeamName};

use super::mail::is_bad_line;
use super::people::entry_to_keep;
use super::{Finding, Remedy, abandoned, check_ledger};
use crate::phantoms::{self, Phantom};

/// How often mail that comes in while a phantom is emptied is gone after.
const ROUNDS: usize = 5;

/// What came of a fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Treated {
    /// Under which id it can be undone, if anything was changed that can be.
    pub journal: Option<String>,
}

/// Carries out the fix of a finding. One that was mended meanwhile by somebody else changes nothing.
pub fn treat(office: &Office, finding: &Finding) -> Result<Treated, OfficeError> {
    let (Some(remedy), Some(team)) = (&finding.remedy, &finding.team) else {
        return match &finding.remedy {
            Some(Remedy::Ledger) => check_ledger(office, true).map(|_| Treated { journal: None }),
            Some(Remedy::ClearAbandoned(what)) => {
                abandoned::clear(office, what).map(|()| Treated { journal: None })
            }
            _ => Ok(Treated { journal: None }),
        };
    };
    if let Remedy::Reroute(phantom, to) = remedy {
        return reroute(office, team, phantom.as_ref().clone(), to);
    }
    if let Remedy::KeepOne(name) = remedy {
        let folder = office.folder(team)?;
        // Chosen again: an earlier fix may have moved the entries. The store keeps the file of before.
        if let Some((stays, _)) = entry_to_keep(&folder.load()?, name) {
            folder.keep_one(name, stays, office.state())?;
        }
        return Ok(Treated { journal: None });
    }
    let mut mending = Mending::begin(
        office.state(),
        office.lock_times(),
        finding.ailment.code(),
        &finding.message,
        office.now(),
    )?;
    let done = carry_out(office, team, remedy, &mut mending);
    // What was changed before something failed can be undone all the same.
    let journal = mending.finish()?;
    done.map(|()| Treated { journal })
}

/// Brings a phantom's mail to a member; once more, if somebody wrote to the phantom meanwhile.
fn reroute(
    office: &Office,
    team: &TeamName,
    mut phantom: Phantom,
    to: &MemberName,
) -> Result<Treated, OfficeError> {
    let mut round = 1;
    loop {
        match phantoms::bring_over(office, team, &phantom, to) {
            Err(OfficeError::Store(StoreError::Unsettled { .. })) if round < ROUNDS => round += 1,
            done => return done.map(|done| Treated { journal: done.journal }),
        }
        let config = office.folder(team)?.load()?;
        let found = phantoms::find(office, team, &config)?.into_iter().find(|now| now.name == phantom.name);
        let Some(now) = found else { return Ok(Treated { journal: None }) };
        phantom = now;
    }
}

fn carry_out(
    office: &Office,
    team: &TeamName,
    remedy: &Remedy,
    mending: &mut Mending,
) -> Result<(), OfficeError> {
    match remedy {
        Remedy::RemoveInbox(path, layout) => {
            let locks = if *layout == Layout::Array { Locks::Inbox } else { Locks::Log };
            mending.remove(path, locks, |bytes| {
                bytes.iter().all(|byte| byte.is_ascii_whitespace() || b"[]".contains(byte))
            })?;
        }
        Remedy::MendInbox(path) => mend_inbox(path, mending, "no-messages", mended)?,
        Remedy::DropCopies(path) => mend_inbox(path, mending, "copies", without_copies)?,
        Remedy::BlankLines(path) => {
            let lines = mending.blank_lines(path, is_bad_line)?;
            if !lines.is_empty() {
                mending.set_aside(path, &[lines.join(&b'\n'), b"\n".to_vec()].concat(), "no-messages")?;
            }
        }
        Remedy::RemoveFolder(path) => {
            mending.remove_folder(path)?;
        }
        Remedy::RemoveFile(path) => {
            mending.remove_leftover(path)?;
        }
        Remedy::SwitchOff(name) => switch_off(office, team, name, mending)?,
        Remedy::Close(path, mode) => {
            mending.set_mode(path, *mode)?;
        }
        Remedy::MoveCursor(path, line) => {
            mending.rewrite(path, Locks::Queue, |bytes, _| {
                set(path, bytes, "lastProcessedLine", &(*line).into())
            })?;
        }
        Remedy::NewCursor(path) => {
            let mut aside = None;
            mending.rewrite(path, Locks::Queue, |bytes, sure| {
                let Some(bytes) = bytes else { return Ok(Cure::Leave) };
                if std::str::from_utf8(bytes).is_ok_and(|text| Object::parse(text).is_ok()) {
                    return Ok(Cure::Leave);
                }
                if !sure {
                    return Ok(Cure::LookAgain);
                }
                aside = Some(bytes.to_vec());
                let fresh = "{\n  \"lastProcessedLine\": 0,\n  \"lastProcessedTimestamp\": null\n}\n";
                Ok(Cure::Write(fresh.into()))
            })?;
            if let Some(bytes) = aside {
                mending.set_aside(path, &bytes, "bad-json")?;
            }
        }
        // These have ways of their own.
        Remedy::Reroute(..) | Remedy::KeepOne(..) | Remedy::ClearAbandoned(_) | Remedy::Ledger => {}
    }
    Ok(())
}

/// Says in `config.json` that a member does not run.
fn switch_off(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    mending: &mut Mending,
) -> Result<(), OfficeError> {
    let file = office.folder_of(team).config_file().to_owned();
    let now: Stamp = office.now();
    mending.rewrite(&file, Locks::Directory, |bytes, sure| {
        let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        match switched_off(text, name.as_str(), now) {
            Some(text) => Ok(Cure::Write(text.into_bytes())),
            None if sure => Ok(Cure::Leave),
            None => Ok(Cure::LookAgain),
        }
    })?;
    Ok(())
}

/// The configuration with a member off; nothing where there is no such member, or it is off.
fn switched_off(text: &str, name: &str, now: Stamp) -> Option<String> {
    let member_of = |text: &str| -> Option<std::ops::Range<usize>> {
        let config = Object::parse(text).ok()?;
        let members = json::elements(config.get("members")?.get()).ok()?;
        let is_it = |raw: &&serde_json::value::RawValue| {
            let member = Object::parse(raw.get()).ok();
            member.is_some_and(|member| {
                member.string("name").as_deref() == Some(name)
                    && member.get("isActive").is_some_and(|active| active.get() == "true")
            })
        };
        Some(json::span(text, members.into_iter().find(is_it)?.get()))
    };
    let place = member_of(text)?;
    // The time first: once it is off, it is not found any more.
    let text = json::set_member(text, &text[place], "shutdownAt", &now.to_string()).ok()?.apply(text);
    let place = member_of(&text)?;
    Some(json::set_member(&text, &text[place], "isActive", &false).ok()?.apply(&text))
}

/// Makes an inbox well, and keeps what was taken out.
fn mend_inbox(
    path: &Path,
    mending: &mut Mending,
    why: &str,
    cure: impl Fn(&[u8]) -> Option<Mended>,
) -> Result<(), OfficeError> {
    let mut aside = None;
    mending.rewrite(path, Locks::Inbox, |bytes, sure| {
        let Some(bytes) = bytes else { return Ok(Cure::Leave) };
        let parses = std::str::from_utf8(bytes).is_ok_and(|text| json::elements(text).is_ok());
        match cure(bytes) {
            None => Ok(Cure::Leave),
            // It may be somebody's half-written file.
            Some(_) if !parses && !sure => Ok(Cure::LookAgain),
            Some(well) => {
                aside = Some(well.set_aside);
                Ok(Cure::Write(well.text.into_bytes()))
            }
        }
    })?;
    if let Some(bytes) = aside {
        mending.set_aside(path, &bytes, why)?;
    }
    Ok(())
}

/// An object's file with one key set.
fn set(path: &Path, bytes: Option<&[u8]>, key: &str, value: &serde_json::Value) -> Result<Cure, StoreError> {
    let bad = |why: String| StoreError::BadContent { path: path.to_owned(), why };
    let text = std::str::from_utf8(bytes.unwrap_or_default()).map_err(|error| bad(error.to_string()))?;
    let change = json::set_member(text, text.trim(), key, value).map_err(|error| bad(error.to_string()))?;
    Ok(Cure::Write(change.apply(text).into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_member_that_is_meant_is_switched_off() {
        let text = r#"{"members":[{"name":"ann","isActive":true},{"name":"bob","isActive":true,"x":1E2}]}"#;
        let off = switched_off(text, "bob", Stamp::from_millis(1_794_768_140_463)).unwrap();
        assert_eq!(
            off,
            r#"{"members":[{"name":"ann","isActive":true},{"name":"bob","isActive":false,"x":1E2,"shutdownAt":"2026-11-15T18:42:20.463Z"}]}"#
        );
        assert_eq!(switched_off(&off, "bob", Stamp::from_millis(0)), None);
        assert_eq!(switched_off("{", "bob", Stamp::from_millis(0)), None);
    }
}
