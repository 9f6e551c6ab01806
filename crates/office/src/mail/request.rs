//! Asking and answering: two messages tied by a request's id.

use std::fmt::Write;
use std::time::{Duration, Instant};

use atm_ledger::{Recorded, Stage};
use atm_store::fresh_id;
use atm_store::watch::Stop;
use atm_wire::payload::Content;
use atm_wire::{Address, MemberName, Message, TeamName};
use serde_json::{Map, Value};

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::office::Office;
use crate::team::Team;
use crate::view::{MessageView, Viewer};

impl Team<'_> {
    /// Asks somebody: a payload of type `kind` with `data`, and an id that the answer will carry.
    pub fn request(
        &self,
        from: &MemberName,
        to: Address,
        kind: &str,
        data: Map<String, Value>,
        options: SendOptions,
    ) -> Result<(String, Sent), OfficeError> {
        self.request_by(from, Letter::new(to, String::new()), (kind, data), options)
    }

    /// The same, by a letter that has no text yet.
    pub(crate) fn request_by(
        &self,
        from: &MemberName,
        letter: Letter,
        (kind, data): (&str, Map<String, Value>),
        options: SendOptions,
    ) -> Result<(String, Sent), OfficeError> {
        let request = format!("req-{}", fresh_id().simple());
        let text = payload(kind, &request, from, self.office(), data);
        // What it asks is between the two of them.
        let options = SendOptions { force: true, ..options };
        let sent = self.send(from, &Letter { text, ..letter }, options)?;
        if options.create {
            // The answer needs a place, also if nobody waits for it here.
            self.mailbox(from).create().after(|| Done::Sent(format!("request {request}")))?;
        }
        Ok((request, sent))
    }

    /// Answers a request. Only the one who was asked may, and only once.
    pub fn respond(
        &self,
        who: &MemberName,
        request: &str,
        data: Map<String, Value>,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        // What changed is read before anybody has to wait for us; then what came meanwhile, which is little.
        self.catch_up()?;
        // Two at once must not both find the request open.
        let _turn = self.mailbox(who).deciding()?;
        self.catch_up()?;
        let office = self.office();
        let root = office.root_key();
        let about = office.books.with(|ledger| ledger.request(&root, request))?;
        let asked = open_request(&about, self.name(), who, request)?;
        let kind = match asked.kind.strip_suffix("_request") {
            Some(stem) => format!("{stem}_response"),
            None => format!("{}_response", asked.kind),
        };
        let text = payload(&kind, request, who, office, data);
        let home = asked.origin.as_deref().map(TeamName::parse).transpose()?;
        let to = Address { name: MemberName::parse(&asked.sender)?, team: home };
        let session = self.session_that_asked(who, &asked.id, &to);
        let letter = Letter { session, ..Letter::new(to, text) };
        // What it says is between the two of them.
        self.send_in_turn(who, &letter, SendOptions { force: true, ..options })
    }
}

impl Team<'_> {
    /// Whether a request with this id is in somebody's inbox.
    pub fn was_asked(&self, who: &MemberName, request: &str) -> bool {
        let listed = self.mailbox(who).list();
        listed.is_ok_and(|listed| listed.messages.iter().any(|message| has_request(message, request)))
    }

    /// Waits for the answer to a request in the asker's inbox; file events wake it. The answer stays unread.
    pub fn wait_for_answer(
        &self,
        who: &MemberName,
        asked: &MemberName,
        request: &str,
        timeout: Duration,
    ) -> Result<MessageView, OfficeError> {
        self.wait_for_answer_until((who, asked), request, timeout, &Stop::default())
    }

    /// The same, unless somebody says stop.
    pub fn wait_for_answer_until(
        &self,
        (who, asked): (&MemberName, &MemberName),
        request: &str,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<MessageView, OfficeError> {
        let deadline = Instant::now() + timeout;
        let mailbox = self.mailbox(who);
        // It was sent before it is waited for.
        let asked_before = || Done::Sent(format!("request {request}"));
        mailbox.create().after(asked_before)?;
        let mut watch = self.office().hub.folders_until(mailbox.file().parent().map(ToOwned::to_owned), stop);
        loop {
            self.look_for(who);
            let answer = mailbox
                .list()
                .after(asked_before)?
                .messages
                .into_iter()
                .find(|message| message.from == asked.as_str() && has_request(message, request));
            if let Some(answer) = answer {
                return Ok(Viewer::new(self.office(), who, self.name()).view(&answer));
            }
            if !watch.wait(Some(deadline)) {
                return Err(OfficeError::NoAnswer {
                    who: asked.to_string(),
                    request: request.to_owned(),
                    within: timeout,
                });
            }
        }
    }
}

fn has_request(message: &Message, request: &str) -> bool {
    matches!(message.content(), Content::Protocol(parsed) if parsed.request_id().as_deref() == Some(request))
}

fn open_request<'a>(
    about: &'a [Recorded],
    team: &TeamName,
    who: &MemberName,
    request: &str,
) -> Result<&'a Recorded, OfficeError> {
    let refuse = |why: String| OfficeError::NotOpen {
        who: who.to_string(),
        request: Some(request.to_owned()),
        why,
        open: Vec::new(),
    };
    // The first message about a request is the request; its recipient is the one that is asked.
    let asked = about.iter().find(|message| message.inbox.team == team.as_str());
    match asked {
        None => Err(refuse(format!("there is no request {request:?}"))),
        Some(asked) if asked.inbox.name != who.as_str() => {
            Err(refuse(format!("request {request} was put to {}", asked.inbox.name)))
        }
        Some(asked) if asked.stage >= Stage::Done || has_answer(about, asked) => {
            Err(refuse(format!("request {request} has its answer already")))
        }
        Some(asked) => Ok(asked),
    }
}

/// Whether an answer is on its way that is not in the asker's inbox yet: its sender died, and the inbox is busy.
fn has_answer(about: &[Recorded], asked: &Recorded) -> bool {
    let is_answer = |message: &Recorded| {
        message.id != asked.id && message.sender == asked.inbox.name && message.inbox.name == asked.sender
    };
    about.iter().any(|message| is_answer(message) && message.stage < Stage::Failed)
}

fn payload(
    kind: &str,
    request: &str,
    from: &MemberName,
    office: &Office,
    data: Map<String, Value>,
) -> String {
    // By hand, so that the keys that everybody looks for stand first.
    let mut text = format!(
        "{{\"type\":{},\"requestId\":{},\"from\":{},\"timestamp\":{}",
        Value::from(kind),
        Value::from(request),
        Value::from(from.as_str()),
        Value::from(office.now().to_string())
    );
    for (key, value) in data {
        if !["type", "requestId", "from", "timestamp"].contains(&key.as_str()) {
            let _ = write!(text, ",{}:{value}", Value::from(key));
        }
    }
    text.push('}');
    text
}
