//! Looking for traces of members: in the configuration, in panes, in mail and in the ledger. Nothing is changed.

use std::collections::HashMap;

use atm_ledger::InboxKey;
use atm_wire::payload::{Content, Payload, classify};
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{Message, Stamp, TeamName};

use super::rules::{Pane, Signs, Word};
use crate::office::Office;
use crate::pane::{Life, PaneRef, Tmux};
use crate::people::process::{Fate, fate};

/// What is asked once for all members.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// By the member's name.
    panes: HashMap<String, Pane>,
    lead_process: Option<(Fate, u64)>,
    /// The last word of each sender that stands in an inbox.
    words: HashMap<String, Word>,
}

impl Surroundings {
    /// Asks what is asked once: the panes' servers, the lead's process.
    pub(crate) fn of(config: &TeamConfig) -> Self {
        let lead_process =
            config.lead_process.as_ref().and_then(|process| Some((fate(process)?, process.pid?)));
        Self { panes: panes(config), lead_process, words: HashMap::new() }
    }

    /// Takes note of who said what in an inbox.
    pub(crate) fn hear(&mut self, messages: &[Message]) {
        let mut newest: HashMap<&str, (Stamp, &Message)> = HashMap::new();
        for message in messages {
            let Some(at) = message.sent_at.filter(|_| !is_chore(message)) else { continue };
            let last = newest.entry(&message.from).or_insert((at, message));
            if at >= last.0 {
                *last = (at, message);
            }
        }
        for (from, (at, message)) in newest {
            if self.words.get(from).is_none_or(|word| word.at < at) {
                let kind = message.kind();
                let detail = detail(&message.text, &kind);
                self.words.insert(from.to_owned(), Word { at, kind, detail });
            }
        }
    }
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
        let inbox = InboxKey::new(self.root.path(), team.as_str(), &member.name);
        let traces =
            if self.books.exist() { self.books.with(|ledger| ledger.traces(&inbox)).ok() } else { None };
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
        Signs {
            is_active: member.is_active,
            started: member.spawned_at.or(member.joined_at),
            ended: member.shutdown_at,
            pane: around.panes.get(&member.name).cloned(),
            process: process(config, member, around),
            word: word.map(|word| Word { at: word.at.min(now), ..word }),
            heartbeat: stamp(traces.heartbeat),
            took: stamp(traces.took),
            unanswered: stamp(traces.unanswered),
            stalled: stamp(traces.stalled),
        }
    }
}

/// Whose process is recorded: the lead's own, and that of members who live in it.
fn process(config: &TeamConfig, member: &Member, around: &Surroundings) -> Option<(Fate, String)> {
    let (life, pid) = around.lead_process?;
    let leads = config.lead().is_some_and(|lead| lead.name == member.name);
    let lives_in_lead = member.backend_type.as_deref() == Some("in-process")
        && member.tmux_pane_id.as_deref() == Some("in-process");
    let whose = match (leads, lives_in_lead) {
        (true, _) => format!("its process {pid}"),
        (false, true) => format!("the lead's process {pid}, in which it lives,"),
        (false, false) => return None,
    };
    let what = match life {
        Fate::Runs => "runs",
        Fate::Gone => "is gone",
        Fate::Replaced => "is gone, and its number is another's now",
        Fate::Elsewhere => "is of another machine or container, and cannot be asked from here",
    };
    Some((life, format!("{whose} {what}")))
}

/// What became of the panes that members run in: each server is asked once.
fn panes(config: &TeamConfig) -> HashMap<String, Pane> {
    let mut found = HashMap::new();
    // What was seen to have ended is not asked again.
    for member in config.members.iter().filter(|member| member.is_offline()) {
        if let Some(how) = member.spawned.as_ref().and_then(|spawned| spawned.exit.clone()) {
            found.insert(member.name.clone(), Pane::Silent(how));
        }
    }
    let (names, refs): (Vec<&str>, Vec<PaneRef>) = config
        .members
        .iter()
        .filter(|member| !found.contains_key(&member.name))
        .filter_map(|member| Some((member.name.as_str(), PaneRef::of(member)?)))
        .unzip();
    let lives = if refs.is_empty() { Ok(Vec::new()) } else { Tmux::lives(&refs) };
    match lives {
        Ok(lives) => {
            for ((name, pane), life) in names.iter().zip(&refs).zip(lives) {
                found.insert((*name).to_owned(), said(pane, &life));
            }
        }
        Err(error) => {
            for (name, pane) in names.iter().zip(&refs) {
                found.insert((*name).to_owned(), Pane::Silent(format!("{pane} could not be asked: {error}")));
            }
        }
    }
    for member in &config.members {
        let foreign = member.tmux_pane_id.as_deref().filter(|pane| pane.starts_with('%'));
        if let Some(pane) = foreign.filter(|_| !found.contains_key(&member.name)) {
            // A number alone says nothing: servers give the same ones, and after a restart to others.
            let what = format!("runs in pane {pane}, which atm did not open and cannot tell from others");
            found.insert(member.name.clone(), Pane::Silent(what));
        }
    }
    found
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

/// What a sweep sends in the lead's name, whoever runs it: no sign of the lead.
fn is_chore(message: &Message) -> bool {
    message.text.starts_with('{') && ["health_check", "stall_alert"].contains(&&*message.kind())
}

/// What is worth knowing of a word.
fn detail(text: &str, kind: &str) -> Option<String> {
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
