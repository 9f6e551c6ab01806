//! History that outlives the inbox: search, conversations, the trace, rates.

use std::cmp::Reverse;

use atm_ledger::{Filter, Place, Query, Recorded, Stage, Stats};
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::office::Office;
use crate::view::{NamedFile, add_files};

/// A message as the ledger has it.
#[derive(Debug, Clone, Serialize)]
pub struct Remembered {
    /// Its id.
    pub id: String,
    /// The recipient's team.
    pub team: String,
    /// From whom.
    pub from: String,
    /// For whom.
    pub to: String,
    /// When it was sent.
    pub timestamp: Stamp,
    /// How far it came.
    pub stage: Stage,
    /// It counts as taken because it is gone, and nothing proves it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unproved: bool,
    /// What kind of message it is.
    pub r#type: String,
    /// Its text.
    pub text: String,
    /// The short version.
    pub summary: Option<String>,
    /// The message that it answers.
    pub reply_to: Option<String>,
    /// The files that its payload names, and what is known of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<NamedFile>,
    /// The sender's team, where it is not the recipient's.
    #[serde(skip)]
    pub origin: Option<String>,
    /// Where the words were found, for a search: between two marks.
    #[serde(skip)]
    pub found: Option<String>,
}

impl Remembered {
    /// Whether a member of a team sent or received it; a namesake in another team is somebody else.
    pub fn is_of(&self, team: &TeamName, who: &MemberName) -> bool {
        let sent = self.from == who.as_str() && self.origin.is_none();
        self.team == team.as_str() && (sent || self.to == who.as_str())
    }

    /// How far it came, for people.
    pub fn stage_words(&self) -> String {
        if self.unproved { format!("{}?", self.stage) } else { self.stage.to_string() }
    }
}

impl From<Recorded> for Remembered {
    fn from(message: Recorded) -> Self {
        Self {
            id: message.id,
            team: message.inbox.team,
            from: message.sender,
            to: message.inbox.name,
            timestamp: Stamp::from_millis(message.sent_at),
            stage: message.stage,
            unproved: message.is_unproved,
            r#type: message.kind,
            text: message.text,
            summary: message.summary,
            reply_to: message.reply_to,
            files: Vec::new(),
            origin: message.origin,
            found: None,
        }
    }
}

/// What to search for.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Words that all have to be there; the last may be cut short if nothing has it whole. `"…"` is a phrase.
    pub words: String,
    /// In these teams; in all, if none is named.
    pub teams: Vec<TeamName>,
    /// From this sender.
    pub from: Option<String>,
    /// For this recipient.
    pub to: Option<String>,
    /// Sent or received by this member of the team.
    pub party: Option<MemberName>,
    /// Of this type.
    pub r#type: Option<String>,
    /// Sent then or later.
    pub since: Option<Stamp>,
    /// Sent then or earlier.
    pub until: Option<Stamp>,
    /// At most so many, the newest.
    pub limit: usize,
}

/// Which messages of the trace are wanted; nothing is needed.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// In these teams; in all, if none is named.
    pub teams: Vec<TeamName>,
    /// From this sender.
    pub from: Option<String>,
    /// For this recipient.
    pub to: Option<String>,
    /// Sent or received by this name.
    pub with: Option<String>,
    /// Of this type.
    pub r#type: Option<String>,
    /// With this in its text, its summary or its sender's name, in small or capital letters.
    pub grep: Option<String>,
    /// Sent then or later.
    pub since: Option<Stamp>,
    /// Sent then or earlier.
    pub until: Option<Stamp>,
    /// At most so many, the newest.
    pub limit: usize,
}

impl Trace {
    pub(super) fn filter(&self, team: Option<&TeamName>) -> Filter {
        Filter {
            team: team.map(ToString::to_string),
            from: self.from.clone(),
            to: self.to.clone(),
            with: self.with.clone(),
            kind: self.r#type.clone(),
            part: self.grep.clone(),
            since: self.since.map(Stamp::as_millis),
            until: self.until.map(Stamp::as_millis),
            before: None,
            limit: self.limit,
        }
    }
}

impl Search {
    fn query(&self, root: String, team: Option<&TeamName>) -> Query {
        Query {
            words: self.words.clone(),
            root,
            team: team.map(ToString::to_string),
            from: self.from.clone(),
            to: self.to.clone(),
            party: self.party.as_ref().map(ToString::to_string),
            kind: self.r#type.clone(),
            since: self.since.map(Stamp::as_millis),
            until: self.until.map(Stamp::as_millis),
            before: None,
            limit: self.limit,
        }
    }
}

/// A page of the history, newest first.
#[derive(Debug, Clone, Default)]
pub struct HistoryPage {
    /// The messages.
    pub messages: Vec<Remembered>,
    /// Where the next page begins, if there is one. It costs the same however deep that is.
    pub next: Option<Place>,
}

impl HistoryPage {
    /// The first `limit` of these; one more of them says that there is a next page.
    fn of(mut found: Vec<(Place, Remembered)>, limit: usize) -> Self {
        let has_more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| has_more).map(|(place, _)| *place);
        Self { messages: found.into_iter().map(|(_, message)| message).collect(), next }
    }
}

/// A message with the place where the words are.
fn found_at((message, place): (Recorded, String)) -> Remembered {
    Remembered { found: Some(place), ..message.into() }
}

/// Each of the teams, or nothing in particular, which stands for all of them.
pub(super) fn each(teams: &[TeamName]) -> Vec<Option<&TeamName>> {
    if teams.is_empty() { vec![None] } else { teams.iter().map(Some).collect() }
}

