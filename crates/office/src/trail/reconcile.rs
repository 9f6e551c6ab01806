//! Bringing the ledger up to date with what files and transcripts show.
//!
//! One function of both: only what changed in size or time since the last look is read again.

use std::path::Path;

use atm_ledger::{Evidence, InboxKey, Known, Ledger, LedgerError, Observed, Proof, Reading, Source, Stage};
use atm_store::Warning;
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, Message, TeamName};

use crate::error::OfficeError;
use crate::mail::equals;
use crate::office::{Office, USER};
use crate::protocol::signed;
use crate::trail::effects;
use crate::trail::intake::{Outline, outline};
use crate::trail::judge::{Reader, Standing, Verdict, judge, was_not_removed};
use crate::trail::putback::{AT_MOST, put_back};
use crate::trail::transcript;

impl Office {
    /// Looks at everything of a team that changed since the last look, and finishes what was left undone.
    pub fn reconcile(&self, team: &TeamName) -> Result<(), OfficeError> {
        let folder = self.folder(team)?;
        let config = folder.load()?;
        let members = config.members.iter().filter_map(|member| member.checked_name().ok());
        let mut names: Vec<MemberName> = members.chain(folder.inbox_names()).collect();
        names.sort();
        names.dedup();
        self.complete_accepted(team, None);
        for name in &names {
            self.reconcile_inbox(team, name)?;
            self.books.with(|ledger| self.read_transcripts(ledger, team, &config, name))?;
        }
        self.bury_deleted_teams()?;
        self.books.tidy();
        Ok(())
    }

    /// Looks at one inbox, if it changed since the last look.
    pub fn reconcile_inbox(&self, team: &TeamName, name: &MemberName) -> Result<(), OfficeError> {
        let mailbox = self.mailbox(team, name);
        let inbox = self.inbox_key(team, name);
        let signature = mailbox.signature().to_string();
        if self.books.with(|ledger| ledger.signature(&inbox))?.as_deref() == Some(&signature) {
            return Ok(());
        }
        // First what the ledger knows, then the file: what is known was written before, so its absence means something.
        let mut known = self.books.with(|ledger| ledger.outlines(&inbox, Stage::Written, Stage::Taken))?;
        let (messages, warnings) = outline(&mailbox)?;
        // A file that is being written in place, or is broken, does not show what is gone.
        let is_broken = warnings.iter().any(|warning| matches!(warning, Warning::Unparsable { .. }));
        // Nor does one that was replaced while we looked: it may have been away for an instant.
        let is_whole = !is_broken && mailbox.signature().to_string() == signature;
        let file = mailbox.file();
        let now = self.now().as_millis();
        let mut observed = self.take_archived(team, name, &mut known, &messages)?;
        let standing = Standing::new(&messages, mailbox.exists());
        let findings = self.judge_all(team, &inbox, &known, &standing, is_whole)?;
        observed.extend(findings.observed(&others(messages.len()), &file));
        let is_settled = is_whole && findings.undone.is_empty();
        let counts = equals::counted(&messages);
        let ids: Vec<&str> = messages.iter().map(Outline::id).collect();
        let unknown = self.books.with(|ledger| ledger.unknown(&inbox, &ids))?;
        let unknown = unknown.into_iter().map(ToOwned::to_owned).collect();
        self.take_in(&inbox, &mailbox, &unknown, now)?;
        // Last, with what the inbox looked like before all this: if it is not reached, all is looked at again.
        self.books.with(|ledger| {
            let first_ids: Vec<&str> = counts.keys().map(String::as_str).collect();
            let equals = equals::renumbered(&counts, &ledger.equals(&inbox, &first_ids)?, &ids);
            // What has to be put back is looked at again, also if we do not come to it.
            let signature = is_settled.then_some(signature.as_str());
            ledger.look(&inbox, &observed, signature, &equals, now)?;
            let kept: Vec<&str> = findings.not_removed.iter().map(String::as_str).collect();
            if kept.is_empty() { Ok(()) } else { ledger.not_removed(&inbox, &kept) }
        })?;
        if !findings.undone.is_empty() {
            // An inbox that cannot be written now is for the next look.
            let _ = put_back(self, &inbox, &self.hurried().mailbox(team, name), &findings.undone);
        }
        Ok(())
    }

