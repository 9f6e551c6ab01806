//! Reading one's own mail: it is handed out first and marked as read after that, never the other way round.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use atm_ledger::{Evidence, LedgerError, Observed, Stage};
use atm_store::mailbox::Turn;
use atm_store::watch::Stop;
use atm_store::{Mailbox, Receipt};
use atm_wire::{MemberName, Message, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::trail::look::{READ, UNREAD, found};
use crate::view::MessageView;

/// Mail that is handed out. Until [`Reading::confirm`] it stays unread: after a crash it is handed out again.
///
/// While it lives, other readers of the same inbox wait; writers do not.
#[derive(Debug)]
pub struct Reading {
    messages: Vec<MessageView>,
    warnings: Vec<String>,
    receipts: HashSet<Receipt>,
    originals: Vec<Message>,
    mailbox: Mailbox,
    office: Office,
    team: TeamName,
    who: MemberName,
    front: &'static str,
    _turn: Option<Turn>,
}

/// What confirming did.
#[derive(Debug)]
pub struct Confirmed {
    /// How many messages were unread and are read now.
    pub marked: usize,
    /// What went on beside it.
    pub warnings: Vec<String>,
}

impl Reading {
    /// The unread messages, in reading order.
    pub fn messages(&self) -> &[MessageView] {
        &self.messages
    }

    /// What was passed over.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Handed over by this front, and not by `atm read`: what the evidence will say.
    #[must_use]
    pub fn by(self, front: &'static str) -> Self {
        Self { front, ..self }
    }

    /// Hands out the first `count` only; the others stay unread.
    pub fn keep(&mut self, count: usize) {
        let mut seen = 0;
        self.retain(|_| {
            seen += 1;
            seen <= count
        });
    }

    /// Hands out those only; the others stay unread.
    pub fn retain(&mut self, mut wanted: impl FnMut(&MessageView) -> bool) {
        let kept: Vec<bool> = self.messages.iter().map(&mut wanted).collect();
        let mut keep = kept.iter().copied();
        self.messages.retain(|_| keep.next().unwrap_or(false));
        let mut keep = kept.iter().copied();
        self.originals.retain(|_| keep.next().unwrap_or(false));
        self.receipts = self.originals.iter().map(Receipt::of).collect();
    }

    /// Marks as read what was handed out, and nothing else.
    pub fn confirm(self) -> Result<Confirmed, OfficeError> {
        let marked = self.mailbox.mark_read(&self.receipts)?;
        let mut warnings: Vec<String> = marked.warnings.iter().map(ToString::to_string).collect();
        let (office, by) = (&self.office, self.front);
        if let Err(error) = office.note_handed_over(&self.team, &self.who, &self.mailbox, &self.originals, by)
        {
            warnings.push(format!("{error}; the mail is read without it"));
        }
        Ok(Confirmed { marked: marked.marked, warnings })
    }
}

impl Office {
    /// Hands out the first `limit` unread messages of `who`.
    pub fn begin_read(
        &self,
        team: &TeamName,
        who: &MemberName,
        limit: usize,
    ) -> Result<Reading, OfficeError> {
        self.begin_read_from(team, who, None, limit)
    }

    /// The same, of those from one sender.
    pub fn begin_read_from(
        &self,
        team: &TeamName,
        who: &MemberName,
        from: Option<&MemberName>,
        limit: usize,
    ) -> Result<Reading, OfficeError> {
        let mailbox = self.known_mailbox(team, who)?;
        self.look_for(team, who);
        let turn = mailbox.turn()?;
        self.hand_out(team, who, (from, limit), mailbox, Some(turn))
    }

    /// The same without marking anything, and without waiting for other readers.
    pub fn peek(&self, team: &TeamName, who: &MemberName, limit: usize) -> Result<Reading, OfficeError> {
        let mailbox = self.known_mailbox(team, who)?;
        self.look_for(team, who);
        self.hand_out(team, who, (None, limit), mailbox, None)
    }

    /// Waits until `who` has unread mail, or `timeout` is over; says which. File events wake it, not polling.
    pub fn wait_for_mail(
        &self,
        team: &TeamName,
        who: &MemberName,
        timeout: Duration,
    ) -> Result<bool, OfficeError> {
        self.wait_for_mail_until(team, who, timeout, &Stop::default())
    }

    /// The same, unless somebody says stop.
    pub fn wait_for_mail_until(
        &self,
        team: &TeamName,
        who: &MemberName,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<bool, OfficeError> {
        let mailbox = self.known_mailbox(team, who)?;
        let deadline = Instant::now() + timeout;
        let folder = mailbox.file().parent().map(ToOwned::to_owned);
        // The watch begins before the first look, so that nothing falls between them.
        let mut watch = self.hub.folders_until(folder, stop);
        let mut seen = None;
        loop {
            // Each time: its sender may die while we wait. The watch looks every few seconds.
            self.look_for(team, who);
            let state = mailbox.signature();
            if seen.as_ref() != Some(&state) {
                if mailbox.list()?.messages.iter().any(|message| !message.read) {
                    return Ok(true);
                }
                seen = Some(state);
            }
            if !watch.wait(Some(deadline)) {
                return Ok(false);
            }
        }
    }

    /// The ledger learns that their recipient has these, which `door` has handed over and marked as read.
    pub(crate) fn note_handed_over(
        &self,
        team: &TeamName,
        who: &MemberName,
        mailbox: &Mailbox,
        messages: &[Message],
        door: &str,
    ) -> Result<(), LedgerError> {
        let now = self.now().as_millis();
        let by = who.as_str();
        let file = mailbox.file();
        let marked = Evidence::certain(format!("marked as read by {door}"));
        let handed_over = [
            (Stage::Taken, marked.by(by).changed(UNREAD, READ).in_file(&file)),
            (Stage::Seen, Evidence::certain(format!("handed over by {door}")).by(by)),
        ];
        let observed: Vec<Observed> = messages
            .iter()
            .map(|message| Observed { stages: handed_over.to_vec(), ..found(message, now, &file) })
            .collect();
        let inbox = self.inbox_key(team, who);
        self.books.with(|ledger| ledger.observe(&inbox, &observed, None, now))
    }

    fn hand_out(
        &self,
        team: &TeamName,
        who: &MemberName,
        (from, limit): (Option<&MemberName>, usize),
        mailbox: Mailbox,
        turn: Option<Turn>,
    ) -> Result<Reading, OfficeError> {
        let listing = mailbox.list()?;
        let wanted = |message: &Message| from.is_none_or(|from| message.from == from.as_str());
        let unread = listing.messages.into_iter().filter(|message| !message.read && wanted(message));
        let originals: Vec<Message> = unread.take(limit).collect();
        Ok(Reading {
            messages: originals.iter().map(|message| MessageView::new(message, who, team)).collect(),
            receipts: originals.iter().map(Receipt::of).collect(),
            warnings: listing.warnings.iter().map(ToString::to_string).collect(),
            originals,
            mailbox,
            office: self.clone(),
            team: team.clone(),
            who: who.clone(),
            front: "atm read",
            _turn: turn,
        })
    }
}
