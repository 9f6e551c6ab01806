//! Mail from other machines: taken in once, under the same policy as mail from here.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use atm_ledger::{Evidence, InboxKey, Recorded, Stage};
use atm_store::StoreError;
use atm_wire::message::Ours;
use atm_wire::payload::classify;
use atm_wire::{Draft, MachineName, MemberName, TeamName, metadata};

use super::recall::recalled_by;
use super::{Machines, Receipt, Table};
use crate::error::{ErrorKind, OfficeError};
use crate::mail::address::Addressed;
use crate::mail::outbox::{as_message, parse_draft};
use crate::protocol::policy::Abroad;
use crate::team::Team;
use crate::trail::effects;

/// The longest id that is taken in, in bytes.
const LONGEST_ID: usize = 200;

/// A letter that came from another machine.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// The team, as it is called here.
    pub team: TeamName,
    /// The recipient, as it is called here.
    pub to: String,
    /// The sender, as it is called on its machine.
    pub from: String,
    /// The machine that it came from, as its signature shows.
    pub machine: MachineName,
    /// That machine says that the sender leads the team there.
    pub from_lead: bool,
    /// This machine's people trust that machine's lead as their own.
    pub as_lead: bool,
    /// Its id.
    pub id: String,
    /// All that it takes to write it, as the other machine's office made it.
    pub letter: String,
}

/// What came of taking a letter in.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there are a few at a time")]
pub enum TakenIn {
    /// It is in its inbox.
    Written(Vec<Receipt>),
    /// It was taken in before: all that became of it since.
    Known(Vec<Receipt>),
    /// It is accepted, durably, and its inbox is busy: it will be written, and a receipt tells it then.
    Accepted,
    /// It is not taken in, and never will be.
    Refused(Receipt),
    /// Its recipient's home is not this machine; which one it is, if that is known.
    NotHome(Option<MachineName>),
}

/// What is decided about a letter before anything is written.
enum Verdict {
    Accept(Box<Addressed>),
    Refuse(String),
    Known(Box<Recorded>),
    NotHome(Option<MachineName>),
    /// It takes another one back, of this inbox.
    Recall(Box<Draft>, InboxKey),
}

/// Letters that are accepted together, with their places among all.
#[derive(Default)]
struct Batch {
    places: Vec<usize>,
    letters: Vec<Addressed>,
}

/// The answers so far, in the order of the letters.
type Answers = Vec<Option<Result<TakenIn, OfficeError>>>;

/// The teams that letters are for, each loaded once, with what is known of other machines in it.
type Teams<'a> = HashMap<TeamName, (Team<'a>, Table)>;

impl<'a> Machines<'a> {
    /// Takes letters in, in their order, each once; all that is answered is durable. An error means that the letter has to
    /// be brought again.
    pub fn take_in(&self, incoming: &[Incoming]) -> Vec<Result<TakenIn, OfficeError>> {
        let mut teams = Teams::new();
        let (mut answers, mut batch) = (Answers::new(), Batch::default());
        let mut stopped: HashSet<(&TeamName, &str)> = HashSet::new();
        for (place, letter) in incoming.iter().enumerate() {
            let recipient = (&letter.team, letter.to.as_str());
            let judged = if stopped.contains(&recipient) {
                Err(behind(letter))
            } else {
                self.judge(letter, &mut teams)
            };
            answers.push(None);
            let answer = match judged {
                Ok(Verdict::Accept(addressed)) => {
                    batch.places.push(place);
                    batch.letters.push(*addressed);
                    continue;
                }
                Ok(Verdict::Refuse(why)) => self.refusal(letter, &why).map(TakenIn::Refused),
                Ok(Verdict::Known(message)) => self.known_letter(*message),
                Ok(Verdict::NotHome(machine)) => Ok(TakenIn::NotHome(machine)),
                Ok(Verdict::Recall(draft, inbox)) => {
                    // What it takes back may be among those before it. What of these has to be brought again is not overtaken.
                    let failed = self.write(std::mem::take(&mut batch), &mut answers);
                    let failed = failed.into_iter().filter_map(|place| incoming.get(place));
                    stopped.extend(failed.map(|failed| (&failed.team, failed.to.as_str())));
                    if stopped.contains(&recipient) {
                        Err(behind(letter))
                    } else {
                        self.take_back(letter, &inbox, &draft)
                    }
                }
                Err(error) => Err(error),
            };
            if answer.is_err() {
                stopped.insert(recipient);
            }
            answers[place] = Some(answer);
        }
        self.write(batch, &mut answers);
        // Each has its answer by now.
        answers.into_iter().map(|answer| answer.unwrap_or(Ok(TakenIn::Accepted))).collect()
    }

