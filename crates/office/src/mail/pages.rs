//! Reading an inbox page by page, by one process: what one look at the file found is handed out in several answers, and
//! marked as read in one write. Looking and marking cost as much as the inbox is large; a page does not.
//!
//! What was handed out and is not marked yet is marked by [`Pages::settle`]: when all that was found is handed out, when
//! nobody asks for more, before anything else is done with mail, and at the end. A process that dies before that hands
//! these pages out again, as every reader does that dies before it marks. As long as pages are open, the reader's turn is
//! held, so that nobody else is given the same mail.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atm_store::Layout;
use atm_store::mailbox::Signature;
use atm_wire::message::Priority;
use atm_wire::{MemberName, Message, TeamName};

use crate::error::OfficeError;
use crate::mail::read::{Confirmed, LeftOut, Reading, Taking};
use crate::office::Office;
use crate::sessions::{Portion, Share};
use crate::view::MessageView;

/// So many messages are kept of one look.
const MOST_MESSAGES: usize = 512;
/// And so much text.
const MOST_TEXT: usize = 256 * 1024;

/// The pages that a process is reading; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Pages(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    window: Mutex<Option<Window>>,
    /// One looks at an inbox at a time: who waited for it finds the next page.
    looking: Mutex<()>,
    /// What went wrong with pages that were shown before.
    troubles: Mutex<Vec<String>>,
}

/// What one look at an inbox found.
#[derive(Debug)]
struct Window {
    inbox: Arc<Taking>,
    front: &'static str,
    left_out: LeftOut,
    /// What the inbox looked like; none if its next change might not show.
    signature: Option<Signature>,
    /// Unread, and not handed out yet.
    rest: VecDeque<Message>,
    /// How many unread messages there were behind these.
    beyond: usize,
    /// Handed out, and to be marked.
    shown: Vec<Message>,
    /// A page was not shown: it has to be found again.
    is_torn: bool,
    used_at: Instant,
}

/// A page that is handed out.
#[derive(Debug)]
pub(crate) struct Page {
    pages: Pages,
    pub(crate) left: usize,
}

/// Whose mail is read, and by which front.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The team.
    pub team: &'a TeamName,
    /// Whose inbox.
    pub who: &'a MemberName,
    /// The session that asks, where several share an inbox.
    pub session: Option<&'a str>,
    /// What the evidence says that handed it over.
    pub front: &'static str,
}

