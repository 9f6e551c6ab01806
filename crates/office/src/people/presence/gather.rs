//! Looking for traces of members: in the configuration, in panes and processes, in mail and in the ledger. Nothing is
//! changed.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use atm_clients::claude::sessions::{self, Session};
use atm_ledger::{InboxKey, Ledger, LedgerError, Traces};
use atm_wire::payload::{Content, Payload, classify};
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{Message, Stamp, TeamName};

use super::judge;
use super::own::{Own, Remembered};
use super::rules::{Pane, Signs, Word};
use super::tied::Tied;
use super::{Judgement, Presence};
use crate::machines::Table;
use crate::mail::digest::LastWord;
use crate::office::Office;
use crate::people::exits::open_panes;
use crate::people::pane::{Life, PaneHost, PaneRef};
use crate::people::probe::{Agent, Nameless};
use crate::people::process::{Fate, fate_by};
use crate::sessions::{Live, Registered, is_team};
use crate::trail::transcript::{Conversations, Ties};

/// What a member does at the end of its conversation may come this much later than its last entry.
const LATE: Duration = Duration::from_secs(60);

/// What is asked once for all members, and only if somebody wants to know.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// The member that leads.
    lead: Option<String>,
    /// The panes to ask about, by the member's name.
    refs: Vec<(String, PaneRef)>,
    /// What is known of panes, by the member's name, and the process there.
    panes: OnceLock<HashMap<String, (Pane, Option<u64>)>>,
    lead_process: OnceLock<Option<(Fate, u64)>>,
    /// Sessions that run.
    sessions: OnceLock<Vec<Session>>,
    /// The processes that run as a member, by `NAME@TEAM`.
    agents: OnceLock<HashMap<String, u64>>,
    /// Clients that do not say which member they are.
    pub(super) nameless: OnceLock<Vec<Nameless>>,
    /// The conversations of the team.
    pub(super) conversations: OnceLock<Conversations>,
    /// The sessions that were noted, and those that run: of the team of sessions alone.
    pub(super) register: OnceLock<(Vec<Registered>, Vec<Live>)>,
    /// Of the sessions of a folder, the one that is asked about, if it is one alone.
    pub(super) only_session: Option<String>,
    /// The conversations that hooks were called in.
    pub(super) ties: OnceLock<Ties>,
    /// The processes that earlier looks found, by `NAME@TEAM`.
    pub(super) ran: OnceLock<Remembered>,
    /// What the ledger knows, by the member's name, if everybody was asked about at once.
    traces: OnceLock<HashMap<String, Traces>>,
    /// The last word of each sender that stands in an inbox.
    words: HashMap<String, Word>,
    /// What is known of other machines' members, and whether a bridge runs that could know it.
    elsewhere: OnceLock<(Table, bool)>,
}

impl Surroundings {
    /// Nothing is asked yet.
    pub(crate) fn of(config: &TeamConfig) -> Self {
        let refs = open_panes(config).map(|(member, pane)| (member.name.clone(), pane)).collect();
        Self { lead: config.lead().map(|lead| lead.name.clone()), refs, ..Self::default() }
    }

    /// What one session's client tells of it: what was heard of the mailbox that it shares says nothing of this one.
    pub(super) fn of_session(session: &str) -> Self {
        Self {
            only_session: Some(session.to_owned()),
            traces: OnceLock::from(HashMap::new()),
            ..Self::default()
        }
    }

    fn is_lead(&self, member: &Member) -> bool {
        self.lead.as_deref() == Some(member.name.as_str())
    }

    /// Takes note of who said what in an inbox.
    pub(crate) fn hear(&mut self, words: &[LastWord]) {
        for (from, at, kind, detail) in words {
            let at = Stamp::from_millis(*at);
            if self.words.get(from).is_none_or(|word| word.at < at) {
                self.words.insert(from.clone(), Word { at, kind: kind.clone(), detail: detail.clone() });
            }
        }
    }

    /// What mail and the ledger told is asked again.
    pub(crate) fn forget_mail(&mut self) {
        self.traces = OnceLock::new();
        self.words.clear();
    }

    /// What is known of a member's pane.
    fn pane(&self, host: &dyn PaneHost, member: &Member) -> Option<Pane> {
        if let Some(how) = ended(member) {
            return Some(Pane::Silent(how.to_owned()));
        }
        let asked = self.panes.get_or_init(|| ask_panes(host, &self.refs));
        let foreign = || {
            let pane = member.tmux_pane_id.as_deref().filter(|pane| pane.starts_with('%'))?;
            // A number alone says nothing: servers give the same ones, and after a restart to others.
            Some(Pane::Silent(format!(
                "runs in pane {pane}, which atm did not open and cannot tell from others"
            )))
        };
        asked.get(&member.name).map(|(pane, _)| pane.clone()).or_else(foreign)
    }

