//! What a recipient's conversations gained, and what that proves.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use atm_ledger::{Evidence, InboxKey, Known, Proof, Reading, Recording, Source, Stage};
use atm_wire::{MemberName, TeamName};

use super::ATTEMPTS;
use crate::error::OfficeError;
use crate::office::Office;
use crate::sessions;
use crate::trail::intake::{Outline, outline};
use crate::trail::seen::{Basis, Candidate, Frames, Seen, Used, entry_ids, judge_seen};
use crate::trail::transcript::{Shape, Shown, Transcript};

/// How long is waited before each look for mail in a conversation that its client is just writing.
const LATE_BY: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(100), Duration::from_millis(150)];

/// What one conversation gained since it was last read.
#[derive(Debug)]
pub(in crate::trail) struct Gain {
    source: Source,
    transcript: Transcript,
    from: u64,
    to: u64,
    shown: Vec<Shown>,
}

impl Office {
    /// Reads what conversations gained.
    pub(in crate::trail) fn read_conversations(
        &self,
        inbox: &InboxKey,
        transcripts: &[Transcript],
    ) -> Result<Vec<Gain>, OfficeError> {
        if transcripts.is_empty() {
            return Ok(Vec::new());
        }
        let sources: Vec<Source> =
            transcripts.iter().map(|found| Source::file(&found.source(), found.inode)).collect();
        let positions = self.books.with(|ledger| ledger.positions(inbox, &sources))?;
        let copies = self.state.copies();
        let mut gains = Vec::new();
        for ((source, transcript), from) in sources.into_iter().zip(transcripts).zip(positions) {
            if from == transcript.length {
                continue;
            }
            // A conversation that cannot be read now is for the next look.
            let Ok(gained) = transcript.read_since(from, &copies) else { continue };
            if gained.end != from {
                let transcript = transcript.clone();
                gains.push(Gain { source, transcript, from, to: gained.end, shown: gained.shown });
            }
        }
        Ok(gains)
    }

    /// Looks for mail in the conversation `session` of `who`'s client, in which a hook was called: it is about to be marked, and its
    /// place there is a better proof than that it was handed over. Clients write their conversations a moment late, so it is
    /// looked for a few times.
    pub(crate) fn prove_presented(
        &self,
        team: &TeamName,
        (who, session): (&MemberName, &str),
        ids: &[&str],
    ) -> Result<(), OfficeError> {
        self.prove_patiently(team, (who, session), ids, thread::sleep)
    }

    pub(crate) fn prove_patiently(
        &self,
        team: &TeamName,
        (who, session): (&MemberName, &str),
        ids: &[&str],
        mut pause: impl FnMut(Duration),
    ) -> Result<(), OfficeError> {
        let ties = self.ties(team);
        let is_expected = if sessions::is_team(team) {
            self.registered_session(session).is_some()
        } else {
            !ties.of(who.as_str()).is_empty()
        };
        if !self.books.exist() || !is_expected {
            return Ok(());
        }
        // What the ledger does not know yet would be passed over for good.
        self.look_at_inbox(team, who, None)?;
        let inbox = self.inbox_key(team, who);
        for wait in LATE_BY {
            pause(wait);
            // In a first turn there may be no file yet.
            let Some(transcript) = self.conversation_of(team, (who, session)) else { continue };
            self.prove_in(team, &inbox, transcript)?;
            let open = self.books.with(|ledger| ledger.outlines(&inbox, Stage::Accepted, Stage::Seen))?;
            if !open.iter().any(|known| ids.contains(&known.id.as_str())) {
                break;
            }
        }
        Ok(())
    }

    /// Looks once for mail in the conversation `session` of `who`'s client, which is taken up again.
    pub(crate) fn look_for_presented(
        &self,
        team: &TeamName,
        (who, session): (&MemberName, &str),
    ) -> Result<(), OfficeError> {
        let Some(transcript) = self.conversation_of(team, (who, session)).filter(|_| self.books.exist())
        else {
            return Ok(());
        };
        self.look_at_inbox(team, who, None)?;
        self.prove_in(team, &self.inbox_key(team, who), transcript)
    }

