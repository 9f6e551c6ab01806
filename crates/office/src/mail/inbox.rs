//! Looking into an inbox. Looking consumes nothing.

use std::collections::HashSet;

use atm_wire::{MemberName, Message, Stamp, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::team::Team;
use crate::trail::pending::Waiting;
use crate::view::{MessageView, Viewer};

/// Which messages to show.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only what is not read.
    pub unread: bool,
    /// Only what waits: written while the recipient was off, not acknowledged in time, or taken without a sign of work.
    pub pending: bool,
    /// Only from this sender.
    pub from: Option<String>,
    /// Only of this type.
    pub r#type: Option<String>,
    /// Only sent then or later.
    pub since: Option<Stamp>,
    /// Only sent then or earlier.
    pub until: Option<Stamp>,
    /// Only the last so many of those.
    pub last: Option<usize>,
}

impl Filter {
    pub(crate) fn lets_through(&self, message: &Message, waiting: &HashSet<String>) -> bool {
        let in_time = match (message.sent_at, self.since, self.until) {
            (_, None, None) => true,
            (None, _, _) => false,
            (Some(at), since, until) => {
                since.is_none_or(|since| at >= since) && until.is_none_or(|until| at <= until)
            }
        };
        in_time
            && !(self.unread && message.read)
            && (!self.pending || message.is_pending() || waiting.contains(&message.id))
            && self.from.as_deref().is_none_or(|from| message.from == from)
            && self.r#type.as_deref().is_none_or(|wanted| message.kind() == wanted)
    }
}

/// What was found, and what was passed over.
#[derive(Debug, Default)]
pub struct Look {
    /// The messages in reading order.
    pub messages: Vec<MessageView>,
    /// What was passed over.
    pub warnings: Vec<String>,
}

impl Office {
    /// Looks into `who`'s inbox.
    pub fn inbox(&self, team: &TeamName, who: &MemberName, filter: &Filter) -> Result<Look, OfficeError> {
        self.team(team)?.inbox(who, filter)
    }
}

impl Team<'_> {
    /// Looks into `who`'s inbox.
    pub fn inbox(&mut self, who: &MemberName, filter: &Filter) -> Result<Look, OfficeError> {
        let mailbox = self.known_mailbox(who)?;
        self.look_for(who);
        let listing = mailbox.list()?;
        // What the ledger knows to wait: not acknowledged, or taken without a sign of work. Without it the tags tell.
        let ask = filter.pending && self.office().books.exist();
        let pending = if ask { self.look_for_pending().map(|look| look.waiting) } else { Ok(Vec::new()) };
        let pending = pending.unwrap_or_default();
        let to = |waiting: &Waiting| waiting.message.to == who.as_str();
        let waiting = pending.into_iter().filter(to).map(|waiting| waiting.message.id).collect();
        let fitting: Vec<&Message> =
            listing.messages.iter().filter(|message| filter.lets_through(message, &waiting)).collect();
        let skip = filter.last.map_or(0, |last| fitting.len().saturating_sub(last));
        let viewer = Viewer::new(self.office(), who, self.name());
        let view = |message: &Message| MessageView {
            unacknowledged: message.read
                && message.ack_id().is_some()
                && self.office().is_acknowledged(self.name(), &message.id) == Some(false),
            ..viewer.view(message)
        };
        Ok(Look {
            messages: fitting.into_iter().skip(skip).map(view).collect(),
            warnings: listing.warnings.iter().map(ToString::to_string).collect(),
        })
    }
}
