//! Mail that a client took and that is not in its conversation: the client still holds it, or it is lost.
//!
//! A client that takes mail in the middle of a turn keeps it in memory until the turn ends, however long that is. Only a
//! later turn that began without it shows that it was lost, or the end of the client. Mail that lies in the inbox, because
//! it was offered again, is still to be shown.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use atm_ledger::{Evidence, InboxKey, Kind, Known, Stage, StageRecord};
use atm_wire::message::Delivery;
use atm_wire::payload::classify;
use atm_wire::team::TeamConfig;
use atm_wire::{Draft, MemberName, TeamName};

use crate::error::OfficeError;
use crate::mail::outbox::parse_draft;
use crate::mail::tag::{self, Waited};
use crate::office::Office;
use crate::people::presence::{Presence, Surroundings, judge};
use crate::trail::intake::{Outline, outline};
use crate::trail::transcript::{Conversations, Transcript};

/// A turn that began this long after a message was taken, and does not have it, shows that it was lost: what is written
/// within a moment has no order.
const LATER_MS: i64 = 5_000;

/// Whether a recipient's client runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// It runs.
    Running,
    /// It ended, with all that it had in memory.
    Ended,
    /// Nothing says.
    Unknown,
}

/// What a recipient's conversation can tell about mail that was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conversation {
    /// There is one.
    pub(crate) is_known: bool,
    /// When its last turn began.
    pub(crate) last_turn: Option<i64>,
    /// Whether its client runs.
    pub(crate) client: Client,
}

/// What became of mail that was taken and is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is in the inbox again, unread.
    OnOffer,
    /// The client has it and will show it.
    Held,
    /// The client does not have it any more.
    Lost,
    /// There is no conversation to tell.
    Unknown,
}

/// What became of a message with these stages. An offer begins its way anew.
pub(crate) fn judge_taken(stages: &[StageRecord], is_unread: bool, conversation: Conversation) -> Fate {
    let in_hand =
        |record: &&StageRecord| matches!(record.stage, Stage::Taken | Stage::Queued | Stage::Restored);
    let since = stages.iter().filter(in_hand).map(|record| record.at).max();
    let is_later = |turn: i64| since.is_some_and(|since| turn > since.saturating_add(LATER_MS));
    if is_unread {
        Fate::OnOffer
    } else if conversation.last_turn.is_some_and(is_later) {
        Fate::Lost
    } else if !conversation.is_known {
        Fate::Unknown
    } else if conversation.client == Client::Ended {
        Fate::Lost
    } else {
        Fate::Held
    }
}

/// What the conversations of a team tell about mail that was taken; each is asked once, and only if somebody wants to know.
pub(crate) struct Turns<'a> {
    office: &'a Office,
    team: &'a TeamName,
    config: &'a TeamConfig,
    conversations: OnceCell<Conversations>,
    /// What was found to run: looked at once for the whole command.
    around: &'a Surroundings,
    /// Whether clients run, if that need not be asked.
    client: Option<Client>,
    asked: RefCell<HashMap<String, (Conversation, HashSet<String>)>>,
}

impl<'a> Turns<'a> {
    pub(crate) fn new(
        office: &'a Office,
        team: &'a TeamName,
        config: &'a TeamConfig,
        around: &'a Surroundings,
    ) -> Self {
        let conversations = OnceCell::new();
        Self { office, team, config, conversations, around, client: None, asked: RefCell::default() }
    }

    /// The same for members whose clients have ended, whatever the configuration says by now.
    fn after_end(self) -> Self {
        Self { client: Some(Client::Ended), ..self }
    }

    /// What became of a message that was taken from somebody's inbox and is not seen.
    pub(crate) fn fate(&self, name: &str, id: &str, stages: &[StageRecord]) -> Fate {
        let mut asked = self.asked.borrow_mut();
        let (conversation, unread) =
            asked.entry(name.to_owned()).or_insert_with(|| (self.conversation(name), self.unread(name)));
        judge_taken(stages, unread.contains(id), *conversation)
    }

