//! Teams: making, listing, choosing, deleting.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atm_store::{Group, Layout, TeamFolder};
use atm_wire::metadata::Metadata;
use atm_wire::team::{NewTeam, TeamConfig};
use atm_wire::{MemberName, Stamp, TeamName};
use serde_json::{Value, json};

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::office::Office;
use crate::people::members::MemberPlan;
use crate::people::nearest::nearest;
use crate::sessions;

/// Teams that a client made by itself are called so.
const IMPLICIT_PREFIX: &str = "session-";

/// A team to be made.
#[derive(Debug, Clone)]
pub struct TeamPlan {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How its mail is kept.
    pub layout: Layout,
    /// The name of its lead.
    pub lead: Option<String>,
    /// Where the lead works.
    pub cwd: Option<PathBuf>,
    /// The group that may read it.
    pub group: Option<String>,
    /// What its people want to have in its `metadata`.
    pub metadata: Metadata,
}

impl TeamPlan {
    /// A team with array inboxes and a lead called `team-lead`.
    pub fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            layout: Layout::Array,
            lead: Some("team-lead".to_owned()),
            cwd: None,
            group: None,
            metadata: Metadata::new(),
        }
    }
}

/// What one wants to know of a team.
#[derive(Debug, Clone)]
pub struct TeamBrief {
    /// Its name: the folder's.
    pub name: TeamName,
    /// Its folder.
    pub path: PathBuf,
    /// How its mail is kept.
    pub layout: Layout,
    /// A name for people: where the lead works, for teams that a client made by itself.
    pub label: Option<String>,
    /// What its people call it.
    pub aliases: Vec<String>,
    /// Who leads it.
    pub lead: Option<MemberName>,
    /// Its members and more.
    pub config: TeamConfig,
    /// The group that may read it, if it is for one.
    pub group: Option<String>,
    /// Why the configuration could not be read, if it could not.
    pub trouble: Option<String>,
}

impl TeamBrief {
    /// Where the lead works.
    pub fn lead_folder(&self) -> Option<&Path> {
        self.config.lead().and_then(|lead| lead.cwd.as_deref()).map(Path::new)
    }

    /// When it was made.
    pub fn created_at(&self) -> Option<Stamp> {
        self.config.created_at
    }

    /// How its mail is kept, in a word.
    pub fn layout_word(&self) -> &'static str {
        match self.layout {
            Layout::Array => "array",
            Layout::Log => "log",
        }
    }

    /// The `--json` shape, which is a promise.
    pub fn document(&self) -> Value {
        let mut document = json!({
            "name": self.name,
            "label": self.label,
            "aliases": self.aliases,
            "description": self.config.description,
            "createdAt": self.created_at(),
            "lead": self.lead,
            "cwd": self.lead_folder(),
            "layout": self.layout_word(),
            "path": self.path,
            "group": self.group,
            "members": self.config.members.iter().map(|member| member.name.clone()).collect::<Vec<_>>(),
            "trouble": self.trouble,
        });
        if !self.config.metadata.is_empty() {
            document["metadata"] = self.config.metadata.clone().into();
        }
        document
    }
}

impl Office {
    /// Makes a team with its lead.
    pub fn create_team(&self, plan: &TeamPlan) -> Result<TeamName, OfficeError> {
        let name = TeamName::create(&plan.name)?;
        if sessions::is_team(&name) {
            return Err(OfficeError::ReservedName { name: name.to_string(), whom: sessions::MAILBOXES });
        }
        let folder = self.folder_of(&name);
        // A folder without a configuration, with mail in it or half made, becomes the new team's.
        if folder.config_file().exists() {
            return Err(OfficeError::Exists { what: format!("team {name}") });
        }
        let group = match &plan.group {
            Some(name) => Some(Group::find(name).ok_or_else(|| OfficeError::NoGroup { name: name.clone() })?),
            None => None,
        };
        let lead = match &plan.lead {
            Some(lead) => {
                let lead = MemberPlan { cwd: plan.cwd.clone(), ..MemberPlan::lead(lead) };
                Some(lead.resolve(&name, &TeamConfig::default(), self.now())?)
            }
            None => None,
        };
        let new = NewTeam {
            name: name.clone(),
            description: plan.description.clone(),
            created_at: self.now(),
            lead_session_id: None,
            lead,
            metadata: plan.metadata.clone(),
        };
        new.validate()?;
        folder.create(&new.render(), plan.layout, group.as_ref())?;
        if let Some(lead) = &new.lead {
            self.mailbox(&name, &lead.name).create().after(|| Done::TeamCreated(name.clone()))?;
        }
        Ok(name)
    }

    /// All teams. One that cannot be read is listed with its trouble, not left out.
    pub fn teams(&self) -> Result<Vec<TeamBrief>, OfficeError> {
        let aliases = self.aliases()?;
        Ok(TeamFolder::list(&self.root)?.into_iter().map(|name| self.brief(name, &aliases)).collect())
    }

    /// The names of all teams. Nothing of them is read.
    pub fn team_names(&self) -> Result<Vec<TeamName>, OfficeError> {
        Ok(TeamFolder::list(&self.root)?)
    }

    /// One team, in brief.
    pub fn team_brief(&self, name: &TeamName) -> Result<TeamBrief, OfficeError> {
        self.folder(name)?;
        Ok(self.brief(name.clone(), &self.aliases()?))
    }

