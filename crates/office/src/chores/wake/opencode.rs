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

    fn look(&self, path: &str) -> Result<Value, OfficeError> {
        let said = self.ask("GET", path, "")?;
        serde_json::from_str(&said).map_err(|error| {
            let why = format!("the answer to GET {path} is no JSON: {error}");
            WakeError::Failed { who: self.who.clone(), way: WAY, why }.into()
        })
    }
}

impl Way for Opencode<'_> {
    /// The server lists the conversations that are not idle, but only those in the folder that is asked about; its own,
    /// if none is.
    fn check_idle(&self) -> Result<Hearer, OfficeError> {
        let session: Value = self.look(&format!("/session/{}", self.session))?;
        let folder = session["directory"].as_str().unwrap_or_default();
        let busy: Value = self.look(&format!("/session/status?directory={}", encoded(folder)))?;
        match busy.get(self.session).map(|status| status["type"].as_str().unwrap_or("busy")) {
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

/// A folder in an address: everything but letters, digits and `-._~/` as `%XX`.
fn encoded(folder: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let spell = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    folder.bytes().map(spell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_nothing_else_in_an_address() {
        assert_eq!(encoded("/home/zoë/a b"), "/home/zo%C3%AB/a%20b");
        assert_eq!(encoded("/x?y=1&z#\r\nHost: evil"), "/x%3Fy%3D1%26z%23%0D%0AHost%3A%20evil");
    }
}
