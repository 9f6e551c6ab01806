//! A team's mail in the other layout.

use std::path::PathBuf;

use atm_office::{ErrorKind, Office, OfficeError};
use atm_store::{Layout, Mailbox, TeamFolder, points};
use atm_wire::{MemberName, TeamName};
use serde::Serialize;

use crate::Progress;

/// How often the team is gone through, when somebody writes in the old layout meanwhile.
const ROUNDS: usize = 5;

/// What is to become of a team's mail.
#[derive(Debug, Clone, Copy)]
pub struct ConvertPlan {
    /// The layout that it is to have.
    pub to: Layout,
    /// Only look.
    pub dry_run: bool,
    /// Even if a client runs that knows only arrays.
    pub force: bool,
}

/// What became of a team's mail. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Serialize)]
pub struct ConvertedTeam {
    /// The team.
    pub team: String,
    /// The layout: `array` or `log`.
    pub to: &'static str,
    /// Nothing was done.
    pub dry_run: bool,
    /// Each inbox.
    pub inboxes: Vec<ConvertedInbox>,
    /// What went on beside it.
    pub warnings: Vec<String>,
    /// What kept it from being done to the end, if something did.
    #[serde(skip)]
    pub failed: Option<ErrorKind>,
}

/// What became of one inbox, or would become of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ConvertedInbox {
    /// Whose.
    pub name: String,
    /// Whether it was, or would be, changed.
    pub converted: bool,
    /// How many messages are in it.
    pub messages: usize,
    /// How many of those are unread.
    pub unread: usize,
    /// Where the old files are.
    pub kept: Vec<PathBuf>,
    /// What went on beside it.
    pub warnings: Vec<String>,
    /// Why it was not done, if it was not.
    pub error: Option<String>,
}

/// Brings all inboxes of a team into one layout. One that cannot be does not keep the others from it.
pub fn convert(
    office: &Office,
    team: &TeamName,
    plan: ConvertPlan,
    progress: Progress,
) -> Result<ConvertedTeam, OfficeError> {
    let folder = office.folder(team)?;
    check_clients(office, team, &folder, plan)?;
    let to = match plan.to {
        Layout::Array => "array",
        Layout::Log => "log",
    };
    let mut done = ConvertedTeam {
        team: team.to_string(),
        to,
        dry_run: plan.dry_run,
        inboxes: Vec::new(),
        warnings: Vec::new(),
        failed: None,
    };
    if plan.dry_run {
        for name in folder.inbox_names() {
            done.inboxes.push(would_convert(office, team, &name, plan.to)?);
        }
        return Ok(done);
    }
    let _turn = folder.converting(office.state(), office.lock_times())?;
    for round in 1..=ROUNDS {
        convert_all(office, team, &folder, plan.to, &mut done, progress);
        if done.failed.is_some() {
            break;
        }
        let left = if plan.to == Layout::Log {
            folder.drop_inboxes(office.state(), office.lock_times())?
        } else {
            Vec::new()
        };
        let is_left = |name: &MemberName| !office.mailbox(team, name).is_in(plan.to).unwrap_or(true);
        if !folder.inbox_names().iter().any(is_left) {
            if !left.is_empty() {
                let (path, left) = (folder.path().join("inboxes"), left.join(", "));
                done.warnings.push(format!("{}: stays, since {left} is in it", path.display()));
            }
            break;
        }
        if round == ROUNDS {
            // All of it is seen and nothing lost, but this is not what was asked for.
            done.failed = Some(ErrorKind::Busy);
            done.warnings
                .push("somebody goes on writing in the old layout; end that and try again".to_owned());
        }
    }
    points::reached("convert_left");
    Ok(done)
}

fn would_convert(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    to: Layout,
) -> Result<ConvertedInbox, OfficeError> {
    let mailbox = office.mailbox(team, name);
    let load = mailbox.carry()?;
    Ok(ConvertedInbox {
        name: name.to_string(),
        converted: !mailbox.is_in(to)?,
        messages: load.messages.len(),
        unread: load.messages.iter().filter(|carried| !carried.message.read).count(),
        warnings: load.warnings.iter().map(ToString::to_string).collect(),
        ..ConvertedInbox::default()
    })
}

