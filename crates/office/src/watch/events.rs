//! What happens in some teams, as it is recorded: every event of the log after a cursor, once and in order, however often the
//! reader starts anew. Looks are made meanwhile, so that what other programs do is recorded, too.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use atm_ledger::{Change, Cursor, Event, Evidence, Feed, Kind, Stage, TaskChange};
use atm_store::watch::{FolderWatch, Stop};
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::office::Office;
use crate::tasks::TaskState;

/// So many events are read from the log at once.
const PAGE: usize = 500;
/// Who is there is looked at again after this time at the earliest: it costs a look at the machine's processes.
const PRESENCE_LOOK: Duration = Duration::from_secs(1);

/// Where to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// With the first event of the log.
    Start,
    /// With what happens from now on.
    Now,
    /// With the last so many events: for who wants to see what happened lately.
    Last(usize),
    /// Behind an event that was given out before.
    Cursor(Cursor),
}

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
pub struct EventView {
    /// The place behind it: a reader that begins there misses nothing and gets nothing twice.
    pub cursor: String,
    /// When it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Stamp>,
    /// In which team.
    pub team: String,
    /// What.
    #[serde(flatten)]
    pub what: Happening,
    /// How we know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A message was accepted, or was found in an inbox.
    Message {
        /// Its id.
        id: String,
        /// From whom.
        from: String,
        /// For whom.
        to: String,
        /// The stage that this shows: `accepted` or `written`.
        stage: Stage,
        /// What kind of message it is.
        r#type: String,
        /// Its text.
        text: String,
        /// The short version.
        summary: Option<String>,
        /// When it was sent.
        timestamp: Stamp,
    },
    /// A message reached a stage.
    Stage {
        /// Its id.
        id: String,
        /// For whom it is.
        to: String,
        /// The stage.
        stage: Stage,
    },
    /// Something was done about a message, which is no stage.
    Note {
        /// Its id.
        id: String,
        /// For whom it is.
        to: String,
        /// What: `woken`, `offered`, `moved`, `archived`.
        note: &'static str,
    },
    /// A member came, went, or changed what it does.
    Presence {
        /// Who.
        member: String,
        /// The state now.
        state: String,
        /// The state before; none if nobody had looked.
        was: Option<String>,
    },
    /// A task was made, changed or removed.
    Task {
        /// Which.
        task: String,
        /// `created`, `changed` or `removed`.
        change: &'static str,
        /// What is different.
        changed: Vec<&'static str>,
        /// How it is now.
        now: Option<TaskState>,
        /// How it was.
        was: Option<TaskState>,
    },
    /// Another team has the name from here on: what came before is of one that was deleted.
    Team {
        /// When it was created.
        created: Stamp,
    },
    /// The cursor is of a log that is gone, or of a part of it that was lost: what was made from the events before has to be
    /// made anew from the state as it is now. Events go on from here.
    Reset,
}

/// The events of some teams, as they come.
#[derive(Debug)]
pub struct EventStream {
    office: Office,
    teams: Vec<TeamName>,
    /// Only what concerns these; everybody if there are none.
    names: Vec<String>,
    cursor: Cursor,
    watch: FolderWatch,
    looked_around: Option<Instant>,
}

impl Office {
    /// What happens in these teams from a place of the log on, until somebody says stop. With names: only their mail, and
    /// what they do. There is one log, so a cursor is good for any teams.
    pub fn follow(
        &self,
        teams: &[TeamName],
        names: &[MemberName],
        since: &Since,
        stop: &Stop,
    ) -> Result<EventStream, OfficeError> {
        let cursor = self.place(since)?;
        let watch = self.hub.folders_until(teams.iter().flat_map(|team| self.folders_to_follow(team)), stop);
        Ok(EventStream {
            office: self.clone(),
            teams: teams.to_vec(),
            names: names.iter().map(ToString::to_string).collect(),
            cursor,
            watch,
            looked_around: None,
        })
    }

    /// What is in the log behind a place, of all teams of this root, and the place behind that. Records nothing: for who has
    /// somebody else look.
    pub fn events_after(&self, since: &Since) -> Result<(Vec<EventView>, Cursor), OfficeError> {
        let cursor = self.place(since)?;
        let root = self.root_key();
        Ok(match self.books.with(|ledger| ledger.events_since(&cursor, PAGE))? {
            Feed::Reset { cursor } => (vec![reset(&cursor, String::new(), self.now())], cursor),
            Feed::Events { events, cursor } => {
                (events.into_iter().filter_map(|event| view(event, &root, |_| true)).collect(), cursor)
            }
        })
    }

    fn place(&self, since: &Since) -> Result<Cursor, OfficeError> {
        Ok(match since {
            Since::Start => self.books.with(|ledger| ledger.start())?,
            Since::Now => self.books.with(|ledger| ledger.cursor())?,
            Since::Last(count) => self.books.with(|ledger| ledger.before_the_last(*count))?,
            Since::Cursor(cursor) => cursor.clone(),
        })
    }

    /// Mail, tasks, the configuration, and the log itself, into which others write what they see.
    fn folders_to_follow(&self, team: &TeamName) -> Vec<PathBuf> {
        let mut folders = self.mail_folders(team);
        folders.extend([self.root.team(team), self.root.tasks(team)]);
        folders.extend(self.state.ledger().parent().map(ToOwned::to_owned));
        folders.retain(|folder| folder.is_dir());
        folders
    }
}

