//! Messages by who sent them, to whom and when, in the order of their times.

use std::fmt;
use std::str::FromStr;

use rusqlite::{ToSql, params_from_iter};

use crate::error::LedgerError;
use crate::index::View;
use crate::log::append::root_id;
use crate::log::event::RootId;
use crate::lookup::{COLUMNS, Recorded, TABLES};
use crate::open::Ledger;
use crate::record::find_team;

/// A message's place in the order of the history, so that a page can begin behind it at once, however deep it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    sent_at: i64,
    pub(super) seq: i64,
}

/// A text that is no [`Place`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a place in the history")]
pub struct NotAPlace;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.sent_at, self.seq)
    }
}

impl FromStr for Place {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let (sent_at, seq) = text.split_once('.').ok_or(NotAPlace)?;
        let number = |part: &str| part.parse().map_err(|_| NotAPlace);
        Ok(Self { sent_at: number(sent_at)?, seq: number(seq)? })
    }
}

impl Recorded {
    /// Where it stands in the history.
    pub fn place(&self) -> Place {
        Place { sent_at: self.sent_at, seq: self.seq }
    }
}

/// Which messages are wanted. Nothing is needed but the limit.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// In this team.
    pub team: Option<String>,
    /// From this sender.
    pub from: Option<String>,
    /// For this recipient.
    pub to: Option<String>,
    /// Sent or received by this name.
    pub with: Option<String>,
    /// Of this kind.
    pub kind: Option<String>,
    /// With these characters in text, summary or sender, in small or capital letters.
    pub part: Option<String>,
    /// Sent then or later.
    pub since: Option<i64>,
    /// Sent then or earlier.
    pub until: Option<i64>,
    /// Behind this place, going from the newest to the oldest.
    pub before: Option<Place>,
    /// At most so many, the newest.
    pub limit: usize,
}

impl Filter {
    fn has_part(&self, message: &Recorded) -> bool {
        let Some(part) = &self.part else { return true };
        let part = part.to_lowercase();
        let fields = [Some(&message.text), message.summary.as_ref(), Some(&message.sender)];
        fields.into_iter().flatten().any(|field| field.to_lowercase().contains(&part))
    }
}

impl Ledger {
    /// The newest messages that fit, oldest first.
    pub fn trace(&self, root: &str, filter: &Filter) -> Result<Vec<Recorded>, LedgerError> {
        let mut found = self.read(|view| {
            let Some(places) = Places::of(view, root, filter)? else { return Ok(Vec::new()) };
            let (conditions, values) = places.conditions(filter);
            let sql = format!(
                "SELECT {COLUMNS} FROM {TABLES} WHERE {conditions} ORDER BY m.sent_at DESC, m.seq DESC"
            );
            let mut statement = view.index.prepare_cached(&sql)?;
            let rows = statement
                .query_map(params_from_iter(values), |row| Recorded::from_row(row, root, view.log))?;
            let fits = |row: &rusqlite::Result<Recorded>| {
                row.as_ref().map_or(true, |message| filter.has_part(message))
            };
            rows.filter(fits).take(filter.limit).collect()
        })?;
        found.reverse();
        Ok(found)
    }

    /// How many messages fit but for [`Filter::part`] and the limit, counted up to `most`.
    pub fn count_trace(&self, root: &str, filter: &Filter, most: usize) -> Result<usize, LedgerError> {
        self.read(|view| {
            let Some(places) = Places::of(view, root, filter)? else { return Ok(0) };
            let (conditions, mut values) = places.conditions(filter);
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            values.push(&most);
            let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {TABLES} WHERE {conditions} LIMIT ?)");
            let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            let count = view.index.prepare_cached(&sql)?.query_row(params_from_iter(values), count)?;
            Ok(usize::try_from(count).unwrap_or(0))
        })
    }
}

/// The tree, and the team that is asked for, as the tables name them.
struct Places {
    root: RootId,
    team: Option<i64>,
}

impl Places {
    /// Nothing, if nothing is on record there.
    fn of(view: &View<'_>, root: &str, filter: &Filter) -> rusqlite::Result<Option<Self>> {
        let Some(id) = root_id(view.log, root)? else { return Ok(None) };
        let Some(team) = &filter.team else { return Ok(Some(Self { root: id, team: None })) };
        Ok(find_team(view, root, team)?.map(|team| Self { root: id, team: Some(team) }))
    }

    /// What has to hold, with its values. Messages are walked from the newest on until there are enough: `+` keeps the
    /// team's own index out of it, which has no order by time; that of a team's senders has one.
    fn conditions<'a>(&'a self, filter: &'a Filter) -> (String, Vec<&'a dyn ToSql>) {
        let in_team = if filter.from.is_some() { "m.team = ?" } else { "+m.team = ?" };
        let wanted = [
            ("t.root = ?", Some(dynamic(&self.root)), 1),
            (in_team, self.team.as_ref().map(dynamic), 1),
            ("m.sender = ?", filter.from.as_ref().map(dynamic), 1),
            ("i.name = ?", filter.to.as_ref().map(dynamic), 1),
            ("(m.sender = ? OR i.name = ?)", filter.with.as_ref().map(dynamic), 2),
            ("m.kind = ?", filter.kind.as_ref().map(dynamic), 1),
            ("m.sent_at >= ?", filter.since.as_ref().map(dynamic), 1),
            ("m.sent_at <= ?", filter.until.as_ref().map(dynamic), 1),
            ("m.sent_at <= ?", filter.before.as_ref().map(|place| dynamic(&place.sent_at)), 1),
        ];
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        for (condition, value, times) in wanted {
            let Some(value) = value else { continue };
            conditions.push(condition);
            values.extend(std::iter::repeat_n(value, times));
        }
        if let Some(place) = &filter.before {
            // Of those that were sent in the same millisecond.
            conditions.push("(m.sent_at < ? OR m.seq < ?)");
            values.extend([dynamic(&place.sent_at), dynamic(&place.seq)]);
        }
        (conditions.join(" AND "), values)
    }
}

fn dynamic<T: ToSql>(value: &T) -> &dyn ToSql {
    value
}