impl Office {
    /// Messages that fit, in the order of their times, after a look at what changed.
    pub fn trace(&self, trace: &Trace) -> Result<Vec<Remembered>, OfficeError> {
        each(&trace.teams).into_iter().try_for_each(|team| self.catch_up(team))?;
        self.trace_recorded(trace)
    }

    /// The same, as of the last look.
    pub(super) fn trace_recorded(&self, trace: &Trace) -> Result<Vec<Remembered>, OfficeError> {
        let root = self.root_key();
        let mut found: Vec<Remembered> = Vec::new();
        for team in each(&trace.teams) {
            let of_team = self.books.with(|ledger| ledger.trace(&root, &trace.filter(team)))?;
            found.extend(of_team.into_iter().map(Remembered::from));
        }
        if trace.teams.len() > 1 {
            found.sort_by_key(|message| message.timestamp);
            found.drain(..found.len().saturating_sub(trace.limit));
        }
        add_files(self, &mut found);
        Ok(found)
    }

    /// How many messages fit, but for the words in them and the limit, as of the last look; counted up to `most`.
    pub fn count_trace(&self, trace: &Trace, most: usize) -> Result<usize, OfficeError> {
        let root = self.root_key();
        let mut count = 0;
        for team in each(&trace.teams) {
            count += self.books.with(|ledger| ledger.count_trace(&root, &trace.filter(team), most))?;
        }
        Ok(count.min(most))
    }

    /// Searches everything ever sent or seen, the newest first.
    pub fn search(&self, search: &Search) -> Result<Vec<Remembered>, OfficeError> {
        each(&search.teams).into_iter().try_for_each(|team| self.catch_up(team))?;
        self.search_recorded(search)
    }

    /// The same, as of the last look.
    pub(super) fn search_recorded(&self, search: &Search) -> Result<Vec<Remembered>, OfficeError> {
        let mut found: Vec<Remembered> = Vec::new();
        for team in each(&search.teams) {
            let query = search.query(self.root_key(), team);
            let of_team = self.books.with(|ledger| ledger.search(&query))?;
            found.extend(of_team.into_iter().map(found_at));
        }
        if search.teams.len() > 1 {
            found.sort_by_key(|message| Reverse(message.timestamp));
            found.truncate(search.limit);
        }
        add_files(self, &mut found);
        Ok(found)
    }

    /// A page of the messages that fit, in the order of their times, after a look at what changed.
    pub fn trace_page(&self, trace: &Trace, before: Option<Place>) -> Result<HistoryPage, OfficeError> {
        each(&trace.teams).into_iter().try_for_each(|team| self.catch_up(team))?;
        let (root, limit) = (self.root_key(), trace.limit.saturating_add(1));
        let mut found: Vec<(Place, Remembered)> = Vec::new();
        for team in each(&trace.teams) {
            let filter = Filter { before, limit, ..trace.filter(team) };
            let of_team = self.books.with(|ledger| ledger.trace(&root, &filter))?;
            found.extend(of_team.into_iter().map(|message| (message.place(), message.into())));
        }
        found.sort_by_key(|(place, _)| Reverse(*place));
        Ok(self.page_of(found, trace.limit))
    }

    /// A page of what is found, in the order in which it was recorded, after a look at what changed. It is of one team, or
    /// of all.
    pub fn search_page(
        &self,
        search: &Search,
        team: Option<&TeamName>,
        before: Option<Place>,
    ) -> Result<HistoryPage, OfficeError> {
        self.catch_up(team)?;
        let limit = search.limit.saturating_add(1);
        let query = Query { before, limit, ..search.query(self.root_key(), team) };
        let found = self.books.with(|ledger| ledger.search(&query))?;
        let found = found.into_iter().map(|found| (found.0.place(), found_at(found))).collect();
        Ok(self.page_of(found, search.limit))
    }

    fn page_of(&self, found: Vec<(Place, Remembered)>, limit: usize) -> HistoryPage {
        let mut page = HistoryPage::of(found, limit);
        add_files(self, &mut page.messages);
        page
    }

    /// The conversation that a message belongs to, oldest first.
    pub fn thread(&self, team: Option<&TeamName>, id: &str) -> Result<Vec<Remembered>, OfficeError> {
        self.thread_of(&self.recorded_after_look(team, id)?)
    }

    /// The same, and the whole id, of the message that somebody means: by its id or a part of it, or by [`LAST`](super::track::LAST), the last that
    /// somebody sent or got. One in these teams is preferred, if any is named.
    pub fn thread_with(
        &self,
        teams: &[TeamName],
        who: &MemberName,
        what: &str,
    ) -> Result<(String, Vec<Remembered>), OfficeError> {
        let message = self.recorded_with(teams, who, what)?;
        let thread = self.thread_of(&message)?;
        Ok((message.id, thread))
    }

    fn thread_of(&self, message: &Recorded) -> Result<Vec<Remembered>, OfficeError> {
        let thread = self.books.with(|ledger| ledger.thread(message))?;
        let mut thread: Vec<Remembered> = thread.into_iter().map(Into::into).collect();
        add_files(self, &mut thread);
        Ok(thread)
    }

    /// Rates and waiting times of what was sent since `since`, in `parts` equal parts: in these teams, or in all if none
    /// is named.
    pub fn stats(&self, teams: &[TeamName], since: Stamp, parts: usize) -> Result<Stats, OfficeError> {
        each(teams).into_iter().try_for_each(|team| self.catch_up(team))?;
        let window = (since.as_millis(), self.now().as_millis());
        let (root, teams) = (self.root_key(), teams.iter().map(TeamName::as_str).collect::<Vec<_>>());
        Ok(self.books.with(|ledger| ledger.stats(&root, &teams, window, parts))?)
    }
}
