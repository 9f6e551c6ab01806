//! Reading mail, at once or when it comes.

use std::time::{Duration, Instant};

use atm_office::mail::inbox::Filter;
use atm_office::mail::pages::Reader;
use atm_office::mail::read::Reading;
use atm_office::view::MessageView;
use atm_store::watch::Stop;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::members::yes;
use super::{Call, Effect};
use crate::answer::Answer;
use crate::desk::Desk;
use crate::page::{BUDGET, LONGEST_TEXT, fitting, part};
use crate::trouble::Trouble;

/// What the evidence of messages that were handed over here says.
pub(super) const FRONT: &str = "atm mcp";
/// Names, ids and the like are cut here, so that a message with a long text always fits.
const LONGEST_WORD: usize = 200;
const LONGEST_SUMMARY: usize = 500;
/// The longest wait for mail.
pub(super) const LONGEST_WAIT: u64 = 30_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadInbox {
    team_name: Option<String>,
    /// Whose mail
    agent_name: Option<String>,
    #[serde(default = "yes")]
    unread_only: bool,
    #[serde(default = "yes")]
    mark_as_read: bool,
}

impl Call for ReadInbox {
    const NAME: &'static str = "read_inbox";
    const ABOUT: &'static str = "Read mail: what is unread, oldest first; it counts as read then. With \
                                 mark_as_read=false nothing changes.";
    const EFFECT: Effect = Effect::Changes;
    const REQUIRED: &'static [&'static str] = &["team_name", "agent_name"];
    const OWN_NAME: Option<&'static str> = Some("agent_name");
    const CORE: bool = true;
    const LISTS: bool = true;
    const PAGES: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.team(self.team_name.as_deref())?;
        let who = desk.reader(&team, self.agent_name.as_deref())?;
        let office = desk.office();
        if self.unread_only && self.mark_as_read {
            return next_page(desk, Reader { team: &team, who: &who, front: FRONT });
        }
        desk.pages().settle();
        if self.unread_only {
            let mut reading = office.peek(&team, &who, usize::MAX)?;
            let (messages, more) = shown(&mut reading, false);
            return Ok(Answer::list(messages).noting(reading.warnings().to_vec()).noting(more));
        }
        let reading = self.mark_as_read.then(|| office.begin_read(&team, &who, usize::MAX)).transpose()?;
        let look = office.inbox(&team, &who, &Filter::default())?;
        // The newest, in the order of the inbox.
        let entries: Vec<Value> =
            look.messages.iter().map(|message| entry(message, self.mark_as_read)).collect();
        let skipped = entries.len() - fitting(entries.iter().rev());
        let messages: Vec<Value> = entries.into_iter().skip(skipped).collect();
        let older =
            (skipped > 0).then(|| format!("{skipped} older messages are not shown; search_mail finds them."));
        let mut answer = Answer::list(messages).noting(look.warnings).noting(older);
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
    /// Whose mail
    agent_name: Option<String>,
    /// At most 30000
    #[serde(default = "longest_wait")]
    timeout_ms: u64,
}

fn longest_wait() -> u64 {
    LONGEST_WAIT
}

impl Call for PollInbox {
    const NAME: &'static str = "poll_inbox";
    const ABOUT: &'static str = "Wait for mail and read it, as read_inbox does: answers at once when there is some, and \
                                 with an empty list when none came in time.";
    const EFFECT: Effect = Effect::Changes;
    const REQUIRED: &'static [&'static str] = &["team_name", "agent_name"];
    const OWN_NAME: Option<&'static str> = Some("agent_name");
    const CORE: bool = true;
    const LISTS: bool = true;
    const WAITS: bool = true;
    const PAGES: bool = true;

    fn run(self, desk: &Desk, stop: &Stop) -> Result<Answer, Trouble> {
        let team = desk.team(self.team_name.as_deref())?;
        let who = desk.reader(&team, self.agent_name.as_deref())?;
        let deadline = Instant::now() + Duration::from_millis(self.timeout_ms.min(LONGEST_WAIT));
        let reader = Reader { team: &team, who: &who, front: FRONT };
        loop {
            if !desk.pages().has_more(reader) {
                desk.pages().settle();
                let left = deadline.saturating_duration_since(Instant::now());
                if !desk.office().wait_for_mail_until(&team, &who, left, stop)? {
                    return Ok(Answer::list(Vec::new()));
                }
            }
            let answer = next_page(desk, reader)?;
            // Somebody else may have been faster; then there is more to wait for.
            if answer.reading.as_ref().is_some_and(|reading| !reading.messages().is_empty()) {
                return Ok(answer);
            }
        }
    }
}

/// The next page of unread mail. It is marked when the answer was written, or with the pages behind it.
fn next_page(desk: &Desk, reader: Reader<'_>) -> Result<Answer, Trouble> {
    let mut page = Filling::default();
    let reading = desk.pages().take(desk.office(), reader, |message| page.takes(message, true))?;
    let mut answer =
        Answer::list(page.entries).noting(reading.warnings().to_vec()).noting(more(reading.left()));
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

/// What of a reading fits into one answer; the rest of it stays unread, and is reported.
pub(super) fn shown(reading: &mut Reading, marked: bool) -> (Vec<Value>, Option<String>) {
    let mut page = Filling::default();
    let left = reading.cut(|message| page.takes(message, marked));
    (page.entries, more(left))
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
    if let Some(summary) = &message.summary {
        put("summary", part(summary, 0, LONGEST_SUMMARY).0.into());
    }
    if let Some(color) = &message.color {
        put("color", word(color));
    }
    put("id", word(&message.id));
    put("type", word(&message.r#type));
    if message.pending {
        put("pending", true.into());
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
