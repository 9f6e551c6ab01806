//! What every handler works with.

use std::ops::Deref;
use std::sync::Arc;

use atm_office::{Office, OfficeError};
use atm_wire::{NameError, TeamName};
use axum::http::StatusCode;
use tokio::sync::{oneshot, watch};

use crate::feed::Feed;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::session::Keys;
use crate::settings::Settings;

/// The server, for handlers. Clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) feed: Feed,
    pub(crate) metrics: Metrics,
    /// The API's description, as it is handed out.
    pub(crate) openapi: String,
    /// What lets in.
    pub(crate) keys: Keys,
    /// Its address, for people on this machine.
    pub(crate) url: String,
    /// Whether the server ends.
    pub(crate) closing: watch::Receiver<bool>,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Why a call did not do what was asked: the office's word, or ours.
#[derive(Debug)]
pub(crate) enum Fault {
    Office(Box<OfficeError>),
    Ours(Problem),
}

impl From<OfficeError> for Fault {
    fn from(error: OfficeError) -> Self {
        Self::Office(Box::new(error))
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::Ours(problem)
    }
}

impl From<NameError> for Fault {
    fn from(error: NameError) -> Self {
        OfficeError::from(error).into()
    }
}

impl App {
    pub(crate) fn new(
        settings: Settings,
        openapi: String,
        (keys, url): (Keys, String),
        closing: watch::Receiver<bool>,
    ) -> Self {
        let feed = Feed::new(settings.office.clone());
        let metrics = Metrics::default();
        Self(Arc::new(Inner { settings, feed, metrics, openapi, keys, url, closing }))
    }

    /// Calls the office in a thread of its own: it reads files and waits for locks.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Settings) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Problem> {
        let (app, (give, take)) = (self.clone(), oneshot::channel());
        // One type for all of them: the runtime's own code would be there once for each otherwise.
        let job: Box<dyn FnOnce() + Send> = Box::new(move || {
            // Who asked may have gone.
            let _ = give.send(work(&app.settings));
        });
        drop(tokio::task::spawn_blocking(job));
        let done = take.await.map_err(|_| {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the request broke off")
        })?;
        done.map_err(|fault| self.problem(fault))
    }

    pub(crate) fn problem(&self, fault: Fault) -> Problem {
        match fault {
            Fault::Office(error) => Problem::of(&error, self.settings.hint_words),
            Fault::Ours(problem) => problem,
        }
    }

    /// Whether something may be changed.
    pub(crate) fn check_writable(&self) -> Result<(), Problem> {
        if self.settings.read_only {
            let why = "this server was started with --read-only";
            return Err(Problem::new(StatusCode::FORBIDDEN, "read_only", why));
        }
        Ok(())
    }
}

impl Settings {
    /// The team that is meant: the named one, the only one, or the one of the folder that the server was started in.
    pub(crate) fn team(&self, named: Option<&str>) -> Result<TeamName, OfficeError> {
        self.office.choose_team(named.filter(|name| !name.is_empty()), &self.cwd)
    }

    pub(crate) fn office(&self) -> &Office {
        &self.office
    }
}