    /// Accepts letters, all at once, and writes them, one write for each inbox. Gives the places of those that have to be brought
    /// again.
    fn write(&self, batch: Batch, answers: &mut Answers) -> Vec<usize> {
        let mut failed = Vec::new();
        if batch.letters.is_empty() {
            return failed;
        }
        let key =
            |letter: &Addressed| (self.office.inbox_key(&letter.team, &letter.to), letter.draft.id.clone());
        let keys: Vec<(InboxKey, String)> = batch.letters.iter().map(key).collect();
        let sent = self.office.deliver(batch.letters, false);
        let is_durable = self.make_durable().is_ok();
        for ((place, (inbox, id)), sent) in batch.places.into_iter().zip(keys).zip(sent) {
            let durable = || if is_durable { Ok(()) } else { self.make_durable() };
            let answer = sent.and_then(|sent| {
                durable()?;
                if sent.is_only_accepted() { Ok(TakenIn::Accepted) } else { self.written(&inbox, &id) }
            });
            if answer.is_err() {
                failed.push(place);
            }
            answers[place] = Some(answer);
        }
        failed
    }

    /// Whether letters were taken in, or refused, before: by team, recipient and id.
    pub fn known(&self, letters: &[(TeamName, String, String)]) -> Result<Vec<bool>, OfficeError> {
        let office = self.office;
        let known = |(team, to, id): &(TeamName, String, String)| {
            let Ok(name) = MemberName::parse(to) else { return Ok(false) };
            let (team, name) = self.outsider(team, to)?.unwrap_or_else(|| (team.clone(), name));
            let inbox = office.inbox_key(&team, &name);
            Ok(office.books.with(|ledger| Ok(ledger.unknown(&inbox, &[id])?.is_empty()))?)
        };
        letters.iter().map(known).collect()
    }

    fn judge(&self, letter: &Incoming, teams: &mut Teams<'a>) -> Result<Verdict, OfficeError> {
        let office = self.office;
        let (team, table) = match teams.entry(letter.team.clone()) {
            Entry::Occupied(loaded) => loaded.into_mut(),
            Entry::Vacant(place) => match office.team(&letter.team) {
                Ok(team) => place.insert((team, office.table(&letter.team))),
                Err(OfficeError::NoTeam { .. }) => {
                    return Ok(Verdict::Refuse(format!("there is no team {} here", letter.team)));
                }
                Err(error) => return Err(error),
            },
        };
        let names =
            (MemberName::parse(&letter.to), MemberName::parse(&table.name_of(&letter.from, &letter.machine)));
        let (to, from) = match names {
            (Ok(to), Ok(from)) => (to, from),
            (Err(error), _) | (_, Err(error)) => return Ok(Verdict::Refuse(error.to_string())),
        };
        if let Some(machine) = team.config().machine_of(to.as_str()) {
            return Ok(Verdict::NotHome(Some(machine.clone())));
        }
        let outsider = self.outsider(&letter.team, to.as_str())?;
        let via = outsider.is_some().then(|| letter.team.to_string());
        let (home, to) = outsider.unwrap_or_else(|| (letter.team.clone(), to));
        let inbox = office.inbox_key(&home, &to);
        // The ledger is asked before the policy: what was answered once is answered the same again.
        let known = office.books.with(|ledger| ledger.message_in(&inbox, &letter.id))?;
        // What its sender is called here may have changed since.
        let is_same = |known: &Recorded| known.machine.as_deref() == Some(letter.machine.as_str());
        if let Some(known) = known.filter(|known| !(is_same(known) && self.has_left(known))) {
            return Ok(if is_same(&known) {
                Verdict::Known(Box::new(known))
            } else {
                Verdict::Refuse(format!("another message for {to} has the id {}", letter.id))
            });
        }
        let is_outside = via.is_some();
        let there = match is_outside.then(|| self.team_of_outsider(&home, &to)).transpose()? {
            Some(Err(why)) => return Ok(Verdict::Refuse(why)),
            there => there.and_then(Result::ok),
        };
        let team = there.as_ref().unwrap_or(team);
        let draft = match received(letter, (&from, via), &to) {
            Ok(draft) => draft,
            Err(why) => return Ok(Verdict::Refuse(why)),
        };
        if recalled_by(&draft).is_some() {
            return Ok(Verdict::Recall(Box::new(draft), inbox));
        }
        let content = classify(draft.text.trim(), draft.kind.as_deref());
        let abroad = Abroad {
            name: &from,
            there: &letter.from,
            machine: &letter.machine,
            // Who is not of the team obeys nobody in it.
            leads: !is_outside && (letter.from_lead || table.leads(&letter.from, &letter.machine)),
            is_trusted: !is_outside && letter.as_lead,
        };
        match team.check_policy_of(&abroad, &to, &content, draft.kind.as_deref()) {
            Err(error) if error.kind() == ErrorKind::Refused => {
                let now = office.now().as_millis();
                let new = effects::noticed_with(&as_message(&draft), &content, now);
                let evidence = Evidence::certain(format!("refused: {error}"));
                office.books.with(|ledger| {
                    ledger.settle(&inbox, &new, Stage::Failed, now, &evidence)?;
                    ledger.make_durable()
                })?;
                return Ok(Verdict::Refuse(error.to_string()));
            }
            checked => checked?,
        }
        match Addressed::from_elsewhere(team, draft, content, from, to) {
            Err(OfficeError::NoMember { wanted, .. }) if is_outside => {
                Ok(Verdict::Refuse(format!("{wanted} is not in team {home} any more")))
            }
            Err(OfficeError::NoMember { .. }) => {
                Ok(match self.why_unreachable(&letter.team, &letter.to)? {
                    Some(why) => Verdict::Refuse(why),
                    None => Verdict::NotHome(None),
                })
            }
            addressed => Ok(Verdict::Accept(Box::new(addressed?))),
        }
    }

