//! What became of the process of a separate-process member that nothing names.
//!
//! | its client | what runs here | answer |
//! |---|---|---|
//! | shows which member it is (its conversation's version says so) | no process says that it is this member | it has ended |
//! | shows only its name | no client of this tree that nothing else explains | it has ended |
//! | shows only its name | such a client, in the member's folder and pane | it may run: a hint |
//! | not known | the process that an earlier look found, and it is gone | it has ended |
//! | ran elsewhere | | nobody can tell |

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use atm_clients::claude::process::shows_agent_id;
use atm_clients::claude::sessions;
use atm_store::Scratch;
use atm_wire::team::{LeadProcess, Member, TeamConfig};
use atm_wire::{Stamp, TeamName};
use serde::{Deserialize, Serialize};

use super::gather::Surroundings;
use crate::office::Office;
use crate::people::probe::Nameless;
use crate::people::process::{Fate, fate_by};
use crate::trail::transcript::Transcript;

/// So many processes are remembered, the newest.
const AT_MOST: usize = 4096;

/// What became of a member's own process, where nothing names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Own {
    /// It has ended.
    Gone(String),
    /// A process may be it.
    MayRun(String),
}

/// What is known of a process that nothing names.
#[derive(Debug, Default)]
struct Clues {
    /// Whether its client shows which member it is.
    shows: Option<bool>,
    /// Clients that could be it.
    possible: Vec<u64>,
    /// One of them that is where the member works.
    likely: Option<u64>,
    /// The process that an earlier look found.
    remembered: Option<(Fate, u64)>,
    /// Something says that it runs where we cannot look.
    is_elsewhere: bool,
}

impl Clues {
    fn judge(&self) -> Option<Own> {
        if self.is_elsewhere || matches!(self.remembered, Some((Fate::Elsewhere | Fate::Runs, _))) {
            return None;
        }
        match (self.shows, self.remembered) {
            (Some(true) | None, Some((_, pid))) => {
                Some(Own::Gone(format!("process {pid}, which ran with its --agent-id, is gone")))
            }
            (Some(true), None) => Some(Own::Gone("no process runs with its --agent-id".to_owned())),
            (Some(false), _) if self.possible.is_empty() => {
                Some(Own::Gone("no client runs here that could be it".to_owned()))
            }
            (Some(false), _) => self.likely.map(|pid| {
                Own::MayRun(format!(
                    "process {pid} is a client in its folder, and does not say which member it is"
                ))
            }),
            (None, None) => None,
        }
    }
}

/// A process that was seen to run as a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ran {
    pid: u64,
    start: String,
    space: String,
    /// When it was first seen.
    seen: i64,
}

/// The processes that looks found, by `NAME@TEAM`.
pub(super) type Remembered = BTreeMap<String, Ran>;

/// Takes note of processes that run; says whether there is anything new.
fn learn(known: &mut Remembered, running: impl Iterator<Item = (String, Ran)>) -> bool {
    let mut is_new = false;
    for (id, ran) in running {
        if known.get(&id).is_none_or(|before| (before.pid, &before.start) != (ran.pid, &ran.start)) {
            known.insert(id, ran);
            is_new = true;
        }
    }
    while known.len() > AT_MOST {
        let oldest = known.iter().min_by_key(|(_, ran)| ran.seen).map(|(id, _)| id.clone());
        oldest.and_then(|id| known.remove(&id));
    }
    is_new
}

/// What a separate-process member's conversation says about its client.
#[derive(Debug)]
pub(super) struct Spoken {
    /// Whether its client shows which member it is.
    shows: bool,
    /// Where it works.
    cwd: Option<PathBuf>,
    session: Option<String>,
    /// When the conversation last went on.
    pub(super) at: Stamp,
}

impl Spoken {
    fn of(transcripts: &[Transcript]) -> Option<Self> {
        let of_client = transcripts.iter().filter(|transcript| transcript.is_of_inbox_reader());
        let newest = of_client.max_by_key(|transcript| transcript.changed_at)?;
        let client = Some(newest).filter(|newest| !newest.is_inside())?.client()?;
        Some(Self {
            shows: shows_agent_id(&client.version)?,
            cwd: client.cwd,
            session: newest.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            at: Stamp::from_millis(newest.changed_at),
        })
    }
}

impl Office {
    /// What the conversation of a separate-process member says about its client.
    pub(super) fn spoken(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        member: &Member,
        around: &Surroundings,
    ) -> Option<Spoken> {
        let all = around.conversations.get_or_init(|| self.conversations(team, Some(config)));
        Spoken::of(all.of(&member.name))
    }

    /// What became of the process of a separate-process member, if no process says that it is this member.
    pub(super) fn own_process(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        member: &Member,
        spoken: Option<&Spoken>,
        around: &Surroundings,
    ) -> Option<Own> {
        let id = format!("{}@{team}", member.name);
        let lead = around.lead_process(self, config);
        let live = around.sessions(self);
        let session = spoken.and_then(|spoken| spoken.session.as_deref());
        let mut clues = Clues {
            shows: spoken.map(|spoken| spoken.shows),
            remembered: self.remembered_agent(&id, around),
            is_elsewhere: matches!(lead, Some((Fate::Elsewhere, _)))
                || live.iter().any(|running| Some(running.id.as_str()) == session),
            ..Clues::default()
        };
        if let Some(spoken) = spoken.filter(|spoken| !spoken.shows) {
            let nameless = around.nameless.get_or_init(|| self.nameless());
            clues.possible = nameless.iter().map(|client| client.pid).collect();
            let cwd = spoken.cwd.as_deref().or(member.cwd.as_deref().map(Path::new));
            let is_likely = |client: &&Nameless| {
                let pane = member.tmux_pane_id.as_deref().filter(|pane| pane.starts_with('%'));
                let has_pane = pane.is_none_or(|pane| client.pane.as_deref() == Some(pane));
                client.root.is_some() && client.cwd.is_some() && client.cwd.as_deref() == cwd && has_pane
            };
            clues.likely = nameless.iter().find(is_likely).map(|client| client.pid);
        }
        clues.judge()
    }

