//! Reading mail, at once or when it comes.

use std::time::{Duration, Instant};

use atm_office::mail::inbox::Filter;
use atm_office::mail::pages::Reader;
use atm_office::mail::read::Reading;
use atm_office::view::MessageView;
use atm_store::watch::Stop;
use atm_wire::counted;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::members::yes;
use super::{Call, Effect, OF_MEMBER};
use crate::answer::Answer;
use crate::desk::Desk;
use crate::page::{BUDGET, LONGEST_TEXT, fitting, part};
use crate::trouble::Trouble;

/// What the evidence of messages that were handed over here says.
pub(super) const FRONT: &str = "atm mcp";
/// Names, ids and the like are cut here, so that a message with a long text always fits.
const LONGEST_WORD: usize = 200;
/// Of so many files that a message names the paths are repeated.
const MOST_FILES: usize = 8;
const LONGEST_SUMMARY: usize = 500;
/// What mail is that has no type of its own.
const PLAIN: &str = "message";
/// The longest wait for mail.
pub(super) const LONGEST_WAIT: u64 = 30_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadInbox {
    team_name: Option<String>,
    agent_name: Option<String>,
    #[serde(default = "yes")]
    unread_only: bool,
    #[serde(default = "yes")]
    mark_as_read: bool,
}

impl Call for ReadInbox {
    const NAME: &'static str = "read_inbox";
    const ABOUT: &'static str = "Read mail: the unread, which counts as read then unless mark_as_read=false.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = OF_MEMBER.example;
    const REQUIRED: &'static [&'static str] = OF_MEMBER.required;
    const OWN_NAME: Option<&'static str> = Some("agent_name");
    const CORE: bool = true;
    const PAGES: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.team(self.team_name.as_deref())?;
        let who = desk.reader(&team, self.agent_name.as_deref())?;
        let session = desk.session_of(&team);
        if self.unread_only && self.mark_as_read {
            let session = session.as_deref();
            return next_page(desk, Reader { team: &team, who: &who, session, front: FRONT });
        }
        desk.pages().settle();
        let handle = desk.office().team(&team)?.in_session(session);
        if self.unread_only {
            let mut reading = handle.peek(&who, usize::MAX)?;
            let (messages, notes) = shown(&mut reading, false);
            return Ok(Answer::list(messages).noting(reading.warnings().to_vec()).noting(notes));
        }
        let reading =
            self.mark_as_read.then(|| handle.begin_read_from(&who, None, usize::MAX)).transpose()?;
        let mut look = desk.office().inbox(&team, &who, &Filter::default())?;
        if let Some(reading) = &reading {
            look.messages.retain(|message| !reading.leaves(&message.id));
        }
        // The newest, in the order of the inbox.
        let entries: Vec<Value> =
            look.messages.iter().map(|message| entry(message, self.mark_as_read)).collect();
        let skipped = entries.len() - fitting(entries.iter().rev());
        let messages: Vec<Value> = entries.into_iter().skip(skipped).collect();
        let older = (skipped > 0)
            .then(|| format!("Not shown: {}; search_mail finds them.", counted(skipped, "older message")));
        let owed = wanted(look.messages.iter().skip(skipped));
        let mut answer = Answer::list(messages).noting(look.warnings).noting(owed).noting(older);
        answer.reading = reading.map(|mut reading| {
            let handed: Vec<&str> =
                look.messages.iter().skip(skipped).map(|message| message.id.as_str()).collect();
            reading.retain(|message| handed.contains(&message.id.as_str()));
            reading.by(FRONT)
        });
        Ok(answer)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct PollInbox {
    team_name: Option<String>,
    agent_name: Option<String>,
    #[serde(default = "longest_wait")]
    timeout_ms: u64,
}

pub(super) fn longest_wait() -> u64 {
    LONGEST_WAIT
}

impl Call for PollInbox {
    const NAME: &'static str = "poll_inbox";
    const ABOUT: &'static str = "Wait for mail and read it; an empty list when none came in time.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = r#"{"agent_name": "bob", "timeout_ms": 30000}"#;
    const REQUIRED: &'static [&'static str] = OF_MEMBER.required;
    const OWN_NAME: Option<&'static str> = Some("agent_name");
    const CORE: bool = true;
    const WAITS: bool = true;
    const PAGES: bool = true;

    fn run(self, desk: &Desk, stop: &Stop) -> Result<Answer, Trouble> {
        let team = desk.team(self.team_name.as_deref())?;
        let who = desk.reader(&team, self.agent_name.as_deref())?;
        let deadline = Instant::now() + Duration::from_millis(self.timeout_ms.min(LONGEST_WAIT));
        let session = desk.session_of(&team);
        let session = session.as_deref();
        let reader = Reader { team: &team, who: &who, session, front: FRONT };
        let handle = desk.office().team(&team)?.in_session(session.map(ToOwned::to_owned));
        loop {
            if !desk.pages().has_more(reader) {
                desk.pages().settle();
                let left = deadline.saturating_duration_since(Instant::now());
                if !handle.wait_for_mail_until(&who, left, stop)? {
                    return Ok(Answer::list(Vec::new()));
                }
            }
            let answer = next_page(desk, reader)?;
            // Somebody else may have been faster; then there is more to wait for. What comes into the conversation by itself waits
            // for the end of this call.
            let has_come = |reading: &Reading| !reading.messages().is_empty() || reading.on_its_way() > 0;
            if answer.reading.as_ref().is_some_and(has_come) {
                return Ok(answer);
            }
        }
    }
}