    fn conversation(&self, name: &str) -> Conversation {
        let all = self.conversations.get_or_init(|| self.office.conversations(self.team, Some(self.config)));
        // Others are handed their mail by us: what was taken otherwise was not taken by them.
        let transcripts: Vec<&Transcript> =
            all.of(name).iter().filter(|transcript| transcript.is_of_inbox_reader()).collect();
        Conversation {
            is_known: !transcripts.is_empty(),
            last_turn: transcripts.iter().filter_map(|transcript| transcript.last_turn()).max(),
            client: self.client.unwrap_or_else(|| self.client(name)),
        }
    }

    fn client(&self, name: &str) -> Client {
        let Some(member) = self.config.member(name) else { return Client::Unknown };
        let signs = self.office.signs(self.team, self.config, member, self.around);
        match judge(&signs, self.office.now()).state {
            Presence::Online | Presence::Idle | Presence::Stalled => Client::Running,
            Presence::Offline => Client::Ended,
            Presence::Unknown => Client::Unknown,
        }
    }

    fn unread(&self, name: &str) -> HashSet<String> {
        let Ok(name) = MemberName::parse(name) else { return HashSet::new() };
        let (messages, _) = outline(&self.office.mailbox(self.team, &name)).unwrap_or_default();
        let unread = messages.iter().filter(|message| !message.is_read());
        unread.map(|message| Outline::id(message).to_owned()).collect()
    }
}

impl Office {
    /// Offers mail again that a client took and lost when it ended: for one that returns, before its new client starts.
    /// By then the configuration says that it is active, in a pane in which nothing runs yet: what became of the client of
    /// before is not asked there. Says how many.
    pub(crate) fn offer_lost(&self, team: &TeamName, name: &MemberName) -> Result<usize, OfficeError> {
        if !self.books.exist() {
            return Ok(0);
        }
        let mut handle = self.team_to_look_at(team)?;
        handle.look()?;
        let inbox = handle.inbox_key(name);
        let turns = Turns::new(self, team, handle.config(), &handle.around).after_end();
        let taken = self.books.with(|ledger| ledger.outlines(&inbox, Stage::Taken, Stage::Held))?;
        let mut offered = 0;
        for Known { id, .. } in taken {
            let stages = self.stages_of(&inbox, &id)?;
            let draft = self.books.with(|ledger| ledger.draft(&inbox, &id))?;
            let Some(draft) = draft.as_deref().and_then(parse_draft) else { continue };
            if turns.fate(name.as_str(), &id, &stages) != Fate::Lost {
                continue;
            }
            let is_wanted = || !self.was_recalled(&inbox, &id);
            if !self.mailbox(team, name).offer(&with_tag(draft), &is_wanted)? {
                continue;
            }
            let evidence = Evidence::certain("its reader's client ended without showing it: offered again");
            let now = self.now().as_millis();
            self.books.with(|ledger| ledger.note(&inbox, &id, Kind::Offered, now, &evidence))?;
            offered += 1;
        }
        Ok(offered)
    }

    fn stages_of(&self, inbox: &InboxKey, id: &str) -> Result<Vec<StageRecord>, OfficeError> {
        Ok(self.books.with(|ledger| {
            let found = ledger.find(&inbox.root, id, false)?;
            let message = found.into_iter().find(|message| message.inbox == *inbox);
            message.map_or(Ok(Vec::new()), |message| ledger.stages(&message))
        })?)
    }
}