    fn prove_in(&self, team: &TeamName, inbox: &InboxKey, transcript: Transcript) -> Result<(), OfficeError> {
        let transcripts = [transcript];
        let gains = self.read_conversations(inbox, &transcripts)?;
        self.prove_seen(team, inbox, &transcripts, gains)
    }

    /// The conversation of a session, as it stands now: a folder's by what was noted of the session, a member's by its last tie.
    pub(super) fn conversation_of(
        &self,
        team: &TeamName,
        (who, session): (&MemberName, &str),
    ) -> Option<Transcript> {
        if sessions::is_team(team) {
            return self.transcript_of_session(&self.registered_session(session)?);
        }
        self.ties(team).of(who.as_str()).last().filter(|tie| tie.session == session)?.transcript()
    }

    /// Records which open messages are in what the conversations gained. The inbox was looked at after they were read.
    pub(in crate::trail) fn prove_seen(
        &self,
        team: &TeamName,
        inbox: &InboxKey,
        transcripts: &[Transcript],
        mut gains: Vec<Gain>,
    ) -> Result<(), OfficeError> {
        for _ in 0..ATTEMPTS {
            if gains.is_empty() {
                return Ok(());
            }
            let readings = self.judge_gains(team, inbox, &gains)?;
            match self.books.with(|ledger| ledger.record_readings(&readings))? {
                Recording::Done => return Ok(()),
                Recording::Moved => gains = self.read_conversations(inbox, transcripts)?,
            }
        }
        Ok(())
    }

    fn judge_gains(
        &self,
        team: &TeamName,
        inbox: &InboxKey,
        gains: &[Gain],
    ) -> Result<Vec<Reading>, OfficeError> {
        let shows_mail = gains.iter().any(|gain| !gain.shown.is_empty());
        let (mut open, mut used, mut frames) = (Vec::new(), Used::default(), Frames::new());
        if shows_mail {
            let unread = self.unread_in(team, inbox);
            // What is accepted only may have been written by a sender that has not said so yet, and taken since.
            let known = self.books.with(|ledger| ledger.known(inbox, Stage::Accepted, Stage::Seen))?;
            let candidate = |known: &Known| {
                let is_unread = unread.contains(&known.id);
                Candidate::new(&known.id, &known.sender, &known.text, known.sent_at, is_unread)
            };
            open = known.iter().map(candidate).collect();
            let entries: Vec<&str> = gains.iter().flat_map(|gain| entry_ids(&gain.shown)).collect();
            let pushed = |shown: &Shown| match &shown.shape {
                Shape::Peer(frame) => Some(frame.clone()),
                Shape::Framed | Shape::Listed => None,
            };
            let named: Vec<String> = gains.iter().flat_map(|gain| &gain.shown).filter_map(pushed).collect();
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            frames = self.books.with(|ledger| ledger.frames(inbox, &named))?;
            for (entry, message) in self.books.with(|ledger| ledger.used_entries(&entries))? {
                used.insert(entry, &message.sender, &message.text);
            }
        }
        let now = self.now().as_millis();
        let judge = |gain: &Gain| {
            let times = (gain.transcript.changed_at, now);
            let verdict = judge_seen(&gain.shown, &mut open, &mut used, &frames, times);
            Reading {
                source: gain.source.clone(),
                reader: inbox.clone(),
                from: gain.from,
                to: verdict.again_from.unwrap_or(gain.to),
                proofs: verdict.seen.into_iter().map(|seen| gain.proof(inbox, seen)).collect(),
            }
        };
        Ok(gains.iter().map(judge).collect())
    }