impl EventStream {
    /// Waits for the next events; `None` when `deadline` is over, or somebody said stop.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Vec<EventView>>, OfficeError> {
        loop {
            let page = self.page()?;
            if !page.is_empty() {
                return Ok(Some(page));
            }
            self.look()?;
            let page = self.page()?;
            if !page.is_empty() {
                return Ok(Some(page));
            }
            if !self.watch.wait(deadline) {
                return Ok(None);
            }
        }
    }

    /// Where the next events begin.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Records what changed since the last look.
    fn look(&mut self) -> Result<(), OfficeError> {
        let looks_around = self.looked_around.is_none_or(|at| at.elapsed() >= PRESENCE_LOOK);
        for name in &self.teams {
            let Ok(mut team) = self.office.team(name) else {
                // It is gone, or cannot be read now: what became of its mail is recorded, and it may come again.
                let _ = self.office.look(name);
                continue;
            };
            team.look()?;
            if looks_around {
                let _ = team.notice_exits();
                team.members();
            }
        }
        if looks_around {
            self.looked_around = Some(Instant::now());
        }
        Ok(())
    }

    /// What the log has after the cursor, as far as it is asked for; the next page, if there is nothing in one.
    fn page(&mut self) -> Result<Vec<EventView>, OfficeError> {
        let (office, cursor) = (&self.office, &mut self.cursor);
        let root = office.root_key();
        loop {
            match office.books.with(|ledger| ledger.events_since(cursor, PAGE))? {
                Feed::Reset { cursor: end } => {
                    *cursor = end;
                    let resets = self.teams.iter().map(|team| reset(cursor, team.to_string(), office.now()));
                    return Ok(resets.collect());
                }
                Feed::Events { events, cursor: end } => {
                    if events.is_empty() {
                        return Ok(Vec::new());
                    }
                    *cursor = end;
                    let is_asked_for = |team: &str| self.teams.iter().any(|name| name.as_str() == team);
                    let views = events.into_iter().filter_map(|event| view(event, &root, is_asked_for));
                    let views: Vec<EventView> =
                        views.filter(|view| view.what.concerns(&self.names)).collect();
                    if !views.is_empty() {
                        return Ok(views);
                    }
                }
            }
        }
    }
}

impl Happening {
    fn concerns(&self, names: &[String]) -> bool {
        let is_named = |name: &String| names.contains(name);
        names.is_empty()
            || match self {
                Self::Message { from, to, .. } => is_named(from) || is_named(to),
                Self::Stage { to, .. } | Self::Note { to, .. } => is_named(to),
                Self::Presence { member, .. } => is_named(member),
                Self::Task { now, was, .. } => {
                    [now, was].into_iter().flatten().filter_map(|state| state.owner.as_ref()).any(is_named)
                }
                Self::Team { .. } | Self::Reset => true,
            }
    }
}

fn reset(cursor: &Cursor, team: String, at: Stamp) -> EventView {
    EventView { cursor: cursor.to_string(), at: Some(at), team, what: Happening::Reset, evidence: None }
}

/// An event of a team that is asked for, as others see it. What only serves the bookkeeping is not shown.
fn view(event: Event, root: &str, is_asked_for: impl Fn(&str) -> bool) -> Option<EventView> {
    let inbox = event.inbox.filter(|inbox| inbox.root == root && is_asked_for(&inbox.team))?;
    let (team, to) = (inbox.team, inbox.name);
    let what = match (event.change, event.new, event.message) {
        (Some(Change::Presence { state, was }), ..) => Happening::Presence { member: to, state, was },
        (Some(Change::Task(change)), ..) => task(&change),
        (Some(Change::Team { created }), ..) => Happening::Team { created: Stamp::from_millis(created) },
        (None, Some(new), _) => Happening::Message {
            id: new.id,
            from: new.sender,
            to,
            stage: event.kind.stage()?,
            r#type: new.kind,
            text: new.text,
            summary: new.summary,
            timestamp: Stamp::from_millis(new.sent_at),
        },
        (None, None, Some(id)) => match event.kind {
            Kind::Woken => Happening::Note { id, to, note: "woken" },
            Kind::Offered => Happening::Note { id, to, note: "offered" },
            Kind::Moved => Happening::Note { id, to, note: "moved" },
            Kind::Archived => Happening::Note { id, to, note: "archived" },
            kind => Happening::Stage { id, to, stage: kind.stage()? },
        },
        (None, None, None) => return None,
    };
    Some(EventView {
        cursor: event.cursor.to_string(),
        at: Some(Stamp::from_millis(event.at)),
        team,
        what,
        evidence: event.evidence,
    })
}

fn task(change: &TaskChange) -> Happening {
    let state = |text: &Option<String>| text.as_deref().map(TaskState::from_json);
    let (was, now) = (state(&change.was), state(&change.now));
    let (kind, changed) = match (&was, &now) {
        (None, _) => ("created", Vec::new()),
        (_, None) => ("removed", Vec::new()),
        (Some(was), Some(now)) => ("changed", was.differences(now)),
    };
    Happening::Task { task: change.task.clone(), change: kind, changed, now, was }
}
