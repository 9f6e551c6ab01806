//! What a client sends on stdin.

use std::io::{self, IsTerminal, Read};

use atm_clients::hook::HookInput;

/// No client sends as much; a tool's output can be large.
const LARGEST: u64 = 64 * 1024 * 1024;

/// All that is on stdin; nothing, if a person sits there.
pub(super) fn read() -> Result<HookInput, String> {
    let mut stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(HookInput::default());
    }
    let mut bytes = Vec::new();
    stdin.by_ref().take(LARGEST).read_to_end(&mut bytes).map_err(|error| format!("stdin: {error}"))?;
    drain();
    HookInput::parse(&bytes).map_err(|error| format!("stdin is not what a client says: {error}"))
}

/// Takes what is left on stdin: a client must not fail because nobody listens.
pub(super) fn drain() {
    let mut stdin = io::stdin();
    if !stdin.is_terminal() {
        let _ = io::copy(&mut stdin, &mut io::sink());
    }
}
