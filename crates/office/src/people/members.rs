//! Members: adding, changing, and who is on.

use std::collections::HashMap;
use std::path::PathBuf;

use atm_wire::metadata::{self, Metadata};
use atm_wire::team::{Manner, Member, NewMember, Spawned, TeamConfig, Waking};
use atm_wire::{Color, MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::chores::wake;
use crate::error::OfficeError;
use crate::mail::digest::Digest;
use crate::mail::partly::{After, Done};
use crate::office::Office;
use crate::people::pane::PaneRef;
use crate::people::presence::{Judged, Judgement, Signs};
use crate::team::Team;

pub use crate::people::presence::Presence;

/// A member to be added. What is left out gets a sensible default.
#[derive(Debug, Clone, Default)]
pub struct MemberPlan {
    /// Its name.
    pub name: String,
    /// `general-purpose` unless said.
    pub agent_type: Option<String>,
    /// `sonnet` unless said.
    pub model: Option<String>,
    /// What it is started with.
    pub prompt: Option<String>,
    /// The next in turn unless said.
    pub color: Option<String>,
    /// Its tmux pane.
    pub pane: Option<String>,
    /// Where it works.
    pub cwd: Option<PathBuf>,
    /// Whether it does not run yet.
    pub inactive: bool,
    /// Whether it needs the lead's leave for its plans, if that is said.
    pub plan_mode: Option<bool>,
    /// What its client may do without asking, in the client's own word, if we start it.
    pub permission_mode: Option<String>,
    /// How we start it, if we do.
    pub spawned: Option<Spawned>,
    /// What its people want to have in its `metadata`, beside ours.
    pub metadata: Metadata,
}

impl MemberPlan {
    /// A member with defaults.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub(crate) fn lead(name: &str) -> Self {
        Self {
            agent_type: Some("team-lead".to_owned()),
            color: Some(Color::LEAD.to_string()),
            pane: Some("leader".to_owned()),
            ..Self::new(name)
        }
    }

    /// The member that it becomes, with what is not said filled in; an error if a field breaks a rule.
    pub fn resolve(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        now: Stamp,
    ) -> Result<NewMember, OfficeError> {
        let lead = config.lead().map(|lead| lead.name.as_str());
        let turn = config.members.iter().filter(|member| Some(member.name.as_str()) != lead).count();
        let or = |value: &Option<String>, default: &str| value.clone().unwrap_or_else(|| default.to_owned());
        let member = NewMember {
            name: MemberName::create(&self.name)?,
            team: team.clone(),
            agent_type: or(&self.agent_type, "general-purpose"),
            model: or(&self.model, "sonnet"),
            prompt: or(&self.prompt, ""),
            color: self.color.as_deref().map_or_else(|| Color::in_turn(turn), Color::parse),
            plan_mode_required: self.plan_mode,
            joined_at: now,
            tmux_pane_id: or(&self.pane, ""),
            cwd: self.cwd.as_ref().map(|cwd| cwd.display().to_string()),
            backend_type: if self.pane.as_deref().is_some_and(|pane| pane.starts_with('%')) {
                "tmux"
            } else {
                "in-process"
            }
            .to_owned(),
            is_active: !self.inactive,
            spawned_at: (!self.inactive).then_some(now),
            spawned: self.spawned.clone(),
            metadata: self.metadata.clone(),
        };
        member.validate()?;
        Ok(member)
    }
}

/// Where a member with this pane runs, if the pane says so.
fn backend_of(pane: &str) -> Option<&'static str> {
    match pane {
        "in-process" => Some("in-process"),
        pane if pane.starts_with('%') => Some("tmux"),
        _ => None,
    }
}

