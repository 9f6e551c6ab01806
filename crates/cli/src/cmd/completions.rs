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
        let mut script = String::from_utf8_lossy(&script).into_owned();
        match self.shell {
            Shell::Bash => {
                script = script.replace(BASH_ASK, &format!("{BASH_WORDS}{BASH_ASK}"));
                script = script.replace(BASH_END, &format!("{BASH_REST}{BASH_END}"));
            }
            Shell::Zsh => script = script.replace(ZSH_REGISTRATION, ZSH_CALL),
            _ => {}
        }
        context.out.raw(script.as_bytes())?;
        Ok(0)
    }
}

/// Where the script for bash asks the program.
const BASH_ASK: &str = "    COMPREPLY=( $(";

/// For bash a word ends before `@`, and ours are NAME@TEAM: the words are taken from the line instead.
const BASH_WORDS: &str = "    local line=\"${COMP_LINE:0:COMP_POINT}\" before=\"\"
    if [[ \"$line\" == *@* ]]; then
        IFS=$' \\t\\n' read -ra words <<< \"$line\"
        [[ \"$line\" == *[[:space:]] ]] && words+=(\"\")
        _CLAP_COMPLETE_INDEX=$(( ${#words[@]} - 1 ))
        before=\"${words[_CLAP_COMPLETE_INDEX]%\"$2\"}\"
    fi
";

/// Where its function ends.
const BASH_END: &str = "}
if [[ \"${BASH_VERSINFO[0]}\" -eq 4";

/// What bash does not count as part of the word is there already.
const BASH_REST: &str = "    if [[ -n \"$before\" && -n \"${COMPREPLY-}\" ]]; then
        COMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")
    fi
";

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
