//! Reading one's own mail: it is handed out first and marked as read after that, never the other way round.

use std::collections::HashSet;
use std::mem;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use atm_ledger::{Evidence, Handover, LedgerError, Stage};
use atm_store::array::Flags;
use atm_store::mailbox::Turn;
use atm_store::watch::Stop;
use atm_store::{Layout, Mailbox};
use atm_wire::{MemberName, Message, TeamName};
use serde::{Serialize, Serializer};

use crate::error::OfficeError;
use crate::mail::pages::Page;
use crate::office::Office;
use crate::sessions::{Portion, Share};
use crate::team::Team;
use crate::trail::effects;
use crate::trail::look::{READ, UNREAD, in_inbox};
use crate::view::{MessageView, Viewer};

/// Mail that is handed out. Until [`Reading::confirm`] it stays unread: after a crash it is handed out again.
///
/// While it lives, other readers of the same inbox wait; writers do not.
#[derive(Debug)]
pub struct Reading {
    originals: Vec<Message>,
    /// Made of those when they are asked for.
    views: OnceLock<Vec<MessageView>>,
    /// Where their flags stand in the file that was read.
    flags: Option<Flags>,
    inbox: Arc<Taking>,
    front: &'static str,
    left_out: LeftOut,
    /// Where it is a page of many.
    page: Option<Page>,
}

/// Unread mail that a session is not given.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeftOut {
    ids: HashSet<String>,
    on_its_way: usize,
}

impl LeftOut {
    /// Whether the reader is given a message; if not, that is noted.
    pub(crate) fn takes(&mut self, message: &Message, share: Share) -> bool {
        if share == Share::Own {
            return true;
        }
        self.on_its_way += usize::from(share == Share::OnItsWay);
        self.ids.insert(message.id.clone());
        false
    }
}

/// An inbox that mail is taken from.
#[derive(Debug)]
pub(crate) struct Taking {
    pub(crate) office: Office,
    pub(crate) team: TeamName,
    pub(crate) who: MemberName,
    pub(crate) mailbox: Mailbox,
    pub(crate) warnings: Vec<String>,
    #[expect(dead_code, reason = "held for its drop")]
    pub(crate) turn: Option<Turn>,
}

impl Taking {
    /// Marks messages as read that `front` handed over.
    pub(crate) fn mark(
        &self,
        messages: &[Message],
        flags: Option<&Flags>,
        front: &str,
    ) -> Result<Confirmed, OfficeError> {
        let marked = self.mailbox.mark_listed(messages, flags)?;
        let mut warnings: Vec<String> = marked.warnings.iter().map(ToString::to_string).collect();
        let noted = self.office.note_handed_over(&self.team, &self.who, &self.mailbox, messages, front);
        if let Err(error) = noted {
            warnings.push(format!("{error}; the mail is read without it"));
        }
        Ok(Confirmed { marked: marked.marked, warnings })
    }

    /// What its messages are shown by.
    pub(crate) fn viewer(&self) -> Viewer<'_> {
        Viewer::new(&self.office, &self.who, &self.team)
    }
}

/// What confirming did.
#[derive(Debug, Default)]
pub struct Confirmed {
    /// How many messages were unread and are read now.
    pub marked: usize,
    /// What went on beside it.
    pub warnings: Vec<String>,
}

impl Reading {
    /// A page of many.
    pub(crate) fn of_page(
        (inbox, left_out): (Arc<Taking>, LeftOut),
        originals: Vec<Message>,
        front: &'static str,
        page: Page,
    ) -> Self {
        Self { originals, views: OnceLock::new(), flags: None, inbox, front, left_out, page: Some(page) }
    }

