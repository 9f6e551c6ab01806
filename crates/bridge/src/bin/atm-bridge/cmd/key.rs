//! `atm bridge key`.

use atm_bridge::keys;

use crate::args::Me;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Print this machine's name and public key on one line
///
/// The key is made at the first call, in a file that only you can read. What this prints is what the other machines are told
/// with `atm bridge trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge key
  atm bridge key --machine laptop

Exit codes: 4 others can read the key; 6 the file in its place is none; 7 it cannot be read.")]
pub(crate) struct Key {
    #[command(flatten)]
    me: Me,
}

impl Key {
    pub(crate) fn run(&self, context: &Context) -> Result<i32, Failure> {
        let machine = context.machine(&self.me)?;
        let key = keys::public_text(&context.key()?.verifying_key());
        if context.json {
            output::json(&serde_json::json!({"machine": machine.as_str(), "key": key}))?;
        } else {
            output::lines(&format!("{machine} {key}"))?;
        }
        Ok(0)
    }
}
