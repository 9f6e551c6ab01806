//! `OpenCode`: its server takes a prompt for a conversation.

use serde_json::{Value, json};

use super::http::Local;
use super::way::{Hearer, Way};
use super::{WakeError, is_session};
use crate::error::OfficeError;

const WAY: &str = "the server of OpenCode";

/// A conversation on a server of `OpenCode`.
#[derive(Debug)]
pub(super) struct Opencode<'a> {
    pub(super) who: String,
    pub(super) session: &'a str,
    pub(super) server: &'a str,
}

impl Opencode<'_> {
    fn ask(&self, method: &str, path: &str, body: &str) -> Result<String, OfficeError> {
        let failed = |why: String| WakeError::Failed { who: self.who.clone(), way: WAY, why };
        let server = Local::parse(self.server).ok_or_else(|| WakeError::BadServer(self.server.to_owned()))?;
        if !is_session(self.session) {
            return Err(WakeError::BadSession(self.session.to_owned()).into());
        }
        let (status, body) = server.ask(method, path, body).map_err(|error| failed(error.to_string()))?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        Err(failed(format!("{method} {path} was answered with {status}")).into())
    }
}

impl Way for Opencode<'_> {
    /// The server lists the conversations that are not idle.
    fn check_idle(&self) -> Result<Hearer, OfficeError> {
        let said = self.ask("GET", "/session/status", "")?;
        let all: Value = serde_json::from_str(&said).map_err(|error| WakeError::Failed {
            who: self.who.clone(),
            way: WAY,
            why: format!("it does not tell who is busy: {error}"),
        })?;
        match all.get(self.session).map(|status| status["type"].as_str().unwrap_or("busy")) {
            None | Some("idle") => Ok(Hearer::Agent),
            Some(state) => {
                // What a server says is shown to people: only its first word.
                let word: String = state.chars().take_while(char::is_ascii_alphanumeric).take(20).collect();
                let why = format!("its conversation is {word:?}");
                Err(WakeError::Busy { who: self.who.clone(), why }.into())
            }
        }
    }

    fn wake(&self, line: &str) -> Result<&'static str, OfficeError> {
        let body = json!({ "parts": [{ "type": "text", "text": line }] }).to_string();
        self.ask("POST", &format!("/session/{}/prompt_async", self.session), &body)?;
        Ok(WAY)
    }
}