    /// The lead's process: as the configuration records it, else as the sessions' registry proves that it has ended.
    pub(super) fn lead_process(&self, office: &Office, config: &TeamConfig) -> Option<(Fate, u64)> {
        let probe = &*office.probe;
        let recorded = || {
            config.lead_process.as_ref().and_then(|process| Some((fate_by(probe, process)?, process.pid?)))
        };
        let registered = || {
            let (root, session) = (office.root.path(), config.lead_session_id.as_deref()?);
            let ended = sessions::ended(root, session, &probe.pid_space(), |pid| probe.started(pid));
            ended.map(|pid| (Fate::Gone, pid))
        };
        *self.lead_process.get_or_init(|| recorded().or_else(registered))
    }

    /// The sessions that run.
    pub(super) fn sessions(&self, office: &Office) -> &[Session] {
        let live = || sessions::live(office.root.path(), |pid| office.probe.started(pid));
        self.sessions.get_or_init(live)
    }
}

/// How a member ended that we started, if it did and was not started since.
pub(crate) fn ended(member: &Member) -> Option<&str> {
    member.spawned.as_ref().filter(|_| member.is_offline()).and_then(|spawned| spawned.exit.as_deref())
}

impl Office {
    /// All traces of a member.
    pub(crate) fn signs(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        member: &Member,
        around: &Surroundings,
    ) -> Signs {
        if let Some(machine) = &member.machine {
            let ask = || (self.table(team), self.machines().is_served());
            let (table, is_served) = around.elsewhere.get_or_init(ask);
            let said = table.judge(&member.name, machine, *is_served);
            return Signs { elsewhere: Some(said), ..Signs::default() };
        }
        let traces = if let Some(all) = around.traces.get() {
            all.get(&member.name).cloned()
        } else {
            let (root, team, name) = (self.root_key(), team.to_string(), member.name.clone());
            self.asked(|ledger| ledger.traces(&InboxKey { root, team, name }))
        };
        let traces = traces.unwrap_or_default();
        let now = self.now();
        // Other programs' clocks may be ahead of ours.
        let stamp = |at: Option<i64>| at.map(|at| Stamp::from_millis(at).min(now));
        let recorded = traces.said.map(|said| Word {
            at: Stamp::from_millis(said.at),
            detail: detail(&said.text, &said.kind),
            kind: said.kind,
        });
        let in_file = around.words.get(&member.name).cloned();
        let word = [recorded, in_file].into_iter().flatten().max_by_key(|word| word.at);
        let session = self.session_of(team, config, member, around);
        let tied = if session.is_none() { self.tied(team, member, around) } else { None };
        let mut signs = Signs {
            is_active: member.is_active,
            started: member.spawned_at.or(member.joined_at),
            ended: member.shutdown_at,
            pane: around.pane(self.panes(), member),
            process: self.recorded_process(config, member, around),
            session_since: stamp(session.and_then(|session| session.since)),
            session: session.map(|session| {
                // What a lead does says nothing of a member that lives in it.
                let activity = session.activity.clone().filter(|_| !may_live_in_lead(member));
                (session.describe(), activity)
            }),
            tied: tied.as_ref().filter(|tied| tied.is_running).map(Tied::describe),
            agent: self.agent_of(team, member, around).map(describe_agent),
            own: None,
            wrote: None,
            word: word.map(|word| Word { at: word.at.min(now), ..word }),
            heartbeat: stamp(traces.heartbeat),
            took: stamp(traces.took),
            unanswered: stamp(traces.unanswered),
            stalled: stamp(traces.stalled),
            elsewhere: None,
        };
        if is_team(team) {
            (signs.session, signs.own) = self.signs_of_folder(team, member, around);
            return signs;
        }
        if !signs.is_settled() && !around.is_lead(member) && !lives_in_lead(member) {
            let spoken = self.spoken(team, config, member, around);
            signs.own = self.own_process(team, config, member, spoken.as_ref(), around);
            signs.wrote = spoken.map(|spoken| spoken.at.min(now));
        }
        // One that was heard of since then runs elsewhere.
        let is_last = |tied: &Tied| {
            let went_on = tied.went_on.map(|at| at.saturating_add(LATE));
            signs.last_heard().is_none_or(|heard| went_on.is_some_and(|went_on| heard <= went_on))
        };
        if let Some(tied) = tied.filter(|tied| !tied.is_running && signs.own.is_none() && is_last(tied)) {
            signs.own = Some(Own::Gone(tied.what));
        }
        signs
    }

