//! Upkeep of the inboxes: what was consumed moves into the archive, which outlives the team.

mod chore;
mod rule;

use std::collections::HashSet;
use std::time::Duration;

use atm_office::{Office, OfficeError};
use atm_store::archive::Writer;
use atm_store::{Layout, Mailbox, Receipt, StoreError, points};
use atm_wire::{MemberName, TeamName, counted};

use crate::Progress;

pub use chore::Archiving;
pub use rule::{CLEAN_AFTER, Rule, Tended, Upkeep};

/// Whose inboxes are meant: those of these names, which must be there, or all of the team.
pub fn inboxes_meant(
    office: &Office,
    team: &TeamName,
    names: &[MemberName],
) -> Result<Vec<MemberName>, OfficeError> {
    let folder = office.folder(team)?;
    if names.is_empty() {
        let mut all = office.inbox_names(team);
        // Of a configuration that cannot be read nobody can tell; its inboxes are here then.
        if let Ok(config) = folder.load() {
            all.retain(|name| config.machine_of(name.as_str()).is_none());
        }
        return Ok(all);
    }
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    let handle = office.team(team)?;
    for name in &names {
        handle.check_here(name, "its mail is archived there")?;
        handle.known_mailbox(name)?;
    }
    Ok(names)
}

/// What [`archive`] would do.
pub fn would_archive(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    rule: &Rule,
) -> Result<Tended, OfficeError> {
    let mailbox = office.mailbox(team, name);
    let now = office.now();
    let archived = mailbox.would_archive(&mut |messages| rule.chosen(messages, now))?.len();
    Ok(Tended { archived, ..tended(office, team, name, &mailbox)? })
}

/// Moves messages of one inbox into its archive. Each is durably there before it leaves the inbox.
pub fn archive(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    rule: &Rule,
    upkeep: &Upkeep,
    progress: Progress,
) -> Result<Tended, OfficeError> {
    let mailbox = office.mailbox(team, name);
    let mut writer = office.archive_of(team, name).writer(office.whence(team, name))?;
    let (archived, warnings) = move_out(office, team, name, &mailbox, &mut writer, rule)?;
    let packed = pack_if_due(office, &writer, upkeep, progress)?;
    points::reached("archive_left");
    Ok(Tended { archived, packed, warnings, ..tended(office, team, name, &mailbox)? })
}

/// Makes an inbox that is larger than `over` small again. An array gives what was read to the archive; a log, all of
/// which was read, becomes a rotated one.
pub fn rotate(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    over: u64,
    force: bool,
    upkeep: &Upkeep,
    progress: Progress,
) -> Result<Tended, OfficeError> {
    let mailbox = office.mailbox(team, name);
    if mailbox.layout() == Layout::Array && mailbox.size() > over {
        let mut tended = archive(office, team, name, &Rule { force, ..Rule::default() }, upkeep, progress)?;
        if mailbox.size() > over {
            let unread = tended.unread;
            tended.warnings.push(format!("{}: {}", mailbox.file().display(), stays(unread)));
        }
        return Ok(tended);
    }
    let rotated = mailbox.rotate(over, office.now(), force)?.unwrap_or_default();
    let warnings =
        rotated.stays.iter().map(|(path, unread)| format!("{}: {}", path.display(), stays(*unread)));
    let warnings = warnings.collect();
    Ok(Tended { rotated: rotated.files, warnings, ..tended(office, team, name, &mailbox)? })
}

/// Clears up: processed mail that is older than `after` and the log layout's own archive go into ours, what is due
/// there is packed, and what dead processes left is removed.
pub fn clean(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    after: Duration,
    upkeep: &Upkeep,
    progress: Progress,
) -> Result<Tended, OfficeError> {
    let mailbox = office.mailbox(team, name);
    let mut writer = office.archive_of(team, name).writer(office.whence(team, name))?;
    let rule = Rule { older_than: Some(after), ..Rule::default() };
    let (mut archived, mut warnings) = move_out(office, team, name, &mailbox, &mut writer, &rule)?;
    let old = mailbox.absorb_old_archive(&mut writer)?;
    archived += old.len();
    warnings.extend(office.record_archived(team, name, &old).err().map(|error| trouble(&error)));
    let packed = pack_if_due(office, &writer, upkeep, progress)?;
    let swept = mailbox.sweep();
    points::reached("archive_left");
    Ok(Tended { archived, packed, swept, warnings, ..tended(office, team, name, &mailbox)? })
}