/// What can be changed of a member. `None` leaves it as it is.
#[derive(Debug, Clone, Default)]
pub struct MemberChange {
    /// Its type.
    pub agent_type: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its prompt.
    pub prompt: Option<String>,
    /// Its colour.
    pub color: Option<String>,
    /// Its tmux pane.
    pub pane: Option<String>,
    /// Where it works.
    pub cwd: Option<PathBuf>,
    /// Whether it runs.
    pub active: Option<bool>,
    /// How it is woken when mail comes.
    pub wake: Option<Manner>,
    /// Its client's conversation.
    pub session: Option<String>,
    /// Its client's server.
    pub server: Option<String>,
    /// What is set in its `metadata`; other keys stay.
    pub metadata: Metadata,
}

/// A member as a front shows it.
#[derive(Debug, Clone, Serialize)]
pub struct MemberView {
    /// The name.
    pub name: String,
    /// `name@team`.
    #[serde(rename = "agentId")]
    pub agent_id: String,
    /// Whether it is there.
    pub state: Presence,
    /// Why we say so, what decides first.
    pub evidence: Vec<String>,
    /// What decides.
    #[serde(skip)]
    pub why: String,
    /// Messages that it has not read.
    pub unread: usize,
    /// Of these, what was written while it was off.
    pub pending: usize,
    /// When the oldest of those was sent.
    #[serde(rename = "oldestPending")]
    pub oldest_pending: Option<Stamp>,
    /// When it last sent or read something, as far as we know.
    #[serde(rename = "lastSeen")]
    pub last_seen: Option<Stamp>,
    /// What it does.
    #[serde(rename = "agentType")]
    pub agent_type: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its colour.
    pub color: Option<String>,
    /// Whether it leads the team.
    pub lead: bool,
    /// The machine that is its home, where that is another one.
    pub machine: Option<String>,
    /// Whether it is listed in the configuration. One that is not has mail that waits.
    #[serde(skip)]
    pub has_entry: bool,
    /// Whether it runs in a pane of ours, whose screen can be looked at.
    #[serde(skip)]
    pub has_pane: bool,
    /// What it does, where its client says so.
    pub activity: Option<String>,
    /// Since when it does that.
    #[serde(skip)]
    pub activity_since: Option<Stamp>,
    /// Since when it is in this state, as far as that was recorded.
    pub since: Option<Stamp>,
    /// What its people put into its entry, beside ours.
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// What is wrong with its mail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Office {
    /// Adds a member and makes its inbox.
    pub fn add_member(&self, team: &TeamName, plan: &MemberPlan) -> Result<MemberName, OfficeError> {
        let folder = self.folder(team)?;
        let config = folder.load()?;
        if let Some(member) = config.member(&plan.name) {
            let place = member.machine.as_ref().map(|machine| format!(", on machine {machine},"));
            let what = format!("member {} of team {team}{}", plan.name, place.unwrap_or_default());
            return Err(OfficeError::Exists { what });
        }
        let member = plan.resolve(team, &config, self.now())?;
        folder.add_member(member.name.as_str(), &member.render())?;
        self.mailbox(team, &member.name).create().after(|| Done::MemberAdded(member.name.clone()))?;
        Ok(member.name)
    }

