//! Errors as words, hints and exit codes.

use std::borrow::Cow;
use std::io::{self, Write};

use atm_ledger::Stage;
use atm_office::mail::partly::Done;
use atm_office::mail::send::SendOptions;
use atm_office::office::USER;
use atm_office::tasks::TaskError;
use atm_office::{ExitCode, OfficeError};
use atm_store::StoreError;
use atm_store::mend::UndoError;
use clap::error::ErrorKind;
use serde::Serialize;

use crate::output::safe;
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
            exit => i32::from(u8::from(exit)),
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
        Self::Told(Told { exit, code, message: message.into(), hint: None })
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
            Self::Told(Told { hint: Some(hint), exit, code, message }) => {
                Self::Told(Told { exit, code, message, hint: Some(format!("{hint}{more}")) })
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
            let hint =
                told.hint.as_ref().map(|hint| format!("\n  hint: {}", safe::line(hint))).unwrap_or_default();
            format!("error: {}{hint}", safe::lines(&told.message))
        };
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
        let hint = hint(&error);
        Self::Told(Told { exit: error.exit_code(), code: error.code(), message: error.to_string(), hint })
    }
}

impl From<atm_wire::NameError> for Failure {
    fn from(error: atm_wire::NameError) -> Self {
        OfficeError::from(error).into()
    }
}

/// What to do next.
fn hint(error: &OfficeError) -> Option<String> {
    let or = |nearest: &[String], wanted: &str, otherwise: &str| {
        // Somebody who is no member but has an inbox is no help to who asked for a member of that name.
        let others: Vec<_> = nearest.iter().filter(|name| *name != wanted).map(String::as_str).collect();
        if others.is_empty() { otherwise.to_owned() } else { format!("did you mean {}?", others.join(", ")) }
    };
    Some(match error {
        OfficeError::NoTeam { nearest, wanted } => or(nearest, wanted, "`atm team list` shows the teams"),
        OfficeError::NoTeams { .. } => {
            "`atm team create NAME` makes one; `atm config` shows which root is used, and why".to_owned()
        }
        OfficeError::WhichTeam { choices } => format!("use --team with one of: {}", choices.join(", ")),
        OfficeError::NoMember { nearest, wanted, .. } => or(nearest, wanted, "`atm members` shows the names"),
        OfficeError::NoMessage { .. } => "`atm inbox NAME` shows the ids".to_owned(),
        OfficeError::WhichMessage { choices, .. } => format!("one of: {}", choices.join(", ")),
        OfficeError::NoGroup { .. } => "`id -Gn` shows the groups that you are in".to_owned(),
        OfficeError::EmptyMessage => "give the text as an argument, `-` for stdin, or --file".to_owned(),
        OfficeError::NobodyElse { .. } => "`atm member add NAME` adds somebody".to_owned(),
        OfficeError::UnreadMail { .. } => {
            "--force deletes it all the same; its files are kept in the state folder".to_owned()
        }
        OfficeError::Store(error) => return store_hint(error),
        OfficeError::Partly { done, source } => partly_hint(done, source),
        OfficeError::NotYours { who, .. } if who == USER => {
            "use --as NAME to act for somebody; without it you are `user`".to_owned()
        }
        OfficeError::NoLead { .. } => {
            "`atm team show` shows the members; the lead is called team-lead".to_owned()
        }
        OfficeError::NoArtifact { .. } => "`atm artifacts list NAME` shows the files".to_owned(),
        OfficeError::Task(error) => return task_hint(error),
        OfficeError::Undo(UndoError::Changed { .. }) => {
            "--force puts the old bytes there all the same; the journal keeps what is there now".to_owned()
        }
        OfficeError::Undo(_) => "`atm doctor --journal` lists what was mended".to_owned(),
        OfficeError::NotRecorded { .. } => "`atm log` shows what was sent and seen".to_owned(),
        OfficeError::NotInTime { stage: Stage::Accepted, .. } => {
            "it is accepted and will be written; `atm track ID` shows how far it came".to_owned()
        }
        OfficeError::NotInTime { .. } => {
            "it is written and stays so; `atm track ID` shows how far it came".to_owned()
        }
        OfficeError::DeadAlias { alias, .. } => {
            format!("`atm team alias {alias} TEAM` gives it to another team; --remove forgets it")
        }
        OfficeError::ClientRuns { .. } => {
            "end it first, or use --force: what is made a log, it will not see".to_owned()
        }
        OfficeError::LeadRuns { .. } => "--force takes its place all the same".to_owned(),
        OfficeError::NoPhantom { .. } => "`atm team repair` shows the phantoms".to_owned(),
        OfficeError::Spawn(error) => return error.hint(),
        OfficeError::Wake(error) => return error.hint(),
        OfficeError::Ledger(_) => {
            "mail goes without it; `atm doctor --fix` makes a new one from the files".to_owned()
        }
        _ => return None,
    })
}

