//! The handle of one team: its configuration, loaded once, and what follows from it.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use atm_ledger::InboxKey;
use atm_store::{Mailbox, Scratch, Signature, StoreError, TeamFolder};
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{MachineName, MemberName, TeamName};

use crate::error::OfficeError;
use crate::mail::digest::{Digest, Digests};
use crate::office::{Office, USER};
use crate::people::members::check_home;
use crate::people::presence::{Judgement, Surroundings};

/// One team, as its configuration was when the handle was made.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # use atm_office::{Office, people::teams::TeamPlan};
/// # use atm_store::{Root, State};
/// # let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
/// let name = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
/// let mut team = office.team(&name)?;
/// assert_eq!(team.lead()?.as_str(), "team-lead");
/// assert_eq!(team.members()[0].name, "team-lead");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Team<'a> {
    office: &'a Office,
    name: TeamName,
    folder: TeamFolder,
    config: TeamConfig,
    lead: Option<MemberName>,
    /// The session that asks, where several share an inbox.
    session: Option<String>,
    /// What was found to run, once somebody asked.
    pub(crate) around: Surroundings,
    /// What the inboxes looked like at the last look, by name: those that it did not read.
    pub(crate) signatures: HashMap<String, Signature>,
    /// What is in the inboxes of everybody, once somebody asked, by name.
    pub(crate) digests: OnceLock<HashMap<String, Result<Digest, StoreError>>>,
}

impl Office {
    /// The team of this name, with its configuration; an error with the nearest names if there is none.
    pub fn team(&self, name: &TeamName) -> Result<Team<'_>, OfficeError> {
        let folder = self.folder(name)?;
        let config = folder.load()?;
        self.recognise(name, &config);
        Ok(self.team_with(name.clone(), config))
    }

    /// The team that has this configuration, which was loaded just now.
    pub(crate) fn team_with(&self, name: TeamName, config: TeamConfig) -> Team<'_> {
        let folder = self.folder_of(&name);
        let lead = self.lead_of(&name, &config).ok();
        let around = Surroundings::of(&config);
        let (signatures, digests) = (HashMap::new(), OnceLock::new());
        Team { office: self, name, folder, config, lead, session: None, around, signatures, digests }
    }

    /// The team of this name, to be looked at: of one that is gone, it is recorded what became of its mail.
    pub fn team_to_look_at(&self, name: &TeamName) -> Result<Team<'_>, OfficeError> {
        self.team(name).or_else(|missing| {
            self.look(name)?;
            Err(missing)
        })
    }
}