    /// The same as [`Reading::messages`] for a writer: each is made when it is written, since together they may be much.
    pub fn document(&self) -> impl Serialize + '_ {
        Document(self)
    }

    /// The unread messages, in reading order.
    pub fn messages(&self) -> &[MessageView] {
        let viewer = self.inbox.viewer();
        self.views.get_or_init(|| self.originals.iter().map(|message| viewer.view(message)).collect())
    }

    /// What was passed over.
    pub fn warnings(&self) -> &[String] {
        &self.inbox.warnings
    }

    /// How many unread messages there were beside these, where it is a page of many.
    pub fn left(&self) -> usize {
        self.page.as_ref().map_or(0, |page| page.left)
    }

    /// How many messages come into the conversation of the session that asks, by themselves.
    pub fn on_its_way(&self) -> usize {
        self.left_out.on_its_way
    }

    /// Whether an unread message is not for the session that asks, or comes by itself.
    pub fn leaves(&self, id: &str) -> bool {
        self.left_out.ids.contains(id)
    }

    /// Handed over by this front, and not by `atm read`: what the evidence will say.
    #[must_use]
    pub fn by(mut self, front: &'static str) -> Self {
        self.front = front;
        self
    }

    /// Hands out the first ones only, as long as each `fits`; the others stay unread. Says how many those are.
    pub fn cut(&mut self, mut fits: impl FnMut(&MessageView) -> bool) -> usize {
        let all = self.originals.len();
        let viewer = self.inbox.viewer();
        let count = self.originals.iter().take_while(|message| fits(&viewer.view(message))).count();
        self.originals.truncate(count);
        self.flags.iter_mut().for_each(|flags| flags.truncate(count));
        self.views = OnceLock::new();
        all - count
    }

    /// Hands out those only; the others stay unread.
    pub fn retain(&mut self, mut wanted: impl FnMut(&MessageView) -> bool) {
        let viewer = self.inbox.viewer();
        self.originals.retain(|message| wanted(&viewer.view(message)));
        self.flags = None;
        self.views = OnceLock::new();
    }

    /// Marks as read what was handed out, and nothing else. Pages of many are marked together, a little later.
    pub fn confirm(mut self) -> Result<Confirmed, OfficeError> {
        let messages = mem::take(&mut self.originals);
        match self.page.take() {
            Some(page) => page.confirm(&self.inbox, messages, self.front),
            None => self.inbox.mark(&messages, self.flags.as_ref(), self.front),
        }
    }
}

struct Document<'a>(&'a Reading);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let viewer = self.0.inbox.viewer();
        serializer.collect_seq(self.0.originals.iter().map(|message| viewer.view(message)))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        // Nobody saw it.
        if let Some(page) = self.page.take() {
            page.give_back(&self.inbox);
        }
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

    /// As [`Team::begin_read_from`].
    pub fn begin_read_from(
        &self,
        team: &TeamName,
        who: &MemberName,
        from: Option<&MemberName>,
        limit: usize,
    ) -> Result<Reading, OfficeError> {
        self.team(team)?.begin_read_from(who, from, limit)
    }

    /// As [`Team::wait_for_mail`].
    pub fn wait_for_mail(
        &self,
        team: &TeamName,
        who: &MemberName,
        timeout: Duration,
    ) -> Result<bool, OfficeError> {
        self.team(team)?.wait_for_mail(who, timeout)
    }

    /// As [`Team::peek`].
    pub fn peek(&self, team: &TeamName, who: &MemberName, limit: usize) -> Result<Reading, OfficeError> {
        self.team(team)?.peek(who, limit)
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
        let stages = [
            (Stage::Taken, marked.by(by).changed(UNREAD, READ).in_file(&file)),
            (Stage::Seen, Evidence::certain(format!("handed over by {door}")).by(by)),
        ];
        let handover = Handover { found: &in_inbox(&file), stages: &stages, at: now };
        let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
        let new = |place: usize| effects::noticed(&messages[place], now);
        let inbox = self.inbox_key(team, who);
        self.books.with(|ledger| ledger.hand_over(&inbox, &ids, &handover, new))
    }

    fn hand_out(
        &self,
        team: &TeamName,
        who: &MemberName,
        (from, limit): (Option<&MemberName>, usize),
        mailbox: Mailbox,
        (turn, portion): (Option<Turn>, Option<Portion>),
    ) -> Result<Reading, OfficeError> {
        let (listing, flags) = mailbox.list_to_mark()?;
        let wanted = |message: &Message| from.is_none_or(|from| message.from == from.as_str());
        let unread = listing.messages.into_iter().enumerate();
        let mut unread: Vec<(usize, Message)> =
            unread.filter(|(_, message)| !message.read && wanted(message)).collect();
        let mut left_out = LeftOut::default();
        if let Some(portion) = portion {
            let shares = portion.shares();
            unread.retain(|(_, message)| left_out.takes(message, shares.of(message)));
        }
        // A log has its queues, which are listed in this order.
        if mailbox.layout() == Layout::Array {
            unread.sort_by_key(|(_, message)| message.priority());
        }
        unread.truncate(limit);
        let (places, originals): (Vec<usize>, Vec<Message>) = unread.into_iter().unzip();
        let flags = flags.map(|flags| flags.of(&places));
        let warnings = listing.warnings.iter().map(ToString::to_string).collect();
        let (office, team, who) = (self.clone(), team.clone(), who.clone());
        let inbox = Arc::new(Taking { office, team, who, mailbox, warnings, turn });
        let front = "atm read";
        Ok(Reading { originals, views: OnceLock::new(), flags, inbox, front, left_out, page: None })
    }
}