/// An error of the files that stands alone: the one change that was tried was not made.
fn store_hint(error: &StoreError) -> Option<String> {
    let advice = store_advice(error)?;
    Some(match error {
        // It says itself that it is written.
        StoreError::Unsynced { .. } => advice.to_owned(),
        StoreError::NotInGroup { .. } => format!("nothing was made; {advice}"),
        StoreError::LinkedAway { .. } => format!("nothing was written there; {advice}"),
        StoreError::Busy { .. } | StoreError::Unsettled { .. } | StoreError::Interrupted { .. } => {
            format!("nothing was written; {advice}")
        }
        _ => format!("nothing was changed; {advice}"),
    })
}

/// What to do about it, whatever was done before.
fn store_advice(error: &StoreError) -> Option<&'static str> {
    Some(match error {
        StoreError::NotInGroup { .. } => "`id -Gn` shows the groups that you are in",
        StoreError::LinkedAway { .. } => "look who made the link, and remove it or move the file",
        StoreError::Busy { .. } => "try again, or look which program hangs",
        StoreError::Unsettled { .. } => "stop the program that rewrites this file without its lock",
        StoreError::BadContent { .. } => "mend the file",
        StoreError::Newer { .. } => "use a newer atm for it",
        StoreError::BadBackup { .. } => "use another backup, or look where this one is from",
        StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            "see whether the team or its folder was removed meanwhile"
        }
        StoreError::Unsynced { .. } => "see to the disk",
        StoreError::Interrupted { .. } => "nothing will be, until you ask for it again",
        StoreError::Io { .. } => "see disk space and permissions",
        _ => return None,
    })
}

/// What is done and stays so, then what to do about the rest.
fn partly_hint(done: &[Done], source: &OfficeError) -> String {
    let advice = match source {
        OfficeError::Store(error) => store_advice(error).map(ToOwned::to_owned),
        // Their own words may say that nothing was done.
        other => hint(other).filter(|advice| !advice.contains("nothing was")),
    };
    let done: Vec<String> = done.iter().map(ToString::to_string).collect();
    let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("done before it failed: {}{advice}", done.join(", "))
}

fn task_hint(error: &TaskError) -> Option<String> {
    Some(match error {
        TaskError::NoTask { .. } => "`atm task list` shows the tasks".to_owned(),
        TaskError::NoneReady { .. } => {
            "`atm task list` shows who has what, and what waits for what".to_owned()
        }
        TaskError::Held { id, owner, until: None } => {
            format!("{owner} or the lead can give it back: atm task release {id}")
        }
        TaskError::Held { .. } => "`atm task claim --next` takes another one".to_owned(),
        TaskError::NotHeld { id, .. } => format!("`atm task show {id}` tells whose it is"),
        TaskError::Blocked { id, .. } => format!("`atm task unblock {id}` if that is not so any more"),
        TaskError::Completed { id } => {
            format!("its owner or the lead can open it again: atm task update {id} --status pending")
        }
        TaskError::Cycle { .. } => "`atm task graph` shows what waits for what".to_owned(),
        TaskError::NoOwner { id } => format!("`atm task assign {id} NAME` gives it to somebody"),
        TaskError::Reserved { .. } => "use `atm task claim` and `atm task release`".to_owned(),
        TaskError::NoSubject | TaskError::Id(_) => return None,
    })
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
    Failure::Told(Told { exit: ExitCode::Usage, code: "usage", message, hint: Some(hint) }).report(true)
}
