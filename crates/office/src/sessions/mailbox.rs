//! The mailbox of a folder: a member of the team of sessions, made when the first letter comes.

use std::path::{Path, PathBuf};

use atm_store::{Layout, StoreError, TeamFolder};
use atm_wire::message::Delivery;
use atm_wire::team::{Member, NewTeam, TeamConfig};
use atm_wire::{MemberName, Stamp};
use serde::Serialize;
use uuid::Uuid;

use super::list::{Live, Takes};
use super::{MAILBOXES, TEAM};
use crate::error::OfficeError;
use crate::office::Office;

const DESCRIPTION: &str = "Mailboxes of sessions, one for each folder that they work in";
/// What such a member is.
const KIND: &str = "session";
/// As much of a folder's name as a mailbox has of it.
const LONGEST: usize = 48;
/// As much of the path's hash as tells two folders of the same name apart.
const HASH: usize = 8;
/// Names that mean somebody else: the person at the keyboard, and who leads a team that does not say who does.
const OTHERS: [&str; 3] = [crate::office::USER, "team-lead", "coordinator"];
/// How often a name is looked for that another process does not take meanwhile.
const ATTEMPTS: usize = 4;

/// A mailbox as it stands in the configuration. No model: whichever client works there, reads it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    agent_id: String,
    name: &'a MemberName,
    agent_type: &'a str,
    joined_at: Stamp,
    tmux_pane_id: &'a str,
    cwd: String,
}

impl Office {
    /// The mailbox of a folder, if it has one.
    pub(crate) fn mailbox_of_folder(&self, folder: &Path) -> Option<MemberName> {
        let team = self.sessions_folder();
        if !team.exists() {
            return None;
        }
        find(&team.load().ok()?, folder)
    }

    /// The mailbox of a folder, made if there is none.
    pub(crate) fn make_mailbox_of_folder(&self, folder: &Path) -> Result<MemberName, OfficeError> {
        let team = self.sessions_folder();
        let name = super::team_name();
        if !team.config_file().exists() {
            let new = NewTeam {
                name: name.clone(),
                description: DESCRIPTION.to_owned(),
                created_at: self.now(),
                lead_session_id: None,
                lead: None,
                metadata: atm_wire::metadata::Metadata::new(),
            };
            match team.create(&new.render(), Layout::Array, None) {
                // Another process was quicker.
                Err(StoreError::Exists { .. }) => {}
                made => made?,
            }
        }
        for _ in 0..ATTEMPTS {
            let config = team.load()?;
            if let Some(mailbox) = find(&config, folder) {
                return Ok(mailbox);
            }
            // A team that people made before the name was kept for this.
            if config.lead_agent_id.is_some() {
                return Err(OfficeError::ReservedName { name: TEAM.to_owned(), whom: MAILBOXES });
            }
            let mailbox = free_name(&config, folder)?;
            let entry = Entry {
                agent_id: format!("{mailbox}@{TEAM}"),
                name: &mailbox,
                agent_type: KIND,
                joined_at: self.now(),
                tmux_pane_id: "",
                cwd: folder.display().to_string(),
            };
            match team.add_member(mailbox.as_str(), &entry) {
                // Another process was quicker, for this folder or for one of the same name.
                Err(StoreError::Exists { .. }) => {}
                added => {
                    added?;
                    self.mailbox(&name, &mailbox).create()?;
                    return Ok(mailbox);
                }
            }
        }
        Err(OfficeError::Exists { what: format!("a mailbox of the name of {}", folder.display()) })
    }

    /// Makes a mailbox again that is gone, if one folder that is known would have one of this name, and only one.
    pub(crate) fn restore_mailbox(&self, name: &MemberName) -> Result<(), OfficeError> {
        let team = self.sessions_folder();
        let config = if team.config_file().exists() { team.load()? } else { TeamConfig::default() };
        if config.member(name.as_str()).is_some() || self.mailbox(&super::team_name(), name).exists() {
            return Ok(());
        }
        let registered = self.registered_sessions();
        let names = self.session_names(&registered, &self.running_among(&registered))?;
        let is_called = |folder: &&PathBuf| free_name(&config, folder).is_ok_and(|free| free == *name);
        let mut folders = names.folders.iter().filter(is_called);
        if let (Some(folder), None) = (folders.next(), folders.next()) {
            self.make_mailbox_of_folder(folder)?;
        }
        Ok(())
    }

