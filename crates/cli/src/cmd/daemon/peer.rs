//! `atm daemon peer`: the process of one peer, started by the daemon.

use std::io::{self, BufRead, BufReader};

use atm_daemon::peers::{Assignment, serve};

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::stop;

pub(super) fn run(context: &mut Context) -> Result<i32, Failure> {
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    let bad = |why: String| Failure::new(ExitCode::BadData, "bad_data", why);
    input.read_line(&mut line).map_err(|error| bad(format!("stdin: {error}")))?;
    let assignment: Assignment = serde_json::from_str(&line).map_err(|error| {
        bad(format!("stdin does not say for whom to listen: {error}")).hint(
            "the daemon starts this: `atm config set claude.native_peers true`, then `atm daemon start`",
        )
    })?;
    stop::end_in_order(context.office.hub());
    serve(&context.office, &assignment, input)?;
    Ok(0)
}
