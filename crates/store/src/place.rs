//! Where one member's mail is at this moment: in one layout, or in both.
//!
//! Mail is written into the array if there is one. Lines in a log beside it are mail too: a shell appends to the log of
//! somebody whose client keeps an array, or a client begins an array for somebody whose mail was made a log. What stands
//! in both counts once.

use std::path::Path;

use crate::array::ArrayInbox;
use crate::convert::mark::{Carried, Mark, taken_out};
use crate::error::StoreError;
use crate::log::LogInbox;
use crate::mailbox::{Inbox, Mailbox};
use crate::paths::Layout;

/// How often something is tried again when the mailbox was converted meanwhile.
const TRIES: usize = 5;

/// Which files count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The layout that mail is written in.
    pub(crate) layout: Layout,
    /// There are lines beside the array; so much of them is in the array already.
    pub(crate) lines_beside: Option<Vec<Carried>>,
}

impl Mailbox {
    pub(crate) fn place(&self) -> Place {
        let only = |layout| Place { layout, lines_beside: None };
        let beside = |carried| Place { layout: Layout::Array, lines_beside: Some(carried) };
        // The array first: it is there before the log goes, and gone after the log has come.
        let has_array = self.array.is_file();
        let has_log = self.log.join("inbox").is_file();
        match (has_array, has_log) {
            (true, false) => only(Layout::Array),
            (false, true) => only(Layout::Log),
            (false, false) => only(team_layout(self.team())),
            (true, true) => match Mark::read(&self.log) {
                Some(mark) if !taken_out(&self.array).exists() => beside(mark.in_array),
                _ => beside(Vec::new()),
            },
        }
    }

    pub(crate) fn array_inbox(&self) -> ArrayInbox {
        ArrayInbox::new(self.array.clone(), &self.state, self.times).with_past(self.past.clone())
    }

    pub(crate) fn log_inbox(&self) -> LogInbox {
        LogInbox::new(self.log.clone(), &self.state, self.times).with_past(self.past.clone())
    }

    /// Changes the mail where it is. Given are the inbox, and the lines beside it.
    pub(crate) fn change<T>(
        &self,
        mut change: impl FnMut(&Inbox, Option<&LogInbox>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.in_place(|place, inbox, lines| match change(inbox, lines) {
            // Whatever it was, it was about files that do not count any more.
            Err(_) if self.place() != *place => Ok(None),
            done => done.map(Some),
        })
    }

    /// Looks at the mail where it is.
    pub(crate) fn look<T>(
        &self,
        mut look: impl FnMut(&Inbox, Option<&LogInbox>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.in_place(|place, inbox, lines| {
            let seen = look(inbox, lines);
            if self.place() == *place { seen.map(Some) } else { Ok(None) }
        })
    }

    fn in_place<T>(
        &self,
        mut work: impl FnMut(&Place, &Inbox, Option<&LogInbox>) -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 0..TRIES {
            let place = self.place();
            let inbox = match place.layout {
                Layout::Array => Inbox::Array(self.array_inbox().unless(self.log.join("inbox"))),
                Layout::Log => Inbox::Log(self.log_inbox().unless(self.array.clone())),
            };
            let lines = place.lines_beside.clone().map(|carried| self.log_inbox().beyond(carried));
            if let Some(done) = work(&place, &inbox, lines.as_ref())? {
                return Ok(done);
            }
        }
        Err(StoreError::Unsettled { path: self.file() })
    }
}

/// The layout of a team: the log layout only where there are member folders and no `inboxes`.
pub fn team_layout(team: &Path) -> Layout {
    if team.join("members").is_dir() && !team.join("inboxes").is_dir() { Layout::Log } else { Layout::Array }
}