    /// The clients of this tree, or of one that cannot be seen, that nothing explains.
    fn nameless(&self) -> Vec<Nameless> {
        let sessions: HashSet<u64> = sessions::numbers(self.root.path()).collect();
        let is_ours = |client: &Nameless| client.root.as_deref().is_none_or(|root| self.is_root(root));
        let all = self.probe.nameless().into_iter();
        all.filter(|client| is_ours(client) && !sessions.contains(&client.pid)).collect()
    }

    /// Whether a path is that of the shared tree.
    pub(super) fn is_root(&self, path: &Path) -> bool {
        let root = self.root.path();
        let ours = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        path.canonicalize().is_ok_and(|path| path == ours)
    }

    /// Remembers the processes that run as members, so that their end can be told later. If that cannot be kept, a later
    /// look does.
    pub(super) fn remember_agents(&self, running: &HashMap<String, u64>) {
        if running.is_empty() {
            return;
        }
        let scratch = Scratch::of_agents(&self.root, &self.state);
        let mut known = parse(scratch.read().as_deref());
        let (space, seen) = (self.probe.pid_space(), self.now().as_millis());
        let running = running.iter().filter_map(|(id, pid)| {
            let start = self.probe.started(*pid)?;
            Some((id.clone(), Ran { pid: *pid, start, space: space.clone(), seen }))
        });
        if learn(&mut known, running) {
            let _ = serde_json::to_vec(&known).map(|bytes| scratch.replace(&bytes));
        }
    }

    fn remembered_agent(&self, id: &str, around: &Surroundings) -> Option<(Fate, u64)> {
        let remembered = || parse(Scratch::of_agents(&self.root, &self.state).read().as_deref());
        let ran = around.ran.get_or_init(remembered).get(id)?;
        let process = LeadProcess {
            pid: Some(ran.pid),
            pid_space: Some(ran.space.clone()),
            proc_start: Some(ran.start.clone()).filter(|start| !start.is_empty()),
            ..LeadProcess::default()
        };
        Some((fate_by(&*self.probe, &process)?, ran.pid))
    }
}

fn parse(bytes: Option<&[u8]>) -> Remembered {
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_missed_is_gone() {
        let shown = |remembered| Clues { shows: Some(true), remembered, ..Clues::default() };
        let hidden = |possible: &[u64], likely| Clues {
            shows: Some(false),
            possible: possible.to_vec(),
            likely,
            ..Clues::default()
        };
        let unknown = |remembered| Clues { remembered, ..Clues::default() };
        let rows = [
            ("its client shows its name", shown(None), "gone"),
            ("and was seen before", shown(Some((Fate::Gone, 7))), "gone"),
            ("and runs elsewhere", shown(Some((Fate::Elsewhere, 7))), "nobody can tell"),
            ("its lead is elsewhere", Clues { is_elsewhere: true, ..shown(None) }, "nobody can tell"),
            ("its client hides its name, and none runs", hidden(&[], None), "gone"),
            ("one runs, somewhere", hidden(&[7], None), "nobody can tell"),
            ("one runs, in its folder", hidden(&[7], Some(7)), "may run"),
            // It was started again with an older client.
            (
                "one runs, in its folder, and a newer one is gone",
                Clues { remembered: Some((Fate::Gone, 6)), ..hidden(&[7], Some(7)) },
                "may run",
            ),
            ("nothing is known", unknown(None), "nobody can tell"),
            ("it was seen before", unknown(Some((Fate::Gone, 7))), "gone"),
            ("its number is another's now", unknown(Some((Fate::Replaced, 7))), "gone"),
            ("it was seen before, elsewhere", unknown(Some((Fate::Elsewhere, 7))), "nobody can tell"),
        ];
        for (case, clues, expected) in rows {
            let judged = match clues.judge() {
                Some(Own::Gone(_)) => "gone",
                Some(Own::MayRun(_)) => "may run",
                None => "nobody can tell",
            };
            assert_eq!(judged, expected, "{case}");
        }
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let ran = |pid, seen| Ran { pid, start: "1".into(), space: "s".into(), seen };
        let mut known = Remembered::new();
        let all = (0..=AT_MOST).map(|n| (format!("m{n}@t"), ran(7, i64::try_from(n).unwrap_or(0))));
        assert!(learn(&mut known, all));
        assert_eq!(known.len(), AT_MOST);
        assert!(!known.contains_key("m0@t"), "the oldest is forgotten");
        assert!(!learn(&mut known, [("m1@t".to_owned(), ran(7, 99))].into_iter()), "it is known");
        assert!(learn(&mut known, [("m1@t".to_owned(), ran(8, 99))].into_iter()), "it was started again");
    }
}