impl<'a> Team<'a> {
    /// The office that the team is looked at from.
    pub fn office(&self) -> &'a Office {
        self.office
    }

    /// The same team, for what is asked in a client's session: of mail that several sessions share, it gets what is for it.
    #[must_use]
    pub fn in_session(mut self, session: Option<String>) -> Self {
        self.session = session;
        self
    }

    /// The session that asks.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Its name: the folder's.
    pub fn name(&self) -> &TeamName {
        &self.name
    }

    /// The same team, as it was loaded, with nothing looked at.
    pub(crate) fn again(&self) -> Self {
        self.office.team_with(self.name.clone(), self.config.clone()).in_session(self.session.clone())
    }

    /// Its folder.
    pub fn folder(&self) -> &TeamFolder {
        &self.folder
    }

    /// Its configuration.
    pub fn config(&self) -> &TeamConfig {
        &self.config
    }

    /// Reads the configuration again, after a change of our own.
    pub fn reload(&mut self) -> Result<(), OfficeError> {
        self.config = self.folder.load()?;
        self.lead = self.office.lead_of(&self.name, &self.config).ok();
        self.around = Surroundings::of(&self.config);
        Ok(())
    }

    /// Who leads it, by the rule of [`lead`](crate::people::lead); an error if nobody does.
    pub fn lead(&self) -> Result<&MemberName, OfficeError> {
        self.lead.as_ref().ok_or_else(|| OfficeError::NoLead { team: self.name.clone() })
    }

    /// Whether somebody leads it, or would: a team without a lead is led by its [`DEFAULT`](crate::people::lead::DEFAULT).
    pub fn is_led_by(&self, who: &MemberName) -> bool {
        self.office.leads(&self.name, &self.config, who)
    }

    /// Whom a name means, and that one's home where it is another machine. A member of another machine may be named with
    /// its machine, also where its name alone would do.
    pub(crate) fn home_of(&self, name: &MemberName) -> (MemberName, Option<MachineName>) {
        let Some(machine) = self.config.machine_of(name.as_str()) else { return (name.clone(), None) };
        let bare = machine.unqualify(name.as_str());
        let is_it = |member: &&Member| member.name == bare && member.machine.as_ref() == Some(machine);
        let plain = self.config.members.iter().find(is_it).and_then(|member| member.checked_name().ok());
        (plain.unwrap_or_else(|| name.clone()), Some(machine.clone()))
    }

    /// Refuses what only a member's home can do, if that is another machine.
    pub fn check_here(&self, name: &MemberName, why: &str) -> Result<(), OfficeError> {
        check_home(&self.config, name, why)
    }

    /// The member's entry, or an error with the nearest names.
    pub fn member(&self, name: &MemberName) -> Result<&Member, OfficeError> {
        let wanted = name.as_str();
        self.config.member(wanted).ok_or_else(|| self.office.no_member(&self.name, &self.config, wanted))
    }

    /// Everybody here with mail of their own: the members, and the names that only have an inbox. Sorted, each once.
    pub fn names(&self) -> Vec<MemberName> {
        let members = self.config.members.iter().filter_map(|member| member.checked_name().ok());
        let mut names: Vec<MemberName> = members.chain(self.folder.inbox_names()).collect();
        if self.config.is_shared() {
            names.retain(|name| self.config.machine_of(name.as_str()).is_none());
        }
        names.sort();
        names.dedup();
        names
    }

    /// The names that have an inbox and no entry. The person at the keyboard is none of them.
    pub(crate) fn names_without_entry(&self) -> Vec<MemberName> {
        let entries: HashSet<&str> = self.config.members.iter().map(|member| member.name.as_str()).collect();
        let names = self.folder.inbox_names().into_iter();
        let is_shared = self.config.is_shared();
        let is_here = |name: &str| name != USER && !(is_shared && self.config.machine_of(name).is_some());
        names.filter(|name| !entries.contains(name.as_str()) && is_here(name.as_str())).collect()
    }

    /// What is in the inboxes of everybody, by name: asked once for each handle and look. Only those are read that changed
    /// since they were read last.
    pub(crate) fn digests(&self) -> &HashMap<String, Result<Digest, StoreError>> {
        self.digests.get_or_init(|| {
            let mut known =
                Digests::read(Scratch::of_mail(&self.office.root, &self.name, &self.office.state));
            let mailboxes = self.office.mailboxes(&self.folder);
            let digest = |name: &MemberName| {
                let mailbox = self.office.with_memory(mailboxes.open(name), &self.name, name);
                let looks_like = self.signatures.get(name.as_str()).cloned();
                let looks_like = looks_like.unwrap_or_else(|| mailboxes.signature(&mailbox));
                (name.to_string(), known.of(name.as_str(), &mailbox, &looks_like))
            };
            let all: HashMap<_, _> = self.names().iter().map(digest).collect();
            // Looking makes no state where there is none.
            if self.office.books.exist() {
                known.keep(|name| all.contains_key(name));
            }
            all
        })
    }

    /// The mailbox of a name, whether there is one or not.
    pub fn mailbox(&self, name: &MemberName) -> Mailbox {
        self.office.mailbox(&self.name, name)
    }

    /// The mailbox of somebody who is a member, has an inbox, or is the user.
    pub fn known_mailbox(&self, name: &MemberName) -> Result<Mailbox, OfficeError> {
        let mailbox = self.mailbox(name);
        if self.config.member(name.as_str()).is_some() || mailbox.exists() || name.as_str() == USER {
            return Ok(mailbox);
        }
        Err(self.office.no_member(&self.name, &self.config, name.as_str()))
    }

    /// Whether a member is there, and why we say so. Processes are looked at once for each handle.
    pub fn judge(&self, member: &Member) -> Judgement {
        self.office.judge(&self.name, &self.config, member, &self.around)
    }

    /// Why a member counts as off, if it does: the question that sending, retrying and waking ask. One that the
    /// configuration does not call inactive is not, and costs nothing to ask about.
    pub fn why_off(&self, member: &Member) -> Option<String> {
        self.office.why_off(&self.name, &self.config, member, &self.around)
    }

    /// A running process that can be tied to a member, in words.
    pub fn life_of(&self, member: &Member) -> Option<String> {
        self.office.life_of(&self.name, &self.config, member, &self.around)
    }

    /// A running process that says that it is `name` of this team, member or not.
    pub fn agent_named(&self, name: &MemberName) -> Option<u64> {
        self.office.agent_named(&self.name, name.as_str(), &self.around)
    }

    /// Under which the ledger keeps the mail of a name.
    pub fn inbox_key(&self, name: &MemberName) -> InboxKey {
        self.office.inbox_key(&self.name, name)
    }
}