    /// Whether it was here, and left with its recipient: if that one is back, it is taken in anew.
    fn has_left(&self, message: &Recorded) -> bool {
        let draft = self.office.books.with(|ledger| ledger.draft_of(message)).ok().flatten();
        let is_elsewhere = draft.as_deref().and_then(parse_draft).is_some_and(|draft| draft.home.is_some());
        is_elsewhere && message.stage < Stage::Taken
    }

    fn written(&self, inbox: &InboxKey, id: &str) -> Result<TakenIn, OfficeError> {
        let message = self.office.books.with(|ledger| ledger.message_in(inbox, id))?;
        let message = message.ok_or_else(|| OfficeError::NotRecorded { id: id.to_owned() })?;
        Ok(TakenIn::Written(self.receipts_of(&message)?))
    }

    /// One that was taken in before; if its writer died, it is written now.
    fn known_letter(&self, message: Recorded) -> Result<TakenIn, OfficeError> {
        let mut message = message;
        if message.stage == Stage::Accepted {
            let InboxKey { team, name, .. } = &message.inbox;
            self.office.complete_accepted(&TeamName::parse(team)?, Some(&MemberName::parse(name)?));
            let again = self.office.books.with(|ledger| ledger.message_in(&message.inbox, &message.id))?;
            message = again.unwrap_or(message);
        }
        // It may be on record in a log that a power cut would still undo.
        self.make_durable()?;
        let receipts = self.receipts_of(&message)?;
        Ok(match receipts.as_slice() {
            _ if message.stage == Stage::Accepted => TakenIn::Accepted,
            [refusal] if refusal.stage == Stage::Failed => TakenIn::Refused(refusal.clone()),
            _ => TakenIn::Known(receipts),
        })
    }

    fn make_durable(&self) -> Result<(), OfficeError> {
        Ok(self.office.books.with(|ledger| ledger.make_durable())?)
    }

    fn refusal(&self, letter: &Incoming, why: &str) -> Result<Receipt, OfficeError> {
        self.failure((&letter.id, &letter.team, &letter.to, &letter.machine), &format!("refused: {why}"))
    }
}

/// One before it, for the same recipient, has to be brought again: it does not overtake that one.
fn behind(letter: &Incoming) -> OfficeError {
    StoreError::Unsettled { path: PathBuf::from(format!("mail for {}@{}", letter.to, letter.team)) }.into()
}

/// What is written of a letter from another machine: who it is from, of which team if that is another one, and for, is what
/// was checked here.
fn received(
    letter: &Incoming,
    (from, origin): (&MemberName, Option<String>),
    to: &MemberName,
) -> Result<Draft, String> {
    let draft = parse_draft(&letter.letter).ok_or("it cannot be read")?;
    if draft.id != letter.id {
        return Err("it is under another message's id".to_owned());
    }
    if letter.id.is_empty() || letter.id.len() > LONGEST_ID || letter.id.chars().any(char::is_control) {
        return Err("its id is none".to_owned());
    }
    if draft.text.trim().is_empty() {
        return Err("it has no text".to_owned());
    }
    metadata::check(&draft.metadata).map_err(|error| error.to_string())?;
    let machine = Some(letter.machine.to_string());
    Ok(Draft {
        from: from.to_string(),
        to: to.to_string(),
        ours: Ours { machine, origin, session: None, from_session: None, offer: None, ..draft.ours },
        home: None,
        ..draft
    })
}
