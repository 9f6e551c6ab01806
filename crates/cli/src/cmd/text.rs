//! The words of a message, and how it is sent: what `send`, `broadcast` and `reply` have in common.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use atm_office::mail::send::{Letter, SendOptions};
use atm_wire::Address;
use atm_wire::message::Priority;
use clap::{Args, ValueEnum};

use super::metadata::MetadataArg;
use crate::exit::ExitCode;
use crate::failure::Failure;

/// The words of a message.
#[derive(Debug, Args)]
pub(super) struct Words {
    /// The text, or `-` to read it from stdin
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// A short version [default: the first words]
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// How urgent it is
    #[arg(long, value_enum, default_value_t = PriorityArg::Normal)]
    priority: PriorityArg,
}

/// How it is sent.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Debug, Args)]
pub(super) struct Manner {
    /// Make an inbox for a name that is not a member
    #[arg(long)]
    create: bool,
    /// Refuse an inbox that does not parse (exit 6), instead of setting it aside and going on
    #[arg(long)]
    strict: bool,
    /// Do not put a [PENDING ACTION …] tag before mail for somebody who is offline
    #[arg(long)]
    no_tag: bool,
    /// Send a payload of a known type even if it lacks what its readers need
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub(super) metadata: MetadataArg,
}

/// How urgent a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PriorityArg {
    /// Read first
    High,
    /// Read after that
    Normal,
    /// Read last
    Low,
}

impl From<PriorityArg> for Priority {
    fn from(priority: PriorityArg) -> Self {
        match priority {
            PriorityArg::High => Self::High,
            PriorityArg::Normal => Self::Normal,
            PriorityArg::Low => Self::Low,
        }
    }
}

impl From<&Manner> for SendOptions {
    fn from(manner: &Manner) -> Self {
        Self {
            create: manner.create,
            strict: manner.strict,
            no_tag: manner.no_tag,
            force: manner.force,
            known_sender: !manner.create,
        }
    }
}

impl Words {
    pub(super) fn is_missing(&self) -> bool {
        self.text.is_none() && self.file.is_none()
    }

    /// The file that the words are from.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The letter with these words.
    pub(super) fn letter(&self, to: Address) -> Result<Letter, Failure> {
        let mut letter = Letter::new(to, self.read()?);
        letter.summary.clone_from(&self.summary);
        letter.priority = self.priority.into();
        Ok(letter)
    }

    fn read(&self) -> Result<String, Failure> {
        let (bytes, place) = match (&self.text, &self.file) {
            (Some(text), _) if text != "-" => return Ok(text.clone()),
            (Some(_), _) => (stdin(), "stdin".to_owned()),
            (None, Some(file)) => (fs::read(file), file.display().to_string()),
            (None, None) => {
                return Err(Failure::usage("there is no text to send")
                    .hint("give the text as an argument, `-` for stdin, or --file FILE"));
            }
        };
        let bytes = bytes
            .map_err(|error| Failure::new(ExitCode::Io, "io", format!("cannot read {place}: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::new(ExitCode::BadData, "bad_data", format!("{place} is not UTF-8 at byte {at}"))
        })?;
        // A last newline belongs to the file, not to the message.
        let text =
            text.strip_suffix('\n').map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
        Ok(text.to_owned())
    }
}

pub(super) fn stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