/// The next page of unread mail. It is marked when the answer was written, or with the pages behind it.
fn next_page(desk: &Desk, reader: Reader<'_>) -> Result<Answer, Trouble> {
    let mut page = Filling::default();
    let reading = desk.pages().take(desk.office(), reader, |message| page.takes(message, true))?;
    let notes = wanted(reading.messages()).into_iter().chain(more(reading.left())).chain(comes(&reading));
    let mut answer = Answer::list(page.entries).noting(reading.warnings().to_vec()).noting(notes);
    answer.reading = Some(reading);
    Ok(answer)
}

/// The entries of an answer, as many as fit.
#[derive(Default)]
struct Filling {
    entries: Vec<Value>,
    used: usize,
}

impl Filling {
    /// Whether one more fits; always one does.
    fn takes(&mut self, message: &MessageView, marked: bool) -> bool {
        let entry = entry(message, marked);
        let size = entry.to_string().len();
        if !self.entries.is_empty() && self.used + size > BUDGET {
            return false;
        }
        self.used += size;
        self.entries.push(entry);
        true
    }
}

fn more(left: usize) -> Option<String> {
    (left > 0).then(|| format!("{left} more unread: read_inbox again."))
}

/// What comes into the conversation by itself, where nothing else is new.
fn comes(reading: &Reading) -> Option<String> {
    let count = Some(reading.on_its_way()).filter(|count| *count > 0 && reading.messages().is_empty())?;
    Some(format!("{} on the way into this conversation: nothing to do.", counted(count, "message")))
}

/// What of a reading fits into one answer, and what is to be said of it: which mail wants an acknowledgment, and that the
/// rest of it stays unread.
pub(super) fn shown(reading: &mut Reading, marked: bool) -> (Vec<Value>, Vec<String>) {
    let mut page = Filling::default();
    let left = reading.cut(|message| page.takes(message, marked));
    let notes = wanted(reading.messages()).into_iter().chain(more(left)).chain(comes(reading)).collect();
    (page.entries, notes)
}

/// Which of these messages want an acknowledgment, and how that is given.
fn wanted<'a>(messages: impl IntoIterator<Item = &'a MessageView>) -> Option<String> {
    let ids: Vec<&str> = messages
        .into_iter()
        .filter(|message| message.owes_ack())
        .map(|message| part(&message.id, 0, LONGEST_WORD).0)
        .collect();
    let (first, others) = ids.split_first()?;
    let others = if others.is_empty() { String::new() } else { format!("; also {}", others.join(", ")) };
    Some(format!("Waits for your acknowledgment: ack {{\"message_id\": \"{first}\"}}{others}"))
}

/// A message as clients of the Python server know it, with its id and type.
fn entry(message: &MessageView, marked: bool) -> Value {
    // The text is cut where it says how to go on. The rest is other programs' words, of any length.
    let word = |text: &str| Value::from(part(text, 0, LONGEST_WORD).0);
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    put("from", word(&message.from));
    put("text", text(message).into());
    put("timestamp", word(&message.timestamp));
    put("read", (message.read || marked).into());
    // Most summaries are the first words of the text.
    let start =
        |summary: &&String| message.text.trim_start().starts_with(summary.trim_end_matches(['…', '.']));
    if let Some(summary) = message.summary.as_ref().filter(|summary| !start(summary)) {
        put("summary", part(summary, 0, LONGEST_SUMMARY).0.into());
    }
    put("id", word(&message.id));
    if message.r#type != PLAIN {
        put("type", word(&message.r#type));
    }
    if let Some(ack_by) = message.ack_by.as_ref().filter(|_| message.owes_ack()) {
        put("ack_by", word(ack_by));
    }
    if message.pending {
        put("pending", true.into());
    }
    // The sender's word is not enough: what is not known to be the team's file is text.
    let files = |checked: bool| message.files.iter().filter(move |file| file.unchecked.is_none() == checked);
    let paths = |checked| files(checked).take(MOST_FILES).map(|file| word(&file.path)).collect::<Vec<_>>();
    for (key, paths) in [("files", paths(true)), ("unchecked_paths", paths(false))] {
        if !paths.is_empty() {
            put(key, paths.into());
        }
    }
    Value::Object(fields)
}

fn text(message: &MessageView) -> String {
    match part(&message.text, 0, LONGEST_TEXT) {
        (whole, None) => whole.to_owned(),
        (start, Some(next)) => {
            let length = message.text.len();
            format!(
                "{start}\n[cut here, {length} bytes in all: track(message_id, text_offset={next}) goes on]"
            )
        }
    }
}
