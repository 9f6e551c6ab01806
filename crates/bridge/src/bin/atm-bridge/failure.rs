//! Errors as people and programs see them.

use std::io::{self, Write as _};

use atm_bridge::keys::KeyError;
use atm_bridge::nats::{NatsError, Obstacle};
use atm_bridge::trust::TrustError;
use atm_office::OfficeError;
use atm_wire::visible;
use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::args::Args;

/// A command that failed: the same exit codes as `atm`.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: i32,
    code: &'static str,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// The command line or the settings are wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(2, "usage", message)
    }

    pub(crate) fn new(exit: i32, code: &'static str, message: impl Into<String>) -> Self {
        Self { exit, code, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says it on stderr; returns how the process ends.
    pub(crate) fn report(&self, json: bool) -> i32 {
        let text = if json {
            let Self { exit, code, message, hint } = self;
            let error = serde_json::json!({"code": code, "message": message, "exit": exit, "hint": hint});
            visible::json_line(&serde_json::json!({ "error": error }).to_string()).into_owned()
        } else {
            let hint = self.hint.as_deref().map(|hint| format!("\n  hint: {}", visible::line(hint)));
            format!("error: {}{}", visible::lines(&self.message), hint.unwrap_or_default())
        };
        // If stderr is gone too, the exit code still tells.
        let _ = writeln!(io::stderr(), "{text}");
        self.exit
    }
}

/// Wrong arguments; help and version go to stdout with 0.
pub(crate) fn report_usage(error: &clap::Error) -> i32 {
    let json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if error.kind() == ErrorKind::MissingSubcommand && !json {
        // The list of commands says more than that one is missing.
        let _ = write!(io::stderr(), "{}", Args::command().render_help());
        return error.exit_code();
    }
    if !error.use_stderr() || !json {
        let _ = error.print();
        return error.exit_code();
    }
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let message = lines.collect::<Vec<_>>().join(" ");
    Failure::usage(message.trim_start_matches("error: ")).hint("see `atm bridge --help`").report(true)
}

impl From<NatsError> for Failure {
    fn from(error: NatsError) -> Self {
        let (exit, code) = match &error {
            NatsError::Address { .. } => (2, "usage"),
            NatsError::Connect { obstacle: Obstacle::Credentials, .. } => (4, "credentials"),
            _ => (7, "nats"),
        };
        let failure = Self::new(exit, code, error.to_string());
        match error {
            NatsError::TooOld { .. } => failure.hint("install a newer one: https://nats.io/download"),
            NatsError::Address { .. } => failure.hint("write it as nats://HOST:4222 or tls://HOST:4222"),
            NatsError::Connect { obstacle: Obstacle::Credentials, .. } => {
                failure.hint("the server does not take these credentials: user:password@ in the address, --creds or --nkey")
            }
            NatsError::Connect { obstacle: Obstacle::Tls, why, .. } => failure.hint(tls_hint(&why)),
            NatsError::Connect { obstacle: Obstacle::Unreachable, .. } => {
                failure.hint("is the server there? mail is accepted all the same, and sent later")
            }
            NatsError::Missing { why, .. } if why.contains("insufficient storage") => {
                failure.hint("the server has too little room: `atm bridge init --max-mib 256`, or raise its jetstream.max_file")
            }
            NatsError::Missing { .. } => failure.hint("`atm bridge doctor` says what is missing"),
            NatsError::Request { .. } | NatsError::Refused { .. } => failure.hint("`atm bridge doctor` says what is missing or not allowed"),
            NatsError::File { .. } => failure,
        }
    }
}

/// What to do about certificates, by what the library says of them.
fn tls_hint(why: &str) -> &'static str {
    if why.contains("UnknownIssuer") || why.contains("BadSignature") {
        "its certificate is signed by somebody unknown: --tls-ca FILE, with the certificate of your own authority"
    } else if why.contains("not valid for name") || why.contains("NotValidForName") {
        "its certificate is for another host: name the host as the certificate does"
    } else if why.contains("expired") || why.contains("not valid yet") {
        "its certificate is not valid now: look at its dates, and at this machine's clock"
    } else if why.contains("corrupt message") {
        "the server speaks no TLS: nats:// and no --tls-ca, or `tls { … }` in its configuration"
    } else {
        "the server may want a certificate of this machine: --tls-cert FILE --tls-key FILE"
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        let exit = match error {
            KeyError::NotPublic(_) => 2,
            KeyError::Exposed { .. } => 4,
            KeyError::NotAKey(_) => 6,
            KeyError::Store(_) | KeyError::NoRandomness => 7,
        };
        Self::new(exit, "key", error.to_string())
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Key(error) => error.into(),
            TrustError::OtherKey(_) => Self::new(4, "other_key", error.to_string()),
            TrustError::Unreadable { .. } => Self::new(6, "trust", error.to_string()),
            TrustError::Store(_) => Self::new(7, "io", error.to_string()),
        }
    }
}

impl From<OfficeError> for Failure {
    fn from(error: OfficeError) -> Self {
        let exit = match error.kind() {
            atm_office::ErrorKind::Invalid => 2,
            atm_office::ErrorKind::NotFound => 3,
            atm_office::ErrorKind::Refused => 4,
            atm_office::ErrorKind::Busy => 5,
            atm_office::ErrorKind::BadData => 6,
            _ => 7,
        };
        Self::new(exit, "office", error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(7, "io", error.to_string())
    }
}