    /// Asks the ledger about everybody at once.
    pub(crate) fn trace_all(&self, team: &TeamName, around: &Surroundings) {
        around.traces.get_or_init(|| {
            self.asked(|ledger| ledger.team_traces(&self.root_key(), team.as_str())).unwrap_or_default()
        });
    }

    /// An answer of the ledger. Looking makes none, and where it cannot be asked, nothing is known.
    fn asked<T>(&self, question: impl FnOnce(&mut Ledger) -> Result<T, LedgerError>) -> Option<T> {
        if self.books.exist() { self.books.with(question).ok() } else { None }
    }

    /// Whether a member is there, and why we say so.
    pub(crate) fn judge(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        member: &Member,
        around: &Surroundings,
    ) -> Judgement {
        judge(&self.signs(team, config, member, around), self.now())
    }

    /// Why a member counts as off, if it does. One that its configuration does not call inactive does not, and costs
    /// nothing to ask about.
    pub(crate) fn why_off(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        member: &Member,
        around: &Surroundings,
    ) -> Option<String> {
        if !member.is_offline() || self.life_of(team, config, member, around).is_some() {
            return None;
        }
        let judged = self.judge(team, config, member, around);
        (judged.state == Presence::Offline).then(|| judged.why())
    }

    /// A running process that can be tied to a member, in words. What is cheap to ask is asked first.
    pub(crate) fn life_of(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        member: &Member,
        around: &Surroundings,
    ) -> Option<String> {
        if member.machine.is_some() {
            return None;
        }
        if let Some((Fate::Runs, what)) = self.recorded_process(config, member, around) {
            return Some(what);
        }
        if let Some(session) = self.session_of(team, config, member, around) {
            return Some(session.describe());
        }
        if let Some(tied) = self.tied(team, member, around).filter(|tied| tied.is_running) {
            return Some(tied.what);
        }
        if let Some(pid) = self.agent_of(team, member, around) {
            return Some(describe_agent(pid));
        }
        match around.pane(self.panes(), member) {
            Some(Pane::Runs(what)) => Some(what),
            _ => None,
        }
    }

    /// The processes that run for a member, as far as they were asked about.
    pub(super) fn processes_of(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        member: &Member,
        around: &Surroundings,
    ) -> Vec<u64> {
        if member.machine.is_some() {
            return Vec::new();
        }
        let is_its_own = around.is_lead(member) || may_live_in_lead(member);
        let recorded =
            around.lead_process(self, config).filter(|(fate, _)| is_its_own && *fate == Fate::Runs);
        let of_pane = || around.panes.get()?.get(&member.name)?.1;
        let found = [
            recorded.map(|(_, pid)| pid),
            self.session_of(team, config, member, around).map(|session| session.pid),
            self.tied(team, member, around).and_then(|tied| tied.pid),
            self.agent_of(team, member, around),
            of_pane(),
        ];
        found.into_iter().flatten().collect()
    }

    /// The process that runs as `name` of a team, whether that is a member or not.
    pub(crate) fn agent_named(&self, team: &TeamName, name: &str, around: &Surroundings) -> Option<u64> {
        let agents = around.agents.get_or_init(|| {
            let is_here = |agent: &Agent| agent.root.as_deref().is_none_or(|root| self.is_root(root));
            let mut agents: Vec<Agent> = self.probe.agents().into_iter().filter(is_here).collect();
            // One of which it is known that it is of this tree counts, and not one of the same name that may be another's.
            agents.sort_by_key(|agent| agent.root.is_some());
            let agents = agents.into_iter().map(|agent| (agent.id, agent.pid)).collect();
            self.remember_agents(&agents);
            agents
        });
        agents.get(&format!("{name}@{team}")).copied()
    }

    fn agent_of(&self, team: &TeamName, member: &Member, around: &Surroundings) -> Option<u64> {
        let found = self.agent_named(team, &member.name, around);
        found.or_else(|| around.agents.get()?.get(member.agent_id.as_deref()?).copied())
    }

