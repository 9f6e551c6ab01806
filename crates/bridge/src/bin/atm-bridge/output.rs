//! Answers on stdout.

use std::io::{self, Write as _};

use atm_wire::visible;

use crate::failure::Failure;

/// One JSON document.
pub(crate) fn json(value: &serde_json::Value) -> Result<(), Failure> {
    write(&visible::json(&format!("{value:#}")))
}

/// Lines for people: text from elsewhere is shown without what a terminal would act upon.
pub(crate) fn lines(text: &str) -> Result<(), Failure> {
    write(&visible::lines(text))
}

fn write(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{}", text.trim_end()) {
        // Nobody reads it any more: that is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
