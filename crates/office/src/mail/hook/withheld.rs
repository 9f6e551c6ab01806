//! Mail of an inbox that is not for the conversation that asks, since several share the inbox.

use std::collections::HashSet;

use atm_wire::Message;

use super::Record;
use crate::sessions::is_for_another;

/// What is another conversation's now.
#[derive(Debug, Default)]
pub(crate) struct Withheld {
    /// The other conversations that go on.
    sessions: HashSet<String>,
    /// The receipts of what is before their models.
    presented: HashSet<String>,
    /// The conversation that asks, if it takes only what names it.
    only_for: Option<String>,
}

impl Withheld {
    /// The conversation takes only what names it.
    pub(crate) fn leave_all_but(&mut self, session: &str) {
        self.only_for = Some(session.to_owned());
    }

    /// Another conversation goes on.
    pub(crate) fn add_session(&mut self, session: String) {
        self.sessions.insert(session);
    }

    /// What the note on another conversation says is before its model.
    pub(crate) fn present(&mut self, note: Option<&str>) {
        let record: Option<Record> = note.and_then(|text| serde_json::from_str(text).ok());
        if let Some(record) = record {
            self.presented.extend(record.pushed.iter().flat_map(|frame| frame.receipts.clone()));
            self.presented.extend(record.presented);
        }
    }

    /// Whether a message is another conversation's now.
    pub(crate) fn has(&self, message: &Message, receipt: &str) -> bool {
        let names_own = |own: &String| message.ours().session.as_ref() == Some(own);
        self.presented.contains(receipt)
            || is_for_another(message, &self.sessions)
            || !self.only_for.as_ref().is_none_or(names_own)
    }
}
