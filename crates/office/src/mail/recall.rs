//! Taking a message back that nobody has read.
//!
//! Noted in the ledger before the file changes, decided and recorded in the inbox's queue. Who dies in between leaves the
//! message where it is, or a note that the next look finds: see `settle_recalls`.

use std::fmt;

use atm_ledger::{Evidence, InboxKey, Recorded, Stage};
use atm_store::{Layout, Mailbox, Outbox, Recall, Recaller, StoreError, Witnesses, points};
use atm_wire::{Draft, MemberName, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::machines::AskedBack;
use crate::mail::outbox::{Accepted, write_waiting};
use crate::office::Office;
use crate::team::Team;
use crate::trail::track::Heading;

/// A message that was taken back. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Serialize)]
pub struct Recalled {
    /// Which message.
    #[serde(flatten)]
    pub message: Heading,
    /// How far it came: `recalled`.
    pub stage: Stage,
    /// Whether it was in its recipient's inbox; else it was only accepted.
    pub was_written: bool,
    /// What the sender should know.
    pub warnings: Vec<String>,
}

/// Why a message cannot be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyKept {
    /// It is marked as read.
    Read,
    /// It was put before its reader's model, and is marked at the end of the turn.
    Shown,
    /// It was pushed: its reader's client has it, and may show it at any moment.
    Pushed,
    /// Its reader's client took it out of the inbox.
    Taken,
    /// It was seen, acknowledged or answered.
    Seen,
    /// It is not in the inbox any more.
    Gone,
}

impl fmt::Display for WhyKept {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "it is marked as read",
            Self::Shown => "it was shown to its reader, whose turn is on",
            Self::Pushed => "it is on its way into its reader's conversation",
            Self::Taken => "its reader's client took it",
            Self::Seen => "its reader has seen it",
            Self::Gone => "it is not in the inbox any more",
        })
    }
}

impl Office {
    /// Takes a message back that `who` sent and nobody has read: by its id or a part of it, or the last one. Doing it
    /// twice changes nothing.
    pub fn recall(
        &self,
        team: Option<&TeamName>,
        who: &MemberName,
        what: &str,
    ) -> Result<Recalled, OfficeError> {
        self.take_back(team, who, &self.sent_message(team, who, what)?)
    }

    pub(crate) fn take_back(
        &self,
        team: Option<&TeamName>,
        who: &MemberName,
        message: &Recorded,
    ) -> Result<Recalled, OfficeError> {
        check_sender(team, who, message)?;
        let mut answer = answer(message);
        match message.stage {
            Stage::Recalled => {
                answer.warnings.push("it was recalled already".to_owned());
                return Ok(answer);
            }
            Stage::Seen | Stage::Acked | Stage::Done => return Err(kept(message, WhyKept::Seen)),
            _ => {}
        }
        if let Some(machine) = self.went_to(message)? {
            match self.ask_back(message, machine.clone())? {
                AskedBack::Recalled => {}
                AskedBack::Asked => {
                    answer.stage = message.stage;
                    answer.was_written = message.stage > Stage::Accepted;
                    answer
                        .warnings
                        .push(format!("machine {machine} is asked to take it back, if it is unread"));
                }
            }
            return Ok(answer);
        }
        let name = MemberName::parse(&message.inbox.name)?;
        let home = TeamName::parse(&message.inbox.team)?;
        let mailbox = self.mailbox(&home, &name);
        // A reader that has the message in its hands marks it first.
        let _turn = mailbox.turn()?;
        if let Some(why) = self.is_offered(&mailbox, &message.id)? {
            return Err(kept(message, why));
        }
        let now = self.now().as_millis();
        self.books.with(|ledger| ledger.recalling(&message.inbox, &message.id, now))?;
        points::reached("recalling");
        let mut recalling = Recalling::new(self, message, &mailbox);
        let outcome = mailbox.recall(&message.id, !message.ours, &mut recalling);
        if !recalling.is_recalled {
            let _ = self.books.with(|ledger| ledger.not_removed(&message.inbox, &[&message.id]));
            let why = match outcome? {
                Recall::Read => WhyKept::Read,
                _ if message.stage == Stage::Taken => WhyKept::Taken,
                _ => WhyKept::Gone,
            };
            return Err(kept(message, why));
        }
        answer.was_written = !matches!(outcome, Ok(Recall::Missing));
        answer.warnings.append(&mut recalling.warnings);
        match self.books.with(|ledger| ledger.make_durable()) {
            Ok(()) => {}
            Err(error) => {
                answer.warnings.push(format!("recalled, but a power cut could undo the record: {error}"));
            }
        }
        self.books.tidy();
        Ok(answer)
    }

    /// Whether a message is before a model, or on its way to one, and not marked as read yet.
    fn is_offered(&self, mailbox: &Mailbox, id: &str) -> Result<Option<WhyKept>, OfficeError> {
        let offered = self.offered(mailbox);
        if offered.is_empty() {
            return Ok(None);
        }
        let messages = mailbox.list()?.messages;
        let named = messages.iter().filter(|message| message.id == id);
        let receipts = named.map(|message| atm_store::Receipt::of(message).to_string());
        let mut offers = receipts.filter(|receipt| offered.has(receipt));
        let why = |receipt: String| {
            if offered.is_pushed(&receipt) { WhyKept::Pushed } else { WhyKept::Shown }
        };
        Ok(offers.next().map(why))
    }