    /// The ids of what lies unread in an inbox. One that is gone, or cannot be read, holds nothing back.
    fn unread_in(&self, team: &TeamName, inbox: &InboxKey) -> HashSet<String> {
        let Ok(name) = MemberName::parse(&inbox.name) else { return HashSet::new() };
        let (messages, _) = outline(&self.mailbox(team, &name)).unwrap_or_default();
        messages
            .iter()
            .filter(|message| !message.is_read())
            .map(|message| Outline::id(message).to_owned())
            .collect()
    }
}

impl Gain {
    fn proof(&self, inbox: &InboxKey, seen: Seen) -> Proof {
        let evidence = match seen.basis {
            Basis::Text { may_be_quoted: true } => {
                Evidence::likely("in the recipient's conversation, behind mail that is not on record")
            }
            Basis::Text { .. } => Evidence::certain("in the recipient's conversation"),
            Basis::Id => Evidence::certain("in the recipient's conversation, with its id"),
        };
        let evidence = if self.transcript.is_file() {
            evidence.changed(
                format!("{} bytes of it, without the message", self.from),
                format!("{} bytes, with it", self.to),
            )
        } else {
            evidence
        };
        let evidence = evidence.in_file(&self.transcript.path);
        Proof {
            inbox: inbox.clone(),
            id: seen.id,
            position: seen.position,
            entry: seen.entry,
            at: seen.at,
            evidence: if seen.is_bound { evidence.no_later_than() } else { evidence },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use atm_ledger::{Acceptance, Feed, Kind, NewMessage};
    use atm_store::{Root, State};
    use atm_wire::Stamp;

    use super::*;
    use crate::clock::FixedClock;

    /// A sender was stopped between writing the message and saying so, and the client was quicker: a look passed over the
    /// entry, and nobody looked at it again.
    #[test]
    fn an_accepted_message_that_is_in_the_conversation_was_seen() {
        let folder = tempfile::tempdir().unwrap();
        let office =
            Office::new(Root::new(folder.path().join("root")), State::new(folder.path().join("state")))
                .with_clock(FixedClock(Stamp::from_millis(1_794_800_000_000)));
        let team: TeamName = "demo".parse().unwrap();
        let inbox = office.inbox_key(&team, &"bob".parse().unwrap());
        let message = NewMessage {
            id: "m".into(),
            sender: "eve".into(),
            text: "hello".into(),
            kind: "message".into(),
            sent_at: 1_794_700_000_000,
            ..NewMessage::default()
        };
        let accepted = Acceptance { inbox: inbox.clone(), message, is_new: true, draft: String::new() };
        office.books.with(|ledger| ledger.accept(&[accepted], 1, "eve")).unwrap();
        let path = folder.path().join("s.jsonl");
        let entry = serde_json::json!({
            "type": "user", "uuid": "u", "timestamp": "2026-11-15T18:54:18.702Z",
            "message": {"content": "<teammate-message teammate_id=\"eve\">\nhello\n</teammate-message>"},
        });
        fs::write(&path, format!("{entry}\n")).unwrap();
        let transcripts = [Transcript::at(&path).unwrap()];
        let seen = || {
            let before = office.books.with(|ledger| ledger.cursor()).unwrap();
            let gains = office.read_conversations(&inbox, &transcripts).unwrap();
            office.prove_seen(&team, &inbox, &transcripts, gains).unwrap();
            match office.books.with(|ledger| ledger.events_since(&before, 9)).unwrap() {
                Feed::Events { events, .. } => {
                    events.into_iter().map(|event| (event.kind, event.message)).collect()
                }
                Feed::Reset { .. } => Vec::new(),
            }
        };
        assert_eq!(seen(), [(Kind::Seen, Some("m".to_owned()))]);
        assert_eq!(seen(), [], "once");
        let recorded = office.recorded(None, "m").unwrap();
        let stages = office.books.with(|ledger| ledger.stages(&recorded)).unwrap();
        let last = stages.iter().find(|record| record.stage == Stage::Seen).unwrap();
        assert_eq!((recorded.stage, last.at), (Stage::Seen, 1_794_768_858_702), "when it happened");
    }
}