    /// The session that runs for a member: its own, or its lead's if it lives in that one.
    fn session_of<'a>(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        member: &Member,
        around: &'a Surroundings,
    ) -> Option<&'a Session> {
        let leads = around.is_lead(member);
        let tie = self.tie_of(team, member, around).filter(|_| !lives_in_lead(member));
        let own = member.waking.session.as_deref().or(tie.map(|tie| tie.session.as_str()));
        let of_lead = config.lead_session_id.as_deref().filter(|_| leads || may_live_in_lead(member));
        let process = config.lead_process.as_ref().and_then(|process| process.pid).filter(|_| leads);
        if own.is_none() && of_lead.is_none() && process.is_none() {
            return None;
        }
        let live = around.sessions(self);
        let is_ids = |session: &&Session| [own, of_lead].contains(&Some(session.id.as_str()));
        // `/clear` begins another conversation in the same process.
        let by_process = || live.iter().find(|session| Some(session.pid) == process);
        live.iter().find(is_ids).or_else(by_process)
    }

    /// The process that the configuration records: the lead's own, which is also that of members who live in it.
    fn recorded_process(
        &self,
        config: &TeamConfig,
        member: &Member,
        around: &Surroundings,
    ) -> Option<(Fate, String)> {
        let leads = around.is_lead(member);
        if !leads && !lives_in_lead(member) {
            return None;
        }
        let (fate, pid) = around.lead_process(self, config)?;
        if !leads && fate == Fate::Runs && !may_live_in_lead(member) {
            return None;
        }
        let whose = if leads {
            format!("its process {pid}")
        } else {
            format!("the lead's process {pid}, in which it lives,")
        };
        let what = match fate {
            Fate::Runs => "runs",
            Fate::Gone => "is gone",
            Fate::Replaced => "is gone, and its number is another's now",
            Fate::Elsewhere => "is of another machine or container, and cannot be asked from here",
        };
        Some((fate, format!("{whose} {what}")))
    }
}

fn lives_in_lead(member: &Member) -> bool {
    member.backend_type.as_deref() == Some("in-process")
        && member.tmux_pane_id.as_deref() == Some("in-process")
}

/// Clients write no `isActive` for members inside a lead: where it is false, somebody ended that member, and its
/// lead's process says nothing about it.
fn may_live_in_lead(member: &Member) -> bool {
    lives_in_lead(member) && !member.is_offline()
}

/// A process that runs as a member, in words.
fn describe_agent(pid: u64) -> String {
    format!("process {pid} runs with its --agent-id")
}

/// What became of the panes that members run in: each server is asked once.
fn ask_panes(host: &dyn PaneHost, refs: &[(String, PaneRef)]) -> HashMap<String, (Pane, Option<u64>)> {
    let panes: Vec<PaneRef> = refs.iter().map(|(_, pane)| pane.clone()).collect();
    if panes.is_empty() {
        return HashMap::new();
    }
    match host.lives(&panes) {
        Ok(lives) => {
            let known = |pane: &PaneRef, life: &Life| (said(pane, life), process_in(life));
            refs.iter().zip(lives).map(|((name, pane), life)| (name.clone(), known(pane, &life))).collect()
        }
        Err(error) => {
            let silent = |pane| Pane::Silent(format!("{pane} could not be asked: {error}"));
            refs.iter().map(|(name, pane)| (name.clone(), (silent(pane), None))).collect()
        }
    }
}

fn process_in(life: &Life) -> Option<u64> {
    match life {
        Life::Alive { pid, .. } => Some(u64::from(*pid)),
        Life::Dead(_) | Life::NoServer => None,
    }
}

fn said(pane: &PaneRef, life: &Life) -> Pane {
    match life {
        Life::Alive { waiting: true, .. } => {
            Pane::Silent(format!("{pane} is open, and nothing was started in it yet"))
        }
        Life::Alive { pid, .. } => Pane::Runs(format!("{pane} runs (process {pid})")),
        Life::Dead(Some(exit)) => Pane::Gone(format!("the program of {pane} ended with {exit}")),
        Life::Dead(None) => Pane::Gone(format!("{pane} is gone")),
        Life::NoServer => Pane::Gone(format!("the tmux server of {pane} is gone")),
    }
}

/// What a sweep sends in the lead's name, whichever process runs it: no sign of the lead.
pub(crate) fn is_chore(message: &Message) -> bool {
    message.text.starts_with('{') && ["health_check", "stall_alert"].contains(&&*message.kind())
}

/// What is worth knowing of a word.
pub(crate) fn detail(text: &str, kind: &str) -> Option<String> {
    let Content::Protocol(parsed) = classify(text, Some(kind)) else { return None };
    match parsed.payload {
        Payload::IdleNotification(idle) => idle.idle_reason,
        Payload::Heartbeat(beat) => {
            let task = beat.task_id.map(|task| format!("task {task}"));
            let progress = beat.progress_percent.map(|progress| format!("{progress} %"));
            let parts: Vec<String> = [task, progress].into_iter().flatten().collect();
            (!parts.is_empty()).then(|| parts.join(", "))
        }
        _ => None,
    }
}
