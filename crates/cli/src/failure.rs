//! Errors as words, hints and exit codes.

use std::borrow::Cow;
use std::io::{self, Write};
use std::{panic, process};

use atm_office::OfficeError;
use atm_office::mail::send::SendOptions;
use atm_store::StoreError;
use clap::error::ErrorKind;
use serde::Serialize;

use crate::exit::ExitCode;
use crate::hint;
use crate::output::{ids, paint, safe, waiting};
use crate::stop;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of our output has gone: no reason to complain.
    ClosedPipe,
    /// We were told to stop, and did.
    Stopped,
    /// Everything else.
    Told(Told),
}

#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) exit: ExitCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The id of the message that it is about: people see the end of it, as everywhere.
    pub(crate) id: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct ErrorDocument<'a> {
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
}

impl Told {
    pub(crate) fn exit_code(&self) -> i32 {
        match self.exit {
            ExitCode::Interrupted => stop::exit_code(),
            exit => exit.into(),
        }
    }

    pub(crate) fn document(&self) -> ErrorDocument<'_> {
        ErrorDocument {
            error: ErrorBody { code: self.code, message: &self.message, hint: self.hint.as_deref() },
        }
    }
}

impl Failure {
    pub(crate) fn new(exit: ExitCode, code: &'static str, message: impl Into<String>) -> Self {
        Self::Told(Told { exit, code, message: message.into(), hint: None, id: None })
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, "usage", message)
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::ClosedPipe | Self::Stopped => self,
            Self::Told(told) => Self::Told(Told { hint: Some(hint.into()), ..told }),
        }
    }

    /// Of letters that could not be sent: what can be said on the command line to have them sent all the same.
    pub(crate) fn sending(error: OfficeError, options: SendOptions) -> Self {
        if let OfficeError::NoMember { wanted, .. } = &error
            && let Some(meant) = crate::suggest::instead_of_send(wanted)
        {
            return Self::from(error).hint(meant);
        }
        if let OfficeError::NoSender { nearest, .. } = &error {
            let meant = hint::meant(nearest);
            return Self::from(error).hint(format!("{meant}--create lets somebody outside the team write"));
        }
        let more = match &error {
            OfficeError::NoMember { .. } => " (--create makes an inbox for a new name)",
            OfficeError::Store(StoreError::BadContent { path, .. })
                if options.strict && !path.ends_with("config.json") =>
            {
                ", or send without --strict to have it set aside"
            }
            _ => "",
        };
        match Self::from(error) {
            Self::Told(Told { hint: Some(hint), exit, code, message, id }) => {
                Self::Told(Told { exit, code, message, hint: Some(format!("{hint}{more}")), id })
            }
            other => other,
        }
    }

    /// Puts words before the message.
    pub(crate) fn within(self, place: &str) -> Self {
        match self {
            Self::ClosedPipe | Self::Stopped => self,
            Self::Told(told) => Self::Told(Told { message: format!("{place}: {}", told.message), ..told }),
        }
    }

    /// Says it on stderr and gives the exit code.
    pub(crate) fn report(&self, json: bool) -> i32 {
        let told = match self {
            Self::ClosedPipe => return 0,
            Self::Stopped => return stop::exit_code(),
            Self::Told(told) => told,
        };
        let text = if json {
            let text = serde_json::to_string(&told.document()).unwrap_or_default();
            safe::json_line(&text).into_owned()
        } else {
            let for_people = |words: &str| match &told.id {
                Some(id) => words.replace(id.as_str(), &ids::short(id)),
                None => words.to_owned(),
            };
            let hint = told.hint.as_deref().map(for_people);
            let hint = hint.map(|hint| format!("\n  hint: {}", safe::line(&hint))).unwrap_or_default();
            let message = for_people(&told.message);
            format!("{} {}{hint}", paint::of_stderr().bad("error:"), safe::lines(&message))
        };
        waiting::clear();
        // If stderr is gone too, the exit code still tells.
        let _ = writeln!(io::stderr(), "{text}");
        told.exit_code()
    }
}

impl From<io::Error> for Failure {
    /// Of our own output; files are the store's.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::new(ExitCode::Io, "io", format!("cannot write the answer: {error}"))
    }
}

impl From<OfficeError> for Failure {
    fn from(error: OfficeError) -> Self {
        let hint = error.hint().as_ref().map(hint::words);
        let message = match &error {
            OfficeError::Field(field) => format!("{}: {}", option_for(field.field()), field.rule()),
            error => error.to_string(),
        };
        let id = match &error {
            OfficeError::NotRecallable { id, .. } | OfficeError::NotInTime { id, .. } => Some(id.clone()),
            _ => None,
        };
        Self::Told(Told { exit: ExitCode::from(&error), code: error.code(), message, hint, id })
    }
}

/// The option that sets a field of a team or a member; the field itself where none does.
fn option_for(field: &'static str) -> &'static str {
    match field {
        "agentType" => "--type",
        "model" => "--model",
        "prompt" => "--prompt",
        "tmuxPaneId" => "--pane",
        "cwd" => "--cwd",
        "color" => "--member-color",
        "description" => "--description",
        "metadata" => "--metadata",
        field => field,
    }
}

impl From<atm_wire::NameError> for Failure {
    fn from(error: atm_wire::NameError) -> Self {
        OfficeError::from(error).into()
    }
}

/// The code of a panic, as of every program that is built like this one.
const PANICKED: i32 = 101;

/// From now on a panic ends the process, whichever thread has it and however it is built. What is accepted stays so, and
/// locks are recovered, as after a kill.
pub(crate) fn end_at_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        // If nobody listens, there is nothing left to do.
        let _ = writeln!(
            io::stderr(),
            "This is a defect of atm: please report it with the lines above. `atm doctor` says whether everything is sound."
        );
        process::exit(PANICKED);
    }));
}

/// Says a wrong command line, in the manner that was asked for, and gives the exit code.
pub(crate) fn report_usage(error: &clap::Error) -> i32 {
    let json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if !error.use_stderr() {
        // Help and version go to stdout with 0.
        let _ = error.print();
        return error.exit_code();
    }
    let text = error.render().to_string();
    if !json {
        // It quotes the arguments, which may be from elsewhere.
        let _ = match safe::lines(&text) {
            Cow::Borrowed(_) => error.print(),
            Cow::Owned(text) => write!(io::stderr(), "{text}"),
        };
        return error.exit_code();
    }
    let message = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        "there is no command".to_owned()
    } else {
        let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
        lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
    };
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let hint = tip.unwrap_or("see `atm --help`").to_owned();
    Failure::usage(message).hint(hint).report(true)
}
