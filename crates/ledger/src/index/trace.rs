//! Messages by who sent them, to whom and when, in the order of their times.

use rusqlite::{ToSql, params_from_iter};

use crate::error::LedgerError;
use crate::log::append::root_id;
use crate::lookup::{COLUMNS, Recorded, TABLES};
use crate::open::Ledger;
use crate::record::find_team;

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
            let Some(root_id) = root_id(view.log, root)? else { return Ok(Vec::new()) };
            let team = match &filter.team {
                None => None,
                Some(team) => match find_team(view, root, team)? {
                    Some(team) => Some(team),
                    None => return Ok(Vec::new()),
                },
            };
            // Walked from the newest on until there are enough. `+` keeps the team's own index out of it, which has no
            // order by time; that of a team's senders has one.
            let in_team = if filter.from.is_some() { "m.team = ?" } else { "+m.team = ?" };
            let wanted = [
                ("t.root = ?", Some(dynamic(&root_id)), 1),
                (in_team, team.as_ref().map(dynamic), 1),
                ("m.sender = ?", filter.from.as_ref().map(dynamic), 1),
                ("i.name = ?", filter.to.as_ref().map(dynamic), 1),
                ("(m.sender = ? OR i.name = ?)", filter.with.as_ref().map(dynamic), 2),
                ("m.kind = ?", filter.kind.as_ref().map(dynamic), 1),
                ("m.sent_at >= ?", filter.since.as_ref().map(dynamic), 1),
                ("m.sent_at <= ?", filter.until.as_ref().map(dynamic), 1),
            ];
            let (mut conditions, mut values) = (Vec::new(), Vec::new());
            for (condition, value, times) in wanted {
                let Some(value) = value else { continue };
                conditions.push(condition);
                values.extend(std::iter::repeat_n(value, times));
            }
            let conditions = conditions.join(" AND ");
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
}

fn dynamic<T: ToSql>(value: &T) -> &dyn ToSql {
    value
}
