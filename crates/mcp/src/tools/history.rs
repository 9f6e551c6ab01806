//! What became of messages.

use atm_office::trail::history::{Remembered, Search};
use atm_office::trail::pending::UnknownStep;
use atm_store::watch::Stop;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Effect, OF_MESSAGE};
use crate::answer::{Answer, to_value};
use crate::desk::Desk;
use crate::page::{BUDGET, LONGEST_TEXT, page, part};
use crate::squeeze::squeezed;
use crate::trouble::Trouble;

/// How much of a text stands in a list.
const GLIMPSE: usize = 300;
/// As far as one can turn the pages of a search.
const DEEPEST: usize = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Track {
    team_name: Option<String>,
    /// Or its last 8 characters, or `last`
    message_id: String,
    /// Adds the text from there on
    text_offset: Option<usize>,
}

impl Call for Track {
    const NAME: &'static str = "track";
    const ABOUT: &'static str = "What became of a message, with evidence. Look here before you send again.";
    const EFFECT: Effect = Effect::Looks;
    const EXAMPLE: &'static str = OF_MESSAGE.example;
    const REQUIRED: &'static [&'static str] = OF_MESSAGE.required;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.open(self.team_name.as_deref())?;
        let (track, message) = team.track_message(&desk.viewer(&team)?, &self.message_id)?;
        let mut body = squeezed(to_value(&track)?, BUDGET);
        if let Some(bound) = desk.bound().filter(|_| !desk.may_see(team.name(), &message)) {
            return Err(Trouble::new(format!(
                "message {} is neither from {bound} nor for {bound}",
                message.id
            )));
        }
        if let Some(offset) = self.text_offset {
            let (some, next) = part(&message.text, offset, LONGEST_TEXT);
            body["text"] = some.into();
            body["next_text_offset"] = next.into();
        }
        Answer::object(&body)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Pending {
    team_name: Option<String>,
    #[serde(default)]
    offset: usize,
}

impl Call for Pending {
    const NAME: &'static str = "pending";
    const ABOUT: &'static str = "Mail that waits for somebody, and why.";
    const EFFECT: Effect = Effect::Looks;
    const EXAMPLE: &'static str = "{}";

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.team(self.team_name.as_deref())?;
        let look = desk.office().look_for_pending(&team)?;
        let entries: Vec<Value> = look
            .waiting
            .iter()
            .filter(|waiting| desk.may_see(&team, &waiting.message))
            .map(|waiting| {
                let mut entry = glimpse(&waiting.message);
                entry["why"] = json!(waiting.why);
                entry["waited_ms"] = waiting.waited_ms.into();
                entry
            })
            .collect();
        // What others wait for is not shown to a member, and neither is what died over it.
        let nothing = (entries.is_empty() && desk.bound().is_none()).then(|| look.looked.nothing());
        let unknown: Vec<String> = look.unknown.iter().map(UnknownStep::words).collect();
        let unknown = if desk.bound().is_none() { unknown } else { Vec::new() };
        let (entries, next) = page(entries, self.offset);
        let more = next.map(|next| format!("There is more: offset={next} goes on."));
        Ok(Answer::list(entries).noting(nothing.into_iter().chain(unknown).chain(more)))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SearchMail {
    team_name: Option<String>,
    /// Words, or a "phrase"
    query: String,
    from: Option<String>,
    to: Option<String>,
    #[serde(default = "ten")]
    limit: usize,
    #[serde(default)]
    offset: usize,
}

fn ten() -> usize {
    10
}

impl Call for SearchMail {
    const NAME: &'static str = "search_mail";
    const ABOUT: &'static str = "Search all mail of the team that you may see, newest first.";
    const EFFECT: Effect = Effect::Looks;
    const EXAMPLE: &'static str = r#"{"query": "parser"}"#;
    const REQUIRED: &'static [&'static str] = &["query"];

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.team(self.team_name.as_deref())?;
        let wanted = self.limit.clamp(1, 100);
        if self.offset > DEEPEST {
            return Err(
                Trouble::new(format!("offset is at most {DEEPEST}")).hint("Search for more words instead")
            );
        }
        let search = Search {
            words: self.query,
            teams: vec![team],
            from: self.from,
            to: self.to,
            party: desk.bound().cloned(),
            // One more tells whether there is more.
            limit: self.offset + wanted + 1,
            ..Search::default()
        };
        let found = desk.office().search(&search)?;
        let more = found.len() > self.offset + wanted;
        let entries: Vec<Value> = found.iter().take(self.offset + wanted).map(glimpse).collect();
        let (entries, next) = page(entries, self.offset);
        let next = next.or_else(|| more.then(|| self.offset + entries.len()));
        Ok(Answer::list(entries).noting(next.map(|next| format!("There is more: offset={next} goes on."))))
    }
}

/// A message in a list: the start of it, and where the rest is.
fn glimpse(message: &Remembered) -> Value {
    let (text, more) = part(&message.text, 0, GLIMPSE);
    json!({
        "id": message.id,
        "from": message.from,
        "to": message.to,
        "timestamp": message.timestamp,
        "stage": message.stage,
        "type": message.r#type,
        "text": if more.is_some() { format!("{text}…") } else { text.to_owned() },
    })
}