fn convert_all(
    office: &Office,
    team: &TeamName,
    folder: &TeamFolder,
    to: Layout,
    done: &mut ConvertedTeam,
    progress: Progress,
) {
    let names = folder.inbox_names();
    let sizes: Vec<u64> = names.iter().map(|name| office.mailbox(team, name).size()).collect();
    let (all, mut before) = (sizes.iter().sum(), 0);
    for (name, size) in names.iter().zip(sizes) {
        let mut at = |done: usize, of: usize| {
            let part = size * done as u64 / (of as u64).max(1);
            progress(before + part, all);
        };
        let inbox = convert_one(office, team, name, to, &mut at).unwrap_or_else(|error| {
            done.failed = Some(error.kind());
            let error = Some(error.to_string());
            ConvertedInbox { name: name.to_string(), error, ..ConvertedInbox::default() }
        });
        before += size;
        match done.inboxes.iter_mut().find(|known| known.name == inbox.name) {
            Some(known) if inbox.converted || inbox.error.is_some() => known.add(inbox),
            Some(_) => {}
            None => done.inboxes.push(inbox),
        }
    }
}

fn convert_one(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    to: Layout,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ConvertedInbox, OfficeError> {
    let mailbox = office.mailbox(team, name);
    let mut inbox = ConvertedInbox { name: name.to_string(), ..ConvertedInbox::default() };
    if mailbox.is_in(to)? {
        inbox.count(&mailbox)?;
        return Ok(inbox);
    }
    // What was accepted is written where it is expected, and what a client did is noted while it can be seen.
    office.write_accepted(team, name)?;
    look_at(office, team, name, &mut inbox)?;
    {
        let _readers = mailbox.turn()?;
        let _archivers = office.archive_of(team, name).writer(office.whence(team, name))?;
        let done = mailbox.convert(name.as_str(), to, progress)?;
        inbox.kept = done.kept;
        inbox.warnings.extend(done.warnings.iter().map(ToString::to_string));
    }
    inbox.converted = true;
    inbox.count(&mailbox)?;
    look_at(office, team, name, &mut inbox)?;
    Ok(inbox)
}

fn look_at(
    office: &Office,
    team: &TeamName,
    name: &MemberName,
    inbox: &mut ConvertedInbox,
) -> Result<(), OfficeError> {
    match office.look_into_inbox(team, name) {
        Err(OfficeError::Ledger(error)) => {
            let warning = error.to_string();
            if !inbox.warnings.contains(&warning) {
                inbox.warnings.push(warning);
            }
            Ok(())
        }
        done => done,
    }
}

impl ConvertedInbox {
    fn count(&mut self, mailbox: &Mailbox) -> Result<(), OfficeError> {
        let messages = mailbox.list()?.messages;
        self.messages = messages.len();
        self.unread = messages.iter().filter(|message| !message.read).count();
        Ok(())
    }

    /// It was gone through once more.
    fn add(&mut self, again: Self) {
        let Self { converted, messages, unread, kept, warnings, error, .. } = again;
        self.converted |= converted;
        (self.messages, self.unread, self.error) = (messages, unread, error);
        self.kept.extend(kept);
        self.warnings.extend(warnings);
    }
}

/// A client reads and writes arrays alone: of a log it would see nothing.
fn check_clients(
    office: &Office,
    team: &TeamName,
    folder: &TeamFolder,
    plan: ConvertPlan,
) -> Result<(), OfficeError> {
    if plan.to == Layout::Array || plan.force {
        return Ok(());
    }
    match office.lead_runs(&folder.load()?)? {
        (true, why) => Err(OfficeError::ClientRuns { team: team.clone(), why }),
        (false, _) => Ok(()),
    }
}
