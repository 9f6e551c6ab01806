//! Inboxes of nobody: a mistyped name, or a member that is gone. Their mail is read by no one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atm_office::office::USER;
use atm_office::people::nearest::nearest;
use atm_office::{Office, OfficeError};
use atm_store::StoreError;
use atm_store::array::with_entries_of;
use atm_store::journal::{Change, Entry, Locks};
use atm_store::mend::{Cure, Mending};
use atm_store::{Layout, paths};
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, TeamName};

/// The journal's code for mail that was brought over.
pub(crate) const REROUTED: &str = "ATM-D001";

/// An inbox whose name is no member's.
#[derive(Debug, Clone)]
pub struct Phantom {
    /// The name.
    pub name: MemberName,
    /// Its file.
    pub file: PathBuf,
    /// How many messages are in it.
    pub messages: usize,
    /// How many of them nobody has read.
    pub unread: usize,
    /// The members that were probably meant, best first.
    pub nearest: Vec<MemberName>,
    layout: Layout,
}

impl Phantom {
    /// How its mail is kept.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

/// What came of bringing a phantom's mail to a member.
#[derive(Debug, Clone)]
pub struct Rerouted {
    /// Whose it was.
    pub from: MemberName,
    /// Whose it is now.
    pub to: MemberName,
    /// How many messages there were.
    pub messages: usize,
    /// Under which id it can be undone.
    pub journal: Option<String>,
}

/// The inboxes of a team that belong to no member, and to nobody who ever wrote. A team without members has none: nobody can tell.
pub fn find(office: &Office, team: &TeamName, config: &TeamConfig) -> Result<Vec<Phantom>, OfficeError> {
    if config.members.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<MemberName> =
        config.members.iter().filter_map(|member| member.checked_name().ok()).collect();
    let stems: Vec<String> = names.iter().map(MemberName::file_stem).collect();
    let mut phantoms = Vec::new();
    for name in office.inbox_names(team) {
        if config.machine_of(name.as_str()).is_some()
            || name.as_str() == USER
            || stems.contains(&name.file_stem())
            || office.has_spoken(team, &name)?
        {
            continue;
        }
        let mailbox = office.mailbox(team, &name);
        let messages = mailbox.list()?.messages;
        let nearest = nearest(name.as_str(), names.iter().map(MemberName::as_str));
        phantoms.push(Phantom {
            file: mailbox.file(),
            messages: messages.len(),
            unread: messages.iter().filter(|message| !message.read).count(),
            nearest: nearest.iter().filter_map(|name| MemberName::parse(name).ok()).collect(),
            layout: mailbox.layout(),
            name,
        });
    }
    Ok(phantoms)
}

/// Brings all mail of a phantom to a member, entry by entry as it stands, and takes the phantom's inbox away. Both
/// go into the journal first. Mail that the member has already is not brought twice.
pub fn bring_over(
    office: &Office,
    team: &TeamName,
    phantom: &Phantom,
    to: &MemberName,
) -> Result<Rerouted, OfficeError> {
    let config = office.folder(team)?.load()?;
    if config.member(to.as_str()).is_none() {
        return Err(office.no_member(team, &config, to.as_str()));
    }
    let listed = office.mailbox(team, &phantom.name).list()?;
    let ids: Vec<String> = listed.messages.into_iter().map(|message| message.id).collect();
    let what = format!("mail for {} goes to {to}", phantom.name);
    // Before it is out of there: a look in between must not conclude that somebody took it.
    let removed: Vec<&str> = ids.iter().map(String::as_str).collect();
    office.record_removal(team, &phantom.name, &removed)?;
    let mut mending = Mending::begin(office.state(), office.lock_times(), REROUTED, &what, office.now())?;
    match phantom.layout {
        Layout::Array => move_entries(office, team, phantom, to, &mut mending)?,
        Layout::Log => move_lines(office, team, phantom, to, &mut mending)?,
    }
    let journal = mending.finish()?;
    office.record_redirection(team, &phantom.name, to, &ids)?;
    Ok(Rerouted { from: phantom.name.clone(), to: to.clone(), messages: phantom.messages, journal })
}

fn move_entries(
    office: &Office,
    team: &TeamName,
    phantom: &Phantom,
    to: &MemberName,
    mending: &mut Mending,
) -> Result<(), OfficeError> {
    let mail = read(&phantom.file)?;
    let target = paths::array_inbox(&office.root().team(team), to);
    mending.rewrite(&target, Locks::Inbox, |there, sure| match with_entries_of(there, &mail) {
        Ok(Some(text)) => Ok(Cure::Write(text.into_bytes())),
        Ok(None) => Ok(Cure::Leave),
        Err(_) if !sure => Ok(Cure::LookAgain),
        Err(why) => Err(StoreError::BadContent { path: target.clone(), why }),
    })?;
    take_away(mending, phantom, Locks::Inbox, &mail)
}

fn move_lines(
    office: &Office,
    team: &TeamName,
    phantom: &Phantom,
    to: &MemberName,
    mending: &mut Mending,
) -> Result<(), OfficeError> {
    let mail = read(&phantom.file)?;
    let mailbox = office.mailbox(team, to);
    mailbox.create()?;
    mending.append_lines(&mailbox.file(), &mail)?;
    take_away(mending, phantom, Locks::Log, &mail)
}

/// After an undo the mail is the phantom's again.
pub(crate) fn take_back(office: &Office, entry: &Entry) -> Result<(), OfficeError> {
    let [target, phantom] =
        [entry.changes.first(), entry.changes.last()].map(|change| change.and_then(owner));
    let (Some((team, to)), Some((_, from))) = (target, phantom) else { return Ok(()) };
    if to == from {
        return Ok(());
    }
    let ids: Vec<String> = office.mailbox(&team, &from).list()?.messages.into_iter().map(|m| m.id).collect();
    office.record_redirection(&team, &to, &from, &ids)
}

/// Whose inbox a change was about.
fn owner(change: &Change) -> Option<(TeamName, MemberName)> {
    let part = |at: usize| change.path.iter().rev().nth(at).map(|part| part.to_string_lossy());
    let array = part(1)? == "inboxes";
    let name = if array { part(0)?.strip_suffix(".json")?.to_owned() } else { part(1)?.into_owned() };
    let team = part(if array { 2 } else { 3 })?;
    Some((TeamName::parse(&team).ok()?, MemberName::parse(&name).ok()?))
}

fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let io = |source| StoreError::Io { action: "read", path: path.to_owned(), source: Arc::new(source) };
    fs::read(path).map_err(io)
}

/// Only what was brought over goes. If more came meanwhile, the next call brings that.
fn take_away(mending: &mut Mending, phantom: &Phantom, locks: Locks, mail: &[u8]) -> Result<(), OfficeError> {
    let gone = mending.remove(&phantom.file, locks, |bytes| bytes == mail)?;
    if gone { Ok(()) } else { Err(StoreError::Unsettled { path: phantom.file.clone() }.into()) }
}