impl Pages {
    /// The next page of unread mail: the first messages, as long as each `fits`, at least one if there is any.
    pub fn take(
        &self,
        office: &Office,
        reader: Reader<'_>,
        mut fits: impl FnMut(&MessageView) -> bool,
    ) -> Result<Reading, OfficeError> {
        if let Some(reading) = self.next(reader, &mut fits) {
            return Ok(reading);
        }
        let _looking = self.0.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reading) = self.next(reader, &mut fits) {
            return Ok(reading);
        }
        self.settle();
        let mut window = office.open_window(reader)?;
        let reading = window.page(self.clone(), &mut fits);
        if window.left() > 0 {
            *self.window() = Some(window);
        }
        Ok(reading)
    }

    /// Whether there was more unread mail than what was handed out.
    pub fn has_more(&self, reader: Reader<'_>) -> bool {
        self.window().as_ref().is_some_and(|window| window.is_of(reader) && window.left() > 0)
    }

    /// Marks all that was handed out so far, and looks anew next time.
    pub fn settle(&self) {
        let window = self.window().take();
        self.close(window);
    }

    /// The same, if no page was asked for or shown for `time`.
    pub fn settle_after(&self, time: Duration) {
        let window = self.window().take_if(|window| window.used_at.elapsed() >= time);
        self.close(window);
    }

    /// Whether something is to be settled.
    pub fn are_open(&self) -> bool {
        self.window().is_some()
    }

    /// What went wrong with pages that were shown before, and what went on beside marking them.
    pub fn troubles(&self) -> Vec<String> {
        mem::take(&mut *self.0.troubles.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next page of what was found before. None if there is no more of it, or if the inbox changed since.
    fn next(&self, reader: Reader<'_>, fits: &mut dyn FnMut(&MessageView) -> bool) -> Option<Reading> {
        let mut slot = self.window();
        let window = slot.as_mut().filter(|window| window.goes_on(reader))?;
        Some(window.page(self.clone(), fits))
    }

    fn close(&self, window: Option<Window>) {
        let Some(window) = window else { return };
        let troubles = match window.close() {
            Ok(confirmed) => confirmed.warnings,
            Err(error) => vec![format!("mail was shown and could not be marked as read: {error}")],
        };
        self.0.troubles.lock().unwrap_or_else(PoisonError::into_inner).extend(troubles);
    }

    fn window(&self) -> MutexGuard<'_, Option<Window>> {
        self.0.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Page {
    /// It was shown: it is marked with the others of its window, or now if it was the last.
    pub(crate) fn confirm(
        self,
        inbox: &Arc<Taking>,
        messages: Vec<Message>,
        front: &str,
    ) -> Result<Confirmed, OfficeError> {
        let mut slot = self.pages.window();
        let Some(window) = slot.as_mut().filter(|window| Arc::ptr_eq(&window.inbox, inbox)) else {
            // The others were settled meanwhile.
            drop(slot);
            return inbox.mark(&messages, None, front);
        };
        window.used_at = Instant::now();
        window.shown.extend(messages);
        let done = slot.take_if(|window| window.left() == 0 || window.is_torn);
        drop(slot);
        done.map_or_else(|| Ok(Confirmed::default()), Window::close)
    }

    /// It was not shown.
    pub(crate) fn give_back(self, inbox: &Arc<Taking>) {
        if let Some(window) = self.pages.window().as_mut().filter(|window| Arc::ptr_eq(&window.inbox, inbox))
        {
            window.is_torn = true;
        }
    }
}

impl Window {
    fn is_of(&self, reader: Reader<'_>) -> bool {
        self.inbox.team == *reader.team && self.inbox.who == *reader.who
    }

    /// How many unread messages were found, and not handed out.
    fn left(&self) -> usize {
        self.rest.len() + self.beyond
    }

    /// Whether the next page can be had of what was found.
    fn goes_on(&self, reader: Reader<'_>) -> bool {
        self.is_of(reader)
            && !self.is_torn
            && !self.rest.is_empty()
            && self.signature.as_ref().is_some_and(|seen| *seen == self.inbox.mailbox.signature())
    }

    fn page(&mut self, pages: Pages, fits: &mut dyn FnMut(&MessageView) -> bool) -> Reading {
        self.used_at = Instant::now();
        let viewer = self.inbox.viewer();
        let count = self.rest.iter().take_while(|message| fits(&viewer.view(message))).count();
        // One that fits nowhere would keep all others from being read.
        let count = count.max(1).min(self.rest.len());
        let messages: Vec<Message> = self.rest.drain(..count).collect();
        let inbox = (self.inbox.clone(), self.left_out.clone());
        Reading::of_page(inbox, messages, self.front, Page { pages, left: self.left() })
    }

    fn close(self) -> Result<Confirmed, OfficeError> {
        if self.shown.is_empty() {
            Ok(Confirmed::default())
        } else {
            self.inbox.mark(&self.shown, None, self.front)
        }
    }
}

/// What is kept of a look at an inbox.
#[derive(Default)]
struct Found {
    messages: VecDeque<Message>,
    /// The least urgent of these.
    last: Priority,
    text: usize,
    beyond: usize,
    left_out: LeftOut,
}

impl Found {
    fn add(&mut self, message: Message) {
        if message.read {
            return;
        }
        let is_full = self.messages.len() >= MOST_MESSAGES || self.text >= MOST_TEXT;
        if is_full && message.priority() >= self.last {
            self.beyond += 1;
        } else {
            self.last = self.last.max(message.priority());
            self.text += message.text.len();
            self.messages.push_back(message);
        }
    }

    /// The most urgent first, as every reader of an array gets them: nothing that was left out is more urgent than these.
    fn in_order(mut self, layout: Layout) -> Self {
        if layout == Layout::Array {
            self.messages.make_contiguous().sort_by_key(Message::priority);
        }
        self
    }
}

impl Office {
    fn open_window(&self, reader: Reader<'_>) -> Result<Window, OfficeError> {
        let team = self.team(reader.team)?.in_session(reader.session.map(ToOwned::to_owned));
        let mailbox = team.known_mailbox(reader.who)?;
        team.look_for(reader.who);
        let turn = Some(mailbox.turn()?);
        let signature = mailbox.signature_once_settled();
        let portion = team.portion_to_take(reader.who, &mailbox)?;
        let shares = portion.as_ref().map(Portion::shares);
        let share = |message: &Message| shares.as_ref().map_or(Share::Own, |shares| shares.of(message));
        let add = |found: &mut Found, message: Message| {
            if message.read || found.left_out.takes(&message, share(&message)) {
                found.add(message);
            }
        };
        let (found, warnings) = mailbox.fold(Found::default, add)?;
        let found = found.in_order(mailbox.layout());
        let inbox = Arc::new(Taking {
            office: self.clone(),
            team: reader.team.clone(),
            who: reader.who.clone(),
            mailbox,
            warnings: warnings.iter().map(ToString::to_string).collect(),
            turn,
        });
        Ok(Window {
            inbox,
            front: reader.front,
            left_out: found.left_out,
            signature,
            rest: found.messages,
            beyond: found.beyond,
            shown: Vec::new(),
            is_torn: false,
            used_at: Instant::now(),
        })
    }
}

#[cfg(test)]
mod tests;
