//! A client whose own server takes a line for a conversation.

use atm_clients::http::{Local, Request};
use atm_clients::wake::{ServerApi, is_session};
use serde_json::Value;

use super::WakeError;
use super::way::{Hearer, Way};
use crate::error::OfficeError;

/// A conversation on a client's server.
#[derive(Debug)]
pub(super) struct ByServer<'a> {
    pub(super) who: String,
    pub(super) session: &'a str,
    pub(super) server: &'a str,
    pub(super) title: &'static str,
    pub(super) api: &'static ServerApi,
}

impl ByServer<'_> {
    fn ask(&self, request: &Request) -> Result<String, OfficeError> {
        let server = Local::parse(self.server).ok_or_else(|| WakeError::BadServer(self.server.to_owned()))?;
        if !is_session(self.session) {
            return Err(WakeError::BadSession(self.session.to_owned()).into());
        }
        let (status, body) = server.ask(request).map_err(|error| self.failed(error.to_string()))?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let Request { method, path, .. } = request;
        Err(self.failed(format!("{method} {path} was answered with {status}")).into())
    }

    fn look(&self, request: &Request) -> Result<Value, OfficeError> {
        let said = self.ask(request)?;
        serde_json::from_str(&said).map_err(|error| {
            let Request { method, path, .. } = request;
            self.failed(format!("the answer to {method} {path} is no JSON: {error}")).into()
        })
    }

    fn failed(&self, why: String) -> WakeError {
        WakeError::Failed { who: self.who.clone(), way: self.title, why }
    }
}

impl Way for ByServer<'_> {
    fn check_idle(&self) -> Result<Hearer, OfficeError> {
        let conversation = self.look(&(self.api.conversation)(self.session))?;
        let status = self.look(&(self.api.status)(&conversation))?;
        match (self.api.busy)(&status, self.session) {
            None => Ok(Hearer::Agent),
            Some(why) => Err(WakeError::Busy { who: self.who.clone(), why }.into()),
        }
    }

    fn wake(&self, line: &str) -> Result<&'static str, OfficeError> {
        self.ask(&(self.api.prompt)(self.session, line))?;
        Ok(self.title)
    }
}