    fn brief(&self, name: TeamName, aliases: &BTreeMap<String, String>) -> TeamBrief {
        let folder = self.folder_of(&name);
        let (config, trouble) = match folder.load() {
            Ok(config) => (config, None),
            Err(error) => (TeamConfig::default(), Some(error.to_string())),
        };
        let label = name.as_str().starts_with(IMPLICIT_PREFIX).then(|| label(&config)).flatten();
        let layout = atm_store::mailbox::team_layout(folder.path());
        let mine = aliases.iter().filter(|(_, team)| *team == name.as_str());
        let aliases = mine.map(|(alias, _)| alias.clone()).collect();
        let group = self.group_of(&name).map(|group| group.name);
        let lead = self.lead_of(&name, &config).ok();
        TeamBrief {
            path: folder.path().to_owned(),
            layout,
            label,
            aliases,
            lead,
            config,
            group,
            trouble,
            name,
        }
    }

    /// The team that is meant: the one that was named, the only one, or the one whose lead works in `cwd`.
    pub fn choose_team(&self, wanted: Option<&str>, cwd: &Path) -> Result<TeamName, OfficeError> {
        if let Some(wanted) = wanted {
            let name = TeamName::parse(wanted)?;
            if self.folder_of(&name).exists() {
                return Ok(name);
            }
            return match self.aliased(wanted)? {
                Some(team) => Ok(team),
                None => self.labelled(wanted),
            };
        }
        let mut names = TeamFolder::list(&self.root)?;
        // The mailboxes of sessions are a team that is meant only if it is named, or there is no other.
        if names.len() > 1 {
            names.retain(|name| !sessions::is_team(name));
        }
        match names.as_slice() {
            [] => return Err(OfficeError::NoTeams { root: self.root.path().display().to_string() }),
            [only] => return Ok(only.clone()),
            _ => {}
        }
        let teams = self.teams()?;
        let here = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let works_here = |team: &&TeamBrief| {
            team.lead_folder()
                .is_some_and(|folder| folder.canonicalize().unwrap_or(folder.to_owned()) == here)
        };
        let mut here = teams.iter().filter(works_here);
        if let (Some(team), None) = (here.next(), here.next()) {
            return Ok(team.name.clone());
        }
        let teams = teams.iter().filter(|team| !sessions::is_team(&team.name));
        Err(OfficeError::WhichTeam { choices: teams.map(describe).collect() })
    }

    /// A team that a client made by itself may be called by the name of the folder its lead works in.
    fn labelled(&self, wanted: &str) -> Result<TeamName, OfficeError> {
        let teams = self.teams()?;
        let called = |team: &&TeamBrief| team.label.as_deref() == Some(wanted);
        let mut fitting = teams.iter().filter(called);
        match (fitting.next(), fitting.next()) {
            (Some(team), None) => Ok(team.name.clone()),
            (Some(_), Some(_)) => {
                let choices = teams.iter().filter(called).map(describe).collect();
                Err(OfficeError::WhichTeam { choices })
            }
            (None, _) => {
                let known = teams.iter().flat_map(|team| [Some(team.name.as_str()), team.label.as_deref()]);
                let aliases = self.aliases()?;
                Err(OfficeError::NoTeam {
                    wanted: wanted.to_owned(),
                    nearest: nearest(wanted, known.flatten().chain(aliases.keys().map(String::as_str))),
                })
            }
        }
    }

    /// Takes a team out of the tree; its files move into our state. Unread mail keeps it from happening, unless `force`.
    pub fn delete_team(&self, team: &TeamName, force: bool) -> Result<PathBuf, OfficeError> {
        let folder = self.folder(team)?;
        self.complete_accepted(team, None);
        let unread: usize = self
            .inbox_names(team)
            .iter()
            .filter_map(|name| self.mailbox(team, name).list().ok())
            .map(|listing| listing.messages.iter().filter(|message| !message.read).count())
            .sum();
        // What is promised and could not be written yet counts as well.
        let promised = if self.books.exist() { self.count_waiting(team)? } else { 0 };
        let unread = unread + promised;
        if unread > 0 && !force {
            return Err(OfficeError::UnreadMail { team: team.clone(), unread });
        }
        Ok(folder.delete(&self.root, team, &self.state, self.now())?)
    }
}

impl Office {
    /// How many messages are accepted for a team and not written.
    fn count_waiting(&self, team: &TeamName) -> Result<usize, OfficeError> {
        let root = self.root_key();
        Ok(self.books.with(|ledger| {
            let inboxes = ledger.inboxes_with_waiting(&root)?;
            let of_team = inboxes.iter().filter(|inbox| inbox.team == team.as_str());
            of_team.map(|inbox| ledger.waiting(inbox).map(|waiting| waiting.len())).sum()
        })?)
    }
}

fn label(config: &TeamConfig) -> Option<String> {
    let folder = Path::new(config.lead()?.cwd.as_deref()?);
    Some(folder.file_name()?.to_string_lossy().into_owned())
}

fn describe(team: &TeamBrief) -> String {
    match (&team.label, team.lead_folder()) {
        (Some(label), Some(folder)) => format!("{} ({label}, {})", team.name, folder.display()),
        _ => team.name.to_string(),
    }
}