/// What [`clean`] would archive.
pub fn would_clean(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    after: Duration,
) -> Result<Tended, OfficeError> {
    let rule = Rule { older_than: Some(after), ..Rule::default() };
    let mut tended = would_archive(office, team, name, &rule)?;
    tended.archived += office.mailbox(team, name).old_archive()?.messages.len();
    Ok(tended)
}

fn move_out(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    mailbox: &Mailbox,
    writer: &mut Writer,
    rule: &Rule,
) -> Result<(usize, Vec<String>), OfficeError> {
    let mut warnings = Vec::new();
    // First what the client did: once a message is gone from the file, that cannot be seen there any more.
    match office.look_into_inbox(team, name) {
        Err(error @ OfficeError::Ledger(_)) => warnings.push(trouble(&error)),
        done => done?,
    }
    warnings.extend(record_left(office, team, name, mailbox, writer)?);
    let now = office.now();
    let moved = mailbox.archive(writer, &mut |messages| {
        let chosen = rule.chosen(messages, now);
        let ids: Vec<&str> = chosen.iter().map(|at| messages[*at].id.as_str()).collect();
        // Recorded before they leave the inbox, so that a look in between does not count them as taken. If this fails, they
        // are still found in the archive.
        let _ = office.record_removal(team, name, &ids);
        chosen
    })?;
    match office.record_archived(team, name, &moved) {
        Err(error) => warnings.push(trouble(&error)),
        Ok(()) => writer.recorded(),
    }
    points::reached("archive_recorded");
    if moved.iter().any(|message| !message.id_given) {
        // One that is equal and comes now is another one than those that went.
        if let Err(error @ OfficeError::Ledger(_)) = office.look_into_inbox(team, name) {
            warnings.push(trouble(&error));
        }
    }
    warnings.dedup();
    Ok((moved.len(), warnings))
}

/// Records what somebody had moved who died before he could do so.
fn record_left(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    mailbox: &Mailbox,
    writer: &Writer,
) -> Result<Option<String>, OfficeError> {
    let left = writer.unrecorded();
    if left.is_empty() {
        return Ok(None);
    }
    let there: HashSet<Receipt> = mailbox.list()?.messages.iter().map(Receipt::of).collect();
    let messages = left.into_iter().map(|archived| archived.message);
    let gone = messages.filter(|message| !there.contains(&Receipt::of(message))).collect();
    let recorded = office.record_archived_unless_known(team, name, gone);
    Ok(recorded.err().map(|error| trouble(&error)))
}

fn pack_if_due(
    office: &Office,
    writer: &Writer,
    upkeep: &Upkeep,
    progress: Progress,
) -> Result<usize, StoreError> {
    Ok(writer.pack_if_due(office.now(), upkeep.rotate_over, upkeep.compress_after, progress)?.parts)
}

fn tended(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    mailbox: &Mailbox,
) -> Result<Tended, OfficeError> {
    let messages = mailbox.list()?.messages;
    Ok(Tended {
        team: team.to_string(),
        name: name.to_string(),
        left: messages.len(),
        unread: messages.iter().filter(|message| !message.read).count(),
        archive: office.archive_of(team, name).file(),
        ..Tended::default()
    })
}

fn stays(unread: usize) -> String {
    format!("is still as large: {} in it; read first, or use --force", counted(unread, "unread message"))
}

fn trouble(error: &OfficeError) -> String {
    format!("{error}; the mail is archived without it")
}
