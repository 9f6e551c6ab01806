//! How a command ends, as a number for scripts.

use atm_office::{ErrorKind, OfficeError};

/// How a command ends. These numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum ExitCode {
    /// The command line is wrong.
    Usage = 2,
    /// No such team, member or message.
    NotFound = 3,
    /// Refused by policy or for want of authority.
    Refused = 4,
    /// A lock could not be had; nothing was written.
    Busy = 5,
    /// The data is bad; nothing was changed.
    BadData = 6,
    /// Input or output failed.
    Io = 7,
    /// Written, but the awaited stage did not come in time.
    TimedOut = 8,
    /// Accepted, not written yet: it will be.
    Accepted = 9,
    /// Stopped, and everything was taken back. The number is that of an interrupt; other signals have their own.
    Interrupted = 130,
}

impl ExitCode {
    /// All that are not 0.
    const ALL: [Self; 9] = [
        Self::Usage,
        Self::NotFound,
        Self::Refused,
        Self::Busy,
        Self::BadData,
        Self::Io,
        Self::TimedOut,
        Self::Accepted,
        Self::Interrupted,
    ];

    /// What it tells a script.
    const fn meaning(self) -> &'static str {
        match self {
            Self::Usage => "the command line is wrong",
            Self::NotFound => "no such team, member, message, task or file",
            Self::Refused => "refused: by policy, or for want of authority",
            Self::Busy => "busy: a lock was not free in time; nothing was written",
            Self::BadData => "the data is bad; nothing was changed",
            Self::Io => "input or output failed, or the ledger cannot be used",
            Self::TimedOut => "written, but what was awaited (--wait, request, health) did not come in time",
            Self::Accepted => "accepted, not written yet: it will be, and `atm track ID` follows it",
            Self::Interrupted => "stopped by Ctrl-C (143: by SIGTERM), and everything was taken back",
        }
    }

    /// Every number with what it tells, for help and manual.
    pub(crate) fn table() -> Vec<(String, &'static str)> {
        let failures = Self::ALL.map(|code| (i32::from(code).to_string(), code.meaning()));
        [("0".to_owned(), "done")].into_iter().chain(failures).collect()
    }
}

impl From<ExitCode> for u8 {
    fn from(code: ExitCode) -> u8 {
        code as u8
    }
}

impl From<ExitCode> for i32 {
    fn from(code: ExitCode) -> i32 {
        i32::from(u8::from(code))
    }
}

impl From<ErrorKind> for ExitCode {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Invalid => Self::Usage,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Refused => Self::Refused,
            ErrorKind::Busy => Self::Busy,
            ErrorKind::BadData => Self::BadData,
            ErrorKind::Io => Self::Io,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::Interrupted => Self::Interrupted,
        }
    }
}

impl From<&OfficeError> for ExitCode {
    fn from(error: &OfficeError) -> Self {
        error.kind().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_numbers_that_were_promised() {
        for (kind, number) in [
            (ErrorKind::Invalid, 2),
            (ErrorKind::NotFound, 3),
            (ErrorKind::Refused, 4),
            (ErrorKind::Busy, 5),
            (ErrorKind::BadData, 6),
            (ErrorKind::Io, 7),
            (ErrorKind::TimedOut, 8),
            (ErrorKind::Interrupted, 130),
        ] {
            assert_eq!(i32::from(ExitCode::from(kind)), number, "{kind:?}");
        }
        assert_eq!(i32::from(ExitCode::Accepted), 9);
    }
}