    /// What became of the messages that should be in an inbox. One that was put back too often is not undone but held.
    fn judge_all(
        &self,
        team: &TeamName,
        inbox: &InboxKey,
        known: &[Known],
        standing: &Standing,
        is_whole: bool,
    ) -> Result<Findings, OfficeError> {
        if known.is_empty() {
            return Ok(Findings::default());
        }
        let config = self.folder(team)?.load();
        let reader = config.map_or(Reader::OneByOne, |config| Reader::of(&config, &inbox.name));
        let now = self.now().as_millis();
        let mut findings = Findings::default();
        for message in known {
            let id = || message.id.clone();
            if was_not_removed(message, standing, now) {
                findings.not_removed.push(id());
            }
            match judge(message, standing, reader) {
                Verdict::StillThere | Verdict::RemovedByUs => {}
                Verdict::MarkedRead => findings.marked.push(id()),
                _ if !is_whole => {}
                Verdict::Taken => findings.taken.push(id()),
                Verdict::TakenUnproved => findings.unproved.push(id()),
                Verdict::Undone => {
                    let times = self.books.with(|ledger| ledger.times_restored(inbox, &message.id))?;
                    if times < AT_MOST {
                        findings.undone.push((id(), times));
                    } else {
                        findings.held.push(id());
                    }
                }
            }
        }
        Ok(findings)
    }

    /// Looks for open messages in what the recipient's conversation gained.
    fn read_transcripts(
        &self,
        ledger: &mut Ledger,
        team: &TeamName,
        config: &TeamConfig,
        name: &MemberName,
    ) -> Result<(), LedgerError> {
        let inbox = self.inbox_key(team, name);
        let transcripts = transcript::transcripts_of(self.root.path(), config, team.as_str(), name.as_str());
        // With their texts: only where there is a conversation to look for them in.
        let mut open = if transcripts.is_empty() {
            Vec::new()
        } else {
            ledger.known(&inbox, Stage::Written, Stage::Seen)?
        };
        if open.is_empty() {
            return Ok(());
        }
        for found in transcripts {
            let source = Source::file(&found.path, found.inode);
            let from = ledger.positions(&inbox, std::slice::from_ref(&source))?.first().copied().unwrap_or(0);
            if from == found.length {
                continue;
            }
            let Ok((told, to)) = found.heard_since(from) else { continue };
            let evidence = Evidence::certain("in the recipient's conversation")
                .changed(format!("{from} bytes of it, without the message"), format!("{to} bytes, with it"))
                .in_file(&found.path);
            let proofs = self.find_proofs(&inbox, from, &evidence, &told, &mut open);
            ledger.record_readings(&[Reading { source, reader: inbox.clone(), from, to, proofs }])?;
        }
        Ok(())
    }

    fn find_proofs(
        &self,
        inbox: &InboxKey,
        from: u64,
        evidence: &Evidence,
        told: &[String],
        open: &mut Vec<Known>,
    ) -> Vec<Proof> {
        let mut proofs = Vec::new();
        for text in told {
            let seen = |m: &Known| transcript::has_message(text, &m.sender, &m.text);
            while let Some(at) = open.iter().position(seen) {
                proofs.push(Proof {
                    inbox: inbox.clone(),
                    id: open.remove(at).id,
                    position: from + proofs.len() as u64,
                    entry: None,
                    at: self.now().as_millis(),
                    evidence: evidence.clone(),
                });
            }
        }
        proofs
    }