    /// Whether the session that a letter names runs, or one works in a mailbox's folder now; else what the sender should know.
    pub(crate) fn session_delivery(
        &self,
        mailbox: &Member,
        named: Option<&str>,
        warnings: &mut Vec<String>,
    ) -> Delivery {
        let folder = mailbox.cwd.as_deref().map(Path::new);
        let takes = |session: &Live, folder: &Path| {
            session.works_in(folder) || session.takes == Takes::Named && named == Some(&*session.id)
        };
        if folder.is_some_and(|folder| self.running_sessions().iter().any(|session| takes(session, folder))) {
            return Delivery::Delivered;
        }
        let place = mailbox.cwd.as_deref().unwrap_or(&mailbox.name);
        warnings.push(format!("no session works in {place} now: the message waits for the next one"));
        Delivery::Queued
    }

    /// The folders that change when a mailbox comes: the team's own or, until that is there, the nearest above it.
    pub(crate) fn where_mailboxes_come(&self) -> Vec<PathBuf> {
        let name = super::team_name();
        let team = self.root.team(&name);
        let mut folders = self.mail_folders(&name);
        let within = team.ancestors().take_while(|folder| folder.starts_with(self.root.path()));
        folders.extend(within.into_iter().find(|folder| folder.is_dir()).map(Path::to_owned));
        folders
    }

    pub(super) fn sessions_folder(&self) -> TeamFolder {
        self.folder_of(&super::team_name())
    }
}

fn find(config: &TeamConfig, folder: &Path) -> Option<MemberName> {
    let is_its = |member: &&Member| member.cwd.as_deref().map(Path::new) == Some(folder);
    config.members.iter().find(is_its).and_then(|member| member.checked_name().ok())
}

/// A name for a folder's mailbox: the folder's own, with a part of the path's hash where another folder has it.
fn free_name(config: &TeamConfig, folder: &Path) -> Result<MemberName, OfficeError> {
    let last = folder.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mut plain = String::new();
    for c in last.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => plain.push(c),
            _ if plain.is_empty() || plain.ends_with('-') => {}
            _ => plain.push('-'),
        }
    }
    plain.truncate(LONGEST);
    let plain = plain.trim_end_matches('-');
    let is_free =
        |name: &MemberName| config.member(name.as_str()).is_none() && !OTHERS.contains(&name.as_str());
    if let Some(name) = MemberName::create(plain).ok().filter(is_free) {
        return Ok(name);
    }
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_URL, folder.as_os_str().as_encoded_bytes()).simple().to_string();
    let plain = if plain.is_empty() { "folder" } else { plain };
    Ok(MemberName::create(&format!("{plain}-{}", &hash[..HASH]))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_is_called_as_its_folder_where_that_is_a_name_and_free() {
        let config = TeamConfig::parse(r#"{"members":[{"name":"shop","cwd":"/a/shop"}]}"#).unwrap();
        let name = |folder: &str| free_name(&config, Path::new(folder)).unwrap().to_string();
        assert_eq!(name("/a/web"), "web");
        assert_eq!(name("/a/My Shop (2)"), "my-shop-2");
        for (folder, start) in [
            ("/b/shop", "shop-"),
            ("/b/x", "x-"),
            ("/", "folder-"),
            ("/b/日本", "folder-"),
            ("/a/user", "user-"),
        ] {
            assert!(
                name(folder).starts_with(start) && name(folder).len() == start.len() + HASH,
                "{}",
                name(folder)
            );
        }
        assert_ne!(name("/b/shop"), name("/c/shop"));
        assert_eq!(find(&config, Path::new("/a/shop")).unwrap().as_str(), "shop");
        assert_eq!(find(&config, Path::new("/b/shop")), None);
    }
}
