//! `atm completions`

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::complete;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
The script asks `atm` itself for what can come next: members, teams, tasks, and the ids of the newest messages. Nothing
is written by that, and nothing but local files is read. `atm` has to be in the PATH.")]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let name = self.shell.to_string();
        let mut script = Vec::new();
        if let Some(shell) = Shells::builtins().completer(&name) {
            shell.write_registration(complete::VARIABLE, "atm", "atm", "atm", &mut script)?;
        }
        if self.shell == Shell::Zsh {
            script = String::from_utf8_lossy(&script).replace(ZSH_REGISTRATION, ZSH_CALL).into_bytes();
        }
        context.out.raw(&script)?;
        Ok(0)
    }
}

/// How the script for zsh ends: right where it is sourced.
const ZSH_REGISTRATION: &str = "\ncompdef _clap_dynamic_completer_atm atm";

/// In a folder of `fpath` the file is the body of `_atm`, and zsh runs it at the first Tab: without the call, that Tab
/// would complete nothing.
const ZSH_CALL: &str = "
if [[ \"${funcstack[1]}\" == _atm ]]; then
    _clap_dynamic_completer_atm \"$@\"
else
    compdef _clap_dynamic_completer_atm atm
fi";