    /// Mail that nobody had taken when its team was deleted.
    fn bury_deleted_teams(&self) -> Result<(), OfficeError> {
        let root = self.root_key();
        let now = self.now().as_millis();
        for inbox in self.books.with(|ledger| ledger.inboxes_with_open(&root))? {
            let gone = TeamName::parse(&inbox.team).is_ok_and(|team| !self.folder_of(&team).exists());
            if !gone || inbox.name == USER {
                continue;
            }
            let evidence = Evidence::certain("the team's folder was deleted; the text is kept here");
            self.books.with(|ledger| {
                for message in ledger.known(&inbox, Stage::Accepted, Stage::Taken)? {
                    ledger.withdraw(&inbox, &message.id, now, &evidence)?;
                    ledger.advance(&inbox, &message.id, Stage::Failed, now, &evidence)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The name of this tree in the ledger and in archives.
    pub fn root_key(&self) -> String {
        InboxKey::new(self.root.path(), "", "").root
    }

    pub(crate) fn inbox_key(&self, team: &TeamName, name: &MemberName) -> InboxKey {
        InboxKey::new(self.root.path(), team.as_str(), name.as_str())
    }
}

/// Who signs is remembered: clients empty the inboxes that would show it.
pub(crate) fn note_signers(
    ledger: &mut Ledger,
    inbox: &InboxKey,
    new: &[&Message],
    now: i64,
) -> Result<(), LedgerError> {
    for message in new.iter().filter(|message| signed::is_signed(message)) {
        let sender = InboxKey { name: message.from.clone(), ..inbox.clone() };
        ledger.note_fact(&sender, signed::SIGNS, now)?;
    }
    Ok(())
}

/// What a look found out about the messages that should be in an inbox.
#[derive(Debug, Default)]
struct Findings {
    marked: Vec<String>,
    taken: Vec<String>,
    unproved: Vec<String>,
    held: Vec<String>,
    not_removed: Vec<String>,
    /// Each with how often it was put back before.
    undone: Vec<(String, usize)>,
}

impl Findings {
    /// The stages that these reached.
    fn observed(&self, others: &str, file: &Path) -> Vec<Observed> {
        let held = Evidence::certain(format!(
            "put back {AT_MOST} times, and gone again while one that stood before it was there"
        ));
        let unproved = "gone from the inbox; nothing that stood before it shows whether it was taken";
        let rows = [
            (&self.marked, taken("marked as read", UNREAD, READ, file)),
            (&self.taken, taken("gone from the inbox with all that stood before it", UNREAD, others, file)),
            (
                &self.unproved,
                (Stage::Taken, Evidence::unproved(unproved).changed(UNREAD, others).in_file(file)),
            ),
            (&self.held, (Stage::Held, held.changed(UNREAD, others).in_file(file))),
        ];
        let observed = |id: &String, reached: &(Stage, Evidence)| Observed {
            id: id.clone(),
            new: None,
            stages: vec![reached.clone()],
            at: None,
        };
        rows.iter().flat_map(|(ids, reached)| ids.iter().map(move |id| observed(id, reached))).collect()
    }
}

/// How a message is before its reader comes by.
pub(crate) const UNREAD: &str = "in the inbox, unread";
/// And after.
pub(crate) const READ: &str = "in the inbox, read";

/// What the inbox holds instead of a message that is gone.
fn others(count: usize) -> String {
    format!("not in the inbox, which has {count} others")
}

fn taken(what: &str, before: &str, after: &str, file: &Path) -> (Stage, Evidence) {
    let what = format!("{what}, by its reader's client");
    (Stage::Taken, Evidence::likely(what).changed(before, after).in_file(file))
}

/// A message of the file that the ledger may not know.
pub(crate) fn found(message: &Message, now: i64, file: &Path) -> Observed {
    let evidence = Evidence::certain("found in the inbox").in_file(file);
    let new = Some(Box::new((effects::noticed(message, now), evidence)));
    let read = message.read.then(|| taken("found marked as read", "not known", READ, file));
    Observed { id: message.id.clone(), new, stages: read.into_iter().collect(), at: None }
}