/// Why the inbox of another machine's member is not read here.
const READ_THERE: &str = "its mail is read there";

impl Team<'_> {
    /// Hands out the first `limit` unread messages of `who`, or those from one sender.
    pub fn begin_read_from(
        &self,
        who: &MemberName,
        from: Option<&MemberName>,
        limit: usize,
    ) -> Result<Reading, OfficeError> {
        self.check_here(who, READ_THERE)?;
        let mailbox = self.known_mailbox(who)?;
        self.look_for(who);
        let turn = mailbox.turn()?;
        let portion = self.portion_to_take(who, &mailbox)?;
        self.office().hand_out(self.name(), who, (from, limit), mailbox, (Some(turn), portion))
    }

    /// Marks these messages of `who` as read, which a front has shown; what came meanwhile stays unread.
    pub fn mark_shown<I: AsRef<str>>(
        &self,
        who: &MemberName,
        shown: &[I],
        front: &'static str,
    ) -> Result<Confirmed, OfficeError> {
        let mut reading = self.begin_read_from(who, None, usize::MAX)?.by(front);
        reading.retain(|message| shown.iter().any(|id| id.as_ref() == message.id));
        reading.confirm()
    }

    /// Hands out the first `limit` without marking anything, and without waiting for other readers.
    pub fn peek(&self, who: &MemberName, limit: usize) -> Result<Reading, OfficeError> {
        self.check_here(who, READ_THERE)?;
        let mailbox = self.known_mailbox(who)?;
        self.look_for(who);
        let portion = self.portion(who)?;
        self.office().hand_out(self.name(), who, (None, limit), mailbox, (None, portion))
    }

    /// Waits until `who` has unread mail, or `timeout` is over; says which. File events wake it, not polling. A session waits for what
    /// is for it, also for what comes into its conversation by itself: its client shows that when the call is over.
    pub fn wait_for_mail(&self, who: &MemberName, timeout: Duration) -> Result<bool, OfficeError> {
        self.wait_for_mail_until(who, timeout, &Stop::default())
    }

    /// The same, unless somebody says stop.
    pub fn wait_for_mail_until(
        &self,
        who: &MemberName,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<bool, OfficeError> {
        let mailbox = self.known_mailbox(who)?;
        let deadline = Instant::now() + timeout;
        let folder = mailbox.file().parent().map(ToOwned::to_owned);
        // The watch begins before the first look, so that nothing falls between them.
        let mut watch = self.office().hub.folders_until(folder, stop);
        if self.session().is_some() {
            // What its conversation shows by now is not on its way any more.
            let _turn = mailbox.turn()?;
            self.portion_to_take(who, &mailbox)?;
        }
        let mut seen = None;
        loop {
            // Each time: its sender may die while we wait. The watch looks every few seconds.
            self.look_for(who);
            let state = mailbox.signature();
            // What is another session's may be this one's later, and the inbox looks the same.
            let portion = self.portion(who)?;
            if portion.is_some() || seen.as_ref() != Some(&state) {
                let shares = portion.as_ref().map(Portion::shares);
                let is_its =
                    |message: &Message| shares.as_ref().is_none_or(|shares| shares.of(message) != Share::No);
                let look = |any: &mut bool, message: Message| *any |= !message.read && is_its(&message);
                let (is_waiting, _) = mailbox.fold(|| false, look)?;
                if is_waiting {
                    return Ok(true);
                }
                seen = Some(state);
            }
            if !watch.wait(Some(deadline)) {
                return Ok(false);
            }
        }
    }
}