/// The draft as it is offered again. A payload stays as it is: with words before it, no client would act on it.
fn with_tag(draft: Draft) -> Draft {
    if classify(&draft.text, None).is_protocol() {
        return Draft { delivery: Delivery::Queued, ..draft };
    }
    let text = tag::tagged(Waited::Lost { sent: draft.timestamp }, &draft.text);
    Draft { text, delivery: Delivery::Queued, ..draft }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(stages: &[(Stage, i64)]) -> Vec<StageRecord> {
        let record = |(stage, at): &(Stage, i64)| StageRecord {
            stage: *stage,
            at: *at,
            evidence: Evidence::likely("gone"),
            is_offer: false,
        };
        stages.iter().map(record).collect()
    }

    #[test]
    fn mail_is_lost_when_a_later_turn_began_without_it_or_the_client_ended() {
        use Client::{Ended, Running, Unknown};
        let conversation = |last_turn, client| Conversation { is_known: true, last_turn, client };
        let silent = Conversation { is_known: false, last_turn: None, client: Ended };
        let taken = 1_000_000;
        let during = Some(taken - 60_000);
        let later = Some(taken + 60_000);
        let rows = [
            // A turn that lasts for hours: nothing began since.
            (conversation(during, Running), false, Fate::Held),
            (conversation(during, Unknown), false, Fate::Held),
            (conversation(Some(taken + 1_000), Running), false, Fate::Held),
            (conversation(later, Running), false, Fate::Lost),
            (conversation(during, Ended), false, Fate::Lost),
            (conversation(None, Ended), false, Fate::Lost),
            (silent, false, Fate::Unknown),
            // It is in the inbox again.
            (conversation(later, Running), true, Fate::OnOffer),
            (conversation(during, Ended), true, Fate::OnOffer),
        ];
        for (conversation, is_unread, expected) in rows {
            let stages = reached(&[(Stage::Written, 1), (Stage::Taken, taken)]);
            assert_eq!(
                judge_taken(&stages, is_unread, conversation),
                expected,
                "{conversation:?} {is_unread}"
            );
        }
    }

    #[test]
    fn a_payload_is_offered_again_as_it_is() {
        let text = r#"{"type":"task_assignment","taskId":"7"}"#;
        assert_eq!(with_tag(atm_support::draft(text)).text, text);
        assert!(with_tag(atm_support::draft("please look")).text.starts_with("[PENDING ACTION"));
    }

    /// A second offer was taken in the middle of a turn: the turn between the two does not show that it was lost.
    #[test]
    fn what_was_offered_again_begins_anew() {
        let stages = reached(&[(Stage::Taken, 1_000_000), (Stage::Queued, 2_000_000)]);
        let after = |last_turn| {
            let conversation =
                Conversation { is_known: true, last_turn: Some(last_turn), client: Client::Running };
            judge_taken(&stages, false, conversation)
        };
        assert_eq!(after(1_500_000), Fate::Held);
        assert_eq!(after(2_500_000), Fate::Lost);
    }

    /// Mail that died with its client was in no inbox when the next client started.
    #[test]
    fn what_a_client_lost_when_it_ended_is_offered_once_to_the_next() {
        let team = atm_support::TestEnv::new().team("demo", atm_store::Layout::Array, &["lead", "bob"]);
        let office = Office::new(team.env().store_root(), team.env().store_state());
        let bob: MemberName = "bob".parse().unwrap();
        let conversation = team.env().root().join("projects/-p/s.jsonl");
        std::fs::create_dir_all(conversation.parent().unwrap()).unwrap();
        let entry = r#"{"type":"user","teamName":"demo","agentName":"bob","message":{"content":"before"}}"#;
        std::fs::write(conversation, format!("{entry}\n")).unwrap();
        let letter = crate::mail::send::Letter::new("bob".parse().unwrap(), "mend the build");
        let user = "user".parse().unwrap();
        let sent =
            office.send(team.name(), &user, &letter, crate::mail::send::SendOptions::default()).unwrap();
        std::fs::write(team.inbox("bob"), "[]").unwrap();
        // Who returns is entered as active before its mail is offered.
        let config = r#"{"name":"demo","members":[{"name":"lead","agentType":"team-lead"},
            {"name":"bob","isActive":true,"spawnedAt":"2026-11-16T17:53:49.356Z"}]}"#;
        std::fs::write(team.config_file(), config).unwrap();
        assert_eq!(office.offer_lost(team.name(), &bob).unwrap(), 1);
        let unread = office.mailbox(team.name(), &bob).list().unwrap().messages;
        assert_eq!(unread.iter().map(|message| &message.id).collect::<Vec<_>>(), [&sent.id]);
        assert!(unread[0].text.starts_with("[PENDING ACTION - taken by your client"), "{}", unread[0].text);
        assert_eq!(office.offer_lost(team.name(), &bob).unwrap(), 0, "it is on offer");
    }
}