    /// Changes a member; every other key of it stays as it is.
    pub fn set_member(
        &self,
        team: &TeamName,
        name: &MemberName,
        change: &MemberChange,
    ) -> Result<(), OfficeError> {
        let folder = self.folder(team)?;
        let config = folder.load()?;
        if config.member(name.as_str()).is_none() {
            return Err(self.no_member(team, &config, name.as_str()));
        }
        check_home(&config, name, "it is changed there")?;
        change.check(team, self.now())?;
        metadata::check(&change.metadata)?;
        wake::check(change.session.as_deref(), change.server.as_deref())?;
        let text =
            |key, value: &Option<String>| value.as_ref().map(|value| (vec![key], value.clone().into()));
        let mut fields: Vec<(Vec<&str>, serde_json::Value)> = [
            text("agentType", &change.agent_type),
            text("model", &change.model),
            text("prompt", &change.prompt),
            text("color", &change.color.as_deref().map(|color| Color::parse(color).to_string())),
            text("tmuxPaneId", &change.pane),
            text("backendType", &change.pane.as_deref().and_then(backend_of).map(ToOwned::to_owned)),
            text("cwd", &change.cwd.as_ref().map(|cwd| cwd.display().to_string())),
        ]
        .into_iter()
        .flatten()
        .collect();
        if let Some(active) = change.active {
            fields.push((vec!["isActive"], active.into()));
            let key = if active { "spawnedAt" } else { "shutdownAt" };
            fields.push((vec![key], self.now().to_string().into()));
        }
        let waking = [
            (Waking::MANNER, change.wake.map(|manner| manner.as_str().to_owned())),
            (Waking::SESSION, change.session.clone()),
            (Waking::SERVER, change.server.clone()),
        ];
        fields.extend(waking.into_iter().filter_map(|(path, value)| Some((path.to_vec(), value?.into()))));
        let others = change.metadata.iter();
        fields.extend(others.map(|(key, value)| (vec!["metadata", key.as_str()], value.clone())));
        if fields.is_empty() { Ok(()) } else { Ok(folder.set_member_below(name.as_str(), &fields)?) }
    }

    /// All members with what waits for them.
    pub fn members(&self, team: &TeamName) -> Result<Vec<MemberView>, OfficeError> {
        Ok(self.team(team)?.look_at_members())
    }
}

impl Team<'_> {
    /// All members with what waits for them, after a look.
    pub fn look_at_members(&mut self) -> Vec<MemberView> {
        // If tmux cannot be asked, or nothing written, the file's word stands.
        let _ = self.notice_exits();
        // Who is there can be told without a look, too. It makes no ledger where there is none.
        if self.office().books.exist() {
            let _ = self.look();
        }
        self.members()
    }

    /// All members with what waits for them, as the files are.
    pub fn members(&mut self) -> Vec<MemberView> {
        let Judged { known, members } = self.judge_all();
        let inboxes = self.digests();
        let lead = self.config().lead().map(|lead| lead.name.as_str());
        let namesakes = namesakes(self.config());
        let view = |(member, (signs, judged)): (&Member, (Signs, Judgement))| {
            let leads = lead == Some(member.name.as_str());
            let before = known.get(&member.name).filter(|before| before.state == judged.state.as_str());
            let mut view = member_view(self.name(), member, leads, judged, signs.last_heard());
            view.activity_since = signs.session_since.filter(|_| view.activity.is_some());
            view.since = before.map(|before| Stamp::from_millis(before.at));
            match inboxes.get(&member.name) {
                Some(Ok(digest)) => view.count(digest, member.shutdown_at),
                Some(Err(error)) => view.warnings.push(error.to_string()),
                None => view.warnings.extend(member.checked_name().err().map(|error| error.to_string())),
            }
            if !view.lead && view.machine.is_none() {
                view.warnings.extend(namesakes.get(member.name.as_str()).into_iter().flatten().cloned());
            }
            view
        };
        let mut views: Vec<MemberView> = self.config().members.iter().zip(members).map(view).collect();
        views.extend(self.names_without_entry().iter().filter_map(|name| self.without_entry(name)));
        views
    }

    /// Somebody who has no entry, and mail that waits: a client took the entry away when its member ended.
    fn without_entry(&self, name: &MemberName) -> Option<MemberView> {
        let digest = self.digests().get(name.as_str())?.as_ref().ok()?;
        if digest.unread == 0 {
            return None;
        }
        let (state, why) = match self.agent_named(name) {
            Some(pid) => (Presence::Online, format!("process {pid} runs with its --agent-id")),
            None => (Presence::Offline, "it has no entry in config.json".to_owned()),
        };
        let entry = Member { name: name.to_string(), ..Member::default() };
        let judged = Judgement { state, activity: None, evidence: Vec::new() };
        let mut view = member_view(self.name(), &entry, false, judged, None);
        view.has_entry = false;
        view.evidence.push(why.clone());
        view.why = why;
        view.count(digest, None);
        Some(view)
    }
}