    /// Whether a message counts as taken back. In doubt it does: nobody offers it again then.
    pub(crate) fn was_recalled(&self, inbox: &InboxKey, id: &str) -> bool {
        let stage = self.books.with(|ledger| ledger.stage_of(inbox, id));
        stage.map_or(true, |stage| stage == Some(Stage::Recalled))
    }

    /// Finds out about messages that are gone from their inbox after somebody was about to take them back: that process
    /// did it and died, or somebody else was quicker. What cannot be found out now is for the next look.
    pub(crate) fn settle_recalls(&self, team: &TeamName, name: &MemberName, ids: &[String]) {
        let (office, inbox) = (self.hurried(), self.inbox_key(team, name));
        let mailbox = office.mailbox(team, name);
        // Whose turn it is in the queue finds the note of one that died; who lives has recorded it when it leaves.
        if write_waiting(&office, &inbox, &mailbox).is_err() {
            return;
        }
        let now = self.now().as_millis();
        let settled = self.books.with(|ledger| {
            for id in ids {
                match ledger.stage_of(&inbox, id)? {
                    Some(Stage::Recalled) => {}
                    // Nobody else takes lines out of a log.
                    _ if mailbox.layout() == Layout::Log => {
                        let evidence = Evidence::likely(AFTER_DEATH).in_file(mailbox.file());
                        ledger.recalled(&inbox, std::slice::from_ref(id), now, &evidence)?;
                    }
                    _ => ledger.not_removed(&inbox, &[id])?,
                }
            }
            Ok(())
        });
        if let Err(error) = settled {
            tracing::debug!(%error, "what was recalled is settled at the next look");
        }
    }
}

impl Team<'_> {
    /// As [`Office::recall`], of a message that belongs to this team.
    pub fn recall(&self, who: &MemberName, what: &str) -> Result<Recalled, OfficeError> {
        self.office().take_back(Some(self.name()), who, &self.sent_message(who, what)?)
    }
}

/// Only the sender takes a message back; a namesake in another team is somebody else.
fn check_sender(team: Option<&TeamName>, who: &MemberName, message: &Recorded) -> Result<(), OfficeError> {
    let home = message.origin.as_deref().unwrap_or(&message.inbox.team);
    let is_elsewhere = team.is_some_and(|team| team.as_str() != home);
    if message.sender == who.as_str() && !is_elsewhere {
        return Ok(());
    }
    let why = format!(
        "message {} is from {}, and only {} can recall it",
        message.id, message.sender, message.sender
    );
    Err(OfficeError::NotYours { who: who.to_string(), why })
}

/// What is recorded for one that died.
pub(crate) const AFTER_DEATH: &str = "taken back by its sender, unread, by a process that died";

fn kept(message: &Recorded, why: WhyKept) -> OfficeError {
    OfficeError::NotRecallable { id: message.id.clone(), why }
}

fn answer(message: &Recorded) -> Recalled {
    Recalled {
        message: message.clone().into(),
        stage: Stage::Recalled,
        was_written: true,
        warnings: Vec::new(),
    }
}

/// The sender at the inbox's queue.
struct Recalling<'a> {
    office: &'a Office,
    message: &'a Recorded,
    file: std::path::PathBuf,
    /// For what others left there.
    accepted: Accepted<'a>,
    is_recalled: bool,
    warnings: Vec<String>,
}

impl<'a> Recalling<'a> {
    fn new(office: &'a Office, message: &'a Recorded, mailbox: &Mailbox) -> Self {
        let accepted = Accepted::new(office, &message.inbox, mailbox, &[]);
        let file = mailbox.file();
        Self { office, message, file, accepted, is_recalled: false, warnings: Vec::new() }
    }

    /// Records that it is taken back; says whether that could be.
    fn record(&mut self, evidence: Evidence) -> bool {
        self.is_recalled = true;
        let evidence = evidence.by(&self.message.sender).in_file(&self.file);
        let (now, id) = (self.office.now().as_millis(), std::slice::from_ref(&self.message.id));
        let recorded =
            self.office.books.with(|ledger| ledger.recalled(&self.message.inbox, id, now, &evidence));
        if let Err(error) = &recorded {
            self.warnings.push(format!("it is out of the inbox; the next look records that: {error}"));
        }
        recorded.is_ok()
    }

    /// Whether it waits for being written, or was given up after it was undone: then nothing has to leave the file.
    fn is_only_ours(&self) -> bool {
        let id = &self.message.id;
        let waits = self.office.books.with(|ledger| ledger.is_waiting(&self.message.inbox, id));
        waits.unwrap_or(false) || self.message.stage == Stage::Held
    }
}

impl Recaller for Recalling<'_> {
    fn conclude(&mut self, outcome: Recall) -> bool {
        match outcome {
            Recall::TakenOut => self.record(Evidence::certain("taken back by its sender, unread")),
            Recall::InDoubt => {
                self.warnings
                    .push("its reader went on in its inbox meanwhile, and may have read it".to_owned());
                self.record(Evidence::likely("taken back by its sender; its reader may have read it"))
            }
            Recall::Missing if self.is_only_ours() => {
                self.record(Evidence::certain("taken back by its sender before it was written"))
            }
            Recall::Read | Recall::Missing => true,
        }
    }
}

impl Outbox for Recalling<'_> {
    fn waiting(&mut self) -> Vec<Draft> {
        Vec::new()
    }

    fn written(&mut self, ids: &[String], before: Option<&Witnesses>) -> bool {
        self.accepted.written(ids, before)
    }

    fn recalled(&mut self, ids: &[String]) -> bool {
        self.accepted.recalled(ids)
    }

    fn failed(&mut self, _error: &StoreError) {}
}