/// The members of other machines whose own names are others' here, by those names. Leads have namesakes, as a rule.
fn namesakes(config: &TeamConfig) -> HashMap<&str, Vec<String>> {
    let mut found: HashMap<&str, Vec<String>> = HashMap::new();
    for other in &config.members {
        let Some(machine) = &other.machine else { continue };
        let bare = machine.unqualify(&other.name);
        if bare != other.name {
            let what = format!("machine {machine} has a member of this name, too: {} here", other.name);
            found.entry(bare).or_default().push(what);
        }
    }
    found
}

fn member_view(
    team: &TeamName,
    member: &Member,
    leads: bool,
    judged: Judgement,
    last_seen: Option<Stamp>,
) -> MemberView {
    MemberView {
        name: member.name.clone(),
        agent_id: member.agent_id.clone().unwrap_or_else(|| format!("{}@{team}", member.name)),
        state: judged.state,
        since: None,
        why: judged.why(),
        activity: judged.activity,
        activity_since: None,
        evidence: judged.evidence.into_iter().map(|trace| trace.what).collect(),
        unread: 0,
        pending: 0,
        oldest_pending: None,
        last_seen,
        agent_type: member.agent_type.clone(),
        model: member.model.clone(),
        color: member.color.as_ref().map(ToString::to_string),
        lead: leads,
        machine: member.machine.as_ref().map(ToString::to_string),
        has_entry: true,
        has_pane: PaneRef::of(member).is_some(),
        metadata: member.metadata.clone(),
        warnings: Vec::new(),
    }
}

/// Refuses what only a member's home can do, if that is another machine.
pub(crate) fn check_home(config: &TeamConfig, name: &MemberName, why: &str) -> Result<(), OfficeError> {
    let Some(machine) = config.machine_of(name.as_str()) else { return Ok(()) };
    Err(OfficeError::Elsewhere { name: name.to_string(), machine: machine.clone(), why: why.to_owned() })
}

/// Whether mail that says nothing of its delivery was written for somebody who had ended, as far as is known.
fn came_while_off(sent: Option<Stamp>, ended: Option<Stamp>) -> bool {
    ended.is_none_or(|ended| sent.is_none_or(|sent| sent.may_be_since(ended)))
}

impl MemberView {
    /// Counts what waits in its inbox.
    fn count(&mut self, digest: &Digest, ended: Option<Stamp>) {
        let is_off = self.state == Presence::Offline;
        let came = |sent: &&Option<i64>| is_off && came_while_off(sent.map(Stamp::from_millis), ended);
        let came: Vec<&Option<i64>> = digest.unmarked.iter().filter(came).collect();
        self.unread = digest.unread;
        self.pending = digest.pending + came.len();
        let oldest = digest.oldest_pending.iter().chain(came.into_iter().flatten()).min();
        self.oldest_pending = oldest.map(|at| Stamp::from_millis(*at));
        self.warnings.extend(digest.warnings.iter().cloned());
    }
}

impl MemberChange {
    /// Holds what is changed to the rules for new members.
    fn check(&self, team: &TeamName, now: Stamp) -> Result<(), OfficeError> {
        let checked = MemberPlan {
            // The name is not changed, so it is not judged.
            name: "member".to_owned(),
            agent_type: self.agent_type.clone(),
            model: self.model.clone(),
            prompt: self.prompt.clone(),
            // What stands there was not checked by us, and stays.
            color: self.color.clone(),
            pane: self.pane.clone(),
            cwd: self.cwd.clone(),
            ..MemberPlan::default()
        };
        checked.resolve(team, &TeamConfig::default(), now).map(drop)
    }
}
